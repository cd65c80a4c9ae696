"""Where the circle of an angle closes, and which numbers look like angles that nobody declared."""

from __future__ import annotations

import re

import numpy as np

from unbraid._typing import FloatArray

RADIANS, DEGREES = 2 * np.pi, 360.0
NEAR = 0.01
NAMES = frozenset({"angle", "azimuth", "bearing", "heading", "hue", "orientation", "phase", "rotation", "theta", "yaw"})


def period_of(distinct: FloatArray, *, repeats: bool) -> float | None:
    """Return the period of an angle whose values leave no doubt about it, else ``None``.

    Evenly spaced values that repeat are steps around a circle that one step more closes, but for those that span a
    whole turn already: 0 and 360 are the same place. Other values that fit into 2π are radians.

    Args:
        distinct: The values, each once, in order; at least two.
        repeats: Whether there are at least two rows a value, on average.
    """
    span, steps = float(distinct[-1] - distinct[0]), np.diff(distinct)
    if repeats and np.allclose(steps, steps[0], rtol=1e-3):
        step = float(steps.mean())
        whole = [turn for turn in (RADIANS, DEGREES) if abs(span - turn) <= min(step, NEAR * turn)]
        return whole[0] if whole else span + step
    return RADIANS if span <= (1 + NEAR) * RADIANS else None


def period_text(period: float) -> str:
    """Return a period as a reader would write it."""
    return "2π" if np.isclose(period, RADIANS) else f"{period:g}"


def angle_kind(name: str, values: FloatArray, *, repeats: bool) -> str | None:
    """Return the kind to declare for numbers that may be an angle, or ``None`` where nothing points to one.

    Their name says so, or they fill a turn of 360 or 2π evenly.
    """
    if not (NAMES & set(re.split(r"[^a-z]+", name.lower())) or _fills_a_turn(values)):
        return None
    distinct = np.unique(values)
    if len(distinct) < 2:
        return None
    period = period_of(distinct, repeats=repeats)
    if period is None:
        return "circular:360"
    return "circular" if period == RADIANS else f"circular:{period:g}"


def _fills_a_turn(values: FloatArray) -> bool:
    low, high = float(values.min()), float(values.max())
    even = values.std() > 0.25 * (high - low)  # 0.29 for an even spread; 0.16 for a thousand normal numbers
    whole_numbers = bool((values == np.round(values)).all())  # which 0 to 6 radians would hardly be
    for turn in (DEGREES, RADIANS):
        fits = -(1 + NEAR) * turn / 2 <= low and high <= (1 + NEAR) * turn
        fills = 0.95 * turn <= high - low <= (1 + NEAR) * turn
        if even and fits and fills and not (whole_numbers and turn == RADIANS):
            return True
    return False
