"""Forests, extra trees and boosted trees: importances and predictions.

scikit-learn's own forests set warning filters while they grow, which all threads of a process share: grown side by
side they warn at random. Here its trees are grown one by one, nothing is shared, and numbers are those of its forests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid.probes.bins import (
    BINS_JOINED,
    LEAST_OF_A_FOREST,
    LEAST_TRIED,
    N_BINS,
    most_telling_of_all,
    shared_bins,
)
from unbraid.probes.effects import SharedLines, TreeTask, Tried, fit_boosting_by_effects, fit_forest_by_effects, folded
from unbraid.probes.growing import MOST_BINS, QUIET, Grower, SharedBins, SharedCodes, SharedColumns
from unbraid.probes.importance import (
    Columns,
    Importance,
    ProbeFit,
    ProbeTask,
    fit_importance,
    held_out_performance,
    on_held_out_rows,
    permutation_changes,
)
from unbraid.probes.splits import TEST_SHARE
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

ForestKind = Literal["random", "extra"]
ImportanceKind = Literal["held_out", "impurity", "permutation", "permutation_in_sample"]
ForestImportance = Literal["auto", "held_out", "impurity", "permutation", "permutation_in_sample"]
MAX_ROWS_A_TREE = 20_000
MAX_LEAVES = 2048
#: Folds of rows that are tested by trees of the others.
N_FOREST_FOLDS, N_BOOSTING_FOLDS = 5, 3
#: Bins of a code among whose ends boosted trees split: trees of few leaves, whose effects are measured on other rows,
#: need no more, as scores move by less than their intervals, in half the time.
BOOSTING_BINS = 63
#: Fewest rows in a leaf of trees whose effects are measured on other rows, and of others.
MIN_LEAF, PUBLISHED_MIN_LEAF = 20, 5
#: Rows of each tree whose effects are measured on other rows: what such a forest converges to with many rows, and how
#: soon, depends on how many rows a tree sees, so the number is fixed.
ROWS_A_TREE = 600
#: Rows that train the forests of wide codes, at most, as a multiple of the rows that all trees of a forest draw.
POOL = 2.0
#: Share of its training rows that a tree of a forest is grown on, where all rows train it and where all folds but one.
BAG, BAG_OF_FOLDS = 0.632, 0.79
#: Most memory that trees of many inputs take for sums by bin, where leaves have no limit.
HISTOGRAM_MIB = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestOptions:
    """A forest for each factor.

    Attributes:
        forest: ``"random"`` (bagged, best splits) or ``"extra"`` (all rows, random splits: faster, and it
            shares importance between codes that say the same).
        importance: Effect on predictions of ``"held_out"`` rows, decrease of ``"impurity"`` on training rows, or drop
            of performance under ``"permutation"`` on held-out rows or, ``"permutation_in_sample"``, on as many
            training rows; ``"auto"`` for the first, or for the second where a depth is given, as in published code.
        columns: Importances for a factor as ``"shares"`` of their sum, or ``"raw"``.
        n_trees: Trees in the forest.
        max_depth: Deepest tree; 0 for no limit.
        min_leaf: Fewest rows in a leaf; 0 for 20, but no more than one row in twenty, where effects are measured on
            held-out rows, and for 5 elsewhere, as in published code.
        rows_a_tree: Most rows that a tree is grown on, with published importances a bagged tree of a categorical
            factor; 0 for as many as there are. By default 600 where effects are measured on held-out rows, so that
            scores do not drift with the number of rows, and 20 000 elsewhere.
    """

    forest: ForestKind = "random"
    importance: ForestImportance = "auto"
    columns: Columns = "shares"
    n_trees: int = 100
    max_depth: int = 0
    min_leaf: int = 0
    rows_a_tree: int | None = None

    def __post_init__(self) -> None:
        check_choice("forest", self.forest, get_args(ForestKind))
        check_choice("importance", self.importance, get_args(ForestImportance))
        check_choice("columns", self.columns, get_args(Columns))
        check_at_least("n_trees", self.n_trees, 1)
        check_at_least("max_depth", self.max_depth, 0)
        check_at_least("min_leaf", self.min_leaf, 0)
        check_at_least("rows_a_tree", self.most_rows, 0)

    @property
    def most_rows(self) -> int:
        """Most rows that a tree is grown on; 0 for as many as there are."""
        if self.rows_a_tree is not None:
            return self.rows_a_tree
        return ROWS_A_TREE if self.measure == "held_out" else MAX_ROWS_A_TREE

    @property
    def measure(self) -> ImportanceKind:
        """The importance that is measured."""
        if self.importance == "auto":
            return "impurity" if self.max_depth else "held_out"
        return self.importance


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostingOptions:
    """Boosted trees for each factor.

    Attributes:
        importance: Effect on predictions of ``"held_out"`` rows, gain of splits on training rows (``"impurity"``), or
            drop of performance under ``"permutation"`` on held-out rows or, ``"permutation_in_sample"``, on as many
            training rows.
        columns: Importances for a factor as ``"shares"`` of their sum, or ``"raw"``.
        n_rounds: Boosting rounds.
        n_leaves: Leaves of each tree.
        learning_rate: Step of each round.
    """

    importance: ImportanceKind = "held_out"
    columns: Columns = "shares"
    n_rounds: int = 100
    n_leaves: int = 8
    learning_rate: float = 0.1

    def __post_init__(self) -> None:
        check_choice("importance", self.importance, get_args(ImportanceKind))
        check_choice("columns", self.columns, get_args(Columns))
        check_at_least("n_rounds", self.n_rounds, 1)
        check_at_least("n_leaves", self.n_leaves, 2)
        if not 0 < self.learning_rate <= 1:
            raise ValueError(f"learning_rate must be in (0, 1], got {self.learning_rate}.")


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One grown tree.

    Attributes:
        grown: scikit-learn's arrays of its nodes.
        values: Prediction of each node, means of targets or shares of classes, ``(n_nodes, n_outputs)``.
    """

    grown: Any
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Trees whose predictions are averaged; several targets share each tree."""

    trees: Sequence[Tree]

    def predict(self, inputs: FloatArray) -> FloatArray:
        """Average over trees, ``(n_rows, n_outputs)``."""
        rows = as_tree_input(inputs)
        total = np.zeros((len(rows), self.trees[0].values.shape[1]))
        for tree in self.trees:
            total += tree.values[tree.grown.apply(rows)]
        return total / len(self.trees)

    @property
    def importance(self) -> FloatArray:
        """Impurity removed by splits on each input, as a share of that of its tree, averaged, ``(n_inputs,)``."""
        shares = [tree.grown.compute_feature_importances() for tree in self.trees if tree.grown.node_count > 1]
        return np.mean(shares, axis=0) if shares else np.zeros(self.trees[0].grown.n_features)


def grow_tree(
    inputs: AnyArray,
    targets: AnyArray,
    *,
    weights: FloatArray,
    seed: int,
    n_classes: int = 0,
    is_extra: bool = False,
    **sizes: Any,
) -> Tree:
    """Grow one tree.

    Args:
        inputs: As :func:`as_tree_input` returns them, ``(n_rows, n_inputs)``.
        targets: ``(n_rows, n_targets)``, or the number of the class of each row.
        weights: Weight of each row; rows of weight 0 have no part in the tree.
        seed: Of all chance.
        n_classes: Number of classes, or 0 for numbers.
        is_extra: Random thresholds in place of the best ones.
        sizes: As the trees of scikit-learn take them.
    """
    from sklearn import tree

    if n_classes:
        kind = tree.ExtraTreeClassifier if is_extra else tree.DecisionTreeClassifier
    else:
        kind = tree.ExtraTreeRegressor if is_extra else tree.DecisionTreeRegressor
    model = kind(random_state=seed, **sizes)
    model.fit(inputs, targets, sample_weight=weights, check_input=False)
    if not n_classes:
        return Tree(model.tree_, model.tree_.value[:, :, 0])
    values = np.zeros((model.tree_.node_count, n_classes))
    values[:, model.classes_] = model.tree_.value[:, 0]
    return Tree(model.tree_, values)


def as_tree_input(columns: FloatArray) -> AnyArray:
    """Return columns in the layout that trees use, so that each tree need not convert them."""
    return np.ascontiguousarray(columns, dtype=np.float32)


def bootstrap(n_rows: int, n_drawn: int, rng: np.random.Generator) -> FloatArray:
    """Count how often each row is among ``n_drawn`` drawn with replacement."""
    return np.bincount(rng.integers(n_rows, size=n_drawn), minlength=n_rows).astype(float)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedTrees:
    """A fitted model: importances, and a function from codes to labels or targets."""

    weights: FloatArray
    predict: Callable[[FloatArray], FloatArray]


def forest_importance(rep: Representation, options: ForestOptions, rng: np.random.Generator) -> Importance:
    """Fit a forest for each factor."""
    if options.measure != "held_out":
        fitted = _on_held_out_rows(fit_forest, options, options.measure, rep)
        found = fit_importance(rep, fitted, rng=rng, columns=options.columns)
        bags_categories = options.forest == "random" and not all(factor.is_numeric for factor in rep.factors)
        most = options.most_rows
        capped = bags_categories and 0 < most < rep.n_samples * (1 - TEST_SHARE)
        return replace(found, rows_a_tree=most if capped else 0)
    splits: list[int] = []
    n_trees = -(-options.n_trees // N_FOREST_FOLDS)

    def settings(n_rows: int) -> dict[str, Any]:
        share = min(BAG_OF_FOLDS, (options.most_rows or n_rows) / n_rows)
        own = _forest_settings(options, share, options.min_leaf or _least_rows(n_rows))
        return own | {"extra_trees": options.forest == "extra", "objective": "regression"}

    grower = Grower(settings=settings, n_rounds=n_trees)
    tried = _tried(rep, N_FOREST_FOLDS, rng, least=LEAST_OF_A_FOREST)
    lines = SharedLines(rep.codes)
    bins = _bins(rep, MOST_BINS, pool=_pool(rep, POOL * n_trees * options.most_rows, rng))

    def fit(factor: Factor, rng: np.random.Generator) -> ProbeFit:
        how = TreeTask(bins=bins, grower=grower, n_codes=rep.n_codes, lines=lines, tried=tried.get(factor.name))
        found, n_splits = fit_forest_by_effects(factor, n_folds=N_FOREST_FOLDS, how=how, rng=rng)
        splits.append(n_splits)
        return found

    found = fit_importance(rep, fit, rng=rng, columns=options.columns)
    return replace(found, leaves_a_tree=MAX_LEAVES if max(splits) >= MAX_LEAVES - 1 else 0)


def boosting_importance(rep: Representation, options: BoostingOptions, rng: np.random.Generator) -> Importance:
    """Fit boosted trees for each factor."""
    if options.importance != "held_out":
        fitted = _on_held_out_rows(fit_boosting, options, options.importance, rep)
        return fit_importance(rep, fitted, rng=rng, columns=options.columns)

    def settings(n_rows: int) -> dict[str, Any]:
        own = {"min_data_in_leaf": _least_rows(n_rows), "objective": "regression"}
        return _boosting_settings(options) | own

    grower = Grower(settings=settings, n_rounds=options.n_rounds)
    tried = _tried(rep, N_BOOSTING_FOLDS, rng, least=LEAST_TRIED)
    bins, lines = _bins(rep, BOOSTING_BINS), SharedLines(rep.codes)

    def fit(factor: Factor, rng: np.random.Generator) -> ProbeFit:
        how = TreeTask(bins=bins, grower=grower, n_codes=rep.n_codes, lines=lines, tried=tried.get(factor.name))
        return fit_boosting_by_effects(factor, n_folds=N_BOOSTING_FOLDS, how=how, rng=rng)

    return fit_importance(rep, fit, rng=rng, columns=options.columns)


def _bins(rep: Representation, n_bins: int, *, pool: IntArray | None = None) -> SharedBins:
    """Return bins that all trees share, at most so many of few codes; trees of wide codes grow on a pool of rows."""
    bins = shared_bins(rep)
    if bins is None:
        return SharedCodes(rep.codes, n_bins)
    return SharedColumns(bins // BINS_JOINED, N_BINS // BINS_JOINED, pool=pool)


def _pool(rep: Representation, n_rows: float, rng: np.random.Generator) -> IntArray | None:
    """Return so many rows at random, in increasing order; none where there are no more, or not all are labelled."""
    if not 0 < n_rows < rep.n_samples or not all(factor.is_complete for factor in rep.factors):
        return None
    return np.sort(deepcopy(rng).permutation(rep.n_samples)[: int(n_rows)])


def _tried(rep: Representation, n_folds: int, rng: np.random.Generator, *, least: int) -> dict[str, Tried]:
    """Return the codes that trees of wide codes try for each factor, chosen for all factors at once; none for few."""
    bins = shared_bins(rep)
    if bins is None:
        return {}
    # Copies of the sources of chance that the fits will have, so that the folds are those of the fits.
    children = deepcopy(rng).spawn(rep.n_factors)
    tasks = [folded(factor, n_folds, child) for factor, child in zip(rep.factors, children, strict=True)]
    return dict(zip(rep.factor_names, most_telling_of_all(bins, tasks, least=least), strict=True))


def _least_rows(n_rows: int) -> int:
    """Fewest rows in a leaf, no more than one row in twenty."""
    return min(MIN_LEAF, max(1, n_rows // 20))


def _on_held_out_rows(
    fit: Callable[[Any, ProbeTask, int], FittedTrees], options: Any, measure: ImportanceKind, rep: Representation
) -> Callable[[Factor, np.random.Generator], ProbeFit]:
    def fitted(task: ProbeTask, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        model = fit(options, task, int(rng.integers(2**31)))
        predicted = model.predict(task.test_codes)
        if measure == "impurity":
            return model.weights, predicted
        return _permutation_weights(model, task, rng, in_sample=measure == "permutation_in_sample"), predicted

    return on_held_out_rows(fitted, rep)


def _permutation_weights(
    model: FittedTrees, task: ProbeTask, rng: np.random.Generator, *, in_sample: bool
) -> FloatArray:
    """Decrease of performance on held-out rows, or on as many training rows, when one code is shuffled; not below 0."""
    rows, tested = task.test, task.test_codes
    if in_sample:
        drawn = rng.permutation(len(task.train))[: len(task.test)]
        rows, tested = task.train[drawn], task.codes[drawn]

    def performance(codes: FloatArray) -> FloatArray:
        return np.array(held_out_performance(task.factor, rows, model.predict(codes)))

    changes = np.array(list(permutation_changes(performance, tested, rng=rng)))
    return np.asarray(np.maximum(-changes, 0.0))


def fit_forest(options: ForestOptions, task: ProbeTask, seed: int) -> FittedTrees:
    """Grow a forest for one factor."""
    if options.forest == "random" and task.factor.is_numeric:
        settings = _forest_settings(options, BAG, options.min_leaf or PUBLISHED_MIN_LEAF)
        return _lightgbm(task, seed, settings, options.n_trees)
    return _grown_forest(options, task, seed)


def _forest_settings(options: ForestOptions, bag: float, min_leaf: int) -> dict[str, Any]:
    depth = options.max_depth or -1
    return {
        "boosting": "rf",
        "bagging_fraction": bag,
        "bagging_freq": 1,
        "num_leaves": 2**depth if 0 < depth < 11 else MAX_LEAVES,
        "max_depth": depth,
        "min_data_in_leaf": min_leaf,
    }


def _grown_forest(options: ForestOptions, task: ProbeTask, seed: int) -> FittedTrees:
    """Grow trees from the same draws as the forests of scikit-learn."""
    is_extra, n_rows, min_leaf = options.forest == "extra", len(task.train), options.min_leaf or PUBLISHED_MIN_LEAF
    sizes = {"max_depth": options.max_depth or None, "min_samples_leaf": min_leaf, "max_features": 1.0}
    most = options.most_rows or n_rows
    n_drawn = min(n_rows, int(most / n_rows * n_rows))
    present, targets = _classes_and_targets(task)
    inputs, rng = as_tree_input(task.codes), np.random.RandomState(seed)
    n_classes = 0 if present is None else len(present)

    def grow(own: int) -> Tree:
        drawn = np.arange(n_rows) if is_extra else np.random.RandomState(own).randint(0, n_rows, n_drawn)
        weights = np.bincount(drawn, minlength=n_rows).astype(float)
        return grow_tree(inputs, targets, weights=weights, seed=own, n_classes=n_classes, is_extra=is_extra, **sizes)

    forest = Forest([grow(int(rng.randint(np.iinfo(np.int32).max))) for _ in range(options.n_trees)])
    if present is None:
        return FittedTrees(weights=forest.importance, predict=forest.predict)
    return FittedTrees(weights=forest.importance, predict=lambda new: present[forest.predict(new).argmax(axis=1)])


def _classes_and_targets(task: ProbeTask) -> tuple[FloatArray | None, AnyArray]:
    """Classes of the training rows and the class index of each row; of a numeric factor, none and its targets."""
    if task.factor.is_numeric:
        return None, task.factor.targets(task.train)
    present, labels = np.unique(task.factor.numbers[task.train], return_inverse=True)
    return present, labels


def fit_boosting(options: BoostingOptions, task: ProbeTask, seed: int) -> FittedTrees:
    """Boost trees for one factor."""
    return _lightgbm(task, seed, _boosting_settings(options), options.n_rounds)


def _boosting_settings(options: BoostingOptions) -> dict[str, Any]:
    return {
        "num_leaves": options.n_leaves,
        "learning_rate": options.learning_rate,
        "min_data_in_leaf": PUBLISHED_MIN_LEAF,
    }


def _lightgbm(task: ProbeTask, seed: int, settings: dict[str, Any], n_rounds: int) -> FittedTrees:
    import lightgbm

    present, targets = _classes_and_targets(task)
    fixed = {**QUIET, "deterministic": True, "force_row_wise": True, "seed": seed, **settings}

    def train(labels: FloatArray, **objective: Any) -> Any:
        data = lightgbm.Dataset(task.codes, labels, params={**QUIET, "max_bin": MOST_BINS})
        return lightgbm.train(fixed | objective, data, n_rounds)

    if present is None:
        models = [train(labels=column, objective="regression") for column in targets.T]
        return FittedTrees(
            weights=np.sum([model.feature_importance("gain") for model in models], axis=0),
            predict=lambda new: np.stack([model.predict(new, num_threads=1) for model in models], axis=1),
        )
    model = train(labels=targets.astype(float), objective="multiclass", num_class=len(present))
    return FittedTrees(
        weights=model.feature_importance("gain"),
        predict=lambda new: present[model.predict(new, num_threads=1).argmax(axis=1)],
    )


def forest_grower(n_trees: int, min_leaf: int) -> Grower:
    """Return a grower of forests whose trees split at the ends of bins, without a limit of leaves."""

    def settings(n_rows: int) -> dict[str, Any]:
        bag = {"bagging_fraction": BAG, "bagging_freq": 1, "min_data_in_leaf": min_leaf, "num_leaves": n_rows}
        return {"boosting": "rf", "objective": "regression", "histogram_pool_size": HISTOGRAM_MIB} | bag

    return Grower(settings=settings, n_rounds=n_trees)


@dataclass(slots=True, kw_only=True, eq=False)
class ForestRegressor:
    """Regression by a forest, with the interface of scikit-learn's estimators.

    Attributes:
        n_trees: Number of trees.
        min_leaf: Fewest rows in a leaf; a node of an extra tree is divided if it has twice as many.
        is_extra: Extremely randomised trees: random thresholds on all rows, in place of the best ones on a bootstrap.
        seed: Of all chance.
    """

    n_trees: int
    min_leaf: int
    is_extra: bool
    seed: int
    forest: Forest | None = None

    def fit(self, inputs: FloatArray, targets: FloatArray) -> ForestRegressor:
        """Grow the trees."""
        # A random threshold that leaves too few rows on one side would end the growth of an extra tree for good.
        size = "min_samples_split" if self.is_extra else "min_samples_leaf"
        sizes = {size: max(2, 2 * self.min_leaf) if self.is_extra else self.min_leaf}
        rows, wanted = as_tree_input(inputs), targets.reshape(len(targets), -1)
        self.forest = Forest(
            [
                grow_tree(rows, wanted, weights=weights, seed=seed, is_extra=self.is_extra, **sizes)
                for seed, weights in self.draws(len(rows))
            ]
        )
        return self

    def predict(self, inputs: FloatArray) -> FloatArray:
        """Average over trees, ``(n_rows, n_targets)``."""
        assert self.forest is not None
        return self.forest.predict(inputs)

    def draws(self, n_rows: int) -> Iterator[tuple[int, FloatArray]]:
        """Give the seed of each tree, and the weight of each row in it."""
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n_trees):
            yield int(rng.integers(2**31)), self._weights(n_rows, rng)

    def _weights(self, n_rows: int, rng: np.random.Generator) -> FloatArray:
        """Weight of each row in one tree."""
        n_drawn = min(n_rows, MAX_ROWS_A_TREE)
        if not self.is_extra:
            return bootstrap(n_rows, n_drawn, rng)
        weights = np.zeros(n_rows)
        weights[rng.permutation(n_rows)[:n_drawn]] = 1.0
        return weights
