"""Dependence between factors: mutual information of every pair, with a permutation test."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.evidence.information import factor_labels
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

MAX_LEVELS = 10
N_SHUFFLES = 199
LEVEL = 0.01
LEAST_STRENGTH = 0.01
FEWEST_ROWS, MOST_ROWS, MOST_COUNTS = 2_000, 20_000, 400_000_000


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
class FactorDependence:
    """Whether the factors depend on each other.

    Attributes:
        pairs: Every two factors, strongest first.
        level: Chance that any pair is called dependent when all factors are independent, at most.
        n_shuffles: Shuffles of the permutation test.
    """

    pairs: tuple[FactorPair, ...]
    level: float
    n_shuffles: int

    @property
    def dependent_pairs(self) -> tuple[FactorPair, ...]:
        """Pairs that depend on each other."""
        return tuple(pair for pair in self.pairs if pair.depends)


def factor_dependence(rep: Representation, rng: np.random.Generator) -> FactorDependence | None:
    """Test every pair of factors for dependence; ``None`` with fewer than two factors.

    Factors are shuffled one by one, all at once, ``N_SHUFFLES`` times. The mutual information of each pair is measured
    in standard deviations from its mean over shuffles, and compared with the largest that any pair reached in each
    shuffle. So the chance of any false alarm is at most the level, however many pairs and rows there are. The bias of
    counted mutual information, which grows with the number of values and shrinks with rows, is in the shuffles too.
    """
    if rep.n_factors < 2:
        return None
    labels = [coarse_labels(factor) for factor in rep.factors]
    n_pairs = rep.n_factors * (rep.n_factors - 1) // 2
    limit = int(np.clip(MOST_COUNTS // (n_pairs * N_SHUFFLES), FEWEST_ROWS, MOST_ROWS))
    if rep.n_samples > limit:
        rows = rng.permutation(rep.n_samples)[:limit]
        labels = [column[rows] for column in labels]
    sizes = [int(column.max()) + 1 for column in labels]
    whole: FloatArray = np.arange(len(labels[0]) + 1, dtype=np.float64)
    terms = whole * np.log(np.maximum(whole, 1))
    observed, ceiling = pairwise_information(labels, sizes, terms)
    shuffled = np.stack([pairwise_information(_shuffled(labels, rng), sizes, terms)[0] for _ in range(N_SHUFFLES)])
    mean, deviation = shuffled.mean(axis=0), shuffled.std(axis=0, ddof=1)
    deviation = np.where(deviation > 0, deviation, np.inf)
    largest = ((shuffled - mean) / deviation).max(axis=1)
    standing = (observed - mean) / deviation
    p_values = (1 + (largest[:, None] >= standing).sum(axis=0)) / (1 + N_SHUFFLES)
    room = np.where(ceiling > mean, ceiling - mean, np.inf)
    strengths = np.clip((observed - mean) / room, 0.0, 1.0)
    found = [
        FactorPair(
            first=first,
            second=second,
            strength=float(strength),
            p_value=float(p),
            depends=bool(p <= LEVEL and strength >= LEAST_STRENGTH),
        )
        for (first, second), strength, p in zip(combinations(rep.factor_names, 2), strengths, p_values, strict=True)
    ]
    found.sort(key=lambda pair: -pair.strength)
    return FactorDependence(pairs=tuple(found), level=LEVEL, n_shuffles=N_SHUFFLES)


def coarse_labels(factor: Factor) -> IntArray:
    """Return labels of few values, -1 where there is none: numbers of many values are cut into ten even parts."""
    if factor.kind is FactorKind.CATEGORICAL or (factor.labels is not None and len(factor.levels) <= MAX_LEVELS):
        assert factor.labels is not None
        return factor.labels
    if factor.kind is FactorKind.CIRCULAR:
        labels, size = factor_labels(factor, MAX_LEVELS, "quantile")
        return np.where(labels >= 0, labels * MAX_LEVELS // size, -1)
    labelled = factor.labelled
    values = factor.numbers[labelled]
    edges = np.unique(np.quantile(values, np.linspace(0, 1, MAX_LEVELS + 1)[1:-1]))
    result = np.full(len(labelled), -1, dtype=np.intp)
    result[labelled] = np.searchsorted(edges, values, side="right")
    return result


def pairwise_information(labels: list[IntArray], sizes: list[int], terms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mutual information of every two factors, and its upper bound: the smaller of the two entropies.

    ``terms`` has n log n of every count n up to the number of rows.
    """
    starts = np.cumsum([0, *(size + 1 for size in sizes)])  # a level more, the last, for rows without a label
    columns = np.stack([np.where(column >= 0, column, size) for column, size in zip(labels, sizes, strict=True)])
    columns += starts[:-1, None]
    information, ceiling = [], []
    for i in range(len(labels) - 1):
        counts = _joint_with_later(columns, starts, sizes, i)
        blocks = starts[i + 1 : -1] - starts[i + 1]
        by_first = np.add.reduceat(counts, blocks, axis=1)
        total = by_first.sum(axis=0)
        scale = np.maximum(total, 1)
        logs = np.log(scale)
        first = logs - terms[by_first].sum(axis=0) / scale
        second = logs - np.add.reduceat(terms[counts.sum(axis=0)], blocks) / scale
        joint = logs - np.add.reduceat(terms[counts].sum(axis=0), blocks) / scale
        information.append(first + second - joint)
        ceiling.append(np.minimum(first, second))
    return np.concatenate(information), np.concatenate(ceiling)


def _joint_with_later(columns: IntArray, starts: IntArray, sizes: list[int], i: int) -> IntArray:
    """Counts of a factor's levels with those of all later factors side by side, 0 where either is not labelled.

    All pairs of a factor are counted at once: with hundreds of factors, a call for each pair would take minutes.
    """
    start, width = starts[i + 1], starts[-1] - starts[i + 1]
    cells = columns[i + 1 :] + ((columns[i] - starts[i]) * width - start)
    counts = np.bincount(cells.ravel(), minlength=(sizes[i] + 1) * width).reshape(-1, width)
    counts[:, starts[i + 2 :] - 1 - start] = 0
    return counts[:-1]


def _shuffled(labels: list[IntArray], rng: np.random.Generator) -> list[IntArray]:
    """Shuffle each factor among the rows it is labelled on, so that the same rows count for a pair as before."""
    result = []
    for column in labels:
        moved = column.copy()
        where = np.flatnonzero(column >= 0)
        moved[where] = column[rng.permutation(where)]
        result.append(moved)
    return result
