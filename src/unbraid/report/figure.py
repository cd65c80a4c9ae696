"""Pages of the figures of a paper: one figure, or all figures of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unbraid.report.charts import ChartGroup
from unbraid.report.grids import Grid
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFigure:
    """One figure.

    Attributes:
        number: As the paper has it.
        caption: What it shows.
        maps: Matrices of correlations.
        groups: Rows of charts.
        legend: Style and name of each line or mark.
        has_lines: Whether the charts have lines, and not marks only.
        missing: Why the figure is empty, in a sentence; empty where it is not.
    """

    number: str
    caption: str
    maps: Sequence[Grid] = ()
    groups: Sequence[ChartGroup] = ()
    legend: Sequence[tuple[int, str]] = ()
    has_lines: bool = False
    missing: str = ""

    @property
    def key(self) -> str:
        """Identifier on the page."""
        return self.number.lower().replace(" ", "-").replace(".", "-")


def render_study_figures(
    figures: Sequence[StudyFigure], *, name: str, title: str, paper: str, lede: str, facts: Sequence[tuple[str, str]]
) -> str:
    """Return one HTML page of figures that needs nothing else.

    Args:
        figures: In the order of the paper.
        name: Name of the command that makes them.
        title: Heading.
        paper: Where they were published.
        lede: The study in a sentence or two.
        facts: Label and text.
    """
    context = {"figures": figures, "heading": title, "name": name, "paper": paper, "lede": lede, "facts": facts}
    return fill("study_figures.html", context, "study.css")
