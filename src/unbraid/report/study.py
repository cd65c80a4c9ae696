"""The page of a study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.text import EN_DASH, MINUS, MISSING, count, exact, listing, number, short
from unbraid.report.grids import Cell, Grid, GridRow, strongest_rows
from unbraid.report.shell import fill
from unbraid.report.study_charts import (
    agreements,
    families,
    hyperparameter_places,
    hyperparameters,
    p_value,
    scatters,
    size_lines,
    sizes,
    within_families,
)
from unbraid.study.analysis import Analysis, analyze
from unbraid.study.analysis.findings import bare, facts, findings, is_lower_better, main_matrix, opening
from unbraid.study.analysis.groups import GROUPINGS, TIMES
from unbraid.study.analysis.matrix import METHODS, Coefficient, Correlations
from unbraid.study.table import TASK_MARK

MOST_ROWS = 24
#: Cells of all maps together; the page would get heavy beyond.
MOST_CELLS = 6700


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


def factor_maps(analysis: Analysis) -> list[Grid]:
    """Return scores of single factors with tasks: a map for each score with its factors, Pearson's first."""
    found: list[Grid] = []
    for method, one in analysis.single_factors.items():
        names = [str(name) for name in one.r.index]
        for score in analysis.models.scores:
            single = [name for name in names if name.startswith(f"{score}[")]
            if not single:
                continue
            rows = [score, *single]
            found.append(
                correlation_map(
                    one.part(rows, list(one.r.columns)),
                    key=f"factors-{len(found)}",
                    title=f"{score}, {method.capitalize()}",
                    caption=f"All factors, then single ones. {one.summary}",
                    level=analysis.level,
                )
            )
    return found


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
        "scatters": scatters(analysis),
        "agreements": agreements(analysis),
        "within_families": within_families(analysis),
        "hyperparameter_places": hyperparameter_places(analysis.models),
        "single_factors": factor_maps(analysis),
        "hyperparameters": hyperparameters(analysis),
        "sizes": sizes(analysis),
        "size_lines": size_lines(analysis),
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
