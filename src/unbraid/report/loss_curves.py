"""Loss–capacity curves: their data, charts and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import EN_DASH, clip, listing, number, short
from unbraid.evidence.loss_capacity import CapacityCurves
from unbraid.metrics.prediction.dci_es import curve_explicitness, curve_informativeness
from unbraid.report.charts import MOST_CHARTS, TOP, Chart, Scale, Series, line_chart
from unbraid.report.grids import Cell, Grid, GridRow
from unbraid.results.report import Report


class LossCurve(NamedTuple):
    """One curve.

    Attributes:
        capacities: Increasing, ``(n_levels,)``; so are the next three.
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
        mean: Their mean, level by level, or ``None`` for a single factor.
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


MAX_OVERLAID = 12
#: Pixels from the top of a chart to a loss of 0: of a factor's chart, and of the mean's.
SMALL, TALL = 98.0, 204.0
#: Room above the highest baseline, as a factor; ends of the curves, in percent of the width.
HEADROOM, LEFT, RIGHT = 1.04, 3.0, 97.0
MEAN = "Mean over factors"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCharts:
    """Charts on the same scales.

    Attributes:
        axis: What the capacities count.
        names: Style and name of each representation; one style on the whole page.
        mean: The chart of the mean, or ``None`` where there is one factor.
        charts: One for each factor.
        left_out: What is not shown, in a sentence, or empty.
    """

    axis: str
    names: tuple[tuple[int, str], ...]
    mean: Chart | None
    charts: tuple[Chart, ...]
    left_out: str


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
    every = [curve for _, curves in shown.values() for curve in curves.by_factor.values()]
    capacities = Scale(
        low=min(float(curve.capacities[0]) for curve in every),
        high=max(float(curve.capacities[-1]) for curve in every),
        start=LEFT,
        stop=RIGHT,
    )
    most, alone = HEADROOM * max(curve.baseline for curve in every), len(found) == 1
    means = {style: (name, curves.mean) for style, (name, curves) in shown.items() if curves.mean is not None}
    charts = tuple(
        _chart(
            clip(factor),
            {s: (name, curves.by_factor[factor]) for s, (name, curves) in shown.items() if factor in curves.by_factor},
            capacities,
            Scale(low=0.0, high=most, start=SMALL, stop=TOP),
            alone=alone,
        )
        for factor in factors[:MOST_CHARTS]
    )
    tall = Scale(low=0.0, high=most, start=TALL, stop=TOP)
    return LossCharts(
        axis=axis or "capacity",
        names=tuple((style, name) for style, (name, _) in shown.items()),
        mean=_chart(MEAN, means, capacities, tall, alone=alone) if means else None,
        charts=charts,
        left_out=_left_out(len(factors), len(found)),
    )


def _chart(name: str, curves: Mapping[int, tuple[str, LossCurve]], x: Scale, y: Scale, *, alone: bool) -> Chart:
    is_tall = y.start == TALL
    guesses = {short(curve.baseline): curve.baseline for _, curve in curves.values()}
    told = [_told(curve) if alone else f"{clip(who)}: {_told(curve)}" for who, curve in curves.values()]
    return line_chart(
        [_series(style, "" if alone else who, name, curve) for style, (who, curve) in curves.items()],
        title=name,
        description=f"{name}. Baseline loss: {listing(list(guesses), 99)}. {' '.join(told)}",
        base=y.start,
        x=x,
        y=y,
        y_marks=None if is_tall else (),
        levels=[(loss, f"baseline {text}" if is_tall else text) for text, loss in guesses.items()],
    )


def _series(style: int, who: str, factor: str, curve: LossCurve) -> Series:
    subject = f"{clip(who)}, {factor}" if who else factor
    return Series(
        name=who,
        x=curve.capacities,
        y=curve.losses,
        low=curve.low,
        high=curve.high,
        colour=style,
        tips=[
            f"{subject}: loss {number(loss)} ({number(low)} to {number(high)}) at capacity {number(capacity)}"
            for capacity, loss, low, high in zip(*(column.tolist() for column in curve[:4]), strict=True)
        ],
        note=_letters(curve),
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
        f"the first {MOST_CHARTS} of {n_factors} factors" if n_factors > MOST_CHARTS else "",
        f"the first {MAX_OVERLAID} of {n_reports} representations" if n_reports > MAX_OVERLAID else "",
    ]
    shown = [part for part in parts if part]
    return f"Drawn: {listing(shown)}." if shown else ""


def loss_tables(reports: Mapping[str, Report]) -> list[Grid]:
    """Return one table for each representation that carries curves: factors by capacity levels."""
    found = [(name, curves) for name, report in reports.items() if (curves := curves_of(report)) is not None]
    return [
        _table(f"losses-{place}", "" if len(found) == 1 else clip(name), curves)
        for place, (name, curves) in enumerate(found[:MAX_OVERLAID])
    ]


def _table(key: str, name: str, curves: LossCurves) -> Grid:
    rows = list(_named(curves))
    n_levels = max(len(curve.losses) for _, curve in rows)
    shared = all(np.allclose(curve.capacities, rows[0][1].capacities) for _, curve in rows)
    columns = (
        [number(c) for c in rows[0][1].capacities.tolist()] if shared else [f"level {t + 1}" for t in range(n_levels)]
    )
    where = "Columns are capacities" if shared else "Each cell gives loss, interval and, after the @, capacity"
    return Grid(
        key=key,
        title=f"Loss by capacity{f', {name}' if name else ''}",
        caption=f"{where} ({curves.axis or 'capacity'}). In brackets, the 95 % confidence interval over the test set.",
        corner="factor by capacity",
        columns=("baseline", *columns),
        rows=tuple(_row(factor, curve, shared) for factor, curve in rows),
    )


def _named(curves: LossCurves) -> Iterator[tuple[str, LossCurve]]:
    if curves.mean is not None:
        yield MEAN, curves.mean
    yield from list(curves.by_factor.items())[:MOST_CHARTS]


def _row(factor: str, curve: LossCurve, shared: bool) -> GridRow:
    columns = zip(*(column.tolist() for column in curve[:4]), strict=True)
    cells = tuple(
        Cell(text=f"{short(loss)} ({short(low)}{EN_DASH}{short(high)})" + ("" if shared else f" @ {number(capacity)}"))
        for capacity, loss, low, high in columns
    )
    return GridRow(name=clip(factor), cells=(Cell(text=short(curve.baseline)), *cells))
