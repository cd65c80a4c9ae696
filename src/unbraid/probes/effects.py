"""Effects of codes on the predictions of trees, measured on rows that did not grow the trees.

The decrease of impurity on the rows that grew a tree rewards splits on noise, the more the deeper the tree (Li et al.
2019, A Debiased MDI Feature Importance Measure for Random Forests). Here rows are divided into folds, trees of the
other folds predict each fold, and what splits on a code add to the prediction is compared with the factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.probes.importance import ProbeFit, centred, in_errors, performance
from unbraid.probes.linear import LEAST_ROWS_A_CODE, coefficients_with_errors
from unbraid.probes.splits import folds, standardise
from unbraid.representation.factor import Factor

#: Numbers that one step holds in memory.
CELLS = 4_000_000

Rng = np.random.Generator
#: From codes, one target for each row, and a seed to a LightGBM model.
Train = Callable[[FloatArray, FloatArray, int], Any]


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

    def cut_values(self, n_splits: int) -> FloatArray:
        """Prediction of each node and leaf if no tree had more than so many splits."""
        value = self.value.copy()
        for level in self.levels:
            late = level[self.order[level] >= n_splits]
            value[self.children[late]] = value[late][:, None]
        return value

    def contributions(self, leaves: IntArray, n_codes: int, n_trees: int) -> FloatArray:
        """What splits on each code add to the predictions of rows, summed over the first trees.

        Args:
            leaves: Leaf of each row in each tree, ``(n_rows, n_trees)``.
            n_codes: Number of codes.
            n_trees: Number of trees that count.

        Returns:
            ``(n_rows, n_codes)``.
        """
        total = np.zeros((len(leaves), n_codes))
        ends = np.append(self.first_leaf, len(self.value))
        widest = 2 * int(np.diff(ends).max())
        at_once = max(1, CELLS // (widest * n_codes))
        for start in range(0, n_trees, at_once):
            stop = min(start + at_once, n_trees)
            first, last = np.searchsorted(self.tree, [start, stop])
            shift = ends[start] - (last - first)  # own nodes come first, then own leaves
            added = np.zeros((ends[stop] - shift, n_codes))
            for level in self.levels:
                own = level[(level >= first) & (level < last)]
                below = self.children[own]
                place = np.where(below < len(self.code), below - first, below - shift)
                added[place] = added[own - first][:, None]
                added[place, self.code[own][:, None]] += self.value[below] - self.value[own][:, None]
            for tree in range(start, stop):
                total += added[leaves[:, tree] - shift]
        return total


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
class Grown:
    """One LightGBM model for one output, grown on the rows of the other folds, and the test rows of its fold.

    Attributes:
        model: The model.
        trees: Its trees.
        output: Number of the output.
        rows: Test rows, as positions in the labelled rows.
        codes: Codes of the test rows.
        targets: Output of the test rows, ``(n_rows,)``.
    """

    model: Any
    trees: Trees
    output: int
    rows: IntArray
    codes: FloatArray
    targets: FloatArray

    def leaves(self) -> Iterator[tuple[slice, IntArray]]:
        """Leaf of each test row in each tree, ``(n_rows, n_trees)``, for parts of the rows that fit into memory."""
        size = max(1, CELLS // max(len(self.trees.roots), self.codes.shape[1]))
        for start in range(0, len(self.rows), size):
            part = slice(start, start + size)
            found = np.asarray(self.model.predict(self.codes[part], pred_leaf=True, num_threads=1), dtype=np.intp)
            yield part, found.reshape(len(found), -1) + self.trees.first_leaf


def fit_forest_by_effects(
    factor: Factor, codes: FloatArray, *, n_folds: int, train: Train, rng: Rng
) -> tuple[ProbeFit, int]:
    """Grow a forest for each fold on the rows of the others, and cut its trees back to the size that predicts best.

    Errors are those of a forest of infinitely many trees: the variance of the mean over trees is taken off. Effects are
    those of the whole trees, in which codes of small effect have splits too.

    Returns:
        The fit, and how many splits a tree keeps at most.
    """
    rows, fold = folds(factor, n_folds, rng=rng)
    outputs = _outputs(factor, rows)
    grown = list(_grow(codes[rows], outputs, fold, train, rng))
    largest = max(int(one.trees.order.max(initial=0)) + 1 for one in grown)
    sizes = [0, *(2**power for power in range(int(np.ceil(np.log2(largest))) + 1))]
    errors = np.zeros(len(sizes))
    for one in grown:
        values = [one.trees.cut_values(size) for size in sizes]
        for part, leaves in one.leaves():
            errors += [_error_of_many_trees(one.targets[part], value[leaves]) for value in values]
    best = int(errors.argmin())
    fit = _fit(factor, codes[rows], rows, fold, outputs, _measured(grown, outputs, fold, n_splits=sizes[best]))
    if factor.is_numeric:
        total = float(((outputs - outputs.mean(axis=0)) ** 2).sum())
        explained = 1 - float(errors[best]) / total if total > 0 else 0.0
        fit = replace(fit, informativeness=max(0.0, explained))
    return fit, min(sizes[best], largest)


def _error_of_many_trees(truth: FloatArray, by_tree: FloatArray) -> float:
    """Sum of squared errors of the mean over infinitely many trees, estimated from a few."""
    n_trees = by_tree.shape[1]
    error = float(((truth - by_tree.mean(axis=1)) ** 2).sum())
    return error - float(by_tree.var(axis=1, ddof=1).sum()) / n_trees if n_trees > 1 else error


def fit_boosting_by_effects(factor: Factor, codes: FloatArray, *, n_folds: int, train: Train, rng: Rng) -> ProbeFit:
    """Boost trees for each fold on the rows of the others, for as many rounds as predict best."""
    rows, fold = folds(factor, n_folds, rng=rng)
    outputs = _outputs(factor, rows)
    grown = list(_grow(codes[rows], outputs, fold, train, rng))
    errors = np.zeros(1 + max(len(one.trees.roots) for one in grown))
    for one in grown:
        start = one.trees.value[one.trees.roots[0]]
        for part, leaves in one.leaves():
            scores = np.column_stack([np.full(len(leaves), start), np.cumsum(one.trees.value[leaves], axis=1)])
            found = ((one.targets[part, None] - scores) ** 2).sum(axis=0)
            errors += np.pad(found, (0, len(errors) - len(found)), "edge")
    best = int(errors.argmin())
    return _fit(factor, codes[rows], rows, fold, outputs, _measured(grown, outputs, fold, n_rounds=best))


def _outputs(factor: Factor, rows: IntArray) -> FloatArray:
    """Targets; of two values the indicator of the first alone, as the other is that one turned over."""
    targets = factor.targets(rows)
    return targets[:, :1] if not factor.is_numeric and targets.shape[1] == 2 else targets


def _grow(codes: FloatArray, outputs: FloatArray, fold: IntArray, train: Train, rng: Rng) -> Iterator[Grown]:
    for k in range(int(fold.max()) + 1):
        others, tested = fold != k, np.flatnonzero(fold == k)
        for output, targets in enumerate(outputs.T):
            model = train(codes[others], targets[others], int(rng.integers(2**31)))
            yield Grown(
                model=model,
                trees=Trees.of(model),
                output=output,
                rows=tested,
                codes=codes[tested],
                targets=targets[tested],
            )


def _measured(
    grown: list[Grown], outputs: FloatArray, fold: IntArray, *, n_splits: int = 0, n_rounds: int | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Predictions of all rows, and effects of codes on each output with their standard errors.

    Args:
        grown: Models of all folds and outputs.
        outputs: Targets, ``(n_rows, n_outputs)``.
        fold: Fold of each row.
        n_splits: Splits that a tree of a forest keeps for predictions.
        n_rounds: Rounds of boosting that count; ``None`` for a forest.
    """
    predicted, found = np.zeros_like(outputs), []
    tested = fold >= 0
    for output in range(outputs.shape[1]):
        parts = np.zeros((len(outputs), grown[0].codes.shape[1]))
        for one in grown:
            if one.output != output:
                continue
            trees, n_trees = one.trees, len(one.trees.roots)
            counted = n_trees if n_rounds is None else min(n_rounds, n_trees)
            value = trees.cut_values(n_splits) if n_rounds is None else trees.value
            for part, leaves in one.leaves():
                own, by_tree = one.rows[part], value[leaves[:, :counted]]
                predicted[own, output] = by_tree.sum(axis=1) if counted else value[trees.roots[0]]
                parts[own] = trees.contributions(leaves, parts.shape[1], counted)
                if n_rounds is None:
                    predicted[own, output] /= n_trees
                    parts[own] /= n_trees
        found.append(effects(parts[tested], outputs[tested, output], fold[tested]))
    return predicted, np.stack([size for size, _ in found], axis=1), np.stack([error for _, error in found], axis=1)


