"""On the page of each metric, a picture of when it is high and when it is low, from the cases of the audit."""

import html
import math
import posixpath
from functools import cache
from pathlib import Path
from typing import Any

from audit_table import Cell, read_cells
from navigation import families
from unbraid.audit import CASES
from unbraid.metrics import METRICS, Metric
from wiring import drawing

#: The cases that are shown, and what to call them.
SHOWN = {
    "independent/identity": "A code for each factor",
    "independent/warped": "A code for each factor, bent",
    "independent/noise_code": "A code for each factor, and one of noise",
    "correlated/identity": "A code for each factor, but the factors correlate",
    "independent/duplicated": "Each factor is there twice",
    "independent/two_codes_per_factor": "Each factor takes two codes",
    "independent/two_factors_per_code": "One code packs two factors",
    "independent/leaky": "Each code leaks into the next",
    "independent/rotated": "The codes are rotated",
    "independent/mixed": "The codes are mixed askew",
    "independent/dropped": "One factor is left out",
    "independent/noise_normal": "The codes are noise",
}
SHOULD = {
    "▲": "should be near its best",
    "=": "should not change",
    "↓": "should be worse than for codes that are the factors",
    "▼": "should be near its worst",
}
HEADING = "High and low"
LEGEND = (
    "From best to worst{first}. In each drawing factors are on the left and codes on the right; the wider a line, "
    "the more the code moves with the factor. A dashed line joins factors that correlate. A cross (✗) marks a score "
    "that is not what it should be. Numbers are means of five draws of 2 000 rows, from [the audit](../audit.md), "
    "which has all cases and says why."
)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the picture before the definition."""
    folder, name = posixpath.split(page.file.src_uri)
    family = name.removesuffix(".md")
    if folder != "metrics" or family not in families():
        return markdown
    picture = section(family, cells_of(Path(config.docs_dir) / "audit.md"))
    return markdown.replace("\n## Definition\n", f"\n{picture}\n## Definition\n", 1)


@cache
def cells_of(path: Path) -> dict[tuple[str, str], Cell]:
    """Return the audit's cells, read once in a build."""
    return read_cells(path)


@cache
def wiring_of(case: str) -> str:
    """Return the drawing of a case, made once in a build."""
    return drawing(CASES[case])


def section(family: str, cells: dict[tuple[str, str], Cell]) -> str:
    """Return the section with the picture of one family, as Markdown."""
    metrics = [metric for metric in METRICS.values() if metric.family == family]
    cases = sorted(SHOWN, key=lambda case: rank(metrics[0], cells[metrics[0].name, case]))
    cards = "".join(card(case, metrics, cells) for case in cases)
    first = f" by `{metrics[0].name}`" if len(metrics) > 1 else ""
    return f'## {HEADING}\n\n<div class="cases" role="list">{cards}</div>\n\n{LEGEND.format(first=first)}\n'


def rank(metric: Metric, cell: Cell) -> float:
    """Return a number that is the lower the better the score."""
    if cell.value is None:
        return math.inf
    return -cell.value if metric.higher_is_better else cell.value


def card(case: str, metrics: list[Metric], cells: dict[tuple[str, str], Cell]) -> str:
    """Return one case: its drawing, what it is, and what each score of the family says of it."""
    bars = "".join(bar(metric, cells[metric.name, case], most(metric, cells), len(metrics) > 1) for metric in metrics)
    says = html.escape(CASES[case].description, quote=True)
    drawn = f'{wiring_of(case)}<span class="says">{SHOWN[case]}</span>'
    return f'<div class="case" role="listitem" title="{case}: {says}">{drawn}{bars}</div>'


def bar(metric: Metric, cell: Cell, highest: float, named: bool) -> str:
    """Return one score as a bar with its number."""
    name = f"<b>{metric.name.partition('.')[2]}</b>" if named else ""
    cross = f'<i title="{SHOULD[cell.mark]}">✗</i>' if cell.failed else ""
    low = metric.bounds[0]
    share = 0.0 if cell.value is None else min((cell.value - low) / (highest - low), 1.0)
    kind = "bar failed" if cell.failed else "bar"
    return (
        f'<span class="score">{name}<span class="number">{cross}{cell.shown}</span>'
        f'<svg class="{kind}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="all" width="100" height="6"/><rect width="{100 * share:.1f}" height="6"/></svg></span>'
    )


def most(metric: Metric, cells: dict[tuple[str, str], Cell]) -> float:
    """Return where a full bar ends: the highest possible score, or the highest finite one shown."""
    if math.isfinite(metric.bounds[1]):
        return metric.bounds[1]
    values = [cells[metric.name, case].value for case in SHOWN]
    return max(value for value in values if value is not None and math.isfinite(value))
