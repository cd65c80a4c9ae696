"""What is used of scipy.stats, without its import, which takes longer than most scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from unbraid._typing import AnyArray, FloatArray


def student_quantile(p: float, freedom: float) -> float:
    """Return the value that Student's t stays below with chance ``p``.

    Example:
        >>> round(student_quantile(0.975, 4), 3)
        2.776
    """
    return float(scipy.special.stdtrit(freedom, p))


def student_two_sided(t: Any, freedom: Any) -> FloatArray:
    """Return the chance that Student's t is at least as far from 0.

    Example:
        >>> round(float(student_two_sided(2.776, 4)), 3)
        0.05
    """
    return np.asarray(2 * scipy.special.stdtr(freedom, -np.abs(t)), dtype=np.float64)


def average_ranks(columns: AnyArray) -> FloatArray:
    """Return the rank of each entry in its column, from 1; equal ones share the mean of theirs.

    Example:
        >>> average_ranks(np.array([[5.0], [7.0], [5.0]])).ravel().tolist()
        [1.5, 3.0, 1.5]
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(columns, axis=0), dtype=np.float64)
