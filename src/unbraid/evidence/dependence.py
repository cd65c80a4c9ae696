"""Dependence between factors: mutual information of pairs, and of triples beyond pairs, with permutation tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.evidence.information import factor_labels
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

#: Numbers are cut into this many parts, in tables of two factors and in tables of three.
MAX_LEVELS, MAX_LEVELS_OF_TRIPLES = 10, 4
#: Shuffles; the second number for more pairs than ``MANY_PAIRS``, just enough to reach the level.
N_SHUFFLES, FEWEST_SHUFFLES, MANY_PAIRS = 199, 99, 1_000
LEVEL = 0.01
LEAST_STRENGTH = 0.01
#: Rows to count, so that pairs, rows and shuffles together are no more than the last number where that can be.
FEWEST_ROWS, MOST_ROWS, MOST_COUNTS = 500, 20_000, 400_000_000
#: The same for triples, and the most triples that are tested.
MOST_TRIPLE_ROWS, MOST_TRIPLE_COUNTS, MOST_TRIPLES = 5_000, 40_000_000, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorPair:
    """Two factors and their mutual information.

    Attributes:
        first: Name of one.
        second: Name of the other.
        strength: Mutual information beyond what shuffled factors have, as a share of the most there could be: 0 for
            independent factors, 1 where one is a function of the other.
        p_value: Chance of as much or more among all pairs, were all factors independent.
        depends: Whether ``p_value`` is at most the level, and ``strength`` is not negligible.
    """

    first: str
    second: str
    strength: float
    p_value: float
    depends: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorTriple:
    """Three factors that depend on each other though no two of them do, as one that is the exclusive or of the others.

    Attributes:
        names: Names of the three.
        strength: Information of all three together less that of their pairs, beyond what shuffled factors have, as a
            share of the most there could be: 1 where any two determine the third.
        p_value: Chance of as much or more among all triples, were all factors independent.
    """

    names: tuple[str, str, str]
    strength: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorDependence:
    """Whether the factors depend on each other.

    Attributes:
        pairs: Every two factors, strongest first.
        level: Chance that any pair is called dependent when all factors are independent, at most; and the same of
            triples.
        n_shuffles: Shuffles of the permutation test.
        triples: Three factors that depend on each other beyond pairs, strongest first; those alone, as most do not.
    """

    pairs: tuple[FactorPair, ...]
    level: float
    n_shuffles: int
    triples: tuple[FactorTriple, ...] = ()

    @property
    def dependent_pairs(self) -> tuple[FactorPair, ...]:
        """Pairs that depend on each other."""
        return tuple(pair for pair in self.pairs if pair.depends)

    @property
    def found(self) -> bool:
        """Whether any factors depend on each other, two or three of them."""
        return bool(self.triples) or any(pair.depends for pair in self.pairs)


def factor_dependence(rep: Representation, rng: np.random.Generator) -> FactorDependence | None:
    """Test every pair of factors for dependence, and every triple beyond its pairs; ``None`` with one factor or none.

    Factors are shuffled one by one, all at once, ``N_SHUFFLES`` times. The mutual information of each pair is measured
    in standard deviations from its mean over shuffles, and compared with the largest that any pair reached in each
    shuffle. So the chance of any false alarm is at most the level, however many pairs and rows there are. The bias of
    counted mutual information, which grows with the number of values and shrinks with rows, is in the shuffles too.
    Triples are tested in the same way, on rows where every factor has a label, unless there are too many of them.
    """
    if rep.n_factors < 2:
        return None
    labels = np.stack([coarse_labels(factor) for factor in rep.factors])
    n_pairs = rep.n_factors * (rep.n_factors - 1) // 2
    n_shuffles = N_SHUFFLES if n_pairs <= MANY_PAIRS else FEWEST_SHUFFLES
    most = int(np.clip(MOST_COUNTS // (n_pairs * n_shuffles), FEWEST_ROWS, MOST_ROWS))
    labels = _some_rows(labels, most, rng)
    tables = _Tables.of(labels)
    strengths, p_values = _test(tables.pair_information, tables.pair_ceiling(labels), labels, n_shuffles, rng)
    names = rep.factor_names
    found = [
        FactorPair(
            first=names[i],
            second=names[k],
            strength=float(strength),
            p_value=float(p),
            depends=bool(p <= LEVEL and strength >= LEAST_STRENGTH),
        )
        for (i, k), strength, p in zip(combinations(range(len(names)), 2), strengths, p_values, strict=True)
    ]
    apart = {frozenset((pair.first, pair.second)) for pair in found if pair.p_value > LEVEL}
    found.sort(key=lambda pair: -pair.strength)
    triples = tuple(
        triple
        for triple in _dependent_triples(rep, n_shuffles, rng)
        if all(frozenset(two) in apart for two in combinations(triple.names, 2))
    )
    return FactorDependence(pairs=tuple(found), level=LEVEL, n_shuffles=n_shuffles, triples=triples)


def _dependent_triples(rep: Representation, n_shuffles: int, rng: np.random.Generator) -> list[FactorTriple]:
    """Return triples whose joint information exceeds that of their pairs; none where there are too many to test."""
    n = rep.n_factors
    n_triples = n * (n - 1) * (n - 2) // 6
    if not 0 < n_triples <= MOST_TRIPLES:
        return []
    labels = np.stack([coarse_labels(factor, MAX_LEVELS_OF_TRIPLES) for factor in rep.factors])
    labels = labels[:, (labels >= 0).all(axis=0)]
    if not labels.shape[1]:
        return []
    most = int(np.clip(MOST_TRIPLE_COUNTS // (n_triples * n_shuffles), FEWEST_ROWS, MOST_TRIPLE_ROWS))
    labels = _some_rows(labels, most, rng)
    tables = _Tables.of(labels)
    strengths, p_values = _test(tables.triple_information, tables.triple_ceiling(labels), labels, n_shuffles, rng)
    found = [
        FactorTriple(
            names=(rep.factor_names[i], rep.factor_names[j], rep.factor_names[k]), strength=float(s), p_value=float(p)
        )
        for (i, j, k), s, p in zip(combinations(range(n), 3), strengths, p_values, strict=True)
        if p <= LEVEL and s >= LEAST_STRENGTH
    ]
    return sorted(found, key=lambda triple: -triple.strength)


def _test(
    information: Callable[[IntArray], FloatArray],
    ceiling: FloatArray,
    labels: IntArray,
    n_shuffles: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return strength and p-value of each pair or triple, the p-value counted among all of them."""
    observed = information(labels)
    shuffled = np.stack([information(_shuffled(labels, rng)) for _ in range(n_shuffles)])
    mean, deviation = shuffled.mean(axis=0), shuffled.std(axis=0, ddof=1)
    deviation = np.where(deviation > 1e-12, deviation, np.inf)
    largest = ((shuffled - mean) / deviation).max(axis=1)
    standing = (observed - mean) / deviation
    p_values = (1 + (largest[:, None] >= standing).sum(axis=0)) / (1 + n_shuffles)
    room = np.where(ceiling > mean, ceiling - mean, np.inf)
    return np.clip((observed - mean) / room, 0.0, 1.0), p_values


