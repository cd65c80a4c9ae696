"""Bins of wide codes that all trees of a representation share, and the codes on which splits are tried.

With many codes, most of the time of a tree is the search over thresholds of codes that carry nothing. Wide codes are
cut into few bins once, for all factors, folds and shuffles; and a tree tries those codes that tell most about its
target, by the rows that grow it.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from unbraid.probes.linear import ridge_solver
from unbraid.representation.representation import Representation

#: With more codes than this, trees share bins.
MOST_EXACT = 64
#: Bins of a code, and groups of neighbouring bins by which codes are compared.
N_BINS, N_GROUPS = 32, 8
#: Codes that a tree tries: at least, at most, and in steps of.
LEAST_TRIED, MOST_TRIED, STEP = 32, 256, 32
#: A code that tells more than this, in standard deviations of what chance tells, is tried.
BEYOND_LUCK = 2.0
#: Ridge penalty, for each row, of the lines through codes that tell most, whose values are bins.
LINE_RIDGE = 1e-2
#: Rows that bins and comparisons of codes are made from, at most.
ENOUGH_ROWS = 10_000
#: Cells that one step converts at once.
CELLS = 4_000_000


def shared_bins(rep: Representation) -> AnyArray | None:
    """Return the bin of every row and code, ``uint8``, ``(n_samples, n_codes)``; ``None`` for few codes."""
    if rep.n_codes <= MOST_EXACT:
        return None
    key = ("tree bins", N_BINS)
    if key not in rep.memo:
        rep.memo[key] = bins_of(rep.codes)
    found: AnyArray = rep.memo[key]
    return found


def bins_of(codes: FloatArray) -> AnyArray:
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


def as_training_data(bins: AnyArray, targets: FloatArray, settings: dict[str, Any]) -> Any:
    """Return LightGBM's data set of bins, in which no bin is searched for again."""
    import lightgbm

    reference = _reference(bins.shape[1])
    return lightgbm.Dataset(bins, targets, reference=reference, params={**settings, **DATA})


DATA = {"min_data_in_bin": 1, "feature_pre_filter": False, "enable_bundle": False, "max_bin": 255}
_lock = Lock()


def _reference(n_codes: int) -> Any:
    """Return a data set of so many columns that have every bin once."""
    with _lock:
        return _made(n_codes)


@lru_cache(maxsize=8)
def _made(n_codes: int) -> Any:
    import lightgbm

    every = np.tile(np.arange(N_BINS, dtype=np.uint8)[:, None], (1, n_codes))
    return lightgbm.Dataset(every, np.zeros(N_BINS), params={"verbose": -1, "num_threads": 1, **DATA}).construct()


def most_telling(bins: AnyArray, outputs: FloatArray, fold: IntArray) -> list[list[IntArray]]:
    """Return the codes to try for each fold and output, found on the rows of the other folds.

    Codes are compared by the variance of the output between groups of neighbouring bins of one code, less what chance
    puts there; and once more by the variance of what a line through the best codes leaves, which shows codes that tell
    nothing by themselves but correct others. All codes that tell more than chance are tried, within limits; where few
    do, the best of the others too.

    Args:
        bins: ``(n_rows, n_codes)``.
        outputs: ``(n_rows, n_outputs)``.
        fold: Fold of each row; -1 for rows that are in no fold, and train all.

    Returns:
        For each fold and each output, codes in increasing order.
    """
    some = _some_rows(len(bins))
    member = fold[some, None] != np.arange(int(fold.max()) + 1)
    return [[np.sort(own) for own in one] for one in _best(_alone_or_beside(bins[some], outputs[some], member))]


def telling(bins: AnyArray, outputs: FloatArray) -> FloatArray:
    """What each code tells about any output, alone or beside a line, in standard deviations of luck, ``(n_codes,)``."""
    some = _some_rows(len(bins))
    every = np.ones((len(some), 1), dtype=bool)
    found: FloatArray = _alone_or_beside(bins[some], outputs[some], every).max(axis=(0, 1))
    return found


def _alone_or_beside(bins: AnyArray, y: FloatArray, member: BoolArray) -> FloatArray:
    """What each code tells alone, or beside a line through the best, ``(n_folds, n_outputs, n_codes)``."""
    alone = _excess(bins, np.repeat(y[:, None], member.shape[1], axis=1), member)
    return np.maximum(alone, _excess(bins, _left_by_lines(bins, y, member, _best(alone)), member))


def _best(excess: FloatArray) -> list[list[IntArray]]:
    order = np.argsort(-excess, axis=2)
    beyond = (excess > BEYOND_LUCK).sum(axis=2)
    n_tried = np.clip(-(-beyond // STEP) * STEP, LEAST_TRIED, MOST_TRIED)
    return [[own[:n] for own, n in zip(*one, strict=True)] for one in zip(order, n_tried, strict=True)]


def _left_by_lines(bins: AnyArray, y: FloatArray, member: BoolArray, chosen: list[list[IntArray]]) -> FloatArray:
    """Residuals of least squares on the chosen codes, ``(n_rows, n_folds, n_outputs)``."""
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


def _excess(bins: AnyArray, outputs: FloatArray, member: BoolArray) -> FloatArray:
    """Variance between groups beyond that of chance, in standard deviations, ``(n_folds, n_outputs, n_codes)``.

    Args:
        bins: ``(n_rows, n_codes)``.
        outputs: For each fold, ``(n_rows, n_folds, n_outputs)``.
        member: Rows that count for each fold, ``(n_rows, n_folds)``.
    """
    n_rows, n_folds, n_outputs = outputs.shape
    counted = member[:, :, None]
    size = member.sum(axis=0)[:, None]
    y = np.where(counted, outputs - (outputs * counted).sum(axis=0) / size, 0.0)
    scale = np.sqrt((y**2).sum(axis=0) / size)
    y /= np.where(scale > 0, scale, 1.0)
    flat = np.concatenate([y, counted], axis=2, dtype=np.float32).reshape(n_rows, -1)
    between, step = np.zeros((n_folds, n_outputs, bins.shape[1])), max(1, CELLS // n_rows)
    for start in range(0, bins.shape[1], step):
        part = slice(start, start + step)
        group = _groups(bins[:, part])
        n_groups = np.zeros((1, 1, group.shape[1]))
        for value in range(N_GROUPS):
            sums = ((group == value).astype(np.float32).T @ flat).reshape(-1, n_folds, n_outputs + 1)
            n_in, total = sums[:, :, -1:], sums[:, :, :-1]
            found = np.divide(total**2, n_in, out=np.zeros_like(total), where=n_in > 0)
            between[:, :, part] += found.transpose(1, 2, 0)
            n_groups += n_in[:, :1].transpose(1, 2, 0) > 0
        free = np.maximum(n_groups - 1, 1)
        between[:, :, part] = (between[:, :, part] - free) / np.sqrt(2 * free)
    return between


def _groups(bins: AnyArray) -> AnyArray:
    """Return the group of each bin: by the share of rows below the middle of the bin."""
    cells = bins + N_BINS * np.arange(bins.shape[1])
    counts = np.bincount(cells.ravel(), minlength=N_BINS * bins.shape[1]).reshape(-1, N_BINS)
    middle = (np.cumsum(counts, axis=1) - counts / 2) / len(bins)
    return (middle * N_GROUPS).astype(np.uint8).ravel()[cells]
