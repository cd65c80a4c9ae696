"""A published figure, run again: a table of ours beside the paper's, charts, and everything as data."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unbraid._base.files import write_text
from unbraid._base.record import finite
from unbraid._version import __version__
from unbraid.report.charts import ChartGroup

HEADER = ("what", "ours", "paper", "truth")
PAPER = "Galperin and Köthe (2025), Analyzing Generative Models by Manifold Entropic Metrics; arXiv:2410.19426"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of the table.

    Attributes:
        what: What is measured.
        ours: Our number, or words.
        paper: What the paper says: a number or words; empty where it says nothing.
        truth: What is known to be right; empty where nothing is.
    """

    what: str
    ours: float | str
    paper: float | str = ""
    truth: float | str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        return (self.what, *(_text(value) for value in (self.ours, self.paper, self.truth)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FigureResult:
    """A figure, run again.

    Attributes:
        name: What the command line calls it.
        title: What it shows.
        where: Where in the paper.
        lede: What was done, in a few sentences.
        lines: Ours beside the paper's beside the truth.
        groups: Charts.
        notes: What differs from the paper.
        data: Numbers behind the charts, as plain data.
        meta: Settings, versions and seconds.
    """

    name: str
    title: str
    where: str
    lede: str
    lines: tuple[Line, ...]
    groups: tuple[ChartGroup, ...]
    notes: tuple[str, ...]
    data: Mapping[str, Any]
    meta: Mapping[str, Any]

    def __getitem__(self, what: str) -> Line:
        """Return one row of the table."""
        return next(line for line in self.lines if line.what == what)

    @property
    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Header and rows as text; without a last column where nothing is known to be right."""
        n_columns = len(HEADER) if any(line.truth != "" for line in self.lines) else len(HEADER) - 1
        return HEADER[:n_columns], [line.cells[:n_columns] for line in self.lines]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "name": self.name,
            "rows": [
                {"what": line.what, "ours": line.ours, "paper": line.paper, "truth": line.truth} for line in self.lines
            ],
            "data": dict(self.data),
            "notes": list(self.notes),
            "meta": dict(self.meta)
            | {"unbraid": __version__, "numpy": np.__version__, "python": platform.python_version()},
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything as JSON, and write it to ``path`` if given. A number that is not finite becomes null."""
        text = json.dumps(finite(self.to_dict()), ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def to_html(self, path: str | Path) -> Path:
        """Write the figure as one self-contained page."""
        from unbraid.report.figure import FigurePage, render_figure_page

        header, rows = self.table
        page = FigurePage(
            name=self.name,
            title=self.title,
            paper=f"{PAPER}, {self.where}",
            lede=self.lede,
            facts=[(key.replace("_", " "), str(value)) for key, value in self.meta.items()],
            header=header,
            rows=rows,
            groups=self.groups,
            notes=self.notes,
        )
        return write_text(path, render_figure_page(page))


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3f}" if abs(value) < 100 else f"{value:.1f}"
