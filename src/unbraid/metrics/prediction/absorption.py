"""Feature absorption from labels alone: a parent's code that is silent where a child's code speaks."""

from typing import Any

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid._base.checks import check_at_least
from unbraid._base.stats import student_quantile
from unbraid.evidence.concepts import RankedCodes, chosen_and_fired
from unbraid.metrics.table.metric import BesideThePanel
from unbraid.representation.representation import as_representation
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score

#: Standard errors of a 95 % confidence interval.
WIDTH = 1.959964
FEWEST_ROWS = 10
#: Random halves of the rows on which the code and its threshold are chosen again, for the confidence interval.
N_HALVES = 12


def absorption(codes: Any, parent: Any, child: Any, *, n_folds: int = 5, rng: np.random.Generator | int = 0) -> Score:
    r"""Score how far a child concept takes over the rows of its parent: recall without the child less recall with it.

    A parent is a concept that holds wherever its child does: "starts with S" and "snake". The code that finds the
    parent best, and the threshold from which it speaks, are chosen on some rows; on the others,

    .. math:: P(\text{speaks} \mid \text{parent, not child}) - P(\text{speaks} \mid \text{parent, child}).

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        parent: Whether the parent concept holds, ``(n_samples,)``, of two values.
        child: Whether the child concept holds, ``(n_samples,)``; rows of the child without the parent are left out.
        n_folds: The code is chosen on all folds but one.
        rng: Chooses the folds, or its seed.

    Returns:
        From -1 to 1: 0 where the parent's code speaks as often with the child as without, 1 where the child has
        absorbed the parent. ``low`` and ``high`` are a 95 % confidence interval, the wider of that of two shares and
        that of halves of the rows, on which code and threshold are chosen again; ``evidence`` has both recalls, the
        rows behind them and the code chosen on all rows.

    References:
        Chanin et al. (2024), A is for Absorption, sec. 4, which asks a language model. Labels suffice where parent and
        child are known. https://arxiv.org/abs/2409.14507

    Example:
        >>> import numpy as np
        >>> parent = np.arange(200) % 2 == 0
        >>> child = np.arange(200) % 8 == 0
        >>> codes = np.stack([parent & ~child, child], axis=1) + 0.0
        >>> float(absorption(codes, parent, child))
        1.0
    """
    check_at_least("n_folds", n_folds, 2)
    rep = as_representation(codes)
    above, below = _binary("parent", parent, rep.n_samples), _binary("child", child, rep.n_samples)
    rows = np.flatnonzero(above | ~below)
    left_out = rep.n_samples - len(rows)
    above, below = above[rows], below[rows]
    sizes = {"parent without child": int((above & ~below).sum()), "parent with child": int((above & below).sum())}
    sizes["rows without the parent"] = int((~above).sum())
    for name, size in sizes.items():
        if size < FEWEST_ROWS:
            raise ValueError(f"{name} must have at least {FEWEST_ROWS} rows, got {size}.")
    choosing, halving = np.random.default_rng(rng).spawn(2)
    active = rep.codes[np.ix_(rows, np.flatnonzero(rep.active))]
    code, fired = chosen_and_fired(RankedCodes.of(active), above, n_folds, choosing)
    without, together = fired[above & ~below], fired[above & below]
    notes: tuple[str, ...] = ()
    if left_out:
        template = "{} rows where the child holds without the parent are left out."
        notes = (Note.of(NoteKind.METRIC, template, left_out),)
    value = float(without.mean() - together.mean())
    low, high = difference_of_shares(without, together)
    half_width = _half_width(active, above, below, n_folds, halving)
    low, high = min(low, max(-1.0, value - half_width)), max(high, min(1.0, value + half_width))
    return Score(
        value=value,
        low=min(low, value),
        high=max(high, value),
        null=0.0,
        beats_chance=bool(low > 0),
        evidence={
            "recall": np.array([without.mean(), together.mean()]),
            "rows": np.array([len(without), len(together)], dtype=float),
            "false_alarms": np.array([fired[~above].mean()]),
            "code": np.array([np.flatnonzero(rep.active)[code]], dtype=float),
        },
        notes=notes,
    )


def _half_width(codes: FloatArray, above: BoolArray, below: BoolArray, n_folds: int, rng: np.random.Generator) -> float:
    """Half-width of the confidence interval by random halves of the rows of the parent's and the child's groups."""
    groups = [np.flatnonzero(group) for group in (above & ~below, above & below, ~above)]
    found = []
    for _ in range(N_HALVES):
        rows = np.sort(np.concatenate([rng.permutation(group)[: max(2, len(group) // 2)] for group in groups]))
        _, fired = chosen_and_fired(RankedCodes.of(codes[rows]), above[rows], n_folds, rng)
        speaks = fired[(above & ~below)[rows]].mean() - fired[(above & below)[rows]].mean()
        found.append(float(speaks))
    # The deviation over halves drawn without replacement is the standard error of the value of all rows.
    return student_quantile(0.975, N_HALVES - 1) * float(np.std(found, ddof=1))


def _binary(argument: str, values: Any, n_samples: int) -> BoolArray:
    """Return labels of two values as truth values, the larger true."""
    column = np.asarray(values)
    if column.shape != (n_samples,):
        raise ValueError(
            f"{argument} must have shape ({n_samples},), one value for each row of codes, got {column.shape}."
        )
    levels = np.unique(column)
    if len(levels) != 2:
        raise ValueError(f"{argument} must have two values, got {len(levels)}; say for each row whether it holds.")
    found: BoolArray = column == levels[1]
    return found


def difference_of_shares(first: BoolArray, second: BoolArray) -> tuple[float, float]:
    """Return the 95 % confidence interval of the difference of two shares of Agresti and Caffo (2000)."""
    shares: list[FloatArray] = [(part.sum() + 1) / (len(part) + 2) for part in (first, second)]
    error = np.sqrt(sum(p * (1 - p) / (len(part) + 2) for p, part in zip(shares, (first, second), strict=True)))
    middle = float(shares[0] - shares[1])
    return max(-1.0, middle - WIDTH * float(error)), min(1.0, middle + WIDTH * float(error))


BESIDE_THE_PANEL = (
    BesideThePanel(
        name="absorption",
        summary="Is the code of a concept silent where a more special concept holds?",
        needs="codes and, for each row, whether the parent concept and its child hold",
        call="unbraid.metrics.absorption(codes, parent, child)",
        also="the page of `best_single` shows an example",
    ),
)
