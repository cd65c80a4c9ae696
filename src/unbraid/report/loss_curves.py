"""Loss-capacity data, charts, tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import EN_DASH, clip, listing, number, short
from unbraid.evidence.loss_capacity import CapacityCurves
from unbraid.metrics._dci_es import curve_explicitness, curve_informativeness
from unbraid.report.charts import round_up
from unbraid.report.grids import Cell, Grid, GridRow
from unbraid.results.report import Report


class LossCurve(NamedTuple):
    """One curve.

    Attributes:
        capacities: Increasing, ``(n_rungs,)``; so are the next three.
        losses: On held-out rows.
        low: Lower end of the interval.
        high: Upper end.
        baseline: Loss of a guess made without the codes.
        explicitness: E of the curve; ``None`` for a single capacity, which has none.
        informativeness: I of the curve.
    """

    capacities: FloatArray
    losses: FloatArray
    low: FloatArray
    high: FloatArray
    baseline: float
    explicitness: float | None
    informativeness: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCurves:
    """The curves of one representation.

    Attributes:
        axis: What the capacities count.
        by_factor: The curve of each factor.
        mean: Their mean, rung by rung, or ``None`` for a single factor.
    """

    axis: str
    by_factor: Mapping[str, LossCurve]
    mean: LossCurve | None


def curves_of(report: Report) -> LossCurves | None:
    """Return the curves among a report's evidence, if any."""
    record = next(iter(report.evidence_of(CapacityCurves)), None)
    if record is None:
        return None
    found = record.data
    informativeness = curve_informativeness(found)
    explicitness = curve_explicitness(found) if found.capacities.shape[1] > 1 else None
    by_factor = {
        name: LossCurve(
            found.capacities[k],
            found.losses[k],
            found.low[k],
            found.high[k],
            float(found.baselines[k]),
            None if explicitness is None else float(explicitness[k]),
            float(informativeness[k]),
        )
        for k, name in enumerate(report.setup.factor_names)
    }
    # Factors share their test rows, so their errors may go together: the mean of the bands does not assume otherwise.
    mean = LossCurve(
        found.capacities.mean(axis=0),
        found.losses.mean(axis=0),
        found.low.mean(axis=0),
        found.high.mean(axis=0),
        float(found.baselines.mean()),
        None if explicitness is None else float(explicitness.mean()),
        float(informativeness.mean()),
    )
    return LossCurves(axis=found.axis, by_factor=by_factor, mean=mean if len(by_factor) > 1 else None)


MAX_FACTORS, MAX_OVERLAID = 40, 12
TOP, HEIGHT, TALL = 14.0, 84.0, 190.0
HEADROOM, LEFT, WIDTH = 1.04, 5.0, 93.0
MEAN = "Mean over factors"