def coarse_labels(factor: Factor, levels: int = MAX_LEVELS) -> IntArray:
    """Return labels of few values, -1 where there is none: numbers of many values are cut into even parts.

    Categories keep their values, but for tables of three factors many of them are joined.
    """
    if factor.labels is not None and len(factor.levels) <= levels:
        return factor.labels
    if factor.kind is FactorKind.CATEGORICAL:
        assert factor.labels is not None
        many = levels < MAX_LEVELS < len(factor.levels)
        return np.where(factor.labels >= 0, factor.labels % MAX_LEVELS, -1) if many else factor.labels
    if factor.kind is FactorKind.CIRCULAR:
        labels, size = factor_labels(factor, levels, "quantile")
        return np.where(labels >= 0, labels * levels // size, -1)
    labelled = factor.labelled
    values = factor.numbers[labelled]
    edges = np.unique(np.quantile(values, np.linspace(0, 1, levels + 1)[1:-1]))
    result = np.full(len(labelled), -1, dtype=np.intp)
    result[labelled] = np.searchsorted(edges, values, side="right")
    return result


def _some_rows(labels: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    n_rows = labels.shape[1]
    return labels if n_rows <= most else labels[:, rng.permutation(n_rows)[:most]]


def _shuffled(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """Shuffle each factor among the rows it is labelled on, so that the same rows count for a pair as before."""
    if (labels >= 0).all():
        return rng.permuted(labels, axis=1)
    moved = labels.copy()
    for column in moved:
        where = np.flatnonzero(column >= 0)
        column[where] = column[rng.permutation(where)]
    return moved


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tables:
    """Tables of counts of one factor, or two, with all later factors at once.

    Attributes:
        sizes: Number of values of each factor, and one more for rows without a label, ``(n_factors,)``.
        terms: ``c log c`` for every count ``c``, ``(n_rows + 1,)``.
        fixed: Sum of ``c log c`` over the values of each factor, where every row has a label, ``(n_factors,)``.
        later: For each factor, where the values of each later factor begin if they are counted through.
    """

    sizes: IntArray
    terms: FloatArray
    fixed: FloatArray | None
    later: tuple[IntArray, ...]

    @classmethod
    def of(cls, labels: IntArray) -> _Tables:
        n_rows = labels.shape[1]
        terms = np.arange(n_rows + 1) * np.log(np.maximum(np.arange(n_rows + 1), 1))
        fixed = None
        if (labels >= 0).all():
            fixed = np.array([terms[np.bincount(column)].sum() for column in labels])
        sizes = labels.max(axis=1) + 2
        later = tuple(np.cumsum(sizes[place + 1 :]) - sizes[place + 1 :] for place in range(len(sizes)))
        return cls(sizes=sizes, terms=terms, fixed=fixed, later=later)

    def pair_information(self, labels: IntArray) -> FloatArray:
        """Mutual information of every two factors, in nats."""
        return self._pairs(labels)[0]

    def pair_ceiling(self, labels: IntArray) -> FloatArray:
        """Upper bound of the mutual information: the smaller of the two entropies."""
        return self._pairs(labels)[1]

    def triple_information(self, labels: IntArray) -> FloatArray:
        """Information of every three factors together less that of their pairs: 0 where pairs explain all of it."""
        assert self.fixed is not None
        n, n_rows = labels.shape
        of_pair = np.zeros((n, n))
        of_pair[np.triu_indices(n, 1)] = self.pair_information(labels)
        found = []
        for i, j in combinations(range(n - 1), 2):
            both, later = labels[i] * self.sizes[j] + labels[j], np.arange(j + 1, n)
            counts, starts = self._counts(both, int(self.sizes[i] * self.sizes[j]), labels, j)
            joint = np.add.reduceat(self.terms[counts], starts)
            alone = self.fixed[i] + self.fixed[j] + self.fixed[later]
            total = 2 * np.log(n_rows) + (joint - alone) / n_rows
            found.append(total - of_pair[i, j] - of_pair[i, later] - of_pair[j, later])
        return np.concatenate(found)

    def triple_ceiling(self, labels: IntArray) -> FloatArray:
        """Smallest of the three entropies."""
        assert self.fixed is not None
        entropy = np.log(labels.shape[1]) - self.fixed / labels.shape[1]
        return np.array([entropy[list(three)].min() for three in combinations(range(len(labels)), 3)])

    def _counts(self, first: IntArray, size: int, labels: IntArray, place: int) -> tuple[IntArray, IntArray]:
        """Return the tables of one column with all factors after ``place``, flat, and where each table starts."""
        later, widths = labels[place + 1 :], self.sizes[place + 1 :]
        starts = size * self.later[place]
        cells = first * widths[:, None]
        cells += later
        cells += starts[:, None]
        return np.bincount(cells.ravel(), minlength=int(size * widths.sum())), starts

    def _pairs(self, labels: IntArray) -> tuple[FloatArray, FloatArray]:
        n, n_rows = labels.shape
        if self.fixed is None:
            return self._pairs_with_gaps(labels)
        found, ceiling = [], []
        for i in range(n - 1):
            counts, starts = self._counts(labels[i], int(self.sizes[i]), labels, i)
            joint = np.add.reduceat(self.terms[counts], starts)
            found.append(np.log(n_rows) + (joint - self.fixed[i] - self.fixed[i + 1 :]) / n_rows)
            ceiling.append(np.log(n_rows) - np.maximum(self.fixed[i], self.fixed[i + 1 :]) / n_rows)
        return np.concatenate(found), np.concatenate(ceiling)

    def _pairs_with_gaps(self, labels: IntArray) -> tuple[FloatArray, FloatArray]:
        """The same where some rows have no label of some factor: those rows are the last row or column of a table."""
        n = len(labels)
        labels = np.where(labels < 0, self.sizes[:, None] - 1, labels)
        found, ceiling = [], []
        for i in range(n - 1):
            counts, starts = self._counts(labels[i], int(self.sizes[i]), labels, i)
            widths = self.sizes[i + 1 :]
            table = np.repeat(np.arange(len(widths)), self.sizes[i] * widths)
            row, column = np.divmod(np.arange(len(counts)) - starts[table], widths[table])
            counts = np.where((row == self.sizes[i] - 1) | (column == widths[table] - 1), 0, counts)
            both = np.maximum(np.add.reduceat(counts, starts), 1)
            joint = np.add.reduceat(self.terms[counts], starts)
            by_row = self._margin(counts, table, row, int(self.sizes[i]))
            by_column = self._margin(counts, table, column, int(widths.max()))
            found.append(np.log(both) + (joint - by_row - by_column) / both)
            ceiling.append(np.log(both) - np.maximum(by_row, by_column) / both)
        return np.concatenate(found), np.concatenate(ceiling)

    def _margin(self, counts: IntArray, table: IntArray, place: IntArray, size: int) -> FloatArray:
        """Return the sum of ``c log c`` over the margin of each table."""
        n_tables = int(table[-1]) + 1
        margin = np.bincount(table * size + place, weights=counts, minlength=n_tables * size).astype(np.intp)
        total: FloatArray = self.terms[margin].reshape(n_tables, size).sum(axis=1)
        return total
