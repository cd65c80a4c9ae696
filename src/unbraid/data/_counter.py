"""Chance by row number: the same row has the same numbers, whichever batch it is asked for in."""

import numpy as np
from numpy.typing import NDArray

from unbraid._typing import IntArray

GOLDEN, FIRST, SECOND = (np.uint64(value) for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def uniform_by_row(seed: int, index: IntArray, n_numbers: int) -> NDArray[np.float32]:
    """Return ``(n, n_numbers)`` even numbers from 0 up to 1, a function of seed and row.

    Each is a quarter, 16 bits, of a number of SplitMix64 (Steele et al. 2014); a row has its own stretch of the
    stream of a seed.
    """
    n_words = -(-n_numbers // 4)
    start = _mixed(np.array([seed], dtype=np.int64).astype(np.uint64) + GOLDEN)
    rows = np.asarray(index).astype(np.uint64)[:, None]
    positions = rows * np.uint64(n_words) + np.arange(n_words, dtype=np.uint64)
    steps = np.multiply(positions, GOLDEN, dtype=np.uint64)
    quarters = _mixed(start + steps).astype("<u8").view("<u2")[:, :n_numbers]
    numbers: NDArray[np.float32] = np.multiply(quarters, np.float32(2.0**-16), dtype=np.float32)
    return numbers


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all others; arrays wrap round at 2⁶⁴ without a warning."""
    values = (values ^ (values >> np.uint64(30))) * FIRST
    values = (values ^ (values >> np.uint64(27))) * SECOND
    return values ^ (values >> np.uint64(31))
