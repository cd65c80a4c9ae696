"""Information tables: bins, joint counts, entropies, mutual information, and the bootstrap of counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

Binning = Literal["uniform", "quantile", "robust"]
MAX_BINS = 1000


def check_binning(n_bins: int, binning: str) -> None:
    """Raise unless both options can be used."""
    check_at_least("n_bins", n_bins, 2)
    if n_bins > MAX_BINS:
        raise ValueError(f"n_bins must be at most {MAX_BINS}, got {n_bins}.")
    check_choice("binning", binning, get_args(Binning))


def discretise(column: FloatArray, n_bins: int, binning: Binning) -> tuple[AnyArray, int]:
    """Cut one column into bins.

    * ``"uniform"``: equal width from minimum to maximum. One far sample empties all bins but two.
    * ``"quantile"``: equal counts; unchanged by any increasing map of the column.
    * ``"robust"``: a column of at most ``n_bins`` distinct values keeps them; any other gets equal-width
      bins between Tukey's outer fences (three interquartile ranges beyond the quartiles), what lies
      beyond joining the end bins. Without outliers it equals ``"uniform"``. Where half the rows share one value,
      the fences are those of the others.

    Returns:
        The bin of each row, ``int16``, and the number of bins the column could have filled.
    """
    if binning == "quantile":
        edges = np.unique(np.quantile(column, np.linspace(0, 1, n_bins + 1)[1:-1]))
        return np.searchsorted(edges, column, side="right").astype(np.int16), n_bins
    if binning == "robust":
        levels = _few_levels(column, n_bins)
        if levels is not None:
            return np.searchsorted(levels, column).astype(np.int16), len(levels)
        return _equal_width(column, n_bins, *_fences(column)), n_bins
    return _equal_width(column, n_bins, float(column.min()), float(column.max())), n_bins


def factor_labels(factor: Factor, n_bins: int, binning: Binning) -> tuple[IntArray, int]:
    """Return a factor as labels (-1 for "not labelled") and their number; numbers without labels are binned."""
    if factor.labels is not None:
        return factor.labels, len(factor.levels)
    labelled = factor.labelled
    labels = np.full(len(factor.numbers), -1, dtype=np.intp)
    values = factor.numbers[labelled]
    if factor.kind is FactorKind.CIRCULAR:
        assert factor.period is not None
        labels[labelled] = np.minimum(np.mod(values / factor.period, 1.0) * n_bins, n_bins - 1).astype(np.intp)
        return labels, n_bins
    bins, used = discretise(values, n_bins, binning)
    labels[labelled] = bins
    return labels, used


def _few_levels(column: FloatArray, n_bins: int) -> FloatArray | None:
    """Return the distinct values if there are at most ``n_bins``; a few rows decide most columns."""
    if len(np.unique(column[: 4 * n_bins])) > n_bins:
        return None
    levels = np.unique(column)
    return levels if len(levels) <= n_bins else None


def _fences(column: FloatArray) -> tuple[float, float]:
    """Return Tukey's outer fences, inside the range; a value that half the rows share is set aside for them."""
    low, high = float(column.min()), float(column.max())
    first, middle, last = np.percentile(column, [25, 50, 75])
    others = column[column != middle]
    if first == last and len(others):
        first, last = np.percentile(others, [25, 75])
    if first == last:
        return low, high
    distance = 3 * (last - first)
    return max(low, min(float(first - distance), float(middle))), min(high, max(float(last + distance), float(middle)))


def _equal_width(column: FloatArray, n_bins: int, low: float, high: float) -> AnyArray:
    if not high > low:
        return np.zeros(len(column), dtype=np.int16)
    scaled = (column - low) * (n_bins / (high - low))
    return np.clip(scaled, 0, n_bins - 1).astype(np.int16)


