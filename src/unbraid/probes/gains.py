"""Gains of splits on rows that did not grow the trees, and trees cut back to the size that predicts such rows best.

The gain of a split is the covariance of what it adds to the prediction with the residual. On the rows that grew the tree
this is the decrease of impurity, which rewards splits on noise, the more the deeper the tree (Li et al. 2019, A Debiased
MDI Feature Importance Measure for Random Forests). On other rows its expectation is 0 for a code of noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid.probes.importance import ProbeFit, performance
from unbraid.probes.splits import folds
from unbraid.representation.factor import Factor

#: Blocks of the test rows of each fold, from which standard errors of gains are estimated.
N_BLOCKS = 10
#: Predictions of test rows by single trees that are held in memory at once.
CELLS = 2_000_000

Rng = np.random.Generator
#: From codes, their rows and a seed to models.
Train = Callable[[FloatArray, IntArray, int], list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trees:
    """The trees of a LightGBM model. Nodes come first, trees one after the other, then leaves likewise.

    Attributes:
        code: Code on which each node splits, ``(n_nodes,)``.
        order: How many splits its tree had when each node was split, ``(n_nodes,)``.
        tree: Tree of each node, ``(n_nodes,)``.
        children: Both children of each node, ``(n_nodes, 2)``.
        value: Prediction of each node and leaf, ``(n_nodes + n_leaves,)``; of a node the mean over its leaves.
        levels: Nodes of each depth, the roots first.
        roots: Root of each tree, which may be a leaf, ``(n_trees,)``.
        first_leaf: Position of the first leaf of each tree, ``(n_trees,)``.
    """

    code: IntArray
    order: IntArray
    tree: IntArray
    children: IntArray
    value: FloatArray
    levels: tuple[IntArray, ...]
    roots: IntArray
    first_leaf: IntArray

    @classmethod
    def of(cls, model: Any) -> Trees:
        """Read the trees of a LightGBM model."""
        found = [_fields(part) for part in model.model_to_string().split("\nTree=")[1:]]
        n_leaves = np.array([len(tree["leaf_value"]) for tree in found])
        nodes_before = np.concatenate([[0], np.cumsum(n_leaves - 1)])
        n_nodes = int(nodes_before[-1])
        first_leaf = n_nodes + np.concatenate([[0], np.cumsum(n_leaves)[:-1]])
        children = np.empty((n_nodes, 2), dtype=np.intp)
        for k, tree in enumerate(found):
            own = slice(nodes_before[k], nodes_before[k + 1])
            for side, name in enumerate(("left_child", "right_child")):
                child = tree.get(name, np.zeros(0)).astype(np.intp)
                children[own, side] = np.where(child >= 0, nodes_before[k] + child, first_leaf[k] - child - 1)
        roots = np.where(n_leaves > 1, nodes_before[:-1], first_leaf)
        levels = tuple(_levels(children, roots))
        splits = [tree.get("split_feature", np.zeros(0)) for tree in found]
        weight = np.concatenate([np.zeros(n_nodes), *(tree.get("leaf_weight", np.ones(1)) for tree in found)])
        value = np.concatenate([np.zeros(n_nodes), *(tree["leaf_value"] for tree in found)])
        for level in reversed(levels):
            below = children[level]
            weight[level] = weight[below].sum(axis=1)
            value[level] = (weight[below] * value[below]).sum(axis=1) / np.maximum(weight[level], 1e-300)
        return cls(
            code=np.concatenate(splits).astype(np.intp),
            order=np.concatenate([np.arange(n - 1) for n in n_leaves]),
            tree=np.repeat(np.arange(len(found)), n_leaves - 1),
            children=children,
            value=value,
            levels=levels,
            roots=roots,
            first_leaf=first_leaf,
        )

    def leaves(self, model: Any, codes: FloatArray) -> IntArray:
        """Position of the leaf of each row in each tree, ``(n_rows, n_trees)``."""
        found = np.asarray(model.predict(codes, pred_leaf=True, num_threads=1), dtype=np.intp)
        return np.asarray(found.reshape(len(codes), -1) + self.first_leaf)

    def cut_values(self, n_splits: int) -> FloatArray:
        """Prediction of each node and leaf if no tree had more than so many splits."""
        value = self.value.copy()
        for level in self.levels:
            late = level[self.order[level] >= n_splits]
            value[self.children[late]] = value[late][:, None]
        return value

    def gains(self, sums: FloatArray) -> FloatArray:
        """Gain of each split, from sums of residuals over the rows in each leaf.

        Args:
            sums: Sums in each of several blocks of rows, ``(n_nodes + n_leaves, n_blocks)``; those of nodes are filled.

        Returns:
            ``(n_nodes, n_blocks)``.
        """
        for level in reversed(self.levels):
            sums[level] = sums[self.children[level]].sum(axis=1)
        steps = self.value[self.children] - self.value[: len(self.code), None]
        return np.asarray((steps[:, :, None] * sums[self.children]).sum(axis=1))


def _fields(part: str) -> dict[str, FloatArray]:
    """Arrays of one tree in the text of a model."""
    wanted = ("split_feature", "left_child", "right_child", "leaf_value", "leaf_weight")
    lines = (line.partition("=") for line in part.partition("\n\n")[0].splitlines())
    return {name: np.array(text.split(), dtype=float) for name, _, text in lines if name in wanted and text}


def _levels(children: IntArray, roots: IntArray) -> Iterator[IntArray]:
    level = roots[roots < len(children)]
    while len(level):
        yield level
        below = children[level].ravel()
        level = below[below < len(children)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """Models grown on the rows of the other folds, and the test rows of this one.

    Attributes:
        models: LightGBM models with their trees: one for each output, or one for all values of a categorical factor.
        place: Test rows, as positions in the labelled rows.
        codes: Codes of the test rows.
        targets: Targets of the test rows, ``(n_rows, n_outputs)``.
    """

    models: list[tuple[Any, Trees]]
    place: IntArray
    codes: FloatArray
    targets: FloatArray

    def chunks(self) -> Iterator[tuple[slice, IntArray]]:
        """Parts of the test rows, few enough for predictions by every tree, with the block of each row."""
        n_trees = max(len(trees.roots) for _, trees in self.models)
        size = max(N_BLOCKS, CELLS // n_trees)
        for start in range(0, len(self.place), size):
            part = slice(start, min(start + size, len(self.place)))
            yield part, np.arange(part.start, part.stop) % N_BLOCKS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folds:
    """The labelled rows of a factor, divided into folds, with models for each fold."""

    factor: Factor
    rows: IntArray
    fold: IntArray
    outputs: FloatArray
    found: list[Fold]

    @classmethod
    def grow(
        cls, factor: Factor, codes: FloatArray, outputs: FloatArray, n_folds: int, train: Train, rng: Rng
    ) -> Folds:
        """Train the models of each fold; ``outputs`` has the targets of all rows of the factor, in order."""
        rows, fold = folds(factor, n_folds, rng=rng)
        found = []
        for k in range(n_folds):
            fitted, tested = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            models = [
                (model, Trees.of(model)) for model in train(codes[rows[fitted]], rows[fitted], int(rng.integers(2**31)))
            ]
            found.append(Fold(models=models, place=tested, codes=codes[rows[tested]], targets=outputs[tested]))
        return cls(factor=factor, rows=rows, fold=fold, outputs=outputs, found=found)

    def fit(self, predicted: FloatArray, gains: list[FloatArray], error: float | None = None) -> ProbeFit:
        """Return the fit.

        Args:
            predicted: Predictions of the labelled rows, ``(n_rows, n_outputs)``.
            gains: Of each fold, sums of gains over the rows of each block, ``(n_codes, n_blocks)``.
            error: Sum of squared errors, where it is not that of ``predicted``.
        """
        blocks = np.concatenate(gains, axis=1)
        tested = self.fold >= 0
        rows, predicted = self.rows[tested], predicted[tested]
        informativeness = performance(self.factor, rows, predicted)
        if error is not None:
            total = float(((self.outputs[tested] - self.outputs[tested].mean(axis=0)) ** 2).sum())
            informativeness = max(0.0, 1 - error / total) if total > 0 else 0.0
        return ProbeFit(
            sizes=np.maximum(blocks.sum(axis=1, keepdims=True), 0.0),
            errors=blocks.std(axis=1, ddof=1, keepdims=True) * np.sqrt(blocks.shape[1]),
            rows=rows,
            fold=self.fold[tested],
            predicted=predicted,
            informativeness=informativeness,
        )


def fit_forest_by_gains(
    factor: Factor, codes: FloatArray, *, n_folds: int, train: Train, rng: Rng
) -> tuple[ProbeFit, int]:
    """Grow a forest for each fold on the rows of the others, and cut its trees back to the size that predicts best.

    Errors are those of a forest of infinitely many trees: the variance of the mean over trees is taken off.

    Args:
        factor: Factor to predict.
        codes: All rows, ``(n_samples, n_codes)``.
        n_folds: Number of folds.
        train: From codes, their rows and a seed to a model for each output.
        rng: Source of chance.

    Returns:
        The fit, and how many splits a tree keeps at most.
    """
    grown = Folds.grow(factor, codes, forest_targets(factor, np.flatnonzero(factor.labelled)), n_folds, train, rng)
    largest = max(int(trees.order.max(initial=0)) + 1 for one in grown.found for _, trees in one.models)
    sizes = [0, *(2**power for power in range(int(np.ceil(np.log2(largest))) + 1))]
    errors, sums = np.zeros(len(sizes)), [_zeros(one) for one in grown.found]
    for one, summed in zip(grown.found, sums, strict=True):
        for output, (model, trees) in enumerate(one.models):
            values = [trees.cut_values(size) for size in sizes]
            for part, block in one.chunks():
                leaves, truth = trees.leaves(model, one.codes[part]), one.targets[part, output]
                summed[output] += _sums(trees, leaves, block, np.broadcast_to((truth - truth.mean())[:, None], leaves.shape))
                errors += [_error_of_many_trees(truth, value[leaves]) for value in values]
    best = int(errors.argmin())
    predicted = np.zeros_like(grown.outputs)
    for one in grown.found:
        for output, (model, trees) in enumerate(one.models):
            value = trees.cut_values(sizes[best])
            for part, _ in one.chunks():
                leaves = trees.leaves(model, one.codes[part])
                predicted[one.place[part], output] = value[leaves].mean(axis=1)
    gains = [
        _by_code(one, summed, codes.shape[1], lambda trees: trees.order < sizes[best])
        for one, summed in zip(grown.found, sums, strict=True)
    ]
    if factor.is_numeric:
        return grown.fit(predicted, gains, float(errors[best])), sizes[best]
    return grown.fit(_of_all_values(factor, predicted), gains), sizes[best]


def forest_targets(factor: Factor, rows: IntArray) -> FloatArray:
    """Targets of the forests of a factor: the indicator of the second of two values is that of the first, turned over."""
    targets = factor.targets(rows)
    return targets[:, :1] if not factor.is_numeric and targets.shape[1] == 2 else targets


def _of_all_values(factor: Factor, predicted: FloatArray) -> FloatArray:
    return np.hstack([predicted, 1 - predicted]) if len(factor.levels) == 2 else predicted


def _error_of_many_trees(truth: FloatArray, by_tree: FloatArray) -> float:
    """Sum of squared errors of the mean over infinitely many trees, estimated from a few."""
    n_trees = by_tree.shape[1]
    error = float(((truth - by_tree.mean(axis=1)) ** 2).sum())
    return error - float(by_tree.var(axis=1, ddof=1).sum()) / n_trees if n_trees > 1 else error


def fit_boosting_by_gains(factor: Factor, codes: FloatArray, *, n_folds: int, train: Train, rng: Rng) -> ProbeFit:
    """Boost trees for each fold on the rows of the others, for as many rounds as predict best.

    Args:
        factor: Factor to predict.
        codes: All rows, ``(n_samples, n_codes)``.
        n_folds: Number of folds.
        train: From codes, their rows and a seed to a model for each target, or to one for all values of a category.
        rng: Source of chance.
    """
    rows = np.flatnonzero(factor.labelled)
    grown = Folds.grow(factor, codes, factor.targets(rows), n_folds, train, rng)
    n_classes = 1 if factor.is_numeric else len(factor.levels)
    losses: FloatArray = np.zeros(1)
    sums = [_zeros(one) for one in grown.found]
    for one, summed in zip(grown.found, sums, strict=True):
        for output, (model, trees) in enumerate(one.models):
            truth = one.targets[:, output : output + 1] if factor.is_numeric else one.targets
            for part, block in one.chunks():
                leaves = trees.leaves(model, one.codes[part])
                residual, loss = _by_round(trees, leaves, truth[part], n_classes)
                summed[output] += _sums(trees, leaves, block, residual.reshape(leaves.shape))
                losses = _added(losses, loss)
    best = int(losses.argmin())
    predicted = np.zeros_like(grown.outputs)
    for one in grown.found:
        for output, (model, trees) in enumerate(one.models):
            own = slice(output, output + 1) if factor.is_numeric else slice(None)
            start = trees.value[trees.roots[:n_classes]]
            found = model.predict(one.codes, num_iteration=best, num_threads=1) if best else start
            predicted[one.place, own] = found.reshape(-1, n_classes)
    gains = [
        _by_code(one, summed, codes.shape[1], lambda trees: trees.tree < best * n_classes)
        for one, summed in zip(grown.found, sums, strict=True)
    ]
    return grown.fit(predicted, gains)


def _by_round(trees: Trees, leaves: IntArray, truth: FloatArray, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Residuals before each round, ``(n_rows, n_rounds, n_classes)``, and the loss after 0, 1, ... rounds."""
    steps = trees.value[leaves].reshape(len(leaves), -1, n_classes)
    start = np.broadcast_to(trees.value[trees.roots[:n_classes]], (len(leaves), 1, n_classes))
    scores = np.concatenate([start, np.cumsum(steps, axis=1)], axis=1)
    if n_classes == 1:
        residual = truth[:, None, :] - scores
        return residual[:, :-1], (residual**2).sum(axis=(0, 2))
    log_shares = scipy.special.log_softmax(scores, axis=2)
    loss = -(truth[:, None, :] * log_shares).sum(axis=(0, 2))
    return truth[:, None, :] - np.exp(log_shares[:, :-1]), loss


