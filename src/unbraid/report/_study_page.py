"""The page of a study: its table in, HTML out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from unbraid.report._format import EN_DASH, exact, listing, number
from unbraid.report._shell import fill
from unbraid.report._study_charts import families, scatters, sizes, strengths
from unbraid.report._study_maps import group_maps, main_maps, p_value
from unbraid.report._study_words import bare, facts, findings, is_lower_better, main_matrix, opening
from unbraid.study._analysis import Analysis, analyse
from unbraid.study._groups import TIMES

MOST_PAIRS, MOST_FAILURES = 150, 40
TOO_LONG = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One line of the table of pairs; keys are what it is sorted by."""

    name: str
    texts: tuple[str, ...]
    keys: tuple[str, ...]


def study_page(table: pd.DataFrame | Analysis, *, name: str, about: str = "", **options: Any) -> str:
    """Return a study as one HTML page that needs nothing else.

    Args:
        table: The tidy table of a study, or its analysis where that is there already.
        name: Heading.
        about: What the study is, in a sentence or two.
        **options: To :func:`unbraid.study.analyse`.

    Raises:
        ValueError: As :func:`unbraid.study.analyse` does.
        TypeError: Options are given for an analysis that is done.
    """
    if isinstance(table, Analysis) and options:
        raise TypeError(f"options must be given where the analysis is made, got {', '.join(options)} after it.")
    analysis = table if isinstance(table, Analysis) else analyse(table, **options)
    return fill("study.html", study_context(analysis, name=name, about=about), "study.css")


def study_context(analysis: Analysis, *, name: str, about: str) -> dict[str, Any]:
    """Return everything the template shows, as plain data."""
    maps = main_maps(analysis)
    groups, not_shown = group_maps(analysis, sum(grid.n_cells for grids in maps.values() for grid in grids))
    found = main_matrix(analysis)
    return {
        "heading": name,
        "about": about,
        "facts": facts(analysis),
        "lede": opening(analysis),
        "findings": findings(analysis),
        "says": found.says if found else "",
        "lower": listing([score for score in analysis.models.scores if is_lower_better(score)], 20),
        "maps": maps,
        "group_maps": groups,
        "groups_left_out": not_shown,
        "families": list(enumerate(families(analysis))),
        "datasets": list(enumerate(sorted(analysis.models.about["dataset"].unique()))),
        "scatters": scatters(analysis),
        "strengths": strengths(analysis),
        "sizes": sizes(analysis),
        "pairs": pairs(analysis),
        "n_pairs": 0 if found is None else len(found.tidy()),
        "level": f"{analysis.level:g}",
        "collapsed": int(analysis.runs["collapsed"].sum()),
        "runs": analysis.runs.to_dict("records"),
        "failures": failures(analysis),
        "n_failures": len(analysis.failures),
    }


def pairs(analysis: Analysis) -> list[Pair]:
    """Return the strongest pairs with all their numbers, Pearson's and Spearman's."""
    kind = analysis.with_tasks or analysis.between_scores
    if not kind:
        return []
    line = kind["pearson"].tidy().dropna(subset="r").head(MOST_PAIRS)
    return [_pair(one, kind["spearman"].at(one["row"], one["column"]).r) for one in line.to_dict("records")]


def _pair(line: dict[Any, Any], rank: float) -> Pair:
    interval = f"{number(line['low'])} {EN_DASH} {number(line['high'])}" if pd.notna(line["low"]) else EN_DASH
    return Pair(
        name=f"{line['row']} {TIMES} {bare(line['column'])}",
        texts=(
            number(line["r"]),
            interval,
            p_value(line["p"]),
            p_value(line["p_corrected"]),
            f"{line['n']:,}",
            number(rank),
        ),
        keys=tuple(
            exact(value) for value in (line["r"], _width(line), line["p"], line["p_corrected"], float(line["n"]), rank)
        ),
    )


def _width(line: dict[Any, Any]) -> float:
    return float(line["high"] - line["low"])


def failures(analysis: Analysis) -> list[dict[Any, Any]]:
    """Return what failed and why, with long reasons cut short."""
    lines = analysis.failures.head(MOST_FAILURES).to_dict("records")
    return [line | {"reason": str(line["reason"])[:TOO_LONG], "example": str(line["example"])[:12]} for line in lines]
