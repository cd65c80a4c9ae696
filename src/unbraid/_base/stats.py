"""Statistics: Student's t, ranks, and corrections of p-values for several tests."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy

from unbraid._base.arrays import AnyArray, FloatArray
from unbraid._base.checks import check_choice


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


def average_ranks(columns: AnyArray) -> FloatArray:
    """Return the rank of each entry in its column, from 1; equal entries share their mean rank.

    Example:
        >>> average_ranks(np.array([[5.0], [7.0], [5.0]])).ravel().tolist()
        [1.5, 3.0, 1.5]
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(columns, axis=0), dtype=np.float64)


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
