"""Trees without one of their inputs: only what lies below the splits on that input is grown again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid.probes.trees import Tree, grow_tree


def predictions_without_each(
    tree: Tree, inputs: AnyArray, targets: AnyArray, tested: AnyArray, *, weights: FloatArray, seed: int, **sizes: Any
) -> Iterator[tuple[int, IntArray, FloatArray]]:
    """Predict rows by a tree that lacks one input, for each input that the tree uses.

    A tree that tries all inputs at every split would be the same without an input that it does not use, and above the
    splits on one that it does. So what is grown again, for all inputs together, is a few times the tree, and not one
    tree for each input.

    Args:
        tree: As :func:`grow_tree` grew it, with all inputs tried at every split.
        inputs: Of the rows that it was grown on.
        targets: Of these rows.
        tested: Inputs of the rows to predict.
        weights: Weight of each row that it was grown on.
        seed: Of the chance that decides between splits that are equally good.
        sizes: As :func:`grow_tree` takes them.

    Yields:
        The input, the rows whose path passes a split on it, and their predictions without it.
    """
    below, tested_below = (tree.grown.decision_path(rows).tocsc() for rows in (inputs, tested))
    known = inputs.copy()
    for node, used in _first_splits(tree.grown):
        rows = _rows_of(tested_below, node)
        if not len(rows):
            continue
        # Nothing can be split by an input that is constant.
        unknown = tested[rows]
        known[:, used] = unknown[:, used] = 0.0
        of_node = np.zeros(len(weights))
        grown_on = _rows_of(below, node)
        of_node[grown_on] = weights[grown_on]
        again = grow_tree(known, targets, weights=of_node, seed=seed, **sizes)
        known[:, used] = inputs[:, used]
        yield used, rows, again.values[again.grown.apply(unknown)]


def _first_splits(grown: Any) -> Iterator[tuple[int, int]]:
    """Yield the splits that no split on the same input lies above: their node and their input."""
    waiting: list[tuple[int, frozenset[int]]] = [(0, frozenset())]
    while waiting:
        node, above = waiting.pop()
        left, right = int(grown.children_left[node]), int(grown.children_right[node])
        if left < 0:
            continue
        used = int(grown.feature[node])
        if used not in above:
            yield node, used
        waiting += [(child, above | {used}) for child in (left, right)]


def _rows_of(below: Any, node: int) -> IntArray:
    rows: IntArray = below.indices[below.indptr[node] : below.indptr[node + 1]]
    return rows
