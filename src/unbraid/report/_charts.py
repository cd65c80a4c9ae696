"""Charts of a figure: lines, matrices and curves in the plane, as plain data to draw from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from unbraid._typing import FloatArray
from unbraid.report._format import MINUS, short

WIDTH, HEIGHT = 640.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 10.0, 40.0
#: A larger matrix is drawn as means of blocks, at most so many each way.
MOST_CELLS = 64
PLANE = 300.0


class Tick(NamedTuple):
    """A mark on an axis: its place in pixels, and what it says."""

    place: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """One line, or one set of crosses.

    Attributes:
        name: In the legend.
        x: Where, left to right.
        y: How high; NaN and infinities are left out.
        mark: How it is drawn.
        colour: Number of its colour, 0 to 5; or, for a ramp, its share of the way from 0 to 1.
    """

    name: str
    x: FloatArray
    y: FloatArray
    mark: Literal["line", "faint", "cross"] = "line"
    colour: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSeries:
    """One line or set of crosses in pixels.

    Attributes:
        name: In the legend.
        mark: How it is drawn.
        style: Class that colours it.
        share: For a ramp, percent of the way along it.
        points: Places of its points.
        tips: What each point says.
    """

    name: str
    mark: str
    style: str
    share: int
    points: tuple[tuple[float, float], ...]
    tips: tuple[str, ...]

    @property
    def path(self) -> str:
        """Places as SVG writes them."""
        return " ".join(f"{x:g},{y:g}" for x, y in self.points)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """Lines over a common axis."""

    kind: Literal["lines"] = "lines"
    title: str
    caption: str
    x_label: str
    y_label: str
    series: tuple[DrawnSeries, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixChart:
    """A matrix of shaded squares.

    Attributes:
        shades: Rows of percent.
        legend: What the strongest shade stands for.
    """

    kind: Literal["matrix"] = "matrix"
    title: str
    caption: str
    shades: tuple[tuple[int, ...], ...]
    legend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneChart:
    """Curves in a plane with the same scale both ways.

    Attributes:
        curves: For each, the number of its colour and its path.
        dots: Places of samples behind the curves.
        height: In pixels.
    """

    kind: Literal["plane"] = "plane"
    title: str
    caption: str
    curves: tuple[tuple[int, str], ...]
    dots: tuple[tuple[float, float], ...]
    height: float


Chart = LineChart | MatrixChart | PlaneChart


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartGroup:
    """Charts that stand side by side under one heading."""

    title: str
    caption: str
    charts: Sequence[Chart]


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    caption: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    is_ramp: bool = False,
) -> LineChart:
    """Draw lines; ``log_x`` spaces the axis by powers of ten, ``is_ramp`` colours lines by their share."""
    kept = [np.isfinite(one.y) for one in series]
    across = [np.log10(one.x[k]) if log_x else one.x[k] for one, k in zip(series, kept, strict=True)]
    heights = [one.y[k] for one, k in zip(series, kept, strict=True)]
    low_x, high_x = ends(np.concatenate(across))
    low_y, high_y = ends(np.concatenate(heights), margin=0.04)
    to_x = (WIDTH - LEFT - RIGHT) / (high_x - low_x)
    to_y = (HEIGHT - TOP - BOTTOM) / (high_y - low_y)

    def place(x: float, y: float) -> tuple[float, float]:
        return round(LEFT + to_x * (x - low_x), 1), round(HEIGHT - BOTTOM - to_y * (y - low_y), 1)

    drawn = tuple(
        DrawnSeries(
            name=one.name,
            mark=one.mark,
            style="ramp" if is_ramp else f"s{int(one.colour)}",
            share=round(100 * one.colour) if is_ramp else 0,
            points=tuple(place(float(a), float(b)) for a, b in zip(xs, ys, strict=True)),
            tips=tuple(f"{one.name}, {x:g}: {short(float(y))}" for x, y in zip(one.x[k], ys, strict=True)),
        )
        for one, k, xs, ys in zip(series, kept, across, heights, strict=True)
    )
    powers = [(float(p), f"{10.0**p:g}") for p in range(math.ceil(low_x - 1e-9), math.floor(high_x + 1e-9) + 1)]
    x_marks = powers if log_x else round_marks(low_x, high_x)
    return LineChart(
        title=title,
        caption=caption,
        x_label=x_label,
        y_label=y_label,
        series=drawn,
        x_ticks=tuple(Tick(place(value, low_y)[0], text) for value, text in x_marks),
        y_ticks=tuple(Tick(place(low_x, value)[1], text) for value, text in round_marks(low_y, high_y)),
    )


def matrix_chart(matrix: FloatArray, *, title: str, caption: str, top: float | None = None) -> MatrixChart:
    """Shade a matrix from 0 to ``top``, its largest entry by default; what is not a number stays blank."""
    small = _block_means(matrix)
    finite = small[np.isfinite(small)]
    highest = top if top is not None else float(finite.max()) if finite.size else 1.0
    shares = np.nan_to_num(np.clip(small / (highest or 1.0), 0, 1), nan=0.0)
    return MatrixChart(
        title=title,
        caption=caption,
        shades=tuple(tuple(round(100 * share) for share in row) for row in shares.tolist()),
        legend=f"strongest: {short(highest)}" + (" or more" if top is not None else ""),
    )


def plane_chart(
    curves: Sequence[tuple[int, FloatArray]], samples: FloatArray, *, title: str, caption: str
) -> PlaneChart:
    """Draw curves, each with the number of its colour, over samples; all fit the samples' range and a margin."""
    low, high = samples.min(axis=0), samples.max(axis=0)
    margin = 0.08 * (high - low)
    low, high = low - margin, high + margin
    scale = PLANE / (high[0] - low[0])
    height = float(scale * (high[1] - low[1]))

    def to_pixels(points: FloatArray) -> FloatArray:
        pixels: FloatArray = np.round((points - low) * [scale, -scale] + [0.0, height], 1)
        return pixels

    return PlaneChart(
        title=title,
        caption=caption,
        curves=tuple((colour, " ".join(f"{x:g},{y:g}" for x, y in to_pixels(points))) for colour, points in curves),
        dots=tuple((float(x), float(y)) for x, y in to_pixels(samples)),
        height=round(height, 1),
    )


def _block_means(matrix: FloatArray) -> FloatArray:
    """Return means of blocks, so that a large matrix keeps its outlines; NaN where a block has no number."""
    if len(matrix) <= MOST_CELLS:
        return matrix
    edges = np.linspace(0, len(matrix), MOST_CELLS + 1).round().astype(int)[:-1]
    known = np.isfinite(matrix).astype(float)
    sums, counts = (
        np.add.reduceat(np.add.reduceat(part, edges, axis=0), edges, axis=1) for part in (np.nan_to_num(matrix), known)
    )
    means: FloatArray = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return means


def ends(values: FloatArray, margin: float = 0.0) -> tuple[float, float]:
    """Return the ends of an axis that holds all values, with a margin as a share of their range."""
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    if high <= low:
        low, high = low - 0.5, high + 0.5
    return low - margin * (high - low), high + margin * (high - low)


def round_marks(low: float, high: float, most: int = 7) -> list[tuple[float, str]]:
    """Return round values between two ends.

    Example:
        >>> round_marks(0.0, 20.0)
        [(0.0, '0'), (5.0, '5'), (10.0, '10'), (15.0, '15'), (20.0, '20')]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [(k * step, f"{k * step:g}".replace("-", MINUS)) for k in range(first, last + 1)]
