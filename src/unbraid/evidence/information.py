"""Information tables: bins, joint counts, entropies and mutual information, and their scatter over random halves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid.evidence.counting import BiasCorrection, Estimator, chance_variance, information_of, rough_information
from unbraid.probes.bins import MOST_EXACT
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

Binning = Literal["uniform", "quantile", "robust"]
MAX_BINS = 1000
#: Codes of which every pair is counted; of more, this many are drawn.
MOST_PAIRED = 128
#: Share of the rows beyond each end of robust bins.
TAIL = 0.01
#: A value this far below an edge, in widths of a bin, is on the edge but for rounding, also in single precision.
ROUNDING = 1e-4


def check_binning(n_bins: int, binning: str) -> None:
    """Raise unless both options can be used."""
    check_at_least("n_bins", n_bins, 2)
    if n_bins > MAX_BINS:
        raise ValueError(f"n_bins must be at most {MAX_BINS}, got {n_bins}.")
    check_choice("binning", binning, get_args(Binning))


def discretise(column: FloatArray, n_bins: int, binning: Binning) -> tuple[AnyArray, int]:
    """Cut one column into bins.

    * ``"uniform"``: equal width from minimum to maximum. The range grows with the number of rows, and one far sample
      empties all bins but two.
    * ``"quantile"``: equal counts; unchanged by any increasing map of the column.
    * ``"robust"``: a column of at most ``n_bins`` distinct values keeps them, and so does a column in which ``n_bins``
      values hold 98 % of the rows, the others joining the nearest of them. Any other gets equal-width bins that end
      where 1 % of the rows lie beyond, or at Tukey's outer fences (three interquartile ranges beyond the quartiles)
      where these lie inside; rows beyond join the end bins. Where half the rows share one value, the ends are those of
      the others. The bins tend to fixed ones with more rows, and a value on an edge belongs to the bin above, also
      where rounding has put it just below.

    Returns:
        The bin of each row, ``int16``, and the number of bins the column could have filled.
    """
    cut = cut_for(column, n_bins, binning)
    return cut.bins(column), cut.n_bins


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """Bins of one column, which other rows can be cut into as well.

    Attributes:
        n_bins: Number of bins that the column could have filled.
        edges: Where one bin ends and the next begins; ``None`` for bins of equal width.
        closed_left: Whether a value on an edge belongs to the bin above it.
        low: Start of the bins of equal width.
        high: Their end.
        nudge: How far below an edge a value may lie and belong to the bin above, in widths of a bin.
    """

    n_bins: int
    edges: FloatArray | None = None
    closed_left: bool = False
    low: float = 0.0
    high: float = 0.0
    nudge: float = 0.0

    def bins(self, column: FloatArray) -> AnyArray:
        """Return the bin of each row, ``int16``."""
        if self.edges is None:
            return _equal_width(column, self.n_bins, self.low, self.high, nudge=self.nudge)
        return np.searchsorted(self.edges, column, side="right" if self.closed_left else "left").astype(np.int16)


def cut_for(column: FloatArray, n_bins: int, binning: Binning) -> Cut:
    """Return the bins of a column, as :func:`discretise` describes them."""
    if binning == "quantile":
        edges = np.unique(np.quantile(column, np.linspace(0, 1, n_bins + 1)[1:-1]))
        return Cut(n_bins=n_bins, edges=edges, closed_left=True)
    if binning == "robust":
        levels = _few_levels(column, n_bins)
        if levels is not None:
            return Cut(n_bins=len(levels), edges=(levels[1:] + levels[:-1]) / 2)
        low, high = _ends(column)
        return Cut(n_bins=n_bins, low=low, high=high, nudge=ROUNDING)
    return Cut(n_bins=n_bins, low=float(column.min()), high=float(column.max()))


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
    """Return the distinct values if ``n_bins`` of them hold nearly all rows; a few rows decide most columns."""
    first = np.sort(column[: 10 * n_bins])
    if np.count_nonzero(first[1:] != first[:-1]) >= n_bins + len(first) // 10:  # then a tenth of them are beside
        return None
    levels, counts = np.unique(column, return_counts=True)
    if len(levels) <= n_bins:
        return levels
    common = np.argpartition(counts, -n_bins)[-n_bins:]
    return np.sort(levels[common]) if counts[common].sum() >= (1 - 2 * TAIL) * len(column) else None


def _ends(column: FloatArray) -> tuple[float, float]:
    """Return the ends of robust bins; a value that half the rows share is set aside for them."""
    low, first, middle, last, high = _order_statistics(column)
    if first == last:
        others = column[column != middle]
        if not len(others):
            return middle, middle
        low, first, _, last, high = _order_statistics(others)
    if first == last:
        return min(float(column.min()), middle), max(float(column.max()), middle)
    start, end = robust_ends(low, first, middle, last, high)
    return float(start), float(end)


def robust_ends(low: Any, first: Any, middle: Any, last: Any, high: Any) -> tuple[Any, Any]:
    """Ends of robust bins from order statistics: those of the tails, or Tukey's outer fences where these lie inside."""
    distance = 3 * (last - first)
    start = np.minimum(np.maximum(low, first - distance), middle)
    return start, np.maximum(np.minimum(high, last + distance), middle)