BiasCorrection = Literal["none", "miller_madow"]
N_BLOCKS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationOptions:
    """How codes are binned and whether small-sample bias is removed.

    Attributes:
        n_bins: Bins for each code, and for each factor that is continuous.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``; see :func:`~unbraid.evidence.information.discretise`.
        bias_correction: ``"none"`` for plug-in estimates, ``"miller_madow"`` to subtract their first-order bias.
    """

    n_bins: int = 20
    binning: Binning = "robust"
    bias_correction: BiasCorrection = "none"

    def __post_init__(self) -> None:
        check_binning(self.n_bins, self.binning)
        check_choice("bias_correction", self.bias_correction, get_args(BiasCorrection))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InformationTable:
    """Entropies and mutual information from which the information metrics are computed, in nats.

    Attributes:
        mutual_information: Between each code and each factor, ``(n_codes, n_factors)``.
        code_entropy: Of each binned code on the rows labelled for each factor, ``(n_codes, n_factors)``.
        factor_entropy: Of each factor, ``(n_factors,)``.
        code_bins: Number of bins each code could have filled, ``(n_codes,)``.
        factor_levels: Number of values each factor takes, ``(n_factors,)``.
        active: Which codes vary, ``(n_codes,)``.
    """

    mutual_information: FloatArray
    code_entropy: FloatArray
    factor_entropy: FloatArray
    code_bins: IntArray
    factor_levels: IntArray
    active: BoolArray

    @property
    def joint_entropy(self) -> FloatArray:
        """Joint entropy of each code and factor, ``(n_codes, n_factors)``."""
        return self.code_entropy + self.factor_entropy - self.mutual_information


def information_table(rep: Representation, options: InformationOptions) -> InformationTable:
    """Count every code against every factor, once."""
    bins, code_bins = bin_codes(rep, options)
    parts = []
    for factor in rep.factors:
        labels, n_levels = factor_labels(factor, options.n_bins, options.binning)
        counts = joint_counts(bins, int(code_bins.max()), labels, n_levels)
        parts.append((*_information(counts, options.bias_correction), n_levels))
    return _table(parts, code_bins, rep.active)


def resampled_tables(
    rep: Representation, options: InformationOptions, *, n_resamples: int, rng: np.random.Generator
) -> list[InformationTable]:
    """Bootstrap the table: rows fall into blocks at random, whole blocks are drawn with replacement.

    Counts add up over blocks, so a resample is a weighted sum of block counts and no row is read twice.
    The same weights serve every code and factor, which keeps their estimates tied as they are in the data.
    """
    bins, code_bins = bin_codes(rep, options)
    n_blocks = min(N_BLOCKS, rep.n_samples)
    block = rng.permutation(rep.n_samples) % n_blocks
    weights = rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), size=n_resamples).astype(np.float32)
    resampled = []
    for factor in rep.factors:
        labels, n_levels = factor_labels(factor, options.n_bins, options.binning)
        by_code = [
            _information(_resample(counts, weights), options.bias_correction)
            for counts in _block_counts(bins, int(code_bins.max()), labels, n_levels, block, n_blocks)
        ]
        mi, h_code, h_factor = (np.stack(part, axis=1) for part in zip(*by_code, strict=True))
        resampled.append((mi[..., 0], h_code[..., 0], h_factor[:, 0], n_levels))
    return [
        _table([(mi[r], h_code[r], h_factor[r], n) for mi, h_code, h_factor, n in resampled], code_bins, rep.active)
        for r in range(n_resamples)
    ]


def bin_codes(rep: Representation, options: InformationOptions) -> tuple[AnyArray, IntArray]:
    """Return the bin of every row, ``(n_codes, n_samples)``, and the number of bins of every code."""
    key = ("bins", options.n_bins, options.binning)
    if key not in rep.memo:
        columns = (discretise(column, options.n_bins, options.binning) for column in rep.codes.T)
        bins, sizes = zip(*columns, strict=True)
        rep.memo[key] = np.stack(bins), np.array(sizes, dtype=np.intp)
    found: tuple[AnyArray, IntArray] = rep.memo[key]
    return found


def joint_counts(bins: AnyArray, n_bins: int, labels: IntArray, n_levels: int) -> FloatArray:
    """Count bins against labels for every code, ``(n_codes, n_bins, n_levels)``; label -1 is left out."""
    labelled = labels >= 0
    if not labelled.all():
        bins, labels = bins[:, labelled], labels[labelled]
    cells = n_bins * n_levels
    counts = [np.bincount(column.astype(np.intp) * n_levels + labels, minlength=cells) for column in bins]
    return np.stack(counts).reshape(len(bins), n_bins, n_levels).astype(np.float64)


