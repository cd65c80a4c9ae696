"""Loss against capacity as tables, for those who cannot see the charts or want the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from unbraid.report._format import EN_DASH, clip, number, short
from unbraid.report._grid import Cell, Grid, GridRow
from unbraid.report._loss_curves import MAX_FACTORS, MAX_OVERLAID, MEAN
from unbraid.report._loss_data import LossCurve, LossCurves, curves_of
from unbraid.result import Report


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
