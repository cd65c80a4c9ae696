"""Charts of the page of a study: scatter plots, and columns against hyperparameter and sample size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.text import MINUS, MISSING, count, number
from unbraid.report.charts import PANEL, Chart, ChartGroup, Series, line_chart
from unbraid.study.analysis import Analysis
from unbraid.study.analysis.correlate import correlations
from unbraid.study.analysis.findings import bare, coefficient, main_matrix
from unbraid.study.analysis.profiles import scatter
from unbraid.study.table import ModelTable

MOST_SCATTERS, MOST_CONTRADICTIONS = 9, 3
#: Models drawn in one scatter plot.
MOST_POINTS = 240
#: Models drawn in one of many scatter plots, at least; plots of one agreement; and models drawn in all of them.
FEWEST_POINTS, MOST_PLOTS, MOST_MARKS = 60, 30, 4000
#: Tasks for which families are drawn apart.
MOST_TASKS = 3
#: Charts against the hyperparameter, over all data sets.
MOST_PROFILES = 24
MOST_SIZES = 32
#: Share of the way to the next hyperparameter over which families are spread.
APART = 0.4


def families(analysis: Analysis) -> list[str]:
    """Return families in the order of their colours."""
    return sorted(analysis.models.about["family"].unique())


def scatters(analysis: Analysis) -> ChartGroup | None:
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
    charts = [
        scatter_chart(analysis.models, x, y, caption=f"r = {coefficient(found.at(x, y).r)}", colours=families(analysis))
        for x, y in pairs
    ]
    return ChartGroup(charts=charts, left_out=_left_out(len(analysis.models.values), MOST_POINTS))


def agreements(analysis: Analysis) -> list[ChartGroup]:
    """Return each agreement of models against every other score, and against every task."""
    models, colours = analysis.models, families(analysis)
    others = [name for name in models.scores if name not in models.agreements]
    kinds = [
        (name, kind, columns)
        for name in models.agreements
        for kind, columns in (("scores", others), ("tasks", models.tasks))
        if columns
    ]
    n_plots = sum(min(MOST_PLOTS, len(columns)) for _, _, columns in kinds)
    most = max(FEWEST_POINTS, min(MOST_POINTS, MOST_MARKS // max(1, n_plots)))
    return [
        ChartGroup(
            title=f"{name} and {kind}",
            key=f"agreement-{place}",
            charts=[
                scatter_chart(models, other, name, caption=said(models, other, name), colours=colours, most=most)
                for other in columns[:MOST_PLOTS]
            ],
            left_out=_left_out(len(models.values), most, len(columns)),
        )
        for place, (name, kind, columns) in enumerate(kinds)
    ]


def within_families(analysis: Analysis) -> list[ChartGroup]:
    """Return, for some tasks, a plot of each family with a colour for each of its hyperparameters.

    Drawn against the tasks is the first agreement, or without agreements the score most strongly related to a task;
    tasks are those most strongly related to it.
    """
    models = analysis.models
    found = main_matrix(analysis)
    several = models.about.groupby("family")["hyperparameter"].nunique().max() > 1
    if found is None or not analysis.with_tasks or not several:
        return []
    strongest = found.tidy().dropna(subset="r")
    kept = strongest[strongest["row"] == models.agreements[0]] if models.agreements else strongest
    if kept.empty:
        return []
    y = kept["row"].iloc[0]
    tasks = kept.loc[kept["row"] == y, "column"].head(MOST_TASKS)
    return [
        ChartGroup(
            title=f"{y} and {bare(task)}",
            key=f"within-{place}",
            charts=[family_chart(models, family, task, y, most=MOST_POINTS) for family in families(analysis)],
        )
        for place, task in enumerate(tasks)
    ]


def hyperparameter_places(models: ModelTable) -> list[tuple[int, str]]:
    """Return the colour of each hyperparameter of a family, and its place in words."""
    most = int(models.about.groupby("family")["hyperparameter"].nunique().max())
    return [(k, f"hyperparameter {k + 1}" + (", the smallest" if k == 0 else "")) for k in range(most)]


def _left_out(n_models: int, most: int, n_plots: int = 0) -> str:
    """Say what plots leave out."""
    fewer = f"Each plot shows {most} of {n_models:,} models, evenly spaced; r is computed over all models."
    plots = f"Shown: the first {MOST_PLOTS} of {n_plots} columns."
    return " ".join([fewer] * (n_models > most) + [plots] * (n_plots > MOST_PLOTS))


def said(models: ModelTable, x: str, y: str) -> str:
    """Say how strongly two columns are related, with the p-value of no correlation."""
    at = correlations(models, [x], [y], n_bootstrap=0).at(x, y)
    return f"r = {coefficient(at.r)}, p = {p_value(at.p)}" if np.isfinite(at.r) else "no correlation"


def hyperparameters(analysis: Analysis) -> list[ChartGroup]:
    """Return scores and tasks against the hyperparameter, for each data set."""
    table = analysis.hyperparameters
    if not (table.groupby(["dataset", "family"])["hyperparameter"].nunique() > 1).any():
        return []
    datasets = sorted(table["dataset"].unique())
    columns = [*analysis.models.scores, *analysis.models.tasks]
    each = max(1, MOST_PROFILES // len(datasets))
    style = {name: k for k, name in enumerate(families(analysis))}
    cut = f"Shown: the first {each} of {len(columns)} scores and tasks." if len(columns) > each else ""
    found = []
    for place, dataset in enumerate(datasets):
        here = table[(table["dataset"] == dataset) & table["mean"].notna()]
        charts = [_against_hyperparameter(here[here["column"] == column], column, style) for column in columns[:each]]
        shown = [chart for chart in charts if chart is not None]
        found.append(ChartGroup(key=f"hyperparameter-{place}", title=dataset, charts=shown, left_out=cut))
    return found


def sizes(analysis: Analysis) -> ChartGroup | None:
    """Return scores and tasks against the number of rows."""
    table = analysis.convergence[analysis.convergence["mean"].notna()]
    few = analysis.convergence_of_few
    both = pd.concat([table[["kind", "column"]], few[["kind", "column"]]])
    if both.empty:
        return None
    columns = list(dict.fromkeys(both.sort_values("kind", key=lambda kind: kind == "task", kind="stable")["column"]))
    cut = f"Shown: the first {MOST_SIZES} of {len(columns)} scores and tasks." if len(columns) > MOST_SIZES else ""
    charts = [_against_size(analysis, column) for column in columns[:MOST_SIZES]]
    return ChartGroup(charts=charts, left_out=cut)


def size_lines(analysis: Analysis) -> list[tuple[int, str]]:
    """Return the style and name of each line of the charts against the number of rows."""
    every = analysis.convergence["dataset"].unique()
    few = analysis.convergence_of_few["dataset"].unique()
    names = [*sorted(every), *(_few_of(name) for name in sorted(few))]
    return list(enumerate(names))


def _few_of(dataset: str) -> str:
    return f"{dataset}, the first model"


def _pairs(lines: pd.DataFrame) -> list[tuple[str, str]]:
    return list(dict.fromkeys(zip(lines["row"], lines["column"], strict=True)))


def scatter_chart(
    models: ModelTable, x: str, y: str, *, caption: str, colours: Sequence[str], most: int = MOST_POINTS
) -> Chart:
    """Return one column against another, a mark for each model; families in the order of their colours."""
    points = _some(scatter(models, x, y), most)
    several = points["dataset"].nunique() > 1
    series = [
        _points(points[points["family"] == family], family, k, with_dataset=several) for k, family in enumerate(colours)
    ]
    kept = [one for one in series if len(one.x)]
    return line_chart(kept, title=bare(y), caption=caption, x_label=bare(x), base=PANEL)


def family_chart(models: ModelTable, family: str, x: str, y: str, *, most: int) -> Chart:
    """Return one column against another over the models of a family, a colour for each hyperparameter."""
    part = models.part(models.about["family"] == family)
    points = scatter(part, x, y)
    spread = f"standard deviations {number(points['x'].std())} across, {number(points['y'].std())} up"
    caption = f"{said(part, x, y)}; {spread}" if len(points) > 1 else "fewer than two models"
    points = _some(points, most)
    values = sorted(part.about["hyperparameter"].dropna().unique()) or [np.nan]
    series = [
        _points(points[points["hyperparameter"].isin([value])], f"{value:g}", k, with_dataset=False)
        for k, value in enumerate(values)
    ]
    kept = [one for one in series if len(one.x)]
    return line_chart(kept, title=f"{family}: {bare(y)}", caption=caption, x_label=bare(x), base=PANEL)


def _some(points: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return evenly spaced points, where there are more than can be drawn."""
    if len(points) <= most:
        return points
    return points.iloc[np.linspace(0, len(points) - 1, most).round().astype(int)]


