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
MEANS_OVER_CODES = ("modularity", "irs")


def caveats(reports: Mapping[str, Report], differences: Sequence[Difference]) -> tuple[str, ...]:
    """Say at which scores the one that is surely ahead owes it to its null, or to its number of codes."""
    sure = [item for item in differences if item.sure]
    turned = [said for item in sure if (said := _turned_by_null(reports, item))]
    rest = len(turned) - MOST_TURNED
    more = [f"The same holds for {rest} more."] if rest > 0 else []
    return (*turned[:MOST_TURNED], *more, *_other_numbers_of_codes(reports, sure))


def _turned_by_null(reports: Mapping[str, Report], item: Difference) -> str:
    """Say that the one behind came further from its own null to the best; nothing where the order stands."""
    ahead = str(item.better)
    behind = item.second if ahead == item.first else item.first
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


def _other_numbers_of_codes(reports: Mapping[str, Report], sure: Sequence[Difference]) -> list[str]:
    found = [item for item in sure if item.metric in MEANS_OVER_CODES]
    numbers = {name: reports[name].meta["n_codes"] for item in found for name in (item.first, item.second)}
    if len(set(numbers.values())) < 2:
        return []
    counted = ", ".join(f"{name} {number}" for name, number in numbers.items())
    names = " and ".join(dict.fromkeys(item.metric for item in found))
    return [f"Mind the numbers of codes ({counted}): codes that carry nothing count in the mean over codes of {names}."]
