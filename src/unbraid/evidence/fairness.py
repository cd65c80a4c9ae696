"""Predictions of factors from codes, held beside a sensitive factor: parity, odds, and its own prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.probes.bins import FoldedTask, most_telling_together, shared_bins
from unbraid.probes.effects import folded
from unbraid.probes.importance import ProbeTask
from unbraid.probes.linear import MAX_NEWTON_CODES, fit_linear, predict_linear
from unbraid.probes.splits import Split, standardise
from unbraid.probes.trees import ForestOptions, fit_forest
from unbraid.probes.wide import WideCodes
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

#: Every row is predicted once, by a fit to the other folds.
N_FOLDS = 3
#: Rows that a forest is grown on at most.
MOST_GROWN = 5000
#: Codes that a tree tries at most: the more codes of noise it can split on, the less it reads, so that few would be as
#: fast, and other predictors than trees of all codes.
MOST_CODES_TRIED = 1024
#: Shuffles of the sensitive factor over which the chance level of a distance is averaged.
N_SHUFFLES = 3
#: Folds of the rows on which signs of differences are found, and differences measured, in turn.
N_SIGN_FOLDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessOptions:
    """Predictors of fairness scores.

    Attributes:
        n_cuts: Groups of as many rows each that a factor of more values is cut into.
        n_trees: Trees of each forest.
        cross_fit: Find the signs of differences on all folds but one, and measure them on that one, so that differences
            of chance cancel; otherwise sizes of differences are added up, which grow with the number of groups and fall
            with the number of rows.
    """

    n_cuts: int = 5
    n_trees: int = 25
    cross_fit: bool = True

    def __post_init__(self) -> None:
        check_at_least("n_cuts", self.n_cuts, 2)
        check_at_least("n_trees", self.n_trees, 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupDistances:
    """Predictions of one kind of predictor, by value of a sensitive factor.

    Attributes:
        parity: Distance of predictions of each target (rows) between values of each sensitive factor (columns) and all
            rows, ``(n_factors, n_factors)``; NaN on the diagonal. So are the next three.
        odds: The same among rows whose target has one value, averaged over values.
        parity_chance: Parity where the sensitive factor is shuffled.
        odds_chance: Odds where it is shuffled among rows of one value of the target.
        reading: Share of a blind guess's errors that predictions of each factor avoid, ``(n_factors,)``.
    """

    parity: FloatArray
    odds: FloatArray
    parity_chance: FloatArray
    odds_chance: FloatArray
    reading: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupFairness:
    """Distances of two kinds of predictors; ``factors`` are the names of rows and columns."""

    factors: tuple[str, ...]
    linear: GroupDistances
    forest: GroupDistances


def group_fairness(rep: Representation, options: FairnessOptions, rng: np.random.Generator) -> GroupFairness:
    """Predict every factor from all codes, and compare predictions between the values of every other factor.

    Of wide codes, the regressions of all factors are fitted at once, and trees try the codes that tell most about the
    factor in the rows that they are fitted to, which are never tested.
    """
    classes = [as_classes(factor, options.n_cuts) for factor in rep.factors]
    predicting, shuffling = rng.spawn(2)
    children = predicting.spawn(len(classes))
    tasks = [folded(factor, N_FOLDS, child) for factor, child in zip(classes, children, strict=True)]
    splits = [_splits(task) for task in tasks]
    forests = [
        _by_forests(rep, factor, own, columns, options, child)
        for factor, own, columns, child in zip(classes, splits, _tried(rep, tasks), children, strict=True)
    ]
    predicted = list(zip(_by_lines(rep, classes, splits), forests, strict=True))
    linear, forest = (
        _distances(classes, [both[p] for both in predicted], np.random.default_rng(seed), options.cross_fit)
        for p, seed in enumerate(shuffling.integers(2**31, size=2))
    )
    return GroupFairness(factors=rep.factor_names, linear=linear, forest=forest)


def as_classes(factor: Factor, n_cuts: int) -> Factor:
    """Return a factor with classes for values: its own where they are few, else groups of as many rows each.

    A circle is cut into arcs of equal length.
    """
    if not factor.is_numeric:
        return factor
    if factor.labels is not None and len(factor.levels) <= n_cuts:
        return factor.as_classes()
    known, values = factor.labelled, factor.numbers[factor.labelled]
    if factor.kind is FactorKind.CIRCULAR:
        assert factor.period is not None
        found = np.minimum(np.mod(values / factor.period, 1.0) * n_cuts, n_cuts - 1).astype(np.intp)
    else:
        edges = np.unique(np.quantile(values, np.linspace(0, 1, n_cuts + 1)[1:-1]))
        found = np.searchsorted(edges, values, side="right")
    seen, found = np.unique(found, return_inverse=True)
    labels = np.full(len(factor.numbers), -1, dtype=np.intp)
    labels[known] = found
    numbers = np.where(known, labels, np.nan).astype(np.float64)
    levels = tuple(map(str, range(len(seen))))
    return Factor(name=factor.name, kind=FactorKind.CATEGORICAL, numbers=numbers, labels=labels, levels=levels)


def _splits(task: FoldedTask) -> list[Split]:
    return [Split(train=task.rows[task.fold != k], test=task.rows[task.fold == k]) for k in range(N_FOLDS)]


def _by_lines(rep: Representation, factors: list[Factor], splits: list[list[Split]]) -> list[IntArray]:
    """Class of each row as predicted by a softmax regression, for each factor; -1 in rows that are not tested."""
    if rep.n_codes > MAX_NEWTON_CODES:
        tasks = [(_labels(factor), len(factor.levels), own) for factor, own in zip(factors, splits, strict=True)]
        scores = WideCodes.of(rep).scores(tasks, together=True)
    else:
        scores = [[_scores(rep, factor, split) for split in own] for factor, own in zip(factors, splits, strict=True)]
    predicted = []
    for found, own in zip(scores, splits, strict=True):
        column = np.full(rep.n_samples, -1, dtype=np.intp)
        for score, split in zip(found, own, strict=True):
            column[split.test] = score.argmax(axis=1)
        predicted.append(column)
    return predicted


def _scores(rep: Representation, factor: Factor, split: Split) -> FloatArray:
    x, x_test = standardise(rep.codes[split.train], rep.codes[split.test])
    return predict_linear(x_test, fit_linear(x, factor, split.train), factor)


def _tried(rep: Representation, tasks: list[FoldedTask]) -> Sequence[Sequence[IntArray | slice]]:
    """Codes that trees try for each factor and fold: all, or of very many those that tell most in the training rows."""
    bins = shared_bins(rep) if rep.n_codes > MOST_CODES_TRIED else None
    if bins is None:
        return [[slice(None)] * N_FOLDS for _ in tasks]
    return most_telling_together(bins, tasks, MOST_CODES_TRIED)


def _by_forests(
    rep: Representation,
    factor: Factor,
    splits: list[Split],
    tried: Sequence[IntArray | slice],
    options: FairnessOptions,
    rng: np.random.Generator,
) -> IntArray:
    """Class of each row as predicted by a forest of some codes for each fold; -1 in rows that are not tested."""
    predicted = np.full(rep.n_samples, -1, dtype=np.intp)
    for split, columns in zip(splits, tried, strict=True):
        x, x_test = standardise(*(rep.codes[rows][:, columns] for rows in (split.train, split.test)))
        some = np.sort(rng.permutation(len(x))[:MOST_GROWN])
        task = ProbeTask(factor=factor, train=split.train[some], test=split.test, codes=x[some], test_codes=x_test)
        how = ForestOptions(n_trees=options.n_trees, rows_a_tree=0)
        grown = fit_forest(how, task, int(rng.integers(2**31)))
        predicted[split.test] = grown.predict(x_test).astype(np.intp)
    return predicted


def _distances(
    factors: list[Factor], predicted: list[IntArray], rng: np.random.Generator, cross_fit: bool
) -> GroupDistances:
    n_factors = len(factors)
    parity, odds, parity_chance, odds_chance = (np.full((n_factors, n_factors), np.nan) for _ in range(4))
    labels = [_labels(factor) for factor in factors]
    for i, j in permutations(range(n_factors), 2):
        known = (predicted[i] >= 0) & (labels[i] >= 0) & (labels[j] >= 0)
        if known.any():
            guess, truth, group = predicted[i][known], labels[i][known], labels[j][known]
            fold = rng.permutation(len(guess)) % (N_SIGN_FOLDS if cross_fit else 1)
            parity[i, j] = demographic_parity(_table(fold, guess, group))
            odds[i, j] = equalised_odds(_table(fold, guess, truth, group))
            others = [group[rng.permutation(len(group))] for _ in range(N_SHUFFLES)]
            parity_chance[i, j] = np.mean([demographic_parity(_table(fold, guess, other)) for other in others])
            others = [group[_shuffled(truth, rng)] for _ in range(N_SHUFFLES)]
            odds_chance[i, j] = np.mean([equalised_odds(_table(fold, guess, truth, other)) for other in others])
    reading = np.array([_reading(truth, guess) for truth, guess in zip(labels, predicted, strict=True)])
    return GroupDistances(
        parity=parity, odds=odds, parity_chance=parity_chance, odds_chance=odds_chance, reading=reading
    )


def _labels(factor: Factor) -> IntArray:
    assert factor.labels is not None
    return factor.labels


def _shuffled(truth: IntArray, rng: np.random.Generator) -> IntArray:
    """Return an order of rows that exchanges rows of the same class only."""
    order = np.arange(len(truth))
    for value in np.unique(truth):
        rows = np.flatnonzero(truth == value)
        order[rows] = rng.permutation(rows)
    return order


def _table(*labels: IntArray) -> FloatArray:
    """Count rows by several labels at once."""
    shape = tuple(int(one.max()) + 1 for one in labels)
    return np.bincount(np.ravel_multi_index(labels, shape), minlength=int(np.prod(shape))).reshape(shape).astype(float)


def demographic_parity(counts: FloatArray) -> float:
    """Mean total variation distance between predictions in a group and in all rows, each group by its rows.

    Args:
        counts: Rows by fold, predicted class and group, ``(n_folds, n_classes, n_groups)``. Of one fold, differences
            count by their size. Of several, the sign of a difference is that in the other folds, so that the distance
            of groups that do not differ is 0 on average, and not what chance adds.

    Example:
        >>> demographic_parity(np.array([[[10.0, 0.0], [0.0, 10.0]]]))  # each group gets a class of its own
        0.5
    """
    whole = _deviation(counts.sum(axis=0))
    if len(counts) == 1:
        return float(np.abs(whole).sum() / 2)
    total, found = counts.sum(), 0.0
    for own in counts:
        n_rows = own.sum()
        if n_rows >= 2:
            signs = np.sign(_deviation(counts.sum(axis=0) - own))
            # Shares of a group and of all rows come from the same rows, which takes off one part in n.
            found += n_rows / total * n_rows / (n_rows - 1) * float((signs * _deviation(own)).sum() / 2)
    return found


def _deviation(counts: FloatArray) -> FloatArray:
    """Share of the rows by class and group, less what it would be if classes did not depend on groups."""
    shares = counts / max(counts.sum(), 1.0)
    found: FloatArray = shares - shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    return found


def equalised_odds(counts: FloatArray) -> float:
    """Demographic parity among rows of one true class, averaged over classes by their rows.

    Args:
        counts: Rows by fold, predicted class, true class and group, ``(n_folds, n_classes, n_true, n_groups)``.
    """
    rows = counts.sum(axis=(0, 1, 3))
    each = np.array([demographic_parity(counts[:, :, y]) for y in range(counts.shape[2])])
    return float(each @ rows / max(rows.sum(), 1.0))


def _reading(labels: IntArray, predicted: IntArray) -> float:
    """Share of the errors of always guessing the commonest class that predictions avoid."""
    tested = predicted >= 0
    truth = labels[tested]
    blind = 1 - np.bincount(truth).max() / len(truth) if len(truth) else 0.0
    return float(1 - (predicted[tested] != truth).mean() / blind) if blind > 0 else 0.0
