"""The chart engine of all pages: scales, round ticks, lines, points, bars, bands, strips, matrices and planes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import MINUS, short

#: Pixels above a plot, which hold the label of a line near its top.
TOP = 14.0
#: Pixels from the top of a chart to its lowest value.
FIGURE, PANEL = 314.0, 170.0
#: Small charts in a row of charts, one for each factor.
MOST_CHARTS = 40
#: A larger matrix is drawn as means of blocks, at most so many each way.
MOST_CELLS = 64
#: A line with more points has dots in place of shapes; with more than the second number, no marks.
MOST_SHAPES, MOST_DOTS = 40, 110
#: Colours, as many as dashes and shapes.
N_COLOURS = 6
#: Longer side of a plane.
PLANE = 300.0
#: Least width of an interval, in percent, so that a narrow one can be seen.
LEAST_BAR = 0.6


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


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return the multiples of a round step from ``low`` to ``high``: at least two, at most ``most`` and one.

    Example:
        >>> round_ticks(0.0, 1.04), round_ticks(1.0, 32.0)
        ([0.0, 0.5, 1.0], [10.0, 20.0, 30.0])
    """
    if high <= low:
        return [low]
    step = round_up((high - low) / most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return powers of ten from ``low`` to ``high``; 1, 2 and 5 times them where there are too few.

    Example:
        >>> log_ticks(1.0, 1000.0), log_ticks(15.0, 60.0)
        ([1.0, 10.0, 100.0, 1000.0], [20.0, 50.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        round_ones = [float(f"{factor}e{power}") for power in powers for factor in factors]
        found = [value for value in round_ones if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(found) > 1:
            return found[:: -(-len(found) // (most + 1))]
    return round_ticks(low, high, most)


def tick_text(value: float) -> str:
    """Write a number beside an axis, without needless digits.

    Example:
        >>> tick_text(0.5), tick_text(-2.0), tick_text(12000.0)
        ('0.5', '−2', '12,000')
    """
    return f"{value:,.6g}".replace("-", MINUS)


class Tick(NamedTuple):
    """A labelled place on an axis."""

    place: float
    text: str

    @property
    def anchor(self) -> str:
        """The part of a label below the chart that stands at the place, so that a long label stays on the page."""
        if len(self.text) <= 3 or 8 <= self.place <= 92:
            return "middle"
        return "start" if self.place < 8 else "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A linear or logarithmic map from values to places.

    Attributes:
        low: Value at the start.
        high: Value at the stop; where it equals ``low``, every value is placed in the middle.
        start: Place of ``low``, in percent of the width, or in pixels from above.
        stop: Place of ``high``.
        is_log: Whether equal ratios, rather than equal differences, are equally far apart.
    """

    low: float
    high: float
    start: float = 0.0
    stop: float = 100.0
    is_log: bool = False

    def place(self, value: float) -> float:
        """Return the place of a value; a value beyond the ends is placed at the end."""
        ends = (self.low, min(max(value, self.low), self.high), self.high)
        low, at, high = map(math.log10, ends) if self.is_log else ends
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.stop - self.start), 2)

    def places(self, values: FloatArray) -> list[float]:
        """Return the places of several values."""
        return [self.place(value) for value in values.tolist()]

    def ticks(self, most: int = 5) -> tuple[Tick, ...]:
        """Return round values within the ends, at most ``most`` and one."""
        values = (log_ticks if self.is_log else round_ticks)(self.low, self.high, most)
        return self.labelled([(value, tick_text(value)) for value in values])

    def labelled(self, marks: Sequence[tuple[float, str]]) -> tuple[Tick, ...]:
        """Return ticks at given values, with given labels."""
        return tuple(Tick(self.place(value), text) for value, text in marks)


def spanning(
    values: Sequence[FloatArray], *, start: float = 0.0, stop: float = 100.0, margin: float = 0.0, is_log: bool = False
) -> Scale:
    """Return a scale that holds all finite values, with a margin on both sides as a share of their range."""
    joined = np.concatenate(values) if values else np.empty(0)
    finite = joined[np.isfinite(joined)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (1.0, 10.0)
    if is_log:
        spread = (high / low) ** margin
        return Scale(low=low / spread, high=high * spread, start=start, stop=stop, is_log=True)
    if high - low < 1e-12 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    spread = margin * (high - low)
    return Scale(low=low - spread, high=high + spread, start=start, stop=stop)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """One line, or one set of points, in the units of the data.

    Attributes:
        name: In the legend.
        x: Values along the bottom.
        y: Values upwards; a value that is not finite has no mark and breaks the line.
        mark: A line with marks, a line without, a faint line without, shapes, or crosses.
        colour: Number of its colour, dashes and shape; on a ramp, the share of the way along it.
        low: Lower end of an interval at each point.
        high: Upper end.
        interval: Whether intervals are drawn as a band or as whiskers.
        tips: Text for each mark; by default the name and both values.
        note: Text after the name in a caption.
    """

    name: str
    x: FloatArray
    y: FloatArray
    mark: Literal["line", "plain", "faint", "points", "cross"] = "line"
    colour: float = 0
    low: FloatArray | None = None
    high: FloatArray | None = None
    interval: Literal["band", "whisker"] = "band"
    tips: Sequence[str] | None = None
    note: str = ""


class Style(NamedTuple):
    """Classes of a colour and of a line, and the identifier of a shape."""

    ink: str
    line: str
    shape: str


def style_of(number: int) -> Style:
    """Return colour, dashes and shape by number: 36 differ without their colours, and 18 without their dashes."""
    turn = number // N_COLOURS
    colour, dashes, shape = (part % N_COLOURS for part in (number, number + turn, number + 2 * turn))
    return Style(f"c{colour}", f"line d{dashes}", f"s{shape}")


class Mark(NamedTuple):
    """One point: its place, its text, and the ends of its whisker where it has one."""

    x: float
    y: float
    tip: str
    whisker: tuple[float, float] | None = None


class Bar(NamedTuple):
    """One bar: its left edge and width in percent, its top and height in pixels, and its text."""

    x: float
    width: float
    y: float
    height: float
    tip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One series in places.

    Attributes:
        name: In the legend.
        note: After the name in a caption.
        style: Number of colour, dashes and shape.
        share: Percent of the way along a ramp of colours, or ``None`` for a colour of its own.
        line: Class of the line, or empty for none.
        shape: Identifier of the shape of its marks, or empty for none.
        path: The line as SVG writes it.
        band: The outline of its intervals as SVG writes it, or empty.
        marks: Its points.
    """

    name: str
    note: str
    style: int
    share: int | None
    line: str
    shape: str
    path: str
    band: str
    marks: tuple[Mark, ...]

    @property
    def ink(self) -> str:
        """Class of the colour."""
        return style_of(self.style).ink if self.share is None else "ramp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Lines, points and bars over common axes.

    Attributes:
        title: Above it.
        caption: Under the title.
        description: The chart in words, for screen readers.
        x_label: Under the axis.
        y_label: Before the legend.
        layers: Lines and points.
        bars: Behind the lines.
        columns: Invisible bars in front, to point at.
        levels: Labelled lines across, apart from those of the axis.
        x_ticks: Along the bottom.
        y_ticks: Along the left.
        base: Pixels from above to the lowest value.
    """

    kind: Literal["lines"] = "lines"
    title: str
    caption: str
    description: str
    x_label: str
    y_label: str
    layers: tuple[Layer, ...]
    bars: tuple[Bar, ...]
    columns: tuple[Bar, ...]
    levels: tuple[Tick, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    base: float

    @property
    def has_labels(self) -> bool:
        """Whether room is needed on the left."""
        return any(tick.text for tick in self.y_ticks)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixChart:
    """A matrix of shaded squares.

    Attributes:
        size: Columns and rows.
        squares: For each shade in percent but 0, the squares that have it as SVG writes them.
        legend: Value of the strongest shade.
    """

    kind: Literal["matrix"] = "matrix"
    title: str
    caption: str
    size: tuple[int, int]
    squares: dict[int, str]
    legend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneChart:
    """Curves in a plane with the same scale both ways.

    Attributes:
        curves: For each, the number of its colour and its path.
        dots: Places of samples behind the curves.
        size: Width and height in pixels.
    """

    kind: Literal["plane"] = "plane"
    title: str
    caption: str
    curves: tuple[tuple[int, str], ...]
    dots: tuple[tuple[float, float], ...]
    size: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartGroup:
    """Charts that stand side by side.

    Attributes:
        title: Heading, or what to choose the group by.
        caption: Under the heading.
        charts: The charts.
        key: Short identifier, unique on the page, where the group is one of several to choose from.
        left_out: What is not drawn, in a sentence, or empty.
    """

    title: str = ""
    caption: str = ""
    charts: Sequence[Chart | MatrixChart | PlaneChart]
    key: str = ""
    left_out: str = ""


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    caption: str = "",
    description: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    is_ramp: bool = False,
    base: float = FIGURE,
    x: Scale | None = None,
    y: Scale | None = None,
    x_marks: Sequence[tuple[float, str]] | None = None,
    y_marks: Sequence[tuple[float, str]] | None = None,
    levels: Sequence[tuple[float, str]] = (),
    bars: Sequence[Bar] = (),
    columns: Sequence[Bar] = (),
) -> Chart:
    """Draw series over common axes.

    Args:
        series: Lines and points; later ones are in front.
        title: Above the chart.
        caption: Under the title.
        description: The chart in words, for screen readers; title, axis and caption by default.
        x_label: Under the axis.
        y_label: Before the legend.
        log_x: Whether the axis along the bottom is logarithmic.
        is_ramp: Whether ``colour`` of the series is a share of the way from one colour to another.
        base: Pixels from above to the lowest value.
        x: Scale along the bottom; it holds all series by default.
        y: Scale upwards; it holds all series and their intervals by default.
        x_marks: Values and labels along the bottom; round ones by default.
        y_marks: Values and labels along the left; round ones by default.
        levels: Values and labels of further lines across.
        bars: Behind the lines.
        columns: Invisible, in front, to point at.
    """
    x = x or spanning([one.x for one in series], margin=0.03, is_log=log_x)
    reach = [end for one in series for end in (one.y, one.low, one.high) if end is not None]
    y = y or spanning(reach, start=base, stop=TOP, margin=0.05)
    return Chart(
        title=title,
        caption=caption,
        description=description or f"{title}{f' against {x_label}' if x_label else ''}. {caption}".strip(),
        x_label=x_label,
        y_label=y_label,
        layers=tuple(_layer(one, x, y, is_ramp=is_ramp) for one in series),
        bars=tuple(bars),
        columns=tuple(columns),
        levels=y.labelled(levels),
        x_ticks=x.ticks() if x_marks is None else x.labelled(x_marks),
        y_ticks=y.ticks(5 if base < FIGURE else 8) if y_marks is None else y.labelled(y_marks),
        base=base,
    )


def _layer(one: Series, x: Scale, y: Scale, *, is_ramp: bool) -> Layer:
    known = np.isfinite(one.y)
    style = 0 if is_ramp else int(one.colour)
    _, line, own = style_of(style)
    by_number = own if len(one.y) <= MOST_SHAPES and not is_ramp else "sd" if len(one.y) <= MOST_DOTS else ""
    shape = {"line": by_number, "points": own, "cross": "sx"}.get(one.mark, "")
    has_interval = one.low is not None and one.high is not None
    return Layer(
        name=one.name,
        note=one.note,
        style=style,
        share=round(100 * one.colour) if is_ramp else None,
        line={"faint": "line faint", "points": "", "cross": ""}.get(one.mark, line),
        shape=shape,
        path=_path(one.x, one.y, x, y) if one.mark not in ("points", "cross") else "",
        band=_outline(one, x, y) if has_interval and one.interval == "band" else "",
        marks=tuple(_mark(one, k, x, y) for k in np.flatnonzero(known).tolist()) if shape else (),
    )


def _mark(one: Series, k: int, x: Scale, y: Scale) -> Mark:
    at, value = float(one.x[k]), float(one.y[k])
    tip = f"{one.name}, {at:g}: {short(value)}" if one.tips is None else one.tips[k]
    whisker = None
    if one.interval == "whisker" and one.low is not None and one.high is not None and one.high[k] > one.low[k]:
        whisker = (y.place(float(one.low[k])), y.place(float(one.high[k])))
    return Mark(x.place(at), y.place(value), tip, whisker)


def _path(xs: FloatArray, ys: FloatArray, x: Scale, y: Scale) -> str:
    """Join finite points; a point between two that are not finite is drawn as a short dash."""
    parts, pen = [], "M"
    for at, value in zip(xs.tolist(), ys.tolist(), strict=True):
        if not math.isfinite(value):
            pen = "M"
            continue
        parts.append(f"{pen}{x.place(at):g} {y.place(value):g}{'h.1' if pen == 'M' else ''}")
        pen = "L"
    return "".join(parts)


def _outline(one: Series, x: Scale, y: Scale) -> str:
    """Go along the lower ends of the intervals and back along the upper ones, over points with both."""
    assert one.low is not None
    assert one.high is not None
    known = np.isfinite(one.low) & np.isfinite(one.high)
    across = x.places(one.x[known])
    there = list(zip(across, y.places(one.low[known]), strict=True))
    back = list(zip(across, y.places(one.high[known]), strict=True))[::-1]
    return "M" + "L".join(f"{a:g} {b:g}" for a, b in [*there, *back]) + "Z"


def matrix_chart(matrix: FloatArray, *, title: str, caption: str, top: float | None = None) -> MatrixChart:
    """Shade a matrix from 0 to ``top``, its largest entry by default; an entry that is not a number stays blank."""
    small = _block_means(matrix)
    finite = small[np.isfinite(small)]
    highest = top if top is not None else float(finite.max()) if finite.size else 1.0
    shades = np.round(100 * np.nan_to_num(np.clip(small / (highest or 1.0), 0, 1), nan=0.0)).astype(int)
    squares: dict[int, str] = {}
    for (row, column), shade in np.ndenumerate(shades):
        if shade:
            squares[int(shade)] = squares.get(int(shade), "") + f"M{column} {row}h1"
    return MatrixChart(
        title=title,
        caption=caption,
        size=(shades.shape[1], shades.shape[0]),
        squares=squares,
        legend=f"strongest: {short(highest)}" + (" or more" if top is not None else ""),
    )


def plane_chart(
    curves: Sequence[tuple[int, FloatArray]], samples: FloatArray | None = None, *, title: str, caption: str
) -> PlaneChart:
    """Draw curves, each with the number of its colour, over samples; without samples the curves give the range."""
    shown = np.concatenate([points for _, points in curves]) if samples is None else samples
    low, high = shown.min(axis=0), shown.max(axis=0)
    margin = 0.08 * (high - low)
    sides = np.where(high > low, high - low + 2 * margin, 1.0)
    size = PLANE * sides / sides.max()
    # Curves may leave the range of the samples, so that places are not held within it.
    across, up = (size / sides * [1, -1]).tolist()

    def to_pixels(points: FloatArray) -> list[tuple[float, float]]:
        at = np.round((points - low + margin) * [across, up] + [0.0, size[1]], 1)
        return [(float(a), float(b)) for a, b in at]

    return PlaneChart(
        title=title,
        caption=caption,
        curves=tuple((c, " ".join(f"{a:g},{b:g}" for a, b in to_pixels(points))) for c, points in curves),
        dots=() if samples is None else tuple(to_pixels(samples)),
        size=(round(float(size[0]), 1), round(float(size[1]), 1)),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One number on a horizontal axis, all places in percent.

    Attributes:
        value: Place of the dot.
        bar: Start and width of the interval, where there is one.
        null: Place of the number to compare with: chance, or a paper's.
        truth: Place of the known truth.
        zero: Place of a line across, in place of the axis.
        ends: Labels of the axis, where it is not the usual 0 to 1.
        is_open: Whether values may lie beyond the end of the axis.
    """

    value: float
    bar: tuple[float, float] | None = None
    null: float | None = None
    truth: float | None = None
    zero: float | None = None
    ends: tuple[str, str] | None = None
    is_open: bool = False


def make_strip(
    value: float,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    low: float | None = None,
    high: float | None = None,
    null: float | None = None,
    truth: float | None = None,
    zero: float | None = None,
) -> Strip | None:
    """Place a number between its bounds, or return ``None`` for one that is not finite.

    Args:
        value: The number.
        bounds: Ends of the axis; in place of an infinite end, a round value beyond all numbers.
        low: Lower end of the interval.
        high: Upper end.
        null: Number to compare with.
        truth: The known truth.
        zero: Value of a line across, in place of the axis.
    """
    if not math.isfinite(value):
        return None
    known = [x for x in (value, low, high, null, truth) if x is not None and math.isfinite(x)]
    start = bounds[0] if math.isfinite(bounds[0]) else -round_up(max(0.0, -min(known)))
    over = max(start, 0.0)
    scale = Scale(low=start, high=bounds[1] if math.isfinite(bounds[1]) else round_up(max(known) - over) + over)

    def place(x: float | None) -> float | None:
        return scale.place(x) if x is not None and math.isfinite(x) else None

    bar = None
    if low is not None and high is not None:
        first, last = sorted((scale.place(low), scale.place(high)))
        bar = (first, max(LEAST_BAR, round(last - first, 2)))
    return Strip(
        value=scale.place(value),
        bar=bar,
        null=place(null),
        truth=place(truth),
        zero=place(zero),
        ends=None if bounds == (0.0, 1.0) else (tick_text(scale.low), tick_text(scale.high)),
        is_open=not math.isfinite(bounds[1]),
    )