def _points(lines: pd.DataFrame, name: str, style: int, *, with_dataset: bool) -> Series:
    return Series(
        name=name,
        mark="points",
        colour=style,
        x=lines["x"].to_numpy(float),
        y=lines["y"].to_numpy(float),
        tips=[
            f"{model_name(line, with_dataset=with_dataset)}: {number(line['x'])}, {number(line['y'])}"
            for line in lines.to_dict("records")
        ],
    )


def model_name(line: dict[Any, Any], *, with_dataset: bool) -> str:
    """Say which model it is, with the start of its hash."""
    setting = "" if pd.isna(line["hyperparameter"]) else f" {line['hyperparameter']:g}"
    data = f"{line['dataset']}, " if with_dataset else ""
    return f"{data}{line['family']}{setting}, seed {line['seed']} ({str(line['model'])[:8]})"


def _against_hyperparameter(lines: pd.DataFrame, column: str, style: dict[str, int]) -> Chart | None:
    if lines.empty:
        return None
    series = [
        Series(
            name=str(family),
            colour=style[str(family)],
            x=part["place"].to_numpy(float) + _aside(style, str(family)),
            y=part["mean"].to_numpy(float),
            low=(part["mean"] - part["std"].fillna(0.0)).to_numpy(float),
            high=(part["mean"] + part["std"].fillna(0.0)).to_numpy(float),
            interval="whisker",
            tips=[
                f"{family} {'' if np.isnan(at) else f'{at:g}'}: {number(mean)}, spread {number(std)}, n {n}"
                for at, mean, std, n in zip(part["hyperparameter"], part["mean"], part["std"], part["n"], strict=True)
            ],
        )
        for family, part in lines.sort_values("place").groupby("family", sort=True)
    ]
    places = range(1, int(lines["place"].max()) + 1)
    marks = [(float(k), str(k)) for k in places]
    return line_chart(series, title=bare(column), x_label="hyperparameter, smallest first", x_marks=marks, base=PANEL)


