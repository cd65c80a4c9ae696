"""The same scores factor by factor, and code by code."""

from __future__ import annotations

import numpy as np

from unbraid._typing import FloatArray
from unbraid.metrics import METRICS
from unbraid.report._format import clip
from unbraid.report._grid import Grid, GridRow, code_remarks, make_cell, make_rows, strongest_rows
from unbraid.result import Report

MAX_CODES, MAX_FACTORS = 64, 60


def factor_grid(report: Report) -> Grid | None:
    """Return scores by factors: which factor is weak?"""
    found = {name: score.per_factor for name, score in report.scores.items() if score.per_factor is not None}
    factors = report.meta["factor_names"]
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
        "codes carry badly; where lower is better, the other way round.",
        corner="score by factor",
        columns=tuple(clip(name) for name in shown),
        rows=rows,
        left_out=f"Shown: the first {len(shown)} of {len(factors)} factors." if len(shown) < len(factors) else "",
    )


def code_grid(report: Report) -> Grid | None:
    """Return codes by scores: which code is about nothing, or about everything?"""
    found = {name: score.per_code for name, score in report.scores.items() if score.per_code is not None}
    if not found:
        return None
    matrix = np.stack(list(found.values()), axis=1)
    tops = [_top(name, values) for name, values in found.items()]
    unit = [top is not None for top in tops]
    names = report.meta["code_names"]
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
        caption="Each row is a code, each column a score that is given code by code. A dash: the score leaves the "
        "code out, because it never changes or because no factor needs it. DCI weighs each "
        "code by how much factors need it: the value of one that none needs, however high, does not count.",
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
