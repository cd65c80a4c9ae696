"""Forests whose trees have one input each, many at once.

To start a tree takes longer than to grow one on a single input. Here the trees of many forests grow side by side, level
by level, from sums along their sorted rows. A tree splits where those of :func:`unbraid.probes.trees.grow_tree` do.
Where two splits are equally good up to rounding, a regression may take either, and a classification takes the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray, IntArray

#: Values up to which the trees of scikit-learn take two inputs for the same.
SAME = np.float32(1e-7)
#: Splits that are compared at once: few enough for the cache of a core.
AT_ONCE = 32_768
#: Longest node beside the shortest, of nodes that are compared at once.
LONGEST = 1.6
#: Rows times trees of a block, and whole numbers, that single precision holds with their squares.
MOST_SINGLE, MOST_SQUARED = 2**24, 2**12


def predict_from_one(
    inputs: FloatArray,
    targets: AnyArray,
    tested: FloatArray,
    weights: AnyArray,
    *,
    min_leaf: int,
    n_classes: int = 0,
) -> FloatArray:
    """Grow forests of one input each and predict other rows.

    Args:
        inputs: Input of each forest, ``(n_forests, n_rows)``.
        targets: Numbers, ``(n_forests, n_rows, n_outputs)``, or the class of each row, ``(n_forests, n_rows)``.
        tested: Inputs of the rows that are predicted, ``(n_forests, n_tested)``.
        weights: How often each tree draws each row, ``(n_forests, n_trees, n_rows)``.
        min_leaf: Fewest rows in a leaf; a row that is drawn several times counts as one.
        n_classes: Number of classes, or 0 for numbers.

    Returns:
        Means of the trees, or shares of the classes, ``(n_forests, n_tested, n_outputs)``.
    """
    n_trees = weights.shape[1]
    cells = _cells(inputs, targets, weights, n_classes)
    lo, hi = _leaves(cells, min_leaf)
    values = (cells.sums[:, hi] - cells.sums[:, lo]) / (cells.weight[hi] - cells.weight[lo])
    # A step from each leaf to the next one of its tree; the first of a tree is a step from 0.
    tree = np.searchsorted(cells.ends, lo, side="right")
    is_first = np.diff(tree, prepend=-1) > 0
    steps = np.diff(values, axis=1, prepend=0.0)
    steps[:, is_first] = values[:, is_first]
    forest, order = tree // n_trees, np.argsort(np.float32(tested), axis=1)
    bounds = np.searchsorted(forest, np.arange(len(inputs) + 1))
    width = tested.shape[1] + 1
    place = np.zeros(len(lo), dtype=np.intp)
    for f, known in enumerate(np.take_along_axis(np.float32(tested), order, axis=1).astype(float)):
        part = slice(bounds[f], bounds[f + 1])
        place[part] = np.searchsorted(known, cells.thresholds(lo[part]), side="right")
    place[is_first] = 0
    place += forest * width
    found = np.empty((len(inputs), tested.shape[1], len(steps)))
    for k, step in enumerate(steps):
        jumps = np.bincount(place, weights=step, minlength=len(inputs) * width).reshape(-1, width)
        means = jumps[:, :-1].cumsum(axis=1) / n_trees
        if not n_classes:
            means += cells.centre[:, k, None]
        np.put_along_axis(found[..., k], order, means, axis=1)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cells:
    """Drawn rows of all trees in the order of the input, those of one value of one tree joined to a cell.

    Where targets are classes each row is a cell, and a row is not separated from the one before if both have the same
    value. Arrays go on past the end by the rows of a forest, so that windows of nodes at the end may reach past it.

    Attributes:
        ends: End of the cells of each tree, ``(n_all_trees,)``.
        rows: Number of rows before each cell, of all trees, ``(n_cells + n_rows,)``.
        weight: Weight before each cell.
        sums: Weighted targets before each cell, ``(n_outputs, n_cells + n_rows)``.
        changes: Rows before the last one of each cell whose target is not that of the row before them.
        first_changes: Rows up to the first one of each cell whose target is not that of the row before them.
        values: Input of each row.
        is_joined: Whether a cell has the value of the one before.
        labels: Class of each cell, where targets are classes.
        own: Weight of the rows of its class before each cell.
        centre: What is taken from the targets of each forest, ``(n_forests, n_outputs)``.
        n_classes: Number of classes, or 0 for numbers.
    """

    ends: IntArray
    rows: IntArray
    weight: FloatArray
    sums: FloatArray
    changes: AnyArray
    first_changes: AnyArray
    values: AnyArray
    is_joined: BoolArray
    labels: IntArray
    own: FloatArray
    centre: FloatArray
    n_classes: int

    def is_pure(self, lo: IntArray, hi: IntArray) -> BoolArray:
        """Whether all rows of nodes have the same target."""
        pure: BoolArray = self.changes[hi - 1] == self.first_changes[lo]
        return pure

    def thresholds(self, of: IntArray) -> FloatArray:
        """Return what lies halfway between some cells and the ones before."""
        first = self.rows[of]
        halfway: FloatArray = (self.values[first - 1].astype(float) + self.values[first]) / 2
        return halfway


def _cells(inputs: FloatArray, targets: AnyArray, weights: AnyArray, n_classes: int) -> _Cells:
    """Sort the rows of each forest once, and sum along those that each tree draws."""
    n_forests, n_trees, n_rows = weights.shape
    order = np.argsort(np.float32(inputs), axis=1)
    known = np.take_along_axis(np.float32(inputs), order, axis=1)
    sorted_weights = np.take_along_axis(weights, order[:, None], axis=2).reshape(-1)
    drawn = np.flatnonzero(sorted_weights > 0)
    tree_ends = np.searchsorted(drawn, np.arange(1, n_forests * n_trees + 1) * n_rows)
    sizes = np.diff(tree_ends, prepend=0)
    # Rows of all trees of a forest have the places of its first tree.
    place = drawn - np.repeat((np.arange(n_forests * n_trees) - np.arange(n_forests).repeat(n_trees)) * n_rows, sizes)
    values, weight = known.ravel()[place], sorted_weights[drawn].astype(float)
    is_new = np.ones(len(drawn), dtype=bool)
    np.greater(values[1:], values[:-1] + SAME, out=is_new[1:])
    is_new[tree_ends[:-1]] = True
    starts = np.arange(len(drawn)) if n_classes else np.flatnonzero(is_new)
    last = np.append(starts[1:], len(drawn)) - 1

    def before(of_rows: AnyArray, dtype: type = float) -> AnyArray:
        """Sum over the rows before each cell, and over all."""
        total = np.zeros(len(starts) + n_rows, dtype=dtype)
        total[1 : len(starts) + 1] = np.cumsum(of_rows, dtype=dtype)[last]
        total[len(starts) + 1 :] = total[len(starts)]
        return total

    labels, own = np.zeros(0, dtype=np.intp), np.zeros(0)
    if n_classes:
        is_single = n_rows <= MOST_SQUARED and weight.sum() <= MOST_SINGLE
        found = np.take_along_axis(targets, order, axis=1).ravel()[place]
        sums = np.stack([before(weight * (found == c), np.float32 if is_single else float) for c in range(n_classes)])
        labels = np.append(found, np.zeros(n_rows, dtype=np.intp))
        own = np.append(sums[found, starts], np.zeros(n_rows, dtype=sums.dtype))
        changed, centre = np.diff(found, prepend=-1) != 0, np.zeros((n_forests, n_classes))
    else:
        centre = targets.mean(axis=1)
        centred = np.moveaxis(np.take_along_axis(targets - centre[:, None], order[..., None], axis=1), 2, 0)
        wanted = centred.reshape(len(centred), -1)[:, place]
        sums = np.stack([before(weight * column) for column in wanted])
        changed = np.ones(len(drawn), dtype=bool)
        changed[1:] = (wanted[:, 1:] != wanted[:, :-1]).any(axis=0)
    changes = np.cumsum(changed, dtype=np.int32)
    return _Cells(
        ends=np.searchsorted(starts, tree_ends),
        rows=np.append(starts, np.full(n_rows, len(drawn))),
        weight=before(weight),
        sums=sums,
        changes=changes[last],
        first_changes=changes[starts],
        values=values,
        is_joined=np.append(~is_new, np.zeros(n_rows, dtype=bool)) if n_classes else np.zeros(0, dtype=bool),
        labels=labels,
        own=own,
        centre=centre,
        n_classes=n_classes,
    )


def _leaves(cells: _Cells, min_leaf: int) -> tuple[IntArray, IntArray]:
    """Split all trees level by level; first cells of the leaves, in order, and their ends."""
    lo, hi = np.append(0, cells.ends[:-1]), cells.ends
    found: list[tuple[IntArray, IntArray]] = []
    while len(lo):
        rows, length = cells.rows[hi] - cells.rows[lo], hi - lo
        split = np.full(len(lo), -1)
        may = (rows >= 2 * min_leaf) & (length > 1) & ~cells.is_pure(lo, hi)
        for is_distinct in (True, False):
            wanted = np.flatnonzero(may & ((rows == length) == is_distinct))
            wanted = wanted[np.argsort(length[wanted])]
            for some in _alike(length[wanted]):
                nodes = wanted[some]
                split[nodes] = _best(cells, lo[nodes], hi[nodes], min_leaf, is_distinct)
        is_leaf = split < 0
        found.append((lo[is_leaf], hi[is_leaf]))
        left, middle, right = lo[~is_leaf], split[~is_leaf], hi[~is_leaf]
        lo, hi = np.concatenate([left, middle]), np.concatenate([middle, right])
    lo, hi = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(lo)
    return lo[order], hi[order]


def _alike(lengths: IntArray) -> Iterator[slice]:
    """Divide nodes of increasing length into parts of nearly the same."""
    start = 0
    while start < len(lengths):
        longest = lengths[start] * LONGEST
        end = min(int(np.searchsorted(lengths, longest, side="right")), start + max(1, int(AT_ONCE / longest)))
        yield slice(start, end)
        start = end


def _best(cells: _Cells, lo: IntArray, hi: IntArray, min_leaf: int, is_distinct: bool) -> IntArray:
    """First cell of the right side of the best split of each node; -1 where none leaves enough rows.

    Args:
        cells: Sums along rows.
        lo: First cell of each node.
        hi: Its end.
        min_leaf: Fewest rows on either side.
        is_distinct: Whether each cell is one row, so that it is known how many splits leave too few.
    """
    skipped = min_leaf - 1 if is_distinct else 0
    first, n_splits = lo + 1 + skipped, hi - lo - 1 - 2 * skipped
    width = int(n_splits.max())
    # Splits past the end of a node, which are left out, may have nothing on one side.
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = (_gini_gain if cells.n_classes else _square_gain)(cells, lo, hi, first, width)
    if not is_distinct:
        n_left = _windows(cells.rows, first, width) - cells.rows[lo, None]
        n_right = (cells.rows[hi] - cells.rows[lo])[:, None] - n_left
        gain[(n_left < min_leaf) | (n_right < min_leaf)] = -np.inf
    elif n_splits.min() < width:
        gain[np.arange(width) >= n_splits[:, None]] = -np.inf
    if cells.n_classes:
        gain[_windows(cells.is_joined, first, width)] = -np.inf
    elif is_distinct:
        return np.asarray(first + gain.argmax(axis=1))
    best = gain.argmax(axis=1)
    return np.where(np.isneginf(gain[np.arange(len(gain)), best]), -1, first + best)


def _windows(along: AnyArray, first: IntArray, width: int) -> AnyArray:
    """Return as many values from each place on, ``(n_places, width)``."""
    shape, step = (len(along) - width + 1, width), along.itemsize
    # NumPy's own views of windows take longer to make than to read.
    views: AnyArray = np.ndarray(shape, along.dtype, buffer=along, strides=(step, step))
    windows: AnyArray = views[first]
    return windows


def _square_gain(cells: _Cells, lo: IntArray, hi: IntArray, first: IntArray, width: int) -> FloatArray:
    """Decrease of the sum of squares by each split, as a share of the weight of its node."""
    left = _windows(cells.weight, first, width)
    left -= cells.weight[lo, None]
    total = cells.weight[hi] - cells.weight[lo]
    gain = np.zeros(())
    for sums in cells.sums:
        beyond = _windows(sums, first, width)
        beyond -= sums[lo, None]
        beyond -= ((sums[hi] - sums[lo]) / total)[:, None] * left
        beyond *= beyond
        gain = np.add(gain, beyond, out=beyond) if len(cells.sums) > 1 else beyond
    right = total[:, None] - left
    right *= left
    gain /= right
    return gain


def _gini_gain(cells: _Cells, lo: IntArray, hi: IntArray, first: IntArray, width: int) -> FloatArray:
    """Gini impurity of both sides of each split, weighted and negative, as scikit-learn rounds it.

    Squares of counts on the left are summed row by row: one more of a class adds twice their number before, and one.
    """
    before, after = cells.sums[:, lo].T, cells.sums[:, hi].T
    total = after - before
    skipped = int(first[0] - lo[0]) - 1
    places = _windows(cells.labels, lo, skipped + width)
    places += np.arange(len(lo))[:, None] * cells.n_classes
    weight = np.diff(_windows(cells.weight, lo, skipped + width + 1), axis=1).astype(total.dtype)
    added = _windows(cells.own, lo, skipped + width)
    added -= before.ravel()[places]
    added *= 2
    added += weight
    added *= weight
    squares_left = added.cumsum(axis=1)[:, skipped:]
    weight *= total.ravel()[places]
    squares_right = squares_left - 2 * weight.cumsum(axis=1)[:, skipped:] + (total * total).sum(axis=1)[:, None]
    left = _windows(cells.weight, first, width) - cells.weight[lo, None]
    right = (cells.weight[hi] - cells.weight[lo])[:, None] - left
    gain: FloatArray = -right * (1.0 - squares_right / (right * right)) - left * (1.0 - squares_left / (left * left))
    return gain
