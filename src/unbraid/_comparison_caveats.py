"""Where a sure difference between two representations is not what it seems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from unbraid._differences import CHANCE_DIFFERS, Difference
from unbraid._finding import FindingKind
from unbraid._standing import Standing, no_better, progress, standing
from unbraid._words import listing
from unbraid.metrics import METRICS
from unbraid.result import Report

#: Chance levels closer than this are alike.
LEAST_APART = 0.05
#: How many are told in words; a page has all of them.
MOST_TOLD = 3


def caveats(reports: Mapping[str, Report], differences: Sequence[Difference]) -> tuple[str, ...]:
    """Say which sure differences are to be read with care, and why; the first of them only."""
    found = [(item.metric, said) for item in differences if (said := caveat(reports, item))]
    told = [f"Read {metric} with care: {said}." for metric, said in found[:MOST_TOLD]]
    others = [metric for metric, _ in found[MOST_TOLD:]]
    return (*told, f"The like holds for {', '.join(others)}.") if others else tuple(told)


def untested(differences: Sequence[Difference]) -> tuple[str, ...]:
    """Say which scores were not tested because chance differs with the number of codes or rows, and what it scores."""
    found: dict[str, list[str]] = {}
    for item in differences:
        if item.note.startswith(CHANCE_DIFFERS):
            found.setdefault(f"{item.first} and {item.second}", []).append(item.metric)
    return tuple(
        f"Not tested between {pair}: {', '.join(metrics)}, as chance alone differs with the number of codes or rows; "
        "read each beside its own chance."
        for pair, metrics in found.items()
    )


def unlike(reports: Mapping[str, Report], differences: Sequence[Difference]) -> tuple[str, ...]:
    """Say that scores over different factors do not rank models, where the factors have other names or kinds."""
    pairs = dict.fromkeys((item.first, item.second) for item in differences if not _label_free(item))
    apart = [pair for pair in pairs if _factors(reports[pair[0]]) != _factors(reports[pair[1]])]
    if not apart:
        return ()
    first, second = apart[0]
    others = f", and so were {len(apart) - 1} more of the pairs" if len(apart) > 1 else ""
    return (
        f"{first} and {second} were scored over different factors ({_told(reports[first])}; {_told(reports[second])})"
        f"{others}: scores over different factors do not rank models, so what follows compares numbers only.",
    )


def _label_free(item: Difference) -> bool:
    return METRICS[item.metric].source.label_free


def _factors(report: Report) -> tuple[tuple[object, ...], ...]:
    return tuple(tuple(report.meta.get(key, ())) for key in ("factor_names", "factor_kinds"))


def _told(report: Report) -> str:
    """Name the factors, with their kinds."""
    return listing([f"{name} {kind}" for name, kind in zip(*_factors(report), strict=True)], MOST_TOLD) or "none"


def caveat(reports: Mapping[str, Report], item: Difference) -> str:
    """Say why a sure difference is to be read with care: chance, or codes that carry no factor; else nothing."""
    if not item.sure or item.better is None:
        return ""
    return _owed_to_chance(reports, item) or _owed_to_empty_codes(reports, item)


def _owed_to_chance(reports: Mapping[str, Report], item: Difference) -> str:
    """Say what chance scores for either, where a difference shrinks by half or turns round once it is counted."""
    metric = METRICS[item.metric]
    first, second = (reports[name].scores[item.metric] for name in (item.first, item.second))
    if metric.source.label_free or first.null is None or second.null is None:
        return ""
    ahead, behind = (first, second) if item.better == item.first else (second, first)
    if standing(metric, ahead) in (Standing.SAME, Standing.WORSE):
        how = "no better than" if no_better(metric, ahead) else "not told from"
        return f"{item.better} is ahead, and yet {how} chance ({ahead.null:.3f})"
    places = progress(metric, ahead), progress(metric, behind)
    if abs(first.null - second.null) < LEAST_APART or places[0] is None or places[1] is None:
        return ""
    if places[0] - places[1] > abs(item.value) / 2:
        return ""
    how = "hardly ahead" if places[0] > places[1] else "not ahead"
    return (
        f"chance alone scores {first.null:.2f} for {item.first}, {second.null:.2f} for {item.second}; "
        f"from chance to best, {item.better} is {how}"
    )


def _owed_to_empty_codes(reports: Mapping[str, Report], item: Difference) -> str:
    """Say that codes which carry no factor put one behind, where it would be ahead without them."""
    loser = item.second if item.better == item.first else item.first
    ahead, behind = (reports[name].scores[item.metric] for name in (str(item.better), loser))
    empty = {name for found in reports[loser].findings if found.kind is FindingKind.EMPTY for name in found.codes}
    if not empty or behind.per_code is None:
        return ""
    others = behind.per_code[[name not in empty for name in reports[loser].meta["code_names"]]]
    mean = float(others[np.isfinite(others)].mean()) if np.isfinite(others).any() else math.nan
    if not (mean >= ahead.value if METRICS[item.metric].higher_is_better else mean <= ahead.value):
        return ""
    codes = "1 code" if len(empty) == 1 else f"{len(empty)} codes"
    return f"{loser} has {codes} without a factor, its others average {mean:.2f}"
