"""The page of a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.text import EN_DASH, MINUS, MISSING, count, exact, listing, number, short
from unbraid.report.charts import PANEL, Chart, ChartGroup, Series, line_chart
from unbraid.report.grids import Cell, Grid, GridRow, strongest_rows
from unbraid.report.shell import fill
from unbraid.study.analysis import Analysis, analyze
from unbraid.study.analysis.findings import bare, coefficient, facts, findings, is_lower_better, main_matrix, opening
from unbraid.study.analysis.groups import GROUPINGS, TIMES
from unbraid.study.analysis.matrix import METHODS, Coefficient, Correlations
from unbraid.study.analysis.profiles import scatter
from unbraid.study.table import TASK_MARK

MOST_SCATTERS, MOST_CONTRADICTIONS = 9, 3
#: Models drawn in one scatter plot.
MOST_POINTS = 240
#: Charts against the hyperparameter, over all data sets.
MOST_PROFILES = 24
MOST_SIZES = 24
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
    charts = [_scatter(analysis, x, y, found.at(x, y).r) for x, y in pairs]
    total = len(analysis.models.values)
    cut = (
        f"Each plot shows {MOST_POINTS} of {total:,} models, evenly spaced; r is computed over all models."
        if total > MOST_POINTS
        else ""
    )
    return ChartGroup(charts=charts, left_out=cut)


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
    if table.empty:
        return None
    datasets = sorted(analysis.models.about["dataset"].unique())
    columns = list(dict.fromkeys(table.sort_values("kind", key=lambda kind: kind == "task", kind="stable")["column"]))
    cut = f"Shown: the first {MOST_SIZES} of {len(columns)} scores and tasks." if len(columns) > MOST_SIZES else ""
    charts = [_against_size(table[table["column"] == column], column, datasets) for column in columns[:MOST_SIZES]]
    return ChartGroup(charts=charts, left_out=cut)


def _pairs(lines: pd.DataFrame) -> list[tuple[str, str]]:
    return list(dict.fromkeys(zip(lines["row"], lines["column"], strict=True)))


def _scatter(analysis: Analysis, x: str, y: str, r: float) -> Chart:
    points = scatter(analysis.models, x, y)
    if len(points) > MOST_POINTS:
        points = points.iloc[np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int)]
    several = analysis.models.about["dataset"].nunique() > 1
    series = [
        _points(points[points["family"] == family], family, k, with_dataset=several)
        for k, family in enumerate(families(analysis))
    ]
    kept = [one for one in series if len(one.x)]
    return line_chart(kept, title=bare(y), caption=f"r = {coefficient(r)}", x_label=bare(x), base=PANEL)


def _points(lines: pd.DataFrame, family: str, style: int, *, with_dataset: bool) -> Series:
    return Series(
        name=family,
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


def _against_size(lines: pd.DataFrame, column: str, datasets: Sequence[str]) -> Chart:
    series = [
        Series(
            name=str(dataset),
            colour=datasets.index(str(dataset)),
            x=part["n_rows"].to_numpy(float),
            y=part["mean"].to_numpy(float),
            tips=[_settling(str(dataset), line) for line in part.to_dict("records")],
        )
        for dataset, part in lines.sort_values("n_rows").groupby("dataset", sort=True)
    ]
    every = sorted(lines["n_rows"].unique())
    shown = every if len(every) <= 4 else [every[k] for k in np.linspace(0, len(every) - 1, 4).round().astype(int)]
    marks = [(float(n), f"{n:,}") for n in shown]
    loosest = float(lines["absolute_change"].max())
    caption = f"at most {number(loosest)} away from the value at the largest size, mean over models"
    return line_chart(
        series, title=bare(column), caption=caption, x_label="rows", log_x=True, x_marks=marks, base=PANEL
    )


def _settling(dataset: str, line: dict[Any, Any]) -> str:
    return (
        f"{dataset}, {line['n_rows']:,} rows: mean {number(line['mean'])}; on average "
        f"{number(line['absolute_change'])} away from the value at the largest size, "
        f"rank correlation {number(line['rank_correlation'])}"
    )


MOST_ROWS = 24
#: Cells of all maps together; the page would get heavy beyond.
MOST_CELLS = 6700


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


def cell_tip(at: Coefficient) -> str:
    """Return everything known of one coefficient, to point at."""
    if np.isnan(at.r):
        return f"no correlation, n {at.n:,}"
    interval = f" ({_three(at.low)} to {_three(at.high)})" if np.isfinite(at.low) else ""
    tested = f", p {p_value(at.p)}, corrected {p_value(at.p_corrected)}" if np.isfinite(at.p) else ""
    return f"r {_three(at.r)}{interval}{tested}, n {at.n:,}"


def correlation_map(found: Correlations, *, key: str, title: str, caption: str, level: float) -> Grid:
    """Return a matrix as a table with shaded cells; a star marks what is significant after correction."""
    matrix = found.r.to_numpy()
    away = np.where(found.p.isna(), 0.0, matrix)  # not the ones of a column with itself
    rows, columns = strongest_rows(away, MOST_ROWS), strongest_rows(away.T, MOST_ROWS)
    names, entries = [str(name) for name in found.r.columns], found.entries()
    cut = [
        f"the {len(kept)} of {total} {noun} with the largest correlation"
        for kept, total, noun in ((rows, len(matrix), "rows"), (columns, matrix.shape[1], "columns"))
        if len(kept) < total
    ]
    return Grid(
        key=key,
        title=title,
        caption=caption,
        corner="score by task" if names[0].startswith(TASK_MARK) else "score by score",
        columns=tuple(bare(names[j]) for j in columns),
        rows=tuple(
            GridRow(name=str(found.r.index[i]), cells=tuple(_cell(entries[i][j], level) for j in columns)) for i in rows
        ),
        left_out=f"Shown: {' and '.join(cut)}." if cut else "",
    )


def main_maps(analysis: Analysis) -> dict[str, list[Grid]]:
    """Return maps over all models and over settings, one for each method."""
    captions = {
        "with_tasks": "Each model counts once.",
        "between_scores": "Each model counts once.",
        "over_settings": "Scores and tasks are first averaged over the seeds of each setting.",
    }
    found = {}
    for kind, caption in captions.items():
        found[kind] = [
            correlation_map(
                one,
                key=f"{kind}-{method}",
                title=method.capitalize(),
                caption=f"{caption} {one.summary}",
                level=analysis.level,
            )
            for method, one in getattr(analysis, kind).items()
        ]
    return found


def group_maps(analysis: Analysis, n_cells: int) -> tuple[list[Grid], str]:
    """Return maps of groups, as many as the page can carry besides ``n_cells``; and what is left out, in words.

    Pearson's come first: within families, within data sets, without each family; then Spearman's.
    """
    maps: list[Grid] = []
    left_out: list[str] = []
    for title, one in _groups(analysis):
        n_cells += min(MOST_ROWS, len(one.r)) * min(MOST_ROWS, one.r.shape[1])
        if n_cells > MOST_CELLS:
            left_out.append(title[0].lower() + title[1:])
            continue
        caption = f"{count(int(one.n.to_numpy().max()), 'model')}. {one.summary}"
        maps.append(correlation_map(one, key=f"group-{len(maps)}", title=title, caption=caption, level=analysis.level))
    text = f"Not on this page, which would get heavy: {listing(left_out, 3)}. Write the tables as CSV to see them."
    return maps, text if left_out else ""


def _groups(analysis: Analysis) -> Iterator[tuple[str, Correlations]]:
    """Yield matrices of groups with their titles."""
    for method in METHODS:
        within = [analysis.groups[by, method] for by in GROUPINGS if (by, method) in analysis.groups]
        without = [analysis.without_family[method]] if method in analysis.without_family else []
        for groups in (*within, *without):
            word = "Without" if groups.leaves_out else "Within"
            for name, one in groups.groups.items():
                yield f"{word} {name}, {method.capitalize()}", one


def _cell(at: Coefficient, level: float) -> Cell:
    if np.isnan(at.r):
        return Cell(text=MISSING, exact=cell_tip(at))
    star = "*" if at.p_corrected < level else "\u2007"
    shade = round(100 * min(1.0, abs(at.r)))
    return Cell(text=short(at.r) + star, exact=cell_tip(at), shade=shade, is_negative=at.r < 0)


def _three(value: float) -> str:
    return f"{value:.3f}".replace("-0.000", "0.000").replace("-", MINUS)


MOST_PAIRS, MOST_FAILURES = 150, 40
TOO_LONG = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """One line of the table of pairs; keys are what it is sorted by."""

    name: str
    texts: tuple[str, ...]
    keys: tuple[str, ...]


def study_page(table: pd.DataFrame | Analysis, *, name: str, about: str = "", **options: Any) -> str:
    """Return a study as one HTML page that needs nothing else.

    Args:
        table: The tidy table of a study, or its analysis where that is there already.
        name: Heading.
        about: What the study is, in a sentence or two.
        **options: To :func:`unbraid.study.analyze`.

    Raises:
        ValueError: As :func:`unbraid.study.analyze` does.
        TypeError: Options are given for an analysis that is done.
    """
    if isinstance(table, Analysis) and options:
        raise TypeError(f"options must be given where the analysis is made, got {', '.join(options)} after it.")
    analysis = table if isinstance(table, Analysis) else analyze(table, **options)
    return fill("study.html", study_context(analysis, name=name, about=about), "study.css")


def study_context(analysis: Analysis, *, name: str, about: str) -> dict[str, Any]:
    """Return everything the template shows, as plain data."""
    maps = main_maps(analysis)
    groups, not_shown = group_maps(analysis, sum(grid.n_cells for grids in maps.values() for grid in grids))
    found = main_matrix(analysis)
    return {
        "heading": name,
        "about": about,
        "facts": facts(analysis),
        "lede": opening(analysis),
        "findings": findings(analysis),
        "method": found.summary if found else "",
        "lower": listing([score for score in analysis.models.scores if is_lower_better(score)], 20),
        "maps": maps,
        "group_maps": groups,
        "groups_left_out": not_shown,
        "families": list(enumerate(families(analysis))),
        "datasets": list(enumerate(sorted(analysis.models.about["dataset"].unique()))),
        "scatters": scatters(analysis),
        "hyperparameters": hyperparameters(analysis),
        "sizes": sizes(analysis),
        "pairs": pairs(analysis),
        "n_pairs": 0 if found is None else len(found.tidy()),
        "level": f"{analysis.level:g}",
        "collapsed": int(analysis.runs["collapsed"].sum()),
        "runs": analysis.runs.to_dict("records"),
        "failures": failures(analysis),
        "n_failures": len(analysis.failures),
    }


def pairs(analysis: Analysis) -> list[PairRow]:
    """Return the strongest pairs with all their numbers, Pearson's and Spearman's."""
    kind = analysis.with_tasks or analysis.between_scores
    if not kind:
        return []
    line = kind["pearson"].tidy().dropna(subset="r").head(MOST_PAIRS)
    return [_pair(one, kind["spearman"].at(one["row"], one["column"]).r) for one in line.to_dict("records")]


def _pair(line: dict[Any, Any], rank: float) -> PairRow:
    interval = f"{number(line['low'])} {EN_DASH} {number(line['high'])}" if pd.notna(line["low"]) else EN_DASH
    return PairRow(
        name=f"{line['row']} {TIMES} {bare(line['column'])}",
        texts=(
            number(line["r"]),
            interval,
            p_value(line["p"]),
            p_value(line["p_corrected"]),
            f"{line['n']:,}",
            number(rank),
        ),
        keys=tuple(
            exact(value) for value in (line["r"], _width(line), line["p"], line["p_corrected"], float(line["n"]), rank)
        ),
    )


def _width(line: dict[Any, Any]) -> float:
    return float(line["high"] - line["low"])


def failures(analysis: Analysis) -> list[dict[Any, Any]]:
    """Return what failed and why, with long reasons cut short."""
    lines = analysis.failures.head(MOST_FAILURES).to_dict("records")
    return [line | {"reason": str(line["reason"])[:TOO_LONG], "example": str(line["example"])[:12]} for line in lines]
