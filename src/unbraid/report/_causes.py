"""What in the codes made a score low: the findings of the diagnosis, where the score's own parts show them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid._ceilings import ceiling
from unbraid._finding import Finding, FindingKind
from unbraid._typing import FloatArray
from unbraid._words import quoted
from unbraid.metrics import METRICS, Invariance, Metric
from unbraid.report._format import listing, spoken
from unbraid.result import Report

#: How far below the others the parts of a score must lie to say that a finding lowers it.
SHOWS = 0.2
#: An axis with less weight is one that a factor hardly uses.
HARDLY_USED = 0.05
LAYOUT = (FindingKind.ROTATED, FindingKind.MIXED, FindingKind.CIRCLE, FindingKind.SPREAD)
ABOUT_FACTORS = (
    *LAYOUT,
    FindingKind.PACKED,
    FindingKind.COPIED,
    FindingKind.CURVED,
    FindingKind.PARTLY,
    FindingKind.LOST,
)
ABOUT_CODES = (FindingKind.ROTATED, FindingKind.MIXED, FindingKind.PACKED, FindingKind.EMPTY)


def causes(low: Metric, high: Metric, report: Report) -> list[str]:
    """Say which findings lower one score, as its values by factor or code show, and whether the other sees it."""
    parts = _by_factor(low, report) or _by_code(low, report)
    if parts:
        found, told = parts
        return [f"The cause: {listing([short(item) for item in found])}. {told}{_unseen(found, high, report)}"]
    everywhere = [item for item in report.findings if item.kind in LAYOUT]
    names = {name for item in everywhere for name in item.factors}
    if Invariance.ROTATION in low.invariant_to or names != set(report.meta["factor_names"]):
        return []
    blind = f"; {spoken(high.title)} does not notice" if Invariance.ROTATION in high.invariant_to else ""
    said = listing([short(item) for item in everywhere])
    return [f"The cause: {said}, which {spoken(low.title)} takes for a loss{blind}."]


def limits(low: Metric, report: Report) -> list[str]:
    """Say how high the lower score could get with these factors, where that is not all the way."""
    top = ceiling(low.name, report.scores[low.name].value, report.meta)
    if top is None:
        return []
    return [f"{low.title} cannot exceed about {top.value:.2f} here, with one code for each factor: {top.why}."]


def weak_axes(low: Metric, report: Report) -> list[str]:
    """Say which factors have an axis that they hardly use, where a score counts every axis alike."""
    weights = report.scores["iwo"].evidence.get("axis_weights") if "iwo" in report.scores else None
    if low.name != "orthogonality" or weights is None:
        return []
    slight = np.nanmin(np.where(weights > 0, weights, np.nan), axis=0)
    found = [
        f"“{name}” ({w:.3f})" for name, w in zip(report.meta["factor_names"], slight, strict=True) if w < HARDLY_USED
    ]
    if not found:
        return []
    return [
        f"{low.title} counts every axis alike, also the last one of {listing(found)}, which has the weight given; an "
        "axis of so little weight may be an error of the fit."
    ]


def short(finding: Finding) -> str:
    """Say a finding in a few words."""
    who, what = quoted(finding.factors or finding.codes, 4), len(finding.factors or finding.codes)
    be = "is" if what == 1 else "are"
    return {
        FindingKind.ROTATED: f"{who} are rotated",
        FindingKind.MIXED: f"{who} are mixed",
        FindingKind.PACKED: f"{who} share one code",
        FindingKind.CIRCLE: f"{who} takes two codes",
        FindingKind.SPREAD: f"{who} is spread over {len(finding.codes)} codes",
        FindingKind.COPIED: f"{who} is held {len(finding.codes)} times",
        FindingKind.CURVED: f"{who} does not lie along a line",
        FindingKind.PARTLY: f"{who} {be} read only in part",
        FindingKind.LOST: f"{who} cannot be read out",
        FindingKind.EMPTY: f"{who} {'carries' if what == 1 else 'carry'} no factor",
    }.get(finding.kind, who)


def _by_factor(low: Metric, report: Report) -> tuple[list[Finding], str] | None:
    values = _oriented(low, report.scores[low.name].per_factor)
    faults = [item for item in report.findings if item.kind in ABOUT_FACTORS]
    return _contrast(low, values, report.meta["factor_names"], [(item, item.factors) for item in faults])


def _by_code(low: Metric, report: Report) -> tuple[list[Finding], str] | None:
    values = _oriented(low, report.scores[low.name].per_code)
    faults = [item for item in report.findings if item.kind in ABOUT_CODES]
    return _contrast(low, values, report.meta["code_names"], [(item, item.codes) for item in faults])


def _contrast(
    low: Metric, values: FloatArray | None, names: Sequence[str], faults: Sequence[tuple[Finding, tuple[str, ...]]]
) -> tuple[list[Finding], str] | None:
    """Return the findings whose parts lie clearly below those without a fault, and both means in words."""
    if values is None or not faults:
        return None
    place = {name: j for j, name in enumerate(names)}
    troubled = {name for _, about in faults for name in about}
    fine = [name for name in names if name not in troubled and np.isfinite(values[place[name]])]
    if not fine:
        return None
    others = _mean(values, place, fine)
    shown = [(item, about) for item, about in faults if others - _mean(values, place, about) >= SHOWS]
    if not shown:
        return None
    blamed = list(dict.fromkeys(name for _, about in shown for name in about))
    means = (_mean(values, place, part) for part in (blamed, fine))
    here, there = (f"{value if low.higher_is_better else -value:.2f}" for value in means)
    told = f"{low.title} is {here} on average for {quoted(blamed, 4)} and {there} for {quoted(fine, 4)}"
    return [item for item, _ in shown], told


def _unseen(found: list[Finding], high: Metric, report: Report) -> str:
    """Add what the higher score gives for the same factors, where it hardly tells them from the rest."""
    values = report.scores[high.name].per_factor
    blamed = {name for item in found for name in item.factors}
    names = report.meta["factor_names"]
    is_blamed = np.array([name in blamed for name in names])
    if values is None or not np.isfinite(values).all() or is_blamed.all() or not is_blamed.any():
        return "."
    here, there = float(values[is_blamed].mean()), float(values[~is_blamed].mean())
    return f"; {spoken(high.title)} is {here:.2f} and {there:.2f}." if abs(here - there) < SHOWS / 2 else "."


def _oriented(metric: Metric, values: FloatArray | None) -> FloatArray | None:
    return values if values is None or METRICS[metric.name].higher_is_better else -values


def _mean(values: FloatArray, place: dict[str, int], names: Sequence[str]) -> float:
    found = [values[place[name]] for name in names if np.isfinite(values[place[name]])]
    return float(np.mean(found)) if found else np.inf
