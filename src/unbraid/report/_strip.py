"""Where the marks of a score sit on its little axis, in percent of the axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unbraid._score import Score
from unbraid.metrics import Metric
from unbraid.report._format import number


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """Positions along one axis, each from 0 to 100.

    Attributes:
        value: The dot.
        null: The tick, where there is a null.
        bar: Start and width of the interval, where there is one.
        ends: Labels of the axis, where it is not the usual 0 to 1.
        is_open: Whether the metric goes on beyond the end of the axis.
    """

    value: float
    null: float | None
    bar: tuple[float, float] | None
    ends: tuple[str, str] | None
    is_open: bool


def make_strip(metric: Metric, score: Score) -> Strip | None:
    """Return the marks of a score, or ``None`` when its value cannot be drawn.

    A metric without an upper limit gets an axis of its own, labelled with where it was cut.
    """
    if not math.isfinite(score.value):
        return None
    marks = [x for x in (score.value, score.low, score.high, score.null) if x is not None and math.isfinite(x)]
    low, high = metric.bounds
    start = low if math.isfinite(low) else -round_up(max(0.0, -min(marks)))
    stop = high if math.isfinite(high) else round_up(max(marks) - max(start, 0.0)) + max(start, 0.0)

    def place(x: float) -> float:
        return round(100 * min(1.0, max(0.0, (x - start) / (stop - start))), 2)

    bar = None
    if score.low is not None and score.high is not None:
        bar = (place(score.low), round(place(score.high) - place(score.low), 2))
    return Strip(
        value=place(score.value),
        null=place(score.null) if score.null is not None and math.isfinite(score.null) else None,
        bar=bar,
        ends=None if metric.bounds == (0.0, 1.0) else (_label(start), _label(stop)),
        is_open=not math.isfinite(high),
    )


def round_up(value: float) -> float:
    """Return the next of 1, 2 or 5 times a power of ten; 1 for zero.

    Example:
        >>> [round_up(x) for x in (0.0, 0.014, 7.6, 34.4)]
        [1.0, 0.02, 10.0, 50.0]
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{next(step * power for step in (1, 2, 5, 10, 20) if step * power >= value):.1g}")


def _label(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e4 else number(value)