class Place(NamedTuple):
    """One rung of one curve: ``x`` in percent, ``y`` in pixels from above."""

    x: float
    y: float
    tip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One curve.

    Attributes:
        style: Which colour, dashes and mark it has; the same for one representation on the whole page.
        name: Of the representation.
        path: Corners of the line, as SVG writes them, ``x`` from 0 to 100.
        band: Corners of the interval round it.
        places: Where the marks go.
        caption: Explicitness and informativeness.
    """

    style: int
    name: str
    path: str
    band: str
    places: tuple[Place, ...]
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """The curves of one factor, or of the mean.

    Attributes:
        name: Of the factor.
        says: What the chart shows, in words.
        lines: The curves.
        guesses: Height and loss of a blind guess; one, unless the representations have other rows.
        base: Where a loss of 0 is, in pixels from above.
        levels: Height and label of lines across, for a tall chart.
    """

    name: str
    says: str
    lines: tuple[Line, ...]
    guesses: tuple[tuple[float, str], ...]
    base: float
    levels: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCharts:
    """Charts on the same scales.

    Attributes:
        axis: What the capacities count.
        names: Style and name of each representation.
        mean: The chart of the mean, or ``None`` where there is one factor.
        charts: The others.
        ticks: Place and label along the axis of capacities.
        left_out: What is not shown, in a sentence, or empty.
    """

    axis: str
    names: tuple[tuple[int, str], ...]
    mean: Chart | None
    charts: tuple[Chart, ...]
    ticks: tuple[tuple[float, str], ...]
    left_out: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """Capacities and losses to places."""

    first: float
    last: float
    most: float

    def across(self, capacity: float) -> float:
        share = (capacity - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return round(LEFT + WIDTH * share, 2)

    def down(self, loss: float, height: float) -> float:
        """Losses above the scale stay at its top."""
        return round(TOP + height * (1 - min(1.0, max(0.0, loss / self.most))), 2)


def draw_losses(reports: Mapping[str, Report]) -> list[LossCharts]:
    """Return charts for the reports that carry curves; curves along different axes are not drawn together."""
    by_axis: dict[str, dict[int, tuple[str, LossCurves]]] = {}
    for style, (name, report) in enumerate(reports.items()):
        curves = curves_of(report)
        if curves is not None:
            by_axis.setdefault(curves.axis, {})[style] = (name, curves)
    return [_charts(axis, found) for axis, found in by_axis.items()]


def _charts(axis: str, found: dict[int, tuple[str, LossCurves]]) -> LossCharts:
    shown = dict(list(found.items())[:MAX_OVERLAID])
    factors = list(dict.fromkeys(factor for _, curves in shown.values() for factor in curves.by_factor))
    scale = _scale_of([curve for _, curves in shown.values() for curve in curves.by_factor.values()])
    means = {style: (name, curves.mean) for style, (name, curves) in shown.items() if curves.mean is not None}
    charts = tuple(
        _chart(
            clip(factor),
            {s: (name, curves.by_factor[factor]) for s, (name, curves) in shown.items() if factor in curves.by_factor},
            scale,
            HEIGHT,
            alone=len(found) == 1,
        )
        for factor in factors[:MAX_FACTORS]
    )
    return LossCharts(
        axis=axis or "capacity",
        names=tuple((style, name) for style, (name, _) in shown.items()),
        mean=_chart(MEAN, means, scale, TALL, alone=len(found) == 1) if means else None,
        charts=charts,
        ticks=tuple((scale.across(tick), f"{tick:g}") for tick in steps(scale.first, scale.last)),
        left_out=_left_out(len(factors), len(found)),
    )


def _scale_of(curves: list[LossCurve]) -> _Scale:
    return _Scale(
        first=min(float(curve.capacities[0]) for curve in curves),
        last=max(float(curve.capacities[-1]) for curve in curves),
        most=HEADROOM * max(curve.baseline for curve in curves),
    )


def _chart(
    name: str, curves: Mapping[int, tuple[str, LossCurve]], scale: _Scale, height: float, *, alone: bool
) -> Chart:
    lines = tuple(
        _line(style, "" if alone else who, name, curve, scale, height) for style, (who, curve) in curves.items()
    )
    guesses = dict.fromkeys((scale.down(curve.baseline, height), short(curve.baseline)) for _, curve in curves.values())
    told = [_told(curve) if alone else f"{clip(who)}: {_told(curve)}" for who, curve in curves.values()]
    levels = [(scale.down(loss, height), f"{loss:g}") for loss in steps(0.0, scale.most)] if height == TALL else []
    return Chart(
        name=name,
        says=f"{name}. Loss of a blind guess: {listing([text for _, text in guesses], 99)}. {' '.join(told)}",
        lines=lines,
        guesses=tuple(guesses),
        base=scale.down(0.0, height),
        levels=tuple(levels),
    )


def _line(style: int, who: str, factor: str, curve: LossCurve, scale: _Scale, height: float) -> Line:
    across = [scale.across(capacity) for capacity in curve.capacities.tolist()]
    heights = [
        [scale.down(loss, height) for loss in losses.tolist()] for losses in (curve.losses, curve.low, curve.high)
    ]
    middle, bottom, top = ([f"{x},{y}" for x, y in zip(across, ys, strict=True)] for ys in heights)
    subject = f"{clip(who)}, {factor}" if who else factor
    places = tuple(
        Place(x, y, f"{subject}: loss {number(loss)} ({number(low)} to {number(high)}) at capacity {number(capacity)}")
        for x, y, capacity, loss, low, high in zip(
            across, heights[0], *(column.tolist() for column in curve[:4]), strict=True
        )
    )
    return Line(
        style=style,
        name=who,
        path=" ".join(middle),
        band=" ".join([*bottom, *reversed(top)]),
        places=places,
        caption=_letters(curve),
    )


def _told(curve: LossCurve) -> str:
    best = int(curve.losses.argmin())
    start = f"Loss {number(float(curve.losses[0]))} at capacity {number(float(curve.capacities[0]))}"
    lowest = f"lowest {number(float(curve.losses[best]))} at {number(float(curve.capacities[best]))}"
    return f"{start}, {lowest}; {_letters(curve)}.".replace("; .", ".")


def _letters(curve: LossCurve) -> str:
    found = (("E", curve.explicitness), ("I", curve.informativeness))
    return ", ".join(f"{letter} {number(value)}" for letter, value in found if value is not None)


def _left_out(n_factors: int, n_reports: int) -> str:
    parts = [
        f"the first {MAX_FACTORS} of {n_factors} factors" if n_factors > MAX_FACTORS else "",
        f"the first {MAX_OVERLAID} of {n_reports} representations" if n_reports > MAX_OVERLAID else "",
    ]
    shown = [part for part in parts if part]
    return f"Drawn: {listing(shown)}." if shown else ""


def steps(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers from ``low`` to ``high``, at most ``most`` of them.

    Example:
        >>> steps(0.0, 1.04), steps(1.0, 32.0)
        ([0.0, 0.5, 1.0], [10.0, 20.0, 30.0])
    """
    if high <= low:
        return [low]
    step = round_up((high - low) / most)
    return [round(k * step, 10) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def loss_tables(reports: Mapping[str, Report]) -> list[Grid]:
    """Return one table for each representation that carries curves: factors by rungs."""
    found = [(name, curves) for name, report in reports.items() if (curves := curves_of(report)) is not None]
    return [
        _table(f"losses-{place}", "" if len(found) == 1 else clip(name), curves)
        for place, (name, curves) in enumerate(found[:MAX_OVERLAID])
    ]


def _table(key: str, name: str, curves: LossCurves) -> Grid:
    rows = list(_named(curves))
    n_rungs = max(len(curve.losses) for _, curve in rows)
    shared = all(np.allclose(curve.capacities, rows[0][1].capacities) for _, curve in rows)
    columns = (
        [number(c) for c in rows[0][1].capacities.tolist()] if shared else [f"rung {t + 1}" for t in range(n_rungs)]
    )
    where = "Columns are capacities" if shared else "Each cell gives loss, interval and, after the @, capacity"
    return Grid(
        key=key,
        title=f"Loss by capacity{f', {name}' if name else ''}",
        caption=f"{where} ({curves.axis or 'capacity'}). In brackets, the 95 % interval over held-out rows.",
        corner="factor by capacity",
        columns=("blind guess", *columns),
        rows=tuple(_row(factor, curve, shared) for factor, curve in rows),
    )


def _named(curves: LossCurves) -> Iterator[tuple[str, LossCurve]]:
    if curves.mean is not None:
        yield MEAN, curves.mean
    yield from list(curves.by_factor.items())[:MAX_FACTORS]


def _row(factor: str, curve: LossCurve, shared: bool) -> GridRow:
    columns = zip(*(column.tolist() for column in curve[:4]), strict=True)
    cells = tuple(
        Cell(text=f"{short(loss)} ({short(low)}{EN_DASH}{short(high)})" + ("" if shared else f" @ {number(capacity)}"))
        for capacity, loss, low, high in columns
    )
    return GridRow(name=clip(factor), cells=(Cell(text=short(curve.baseline)), *cells))
