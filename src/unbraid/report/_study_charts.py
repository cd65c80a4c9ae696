"""Which charts a study's page shows, and what their marks say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unbraid.report._format import number
from unbraid.report._study_panels import Panel, Trace, make_panel
from unbraid.report._study_words import bare, coefficient, main_matrix
from unbraid.study._analysis import Analysis
from unbraid.study._profiles import scatter

MOST_SCATTERS, MOST_CONTRADICTIONS = 9, 3
#: Models drawn in one scatter plot.
MOST_POINTS = 240
#: Charts against strength, over all data sets.
MOST_STRENGTHS = 24
MOST_SIZES = 24
#: Share of the way to the next strength over which families are spread.
APART = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """Charts of one kind.

    Attributes:
        key: Short identifier.
        title: What they have in common, for a choice between several.
        panels: The charts.
        left_out: What is not drawn, in a sentence, or empty.
    """

    key: str
    title: str
    panels: tuple[Panel, ...]
    left_out: str = ""


def families(analysis: Analysis) -> list[str]:
    """Return families in the order of their colours."""
    return sorted(analysis.models.about["family"].unique())


def scatters(analysis: Analysis) -> Panels | None:
    """Return the strongest score of each task, and pairs whose families contradict the whole."""
    found = main_matrix(analysis)
    if found is None:
        return None
    strongest = found.tidy().dropna(subset="r")
    # With tasks, each task once; without, each score once in the first place.
    best = strongest.drop_duplicates("column" if analysis.with_tasks else "row")
    grouped = analysis.groups.get(("family", "pearson"))
    against = grouped.reversals(analysis.level) if grouped else None
    odd = [] if against is None else _pairs(against[against["is_clear"]])[:MOST_CONTRADICTIONS]
    pairs = list(dict.fromkeys([*_pairs(best)[: MOST_SCATTERS - len(odd)], *odd]))
    if not pairs:
        return None
    panels = tuple(_scatter(analysis, x, y, found.at(x, y).r) for x, y in pairs)
    total = len(analysis.models.values)
    cut = (
        f"Each plot shows {MOST_POINTS} of {total:,} models, picked evenly; r is that of all."
        if total > MOST_POINTS
        else ""
    )
    return Panels(key="scatter", title="", panels=panels, left_out=cut)


def strengths(analysis: Analysis) -> list[Panels]:
    """Return scores and tasks against strength, for each data set."""
    table = analysis.strengths
    if not (table.groupby(["dataset", "family"])["strength"].nunique() > 1).any():
        return []
    datasets = sorted(table["dataset"].unique())
    columns = [*analysis.models.scores, *analysis.models.tasks]
    each = max(1, MOST_STRENGTHS // len(datasets))
    style = {name: k for k, name in enumerate(families(analysis))}
    cut = f"Shown: the first {each} of {len(columns)} scores and tasks." if len(columns) > each else ""
    found = []
    for number_, dataset in enumerate(datasets):
        here = table[(table["dataset"] == dataset) & table["mean"].notna()]
        panels = [_against_strength(here[here["column"] == column], column, style) for column in columns[:each]]
        shown = tuple(panel for panel in panels if panel is not None)
        found.append(Panels(key=f"strength-{number_}", title=dataset, panels=shown, left_out=cut))
    return found


def sizes(analysis: Analysis) -> Panels | None:
    """Return scores and tasks against the number of rows."""
    table = analysis.convergence[analysis.convergence["mean"].notna()]
    if table.empty:
        return None
    datasets = sorted(analysis.models.about["dataset"].unique())
    columns = list(dict.fromkeys(table.sort_values("kind", key=lambda kind: kind == "task", kind="stable")["column"]))
    cut = f"Shown: the first {MOST_SIZES} of {len(columns)} scores and tasks." if len(columns) > MOST_SIZES else ""
    panels = tuple(_against_size(table[table["column"] == column], column, datasets) for column in columns[:MOST_SIZES])
    return Panels(key="sizes", title="", panels=panels, left_out=cut)


def _pairs(lines: pd.DataFrame) -> list[tuple[str, str]]:
    return list(dict.fromkeys(zip(lines["row"], lines["column"], strict=True)))


def _scatter(analysis: Analysis, x: str, y: str, r: float) -> Panel:
    points = scatter(analysis.models, x, y)
    if len(points) > MOST_POINTS:
        points = points.iloc[np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int)]
    several = analysis.models.about["dataset"].nunique() > 1
    traces = [
        _points(points[points["family"] == family], k, with_dataset=several)
        for k, family in enumerate(families(analysis))
    ]
    kept = [one for one in traces if len(one.x)]
    return make_panel(kept, title=bare(y), caption=f"r = {coefficient(r)}", x_label=bare(x))


def _points(lines: pd.DataFrame, style: int, *, with_dataset: bool) -> Trace:
    return Trace(
        style=style,
        x=lines["x"].to_numpy(float),
        y=lines["y"].to_numpy(float),
        tips=[
            f"{model_name(line, with_dataset=with_dataset)}: {number(line['x'])}, {number(line['y'])}"
            for line in lines.to_dict("records")
        ],
    )


def model_name(line: dict[Any, Any], *, with_dataset: bool) -> str:
    """Say which model it is, with the start of its hash."""
    strength = "" if pd.isna(line["strength"]) else f" {line['strength']:g}"
    data = f"{line['dataset']}, " if with_dataset else ""
    return f"{data}{line['family']}{strength}, seed {line['seed']} ({str(line['model'])[:8]})"


def _against_strength(lines: pd.DataFrame, column: str, style: dict[str, int]) -> Panel | None:
    if lines.empty:
        return None
    traces = [
        Trace(
            style=style[str(family)],
            x=part["place"].to_numpy(float) + _aside(style, str(family)),
            y=part["mean"].to_numpy(float),
            spread=part["std"].fillna(0.0).to_numpy(float),
            joined=True,
            tips=[
                f"{family} {'' if np.isnan(strength) else f'{strength:g}'}: {number(mean)}, spread {number(std)}, n {n}"
                for strength, mean, std, n in zip(part["strength"], part["mean"], part["std"], part["n"], strict=True)
            ],
        )
        for family, part in lines.sort_values("place").groupby("family", sort=True)
    ]
    places = range(1, int(lines["place"].max()) + 1)
    marks = [(float(k), str(k)) for k in places]
    return make_panel(traces, title=bare(column), caption="", x_label="strength, weakest first", x_marks=marks)


def _aside(style: dict[str, int], family: str) -> float:
    """Return a little shift for each family, so that whiskers do not hide each other."""
    return APART * (style[family] - (len(style) - 1) / 2) / len(style)


def _against_size(lines: pd.DataFrame, column: str, datasets: Sequence[str]) -> Panel:
    traces = [
        Trace(
            style=datasets.index(str(dataset)),
            x=np.log10(part["n_rows"].to_numpy(float)),
            y=part["mean"].to_numpy(float),
            joined=True,
            tips=[_settling(str(dataset), line) for line in part.to_dict("records")],
        )
        for dataset, part in lines.sort_values("n_rows").groupby("dataset", sort=True)
    ]
    every = sorted(lines["n_rows"].unique())
    shown = every if len(every) <= 4 else [every[k] for k in np.linspace(0, len(every) - 1, 4).round().astype(int)]
    marks = [(float(np.log10(n)), f"{n:,}") for n in shown]
    loosest = float(lines["absolute_change"].max())
    caption = f"up to {number(loosest)} from its value at the largest size, mean over models"
    return make_panel(traces, title=bare(column), caption=caption, x_label="rows", x_marks=marks)


def _settling(dataset: str, line: dict[Any, Any]) -> str:
    return (
        f"{dataset}, {line['n_rows']:,} rows: mean {number(line['mean'])}; from the largest size it is "
        f"{number(line['absolute_change'])} away on average, rank correlation {number(line['rank_correlation'])}"
    )
