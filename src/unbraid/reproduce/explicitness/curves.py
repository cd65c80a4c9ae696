"""Loss by capacity of several seeds: kept as numbers, and drawn with a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.files import write_text
from unbraid.evidence.loss_capacity import CapacityCurves
from unbraid.report.charts import Chart, ChartGroup, Series, line_chart
from unbraid.report.figure import FigurePage, render_figure_page
from unbraid.reproduce.result import as_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Loss by capacity, the mean over factors, as Fig. 1 of DCI-ES shows it.

    Attributes:
        axis: Unit of the capacities.
        capacities: Capacity of each level, the mean over factors.
        losses: For each seed, the loss on each level.
    """

    axis: str
    capacities: tuple[float, ...]
    losses: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, seeds: Sequence[CapacityCurves]) -> Self:
        """Return the mean over factors of the curves of each seed."""
        return cls(
            axis=seeds[0].axis,
            capacities=tuple(seeds[0].capacities.mean(axis=0).tolist()),
            losses=tuple(tuple(one.losses.mean(axis=0).tolist()) for one in seeds),
        )

    @classmethod
    def joined(cls, curves: Sequence[Curve]) -> Self:
        """Return the curves of several runs as one."""
        first = curves[0]
        losses = tuple(losses for one in curves for losses in one.losses)
        return cls(axis=first.axis, capacities=first.capacities, losses=losses)

    @property
    def mean(self) -> FloatArray:
        """Mean over seeds, ``(n_levels,)``."""
        return np.asarray(np.mean(self.losses, axis=0))

    @property
    def band(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest loss of the seeds on each level."""
        return np.min(self.losses, axis=0), np.max(self.losses, axis=0)


def write_curves(
    path: str | Path,
    ladders: Mapping[str, Mapping[str, Curve]],
    *,
    name: str,
    title: str,
    paper: str,
    notes: Sequence[str],
) -> Path:
    """Write one chart for each ladder, a curve for each representation with its band over seeds, as one page.

    Args:
        path: Where to write.
        ladders: Curves by representation, by ladder.
        name: Name on the command line.
        title: Title of the page.
        paper: Where the figure was published.
        notes: Notes under the table.
    """
    drawn = {ladder: curves for ladder, curves in ladders.items() if curves}
    groups = [ChartGroup(charts=[_chart(ladder, curves) for ladder, curves in drawn.items()])]
    rows = [
        [ladder, who, str(len(curve.losses)), as_text(float(curve.mean[0])), as_text(float(curve.mean.min()))]
        for ladder, curves in drawn.items()
        for who, curve in curves.items()
    ]
    page = FigurePage(
        name=name,
        title=title,
        paper=paper,
        lede="Loss of probes of growing capacity, the mean over factors. Lines are means over seeds, bands reach from "
        "the smallest to the largest.",
        facts=[],
        header=["probes", "representation", "seeds", "first loss", "lowest loss"],
        rows=rows,
        groups=groups,
        notes=notes,
    )
    return write_text(path, render_figure_page(page))


def _chart(ladder: str, curves: Mapping[str, Curve]) -> Chart:
    series = [
        Series(
            name=name,
            x=np.array(curve.capacities),
            y=curve.mean,
            low=curve.band[0],
            high=curve.band[1],
            colour=number,
        )
        for number, (name, curve) in enumerate(curves.items())
    ]
    return line_chart(series, title=ladder, x_label=next(iter(curves.values())).axis, y_label="loss")
