"""Correlations of all pairs of columns at once, for one sample or many resamples of it."""

from __future__ import annotations

import numpy as np

from unbraid._typing import FloatArray, IntArray

#: Numbers held at a time while resampling.
MOST_NUMBERS = 4_000_000
#: A column whose variance falls below this share of what it was is constant in a resample.
NO_SPREAD = 1e-12
ROUNDING = 1e-14


def correlate(x: FloatArray, y: FloatArray, *, is_ranked: bool) -> FloatArray:
    """Return the correlation of each column of ``x`` with each of ``y``, NaN where either is constant."""
    weights = np.ones((1, len(x)))
    pair = [_ranked(side, weights) if is_ranked else side[None] for side in (x, y)]
    found: FloatArray = weighted(weights, *pair)[0]
    return found


def bootstrap(x: FloatArray, y: FloatArray, *, is_ranked: bool, n_resamples: int, seed: int) -> FloatArray:
    """Return correlations of resampled rows, ``(n_resamples, x columns, y columns)``.

    A resample is a weight for each row, the times it was drawn; ranks are taken anew in every resample, so that
    nothing is approximated. All pairs see the same resamples.
    """
    n = len(x)
    rng = np.random.default_rng(seed)
    step = max(1, MOST_NUMBERS // (n * (x.shape[1] + y.shape[1])))
    found = np.empty((n_resamples, x.shape[1], y.shape[1]))
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        weights = _drawn(rng, n, size)
        pair = [_ranked(side, weights) if is_ranked else side[None] for side in (x, y)]
        found[start : start + size] = weighted(weights, *pair)
    return found


def weighted(weights: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return weighted correlations, ``(resamples, x columns, y columns)``.

    Args:
        weights: ``(resamples, rows)``.
        x: ``(resamples, rows, columns)``, or 1 instead of resamples for the same values in each.
        y: As ``x``.
    """
    (left, left_size), (right, right_size) = (_standing(weights, side) for side in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (left.swapaxes(1, 2) @ right) / (left_size[:, :, None] * right_size[:, None, :])
    # A line gives 1 but for rounding; the p-value of three models would show the difference.
    return np.where(np.abs(r) > 1 - ROUNDING, np.sign(r), r)


def _standing(weights: FloatArray, side: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return columns less their mean, each row times the root of its weight, and their lengths, NaN if constant."""
    share = weights / weights.sum(axis=1, keepdims=True)
    centred = side - share[:, None, :] @ side
    centred *= np.sqrt(weights)[:, :, None]
    size = np.sqrt(np.einsum("bnp,bnp->bp", centred, centred))
    spread = side.max(axis=1) - side.min(axis=1)
    least = np.sqrt(NO_SPREAD * weights.sum(axis=1, keepdims=True)) * spread
    return centred, np.where(size > least, size, np.nan)


def _drawn(rng: np.random.Generator, n: int, size: int) -> FloatArray:
    """Return how often each of ``n`` rows is drawn when ``n`` are, in each of ``size`` resamples."""
    rows = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
    return np.bincount(rows.ravel(), minlength=size * n).reshape(size, n).astype(float)


def _ranked(side: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the rank of every row among the rows drawn, ties sharing their mean, ``(resamples, rows, columns)``."""
    ranks = np.empty((len(weights), *side.shape))
    for k, column in enumerate(side.T):
        _, group = np.unique(column, return_inverse=True)
        ranks[:, :, k] = _mid_ranks(weights, group)
    return ranks


def _mid_ranks(weights: FloatArray, group: IntArray) -> FloatArray:
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    drawn = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(drawn, axis=1) - drawn / 2 + 0.5
    ranks: FloatArray = middle[:, group]
    return ranks
