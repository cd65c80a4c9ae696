"""Heat maps of correlations: over all models, over settings, and within families and data sets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unbraid.report._format import MINUS, MISSING, count, short
from unbraid.report._grid import Cell, Grid, GridRow, strongest_rows
from unbraid.report._study_words import bare
from unbraid.study._analysis import Analysis
from unbraid.study._correlate import METHODS, Correlations
from unbraid.study._groups import By, Grouped

MOST_ROWS = 32
#: Cells of all maps of groups together; the page would get heavy beyond.
MOST_GROUP_CELLS = 3000


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


def cell_says(found: Correlations, row: str, column: str) -> str:
    """Return everything known of one coefficient, to point at."""
    at = found.at(row, column)
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
    left, right = [found.r.index[i] for i in rows], [found.r.columns[j] for j in columns]
    cut = [
        f"the {len(kept)} of {total} {noun} with the largest correlation"
        for kept, total, noun in ((rows, len(matrix), "rows"), (columns, matrix.shape[1], "columns"))
        if len(kept) < total
    ]
    return Grid(
        key=key,
        title=title,
        caption=caption,
        corner="score by task" if right and str(right[0]) != bare(str(right[0])) else "score by score",
        columns=tuple(bare(name) for name in right),
        rows=tuple(
            GridRow(name=bare(row), cells=tuple(_cell(found, row, column, level) for column in right)) for row in left
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


def group_maps(analysis: Analysis) -> tuple[list[Grid], str]:
    """Return maps of groups, Pearson's first, as many as the page can carry; and what is left out, in words."""
    maps: list[Grid] = []
    n_cells, left_out = 0, []
    for name, groups in _groupings(analysis):
        size = sum(one.r.size for one in groups.groups.values())
        if n_cells + size > MOST_GROUP_CELLS and maps:
            left_out.append(name)
            continue
        n_cells += size
        maps += list(_maps_of(name, groups, analysis.level))
    text = f"Not on this page, which would get heavy: {'; '.join(left_out)}. Write the tables as CSV to see them."
    return maps, text if left_out else ""


def _groupings(analysis: Analysis) -> Iterator[tuple[str, Grouped]]:
    words: dict[By, str] = {"family": "within a family", "dataset": "within a data set"}
    for method in METHODS:
        for by, word in words.items():
            if (by, method) in analysis.groups:
                yield f"{word}, {method.capitalize()}", analysis.groups[by, method]
        if method in analysis.without_family:
            yield f"without a family, {method.capitalize()}", analysis.without_family[method]


def _maps_of(word: str, groups: Grouped, level: float) -> Iterator[Grid]:
    place, method = word.rsplit(", ", 1)
    for number, (name, one) in enumerate(groups.groups.items()):
        start = "Without" if groups.leaves_out else "Within"
        most = int(one.n.to_numpy().max())
        yield correlation_map(
            one,
            key=f"{place.replace(' ', '-')}-{number}-{method.lower()}",
            title=f"{start} {name}, {method}",
            caption=f"{count(most, 'model')}. {one.says}",
            level=level,
        )


def _cell(found: Correlations, row: str, column: str, level: float) -> Cell:
    at = found.at(row, column)
    r = at.r
    if np.isnan(r):
        return Cell(text=MISSING, exact=cell_says(found, row, column))
    star = "*" if at.p_corrected < level else "\u2007"
    return Cell(
        text=short(r) + star,
        exact=cell_says(found, row, column),
        shade=round(100 * min(1.0, abs(r))),
        is_negative=r < 0,
    )


def _three(value: float) -> str:
    return f"{value:.3f}".replace("-0.000", "0.000").replace("-", MINUS)
