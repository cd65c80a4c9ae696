"""Heat maps: which code carries which factor, which codes go together, and which factors do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._typing import FloatArray, IntArray
from unbraid.metrics import METRICS
from unbraid.report._format import MINUS, clip
from unbraid.report._grid import Grid, code_remarks, largest, make_rows, strongest_rows
from unbraid.result import Report

MAX_CODES, MAX_FACTORS, MAX_CELLS, FEWEST_CODES = 64, 60, 1600, 12
MAX_CODE_PAIRS = 40
MAX_FACTOR_PAIRS = 40
INFORMATION, IMPORTANCE = "mutual_information", "importance"
PAIR_CAPTIONS = {
    "iwo": "1: the two factors live in subspaces at right angles, so that one can be changed without the other. "
    "0: they share the same axes with the same weights.",
    "orthogonality": "Overlap of the two factors' subspaces, every axis counted alike. 0: at right angles. "
    "1: one lies inside the other.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Map:
    """One matrix of codes by factors, before it is cut down and shaded."""

    key: str
    title: str
    caption: str
    matrix: FloatArray
    top: float


def code_factor_maps(report: Report) -> list[Grid]:
    """Return every matrix of codes by factors that the scores carry as evidence."""
    return [_code_factor_grid(report, found) for found in (*_information(report), *_importances(report))]


def code_code_map(report: Report) -> Grid | None:
    """Return the correlation between codes, where the total correlation was scored."""
    score = report.scores.get("total_correlation")
    if score is None or "correlation" not in score.evidence:
        return None
    matrix = score.evidence["correlation"]
    names = [name for name in report.meta["code_names"] if name not in set(report.meta["dead_codes"])]
    if len(matrix) < 2 or len(names) != len(matrix):
        return None
    kept = strongest_rows(matrix - np.diag(np.diagonal(matrix)), MAX_CODE_PAIRS)
    shown = [names[j] for j in kept]
    return Grid(
        key="code-correlation",
        title="Correlation between codes",
        caption=f"From {MINUS}1 to 1; away from the diagonal, 0 is best. It sees straight-line dependence only.",
        corner="code by code",
        columns=tuple(clip(name) for name in shown),
        rows=make_rows(matrix[np.ix_(kept, kept)], shown, top=1.0),
        left_out=_left_out(len(kept), len(names), "codes that change", "correlation with another code"),
    )


def factor_factor_maps(report: Report) -> list[Grid]:
    """Return how far the subspaces of every two factors are orthogonal, where that was scored."""
    found = [(name, report.scores[name].evidence.get(name)) for name in PAIR_CAPTIONS if name in report.scores]
    return [_factor_pair_grid(report, name, matrix) for name, matrix in found if matrix is not None]


def _factor_pair_grid(report: Report, name: str, matrix: FloatArray) -> Grid:
    factors = report.meta["factor_names"]
    # What a factor shares with itself says nothing, so the diagonal is left empty.
    pairs = np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix)
    shown = [factors[k] for k in range(min(len(factors), MAX_FACTOR_PAIRS))]
    return Grid(
        key=name,
        title=METRICS[name].title,
        caption=PAIR_CAPTIONS[name],
        corner="factor by factor",
        columns=tuple(clip(factor) for factor in shown),
        rows=make_rows(pairs[: len(shown), : len(shown)], shown, top=1.0),
        left_out=f"Shown: the first {len(shown)} of {len(factors)} factors." if len(shown) < len(factors) else "",
    )


def _information(report: Report) -> list[_Map]:
    found = next(((n, s.evidence[INFORMATION]) for n, s in report.scores.items() if INFORMATION in s.evidence), None)
    if found is None:
        return []
    name, matrix = found
    total = matrix.sum(axis=0)
    share = matrix / np.where(total > 0, total, 1.0)
    return [
        _Map(
            key="information",
            title="Mutual information",
            caption=f"How much each code alone tells about each factor, in nats, as {METRICS[name].title} counted it.",
            matrix=matrix,
            top=largest(matrix),
        ),
        _Map(
            key="information-share",
            title="Mutual information, share",
            caption="How the information about a factor divides over the codes: each column adds to 1. "
            "Many codes that know a little add up, so read it beside the nats.",
            matrix=share,
            top=1.0,
        ),
    ]


def _importances(report: Report) -> list[_Map]:
    found = {
        METRICS[n].family: (n, s.evidence[IMPORTANCE]) for n, s in report.scores.items() if IMPORTANCE in s.evidence
    }
    return [
        _Map(
            key=f"importance-{family}",
            title=f"Importance, {METRICS[name].title.rpartition(', ')[2]}",
            caption="How much the probe that predicts a factor leans on each code: each column adds to 1, "
            "or is 0 where no code helps.",
            matrix=matrix,
            top=1.0,
        )
        for family, (name, matrix) in found.items()
    ]


def _code_factor_grid(report: Report, found: _Map) -> Grid:
    names, factors = report.meta["code_names"], report.meta["factor_names"]
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
