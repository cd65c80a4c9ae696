"""Half-widths of confidence intervals, and scores extrapolated to many rows from scores of parts of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.stats import student_quantile
from unbraid.metrics import Metric
from unbraid.results.score import Score

CONFIDENCE = 0.95
#: With this many shuffles, a score at chance exceeds all of them with probability 1/20.
ENOUGH_NULLS = 19


def half_width(values: FloatArray) -> float:
    """Half-width of a 95 % confidence interval, by Student's t."""
    return float(student_quantile(0.5 + CONFIDENCE / 2, len(values) - 1) * values.std(ddof=1))


def beyond(value: float, nulls: FloatArray, gain: float) -> bool:
    """Return whether a value lies outside the scatter of the nulls; of many nulls, whether it exceeds all."""
    if len(nulls) < 3 or gain > half_width(nulls):
        return True
    return len(nulls) >= ENOUGH_NULLS and bool(np.all(nulls < value) or np.all(nulls > value))


def extrapolated(metric: Metric, score: Score, draws: Sequence[Score], step: float) -> Score:
    """Return the score of infinitely many rows, where the bias of the score of n rows falls as a power of 1/n.

    With s(N) the score of all rows and s(n) the mean over parts of n rows, the bias of s(N) is
    (s(n) - s(N)) ``step``, and ``step`` is 1 / ((N / n) ** power - 1): n / (N - n) for a bias that falls as 1/n.

    Args:
        metric: Its bounds, and whether few rows can only raise it.
        score: Of all rows.
        draws: Of parts of the rows.
        step: How far to go, from :func:`step_beyond`.
    """

    def limit(full: Any, parts: list[Any]) -> Any:
        if full is None or any(part is None or np.shape(part) != np.shape(full) for part in parts):
            return full
        change = step * (full - np.mean(parts, axis=0))
        return np.clip(full + (np.minimum(change, 0.0) if metric.falls_with_rows else change), *metric.bounds)

    return replace(
        score,
        value=float(limit(score.value, [draw.value for draw in draws])),
        plain=score.value if score.plain is None else score.plain,
        per_factor=limit(score.per_factor, [draw.per_factor for draw in draws]),
        per_code=limit(score.per_code, [draw.per_code for draw in draws]),
    )


def step_beyond(scale: float, order: float) -> float:
    """Return how far to go beyond the score of all rows, where the bias falls with a power of one over the rows."""
    return float(1 / ((1 + 1 / scale**2) ** order - 1))


def drawn_fit(step: float, scale: float, error_of_mean: float) -> float:
    """Return how much larger the error of an extrapolated score is by chance in the fit than by chance in the rows.

    Of (1 + step) s(N) less ``step`` times the mean over parts, chance in the rows is shared by both terms, and leaves
    the error of s(N) and that of the mean over few parts. Chance in the fit is not shared: s(N) counts (1 + step)
    times. It falls as one over the rows too, so that s(N) has n/N of the variance of a part.
    """
    of_all_rows = (1 + step) ** 2 / (1 + scale**2)
    return float(np.sqrt((of_all_rows + error_of_mean) / (1 + error_of_mean)))
