"""Effects of codes on the predictions of trees, measured on rows that did not grow the trees.

The decrease of impurity on the rows that grew a tree rewards splits on noise, the more the deeper the tree (Li et al.
2019, A Debiased MDI Feature Importance Measure for Random Forests). Here rows are divided into folds, trees of the
other folds predict each fold, and what splits on a code add to the prediction is compared with the factor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid.probes.bins import FoldedTask
from unbraid.probes.boosters import TreeModel
from unbraid.probes.growing import Grower, SharedBins
from unbraid.probes.importance import ProbeFit, in_errors, performance
from unbraid.probes.linear import LeastSquares
from unbraid.probes.splits import folds, standardise
from unbraid.representation.factor import Factor

#: Numbers that one step holds in memory.
CELLS = 4_000_000
#: Least squares is fitted beside trees to at most so many codes, and with so many rows to a code: fewer codes could be
#: told from luck without it, and importances would seem to be those of a few codes.
MOST_BY_LINE, LEAST_ROWS_OF_LINES = 1024, 2

#: Share of the variance of a part of the prediction that is left, at least, when what few trees add is taken off.
LEAST_VARIANCE = 0.25

Rng = np.random.Generator
#: For each fold and output, the codes that trees try.
Tried = list[list[IntArray]]
#: Rounds of boosting that go on after the one that predicts best.
PATIENCE = 20
#: Bytes of a row of a model that is boosted, beside its codes: target, prediction, and gradients.
ROW_BYTES = 40
#: Bytes of models that are boosted together, at most.
MOST_TOGETHER = 500_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeTask:
    """How trees of one factor are grown.

    Attributes:
        bins: Bins of the codes.
        grower: Grows the trees of one output.
        n_codes: Number of codes.
        lines: Least squares beside the trees.
        tried: Codes that the trees of each fold and output try, where they do not try all.
    """

    bins: SharedBins
    grower: Grower
    n_codes: int
    lines: SharedLines
    tried: Tried | None = None

    def tries(self, fold: int, output: int) -> IntArray:
        """Return the codes that trees of one fold and output try."""
        return np.arange(self.n_codes) if self.tried is None else self.tried[fold][output]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ByTree:
    """Sums over the trees of a forest and over rows, with f the part of the prediction of one tree.

    Attributes:
        squares: Of the squares of f, ``(n_codes,)``.
        products: Of f times the sum of f over codes, ``(n_codes,)``.
        n_trees: Number of trees.
    """

    squares: FloatArray
    products: FloatArray
    n_trees: int

    def excess(self, total: FloatArray, of_means: FloatArray) -> FloatArray:
        """What chance in few trees adds to a sum of products of means over trees, in expectation.

        Args:
            total: Sum over trees and rows of the products of one tree.
            of_means: Sum over rows of the products of means over trees.
        """
        if self.n_trees < 2:
            return np.zeros_like(total)
        return (total / self.n_trees - of_means) / (self.n_trees - 1)


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
    def of(cls, text: str) -> Trees:
        """Read the trees of a LightGBM model from its text."""
        lines = _lines(text)
        n_leaves = _numbers(lines["num_leaves"]).astype(np.intp)
        nodes_before = np.concatenate([[0], np.cumsum(n_leaves - 1)])
        n_nodes = int(nodes_before[-1])
        first_leaf = n_nodes + np.concatenate([[0], np.cumsum(n_leaves)[:-1]])
        tree = np.repeat(np.arange(len(n_leaves)), n_leaves - 1)
        child = np.stack([_numbers(lines[side]) for side in ("left_child", "right_child")], axis=1).astype(np.intp)
        children = np.where(child >= 0, nodes_before[tree, None] + child, first_leaf[tree, None] - child - 1)
        roots = np.where(n_leaves > 1, nodes_before[:-1], first_leaf)
        levels = tuple(_levels(children, roots))
        weight = np.concatenate([np.zeros(n_nodes), _numbers(lines["leaf_weight"])])
        value = np.concatenate([np.zeros(n_nodes), _numbers(lines["leaf_value"])])
        for level in reversed(levels):
            below = children[level]
            weight[level] = weight[below].sum(axis=1)
            value[level] = (weight[below] * value[below]).sum(axis=1) / np.maximum(weight[level], 1e-300)
        return cls(
            code=_numbers(lines["split_feature"]).astype(np.intp),
            order=np.arange(n_nodes) - nodes_before[tree],
            tree=tree,
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
        for tree, added, shift in self._by_leaf(n_codes, n_trees):
            total += added[leaves[:, tree] - shift]
        return total

    def sums_by_tree(self, n_rows: IntArray, n_codes: int) -> ByTree:
        """Sums over trees and rows of products of what splits add to the prediction of one tree, means taken off.

        Args:
            n_rows: Number of rows in each leaf, ``(n_nodes + n_leaves,)``.
            n_codes: Number of codes.
        """
        squares, products = np.zeros(n_codes), np.zeros(n_codes)
        ends = np.append(self.first_leaf, len(self.value))
        for tree, added, shift in self._by_leaf(n_codes, len(self.roots)):
            weight = n_rows[ends[tree] : ends[tree + 1]].astype(float)
            centred = added[ends[tree] - shift : ends[tree + 1] - shift]
            centred = centred - weight @ centred / max(weight.sum(), 1.0)
            squares += weight @ centred**2
            products += (weight * centred.sum(axis=1)) @ centred
        return ByTree(squares=squares, products=products, n_trees=len(self.roots))

    def _by_leaf(self, n_codes: int, n_trees: int) -> Iterator[tuple[int, FloatArray, int]]:
        """Yield each tree with what splits on each code add up to in its leaves, and the position of the first row."""
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
                yield tree, added, shift


#: Lines that every tree has in the text of a model, in the order of the trees.
LINES = re.compile(r"\n(num_leaves|split_feature|left_child|right_child|leaf_value|leaf_weight)=(.*)")


def _lines(text: str) -> dict[str, list[str]]:
    """Numbers of all trees in the text of a model, as text; a tree of one leaf has no splits."""
    found: dict[str, list[str]] = {}
    for name, numbers in LINES.findall(text):
        found.setdefault(name, []).append(numbers)
    return found


def _numbers(parts: list[str]) -> FloatArray:
    return np.fromstring(" ".join(parts), sep=" ")


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
        trees: Trees of the model, which know its codes by their place in ``tried``.
        output: Number of the output.
        tried: Codes of the model, ``(n_tried,)``.
        rows: Test rows, as positions in the labelled rows.
        targets: Output of the test rows, ``(n_rows,)``.
        model: The model, where the leaves of all test rows are too many to keep.
        codes: Codes of the test rows that the model knows, where there is a model.
        n_rounds: Trees of the model that count; -1 for all.
        kept: Leaf of each test row in each tree, counted from the first leaf of the tree, where there is no model.
    """

    trees: Trees
    output: int
    tried: IntArray
    rows: IntArray
    targets: FloatArray
    model: TreeModel | None
    codes: AnyArray
    n_rounds: int
    kept: AnyArray

    @classmethod
    def of(
        cls,
        model: TreeModel,
        codes: AnyArray,
        *,
        output: int,
        tried: IntArray,
        rows: IntArray,
        targets: FloatArray,
        n_rounds: int = -1,
    ) -> Grown:
        """Read the first trees of a model, or all, and the leaves of its test rows, whose codes are given."""
        trees = Trees.of(model.text(n_rounds))
        few = len(rows) * len(trees.roots) <= CELLS
        return cls(
            trees=trees,
            output=output,
            tried=tried,
            rows=rows,
            targets=targets,
            model=None if few else model,
            codes=codes[:0] if few else codes,
            n_rounds=n_rounds,
            kept=model.leaves(codes if few else codes[:1], n_rounds),
        )

    def leaves(self) -> Iterator[tuple[slice, IntArray]]:
        """Leaf of each test row in each tree, ``(n_rows, n_trees)``, for parts of the rows that fit into memory."""
        if self.model is None:
            yield slice(0, len(self.rows)), self.kept + self.trees.first_leaf
            return
        size = max(1, CELLS // max(len(self.trees.roots), self.codes.shape[1]))
        for start in range(0, len(self.rows), size):
            part = slice(start, start + size)
            yield part, self.model.leaves(self.codes[part], self.n_rounds) + self.trees.first_leaf


def folded(factor: Factor, n_folds: int, rng: Rng) -> FoldedTask:
    """Draw the folds of a factor, as a fit does first of all."""
    rows, fold = folds(factor, n_folds, rng=rng)
    return FoldedTask(rows=rows, fold=fold, outputs=_outputs(factor, rows))


def fit_forest_by_effects(factor: Factor, *, n_folds: int, how: TreeTask, rng: Rng) -> tuple[ProbeFit, int]:
    """Grow a forest for each fold on the rows of the others, and cut its trees back to the size that predicts best.

    Errors are those of a forest of infinitely many trees: the variance of the mean over trees is taken off. Effects are
    those of the whole trees, in which codes of small effect have splits too.

    Args:
        factor: Factor to predict.
        n_folds: Number of folds.
        how: How trees are grown.
        rng: Source of chance.

    Returns:
        The fit, and how many splits a tree keeps at most.
    """
    task = folded(factor, n_folds, rng)
    outputs = task.outputs
    grown = [begun.grown(how.grower.finished(begun.model, begun.n_rows), how.bins) for begun in _begin(task, how, rng)]
    largest = max(int(one.trees.order.max(initial=0)) + 1 for one in grown)
    sizes = [0, *(2**power for power in range(int(np.ceil(np.log2(largest))) + 1))]
    errors = np.zeros(len(sizes))
    for one in grown:
        values = [one.trees.cut_values(size) for size in sizes]
        for part, leaves in one.leaves():
            errors += [_error_of_many_trees(one.targets[part], value[leaves]) for value in values]
    best = int(errors.argmin())
    fit = _fit(factor, how.lines, task, _measured(grown, outputs, how.n_codes, n_splits=sizes[best]))
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


def fit_boosting_by_effects(factor: Factor, *, n_folds: int, how: TreeTask, rng: Rng) -> ProbeFit:
    """Boost trees for each fold on the rows of the others, for as many rounds as predict best.

    Arguments are those of :func:`fit_forest_by_effects`. Boosting ends where it has not helped for long.
    """
    task = folded(factor, n_folds, rng)
    grown, best = _boost(task, how, rng)
    return _fit(factor, how.lines, task, _measured(grown, task.outputs, how.n_codes, n_rounds=best))


def _outputs(factor: Factor, rows: IntArray) -> FloatArray:
    """Targets; of two values the indicator of the first alone, as the other is that one turned over."""
    targets = factor.targets(rows)
    return targets[:, :1] if not factor.is_numeric and targets.shape[1] == 2 else targets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Begun:
    """A model without trees for one fold and output, its training rows and their mean, and what it is tested on."""

    model: TreeModel
    n_rows: int
    mean: float
    output: int
    tried: IntArray
    labelled: IntArray
    rows: IntArray
    targets: FloatArray

    def grown(self, model: TreeModel, bins: SharedBins, n_rounds: int = -1) -> Grown:
        return Grown.of(
            model,
            bins.cells(self.labelled, self.tried),
            output=self.output,
            tried=self.tried,
            rows=self.rows,
            targets=self.targets,
            n_rounds=n_rounds,
        )


def _begin(task: FoldedTask, how: TreeTask, rng: Rng) -> Iterator[_Begun]:
    """Yield a model for each fold and output, to be trained on the rows of the other folds."""
    for k in range(int(task.fold.max()) + 1):
        others, tested = task.rows[task.fold != k], np.flatnonzero(task.fold == k)
        for output, targets in enumerate(task.outputs.T):
            tried = how.tries(k, output)
            data = how.bins.data(others, tried, targets[task.fold != k])
            yield _Begun(
                model=how.grower.started(data, int(rng.integers(2**31))),
                n_rows=data.n_rows,
                mean=float(targets[task.fold != k].mean()),
                output=output,
                tried=tried,
                labelled=task.rows[tested],
                rows=tested,
                targets=targets[tested],
            )


def _boost(task: FoldedTask, how: TreeTask, rng: Rng) -> tuple[list[Grown], int]:
    """Boost the models of all folds and outputs; return them and the number of rounds that predicts best.

    Models are boosted together, until this has not helped for long; where they are too large to be held at once, one
    after the other to the end.
    """
    n_models = task.outputs.shape[1] * (int(task.fold.max()) + 1)
    together = n_models * len(task.rows) * (len(how.tries(0, 0)) + ROW_BYTES) <= MOST_TOGETHER
    begun, errors = list[_Begun](), np.zeros(1)
    for batch in [list(_begin(task, how, rng))] if together else ([one] for one in _begin(task, how, rng)):
        own = _boosted(batch, how, patience=PATIENCE if together else how.grower.n_rounds)
        width = max(len(own), len(errors))
        errors = np.add(*(np.pad(curve, (0, width - len(curve)), "edge") for curve in (errors, own)))
        begun += batch if together else [replace(one, model=one.model.without_rows()) for one in batch]
    best = int(np.argmin(errors))
    return [one.grown(one.model, how.bins, max(best, 1)) for one in begun], best


def _boosted(batch: list[_Begun], how: TreeTask, *, patience: int) -> FloatArray:
    """Boost models together; return the sum of their squared errors in test rows before and after each round."""
    for one in batch:
        one.model.watch(how.bins.data(one.labelled, one.tried, one.targets))
    errors = [float(sum(((one.targets - one.mean) ** 2).sum() for one in batch))]
    while len(errors) <= how.grower.n_rounds and len(errors) - 1 < int(np.argmin(errors)) + patience:
        if all([one.model.grow() for one in batch]):
            break
        errors.append(sum(len(one.rows) * one.model.watched_error() for one in batch))
    return np.array(errors)


def _measured(
    grown: list[Grown], outputs: FloatArray, n_codes: int, *, n_splits: int = 0, n_rounds: int | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Predictions of all rows, and effects of codes on each output with their standard errors.

    Args:
        grown: Models of all folds and outputs.
        outputs: Targets, ``(n_rows, n_outputs)``.
        n_codes: Number of codes.
        n_splits: Splits that a tree of a forest keeps for predictions.
        n_rounds: Rounds of boosting that count; ``None`` for a forest.
    """
    predicted, found = np.zeros_like(outputs), []
    for output in range(outputs.shape[1]):
        effects = Effects.none(n_codes)
        for one in grown:
            if one.output != output:
                continue
            trees, n_trees = one.trees, len(one.trees.roots)
            counted = n_trees if n_rounds is None else min(n_rounds, n_trees)
            value = trees.cut_values(n_splits) if n_rounds is None else trees.value
            parts, n_rows = np.empty((len(one.rows), len(one.tried))), np.zeros(len(trees.value), dtype=np.intp)
            for part, leaves in one.leaves():
                own, terms = one.rows[part], value[leaves[:, :counted]]
                predicted[own, output] = terms.sum(axis=1) if counted else value[trees.roots[0]]
                parts[part] = trees.contributions(leaves, len(one.tried), counted)
                if n_rounds is None:
                    predicted[own, output] /= n_trees
                    parts[part] /= n_trees
                    n_rows += np.bincount(leaves.ravel(), minlength=len(n_rows))
            by_tree = trees.sums_by_tree(n_rows, len(one.tried)) if n_rounds is None else None
            effects.add(parts, one.targets, one.tried, by_tree)
        found.append(effects.sizes_and_errors())
    return predicted, np.stack([size for size, _ in found], axis=1), np.stack([error for _, error in found], axis=1)


def _fit(
    factor: Factor, lines: SharedLines, task: FoldedTask, measured: tuple[FloatArray, FloatArray, FloatArray]
) -> ProbeFit:
    rows, tested = task.rows, task.fold >= 0
    predicted, sizes, errors = measured
    if not factor.is_numeric and len(factor.levels) == 2:
        predicted = np.hstack([predicted, 1 - predicted])
    return ProbeFit(
        sizes=sizes,
        errors=errors,
        by_line=lines.in_errors(task),
        rows=rows[tested],
        fold=task.fold[tested],
        predicted=predicted[tested],
        informativeness=performance(factor, rows[tested], predicted[tested]),
    )


def lines_are_fitted(n_rows: int, n_codes: int) -> bool:
    """Whether least squares of so many codes is fitted beside trees."""
    return n_rows >= LEAST_ROWS_OF_LINES * n_codes and n_codes <= MOST_BY_LINE


class SharedLines:
    """Coefficients of least squares, with products of the codes that factors labelled on all rows share."""

    __slots__ = ("_codes", "_whole")

    def __init__(self, codes: FloatArray) -> None:
        """Take codes, ``(n_samples, n_codes)``."""
        self._codes = codes
        self._whole: LeastSquares | None = None

    def in_errors(self, task: FoldedTask) -> FloatArray | None:
        """Coefficients over their standard errors; ``None`` where rows are too few, or codes very many."""
        if not lines_are_fitted(len(task.rows), self._codes.shape[1]):
            return None
        weights, errors = self._of(task.rows).with_errors(standardise(task.outputs)[0])
        return in_errors(np.abs(weights), errors)

    def _of(self, rows: IntArray) -> LeastSquares:
        if len(rows) < len(self._codes):
            return LeastSquares.of(standardise(self._codes[rows])[0])
        if self._whole is None:
            self._whole = LeastSquares.of(standardise(self._codes)[0])
        return self._whole


@dataclass(slots=True, kw_only=True, eq=False)
class Effects:
    """Effect of each code on a target, fold by fold.

    With f the part of a prediction that splits on a code add, and e the residual of the whole prediction, on test rows,
    the effect is the covariance of f with e + f over the deviation of f: the standard deviation of what this code
    explains beside the others, whatever noise is in f. Means are taken off in each fold. Of a forest, f is that of
    infinitely many trees: what chance in few trees adds to both sums is taken off.

    Attributes:
        covariance: Sum of f (e + f) over rows, ``(n_codes,)``.
        variance: Sum of the squares of f, ``(n_codes,)``.
        excess: What few trees add to the variance, ``(n_codes,)``.
        noise: Sum of the squares of f e, ``(n_codes,)``.
        n_rows: Number of rows.
    """

    covariance: FloatArray
    variance: FloatArray
    excess: FloatArray
    noise: FloatArray
    n_rows: int = 0

    @classmethod
    def none(cls, n_codes: int) -> Effects:
        """Return the sums over no rows."""
        zero = np.zeros(n_codes)
        return cls(covariance=zero.copy(), variance=zero.copy(), excess=zero.copy(), noise=zero)

    def add(self, parts: FloatArray, target: FloatArray, tried: IntArray, by_tree: ByTree | None = None) -> None:
        """Add the rows of one fold.

        Args:
            parts: f of each row and of the codes that were tried, ``(n_rows, n_tried)``; centred in place.
            target: ``(n_rows,)``.
            tried: Numbers of these codes; f of all others is 0.
            by_tree: Sums of single trees, where f is the mean over the trees of a forest.
        """
        if not len(target):
            return
        parts -= parts.mean(axis=0)
        whole = parts.sum(axis=1)
        residual = target - target.mean() - whole
        squares = parts**2
        variance = squares.sum(axis=0)
        self.covariance[tried] += residual @ parts + variance
        self.variance[tried] += variance
        if by_tree is not None:
            excess = by_tree.excess(by_tree.squares, variance)
            self.excess[tried] += excess
            self.covariance[tried] += by_tree.excess(by_tree.products, whole @ parts) - excess
        self.noise[tried] += residual**2 @ squares
        self.n_rows += len(target)

    def sizes_and_errors(self) -> tuple[FloatArray, FloatArray]:
        """Effects and their standard errors if there is none, ``(n_codes,)``; pairs of rows count twice."""
        # The effect of a code of which few trees know is not known that well.
        variance = np.maximum(self.variance - self.excess, LEAST_VARIANCE * self.variance)
        scale = np.sqrt(np.maximum(variance * self.n_rows, 1e-300))
        return np.abs(self.covariance) / scale, np.sqrt(2 * self.noise) / scale
