"""Which factors or codes a good verdict does not hold for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unbraid._finding import FindingKind
from unbraid._score import Score
from unbraid._standing import progress
from unbraid._typing import FloatArray, IntArray
from unbraid._words import quoted
from unbraid.metrics import Metric
from unbraid.metrics._metric import Property
from unbraid.report._verdict import Verdict, scores_of
from unbraid.result import Report

#: A factor, code or pair below this is an exception to a verdict of that level; a lesser one claims nothing of each.
LEAST = {"very good": 0.75, "good": 0.55}
#: How well a probe must read a factor to say that it is there.
READ_WELL = 0.9
#: Two factors whose orthogonality is below this hardly have a direction that they do not share.
HARDLY_ANY = 0.25

#: Findings all of whose codes are about several factors, and those all of whose factors sit in several codes.
SHARED_CODES = (FindingKind.ROTATED, FindingKind.PACKED)
SEVERAL_CODES = (FindingKind.ROTATED, FindingKind.SPREAD, FindingKind.CIRCLE)


def exceptions(verdict: Verdict, report: Report) -> str:
    """Name what a good verdict does not hold for, in words that follow it; nothing where it holds throughout."""
    least = LEAST.get(verdict.level)
    if least is None:
        return ""
    if verdict.about is Property.ORTHOGONALITY:
        return _pairs(report, least)
    of_codes = verdict.about is Property.MODULARITY
    middle = _middle([_points(m, s, of_codes) for m, s in scores_of(report, verdict.about)])
    names = report.meta["code_names" if of_codes else "factor_names"]
    known = {Property.MODULARITY: _without_factor, Property.EXPLICITNESS: _read_by_some}.get(verdict.about)
    apart = known(report) if known else set()
    low = {name for name, at in zip(names, middle, strict=False) if at < least} - apart
    said = quoted([name for name in names if name in low | _found(report, verdict.about)])
    return f", except {said}" if said else ""


def _found(report: Report, about: Property) -> set[str]:
    """Return the codes that findings say are about several factors, or the factors that sit in several codes."""
    if about is Property.MODULARITY:
        return {name for item in report.findings if item.kind in SHARED_CODES for name in item.codes}
    kinds = SEVERAL_CODES if about is Property.COMPACTNESS else ()
    return {name for item in report.findings if item.kind in kinds for name in item.factors}


def _points(metric: Metric, score: Score, of_codes: bool) -> list[float] | None:
    """Place the value of each factor or code between chance and best."""
    each = score.per_code if of_codes else score.per_factor
    if each is None:
        return None
    placed = [progress(metric, replace(score, value=float(value))) for value in each]
    return [np.nan if place is None else place for place in placed]


def _middle(rows: Sequence[list[float] | None]) -> list[float]:
    """Return the median of each column over the scores that have one."""
    known = np.array([row for row in rows if row is not None and np.isfinite(row).any()])
    if not len(known):
        return []
    return [float(np.median(own)) if len(own := column[np.isfinite(column)]) else np.nan for column in known.T]


def _without_factor(report: Report) -> set[str]:
    kinds = (FindingKind.EMPTY, FindingKind.DEAD)
    return {name for item in report.findings if item.kind in kinds for name in item.codes}


def _read_by_some(report: Report) -> set[str]:
    """Return the factors that at least one probe reads well, though most may not."""
    found = [s.per_factor for n, s in report.scores.items() if n.endswith(".informativeness")]
    read = [column for column in found if column is not None]
    best = np.max(read, axis=0) if read else []
    return {name for name, most in zip(report.meta["factor_names"], best, strict=False) if most >= READ_WELL}


def _pairs(report: Report, least: float) -> str:
    """Name factors that share directions: alone where they do with every other, else as pairs."""
    score, names = report.scores.get("iwo"), report.meta["factor_names"]
    if score is None or score.per_factor is None:
        return ""
    matrix = score.evidence.get("iwo")
    if matrix is None:  # as read from a file: a mean over pairs tells how low the lowest may be, not which it is
        worst = 1 - (len(names) - 1) * (1 - score.per_factor.min())
        return ", with exceptions" if worst < least else ""
    low = matrix < least
    np.fill_diagonal(low, False)
    alone = low.sum(axis=1) == len(names) - 1
    low[alone] = low[:, alone] = False
    found = np.argwhere(np.triu(low))
    said = [quoted([name for name, out in zip(names, alone, strict=True) if out])] if alone.any() else []
    if len(found):
        said.append(_shared(matrix, found, names))
    return f", except {' and '.join(said)}" if said else ""


def _shared(matrix: FloatArray, found: IntArray, names: Sequence[str]) -> str:
    values = matrix[found[:, 0], found[:, 1]]
    worst = int(values.argmin())
    both = quoted([names[k] for k in found[worst]])
    if len(found) > 1:
        return f"{len(found)} pairs of factors, most of all {both}"
    return f"{both}, which {'share one' if values[worst] < HARDLY_ANY else 'share some'}"
