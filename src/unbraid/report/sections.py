"""Dependence, axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import clip, count, listing, number, short
from unbraid.evidence.dependence import FactorDependence
from unbraid.evidence.subspaces.options import Subspaces
from unbraid.interpret.dependence import distrusted, read_instead
from unbraid.interpret.summary import Doubt
from unbraid.metrics import METRICS
from unbraid.metrics._orthogonality import loss_curves, padded_columns
from unbraid.report.grids import Grid, make_rows
from unbraid.results.report import Report

MAX_FACTORS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DependenceView:
    """What the section shows.

    Attributes:
        says: What the test found, in a sentence.
        grid: Strength of every two factors.
        doubts: Reasons to distrust scores, each with the scores it is about.
        better: Scores to read instead: title, name, value or empty where it was not run.
        hint: How to get those that were not run, or empty.
    """

    says: str
    grid: Grid
    doubts: tuple[Doubt, ...]
    better: tuple[tuple[str, str, str], ...]
    hint: str


def dependence_view(report: Report) -> DependenceView | None:
    """Return the section, or ``None`` where no factors depend on each other or that was not tested."""
    found = report.dependence
    if found is None or not found.dependent_pairs:
        return None
    reasons: dict[str, list[str]] = {}
    doubted = distrusted(report.scores, found)
    for name, reason in doubted.items():
        reasons.setdefault(reason, []).append(METRICS[name].title)
    better = read_instead(doubted)
    missing = any(name not in report.scores for name in better)
    return DependenceView(
        says=_says(found),
        grid=_grid(report, found),
        doubts=tuple(
            Doubt(text=reason[0].upper() + reason[1:], about=tuple(titles)) for reason, titles in reasons.items()
        ),
        better=tuple((METRICS[name].title, name, _value(report, name)) for name in better),
        hint='Those without a value were not run: add "dependent" to the metrics (--metrics default,dependent).'
        if missing
        else "",
    )


def _says(found: FactorDependence) -> str:
    n_tied, n_pairs = len(found.dependent_pairs), len(found.pairs)
    return (
        f"{n_tied} of {count(n_pairs, 'pair')} of factors depend on each other by a permutation test with "
        f"{found.n_shuffles} shuffles; were all factors independent, the chance of any such finding would be at most "
        f"{100 * found.level:g} %."
    )


def _grid(report: Report, found: FactorDependence) -> Grid:
    names = report.setup.factor_names
    place = {name: k for k, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    for pair in found.pairs:
        first, second = place[pair.first], place[pair.second]
        matrix[first, second] = matrix[second, first] = pair.strength
    shown = names[:MAX_FACTORS]
    return Grid(
        key="dependence",
        title="Dependence of factors",
        caption="Mutual information of every two factors beyond what shuffled ones have, as a share of the most there "
        "could be: 0 for independent factors, 1 where one is a function of the other.",
        corner="factor by factor",
        columns=tuple(clip(name) for name in shown),
        rows=make_rows(matrix[: len(shown), : len(shown)], list(shown), top=1.0),
        left_out=f"Shown: the first {len(shown)} of {len(names)} factors." if len(shown) < len(names) else "",
    )


def _value(report: Report, name: str) -> str:
    return number(report.scores[name].value) if name in report.scores else ""


CURVE_FACTORS, MAX_AXES = 40, 16
TOP, HEIGHT, BAR_SHARE = 6.0, 64.0, 0.6


class Mark(NamedTuple):
    """One mark: a dot of the line, or the top of a bar; ``x`` in percent, ``y`` in pixels from above."""

    x: float
    y: float
    tip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The small chart of one factor.

    Attributes:
        name: Of the factor.
        says: What the chart shows, in words.
        dots: Loss left with no axis, one, two, ...
        bars: Weight of each axis.
    """

    name: str
    says: str
    dots: tuple[Mark, ...]
    bars: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Small charts on the same scales, one for each factor.

    Attributes:
        panels: The charts.
        ticks: Place and label along the axis of axes.
        bar_width: In percent.
        top: Where a share of 1 is, in pixels from above.
        base: Where a share of 0 is.
        left_out: What is not shown, in a sentence, or empty.
    """

    panels: tuple[Panel, ...]
    ticks: tuple[tuple[float, str], ...]
    bar_width: float
    top: float
    base: float
    left_out: str


class _Found(NamedTuple):
    losses: FloatArray
    weights: FloatArray
    names: tuple[str, ...]
    left_out: str


def make_curves(report: Report) -> Curves | None:
    """Return the charts, where subspaces of the factors were fitted."""
    found = _find(report)
    if found is None:
        return None
    n_axes = max(len(found.losses) - 1, 1)
    return Curves(
        panels=tuple(
            _panel(clip(name), _finite(found.losses[:, k]), _finite(found.weights[:, k]), n_axes)
            for k, name in enumerate(found.names)
        ),
        ticks=tuple((_across(axis, n_axes), str(axis)) for axis in range(0, n_axes + 1, 1 if n_axes <= 8 else 2)),
        bar_width=round(BAR_SHARE * 100 / (n_axes + 1), 2),
        top=TOP,
        base=_down(0.0),
        left_out=found.left_out,
    )


def loss_grid(report: Report) -> Grid | None:
    """Return the losses as a table: factors by number of axes kept."""
    found = _find(report)
    if found is None:
        return None
    return Grid(
        key="losses",
        title="Loss left, by axes kept",
        caption="As a share of the loss with no axis. A dash: no more axes were found to help.",
        corner="factor by axes kept",
        columns=tuple(str(axis) for axis in range(len(found.losses))),
        rows=make_rows(found.losses.T, found.names, top=1.0),
    )


def weight_grid(report: Report) -> Grid | None:
    """Return the weights as a table: factors by axes."""
    found = _find(report)
    if found is None:
        return None
    return Grid(
        key="weights",
        title="Weight of each axis",
        caption="How much each axis matters to its factor; each row adds to 1, unless axes are left out.",
        corner="factor by axis",
        columns=tuple(f"axis {axis + 1}" for axis in range(len(found.weights))),
        rows=make_rows(found.weights.T, found.names, top=1.0),
    )


def _find(report: Report) -> _Found | None:
    found, names = next(iter(report.evidence_of(Subspaces)), None), report.setup.factor_names
    if found is None:
        return None
    losses, weights = loss_curves(found.data), padded_columns(found.data.weights)
    n_axes = max(len(losses) - 1, len(weights))
    cut = [
        f"the first {CURVE_FACTORS} of {len(names)} factors" if len(names) > CURVE_FACTORS else "",
        f"the first {MAX_AXES} of {_axes(n_axes)}" if n_axes > MAX_AXES else "",
    ]
    parts = [part for part in cut if part]
    return _Found(
        losses=losses[: MAX_AXES + 1, :CURVE_FACTORS],
        weights=weights[:MAX_AXES, :CURVE_FACTORS],
        names=names[:CURVE_FACTORS],
        left_out=f"Shown: {listing(parts)}." if parts else "",
    )


def _panel(name: str, losses: FloatArray, weights: FloatArray, n_axes: int) -> Panel:
    dots = tuple(
        Mark(_across(kept, n_axes), _down(share), f"{name}: {short(share)} of the loss left with {_axes(kept)}")
        for kept, share in enumerate(losses.tolist())
    )
    bars = tuple(
        Mark(_across(axis, n_axes), _down(share), f"{name}: axis {axis} has weight {short(share)}")
        for axis, share in enumerate(weights.tolist()[:n_axes], start=1)
    )
    left = listing([f"{short(share)} with {_axes(kept)}" for kept, share in enumerate(losses.tolist()) if kept], 99)
    weighed = listing([short(share) for share in weights.tolist()], 99)
    return Panel(name=name, says=f"{name}. Loss left: {left or 'all'}. Weights: {weighed}.", dots=dots, bars=bars)


def _finite(column: FloatArray) -> FloatArray:
    kept: FloatArray = column[np.isfinite(column)]
    return kept


def _axes(kept: int) -> str:
    return "no axis" if not kept else "1 axis" if kept == 1 else f"{kept:,} axes"


def _across(axis: int, n_axes: int) -> float:
    """Return the middle of the column of an axis, in percent; 0 is the column without axes."""
    return round(100 * (axis + 0.5) / (n_axes + 1), 2)


def _down(share: float) -> float:
    """Return the height of a share, in pixels from above; losses a little above 1 stay inside."""
    return round(TOP + HEIGHT * (1 - min(1.0, max(0.0, share))), 2)
