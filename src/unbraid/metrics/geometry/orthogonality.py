"""Importance-weighted orthogonality and rank, and plain orthogonality, of the factors' subspaces."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import quoted
from unbraid.evidence.subspaces.options import Loss, Solver, Subspace, SubspaceOptions, Subspaces, Weights, weigh
from unbraid.evidence.subspaces.solve import factor_subspaces
from unbraid.metrics.label_free.codes import off_diagonal_mean
from unbraid.metrics.table.metric import AXES, Cost, Invariance, KnownFailure, Metric, Preset, Property, Trait
from unbraid.metrics.table.sources import SUBSPACES
from unbraid.representation.blocks import parts_of_codes
from unbraid.representation.representation import as_labelled
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score

Device = Literal["cpu", "cuda"]
#: Squared sine of the angle by which chance may turn axes without a note, and how much less of it standardised codes
#: must have to be called the cure.
MOST_TILT, CURED = 0.1, 0.25


def iwo(
    codes: Any,
    factors: Any = None,
    *,
    solver: Solver = "fast",
    weights: Weights = "explained",
    loss: Loss = "likelihood",
    max_rank: int | None = None,
    device: Device = "cpu",
    heads: str | None = None,
    learning_rate: float | None = None,
    n_steps: int | None = None,
    blocks: bool = False,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how orthogonal the factors' subspaces are, each axis counted by its importance.

    .. math::

        \mathrm{IWO}(v_j, v_k) = 1 - \sum_{l, m} \sqrt{\alpha_l^{(j)} \alpha_m^{(k)}}
            \bigl(b_l^{(j)} \cdot b_m^{(k)}\bigr)^2,

    averaged over pairs of factors. It is 1 when all subspaces are orthogonal to each other, aligned with the codes or
    not, and 0 when all factors share the same axes with the same weights.

    Args:
        codes: :math:`c`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        solver: ``"fast"``, or ``"nested"`` for networks on a spine, as published (needs torch).
        weights: ``"explained"`` (Eq. 2) or ``"spread"`` (Eq. 3).
        loss: For categorical factors, ``"likelihood"`` or ``"zero_one"``.
        max_rank: Largest subspace to look for; by default 10, and more where the loss still falls (fast solver).
        device: Where the nested solver trains.
        heads: Hidden layers of the nested solver's networks, such as ``"256x256"``, or ``"256x256+norm"`` for batch
            norm, trained as published (Table 6); by default two layers of 64 units, trained faster.
        learning_rate: Of the nested solver, in place of its own.
        n_steps: Training steps of the nested solver, in place of its own.
        blocks: Count the blocks of the representation as axes, in place of the directions of code space.
        rng: Source of chance, or its seed.

    Returns:
        A score in [0, 1], higher is better; ``evidence["iwo"]`` is the matrix of pairs. ``evidence["axis_weights"]``
        and ``evidence["loss_curve"]`` have one column for each factor: the weights of its axes, and the loss left with
        no axis, the first, the first two, ... as a share of the loss with none; NaN where a factor has fewer axes.
        ``evidence["axes"]`` has the axes themselves, ``(n_factors, n_codes, n_axes)``: unit vectors in the space of the
        codes, most important first. :func:`~unbraid.evidence.subspaces.traversal.traverse` decodes steps along them.
        With the nested solver ``evidence["training_curve"]`` has the validation loss of the network of each number of
        axes during training, ``(n_factors, n_looks, 1 + n_axes)``, the step in the first column.

    Note:
        Unchanged by any rotation of the codes. *Not* unchanged by scaling single codes: angles between axes change.

    References:
        Measuring Orthogonality in Representations of Generative Models (2024), sec. 3.2.
        https://arxiv.org/abs/2407.03728

    Example:
        >>> import numpy as np
        >>> codes = np.random.default_rng(0).normal(size=(2000, 4))
        >>> turned = codes @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
        >>> round(float(iwo(turned, codes[:, :2])), 2)
        1.0
    """
    rep = as_labelled(codes, factors, metric="iwo", min_factors=2)
    options = SubspaceOptions(
        solver=solver,
        weights=weights,
        loss=loss,
        max_rank=max_rank,
        device=device,
        heads=heads,
        learning_rate=learning_rate,
        n_steps=n_steps,
    )
    return iwo_score(factor_subspaces(rep, options, np.random.default_rng(rng)), blocks=blocks)


