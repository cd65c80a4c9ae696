"""Sections of the report page: factors that depend on each other, and the axes that each factor needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import clip, count, listing, number, short
from unbraid.evidence.dependence import FactorDependence
from unbraid.evidence.subspaces.options import Subspaces
from unbraid.interpret.dependence import MOVES_NOTHING, distrusted, expected_move, metrics_to_ask_for, read_instead
from unbraid.interpret.summary import Doubt
from unbraid.metrics import METRICS
from unbraid.metrics.geometry.orthogonality import loss_curves, padded_columns
from unbraid.report.charts import MOST_CHARTS, TOP, Bar, Chart, ChartGroup, Scale, Series, line_chart
from unbraid.report.grids import Grid, make_rows
from unbraid.results.report import Report

#: Factors of the table of dependence.
MAX_FACTORS = 20
#: Triples of factors in its sentence.
MOST_TRIPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DependenceView:
    """The section about factors that depend on each other.

    Attributes:
        sentence: Result of the test of dependence, in a sentence.
        grid: Dependence of every two factors.
        doubts: Reasons to distrust scores, each with the scores it is about.
        better: Scores to read instead: title, name, value or empty where it was not run.
        hint: How to get those that were not run, or empty.
    """

    sentence: str
    grid: Grid
    doubts: tuple[Doubt, ...]
    better: tuple[tuple[str, str, str], ...]
    hint: str


def dependence_view(report: Report) -> DependenceView | None:
    """Return the section, or ``None`` where no factors depend on each other or that was not tested."""
    found = report.dependence
    if found is None or not found.found:
        return None
    reasons: dict[str, list[str]] = {}
    doubted = distrusted(report.scores, found)
    for name, reason in doubted.items():
        move = expected_move(METRICS[name], found)
        by = "" if move is None else f" (by about {move:+.2f})"
        reasons.setdefault(reason, []).append(f"{METRICS[name].title}{by}")
    better = read_instead(doubted)
    asked = metrics_to_ask_for(better, report.scores)
    return DependenceView(
        sentence=_sentence(found) + ("" if doubted else f" {MOVES_NOTHING}"),
        grid=_grid(report, found),
        doubts=tuple(
            Doubt(text=reason[0].upper() + reason[1:], about=tuple(titles)) for reason, titles in reasons.items()
        ),
        better=tuple((METRICS[name].title, name, _value(report, name)) for name in better),
        hint=f"Scores without a value were not run: ask for --metrics {asked}." if asked else "",
    )


def _sentence(found: FactorDependence) -> str:
    n_tied, n_pairs = len(found.dependent_pairs), len(found.pairs)
    triples = [f"{listing(triple.names)} ({triple.strength:.2f})" for triple in found.triples[:MOST_TRIPLES]]
    if len(found.triples) > MOST_TRIPLES:
        triples.append(f"{len(found.triples) - MOST_TRIPLES} more")
    beyond = f" Three factors depend on each other though no two of them do: {'; '.join(triples)}." if triples else ""
    return (
        f"{n_tied} of {count(n_pairs, 'pair')} of factors depend on each other by a permutation test with "
        f"{found.n_shuffles} shuffles; were all factors independent, the chance of any such finding would be at most "
        f"{100 * found.level:g} %.{beyond}"
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
        caption="Mutual information of every two factors in excess of shuffled factors, as a share of the largest "
        "possible: 0 for independent factors, 1 where one is a function of the other.",
        corner="factor by factor",
        columns=tuple(clip(name) for name in shown),
        rows=make_rows(matrix[: len(shown), : len(shown)], list(shown), top=1.0),
        left_out=f"Shown: the first {len(shown)} of {len(names)} factors." if len(shown) < len(names) else "",
    )


def _value(report: Report, name: str) -> str:
    return number(report.scores[name].value) if name in report.scores else ""


MAX_AXES = 16
#: Pixels from the top of a chart to its zero, and the share of the way to the next axis that a bar is wide.
AXES_BASE, BAR_SHARE = 78.0, 0.6


class _Found(NamedTuple):
    losses: FloatArray
    weights: FloatArray
    names: tuple[str, ...]
    left_out: str


def make_curves(report: Report) -> ChartGroup | None:
    """Return small charts on the same scales, one for each factor, where subspaces of the factors were fitted."""
    found = _find(report)
    if found is None:
        return None
    n_axes = max(len(found.losses) - 1, 1)
    charts = [
        _axes_chart(clip(name), _finite(found.losses[:, k]), _finite(found.weights[:, k]), n_axes)
        for k, name in enumerate(found.names)
    ]
    return ChartGroup(charts=charts, left_out=found.left_out)


def loss_grid(report: Report) -> Grid | None:
    """Return the losses as a table: factors by number of axes kept."""
    found = _find(report)
    if found is None:
        return None
    return Grid(
        key="losses",
        title="Loss left, by axes kept",
        caption="As a share of the loss without any axis. A dash: no further axis lowers the loss.",
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
        f"the first {MOST_CHARTS} of {len(names)} factors" if len(names) > MOST_CHARTS else "",
        f"the first {MAX_AXES} of {_axes(n_axes)}" if n_axes > MAX_AXES else "",
    ]
    parts = [part for part in cut if part]
    return _Found(
        losses=losses[: MAX_AXES + 1, :MOST_CHARTS],
        weights=weights[:MAX_AXES, :MOST_CHARTS],
        names=names[:MOST_CHARTS],
        left_out=f"Shown: {listing(parts)}." if parts else "",
    )


def _axes_chart(name: str, losses: FloatArray, weights: FloatArray, n_axes: int) -> Chart:
    """Draw the loss left with no axis, one, two, ... as a line, and the weight of each axis as a bar."""
    x = Scale(low=-0.5, high=n_axes + 0.5)
    y = Scale(low=0.0, high=1.0, start=AXES_BASE, stop=TOP)
    width = round(BAR_SHARE * 100 / (n_axes + 1), 2)
    bars = [
        Bar(
            round(x.place(axis) - width / 2, 2),
            width,
            y.place(share),
            round(AXES_BASE - y.place(share), 2),
            f"{name}: axis {axis} has weight {short(share)}",
        )
        for axis, share in enumerate(weights.tolist()[:n_axes], start=1)
    ]
    tips = [f"{name}: {short(share)} of the loss left with {_axes(k)}" for k, share in enumerate(losses.tolist())]
    left = listing([f"{short(share)} with {_axes(kept)}" for kept, share in enumerate(losses.tolist()) if kept], 99)
    weighed = listing([short(share) for share in weights.tolist()], 99)
    return line_chart(
        [Series(name="loss left", x=np.arange(len(losses), dtype=float), y=losses, tips=tips)],
        title=name,
        description=f"{name}. Loss left: {left or 'all'}. Weights: {weighed}.",
        base=AXES_BASE,
        x=x,
        y=y,
        x_marks=[(float(axis), str(axis)) for axis in range(0, n_axes + 1, 1 if n_axes <= 8 else 2)],
        y_marks=[(1.0, "")],
        bars=bars,
    )


def _finite(column: FloatArray) -> FloatArray:
    kept: FloatArray = column[np.isfinite(column)]
    return kept


def _axes(kept: int) -> str:
    return "no axis" if not kept else "1 axis" if kept == 1 else f"{kept:,} axes"
