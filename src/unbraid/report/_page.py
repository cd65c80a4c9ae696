"""Put the page together: rows in, HTML out."""

from __future__ import annotations

from typing import Any

from unbraid._diagnosis import READ_WELL, RIGHT_ANGLES
from unbraid._structure import MOST_OF_IT
from unbraid.report._breakdown import code_grid, factor_grid
from unbraid.report._curves import loss_grid, make_curves, weight_grid
from unbraid.report._dependence import dependence_view
from unbraid.report._disagreement import MARKED_SPREAD
from unbraid.report._doubts import failure_doubts, general_doubts, score_doubts
from unbraid.report._format import clip, count
from unbraid.report._heatmap import code_code_map, code_factor_maps, factor_factor_maps
from unbraid.report._loss_curves import draw_losses
from unbraid.report._loss_tables import loss_tables
from unbraid.report._rows import score_groups
from unbraid.report._shell import carried, fill
from unbraid.report._sources import call, interval_methods, references
from unbraid.report._summary import opening
from unbraid.report._verdict import LEVELS, MEANING, verdicts
from unbraid.result import Report


def render_page(report: Report) -> str:
    """Return the report as one HTML page that needs nothing else: no network, no other file.

    Names and notes come from the user's data, so the template escapes everything; only the style sheet and the
    script, which are ours, go in as they are. The page's policy allows that one script and nothing from elsewhere.
    """
    return fill("page.html", page_context(report))


def page_context(report: Report) -> dict[str, Any]:
    """Return everything the template shows, as plain data."""
    return {
        "meta": report.meta,
        "heading": heading(report),
        "facts": facts(report),
        "factors": _factors(report),
        "opening": opening(report),
        "verdicts": verdicts(report),
        "general_doubts": general_doubts(report),
        "failure_doubts": failure_doubts(report),
        "score_doubts": score_doubts(report),
        "dependence": dependence_view(report),
        "groups": score_groups(report),
        "maps": code_factor_maps(report),
        "code_map": code_code_map(report),
        "pair_maps": factor_factor_maps(report),
        "curves": make_curves(report),
        "curve_grids": [grid for grid in (loss_grid(report), weight_grid(report)) if grid],
        "says": report.says,
        "losses": draw_losses({report.meta["name"]: report}),
        "loss_tables": loss_tables({report.meta["name"]: report}),
        "factor_grid": factor_grid(report),
        "code_grid": code_grid(report),
        "interval_methods": interval_methods(report),
        "references": references(report),
        "call": call(report),
        "confidence": f"{100 * report.meta['confidence']:g} %",
        "meaning": MEANING,
        "levels": LEVELS,
        "marked_spread": MARKED_SPREAD,
        "rotation_rules": (READ_WELL, RIGHT_ANGLES, MOST_OF_IT),
        "data": carried(report.to_json()),
    }


def heading(report: Report) -> str:
    """Return the question that the page answers."""
    codes, n_factors = count(report.meta["n_codes"], "code"), report.meta["n_factors"]
    if not n_factors:
        return f"How independent are these {codes}?" if report.meta["n_codes"] > 1 else "What is in this code?"
    return f"How well do {codes} separate {count(n_factors, 'factor')}?"


def facts(report: Report) -> list[tuple[str, str]]:
    """Return what was scored and how, as label and text."""
    meta = report.meta
    dead = len(meta["dead_codes"])
    return [
        ("Rows", f"{meta['n_samples']:,}"),
        ("Codes", f"{meta['n_codes']:,}" + (f", {dead:,} of them constant" if dead else "")),
        ("Factors", f"{meta['n_factors']:,}"),
        ("Scores", f"{len(report.scores)}" + (f", {len(report.failures)} failed" if report.failures else "")),
        ("Seed", f"{meta['seed']}"),
        ("Unbraid", f"{meta['unbraid']}"),
    ]


def _factors(report: Report) -> list[tuple[str, str, str]]:
    """Return each factor's name, what it is, and its name as the headings of tables have it."""
    meta = report.meta
    columns = zip(meta["factor_names"], meta["factor_kinds"], meta["factor_levels"], strict=True)
    return [(name, f"{kind}, {levels} values" if levels else kind, clip(name)) for name, kind, levels in columns]