def _fit(
    factor: Factor,
    codes: FloatArray,
    rows: IntArray,
    fold: IntArray,
    outputs: FloatArray,
    measured: tuple[FloatArray, FloatArray, FloatArray],
) -> ProbeFit:
    tested = fold >= 0
    predicted, sizes, errors = measured
    if not factor.is_numeric and len(factor.levels) == 2:
        predicted = np.hstack([predicted, 1 - predicted])
    return ProbeFit(
        sizes=sizes,
        errors=errors,
        by_line=_by_line(codes, outputs),
        rows=rows[tested],
        fold=fold[tested],
        predicted=predicted[tested],
        informativeness=performance(factor, rows[tested], predicted[tested]),
    )


def _by_line(codes: FloatArray, outputs: FloatArray) -> FloatArray | None:
    """Coefficients of least squares over their standard errors; ``None`` where rows are too few."""
    if len(codes) < LEAST_ROWS_A_CODE * codes.shape[1]:
        return None
    weights, errors = coefficients_with_errors(standardise(codes)[0], standardise(outputs)[0])
    return in_errors(np.abs(weights), errors)


def effects(parts: FloatArray, target: FloatArray, fold: IntArray) -> tuple[FloatArray, FloatArray]:
    """Effect of each code on a target, and its standard error if there is none, ``(n_codes,)``.

    With f the part of a prediction that splits on a code add, and e the residual of the whole prediction, on test rows,
    the effect is the covariance of f with e + f over the deviation of f: the standard deviation of what this code
    explains beside the others, whatever noise is in f.

    Args:
        parts: f of each row and code, ``(n_rows, n_codes)``.
        target: ``(n_rows,)``.
        fold: Fold of each row. Where each fold is predicted from the others, pairs of rows count twice.
    """
    parts = centred(parts, fold)
    residual = centred(target[:, None], fold) - parts.sum(axis=1, keepdims=True)
    scale = np.sqrt(np.maximum((parts**2).sum(axis=0) * len(parts), 1e-300))
    size = np.abs((parts * (residual + parts)).sum(axis=0)) / scale
    return size, np.sqrt(2 * (parts**2 * residual**2).sum(axis=0)) / scale
