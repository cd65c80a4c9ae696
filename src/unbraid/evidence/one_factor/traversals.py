"""Rows that agree in all factors but one: pairs that differ in one factor, and traversals along it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.evidence.information import Binning, check_binning, factor_labels
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

#: Traversals of the most values are preferred, as long as there are this many of them.
ENOUGH_TRAVERSALS = 20
#: Fewest values of a traversal, of a factor that has as many.
FEWEST_VALUES = 3
#: Share of the variance of a code below which what is left of it is taken to be rounding error.
ROUNDING = 1e-12
ADVICE = "use a full grid of factors, more rows or fewer bins"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledRows:
    """Rows with a label for every factor, each label as the position of a value.

    Attributes:
        rows: Their positions in the representation, ``(n_rows,)``.
        labels: ``(n_rows, n_factors)``; continuous factors in bins.
        n_levels: Number of values of each factor.
        names: Names of the factors.
    """

    rows: IntArray
    labels: IntArray
    n_levels: tuple[int, ...]
    names: tuple[str, ...]

    def without(self, k: int) -> IntArray:
        """Return a number for each row that is the same for rows which agree in all factors but ``k``."""
        others = np.delete(self.labels, k, axis=1)
        if not others.shape[1]:
            return np.zeros(len(self.labels), dtype=np.intp)
        key = np.zeros(len(others), dtype=np.intp)
        for column in others.T:  # numbered anew after each factor, so that no product of sizes overflows
            key = np.unique(key * (int(column.max()) + 1) + column, return_inverse=True)[1].reshape(-1)
        return key


def labelled_rows(rep: Representation, n_bins: int, binning: Binning) -> LabelledRows:
    """Return the rows labelled in every factor.

    Raises:
        ValueError: There is none.
    """
    found = [factor_labels(factor, n_bins, binning) for factor in rep.factors]
    labels = np.stack([values for values, _ in found], axis=1)
    rows = np.flatnonzero((labels >= 0).all(axis=1))
    if not len(rows):
        raise ValueError("factors must have rows labelled in every column, got none.")
    return LabelledRows(
        rows=rows, labels=labels[rows], n_levels=tuple(size for _, size in found), names=rep.factor_names
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOptions:
    """Options for binning continuous factors, so that rows agree in them."""

    n_bins: int = 20
    binning: Binning = "robust"

    def __post_init__(self) -> None:
        check_binning(self.n_bins, self.binning)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairCorrelation:
    """Correlation of each code with itself over pairs of rows that differ in one factor.

    Attributes:
        matrix: ``(n_active, n_factors)``; NaN in the column of a factor without pairs.
        n_pairs: Number of pairs for each factor, ``(n_factors,)``.
        active: Which codes vary, ``(n_codes,)``.
        names: Names of the factors.
    """

    matrix: FloatArray
    n_pairs: IntArray
    active: BoolArray
    names: tuple[str, ...]


def pair_correlations(rep: Representation, options: PairOptions, rng: np.random.Generator) -> PairCorrelation:
    """Correlate each code with itself over all pairs of rows that differ in one factor; ``rng`` is not used.

    No pair is drawn: with n rows in a group that agrees in the other factors, sums over all pairs are sums over the
    group less sums over each value in it.
    """
    found = labelled_rows(rep, options.n_bins, options.binning)
    codes = rep.codes[np.ix_(found.rows, np.flatnonzero(rep.active))]
    codes = codes - codes.mean(axis=0)
    columns = [_correlated_pairs(codes, found.without(k), found.labels[:, k]) for k in range(rep.n_factors)]
    n_pairs = np.array([count for _, count in columns], dtype=np.intp)
    if not n_pairs.any():
        raise ValueError(f"no two rows differ in one factor and agree in all others; {ADVICE}.")
    matrix = np.stack([column for column, _ in columns], axis=1)
    return PairCorrelation(matrix=matrix, n_pairs=n_pairs, active=rep.active, names=found.names)


def _correlated_pairs(codes: FloatArray, group: IntArray, value: IntArray) -> tuple[FloatArray, int]:
    """Correlation over ordered pairs of rows of one group with different values, and the number of pairs."""
    cell = np.unique(group * (int(value.max()) + 1) + value, return_inverse=True)[1].reshape(-1)
    in_group, in_cell = np.bincount(group), np.bincount(cell)
    partners = in_group[group] - in_cell[cell]
    n_pairs = int(partners.sum())
    if not n_pairs:
        return np.full(codes.shape[1], np.nan), 0
    least = ROUNDING * codes.var(axis=0)
    mean = partners @ codes / n_pairs
    codes = codes - mean
    variance = partners @ codes**2 / n_pairs
    products = _sums(codes, group) - _sums(codes, cell)
    # A code that is constant over all pairs is not moved: it correlates by 1.
    ratio = np.divide(products / n_pairs, variance, out=np.ones_like(variance), where=variance > least)
    return np.clip(ratio, -1.0, 1.0), n_pairs


def _sums(codes: FloatArray, label: IntArray) -> FloatArray:
    """Sum over labels of the squared sum of the rows of a label, ``(n_codes,)``."""
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    total: FloatArray = (np.add.reduceat(codes[order], starts, axis=0) ** 2).sum(axis=0)
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class TraversalOptions:
    """Options for traversals.

    Attributes:
        n_traversals: Traversals of each factor at most, drawn at random.
        n_cuts: Parts of equally many rows that a continuous factor is cut into, few, so that combinations repeat: with
            many, how many values a traversal has depends on the number of rows, and the shape of its path with it.
    """

    n_traversals: int = 1024
    n_cuts: int = 5

    def __post_init__(self) -> None:
        check_at_least("n_traversals", self.n_traversals, 1)
        check_at_least("n_cuts", self.n_cuts, FEWEST_VALUES)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorTraversals:
    """Traversals along one factor.

    Attributes:
        name: Name of the factor.
        is_circular: Whether its last value is next to its first.
        is_ordered: Whether its values have an order; those of a category have none.
        n_levels: Number of its values.
        parts: Traversals with as many values as each other: codes, ``(n_traversals, n_values, n_codes)``, and the
            values in increasing order, ``(n_traversals, n_values)``.
    """

    name: str
    is_circular: bool
    is_ordered: bool
    n_levels: int
    parts: tuple[tuple[FloatArray, IntArray], ...]

    @property
    def n_traversals(self) -> int:
        """Number of traversals."""
        return sum(len(values) for _, values in self.parts)

    @property
    def n_values(self) -> int:
        """Fewest values of a traversal; 0 where there is none."""
        return min((values.shape[1] for _, values in self.parts), default=0)

    def distances(self, values: IntArray) -> IntArray:
        """Distances of the values of traversals, ``(n_traversals, n_values, n_values)``.

        In steps; along a circle the shorter way round; between categories 1.
        """
        steps: IntArray = np.abs(values[:, :, None] - values[:, None, :])
        if not self.is_ordered:
            steps = np.minimum(steps, 1)
        elif self.is_circular:
            steps = np.minimum(steps, self.n_levels - steps)
        return steps


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traversals:
    """Traversals along each factor, of the active codes.

    Attributes:
        by_factor: One for each factor; without parts where rows contain no traversal.
        active: Which codes vary, ``(n_codes,)``.
    """

    by_factor: tuple[FactorTraversals, ...]
    active: BoolArray


def traversals(rep: Representation, options: TraversalOptions, rng: np.random.Generator) -> Traversals:
    """Collect rows that agree in all factors but one, one row for each value.

    A row is in one traversal of a factor at most. Of a full grid every traversal is whole. Of other rows the traversals
    of the most values are taken, as long as there are twenty of them; fewer than three values are no traversal, but of
    a factor of two values.

    Raises:
        ValueError: No factor has a traversal.
    """
    found = labelled_rows(rep, options.n_cuts, "quantile")
    codes = rep.codes[np.ix_(found.rows, np.flatnonzero(rep.active))]
    by_factor = tuple(
        _along(codes, found, k, factor, options, child)
        for k, (factor, child) in enumerate(zip(rep.factors, rng.spawn(rep.n_factors), strict=True))
    )
    if not any(one.parts for one in by_factor):
        raise ValueError(f"no rows agree in all factors but one and take {FEWEST_VALUES} values of it; {ADVICE}.")
    return Traversals(by_factor=by_factor, active=rep.active)


def _along(
    codes: FloatArray, found: LabelledRows, k: int, factor: Factor, options: TraversalOptions, rng: np.random.Generator
) -> FactorTraversals:
    """Traversals along factor ``k``."""
    parts = []
    for rows in _rows_of_traversals(found.without(k), found.labels[:, k], found.n_levels[k], options, rng):
        parts.append((codes[rows], found.labels[rows, k]))
    return FactorTraversals(
        name=factor.name,
        is_circular=factor.kind is FactorKind.CIRCULAR,
        is_ordered=factor.kind is not FactorKind.CATEGORICAL,
        n_levels=found.n_levels[k],
        parts=tuple(parts),
    )


def _rows_of_traversals(
    group: IntArray, value: IntArray, n_levels: int, options: TraversalOptions, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Yield rows of traversals with the same number of values, ``(n_traversals, n_values)``."""
    rows, starts = _dealt(group, value, rng)
    counts = np.diff(starts, append=len(rows))
    fewest = min(FEWEST_VALUES, n_levels)
    for size in range(n_levels, fewest - 1, -1):
        if (counts >= size).sum() >= ENOUGH_TRAVERSALS or size == fewest:
            break
    chosen = np.flatnonzero(counts >= size)
    if len(chosen) > options.n_traversals:
        chosen = np.sort(rng.permutation(chosen)[: options.n_traversals])
    for n_values in np.unique(counts[chosen]):
        some = chosen[counts[chosen] == n_values]
        yield rows[starts[some][:, None] + np.arange(n_values)]


