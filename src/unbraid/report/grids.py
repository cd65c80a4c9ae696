"""Shaded tables of the report page: codes by factors, factors by factors, scores by factors and codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.text import MINUS, MISSING, clip, short
from unbraid.evidence.association import CodeCovariance
from unbraid.evidence.block_reading import BlockReading, Reading
from unbraid.evidence.information import InformationTable
from unbraid.evidence.loss_capacity import CapacityCurves
from unbraid.evidence.subspaces.options import Subspaces
from unbraid.metrics import METRICS
from unbraid.metrics.geometry.orthogonality import PAIRS, scored_pairs
from unbraid.metrics.prediction.blocks import TWO_SIDED
from unbraid.probes.importance import Importance
from unbraid.results.finding import FindingKind
from unbraid.results.report import MOST_SHOWN, Report

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
    dead = set(report.setup.dead_codes)
    empty = {name for finding in report.findings if finding.kind is FindingKind.EMPTY for name in finding.codes}
    return ["never changes" if name in dead else "encodes no factor" if name in empty else "" for name in names]


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


#: Most codes, factors and cells of a table; codes that it has room for at least; most of either in a table of pairs.
MAX_CODES, MAX_FACTORS, MAX_CELLS, FEWEST_CODES, MAX_PAIRED = MOST_SHOWN, 60, 1600, 12, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _Map:
    """One matrix of codes by factors, before it is cut down and shaded."""

    key: str
    title: str
    caption: str
    matrix: FloatArray
    top: float


def code_factor_maps(report: Report) -> list[Grid]:
    """Return every matrix of codes by factors among the evidence."""
    return [_code_factor_grid(report, found) for found in (*_information(report), *_importances(report))]


def code_code_map(report: Report) -> Grid | None:
    """Return the correlation between codes, where their covariance was measured."""
    found = next(iter(report.evidence_of(CodeCovariance)), None)
    if found is None:
        return None
    matrix, names = found.data.correlation, report.setup.active_codes
    if len(matrix) < 2:
        return None
    kept = strongest_rows(matrix - np.diag(np.diagonal(matrix)), MAX_PAIRED)
    shown = [names[j] for j in kept]
    return Grid(
        key="code-correlation",
        title="Correlation between codes",
        caption=f"From {MINUS}1 to 1; away from the diagonal, 0 is best. It shows linear dependence only.",
        corner="code by code",
        columns=tuple(clip(name) for name in shown),
        rows=make_rows(matrix[np.ix_(kept, kept)], shown, top=1.0),
        left_out=_left_out(len(kept), len(names), "codes that change", "correlation with another code"),
    )


def factor_factor_maps(report: Report) -> list[Grid]:
    """Return how far the subspaces of every two factors are orthogonal, where that was scored."""
    found = {name: record.data for record in report.evidence_of(Subspaces) for name in record.scores}
    options = report.setup.options
    return [
        _factor_pair_grid(report, name, scored_pairs(name, found[name], options.get(name, {})).matrix)
        for name in PAIRS
        if name in found
    ]


def _factor_pair_grid(report: Report, name: str, matrix: FloatArray) -> Grid:
    factors = report.setup.factor_names
    # The overlap of a factor with itself has no meaning, so the diagonal is left empty.
    pairs = np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix)
    shown = [factors[k] for k in range(min(len(factors), MAX_PAIRED))]
    return Grid(
        key=name,
        title=METRICS[name].title,
        caption=METRICS[name].pair_caption,
        corner="factor by factor",
        columns=tuple(clip(factor) for factor in shown),
        rows=make_rows(pairs[: len(shown), : len(shown)], shown, top=1.0),
        left_out=f"Shown: the first {len(shown)} of {len(factors)} factors." if len(shown) < len(factors) else "",
    )


def block_maps(report: Report) -> list[Grid]:
    """Return how well each probe reads each factor from each block of codes, where there are blocks."""
    found = next(iter(report.evidence_of(BlockReading)), None)
    if found is None or not report.setup.blocks:
        return []
    return [_block_grid(found.data, probe, reading) for probe, reading in found.data.by_probe.items()]


def _block_grid(found: BlockReading, probe: str, reading: Reading) -> Grid:
    columns = strongest_rows(reading.share, MAX_FACTORS)
    blocks = strongest_rows(reading.share.T, MAX_CODES)
    rows = make_rows(reading.share[np.ix_(columns, blocks)].T, [found.blocks[b] for b in blocks], top=1.0)
    rows = tuple(
        replace(row, cells=tuple(_block_cell(cell, reading, k, b) for cell, k in zip(row.cells, columns, strict=True)))
        for row, b in zip(rows, blocks, strict=True)
    )
    cut = [
        _left_out(len(blocks), len(found.blocks), "blocks of codes", "entry"),
        _left_out(len(columns), len(found.factors), "factors", "entry"),
    ]
    return Grid(
        key=f"blocks-{probe}",
        title=f"Blocks, {probe} probe",
        caption="How well each factor is read from each block by itself, on held-out rows: 1 without error, 0 as well "
        "as a blind guess. Numbers and angles by R², categories by accuracy. A factor should stand out in its own "
        "block; point at a number for its confidence interval and its chance level.",
        corner="block by factor",
        columns=tuple(clip(found.factors[k]) for k in columns),
        rows=rows,
        left_out=" ".join(part for part in cut if part),
    )


def _block_cell(cell: Cell, reading: Reading, factor: int, block: int) -> Cell:
    value, error = reading.share[factor, block], reading.error[factor, block]
    low, high, chance = value - TWO_SIDED * error, value + TWO_SIDED * error, reading.chance[factor, block]
    return replace(cell, exact=f"{value:.3f}, 95 % interval {low:.3f} to {high:.3f}, chance {chance:.3f}")


def _information(report: Report) -> list[_Map]:
    found = next(iter(report.evidence_of(InformationTable)), None)
    if found is None:
        return []
    name, matrix = found.scores[0], found.data.information
    total = matrix.sum(axis=0)
    share = matrix / np.where(total > 0, total, 1.0)
    return [
        _Map(
            key="mutual-information",
            title="Mutual information",
            caption=f"Information of each code about each factor, in nats, as estimated for {METRICS[name].title}.",
            matrix=matrix,
            top=largest(matrix),
        ),
        _Map(
            key="mutual-information-share",
            title="Mutual information, share",
            caption="How the information about a factor divides over the codes: each column sums to 1. "
            "Many codes with a little information add up, so compare the shares with the nats.",
            matrix=share,
            top=1.0,
        ),
    ]


def _importances(report: Report) -> list[_Map]:
    found = {
        METRICS[record.scores[-1]].family: (METRICS[record.scores[-1]].title, record.data.matrix)
        for record in report.evidence_of(Importance)
    }
    found |= {
        METRICS[record.scores[0]].family: (METRICS[record.scores[0]].family, record.data.importance)
        for record in report.evidence_of(CapacityCurves)
        if record.data.importance is not None
    }
    return [
        _Map(
            key=f"importance-{family}",
            title=f"Importance, {title.rpartition(', ')[2]}",
            caption="How much the probe that predicts a factor uses each code: each column sums to 1, "
            "or is 0 where no code helps.",
            matrix=matrix,
            top=1.0,
        )
        for family, (title, matrix) in found.items()
    ]


def _code_factor_grid(report: Report, found: _Map) -> Grid:
    names, factors = report.setup.code_names, report.setup.factor_names
    columns = strongest_rows(found.matrix.T, MAX_FACTORS)
    codes = strongest_rows(found.matrix, max(FEWEST_CODES, min(MAX_CODES, MAX_CELLS // len(columns))))
    shown = [names[j] for j in codes]
    cut = [
        _left_out(len(codes), len(names), "codes", "entry"),
        _left_out(len(columns), len(factors), "factors", "entry"),
    ]
    return Grid(
        key=found.key,
        title=found.title,
        caption=found.caption,
        corner="code by factor",
        columns=tuple(clip(factors[k]) for k in columns),
        rows=make_rows(
            _part(found.matrix, codes, columns),
            shown,
            top=found.top,
            remarks=code_remarks(report, shown),
        ),
        left_out=" ".join(part for part in cut if part),
    )


def _part(matrix: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    return matrix[np.ix_(rows, columns)]


def _left_out(shown: int, total: int, noun: str, what: str) -> str:
    return f"Shown: the {shown} of {total:,} {noun} with the largest {what}." if shown < total else ""


def factor_grid(report: Report) -> Grid | None:
    """Return scores by factors: which factor is weak?"""
    found = {name: score.per_factor for name, score in report.scores.items() if score.per_factor is not None}
    factors = report.setup.factor_names
    if not found or not factors:
        return None
    shown = factors[:MAX_FACTORS]
    rows = tuple(
        GridRow(
            name=METRICS[name].title,
            remark="" if METRICS[name].higher_is_better else "lower is better",
            cells=tuple(make_cell(float(value), _top(name, values)) for value in values[: len(shown)]),
        )
        for name, values in found.items()
    )
    return Grid(
        key="by-factor",
        title="Factor by factor",
        caption="Each row is a score, each column a factor. A column that is low throughout is a factor that the "
        "codes encode badly; where lower is better, a column that is high throughout.",
        corner="score by factor",
        columns=tuple(clip(name) for name in shown),
        rows=rows,
        left_out=f"Shown: the first {len(shown)} of {len(factors)} factors." if len(shown) < len(factors) else "",
    )


def code_grid(report: Report) -> Grid | None:
    """Return codes by scores: the codes that encode no factor, or several factors."""
    found = {name: score.per_code for name, score in report.scores.items() if score.per_code is not None}
    if not found:
        return None
    matrix = np.stack(list(found.values()), axis=1)
    tops = [_top(name, values) for name, values in found.items()]
    unit = [top is not None for top in tops]
    names = report.setup.code_names
    kept = strongest_rows(matrix[:, unit] if any(unit) else matrix, MAX_CODES)
    shown = [names[j] for j in kept]
    plain = make_rows(matrix[kept], shown, top=None, remarks=code_remarks(report, shown))
    rows = tuple(
        GridRow(
            name=row.name,
            remark=row.remark,
            rank=row.rank,
            cells=tuple(make_cell(float(v), top) for v, top in zip(matrix[j], tops, strict=True)),
        )
        for row, j in zip(plain, kept, strict=True)
    )
    return Grid(
        key="by-code",
        title="Code by code",
        caption="Each row is a code, each column a score that has a value for each code. A dash: the score leaves "
        "the code out, because the code never changes or no factor needs it. DCI weights each code by its importance, "
        "so that the value of an unused code, however high, does not count.",
        corner="code by score",
        columns=tuple(METRICS[n].title + ("" if METRICS[n].higher_is_better else " (lower is better)") for n in found),
        rows=rows,
        left_out=f"Shown: the {len(shown)} of {len(names):,} codes with the largest entry."
        if len(shown) < len(names)
        else "",
    )


def _top(name: str, values: FloatArray) -> float | None:
    """Return 1 for scores whose parts run from 0 to 1 too, so that their cells are shaded; others stay plain."""
    metric = METRICS[name]
    within = bool((np.nan_to_num(values) <= 1 + 1e-9).all() and (np.nan_to_num(values) >= -1e-9).all())
    return 1.0 if metric.bounds == (0.0, 1.0) and metric.higher_is_better and within else None