def entropy(counts: FloatArray, *, axis: int | tuple[int, ...] = -1) -> FloatArray:
    """Plug-in entropy of whole-number counts along ``axis``, in nats."""
    total = np.maximum(counts.sum(axis=axis), 1)
    h: FloatArray = np.log(total) - (counts * np.log(np.maximum(counts, 1))).sum(axis=axis) / total
    return h


def _information(counts: FloatArray, correction: BiasCorrection) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mutual information, code entropy and (one) factor entropy from ``(..., n_bins, n_levels)``."""
    by_bin, by_level = counts.sum(axis=-1), counts.sum(axis=-2)
    h_joint, h_code, h_factor = entropy(counts, axis=(-2, -1)), entropy(by_bin), entropy(by_level)
    if correction == "miller_madow":
        total = by_bin.sum(axis=-1)
        h_joint += ((counts > 0).sum(axis=(-2, -1)) - 1) / (2 * total)
        h_code += ((by_bin > 0).sum(axis=-1) - 1) / (2 * total)
        h_factor += ((by_level > 0).sum(axis=-1) - 1) / (2 * total)
    mi = np.maximum(h_code + h_factor - h_joint, 0.0)
    return mi, h_code, h_factor[..., 0]


def _block_counts(
    bins: AnyArray, n_bins: int, labels: IntArray, n_levels: int, block: IntArray, n_blocks: int
) -> Iterator[AnyArray]:
    """Yield for each code its counts by block, ``(n_blocks, n_bins, n_levels)``."""
    rows = np.flatnonzero(labels >= 0)
    cells = n_bins * n_levels
    offset = block[rows] * cells + labels[rows]
    for column in bins:
        flat = column[rows].astype(np.intp) * n_levels
        flat += offset
        counts = np.bincount(flat, minlength=n_blocks * cells).astype(np.float32)
        yield counts.reshape(n_blocks, n_bins, n_levels)


def _resample(counts: AnyArray, weights: AnyArray) -> FloatArray:
    """Return weighted sums of block counts, ``(n_resamples, 1, n_bins, n_levels)``."""
    total = weights @ counts.reshape(len(counts), -1)
    return total.reshape(len(weights), 1, *counts.shape[1:])


def _table(
    parts: list[tuple[FloatArray, FloatArray, FloatArray, int]], code_bins: IntArray, active: BoolArray
) -> InformationTable:
    mi, h_code, h_factor, n_levels = zip(*parts, strict=True)
    return InformationTable(
        mutual_information=np.stack(mi, axis=1),
        code_entropy=np.stack(h_code, axis=1),
        factor_entropy=np.array(h_factor, dtype=np.float64),
        code_bins=code_bins,
        factor_levels=np.array(n_levels, dtype=np.intp),
        active=active,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeInformation:
    """Mutual information between the active codes.

    Attributes:
        matrix: In nats, the entropy of each code on the diagonal, ``(n_active, n_active)``.
        active: Which codes vary.
    """

    matrix: FloatArray
    active: BoolArray

    def spread(self, values: FloatArray) -> FloatArray:
        """Return one value for every code, NaN for those that do not vary."""
        full = np.full(len(self.active), np.nan)
        full[self.active] = values
        return full


def code_information(rep: Representation, options: InformationOptions, rng: np.random.Generator) -> CodeInformation:
    """Count every pair of codes; draws nothing, so ``rng`` is not used."""
    bins, sizes = bin_codes(rep, options)
    bins, sizes = bins[rep.active], sizes[rep.active]
    n_bins = int(sizes.max())
    h = np.array([entropy(np.bincount(column, minlength=n_bins).astype(float)) for column in bins])
    matrix = np.diag(h)
    for j in range(1, len(bins)):
        counts = joint_counts(bins[:j], n_bins, bins[j].astype(np.intp), n_bins)
        matrix[j, :j] = matrix[:j, j] = np.maximum(h[:j] + h[j] - entropy(counts, axis=(1, 2)), 0.0)
    return CodeInformation(matrix=matrix, active=rep.active)
