"""Statistics: Student's t, ranks, and corrections of p-values for several tests."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid._base.checks import LONG_ROW, check_choice

#: Squares of means that are more than this many times those of what is beside the mean cost over two digits.
FAR_MEAN = 100.0


def student_quantile(p: float, freedom: float) -> float:
    """Return the quantile of Student's t at probability ``p``.

    Example:
        >>> round(student_quantile(0.975, 4), 3)
        2.776
    """
    return float(scipy.special.stdtrit(freedom, p))


def student_two_sided(t: Any, freedom: Any) -> FloatArray:
    """Return the two-sided p-value of Student's t.

    Example:
        >>> round(float(student_two_sided(2.776, 4)), 3)
        0.05
    """
    return np.asarray(2 * scipy.special.stdtr(freedom, -np.abs(t)), dtype=np.float64)


def centred_columns(matrix: FloatArray, out: FloatArray | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a matrix less the mean of each column, the means, and the sums of squares of what is left.

    Narrow matrices are read several rows at a time, which is several times as fast as row by row. The result is new, or
    written to ``out``, which may be the matrix.

    Example:
        >>> centred, mean, squares = centred_columns(np.array([[1.0, 5.0], [3.0, 4.0]]))
        >>> centred.tolist(), mean.tolist(), squares.tolist()
        ([[-1.0, 0.5], [1.0, -0.5]], [2.0, 4.5], [2.0, 0.5])
    """
    mean = np.full(len(matrix), 1 / len(matrix)) @ matrix
    centred, squares = np.empty_like(matrix) if out is None else out, np.zeros(matrix.shape[1])
    for (part, times), (left, _) in zip(_long_rows(matrix), _long_rows(centred), strict=True):
        np.subtract(part, np.tile(mean, times), out=left)
        squares += np.einsum("ij,ij->j", left, left).reshape(times, -1).sum(axis=0)
    return centred, mean, squares


def near_their_mean(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a matrix to take products of, the mean of its columns, and the sums of squares of what is beside the mean.

    It is the matrix itself where no mean is so far from 0 that the squares of the mean, subtracted from products, cost
    digits, and the centred matrix, whose means are 0, where some mean is: a copy takes as long as the products.

    Example:
        >>> kept, mean, squares = near_their_mean(np.array([[1.0, 500.0], [3.0, 400.0]]))
        >>> squares.tolist()
        [2.0, 5000.0]
        >>> centred, mean, squares = near_their_mean(np.array([[1.0, 500.0], [3.0, 500.5]]))
        >>> centred.tolist(), mean.tolist(), squares.tolist()
        ([[-1.0, -0.25], [1.0, 0.25]], [0.0, 0.0], [2.0, 0.125])
    """
    mean, raw = np.full(len(matrix), 1 / len(matrix)) @ matrix, np.zeros(matrix.shape[1])
    for part, times in _long_rows(matrix):
        raw += np.einsum("ij,ij->j", part, part).reshape(times, -1).sum(axis=0)
    of_mean = len(matrix) * mean**2
    squares = raw - of_mean
    if (of_mean <= FAR_MEAN * squares).all():
        return matrix, mean, squares
    centred, _, squares = centred_columns(matrix)
    return centred, np.zeros_like(mean), squares


def scale_columns(matrix: FloatArray, scale: FloatArray) -> None:
    """Multiply each column by its scale, in place."""
    for part, times in _long_rows(matrix):
        part *= np.tile(scale, times)


def _long_rows(matrix: FloatArray) -> list[tuple[FloatArray, int]]:
    """Views of all of a matrix, of which the first has several rows in one, and the number of rows in one."""
    n_rows, width = matrix.shape
    times = LONG_ROW // max(width, 1)
    if times < 2 or n_rows < 2 * times or not matrix.flags.c_contiguous:
        return [(matrix, 1)]
    whole = n_rows - n_rows % times
    return [(matrix[:whole].reshape(-1, times * width), times), (matrix[whole:], 1)]


def average_ranks(columns: AnyArray) -> FloatArray:
    """Return the rank of each entry in its column, from 1; equal entries share their mean rank.

    Example:
        >>> average_ranks(np.array([[5.0], [7.0], [5.0]])).ravel().tolist()
        [1.5, 3.0, 1.5]
    """
    n_rows = len(columns)
    ranks, places = np.empty(columns.shape), np.arange(1.0, n_rows + 1)
    for j, column in enumerate(columns.T):
        order = np.argsort(column)
        ordered = column[order]
        if n_rows and np.isnan(ordered[-1]):
            ranks[:, j] = np.nan
            continue
        starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        own = places
        if len(starts) < n_rows - 1:
            bounds = np.concatenate([[0], starts, [n_rows]])
            own = np.repeat((bounds[:-1] + bounds[1:] + 1) / 2, np.diff(bounds))
        ranks[order, j] = own
    return ranks


def ranks_of_labels(labels: IntArray, n_levels: int) -> FloatArray:
    """Return the rank of each row whose values have an order, from 1, by counting; equal values share their mean rank.

    Example:
        >>> ranks_of_labels(np.array([0, 1, 0]), 2).tolist()
        [1.5, 3.0, 1.5]
    """
    counts = np.bincount(labels, minlength=n_levels)
    middle: FloatArray = np.cumsum(counts) - (counts - 1) / 2
    return middle[labels]


Correction = Literal["holm", "fdr_bh", "none"]
CORRECTIONS: dict[str, str] = {
    "holm": "Holm's correction: the chance of a single false finding among all tests stays below the level",
    "fdr_bh": "Benjamini and Hochberg's correction: of what is called significant, the expected share of false "
    "findings stays below the level",
    "none": "no correction for many tests",
}


def corrected(p: FloatArray, correct: Correction) -> FloatArray:
    """Return p-values corrected for all tests among them; NaN is no test and stays.

    Args:
        p: Any shape.
        correct: ``"holm"`` (1979): the i-th smallest of m times m − i + 1, never below those before it;
            ``"fdr_bh"`` (Benjamini and Hochberg, 1995): times m / i, never above those after it; ``"none"``.

    Example:
        >>> corrected(np.array([0.01, 0.04, 0.03]), "holm").round(6).tolist()
        [0.03, 0.06, 0.06]
        >>> corrected(np.array([0.01, 0.04, 0.03]), "fdr_bh").round(6).tolist()
        [0.03, 0.04, 0.04]
    """
    check_choice("correct", correct, CORRECTIONS)
    tested = np.isfinite(p)
    result = np.full(p.shape, np.nan)
    if correct == "none" or not tested.any():
        return p
    result[tested] = _holm(p[tested]) if correct == "holm" else _benjamini_hochberg(p[tested])
    return result


def _holm(p: FloatArray) -> FloatArray:
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    result = np.empty_like(p)
    result[order] = np.minimum(raised, 1.0)
    return result


def _benjamini_hochberg(p: FloatArray) -> FloatArray:
    from scipy.stats import false_discovery_control  # slow to import

    return np.asarray(false_discovery_control(p), dtype=np.float64)