def _order_statistics(column: FloatArray) -> tuple[float, float, float, float, float]:
    """Return values of the column near five quantiles: not between values, and the same from either end."""
    n_rows = len(column)
    ranks = [min(max(round(share * (n_rows + 1)) - 1, 0), n_rows - 1) for share in (TAIL, 0.25)]
    places = [*ranks, n_rows // 2, *(n_rows - 1 - rank for rank in reversed(ranks))]
    low, first, middle, last, high = np.partition(column, places)[places].tolist()
    return low, first, middle, last, high


def _equal_width(column: FloatArray, n_bins: int, low: float, high: float, *, nudge: float = 0.0) -> AnyArray:
    if not high > low:
        return np.zeros(len(column), dtype=np.int16)
    factor = n_bins / (high - low)
    # Numbers so close to 0 that no factor widens them are widened by division, which rounds otherwise.
    scaled = (column - low) * factor if factor < np.inf else (column - low) / (high - low) * n_bins
    if nudge:
        scaled += nudge
    return np.clip(scaled, 0, n_bins - 1).astype(np.int16)


#: Rows of a random half, at most: more rows hardly improve the estimate of a variance.
MAX_PART = 2_500
#: Cells looked up at once, few enough for the cache of a processor.
AT_ONCE = 50_000
#: Factors of few values are counted by products where they are enough, so many at once, in tiles of codes and rows.
FEW_LEVELS, ENOUGH_FACTORS, MOST_AT_ONCE = 4, 6, 64
TILE_CODES, TILE_ROWS = 64, 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationOptions:
    """How codes are binned and whether small-sample bias is removed.

    Attributes:
        n_bins: Bins for each code, and for each factor that is continuous.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``; see :func:`~unbraid.evidence.information.discretise`.
        bias_correction: ``"none"`` for plug-in estimates as published, ``"miller_madow"`` to subtract their first-order
            bias, ``"schurmann"`` to subtract it in sparse tables as well; ``"auto"`` is ``"none"`` for uniform bins,
            ``"schurmann"`` for others.
    """

    n_bins: int = 20
    binning: Binning = "robust"
    bias_correction: BiasCorrection = "auto"

    def __post_init__(self) -> None:
        check_binning(self.n_bins, self.binning)
        check_choice("bias_correction", self.bias_correction, get_args(BiasCorrection))

    @property
    def estimator(self) -> Estimator:
        """The correction that ``"auto"`` stands for."""
        if self.bias_correction == "auto":
            return "none" if self.binning == "uniform" else "schurmann"
        return self.bias_correction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InformationTable:
    """Entropies and mutual information from which the information metrics are computed, in nats.

    Attributes:
        mutual_information: Between each code and each factor, ``(n_codes, n_factors)``; where the bias is taken off, it
            scatters around 0 for a code without information, so that sums over such codes are about 0.
        code_entropy: Of each binned code on the rows labelled for each factor, ``(n_codes, n_factors)``.
        factor_entropy: Of each factor, ``(n_factors,)``.
        code_bins: Number of bins each code could have filled, ``(n_codes,)``.
        factor_levels: Number of values each factor takes, ``(n_factors,)``.
        active: Which codes vary, ``(n_codes,)``.
        corrected: Whether the bias is taken off.
        plug_in: Mutual information with its bias, ``(n_codes, n_factors)``; ``None`` in reports of older versions.
    """

    mutual_information: FloatArray
    code_entropy: FloatArray
    factor_entropy: FloatArray
    code_bins: IntArray
    factor_levels: IntArray
    active: BoolArray
    corrected: bool = False
    plug_in: FloatArray | None = None

    @property
    def joint_entropy(self) -> FloatArray:
        """Joint entropy of each code and factor, ``(n_codes, n_factors)``."""
        return self.code_entropy + self.factor_entropy - self.mutual_information

    @property
    def as_counted(self) -> FloatArray:
        """Mutual information with its bias, which has a known distribution for independent columns."""
        return self.mutual_information if self.plug_in is None else self.plug_in

    @property
    def information(self) -> FloatArray:
        """Mutual information, 0 where its estimate is below 0."""
        return np.maximum(self.mutual_information, 0.0)


def information_table(rep: Representation, options: InformationOptions) -> InformationTable:
    """Count every code against every factor, once."""
    return table_of_counts(_joint_counts(rep, options), bin_codes(rep, options)[1], rep, options)


def table_of_counts(
    counts: Iterable[IntArray], code_bins: IntArray, rep: Representation, options: InformationOptions
) -> InformationTable:
    """Return the table of all factors from the joint counts of the codes and each factor, one array a factor."""
    parts = [information_of(one, code_bins, options.estimator) for one in counts]
    return InformationTable(
        mutual_information=np.stack([part.mutual_information for part in parts], axis=1),
        code_entropy=np.stack([part.code_entropy for part in parts], axis=1),
        factor_entropy=np.array([part.factor_entropy for part in parts], dtype=np.float64),
        code_bins=code_bins,
        factor_levels=np.array([part.n_levels for part in parts], dtype=np.intp),
        active=rep.active,
        corrected=options.estimator != "none",
        plug_in=np.stack([part.plug_in for part in parts if part.plug_in is not None], axis=1),
    )


def _joint_counts(rep: Representation, options: InformationOptions) -> Iterator[IntArray]:
    """Yield for each factor its counts with all codes."""
    bins, code_bins = bin_codes(rep, options)
    n_bins = int(code_bins.max())
    labelled = [factor_labels(factor, options.n_bins, options.binning) for factor in rep.factors]
    n_few = 0 if rep.n_codes <= MOST_EXACT else sum(n_levels <= FEW_LEVELS for _, n_levels in labelled)
    by_products: dict[int, IntArray] = {}
    for k, (labels, n_levels) in enumerate(labelled):
        if n_few < ENOUGH_FACTORS or n_levels > FEW_LEVELS:
            yield joint_counts(bins, n_bins, labels, n_levels)
            continue
        if k not in by_products:
            batch = [j for j in range(k, len(labelled)) if labelled[j][1] <= FEW_LEVELS][:MOST_AT_ONCE]
            counted = counts_by_products(bins, n_bins, [labelled[j] for j in batch])
            by_products = dict(zip(batch, counted, strict=True))
        yield by_products.pop(k)


def resampled_tables(
    rep: Representation, options: InformationOptions, *, n_resamples: int, rng: np.random.Generator
) -> list[InformationTable]:
    """Return tables that scatter around that of all rows as tables of as many fresh rows would.

    Random halves of the rows are cut into bins of their own and counted; see :class:`Halves`.
    """
    point, halves = information_table(rep, options), Halves(n_rows=rep.n_samples)
    drawn = []
    for rows in halves.draw(n_resamples, rng):
        half = rep.take(rows)
        code_bins = bin_codes(half, options)[1]
        drawn.append([rough_information(c, code_bins, options.estimator) for c in _joint_counts(half, options)])
    chance = [halves.chance(counts, options.estimator) for counts in _joint_counts(rep, options)]

    def around(values: FloatArray, name: str, *, chance: FloatArray | None = None) -> FloatArray:
        found = np.array([[getattr(part, name) for part in half] for half in drawn])
        deviations = halves.deviations(found, chance)
        return values + (deviations.swapaxes(1, 2) if found.ndim == 3 else deviations)

    mi = around(point.mutual_information, "mutual_information", chance=np.stack(chance, axis=1))
    h_code = np.maximum(around(point.code_entropy, "code_entropy"), 0.0)
    h_factor = np.maximum(around(point.factor_entropy, "factor_entropy"), 0.0)
    mi = np.minimum(mi, np.minimum(h_code, h_factor[:, None, :]))
    if not point.corrected:
        mi = np.maximum(mi, 0.0)
    return [
        replace(point, mutual_information=mi[r], code_entropy=h_code[r], factor_entropy=h_factor[r], plug_in=None)
        for r in range(n_resamples)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """Random halves of the rows, or as many rows as are enough to estimate a variance.

    Attributes:
        n_rows: Number of all rows.
    """

    n_rows: int

    @property
    def size(self) -> int:
        """Number of rows of a half."""
        return max(1, min(self.n_rows // 2, MAX_PART))

    @property
    def ratio(self) -> float:
        """Variance of a mean over all rows, as a multiple of the variance of its means over halves."""
        return self.size / max(self.n_rows - self.size, 1)

    def draw(self, n_halves: int, rng: np.random.Generator) -> Iterator[IntArray]:
        """Yield the rows of each half."""
        for _ in range(n_halves):
            yield np.sort(rng.permutation(self.n_rows)[: self.size])

    def chance(self, counts: IntArray, estimator: Estimator) -> FloatArray:
        """Return the chance variance of all rows, and of a half, for counts of all rows, ``(2, n_codes)``."""
        shares = 1.0, self.size / self.n_rows
        return np.stack([chance_variance(counts, estimator, share=share) for share in shares])

    def deviations(self, values: FloatArray, chance: FloatArray | None = None) -> FloatArray:
        """Return deviations that have the variance of estimates from all rows, from estimates on halves.

        The deviations over halves have the variance of a mean over all rows, once multiplied by the root of ``ratio``.
        The chance variance falls faster with the number of rows and is too large in them. It is known for either
        number of rows, so that deviations are shrunk to the sum of the two variances on all rows.

        Args:
            values: Estimates, the first axis for the halves.
            chance: From :meth:`chance`, the first axis for its two rows.
        """
        deviations: FloatArray = np.sqrt(self.ratio) * (values - values.mean(axis=0))
        if chance is None or len(values) < 2:
            return deviations
        of_all, of_halves = chance[0], self.ratio * np.maximum(chance[1] - chance[0], chance[0])
        variance = np.maximum(deviations.var(axis=0, ddof=1), 1e-300)
        least = np.divide(of_all, of_halves, out=np.ones_like(of_all), where=of_halves > 0)
        kept = np.clip(1 - (of_halves - of_all) / variance, np.minimum(least, 1.0), 1.0)
        shrunk: FloatArray = deviations * np.sqrt(kept)
        return shrunk


def bin_codes(rep: Representation, options: InformationOptions) -> tuple[AnyArray, IntArray]:
    """Return the bin of every row, ``(n_codes, n_samples)``, and the number of bins of every code."""
    key = ("bins", options.n_bins, options.binning)

    def made() -> tuple[AnyArray, IntArray]:
        columns = (discretise(column, options.n_bins, options.binning) for column in np.ascontiguousarray(rep.codes.T))
        bins, sizes = zip(*columns, strict=True)
        return np.stack(bins), np.array(sizes, dtype=np.intp)

    return rep.memo.once(key, made)


def counts_by_products(bins: AnyArray, n_bins: int, factors: Sequence[tuple[IntArray, int]]) -> list[IntArray]:
    """The same as :func:`joint_counts` for several factors of few values at once, by products of indicators.

    Args:
        bins: ``(n_codes, n_samples)``.
        n_bins: Number of bins.
        factors: Labels and number of values of each factor.
    """
    ends = np.cumsum([0, *(n_levels for _, n_levels in factors)])
    member = np.zeros((bins.shape[1], ends[-1]), dtype=np.float32)  # holds whole numbers up to 16 million
    for first, (labels, _) in zip(ends[:-1], factors, strict=True):
        known = np.flatnonzero(labels >= 0)
        member[known, first + labels[known]] = 1.0
    counts = np.zeros((len(bins), n_bins, ends[-1]), dtype=np.intp)
    for start in range(0, len(bins), TILE_CODES):
        own = counts[start : start + TILE_CODES]
        for row in range(0, bins.shape[1], TILE_ROWS):
            some = bins[start : start + TILE_CODES, row : row + TILE_ROWS]
            for value in range(n_bins):
                own[:, value] += ((some == value).astype(np.float32) @ member[row : row + TILE_ROWS]).astype(np.intp)
    return [counts[:, :, first:last] for first, last in pairwise(ends)]


def joint_counts(bins: AnyArray, n_bins: int, labels: IntArray, n_levels: int) -> IntArray:
    """Count bins against labels for every code, ``(n_codes, n_bins, n_levels)``; label -1 is left out."""
    labelled = labels >= 0
    if not labelled.all():
        bins, labels = bins[:, labelled], labels[labelled]
    cells = n_bins * n_levels
    counts = []
    for some in np.array_split(bins, min(len(bins), 1 + bins.size // AT_ONCE)):
        flat = some.astype(np.intp)
        flat *= n_levels
        flat += labels + cells * np.arange(len(some))[:, None]
        counts.append(np.bincount(flat.ravel(), minlength=len(some) * cells))
    return np.concatenate(counts).reshape(len(bins), n_bins, n_levels)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeInformation:
    """Mutual information between the active codes, or between some of them where they are very many.

    Attributes:
        matrix: In nats, the entropy of each code on the diagonal, ``(n_measured, n_measured)``; where the bias is taken
            off, it scatters around 0 for independent codes.
        active: Which codes vary.
        measured: Which codes the matrix is of; empty for all that vary.
    """

    matrix: FloatArray
    active: BoolArray
    measured: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def codes(self) -> BoolArray:
        """Codes of the matrix."""
        return self.measured > 0 if len(self.measured) else self.active

    def spread(self, values: FloatArray) -> FloatArray:
        """Return one value for every code, NaN for those that do not vary."""
        full = np.full(len(self.active), np.nan)
        full[self.codes] = values
        return full


def code_information(rep: Representation, options: InformationOptions, rng: np.random.Generator) -> CodeInformation:
    """Count every pair of codes; draws nothing, so ``rng`` is not used."""
    matrix = _fill(information_of(*pair, options.estimator).mutual_information for pair in _pair_counts(rep, options))
    measured = _paired_codes(rep)
    some = measured.astype(float) if measured.sum() < rep.active.sum() else np.zeros(0)
    return CodeInformation(matrix=matrix, active=rep.active, measured=some)


def resampled_code_information(
    rep: Representation, options: InformationOptions, *, n_resamples: int, rng: np.random.Generator
) -> list[CodeInformation]:
    """Return matrices that scatter around that of all rows as matrices of as many fresh rows would."""
    point, halves = code_information(rep, options, rng), Halves(n_rows=rep.n_samples)
    drawn = []
    for rows in halves.draw(n_resamples, rng):
        pairs = _pair_counts(rep.take(rows), options)
        drawn.append(_fill(rough_information(*pair, options.estimator).mutual_information for pair in pairs))
    chance = [halves.chance(counts, options.estimator) for counts, _ in _pair_counts(rep, options)]
    by_size = np.stack([_fill(row[which] for row in chance) for which in range(2)])
    deviations = halves.deviations(np.stack(drawn), by_size)
    return [replace(point, matrix=point.matrix + deviation) for deviation in deviations]


def _pair_counts(rep: Representation, options: InformationOptions) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield for each code that is paired its counts with those before it and with itself, and the bins of these."""
    bins, sizes = bin_codes(rep, options)
    paired = _paired_codes(rep)
    bins, sizes = bins[paired], sizes[paired]
    for j in range(len(bins)):
        counts = joint_counts(bins[: j + 1], int(sizes[: j + 1].max()), bins[j].astype(np.intp), int(sizes[j]))
        yield counts, sizes[: j + 1]


def _paired_codes(rep: Representation) -> BoolArray:
    """Active codes, or as many as the pairs of which can be counted, drawn at random but always the same."""
    active = np.flatnonzero(rep.active)
    if len(active) <= MOST_PAIRED:
        return rep.active
    paired = np.zeros(rep.n_codes, dtype=bool)
    paired[np.random.default_rng(0).choice(active, MOST_PAIRED, replace=False)] = True
    return paired


def _fill(rows: Iterable[FloatArray]) -> FloatArray:
    """Return the symmetric matrix of which ``rows`` are the lower triangle, diagonal included."""
    triangle = list(rows)
    matrix = np.zeros((len(triangle), len(triangle)))
    for j, row in enumerate(triangle):
        matrix[j, : j + 1] = matrix[: j + 1, j] = row
    return matrix
