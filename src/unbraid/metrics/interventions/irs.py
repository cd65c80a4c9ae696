"""Interventional robustness score."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_choice
from unbraid.evidence.information import Binning
from unbraid.evidence.interventions import (
    CACHED_CELLS,
    ConditionalOptions,
    ConditionalSpread,
    conditional_spread,
    sort_by_label,
    sums_by_label,
)
from unbraid.metrics.table.metric import (
    BesideThePanel,
    Invariance,
    KnownFailure,
    Metric,
    Preset,
    Property,
    dead_code_notes,
)
from unbraid.metrics.table.sources import CONDITIONAL
from unbraid.metrics.table.weaknesses import COUNTS_UNUSED_CODES, MISSES_LOST_FACTORS, MIXES_DEPENDENT_FACTORS, OUTLIERS
from unbraid.probes.bins import MOST_EXACT
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score

Variant = Literal["auto", "mean", "authors", "thesis"]


def irs(
    codes: Any,
    factors: Any = None,
    *,
    quantile: float | None = None,
    variant: Variant = "auto",
    n_bins: int = 20,
    binning: Binning = "robust",
) -> Score:
    r"""Score how little each code moves while its factor is held fixed and the others change.

    For code j and factor k, take the mean distance from :math:`\mathbb{E}[z_j \mid v_k]` over the rows, and divide by
    the mean distance from :math:`\mathbb{E}[z_j]`. One minus that, for the best factor of each code, is averaged over
    codes, each weighted by its mean distance. The published score takes the largest distance in place of the mean
    (``quantile=1``). The largest distance grows with the number of rows and has no limit where codes are noisy, so that
    the published score has no value that more rows would approach.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; all factors of the data should be there.
        quantile: Take this quantile of the distances at a value, as published: 1 for the largest; 0.99 is the published
            software's guard against noise. By default 1 for the variants ``"authors"`` and ``"thesis"``.
        variant: ``"mean"``: mean distances, values count by frequency. ``"authors"``: largest distances, every row is
            an intervention, values count equally, codes weigh as their largest distance, as in the authors' code.
            ``"thesis"``: largest distances, rows equal in all factors are averaged first, values count by frequency,
            codes count equally (Algorithm 3). ``"auto"``: ``"authors"`` where a quantile is given, else ``"mean"``.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.

    Returns:
        A score in [0, 1], higher is better. Not for partial labels.

    References:
        Suter et al. (2019), Robustly Disentangled Causal Mechanisms, sec. 3. https://arxiv.org/abs/1811.00007

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(irs(factors, factors))
        1.0
    """
    rep = as_labelled(codes, factors, metric="irs")
    options = ConditionalOptions(n_bins=n_bins, binning=binning)
    return irs_score(conditional_spread(rep, options, np.random.default_rng(0)), quantile=quantile, variant=variant)


def irs_score(spread: ConditionalSpread, *, quantile: float | None = None, variant: Variant = "auto") -> Score:
    """IRS of codes grouped by the values of the factors."""
    if quantile is not None and not 0 < quantile <= 1:
        raise ValueError(f"quantile must be in (0, 1], got {quantile}.")
    check_choice("variant", variant, get_args(Variant))
    if variant == "auto":
        variant = "mean" if quantile is None else "authors"
    if variant == "mean" and quantile is not None:
        raise ValueError(f"quantile must be left out with variant='mean', which takes no quantile, got {quantile}.")
    codes, labels, weights = _interventions(spread, average_repeats=variant == "thesis")
    distances = codes - np.average(codes, axis=0, weights=weights)
    np.abs(distances, out=distances)
    if variant == "mean":
        whole = distances.sum(axis=0) / max(1.0, np.sqrt(len(codes) * (len(codes) - 1.0)))
        within = _mean_distances(codes, labels)
    else:
        whole = distances.max(axis=0)
        within = [_mean_largest_distance(codes, column, weights, quantile or 1.0) for column in labels.T]
    matrix = 1 - np.stack(within, axis=1) / np.where(whole > 0, whole, 1.0)[:, None]
    best = matrix.max(axis=1)
    if variant == "thesis":
        best = np.clip(best, 0.0, 1.0)
    per_code = np.full(len(spread.active), np.nan)
    per_code[spread.active] = np.clip(best, 0.0, 1.0)
    full = np.zeros((len(spread.active), matrix.shape[1]))
    full[spread.active] = matrix
    value = np.average(best, weights=None if variant == "thesis" else whole)
    return Score(
        value=float(np.clip(value, 0.0, 1.0)),
        per_code=per_code,
        evidence={"robustness": full},
        notes=dead_code_notes(int((~spread.active).sum())),
    )


def irs_of(
    codes: Any,
    factors: Any = None,
    *,
    of: Sequence[int],
    fixed: Sequence[str | int],
    n_bins: int = 20,
    binning: Binning = "robust",
) -> float:
    r"""Return how little some codes move, together, while some factors are held fixed and the others change.

    The general form of the score: for every combination of values of the fixed factors, the largest Euclidean distance
    of the codes of an intervention on the others from their mean; the mean of these by frequency, over the largest
    distance from the mean of all, less 1. Rows equal in all factors are averaged first. With one code and one factor it
    is an entry of the matrix of ``irs(variant="thesis")``; with all factors fixed it is 1, with none 0.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; all factors of the data should be there.
        of: Columns of the codes, :math:`\mathbb{L}'`.
        fixed: Names or numbers of the factors that are held fixed, :math:`\mathbb{K}'`.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.

    Returns:
        A number in [0, 1], higher is better.

    Raises:
        ValueError: No codes, codes that are constant, or codes and factors that are not there.

    References:
        Suter et al. (2019), Robustly Disentangled Causal Mechanisms, sec. 3. https://arxiv.org/abs/1811.00007

    Example:
        >>> import numpy as np
        >>> x, y = np.divmod(np.arange(9), 3)
        >>> turned = np.column_stack([x + y, x - y])  # no code is of one factor, and both are of both
        >>> values = np.column_stack([x, y])
        >>> [round(irs_of(turned, values, of=[0, 1], fixed=fixed), 3) for fixed in ([], [0], [0, 1])]
        [0.0, 0.293, 1.0]
    """
    rep = as_labelled(codes, factors, metric="irs_of")
    names = [rep.factor_names[one] if isinstance(one, int) and 0 <= one < rep.n_factors else str(one) for one in fixed]
    for name in names:
        check_choice("fixed", name, rep.factor_names)
    if not of or not all(0 <= one < rep.n_codes for one in of):
        raise ValueError(f"of must be columns of the codes, from 0 to {rep.n_codes - 1}, got {list(of)}.")
    spread = conditional_spread(rep, ConditionalOptions(n_bins=n_bins, binning=binning), np.random.default_rng(0))
    chosen = np.isin(np.flatnonzero(rep.active), of)
    if not chosen.any():
        raise ValueError(f"of must have a code that is not constant, got {list(of)}.")
    means, labels, weights = _interventions(spread, average_repeats=True)
    assert weights is not None
    means = means[:, chosen]
    columns = [rep.factor_names.index(name) for name in names]
    whole = np.zeros(len(means), dtype=np.intp)
    group = np.unique(labels[:, columns], axis=0, return_inverse=True)[1].reshape(-1) if columns else whole
    moved = _mean_reach(means, group, weights) / _mean_reach(means, whole, weights)
    return float(np.clip(1 - moved, 0.0, 1.0))


def _mean_reach(means: FloatArray, group: IntArray, weights: FloatArray) -> float:
    """Largest Euclidean distance from the mean of each group, averaged over groups by their rows."""
    mass = np.bincount(group, weights=weights)
    centres = np.stack([np.bincount(group, weights=column * weights) for column in means.T], axis=1) / mass[:, None]
    reach = np.zeros(len(mass))
    np.maximum.at(reach, group, np.linalg.norm(means - centres[group], axis=1))
    return float(np.average(reach, weights=mass))


def _interventions(
    spread: ConditionalSpread, *, average_repeats: bool
) -> tuple[FloatArray, IntArray, FloatArray | None]:
    """Rows labelled in every factor, or one mean for each combination of values and the number of rows behind it."""
    labels = np.stack(spread.labels, axis=1)
    complete = (labels >= 0).all(axis=1)
    if not complete.any():
        raise ValueError("factors must have rows labelled in every column for irs, got none.")
    codes = spread.codes if complete.all() else spread.codes[complete]
    labels = labels[complete]
    if not average_repeats:
        return codes, labels, None
    combinations, inverse, counts = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    means = np.stack([np.bincount(inverse, weights=column) for column in codes.T], axis=1) / counts[:, None]
    return means, combinations, counts.astype(float)


def _mean_distances(codes: FloatArray, labels: IntArray) -> list[FloatArray]:
    """Mean distance of rows from the mean of the rows with the same value, of each factor, ``(n_codes,)`` each."""
    if codes.shape[1] <= MOST_EXACT:
        return [_mean_distance(codes, column) for column in labels.T]
    columns = list(labels.T)
    tables = sums_by_label(codes, columns, [int(column.max()) + 1 for column in columns])
    means = [(sums / np.maximum(counts, 1)[:, None]).T for sums, _, counts in tables]
    weights = [
        _stretch(counts)[column] / counts[counts > 1].sum()
        for (*_, counts), column in zip(tables, columns, strict=True)
    ]
    found = [np.zeros(codes.shape[1]) for _ in columns]
    step = max(1, CACHED_CELLS // len(codes))
    for start in range(0, codes.shape[1], step):
        part = slice(start, start + step)
        own = np.ascontiguousarray(codes[:, part].T)
        for k, column in enumerate(columns):
            distance = means[k][part].take(column, axis=1)
            np.abs(np.subtract(own, distance, out=distance), out=distance)
            found[k][part] = distance @ weights[k]
    return found


def _stretch(sizes: IntArray) -> FloatArray:
    """Factor of the distances from the mean of so many rows; 0 for one row."""
    return np.where(sizes > 1, np.sqrt(sizes / np.maximum(sizes - 1, 1)), 0.0)


def _mean_distance(codes: FloatArray, labels: IntArray) -> FloatArray:
    """Mean distance of rows from the mean of the rows with the same value, ``(n_codes,)``.

    Distances from an estimated mean are too short, for normal codes by the factor that is divided out here. Values of
    one row are left out.
    """
    order, starts, _ = sort_by_label(labels)
    codes = codes[order]
    sizes = np.diff(starts, append=len(order))
    means = np.add.reduceat(codes, starts, axis=0) / sizes[:, None]
    sums = np.add.reduceat(np.abs(codes - np.repeat(means, sizes, axis=0)), starts, axis=0)
    return np.asarray(_stretch(sizes) @ sums / sizes[sizes > 1].sum())


def _mean_largest_distance(
    codes: FloatArray, labels: IntArray, weights: FloatArray | None, quantile: float
) -> FloatArray:
    """Largest distance from the conditional mean at each value, averaged over values, ``(n_codes,)``.

    With weights (rows behind each mean), values count by their rows; without, equally.
    """
    order, starts, _ = sort_by_label(labels)
    codes = codes[order]
    sizes = np.diff(starts, append=len(order))
    if weights is None:
        mass, sums = sizes, np.add.reduceat(codes, starts, axis=0)
    else:
        mass = np.add.reduceat(weights[order], starts)
        sums = np.add.reduceat(codes * weights[order][:, None], starts, axis=0)
    distances = np.abs(codes - np.repeat(sums / mass[:, None], sizes, axis=0))
    if quantile == 1:
        largest = np.maximum.reduceat(distances, starts, axis=0)
    else:
        largest = np.stack([np.quantile(part, quantile, axis=0) for part in np.split(distances, starts[1:])])
    return np.average(largest, axis=0, weights=None if weights is None else mass)


ROWS = (
    Metric(
        name="irs",
        title="Interventional robustness",
        function=irs,
        source=CONDITIONAL,
        score=irs_score,
        measures=(Property.MODULARITY, Property.EXPLICITNESS),
        invariant_to=frozenset({Invariance.PERMUTATION}),
        summary="How little does a code change while its factor is held fixed and the other factors vary?",
        reference="Suter et al. (2019), arXiv:1811.00007",
        presets=frozenset({Preset.VAE}),
        known_failures=(
            COUNTS_UNUSED_CODES,
            OUTLIERS,
            KnownFailure(
                cases=("*/jitter",),
                sentence="It measures how far a code moves while its factor is held fixed: noise moves it as well.",
            ),
            MISSES_LOST_FACTORS,
            MIXES_DEPENDENT_FACTORS,
        ),
    ),
)
BESIDE_THE_PANEL = (
    BesideThePanel(
        name="irs_of",
        summary="How little do some codes change together while some factors are held fixed and the others vary?",
        needs="the codes, and the factors that are held fixed",
        call="unbraid.metrics.irs_of(codes, factors, of=..., fixed=...)",
        also="the irs of single codes and factors is in every report",
    ),
)
