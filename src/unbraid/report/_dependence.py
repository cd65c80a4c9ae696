"""The section on factors that depend on each other: how strongly, which scores to distrust, which to read instead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._dependence import distrusted, read_instead
from unbraid.evidence.factor_dependence import FactorDependence
from unbraid.metrics import METRICS
from unbraid.report._doubts import Doubt
from unbraid.report._format import clip, count, number
from unbraid.report._grid import Grid, make_rows
from unbraid.result import Report

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
    names = report.meta["factor_names"]
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
