"""One scale, one tick rule, lines, points, bars, bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import MINUS, number, short
from unbraid.manifold import ManifoldAnalysis
from unbraid.metrics import Metric
from unbraid.results.score import Score

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


PANEL_WIDTH, PANEL_HEIGHT = 280.0, 190.0
PANEL_LEFT, PANEL_RIGHT, PANEL_TOP, PANEL_BOTTOM = 36.0, 8.0, 8.0, 34.0


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
    to_x = (PANEL_WIDTH - PANEL_LEFT - PANEL_RIGHT) / (high_x - low_x)
    to_y = (PANEL_HEIGHT - PANEL_TOP - PANEL_BOTTOM) / (high_y - low_y)

    def across(x: float) -> float:
        return round(PANEL_LEFT + to_x * (x - low_x), 1)

    def down(y: float) -> float:
        return round(PANEL_HEIGHT - PANEL_BOTTOM - to_y * (y - low_y), 1)

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


SPECTRUM_WIDTH, SPECTRUM_HEIGHT = 1000.0, 220.0
MOST_TIPS = 200
MARGIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum:
    """Two curves and what goes beside them.

    Attributes:
        as_numbered: Path of the entropies in the order of the latents.
        as_sorted: Path of the entropies from the highest to the lowest.
        band: Path round the sorted curve, two standard errors to either side.
        levels: Share of the height from above, and label, of the lines to read entropies by.
        ends: Labels of the first and last place.
        tips: Start and width of a strip of the canvas, and what to say of it.
        says: What the chart shows, in words.
    """

    as_numbered: str
    as_sorted: str
    band: str
    levels: tuple[tuple[float, str], ...]
    ends: tuple[str, str]
    tips: tuple[tuple[float, float, str], ...]
    says: str


def make_spectrum(analysis: ManifoldAnalysis) -> Spectrum:
    """Return the spectrum of all active latents, numbered and sorted."""
    numbered = analysis.latent_entropy
    order = analysis.order[: analysis.n_active]
    ranked, errors = numbered[order], np.nan_to_num(analysis.latent_entropy_error[order])
    low, high = float((ranked - 2 * errors).min()), float((ranked + 2 * errors).max())
    low, high = (low - 0.5, high + 0.5) if high - low < 1e-6 else (low, high)
    room = MARGIN * (high - low)
    scale = _Scale(low - room, high + room, analysis.latent_dim)
    return Spectrum(
        as_numbered=scale.path(numbered),
        as_sorted=scale.path(ranked),
        band=scale.band(ranked - 2 * errors, ranked + 2 * errors),
        levels=tuple((scale.share(level), short(level)) for level in _levels(low, high)),
        ends=("1 (z0)", f"{analysis.latent_dim:,} (z{analysis.latent_dim - 1})"),
        tips=_tips(analysis, scale),
        says=f"Entropies of {len(order)} active latents fall from {short(high)} to {short(low)} nats.",
    )


class _Scale:
    """From places and entropies to the canvas."""

    def __init__(self, low: float, high: float, n_places: int) -> None:
        self._low, self._high, self._n = low, high, n_places

    def share(self, value: float) -> float:
        return round(100 * (self._high - value) / (self._high - self._low), 2)

    def x(self, place: float) -> float:
        return (place + 0.5) * SPECTRUM_WIDTH / self._n

    def y(self, value: float) -> float:
        return SPECTRUM_HEIGHT * (self._high - value) / (self._high - self._low)

    def path(self, values: FloatArray) -> str:
        """Join the points that are finite; a latent that stands still breaks the line."""
        parts, pen = [], "M"
        for place, value in enumerate(values):
            if not np.isfinite(value):
                pen = "M"
                continue
            # A point alone is drawn as a short dash.
            parts.append(f"{pen}{self.x(place):.1f} {self.y(float(value)):.1f}{'h.1' if pen == 'M' else ''}")
            pen = "L"
        return "".join(parts)

    def band(self, lower: FloatArray, upper: FloatArray) -> str:
        there = [f"{self.x(k):.1f} {self.y(float(v)):.1f}" for k, v in enumerate(upper)]
        back = [f"{self.x(k):.1f} {self.y(float(v)):.1f}" for k, v in enumerate(lower)]
        return "M" + "L".join(there + back[::-1]) + "Z"


def _levels(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers between the ends."""
    step = 10.0 ** np.floor(np.log10((high - low) / most))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= most)
    return [float(step * k) for k in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def _tips(analysis: ManifoldAnalysis, scale: _Scale) -> tuple[tuple[float, float, str], ...]:
    if analysis.n_active > MOST_TIPS:
        return ()
    width = SPECTRUM_WIDTH / analysis.latent_dim
    return tuple(
        (
            round(rank * width, 2),
            round(width, 2),
            f"{rank + 1}: z{latent}, {analysis.latent_entropy[latent]:.3f} ± "
            f"{analysis.latent_entropy_error[latent]:.3f} nats",
        )
        for rank, latent in enumerate(analysis.order[: analysis.n_active])
    )
