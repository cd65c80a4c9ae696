"""Stills on the page: the two columns behind each finding as a scatter, and strips that a decoder draws."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import ByteArray, FloatArray
from unbraid._base.images import png_address, shrink
from unbraid._base.text import clip
from unbraid.representation.factor import FactorKind
from unbraid.results.finding import ColumnKind, FactorStrips, LineRole, Still, ViewColumn
from unbraid.results.report import Report

WIDTH, HEIGHT, LEFT, BOTTOM, EDGE = 220, 200, 20, 20, 4
#: Colours of a ramp and of a wheel; categories have those of the charts.
N_SHADES, N_CATEGORIES = 8, 6
MOST_STILLS = 12
#: How far a column of few values is spread, in distances between values.
SPREAD = 0.5
#: Lines whose angles must look right: both axes have the same unit.
TRUE_ANGLES = (LineRole.FACTOR_AXIS, LineRole.CIRCLE)
#: Longest side of a picture in a strip, characters that all strips may take, and the width of a picture on the page.
MOST_PIXELS, MOST_TEXT, SHOWN = 64, 400_000, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class DotPath:
    """Dots of one colour, as an SVG path of lines without length."""

    style: str
    d: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StillLine:
    """A line over the dots, and where its name is."""

    points: str
    label: str
    is_code: bool
    x: str
    y: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StillPicture:
    """A scatter in numbers of an SVG."""

    kind: str
    caption: str
    name: str
    rows: str
    x: str
    y: str
    paths: tuple[DotPath, ...]
    lines: tuple[StillLine, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    bottom: int = BOTTOM


@dataclass(frozen=True, slots=True, kw_only=True)
class StripPicture:
    """One strip as an image."""

    label: str
    address: str
    n_steps: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StripSheet:
    """Strips that fit on the page, and how many do not."""

    rows: tuple[StripPicture, ...]
    n_left_out: int


def draw_stills(report: Report) -> list[StillPicture]:
    """Return the scatters of a report's findings."""
    return [_drawn(report, still) for still in report.stills[:MOST_STILLS]]


def draw_strips(strips: FactorStrips) -> StripSheet:
    """Return strips as images, as many as fit on the page."""
    rows, used = [], 0
    for label, pictures in zip(strips.labels, strips.pictures, strict=True):
        address = png_address(_side_by_side(pictures))
        used += len(address)
        if used > MOST_TEXT:
            break
        rows.append(StripPicture(label=label, address=address, n_steps=len(pictures), width=SHOWN * len(pictures)))
    return StripSheet(rows=tuple(rows), n_left_out=len(strips.labels) - len(rows))


def draw_pictures(pictures: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """Return the captions of PNG files and their addresses, of those that are not too large for the page."""
    found = {caption: f"data:image/png;base64,{b64encode(png).decode()}" for caption, png in pictures.items()}
    return [(caption, address) for caption, address in found.items() if len(address) <= MOST_TEXT]


def _side_by_side(pictures: ByteArray) -> ByteArray:
    small = [np.round(shrink(one.astype(np.float64), MOST_PIXELS)).astype(np.uint8) for one in pictures]
    return np.ascontiguousarray(np.concatenate(small, axis=1))


def _drawn(report: Report, still: Still) -> StillPicture:
    view = still.view
    xs, ys = (_spread(report, column, still.points[:, at]) for at, column in ((0, view.x), (1, view.y)))
    ends = np.concatenate([np.stack([xs, ys], axis=1), *(line.points for line in view.lines)])
    place = _Placement.of(ends, even=any(line.role in TRUE_ANGLES for line in view.lines))
    shown = len(still.points)
    some = (
        f"{shown:,} of {still.n_rows:,} rows are drawn." if shown < still.n_rows else f"All {shown:,} rows are drawn."
    )
    tint = "" if view.colour is None else f", coloured by {view.colour.name}"
    return StillPicture(
        kind=str(report.findings[view.finding].kind),
        caption=view.caption,
        name=f"Scatter of {view.y.name} against {view.x.name}{tint}",
        rows=some,
        x=clip(view.x.name, 30),
        y=clip(view.y.name, 26),
        paths=_paths(_styles(report, view.colour, still.points[:, 2]), place, xs, ys),
        lines=tuple(_line(place, line.points, line.label, line.role) for line in view.lines),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Placement:
    """From numbers to places in the SVG."""

    low: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, points: FloatArray, *, even: bool) -> _Placement:
        low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
        room = np.array([WIDTH - LEFT - 3 * EDGE, HEIGHT - BOTTOM - 3 * EDGE])
        span = np.where(high > low, high - low, 1.0)
        scale = room / span
        if even:
            scale = np.full(2, scale.min())
        low = (low + high) / 2 - room / scale / 2
        return cls(low=low, scale=scale)

    def __call__(self, points: FloatArray) -> FloatArray:
        moved = (points - self.low) * self.scale
        x, y = moved[..., 0] + LEFT + EDGE, HEIGHT - BOTTOM - EDGE - moved[..., 1]
        return np.asarray(np.round(np.stack([x, y], axis=-1), 1), dtype=np.float64)


def _spread(report: Report, column: ViewColumn, values: FloatArray) -> FloatArray:
    """Move rows of a factor with few values a little, always in the same way, so that they do not hide each other."""
    if column.kind is not ColumnKind.FACTOR:
        return values
    levels = report.setup.factor_levels[column.index]
    distinct = np.unique(values[~np.isnan(values)])
    if levels is None or levels > 64 or len(distinct) < 2:
        return values
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, len(values))
    return values + SPREAD * float(np.diff(distinct).min()) * noise


def _styles(report: Report, colour: ViewColumn | None, values: FloatArray) -> Sequence[str]:
    """Return the style class of each row."""
    if colour is None:
        return ["c0"] * len(values)
    kind = report.setup.factor_kinds[colour.index]
    known = ~np.isnan(values)
    if kind is FactorKind.CATEGORICAL:
        return [f"c{int(value) % N_CATEGORIES}" if ok else "gone" for value, ok in zip(values, known, strict=True)]
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 1.0)
    share = (values - low) / ((high - low) or 1.0)
    mark = "w" if kind is FactorKind.CIRCULAR else "r"
    shades = np.minimum(np.where(known, share, 0.0) * N_SHADES, N_SHADES - 1).astype(int)
    return [f"{mark}{shade}" if ok else "gone" for shade, ok in zip(shades, known, strict=True)]


def _paths(styles: Sequence[str], place: _Placement, xs: FloatArray, ys: FloatArray) -> tuple[DotPath, ...]:
    places = place(np.stack([xs, ys], axis=1))
    by_style: dict[str, list[str]] = {}
    for style, (x, y) in zip(styles, places.tolist(), strict=True):
        if np.isfinite(x + y):
            by_style.setdefault(style, []).append(f"M{x:g} {y:g}h0")
    return tuple(DotPath(style=style, d="".join(parts)) for style, parts in sorted(by_style.items()))


def _line(place: _Placement, points: FloatArray, label: str, role: LineRole) -> StillLine:
    moved = place(points)
    x, y = moved[-1]
    anchor = "end" if x > WIDTH - 60 else "start" if x < LEFT + 40 else "middle"
    return StillLine(
        points=" ".join(f"{a:g},{b:g}" for a, b in moved.tolist()),
        label=clip(label, 24),
        is_code=role is LineRole.CODE_AXIS,
        x=f"{x:g}",
        y=f"{min(max(y - 4, 16.0), HEIGHT - BOTTOM - 8.0):g}",
        anchor=anchor,
    )
