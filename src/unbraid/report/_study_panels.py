"""Small charts on axes of their own: scatter plots, scores against strength, scores against sample size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unbraid._typing import FloatArray
from unbraid.report._charts import Tick, ends, round_marks

WIDTH, HEIGHT = 280.0, 190.0
LEFT, RIGHT, TOP, BOTTOM = 36.0, 8.0, 8.0, 34.0


class Spot(NamedTuple):
    """A mark: where, what it says, and the ends of its whisker where it has one."""

    x: float
    y: float
    tip: str
    whisker: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """Marks of one colour and shape.

    Attributes:
        style: Number of colour and shape.
        x: Where, left to right.
        y: How high.
        tips: What each mark says.
        spread: Half the length of each whisker, or ``None`` for none.
        joined: Whether a line joins the marks.
    """

    style: int
    x: FloatArray
    y: FloatArray
    tips: Sequence[str]
    spread: FloatArray | None = None
    joined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Marks of one colour and shape, in pixels."""

    style: int
    spots: tuple[Spot, ...]
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart.

    Attributes:
        title: Above it.
        caption: Under the title.
        x_label: Under its axis.
        traces: What is drawn.
        x_ticks: Along the bottom.
        y_ticks: Along the left.
    """

    title: str
    caption: str
    x_label: str
    traces: tuple[Drawn, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def make_panel(
    traces: Sequence[Trace],
    *,
    title: str,
    caption: str,
    x_label: str,
    x_marks: Sequence[tuple[float, str]] | None = None,
) -> Panel:
    """Place marks on axes that hold them all; ``x_marks`` names places along the bottom, round numbers by default."""
    low_x, high_x = ends(np.concatenate([one.x for one in traces]), margin=0.05)
    reach = [one.y if one.spread is None else one.y + sign * one.spread for one in traces for sign in (-1, 1)]
    low_y, high_y = ends(np.concatenate(reach), margin=0.06)
    to_x = (WIDTH - LEFT - RIGHT) / (high_x - low_x)
    to_y = (HEIGHT - TOP - BOTTOM) / (high_y - low_y)

    def across(x: float) -> float:
        return round(LEFT + to_x * (x - low_x), 1)

    def down(y: float) -> float:
        return round(HEIGHT - BOTTOM - to_y * (y - low_y), 1)

    def drawn(one: Trace) -> Drawn:
        spread = np.zeros(len(one.y)) if one.spread is None else one.spread
        spots = tuple(
            Spot(across(x), down(y), tip, (down(y - half), down(y + half)) if half > 0 else None)
            for x, y, half, tip in zip(one.x.tolist(), one.y.tolist(), spread.tolist(), one.tips, strict=True)
        )
        path = " ".join(f"{spot.x:g},{spot.y:g}" for spot in spots) if one.joined else ""
        return Drawn(style=one.style, spots=spots, path=path)

    return Panel(
        title=title,
        caption=caption,
        x_label=x_label,
        traces=tuple(drawn(one) for one in traces),
        x_ticks=tuple(Tick(across(x), text) for x, text in (x_marks or round_marks(low_x, high_x, most=5))),
        y_ticks=tuple(Tick(down(y), text) for y, text in round_marks(low_y, high_y, most=5)),
    )