def _aside(style: dict[str, int], family: str) -> float:
    """Return a little shift for each family, so that whiskers do not hide each other."""
    return APART * (style[family] - (len(style) - 1) / 2) / len(style)


def _against_size(analysis: Analysis, column: str) -> Chart:
    lines, few = (
        table[(table["column"] == column) & table["mean"].notna()].sort_values("n_rows")
        for table in (analysis.convergence, analysis.convergence_of_few)
    )
    styles = {name: style for style, name in size_lines(analysis)}
    series = [
        Series(
            name=str(dataset),
            colour=styles[str(dataset)],
            x=part["n_rows"].to_numpy(float),
            y=part["mean"].to_numpy(float),
            tips=[_settling(str(dataset), line) for line in part.to_dict("records")],
        )
        for dataset, part in lines.groupby("dataset", sort=True)
    ]
    series += [few_series(part, styles[_few_of(str(name))]) for name, part in few.groupby("dataset", sort=True)]
    every = sorted({*lines["n_rows"], *few["n_rows"]})
    shown = every if len(every) <= 4 else [every[k] for k in np.linspace(0, len(every) - 1, 4).round().astype(int)]
    marks = [(float(n), f"{n:,}") for n in shown]
    away = f"at most {number(float(lines['absolute_change'].max()))} away from the value at the largest size"
    caption = f"{away}, mean over models" if len(lines) else ""
    return line_chart(
        series, title=bare(column), caption=caption, x_label="rows", log_x=True, x_marks=marks, base=PANEL
    )


def few_series(lines: pd.DataFrame, style: int) -> Series:
    """Return a column at each size, of the models of one data set that were measured at further sizes."""
    of = [
        f"{line['family']} {line['hyperparameter']:g}, {count(line['models'], 'model')}"
        for line in lines.to_dict("records")
    ]
    return Series(
        name=_few_of(str(lines["dataset"].iloc[0])),
        colour=style,
        x=lines["n_rows"].to_numpy(float),
        y=lines["mean"].to_numpy(float),
        tips=[f"{n:,} rows: {number(y)} ({who})" for n, y, who in zip(lines["n_rows"], lines["mean"], of, strict=True)],
    )


def _settling(dataset: str, line: dict[Any, Any]) -> str:
    return (
        f"{dataset}, {line['n_rows']:,} rows: mean {number(line['mean'])}; on average "
        f"{number(line['absolute_change'])} away from the value at the largest size, "
        f"rank correlation {number(line['rank_correlation'])}"
    )


def p_value(p: float) -> str:
    """Write a p-value.

    Example:
        >>> p_value(0.0316), p_value(2.34e-9), p_value(0.0), p_value(float("nan"))
        ('0.032', '2.3e−09', 'below 1e−300', '–')
    """
    if np.isnan(p):
        return MISSING
    text = f"{p:.3f}" if p >= 0.001 else f"{p:.1e}" if p > 0 else "below 1e-300"
    return text.replace("-", MINUS)
