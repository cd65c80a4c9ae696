"""Means and standard errors of arrays that come in a few samples at a time."""

from __future__ import annotations

from typing import Any

from unbraid._typing import FloatArray
from unbraid.evidence.gram import as_numpy, library


class Moments:
    """Running mean and sum of squared deviations, in double precision, wherever the samples are.

    Chunks are merged by the means of each, so that neither their size nor a large common part costs digits.

    Example:
        >>> import numpy as np
        >>> moments = Moments()
        >>> moments.add(np.array([1.0, 3.0]))
        >>> moments.add(np.array([5.0, 7.0]))
        >>> float(moments.mean()), round(float(moments.standard_error()) ** 2, 6)
        (4.0, 1.666667)
    """

    __slots__ = ("_count", "_mean", "_squares")

    def __init__(self) -> None:
        self._count = 0
        self._mean: Any = None
        self._squares: Any = None

    def add(self, values: Any) -> None:
        """Take in samples along the first axis, NumPy or torch."""
        xp = library(values)
        n = len(values)
        mean = values.sum(0, dtype=xp.float64) / n
        deviation = values - (mean if values.dtype == xp.float64 else xp.asarray(mean, dtype=values.dtype))
        deviation *= deviation
        squares = deviation.sum(0, dtype=xp.float64)
        if self._count == 0:
            self._count, self._mean, self._squares = n, mean, squares
            return
        total = self._count + n
        shift = mean - self._mean
        self._mean = self._mean + shift * (n / total)
        self._squares = self._squares + squares + shift * shift * (self._count * n / total)
        self._count = total

    def mean(self) -> FloatArray:
        """Return the mean over all samples."""
        return as_numpy(self._mean)

    def standard_error(self) -> FloatArray:
        """Return the standard error of the mean."""
        error: FloatArray = (as_numpy(self._squares) / (self._count * max(self._count - 1, 1))) ** 0.5
        return error
