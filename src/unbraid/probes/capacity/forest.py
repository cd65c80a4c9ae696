"""Random forests by depth: one forest grown to the end serves every smaller depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid.probes.capacity.base import CapacityTask, FittedLadder, Probe, check_sizes
from unbraid.probes.importance import as_shares
from unbraid.probes.trees import Tree, bootstrap, grow_tree
from unbraid.representation.factor import Factor

DEPTHS = (1, 2, 3, 4, 8, 10, 12, 14, 16, 18, 20, 32)
ALL_CODES_UP_TO = 128
CodesTried = Literal["all", "scikit-learn"]
Float32Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestLadder:
    """Random forests whose trees may be 1, 2, 3, ... splits deep.

    A tree is grown greedily from its root, so its first ``d`` levels are a tree of depth ``d`` drawn from the same
    distribution: one forest grown to the largest depth is cut at every other.

    Attributes:
        depths: Largest depth on each level, increasing.
        n_trees: Trees in the forest.
        min_leaf: Fewest rows in a leaf.
        codes_tried: At each split: ``"all"`` (or 128 drawn afresh where there are more), or ``"scikit-learn"`` for that
            library's defaults: all for numbers, as many as the root of their number for categories.
    """

    name: ClassVar[str] = "forest"
    axis: ClassVar[str] = "largest depth of a tree"
    starts_linear: ClassVar[bool] = False
    usual_importance: ClassVar[str] = "gini"
    depths: tuple[int, ...] = DEPTHS
    n_trees: int = 100
    min_leaf: int = 1
    codes_tried: CodesTried = "all"

    def __post_init__(self) -> None:
        check_sizes("depths", self.depths, 1)
        check_at_least("n_trees", self.n_trees, 1)
        check_at_least("min_leaf", self.min_leaf, 1)
        check_choice("codes_tried", self.codes_tried, get_args(CodesTried))

    def fit(self, task: CapacityTask, *, rng: np.random.Generator) -> FittedLadder:
        """Grow a forest for each factor and cut it at every depth."""
        codes = np.ascontiguousarray(task.codes, dtype=np.float32)
        forests = [
            _grow(self, codes, factor, task, child)
            for factor, child in zip(task.factors, rng.spawn(len(task.factors)), strict=True)
        ]
        validation, test = (
            [forest.predict(codes[rows], self.depths) for forest in forests]
            for rows in (task.split.validation, task.split.test)
        )

        def probe(level: int) -> Probe:
            depth = self.depths[level]
            by_tree = [np.stack([tree.importance(depth) for tree in forest.trees]) for forest in forests]
            return Probe(
                predict=lambda new: [forest.predict(new, (depth,))[0] for forest in forests],
                weights=np.stack([as_shares(trees.mean(axis=0)) for trees in by_tree], axis=1),
                weights_error=np.stack([trees.std(axis=0) / np.sqrt(len(trees)) for trees in by_tree], axis=1),
            )

        capacities = np.tile(np.array(self.depths, dtype=float), (len(task.factors), 1))
        return FittedLadder(capacities=capacities, validation=validation, test=test, probe=probe)


@dataclass(frozen=True, slots=True, eq=False)
class _LevelledTree:
    """One grown tree: its arrays, the prediction of each node, and the order of its nodes."""

    grown: Any
    values: FloatArray
    parent: IntArray
    depth: IntArray

    def cut(self, depth: int) -> IntArray:
        """For each node, itself or its ancestor at ``depth``, whichever is higher in the tree."""
        found = np.arange(len(self.depth))
        for level in range(depth + 1, int(self.depth.max()) + 1):
            nodes = np.flatnonzero(self.depth == level)
            found[nodes] = found[self.parent[nodes]]
        return found

    def importance(self, depth: int) -> FloatArray:
        """Share of the impurity removed by splits on each code, among splits above ``depth``."""
        grown = self.grown
        split = np.flatnonzero((grown.children_left >= 0) & (self.depth < depth))
        mass = grown.weighted_n_node_samples * grown.impurity
        removed = mass[split] - mass[grown.children_left[split]] - mass[grown.children_right[split]]
        by_code = np.bincount(grown.feature[split], weights=removed, minlength=grown.n_features)
        return as_shares(np.asarray(by_code, dtype=float))


@dataclass(frozen=True, slots=True, eq=False)
class _LevelledForest:
    trees: list[_LevelledTree]

    def predict(self, codes: FloatArray | Float32Array, depths: Sequence[int]) -> FloatArray:
        """Mean over trees cut at each depth, ``(n_depths, n_rows, n_outputs)``."""
        rows = np.ascontiguousarray(codes, dtype=np.float32)
        total = np.zeros((len(depths), len(rows), self.trees[0].values.shape[1]))
        for tree in self.trees:
            leaves = tree.grown.apply(rows)
            for level, depth in enumerate(depths):
                total[level] += tree.values[tree.cut(depth)[leaves]]
        return total / len(self.trees)


def _grow(
    ladder: ForestLadder, codes: Float32Array, factor: Factor, task: CapacityTask, rng: np.random.Generator
) -> _LevelledForest:
    """Grow the trees of one factor, each on its own bootstrap of the rows."""
    rows = task.labelled(factor, task.split.train)
    x, seeds = codes[rows], rng.integers(2**31, size=ladder.n_trees)
    sizes: dict[str, Any] = {
        "max_depth": max(ladder.depths),
        "min_samples_leaf": ladder.min_leaf,
        "max_features": _n_tried(ladder, x.shape[1], factor),
    }
    targets: AnyArray
    if factor.is_numeric:
        targets, n_classes = np.ascontiguousarray(factor.targets(rows)), 0
    else:
        assert factor.labels is not None
        targets, n_classes = factor.labels[rows], len(factor.levels)

    def grow(seed: int) -> _LevelledTree:
        weights = bootstrap(len(rows), len(rows), np.random.default_rng(seed))
        return _with_levels(grow_tree(x, targets, weights=weights, seed=seed, n_classes=n_classes, **sizes))

    return _LevelledForest(task.workers.map(grow, seeds.tolist()))


def _n_tried(ladder: ForestLadder, n_codes: int, factor: Factor) -> int:
    if ladder.codes_tried == "scikit-learn":
        return n_codes if factor.is_numeric else max(1, int(np.sqrt(n_codes)))
    return min(n_codes, ALL_CODES_UP_TO)


def _with_levels(tree: Tree) -> _LevelledTree:
    grown = tree.grown
    parent = np.zeros(grown.node_count, dtype=np.intp)
    split = np.flatnonzero(grown.children_left >= 0)
    parent[grown.children_left[split]] = split
    parent[grown.children_right[split]] = split
    depth = np.zeros(grown.node_count, dtype=np.intp)
    level, frontier = 0, np.array([0])
    while len(frontier):
        depth[frontier] = level
        inner = frontier[grown.children_left[frontier] >= 0]
        frontier = np.concatenate([grown.children_left[inner], grown.children_right[inner]])
        level += 1
    return _LevelledTree(grown, tree.values, parent, depth)