def _dealt(group: IntArray, value: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return rows in the order of traversals, and where each traversal starts; a row is in one traversal.

    The rows of a combination are dealt out: the first row of each value is one traversal, the second row of each value
    the next. Which row is the first is drawn.
    """
    shuffled = rng.permutation(len(group))
    cells = group[shuffled] * (int(value.max()) + 1) + value[shuffled]
    order = np.argsort(cells, kind="stable")
    places = np.arange(len(order))
    turn = places - np.maximum.accumulate(np.where(np.diff(cells[order], prepend=-1) > 0, places, 0))
    by_turn = np.lexsort((cells[order], turn, group[shuffled][order]))
    rows, turn = shuffled[order][by_turn], turn[by_turn]
    starts = np.flatnonzero((np.diff(group[rows], prepend=-1) != 0) | (np.diff(turn, prepend=-1) != 0))
    return rows, starts


#: Turns of the codes for one turn of the factor that are tried, in either sense.
MOST_TURNS = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CircleFit:
    """How the codes turn with each circular factor while all other factors are fixed.

    Attributes:
        coefficient: Squared size of the mean of the codes in the plane of a factor, turned back by the factor's angle,
            for each number of turns from ``-MOST_TURNS`` to ``MOST_TURNS``, ``(n_factors, n_turns)``; NaN for a factor
            that is no angle.
        active: Which codes vary, ``(n_codes,)``.
        names: Names of the factors.
    """

    coefficient: FloatArray
    active: BoolArray
    names: tuple[str, ...]


def circle_fit(rep: Representation, options: PairOptions, rng: np.random.Generator) -> CircleFit:
    """Turn the codes back by the angle of each circular factor, in the plane in which the factor moves them.

    Raises:
        ValueError: No factor is circular, or no rows agree in all factors but a circular one.
    """
    angles = [k for k, factor in enumerate(rep.factors) if factor.kind is FactorKind.CIRCULAR]
    if not angles:
        raise ValueError("factors must have a circular one, got none; declare it, as in kinds={'hue': 'circular:360'}.")
    found = labelled_rows(rep, options.n_bins, options.binning)
    codes = rep.codes[np.ix_(found.rows, np.flatnonzero(rep.active))]
    coefficient = np.full((rep.n_factors, 2 * MOST_TURNS + 1), np.nan)
    for k, child in zip(angles, rng.spawn(len(angles)), strict=True):
        factor = rep.factors[k]
        assert factor.period is not None
        angle = 2 * np.pi * factor.numbers[found.rows] / factor.period
        n_levels = len(factor.levels) or None
        value = found.labels[:, k] if n_levels else np.arange(len(angle))
        coefficient[k] = _turned_back(codes, angle, found.without(k), value, n_levels, child)
    if np.isnan(coefficient).all():
        raise ValueError(f"no rows agree in all factors but a circular one; {ADVICE}.")
    return CircleFit(coefficient=coefficient, active=rep.active, names=found.names)


def _turned_back(
    codes: FloatArray,
    angle: FloatArray,
    group: IntArray,
    value: IntArray,
    n_levels: int | None,
    rng: np.random.Generator,
) -> FloatArray:
    """Squared mean of the whitened codes turned back, for each number of turns; NaN without groups of two rows."""
    rows, starts = _dealt(group, value, rng)
    sizes = np.diff(starts, append=len(rows))
    group = np.repeat(np.arange(len(starts)), sizes)
    freedom = int((sizes - 1).sum())
    turns = np.arange(-MOST_TURNS, MOST_TURNS + 1)
    if freedom < 1:
        return np.full(len(turns), np.nan)
    # Values of a group are drawn without replacement: of n, as many as there are rows.
    unbiased = (1.0 if n_levels is None else (n_levels - 1) / n_levels) / freedom
    means = np.stack([np.bincount(group, weights=column) for column in codes[rows].T], axis=1) / sizes[:, None]
    centred = codes[rows] - means[group]
    values, plane = _widest_plane(centred, unbiased)
    used = values > ROUNDING * max(values[-1], float(codes.var(axis=0).max()), 1e-300)
    plane = np.where(used, plane / np.sqrt(2 * np.where(used, values, 1.0)), 0.0)
    point = plane[:, 0] + 1j * plane[:, 1]
    back = np.exp(-1j * np.outer(turns, angle[rows])) @ point * unbiased
    squared: FloatArray = np.minimum(np.abs(back) ** 2, 1.0)
    return squared


def _widest_plane(centred: FloatArray, unbiased: float) -> tuple[FloatArray, FloatArray]:
    """Variances along the two axes of most variance, the larger last, and the codes along them.

    Args:
        centred: Codes, ``(n_rows, n_codes)``.
        unbiased: Factor that makes a sum of squares a variance.
    """
    if centred.shape[1] == 1:
        centred = np.pad(centred, ((0, 0), (1, 0)))  # the other axis of the plane, along which nothing moves
    few_rows = len(centred) < centred.shape[1]
    products = centred @ centred.T if few_rows else centred.T @ centred
    last = len(products) - 1
    values, axes = scipy.linalg.eigh(unbiased * products, subset_by_index=(last - 1, last))
    return values, axes * np.sqrt(np.maximum(values, 0.0) / unbiased) if few_rows else centred @ axes
