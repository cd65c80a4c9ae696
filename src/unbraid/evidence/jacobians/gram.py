"""Gram matrices of Jacobians, and their running moments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid._base.checks import to_array

# A column this much shorter than the longest of its sample, 23 nats, does not move the data.
FLAT = 1e-10


def library(array: Any) -> Any:
    """Return the module whose functions take this array: NumPy, or torch, which is loaded if there is a tensor."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def gram_of(jacobian: Any) -> Any:
    """Return ``JᵀJ`` for each sample of ``(rows, data, latent)``."""
    return jacobian.swapaxes(1, 2) @ jacobian


def column_lengths(gram: Any) -> Any:
    """Return the length of each Jacobian column, ``(rows, latent)``, from ``(rows, latent, latent)``."""
    xp = library(gram)
    return xp.sqrt(xp.einsum("nii->ni", gram))


def direct_lengths(jacobian: Any) -> Any:
    """Return the length of each column, ``(rows, latent)``, without the Gram matrix."""
    xp = library(jacobian)
    return xp.sqrt(xp.einsum("ndi,ndi->ni", jacobian, jacobian))


def flat_columns(lengths: Any) -> Any:
    """Return which columns do not move the data, ``(rows, latent)``."""
    xp = library(lengths)
    longest = xp.amax(lengths, 1)[:, None]
    return lengths <= FLAT * longest


def without(lengths: Any, left_out: BoolArray) -> Any:
    """Return the lengths with those of some columns infinite, so that every cosine with them is 0."""
    xp = library(lengths)
    mask = left_out if xp is np else xp.as_tensor(left_out, device=lengths.device)
    return xp.where(mask, xp.inf, lengths)


def cosines(gram: Any, row_lengths: Any, column_lengths: Any) -> Any:
    """Return the cosine between every two columns; 0 for columns of infinite length, which are excluded."""
    return gram / row_lengths[:, :, None] / column_lengths[:, None, :]


def pair_information(cosine: Any) -> Any:
    r"""Return :math:`-\tfrac12 \log(1 - \cos^2\theta)` in nats for every pair (Eq. B.32).

    Where the two columns are parallel to rounding error the answer is infinite; it stops at what the precision can
    tell, 18 nats in double and 8 in single precision.
    """
    xp = library(cosine)
    square = xp.clip(cosine * cosine, 0.0, 1.0 - float(xp.finfo(cosine.dtype).eps))
    return -0.5 * xp.log1p(-square)


def off_diagonal_sum(matrices: Any) -> Any:
    """Return the sum of each matrix without its diagonal, ``(rows,)``."""
    xp = library(matrices)
    return matrices.sum((1, 2), dtype=xp.float64) - xp.einsum("nii->n", matrices)


def log_volumes(cosine: Any, sets: Sequence[Sequence[int]]) -> Any:
    """Return half the log-determinant of the cosines within each set, ``(rows, n_sets)``, in double precision.

    It is the logarithm of the volume that the columns span, each brought to length 1: 0 where they are orthogonal, less
    elsewhere. Columns that depend on each other to rounding error count as far as the precision can tell.
    """
    xp = library(cosine)
    return xp.stack([_half_log_determinant(cosine, members) for members in sets], 1)


def square_log_volumes(jacobian: Any, lengths: Any, cosine: Any) -> Any:
    """Return the log-volume of all columns of a square Jacobian, not squared, which would lose half of the digits."""
    xp = library(jacobian)
    logarithm = as_double(xp.linalg.slogdet(jacobian / lengths[:, None, :])[1])
    if bool(xp.isfinite(logarithm).all()):
        return xp.clip(logarithm, None, 0.0)
    return _half_log_determinant(cosine, range(cosine.shape[1]))


def as_numpy(array: Any) -> FloatArray:
    """Return an array from either library as NumPy, in double precision."""
    return np.asarray(to_array(array), dtype=np.float64)


def _half_log_determinant(cosine: Any, members: Sequence[int]) -> Any:
    xp = library(cosine)
    if len(members) < 2:
        return xp.zeros_like(cosine[:, 0, 0], dtype=xp.float64)
    whole = len(members) == cosine.shape[1]
    block = as_double(cosine if whole else cosine[:, members][:, :, members])
    sign, logarithm = xp.linalg.slogdet(block)
    if not bool(((sign > 0) & xp.isfinite(logarithm)).all()):
        smallest = float(xp.finfo(cosine.dtype).eps)
        logarithm = xp.log(xp.clip(xp.linalg.eigvalsh(block), smallest, None)).sum(1)
    return 0.5 * xp.clip(logarithm, None, 0.0)


def as_double(array: Any) -> Any:
    """Return an array from either library in double precision, where it is."""
    return array.astype(np.float64, copy=False) if isinstance(array, np.ndarray) else array.double()


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
