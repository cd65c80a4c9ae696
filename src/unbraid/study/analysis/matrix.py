"""Matrix of correlations, as data, text and LaTeX."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.files import write_text
from unbraid._base.stats import CORRECTIONS, Correction, corrected
from unbraid._base.text import as_csv

STAR_LEGEND = "A star: significant after correction."


def as_latex(r: pd.DataFrame, starred: pd.DataFrame, summary: str) -> str:
    """Return a table for the package booktabs; the method stands in a comment above it."""
    cells = [
        [_latex_cell(*cell) for cell in zip(*line, strict=True)] for line in zip(r.values, starred.values, strict=True)
    ]
    style = pd.DataFrame(cells, index=r.index, columns=r.columns).style
    for axis in ("index", "columns"):
        style = style.format_index(escape="latex", axis=axis)
    return f"% {summary} {STAR_LEGEND}\n" + str(style.to_latex(hrules=True, column_format="l" + "r" * r.shape[1]))


def as_text(r: pd.DataFrame, starred: pd.DataFrame, summary: str, *, colour: bool) -> str:
    """Return a table for a terminal; columns are numbered where there are too many to name, with a key below."""
    long = sum(len(str(name)) + 2 for name in r) > 100
    heads = [str(k + 1) if long else str(name) for k, name in enumerate(r)]
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("")
    for head in heads:
        table.add_column(escape(head), justify="right", no_wrap=True)
    for name in r.index:
        cells = zip(r.loc[name], starred.loc[name], strict=True)
        table.add_row(escape(str(name)), *(_text_cell(value, bool(star)) for value, star in cells))
    key = [f"{head}  {name}" for head, name in zip(heads, r, strict=True)] if long else []
    file = StringIO()
    width = max(len(str(name)) for name in r.index) + sum(max(len(head), 6) + 2 for head in heads) + 4
    console = Console(file=file, force_terminal=colour, width=max(width, 80), highlight=False)
    console.print(table)
    for line in (*key, f"{summary} {STAR_LEGEND}"):
        console.print(escape(line))
    return file.getvalue()


def _latex_cell(value: float, star: bool) -> str:
    return "--" if math.isnan(value) else f"${value:.2f}{'^{*}' if star else ''}$".replace("-0.00", "0.00")


def _text_cell(value: float, star: bool) -> str:
    if math.isnan(value):
        return "[dim]\u2013[/] "
    text = f"{value:.2f}".replace("-0.00", "0.00") + ("*" if star else " ")
    return f"[{'blue' if value > 0 else 'red'}]{text}[/]" if star else text


Method = Literal["pearson", "spearman"]
METHODS: tuple[Method, ...] = ("pearson", "spearman")


class Coefficient(NamedTuple):
    """One entry of a matrix of correlations."""

    r: float
    low: float
    high: float
    p: float
    p_corrected: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Correlations:
    """A matrix of correlations, with confidence intervals and p-values.

    Attributes:
        r: The coefficients.
        p: Two-sided p-values of no correlation, each as if it were the only test.
        p_corrected: The same, corrected for all ``n_tests``.
        low: Lower end of the bootstrap interval.
        high: Upper end.
        n: Models with both values.
        method: ``"pearson"`` or ``"spearman"``.
        correct: The correction: ``"holm"``, ``"fdr_bh"`` or ``"none"``.
        n_tests: Tests corrected for; each pair counts once, a column with itself not at all.
        confidence: Of the interval.
        n_bootstrap: Resamples behind it.
        notes: What a reader should know.
    """

    r: pd.DataFrame
    p: pd.DataFrame
    p_corrected: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    n: pd.DataFrame
    method: Method
    correct: Correction
    n_tests: int
    confidence: float
    n_bootstrap: int
    notes: tuple[str, ...]

    @property
    def summary(self) -> str:
        """Method, interval and correction in a sentence."""
        interval = "without confidence intervals"
        if self.n_bootstrap:
            interval = (
                f"{self.confidence:.0%} bootstrap confidence intervals from {self.n_bootstrap:,} resamples of models"
            )
        return (
            f"{self.method.capitalize()} correlation, {interval}; "
            f"{CORRECTIONS[self.correct]} ({self.n_tests:,} {'test' if self.n_tests == 1 else 'tests'})."
        )

    @property
    def says(self) -> str:
        """Deprecated name of ``summary``."""
        warnings.warn("Correlations.says is now Correlations.summary.", DeprecationWarning, stacklevel=2)
        return self.summary

    def at(self, row: str, column: str) -> Coefficient:
        """Return everything known of one pair."""
        values: dict[str, Any] = {name: getattr(self, name).at[row, column] for name in Coefficient._fields}
        return Coefficient(**values)

    def entries(self) -> list[list[Coefficient]]:
        """Return everything known of all pairs, a list for each row."""
        matrices: list[list[list[Any]]] = [getattr(self, name).to_numpy().tolist() for name in Coefficient._fields]
        return [[Coefficient(*values) for values in zip(*lines, strict=True)] for lines in zip(*matrices, strict=True)]

    def significant(self, level: float = 0.05) -> pd.DataFrame:
        """Return which corrected p-values are below ``level``."""
        return self.p_corrected < level

    def part(self, rows: Sequence[str], columns: Sequence[str]) -> Correlations:
        """Return some rows and columns, corrected for their tests only."""
        cut = {name: getattr(self, name).loc[list(rows), list(columns)] for name in ("r", "p", "low", "high", "n")}
        return correct_together([replace(self, **cut)])[0]

    def tidy(self) -> pd.DataFrame:
        """Return one line for each pair, each pair once, strongest first."""
        rows, columns = single_pairs(list(self.r.index), list(self.r.columns))
        names = ("r", "low", "high", "p", "p_corrected", "n")
        table = pd.DataFrame(
            {"row": self.r.index[rows], "column": self.r.columns[columns]}
            | {name: getattr(self, name).to_numpy()[rows, columns] for name in names}
        )
        order = np.lexsort((table["column"], table["row"], -table["r"].abs().fillna(-1.0)))
        return table.iloc[order].reset_index(drop=True)

    def to_csv(self, path: str | Path) -> Path:
        """Write :meth:`tidy` as CSV."""
        return write_text(path, as_csv(self.tidy()))

    def to_latex(self, path: str | Path | None = None, *, level: float = 0.05) -> str:
        """Return the matrix as a LaTeX table (package booktabs), and write it to ``path`` if given.

        Coefficients whose corrected p-value is below ``level`` carry a star.
        """
        text = as_latex(self.r, self.significant(level), self.summary)
        if path is not None:
            write_text(path, text)
        return text

    def to_text(self, *, level: float = 0.05, colour: bool = False) -> str:
        """Return the matrix for a terminal, with a star at what is significant after correction."""
        return as_text(self.r, self.significant(level), self.summary, colour=colour)

    def __repr__(self) -> str:
        return self.to_text()


def correct_together(several: Sequence[Correlations]) -> list[Correlations]:
    """Return matrices whose p-values are corrected for the tests of all of them together."""
    places = [single_pairs(list(one.r.index), list(one.r.columns)) for one in several]
    p = [one.p.to_numpy()[place] for one, place in zip(several, places, strict=True)]
    joined = corrected(np.concatenate(p), several[0].correct)
    n_tests = int(np.isfinite(joined).sum())
    parts = np.split(joined, np.cumsum([len(part) for part in p])[:-1])
    return [
        replace(one, p_corrected=_spread(one.p, place, part), n_tests=n_tests)
        for one, place, part in zip(several, places, parts, strict=True)
    ]


def single_pairs(rows: list[str], columns: list[str]) -> tuple[IntArray, IntArray]:
    """Return the places of pairs, each pair once and none of a column with itself."""
    first: dict[frozenset[str], tuple[int, int]] = {}
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            if row != column:
                first.setdefault(frozenset((row, column)), (i, j))
    places = np.array(list(first.values()), dtype=np.intp).reshape(-1, 2)
    return places[:, 0], places[:, 1]


def _spread(like: pd.DataFrame, place: tuple[IntArray, IntArray], values: FloatArray) -> pd.DataFrame:
    """Return a frame with a value for each test, at both places of a pair that has two."""
    known = {frozenset((like.index[i], like.columns[j])): value for i, j, value in zip(*place, values, strict=True)}
    filled = [[known.get(frozenset((row, column)), np.nan) for column in like.columns] for row in like.index]
    return pd.DataFrame(filled, index=like.index, columns=like.columns, dtype=float)
