"""Figures of trained models: the base of their results, and their page."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from unbraid._base.files import write_text
from unbraid.report.charts import ChartGroup
from unbraid.reproduce.result import DrawnResult

Device = Literal["cpu", "cuda"]
PAPER = "Galperin and Köthe (2025), Analyzing Generative Models by Manifold Entropic Metrics; arXiv:2410.19426"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Texts on the page of a figure.

    Attributes:
        name: Name on the command line.
        title: Title of the page.
        where: Where in the paper.
        lede: Experiment, in a few sentences.
        paper: Where it was published.
    """

    name: str
    title: str
    where: str
    lede: str
    paper: str = PAPER


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureResult(DrawnResult):
    """A figure, run again.

    Attributes:
        settings: Architecture, training and evaluation of the models: a dataclass of the figure's own.
        seed: Of the data, the models and their training.
        device: Where they were trained and measured.
        seconds: Time it took.
        drawing: Charts, where they need data that are not kept in JSON.
    """

    about: ClassVar[About]
    settings: Any
    seed: int
    device: str
    seconds: float

    @abstractmethod
    def charts(self) -> Sequence[ChartGroup]:
        """Return the charts of the figure."""

    def draw(self, path: str | Path) -> Path:
        """Write the figure as one self-contained page."""
        from unbraid.report.figure import FigurePage, render_figure_page

        (table,) = self.tables()
        header, rows = table.text
        facts = asdict(self.settings) | {"seed": self.seed, "device": self.device, "seconds": self.seconds}
        page = FigurePage(
            name=self.about.name,
            title=self.about.title,
            paper=f"{self.about.paper}, {self.about.where}",
            lede=self.about.lede,
            facts=[(key.removeprefix("n_").replace("_", " "), str(value)) for key, value in facts.items()],
            header=header,
            rows=rows,
            groups=self.charts(),
            notes=self.notes,
        )
        return write_text(path, render_figure_page(page))
