"""Directions in which slices of the codes differ, in closed form. NumPy only."""

import numpy as np
from numpy.typing import NDArray

NULL_VARIANCE = 1e-10


def whiten(codes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return uncorrelated codes of unit variance, and the matrix that takes their directions to those of the codes.

    Directions in which the codes do not vary (dead or duplicated codes) are left out.
    """
    centred = codes - codes.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(codes))
    kept = values > NULL_VARIANCE * values[-1]
    unwhiten: NDArray[np.float64] = vectors[:, kept] / np.sqrt(values[kept])
    return centred @ unwhiten, unwhiten


def directional_regression(x: NDArray[np.float64], slices: NDArray[np.intp]) -> NDArray[np.float64]:
    """Matrix whose leading eigenvectors span the directions in which slices of whitened ``x`` differ.

    Li & Wang (2007): first moments (SIR) and second moments (SAVE) of the slices together. Exact in the limit for
    normal codes, a fair start otherwise.
    """
    size = x.shape[1]
    spread, means = np.zeros((size, size)), np.zeros((size, size))
    for value in np.unique(slices):
        part = x[slices == value]
        share, mean = len(part) / len(x), part.mean(axis=0)
        excess = part.T @ part / len(part) - np.eye(size)
        spread += share * excess @ excess
        means += share * np.outer(mean, mean)
    kernel: NDArray[np.float64] = spread + means @ means + np.trace(means) * means
    return kernel
