"""Heat maps of correlations: over all models, over settings, and within families and data sets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unbraid.report._format import MINUS, MISSING, count, listing, short
from unbraid.report._grid import Cell, Grid, GridRow, strongest_rows
from unbraid.report._study_words import bare
from unbraid.study._analysis import Analysis
from unbraid.study._groups import GROUPINGS
from unbraid.study._matrix import METHODS, Coefficient, Correlations
from unbraid.study._wide import TASK_MARK

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


def cell_says(at: Coefficient) -> str:
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
        "over_settings": "Scores and tasks are averaged over the seeds of each data set, family and strength first.",
    }
    found = {}
    for kind, caption in captions.items():
        found[kind] = [
            correlation_map(
                one,
                key=f"{kind}-{method}",
                title=method.capitalize(),
                caption=f"{caption} {one.says}",
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
        caption = f"{count(int(one.n.to_numpy().max()), 'model')}. {one.says}"
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
        return Cell(text=MISSING, exact=cell_says(at))
    star = "*" if at.p_corrected < level else "\u2007"
    shade = round(100 * min(1.0, abs(at.r)))
    return Cell(text=short(at.r) + star, exact=cell_says(at), shade=shade, is_negative=at.r < 0)


def _three(value: float) -> str:
    return f"{value:.3f}".replace("-0.000", "0.000").replace("-", MINUS)
