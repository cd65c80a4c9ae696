"""Bins of wide codes that all trees of a representation share, and the codes on which splits are tried.

With many codes, most of the time of a tree is the search over thresholds of codes that carry nothing. Wide codes are
cut into bins once, for all factors, folds and shuffles; and a tree tries the codes that tell most about its
target, by the rows that grow the tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from unbraid.probes.linear import ridge_solver
from unbraid.representation.representation import Representation

#: With more codes than this, trees share bins.
MOST_EXACT = 64
#: Bins of a code, neighbouring bins that are one to a tree, and groups of neighbours by which codes are compared. With
#: fewer thresholds noise wins fewer of the deep splits, and effects of codes that tell little grow: with 50, as with
#: 100, disentanglement is within 0.02 of that of trees that try all thresholds, with 32 it is not.
N_BINS, BINS_JOINED, N_GROUPS = 100, 2, 8
#: Codes that a tree tries: at least, at most, and in steps of.
LEAST_TRIED, MOST_TRIED, STEP = 32, 256, 32
#: Codes that a tree of a forest tries at least: deep splits of full trees are on codes of noise as well, which takes
#: effect from codes that tell little, so that a tree which cannot split on noise has other importances.
LEAST_OF_A_FOREST = 128
#: A code that tells more than this, in standard deviations of what chance tells, is tried; of very many codes more, as
#: otherwise luck alone would fill all places, see :func:`_beyond_luck`.
BEYOND_LUCK = 2.0
#: Ridge penalty, for each row, of the lines through codes that tell most, whose values are bins.
LINE_RIDGE = 1e-2
#: Rows that bins and comparisons of codes are made from, at most.
ENOUGH_ROWS = 10_000
#: Cells that one step converts at once.
CELLS = 4_000_000
#: Columns, of folds and outputs, that are compared at once.
MOST_COLUMNS = 512


def shared_bins(rep: Representation) -> AnyArray | None:
    """Return the bin of every row and code, ``uint8``, ``(n_samples, n_codes)``; ``None`` for few codes."""
    if rep.n_codes <= MOST_EXACT:
        return None
    return rep.memo.once(("tree bins", N_BINS), lambda: bins_of(rep.codes))


def bins_of(codes: AnyArray) -> AnyArray:
    """Cut every code into bins of about equally many rows; a value that fills a bin by itself has one of its own."""
    bins = np.empty(codes.shape, dtype=np.uint8)
    some = _some_rows(len(codes))
    for j in range(codes.shape[1]):
        column = np.ascontiguousarray(codes[:, j])
        bins[:, j] = np.searchsorted(_edges(np.sort(column[some])), column, side="right")
    return bins


def _some_rows(n_rows: int) -> IntArray:
    """Return all rows, or as many as are enough, always the same ones."""
    if n_rows <= ENOUGH_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, ENOUGH_ROWS, replace=False))


def _edges(values: FloatArray) -> FloatArray:
    """Return the lowest value of each bin but the first, for sorted values."""
    edges = values[np.arange(1, N_BINS) * len(values) // N_BINS]
    if (edges[1:] > edges[:-1]).all():
        return edges
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) <= N_BINS:
        return levels[1:]
    own = np.flatnonzero(counts > len(values) / N_BINS)
    rest = np.repeat(np.delete(levels, own), np.delete(counts, own))
    n_left = max(1, N_BINS - 2 * len(own))
    light = rest[np.arange(1, n_left) * len(rest) // n_left]
    around = np.concatenate([levels[own], levels[np.minimum(own + 1, len(levels) - 1)]])
    found = np.unique(np.concatenate([light, around]))
    lowest: FloatArray = found[found > levels[0]][: N_BINS - 1]
    return lowest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldedTask:
    """Outputs of the labelled rows of a factor, and folds of these rows.

    Attributes:
        rows: Labelled rows, in increasing order.
        fold: Fold of each of them; -1 for rows that are in no fold, and train all.
        outputs: ``(n_rows, n_outputs)``.
    """

    rows: IntArray
    fold: IntArray
    outputs: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Drawn:
    """The rows of a task among those that are compared.

    Attributes:
        y: Outputs, 0 for rows that are not labelled, ``(n_drawn, n_outputs)``.
        member: Rows that count for each fold, ``(n_drawn, n_folds)``.
    """

    y: FloatArray
    member: BoolArray

    @classmethod
    def of(cls, task: FoldedTask, some: IntArray, n_rows: int) -> _Drawn:
        folds = np.arange(int(task.fold.max(initial=-1)) + 1 or 1)
        if len(task.rows) == n_rows:
            return cls(y=task.outputs[some], member=task.fold[some, None] != folds)
        own = np.flatnonzero(np.isin(some, task.rows))
        place = np.searchsorted(task.rows, some[own])
        y, member = np.zeros((len(some), task.outputs.shape[1])), np.zeros((len(some), len(folds)), dtype=bool)
        y[own], member[own] = task.outputs[place], task.fold[place, None] != folds
        return cls(y=y, member=member)


def most_telling(bins: AnyArray, outputs: FloatArray, fold: IntArray) -> list[list[IntArray]]:
    """Return the codes to try for each fold and output of one task; see :func:`most_telling_of_all`."""
    return most_telling_of_all(bins, [FoldedTask(rows=np.arange(len(bins)), fold=fold, outputs=outputs)])[0]


def most_telling_of_all(
    bins: AnyArray, tasks: Sequence[FoldedTask], *, least: int = LEAST_TRIED
) -> list[list[list[IntArray]]]:
    """Return the codes to try for each task, fold and output, found on the rows of the other folds.

    Codes are compared by the variance of the output between groups of neighbouring bins of one code, less what chance
    puts there; and once more by the variance of what a line through the best codes leaves, which shows codes that tell
    nothing by themselves but correct others. All codes that tell more than chance are tried, within limits; where few
    do, the best of the others too.

    Args:
        bins: ``(n_rows, n_codes)``.
        tasks: Of as many factors as there are; groups of bins are made once for all of them.
        least: Codes that are tried at least.

    Returns:
        For each task, fold and output, codes in increasing order.
    """
    return [[[np.sort(own) for own in one] for one in _best(found, least)] for found in _compared(bins, tasks)]


def most_telling_together(bins: AnyArray, tasks: Sequence[FoldedTask], n_tried: int) -> list[list[IntArray]]:
    """Return the codes that tell most about any output, for trees that predict all outputs at once.

    Args:
        bins: ``(n_rows, n_codes)``.
        tasks: Of as many factors as there are, as for :func:`most_telling_of_all`.
        n_tried: Codes to return.

    Returns:
        For each task and fold, codes in increasing order, found on the rows of the other folds.
    """
    best = [np.argsort(-own.max(axis=1), axis=1)[:, :n_tried] for own in _compared(bins, tasks)]
    return [list(np.sort(own, axis=1)) for own in best]


def telling(bins: AnyArray, tasks: Sequence[tuple[IntArray, FloatArray]]) -> list[FloatArray]:
    """What each code tells about any output, alone or beside a line, in standard deviations of luck.

    Args:
        bins: ``(n_rows, n_codes)``.
        tasks: For each factor, rows in increasing order and their outputs, ``(n_own_rows, n_outputs)``.

    Returns:
        For each factor, ``(n_codes,)``.
    """
    every = [FoldedTask(rows=rows, fold=np.full(len(rows), -1), outputs=outputs) for rows, outputs in tasks]
    return [found.max(axis=(0, 1)) for found in _compared(bins, every)]


def _compared(bins: AnyArray, tasks: Sequence[FoldedTask]) -> list[FloatArray]:
    """What each code tells alone, or beside a line through the best; ``(n_folds, n_outputs, n_codes)`` each."""
    some = _some_rows(len(bins))
    compared = bins if len(some) == len(bins) else bins[some]
    group, found = _groups(compared), []
    for batch in _batches(tasks):
        drawn = [_Drawn.of(task, some, len(bins)) for task in batch]
        alone = _excess(group, [(np.repeat(one.y[:, None], one.member.shape[1], axis=1), one.member) for one in drawn])
        left = [(_left_by_lines(compared, one, _best(own)), one.member) for one, own in zip(drawn, alone, strict=True)]
        found += [np.maximum(own, beside) for own, beside in zip(alone, _excess(group, left), strict=True)]
    return found


def _batches(tasks: Sequence[FoldedTask]) -> Iterator[list[FoldedTask]]:
    """Yield tasks that are compared at once, within a number of columns."""
    batch: list[FoldedTask] = []
    n_columns = 0
    for task in tasks:
        width = (int(task.fold.max(initial=0)) + 1) * (task.outputs.shape[1] + 1)
        if batch and n_columns + width > MOST_COLUMNS:
            yield batch
            batch, n_columns = [], 0
        batch.append(task)
        n_columns += width
    if batch:
        yield batch


def _best(excess: FloatArray, least: int = LEAST_TRIED) -> list[list[IntArray]]:
    order = np.argsort(-excess, axis=2)
    beyond = (excess > _beyond_luck(excess.shape[2])).sum(axis=2)
    n_tried = np.clip(-(-beyond // STEP) * STEP, least, MOST_TRIED)
    return [[own[:n] for own, n in zip(*one, strict=True)] for one in zip(order, n_tried, strict=True)]


def _beyond_luck(n_codes: int) -> float:
    """What a code of noise exceeds so rarely that luck puts no more of them beyond it than are tried at least.

    Each code is compared twice, and what chance tells is a variance of as many groups as there are.
    """
    free = N_GROUPS - 1
    rare = float(scipy.special.chdtri(free, min(1.0, LEAST_TRIED / (2 * n_codes))))
    return max(BEYOND_LUCK, (rare - free) / math.sqrt(2 * free))


def _left_by_lines(bins: AnyArray, drawn: _Drawn, chosen: list[list[IntArray]]) -> FloatArray:
    """Residuals of least squares on the chosen codes, ``(n_rows, n_folds, n_outputs)``."""
    y, member = drawn.y, drawn.member
    left = np.zeros((len(y), member.shape[1], y.shape[1]))
    for k, of_fold in enumerate(chosen):
        rows = np.flatnonzero(member[:, k])
        for output, own in enumerate(of_fold):
            x = bins[np.ix_(rows, own)].astype(np.float64)
            x -= x.mean(axis=0)
            target = y[rows, output] - y[rows, output].mean()
            weights = ridge_solver(x.T @ x, LINE_RIDGE * len(rows))(x.T @ target)
            left[rows, k, output] = target - x @ weights
    return left


def _excess(group: AnyArray, tasks: Sequence[tuple[FloatArray, BoolArray]]) -> list[FloatArray]:
    """Variance between groups beyond that of chance, in standard deviations, ``(n_folds, n_outputs, n_codes)`` each.

    Args:
        group: ``(n_rows, n_codes)``.
        tasks: Outputs for each fold, ``(n_rows, n_folds, n_outputs)``, and rows that count, ``(n_rows, n_folds)``.
    """
    flat = np.concatenate([_standardised(*task) for task in tasks], axis=1)
    shapes = [(outputs.shape[1], outputs.shape[2]) for outputs, _ in tasks]
    ends = np.cumsum([0, *(n_folds * (n_outputs + 1) for n_folds, n_outputs in shapes)])
    n_codes, step = group.shape[1], max(1, CELLS // len(group))
    between = [np.zeros((*shape, n_codes)) for shape in shapes]
    for start in range(0, n_codes, step):
        part = slice(start, start + step)
        own = group[:, part]
        n_groups = [np.zeros((1, 1, own.shape[1])) for _ in shapes]
        for value in range(N_GROUPS):
            sums = (own == value).astype(np.float32).T @ flat
            for k, (n_folds, n_outputs) in enumerate(shapes):
                of_task = sums[:, ends[k] : ends[k + 1]].reshape(-1, n_folds, n_outputs + 1)
                n_in, total = of_task[:, :, -1:], of_task[:, :, :-1]
                found = np.divide(total**2, n_in, out=np.zeros_like(total), where=n_in > 0)
                between[k][:, :, part] += found.transpose(1, 2, 0)
                n_groups[k] += n_in[:, :1].transpose(1, 2, 0) > 0
        for k, counted in enumerate(n_groups):
            free = np.maximum(counted - 1, 1)
            between[k][:, :, part] = (between[k][:, :, part] - free) / np.sqrt(2 * free)
    return between


def _standardised(outputs: FloatArray, member: BoolArray) -> AnyArray:
    """Outputs of the rows that count, with mean 0 and variance 1, and which rows count, side by side for each fold."""
    counted = member[:, :, None]
    size = np.maximum(member.sum(axis=0), 1)[:, None]
    y = np.where(counted, outputs - (outputs * counted).sum(axis=0) / size, 0.0)
    scale = np.sqrt((y**2).sum(axis=0) / size)
    y /= np.where(scale > 0, scale, 1.0)
    return np.concatenate([y, counted], axis=2, dtype=np.float32).reshape(len(outputs), -1)


def _groups(bins: AnyArray) -> AnyArray:
    """Return the group of each bin: by the share of rows below the middle of the bin."""
    found, step = np.empty_like(bins), max(1, CELLS // len(bins))
    for start in range(0, bins.shape[1], step):
        part = bins[:, start : start + step]
        cells = part + N_BINS * np.arange(part.shape[1])
        counts = np.bincount(cells.ravel(), minlength=N_BINS * part.shape[1]).reshape(-1, N_BINS)
        middle = (np.cumsum(counts, axis=1) - counts / 2) / len(bins)
        found[:, start : start + step] = (middle * N_GROUPS).astype(np.uint8).ravel()[cells]
    return found
