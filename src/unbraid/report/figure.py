"""The page of a figure of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unbraid.report.charts import ChartGroup
from unbraid.report.shell import fill


@dataclass(frozen=True, slots=True, kw_only=True)
class FigurePage:
    """What the page of a figure shows.

    Attributes:
        name: What the command line calls it.
        title: Heading.
        paper: Where it was published.
        lede: What was done, in a few sentences.
        facts: Label and text.
        header: Of the table.
        rows: Of the table.
        groups: The charts.
        notes: What a reader should know.
    """

    name: str
    title: str
    paper: str
    lede: str
    facts: Sequence[tuple[str, str]]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    groups: Sequence[ChartGroup]
    notes: Sequence[str]


def render_figure_page(page: FigurePage) -> str:
    """Return one HTML page that needs nothing else."""
    return fill("figure.html", {"page": page, "heading": page.title, "facts": page.facts}, "figure.css")
