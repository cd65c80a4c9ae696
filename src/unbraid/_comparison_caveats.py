"""Where a sure difference between two representations is not what it seems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from unbraid._differences import Difference
from unbraid._score import Score
from unbraid.metrics import METRICS, Metric
from unbraid.result import Report

#: Nulls that are nearer than this cannot turn a verdict round.
NULLS_DIFFER = 0.05
#: A null as near as this to the best possible leaves nothing to measure.
LEAST_ROOM = 0.05
MOST_TURNED = 3
#: Scores that are means over the codes, so that a code that carries nothing pulls them down.
MEANS_OVER_CODES = ("irs", "mig_sup", "modularity", "infomec.modularity")


def caveats(reports: Mapping[str, Report], differences: Sequence[Difference]) -> tuple[str, ...]:
    """Say at which scores the one that is surely ahead owes it to its null, or to its number of codes."""
    sure = [item for item in differences if item.sure]
    turned = [said for item in sure if (said := _turned_by_null(reports, item))]
    rest = len(turned) - MOST_TURNED
    more = [f"The same holds for {rest} more."] if rest > 0 else []
    return (*turned[:MOST_TURNED], *more, *_fewer_codes(reports, sure))


def _turned_by_null(reports: Mapping[str, Report], item: Difference) -> str:
    """Say that the one behind came further from its own null to the best; nothing where the order stands."""
    ahead, behind = _in_order(item)
    first, second = (reports[name].scores[item.metric] for name in (ahead, behind))
    if first.null is None or second.null is None or abs(first.null - second.null) < NULLS_DIFFER:
        return ""
    if not _from_chance(METRICS[item.metric], first) < _from_chance(METRICS[item.metric], second):
        return ""
    return (
        f"Mind the nulls of {item.metric}: {ahead} has {first.value:.2f} where chance alone gives it {first.null:.2f}, "
        f"{behind} {second.value:.2f} where it gives {second.null:.2f}; "
        f"on the way from chance to the best, {behind} is ahead."
    )


def _from_chance(metric: Metric, score: Score) -> float:
    """Return how far a score is from chance (0) to the best possible (1); NaN where there is no such scale."""
    best = metric.bounds[metric.higher_is_better]
    room = math.nan if score.null is None else best - score.null
    if metric.source.label_free or not metric.has_null or not math.isfinite(room) or abs(room) < LEAST_ROOM:
        return math.nan
    return 1 - (best - score.value) / room


def _fewer_codes(reports: Mapping[str, Report], sure: Sequence[Difference]) -> list[str]:
    """Say at which means over codes the one ahead has fewer codes, none of which need be better."""
    found = []
    for item in sure:
        ahead, behind = _in_order(item)
        if item.metric in MEANS_OVER_CODES and reports[ahead].meta["n_codes"] < reports[behind].meta["n_codes"]:
            found.append(item)
    names = dict.fromkeys(name for item in found for name in (item.first, item.second))
    counted = ", ".join(f"{name} {reports[name].meta['n_codes']}" for name in names)
    metrics = ", ".join(dict.fromkeys(item.metric for item in found))
    said = f"Mind the numbers of codes ({counted}): codes that carry nothing count in the mean over codes of {metrics}."
    return [said] if found else []


def _in_order(item: Difference) -> tuple[str, str]:
    """Return which is ahead and which behind."""
    return (item.first, item.second) if item.better == item.first else (item.second, item.first)