def iwr(
    codes: Any,
    factors: Any = None,
    *,
    solver: Solver = "fast",
    weights: Weights = "explained",
    loss: Loss = "likelihood",
    max_rank: int | None = None,
    device: Device = "cpu",
    heads: str | None = None,
    learning_rate: float | None = None,
    n_steps: int | None = None,
    blocks: bool = False,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how few axes each factor needs: one minus the entropy, in base L, of its importance weights.

    .. math:: \mathrm{IWR}(v_j) = 1 + \sum_l \alpha_l^{(j)} \log_L \alpha_l^{(j)}

    Args:
        codes: :math:`c`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; one is enough.
        solver: ``"fast"``, or ``"nested"`` for networks on a spine, as published (needs torch).
        weights: ``"explained"`` (Eq. 2) or ``"spread"`` (Eq. 3).
        loss: For categorical factors, ``"likelihood"`` or ``"zero_one"``.
        max_rank: Largest subspace to look for; by default 10, and more where the loss still falls (fast solver).
        device: Where the nested solver trains.
        heads: Hidden layers of the nested solver's networks, such as ``"256x256"``, or ``"256x256+norm"`` for batch
            norm, trained as published (Table 6); by default two layers of 64 units, trained faster.
        learning_rate: Of the nested solver, in place of its own.
        n_steps: Training steps of the nested solver, in place of its own.
        blocks: Count the blocks of the representation as axes, in place of the directions of code space.
        rng: Source of chance, or its seed.

    Returns:
        A score in [0, 1], higher is better: 1 for a single axis, 0 for importance spread evenly over code space.
        ``evidence["axis_weights"]`` and ``evidence["loss_curve"]`` are as for :func:`iwo`.

    References:
        Measuring Orthogonality in Representations of Generative Models (2024), sec. 3.2.
        https://arxiv.org/abs/2407.03728

    Example:
        >>> import numpy as np
        >>> codes = np.random.default_rng(0).normal(size=(2000, 4))
        >>> round(float(iwr(codes, codes[:, :2] + codes[:, 2:])), 2)
        1.0
    """
    rep = as_labelled(codes, factors, metric="iwr")
    options = SubspaceOptions(
        solver=solver,
        weights=weights,
        loss=loss,
        max_rank=max_rank,
        device=device,
        heads=heads,
        learning_rate=learning_rate,
        n_steps=n_steps,
    )
    return iwr_score(factor_subspaces(rep, options, np.random.default_rng(rng)), blocks=blocks)


def orthogonality(
    codes: Any,
    factors: Any = None,
    *,
    solver: Solver = "fast",
    loss: Loss = "likelihood",
    max_rank: int | None = None,
    device: Device = "cpu",
    heads: str | None = None,
    learning_rate: float | None = None,
    n_steps: int | None = None,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Overlap of the factors' subspaces, every axis counted alike (Eq. 5); lower is more orthogonal.

    .. math:: O(S_j, S_k) = \frac{1}{\min(R_j, R_k)} \sum_{l, m} \bigl(b_l^{(j)} \cdot b_m^{(k)}\bigr)^2

    Args:
        codes: :math:`c`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        solver: ``"fast"``, or ``"nested"`` for networks on a spine, as published (needs torch).
        loss: For categorical factors, ``"likelihood"`` or ``"zero_one"``.
        max_rank: Largest subspace to look for; by default 10, and more where the loss still falls (fast solver).
        device: Where the nested solver trains.
        heads: Hidden layers of the nested solver's networks, such as ``"256x256"``, or ``"256x256+norm"`` for batch
            norm, trained as published (Table 6); by default two layers of 64 units, trained faster.
        learning_rate: Of the nested solver, in place of its own.
        n_steps: Training steps of the nested solver, in place of its own.
        rng: Source of chance, or its seed.

    Returns:
        A score in [0, 1], *lower* is better: 0 for orthogonal subspaces, 1 when one contains the other;
        ``evidence["orthogonality"]`` is the matrix of pairs.

    References:
        Measuring Orthogonality in Representations of Generative Models (2024), Eq. 5.
        https://arxiv.org/abs/2407.03728

    Example:
        >>> import numpy as np
        >>> codes = np.random.default_rng(0).normal(size=(2000, 4))
        >>> round(float(orthogonality(codes, codes[:, :2])), 2)
        0.0
    """
    rep = as_labelled(codes, factors, metric="orthogonality", min_factors=2)
    options = SubspaceOptions(
        solver=solver,
        loss=loss,
        max_rank=max_rank,
        device=device,
        heads=heads,
        learning_rate=learning_rate,
        n_steps=n_steps,
    )
    return orthogonality_score(factor_subspaces(rep, options, np.random.default_rng(rng)))


class Pairs(NamedTuple):
    """A symmetric matrix over factors, and the mean of its pairs."""

    matrix: FloatArray
    mean: float


def iwo_score(found: Subspaces, blocks: bool = False) -> Score:
    """IWO of bases and weights, or of the weights of blocks."""
    matrix, mean = weighted_pairs(by_block(found) if blocks else found)
    evidence = {"iwo": matrix, **_curves(found)}
    return Score(value=mean, per_factor=off_diagonal_mean(matrix), evidence=evidence, notes=_notes(found))


def orthogonality_score(found: Subspaces) -> Score:
    """Plain orthogonality of bases, with the axes that lower the loss; a residual spread over all axes adds none."""
    matrix, mean = plain_pairs(found)
    return Score(
        value=mean, per_factor=off_diagonal_mean(matrix), evidence={"orthogonality": matrix}, notes=_notes(found)
    )


def weighted_pairs(found: Subspaces) -> Pairs:
    """Importance-weighted orthogonality of every two factors."""
    return over_pairs(found, weighted_orthogonality, diagonal=0.0)


def plain_pairs(found: Subspaces) -> Pairs:
    """Overlap of every two factors, every axis that lowers the loss counted alike."""
    explained = weigh(list(found.subspaces), SubspaceOptions(), found.n_codes)
    return over_pairs(explained, overlap, diagonal=1.0)


#: Scores that are the mean of a matrix over pairs of factors, and the matrix.
PAIRS = {"iwo": weighted_pairs, "orthogonality": plain_pairs}


def scored_pairs(name: str, found: Subspaces, options: Mapping[str, Any]) -> Pairs:
    """Return the matrix of a score, as computed with its options."""
    return PAIRS[name](by_block(found) if options.get("blocks") else found)


def iwr_score(found: Subspaces, blocks: bool = False) -> Score:
    """IWR of weights, of directions or of blocks."""
    if found.n_codes < 2:
        raise ValueError("codes must have at least two columns for iwr, got 1.")
    counted = by_block(found) if blocks else found
    per_factor = np.array([weighted_rank(alpha, counted.n_codes) for alpha in counted.weights])
    return Score(value=float(per_factor.mean()), per_factor=per_factor, evidence=_curves(found), notes=_notes(found))


def by_block(found: Subspaces) -> Subspaces:
    r"""Collapse code space to an axis for each block, and one for all codes of no block.

    The weight of a factor in a block is the share of its weighted axes that lies in it:
    :math:`\sum_l \alpha_l \sum_{j \in b} b_{lj}^2`. IWO of two factors is then
    :math:`1 - \sum_b \sqrt{w_{jb} w_{kb}}`: 1 where they are in different blocks, whatever directions they take there.

    Raises:
        ValueError: There are no blocks, or only one.
    """
    parts = parts_of_codes(found.blocks, found.n_codes, option="blocks=True")
    shares = [_share_of_codes(basis, alpha) for basis, alpha in zip(found.bases, found.weights, strict=True)]
    weights = tuple(np.array([float(share[list(part)].sum()) for part in parts]) for share in shares)
    return replace(found, bases=(np.eye(len(parts)),) * len(weights), weights=weights, n_codes=len(parts), blocks=())


def _share_of_codes(basis: FloatArray, alpha: FloatArray) -> FloatArray:
    """Share of each code in the weighted axes; axes beyond the basis share all directions that are left alike."""
    even = _beyond(basis, alpha)
    return np.asarray(basis**2 @ (alpha[: basis.shape[1]] - even) + even)


def _beyond(basis: FloatArray, alpha: FloatArray) -> float:
    """Weight of each axis beyond those of a basis, which all have the same; 0 where there are none."""
    return float(alpha[basis.shape[1]]) if len(alpha) > basis.shape[1] else 0.0


def weighted_orthogonality(a: FloatArray, b: FloatArray, alpha: FloatArray, beta: FloatArray) -> float:
    r"""IWO of two bases (columns) with weights; needs no training.

    Weights beyond the columns of a basis belong to all directions that are left. With
    :math:`S_a = \sum_l \sqrt{\alpha_l} a_l a_l^T`, IWO is :math:`1 - \mathrm{tr}(S_a S_b)`, and beside the columns
    :math:`S_a` is a multiple of the identity.
    """
    left, right = np.sqrt(_beyond(a, alpha)), np.sqrt(_beyond(b, beta))
    own, other = np.sqrt(alpha[: a.shape[1]]) - left, np.sqrt(beta[: b.shape[1]]) - right
    shared = own @ (a.T @ b) ** 2 @ other + right * own.sum() + left * other.sum() + left * right * len(a)
    return float(np.clip(1 - shared, 0.0, 1.0))


def weighted_rank(alpha: FloatArray, n_codes: int) -> float:
    """IWR of the weights of one factor."""
    positive = alpha[alpha > 0]
    return float(np.clip(1 + (positive * np.log(positive)).sum() / np.log(n_codes), 0.0, 1.0))


def overlap(a: FloatArray, b: FloatArray, alpha: FloatArray | None = None, beta: FloatArray | None = None) -> float:
    """O of two bases (columns); all directions have weight where there are more weights than columns."""
    n_a, n_b = (len(basis.T) if weights is None else len(weights) for basis, weights in ((a, alpha), (b, beta)))
    if n_a > a.shape[1] or n_b > b.shape[1]:
        return 1.0
    return min(1.0, float(((a.T @ b) ** 2).sum() / min(n_a, n_b)))


def over_pairs(found: Subspaces, compare: Any, *, diagonal: float) -> Pairs:
    """Compare every two factors."""
    n_factors = len(found.bases)
    matrix = np.full((n_factors, n_factors), diagonal)
    for j, k in combinations(range(n_factors), 2):
        value = compare(found.bases[j], found.bases[k], found.weights[j], found.weights[k])
        matrix[j, k] = matrix[k, j] = value
    return Pairs(matrix=matrix, mean=float(matrix[np.triu_indices(n_factors, 1)].mean()))


def padded_columns(columns: Sequence[FloatArray]) -> FloatArray:
    """Stack columns of unequal length side by side, with NaN below the shorter ones."""
    stacked = np.full((max(len(column) for column in columns), len(columns)), np.nan)
    for k, column in enumerate(columns):
        stacked[: len(column), k] = column
    return stacked


def loss_shares(losses: FloatArray) -> FloatArray:
    """Losses as a share of the loss with no axis; all 1 where there was nothing to lose."""
    shares: FloatArray = losses / losses[0] if losses[0] > 0 else np.ones(len(losses))
    return shares


def loss_curves(found: Subspaces) -> FloatArray:
    """Loss left with no axis, one, two, ... as a share of the first; a column for each factor, NaN below its axes."""
    return padded_columns([loss_shares(subspace.losses) for subspace in found.subspaces])


def _curves(found: Subspaces) -> dict[str, FloatArray]:
    curves = {
        "axis_weights": padded_columns(found.weights),
        "loss_curve": loss_curves(found),
        "axes": found_axes(found),
    }
    histories = [subspace.history for subspace in found.subspaces]
    return curves | ({"training_curve": padded_tables(histories)} if all(len(one) for one in histories) else {})


def padded_tables(tables: Sequence[FloatArray]) -> FloatArray:
    """Stack tables of unequal length, with NaN below the shorter ones."""
    rows, columns = (max(table.shape[axis] for table in tables) for axis in (0, 1))
    stacked = np.full((len(tables), rows, columns), np.nan)
    for place, table in zip(stacked, tables, strict=True):
        place[: table.shape[0], : table.shape[1]] = table
    return stacked


def found_axes(found: Subspaces) -> FloatArray:
    """Axes that were found, ``(n_factors, n_codes, n_axes)``, NaN behind the last; axes of a spread rest are none."""
    explained = [weigh([one], SubspaceOptions(), found.n_codes).weights[0] for one in found.subspaces]
    ranks = [min(len(alpha), one.basis.shape[1]) for alpha, one in zip(explained, found.subspaces, strict=True)]
    axes = np.full((len(ranks), found.subspaces[0].basis.shape[0], max(ranks)), np.nan)
    for k, (rank, subspace) in enumerate(zip(ranks, found.subspaces, strict=True)):
        axes[k, :, :rank] = subspace.basis[:, :rank]
    return axes


def _notes(found: Subspaces) -> tuple[str, ...]:
    names = found.factor_names or tuple(f"factor_{k}" for k in range(len(found.subspaces)))
    by_name = list(zip(names, found.subspaces, strict=True))
    notes = []
    silent = [name for name, subspace in by_name if subspace.losses[0] <= subspace.losses.min()]
    if silent:
        whose = "its weight is" if len(silent) == 1 else "their weights are"
        notes.append(
            f"The fit of subspaces predicts nothing of {quoted(silent)}, though other probes may: "
            f"{whose} spread evenly over all axes."
        )
    stopped = {name: len(subspace.losses) - 1 for name, subspace in by_name if subspace.stopped}
    if stopped:
        notes.append(
            f"The loss of {quoted(list(stopped))} still falls with the last of {max(stopped.values())} axes, the most "
            "that were allowed: the subspaces are larger than measured here; raise max_rank."
        )
    return (*notes, *_tilted(by_name))


def _tilted(by_name: Sequence[tuple[str, Subspace]]) -> Iterator[Note]:
    """Yield notes on axes whose direction in code space is uncertain, by what would make them certain."""
    tilted = {name: one for name, one in by_name if one.tilt > MOST_TILT}
    cured = {name: one for name, one in tilted.items() if one.standardised_tilt < one.tilt * CURED}
    others = {name: one for name, one in tilted.items() if name not in cured}
    begin = "Chance turns the axes of {} by about {} degrees"
    if cured:
        words = f"{begin}, as codes differ much in scale: standardise the codes, or measure them in one unit."
        yield Note.of(NoteKind.UNCERTAIN_AXES, words, quoted(list(cured)), _degrees(cured.values()))
    if others:
        words = f"{begin}: angles need more rows, or codes that tell more."
        yield Note.of(NoteKind.UNCERTAIN_AXES, words, quoted(list(others)), _degrees(others.values()))


def _degrees(found: Iterable[Subspace]) -> str:
    return f"{np.degrees(np.arcsin(np.sqrt(max(one.tilt for one in found)))):.0f}"


REFERENCE = "Geyer et al. (2024), arXiv:2407.03728"
SHARED_AXES = (
    "directions that predict one factor partly predict the factors that depend on it, so subspaces overlap although no "
    "code mixes factors."
)
BORROWED_FIT = KnownFailure(
    cases=("*/warped", "*/circles"),
    sentence="Where factors depend on each other, the codes of other factors help to fit a factor whose own code is "
    "bent.",
)

ROWS = (
    Metric(
        name="iwo",
        title="Importance-weighted orthogonality",
        function=iwo,
        source=SUBSPACES,
        score=iwo_score,
        measures=(Property.ORTHOGONALITY,),
        invariant_to=frozenset({Invariance.PERMUTATION, Invariance.ROTATION}),
        tolerance=0.02,
        min_factors=2,
        cost=Cost.SECONDS,
        summary="Do the factors lie in orthogonal subspaces, aligned with the codes or not?",
        reference=REFERENCE,
        presets=frozenset({Preset.IDENTIFIABILITY}),
        misled_by_dependence=SHARED_AXES,
        known_failures=(BORROWED_FIT,),
        pair_caption="1: the two factors lie in subspaces at right angles, so that one can be changed without the "
        "other. 0: they share the same axes with the same weights.",
    ),
    Metric(
        name="iwr",
        title="Importance-weighted rank",
        function=iwr,
        source=SUBSPACES,
        score=iwr_score,
        measures=(Property.ORTHOGONALITY, Property.COMPACTNESS),
        invariant_to=AXES | {Invariance.ROTATION},
        tolerance=0.02,
        cost=Cost.SECONDS,
        summary="Does each factor need few axes of code space, in whatever direction they point?",
        reference=REFERENCE,
        extrapolates=False,  # weights of axes are of cross-fitted losses, whose bias is not one over the rows
        presets=frozenset({Preset.IDENTIFIABILITY}),
        misled_by_dependence=SHARED_AXES,
        known_failures=(
            KnownFailure(
                cases=("*/mixed", "*/leaky", "*/two_factors_per_code"),
                sentence="It counts the axes that a factor needs and ignores the angles between factors, which `iwo` "
                "measures.",
            ),
            BORROWED_FIT,
        ),
    ),
    Metric(
        name="orthogonality",
        title="Overlap of subspaces",
        function=orthogonality,
        source=SUBSPACES,
        score=orthogonality_score,
        measures=(Property.ORTHOGONALITY,),
        higher_is_better=False,
        invariant_to=frozenset({Invariance.PERMUTATION, Invariance.ROTATION}),
        tolerance=0.03,
        min_factors=2,
        cost=Cost.SECONDS,
        summary="How much do the factors' subspaces overlap, every axis counted alike?",
        reference=REFERENCE,
        misled_by_dependence=SHARED_AXES,
        known_failures=(
            KnownFailure(
                cases=("*",),
                sentence="It counts every axis alike, including an axis that a factor hardly uses and that chance may "
                "add or leave out.",
                source=REFERENCE,
            ),
        ),
        traits=frozenset({Trait.COUNTS_AXES_ALIKE}),
        pair_caption="Overlap of the two factors' subspaces, every axis counted alike. 0: at right angles. 1: one lies "
        "inside the other.",
    ),
)
