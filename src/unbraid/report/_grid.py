"""A table of numbers with shaded cells: names, texts and shades, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbraid._finding import FindingKind
from unbraid._typing import FloatArray, IntArray
from unbraid.report._format import MISSING, clip, short
from unbraid.result import Report

DARK_FROM = 65


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One number.

    Attributes:
        text: As shown.
        exact: With more digits, for hovering; empty when missing.
        shade: Strength of the colour, 0 to 100, or ``None`` for no colour.
        is_negative: Whether the other hue is used.
    """

    text: str
    exact: str = ""
    shade: int | None = None
    is_negative: bool = False

    @property
    def style(self) -> str:
        """Class names: colour, hue, and ink that can be read on it; empty for no colour."""
        if self.shade is None:
            return ""
        return "heat" + (" neg" if self.is_negative else "") + (" dark" if self.shade >= DARK_FROM else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """One row.

    Attributes:
        name: Heading.
        remark: A word after the heading.
        cells: One for each column.
        rank: Place once rows are ordered by the column they are highest in.
    """

    name: str
    cells: tuple[Cell, ...]
    remark: str = ""
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """One table.

    Attributes:
        key: Short identifier, unique on the page.
        title: Heading.
        caption: What the numbers are.
        corner: What rows and columns are.
        columns: Column headings.
        rows: Rows, in the order given.
        left_out: What is not shown, in a sentence, or empty.
    """

    key: str
    title: str
    caption: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[GridRow, ...]
    left_out: str = ""

    @property
    def n_cells(self) -> int:
        """How many numbers it shows."""
        return len(self.rows) * len(self.columns)


def make_cell(value: float, top: float | None) -> Cell:
    """Return a cell shaded in proportion to ``top``; no colour without it."""
    if not np.isfinite(value):
        return Cell(text=MISSING if np.isnan(value) else short(float(value)))
    shade = None if top is None else round(100 * min(1.0, abs(float(value)) / top)) if top > 0 else 0
    return Cell(text=short(float(value)), exact=f"{value:.6g}", shade=shade, is_negative=bool(value < 0))


def code_remarks(report: Report, names: Sequence[str]) -> list[str]:
    """Say after the names of codes which never change, and which carry no factor."""
    dead = set(report.meta["dead_codes"])
    empty = {name for finding in report.findings if finding.kind is FindingKind.EMPTY for name in finding.codes}
    return ["never changes" if name in dead else "carries no factor" if name in empty else "" for name in names]


def make_rows(
    matrix: FloatArray, names: Sequence[str], *, top: float | None, remarks: Sequence[str] | None = None
) -> tuple[GridRow, ...]:
    """Return rows with cells shaded up to ``top``, ranked by the column each is highest in."""
    order = np.empty(len(matrix), dtype=np.intp)
    order[main_column_order(matrix)] = np.arange(len(matrix))
    return tuple(
        GridRow(
            name=clip(name),
            remark=remarks[j] if remarks else "",
            cells=tuple(make_cell(float(value), top) for value in matrix[j]),
            rank=int(order[j]),
        )
        for j, name in enumerate(names)
    )


def main_column_order(matrix: FloatArray) -> IntArray:
    """Return row positions ordered by the column of the largest entry, larger entries first."""
    size = np.abs(np.nan_to_num(matrix))
    if not size.size:
        return np.arange(len(matrix))
    return np.lexsort((-size.max(axis=1), size.argmax(axis=1)))


def largest(matrix: FloatArray) -> float:
    """Return the largest finite size of an entry, 0 when there is none."""
    finite = np.abs(matrix[np.isfinite(matrix)])
    return float(finite.max()) if finite.size else 0.0


def strongest_rows(matrix: FloatArray, most: int) -> IntArray:
    """Return the positions of the ``most`` rows with the largest entry, in their own order."""
    if len(matrix) <= most:
        return np.arange(len(matrix))
    size = np.abs(np.nan_to_num(matrix)).max(axis=1)
    return np.sort(np.argsort(-size, kind="stable")[:most])