def _added(losses: FloatArray, more: FloatArray) -> FloatArray:
    """Add loss curves; one that ends early, as nothing was left to split, stays as it is."""
    length = max(len(losses), len(more))
    return np.asarray(np.pad(losses, (0, length - len(losses)), "edge") + np.pad(more, (0, length - len(more)), "edge"))


def _zeros(one: Fold) -> list[FloatArray]:
    return [np.zeros((len(trees.value), N_BLOCKS)) for _, trees in one.models]


def _sums(trees: Trees, leaves: IntArray, block: IntArray, residual: FloatArray) -> FloatArray:
    """Sums of residuals over the rows of each leaf and block, ``(n_nodes + n_leaves, n_blocks)``."""
    cells = leaves * N_BLOCKS + block[:, None]
    found = np.bincount(cells.ravel(), weights=residual.ravel(), minlength=len(trees.value) * N_BLOCKS)
    return found.reshape(-1, N_BLOCKS)


def _by_code(
    one: Fold, summed: list[FloatArray], n_codes: int, counted: Callable[[Trees], BoolArray]
) -> FloatArray:
    """Gains of the splits that count, by code and block, over all outputs, ``(n_codes, n_blocks)``."""
    total = np.zeros((n_codes, N_BLOCKS))
    for (_, trees), sums in zip(one.models, summed, strict=True):
        np.add.at(total, trees.code, trees.gains(sums) * counted(trees)[:, None])
    return total
