"""Verdict of a comparison in sentences, with caveats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from unbraid._base.text import listing
from unbraid.comparison.differences import LEVEL, UNPAIRED, UNTESTED, Comparability, Difference
from unbraid.interpret.chance import AgainstChance, against_chance, no_better, progress
from unbraid.metrics import METRICS
from unbraid.metrics.table.metric import Property
from unbraid.results.finding import FindingKind
from unbraid.results.report import Report

MOST_PAIRS = 3
#: Ratio of sure wins from which one of two representations is called mostly better.
MOSTLY = 3


def verdict(names: Sequence[str], differences: Sequence[Difference], caveats: Sequence[str] = ()) -> tuple[str, ...]:
    """Return which is better: a sentence for each pair, or for each representation where there are many pairs.

    Then the caveats, then what "sure" means.
    """
    if len(names) < 2:
        return ()
    pairs = [list(group) for _, group in groupby(differences, key=lambda item: (item.first, item.second))]
    if not pairs:
        return ("The representations share no score, so that nothing can be compared.",)
    if len(pairs) <= MOST_PAIRS:
        sentences = [pair_verdict(items) for items in pairs]
    else:
        sentences = [_tally(name, differences) for name in sorted(names, key=lambda name: -_lead(name, differences))]
    return (*sentences, *caveats, *_method(differences))


def pair_verdict(items: Sequence[Difference]) -> str:
    """Return which of two representations is better, at which properties, and how many differences are sure."""
    first, second = items[0].first, items[0].second
    tested = [item for item in items if item.p_value is not None]
    if not tested:
        reasons = dict.fromkeys(UNTESTED[item.status] for item in items)
        return f"No difference between {first} and {second} could be tested: {'; '.join(reasons)}."
    won = {name: [item for item in tested if item.sure and item.better == name] for name in (first, second)}
    n_equal = sum(item.equal for item in tested)
    rest = len(tested) - sum(map(len, won.values())) - n_equal
    if n_equal == len(tested):
        return f"{first} and {second} are equal at {_all_of(n_equal)}."
    if not any(won.values()):
        others = f"{n_equal} {_are(n_equal)} equal and {rest}" if n_equal else _all_of(rest)
        return f"No difference between {first} and {second} is sure: {others} could be chance."
    tail = _tail(rest, n_equal)
    ahead, behind = sorted((first, second), key=lambda name: -len(won[name]))
    if len(won[behind]) * MOSTLY <= len(won[ahead]):
        return f"{_better_at(ahead, behind, won, tested)}{tail}"
    return (
        f"Neither {first} nor {second} is better throughout: {first} is surely better at "
        f"{_share(won[first], tested)}, {second} at {_share(won[second], tested)}{tail}"
    )


def _better_at(ahead: str, behind: str, won: Mapping[str, Sequence[Difference]], tested: Sequence[Difference]) -> str:
    """Count the scores at which either representation is surely better."""
    if not won[behind]:
        return f"{ahead} is surely better than {behind} at {_share(won[ahead], tested)} and surely worse at none"
    return (
        f"{ahead} is mostly better than {behind}: surely better at {_share(won[ahead], tested)}, "
        f"surely worse at {_share(won[behind], tested)}"
    )


def _tail(rest: int, n_equal: int) -> str:
    """Count the scores without a sure winner: equal ones, and differences that could be chance."""
    if rest and n_equal:
        return f"; of the others, {n_equal} {_are(n_equal)} equal and {rest} could be chance."
    if n_equal:
        return f"; the other {n_equal} {_are(n_equal)} equal."
    return f"; the other {rest} could be chance." if rest else "."


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _all_of(n: int) -> str:
    return "the only one tested" if n == 1 else f"each of the {n} tested"


def _share(won: Sequence[Difference], tested: Sequence[Difference]) -> str:
    """Count the scores won, in all and for each property."""
    parts = []
    for prop in Property:
        of = [item for item in tested if METRICS[item.metric].measures[0] is prop]
        n = sum(item in of for item in won)
        if n:
            parts.append(f"{prop} {n} of {len(of)}")
    return f"{len(won)} of {len(tested)} {'score' if len(tested) == 1 else 'scores'} ({', '.join(parts)})"


def _tally(name: str, differences: Sequence[Difference]) -> str:
    own = [item for item in differences if name in (item.first, item.second) and item.p_value is not None]
    won, lost = _won_and_lost(name, differences)
    return f"{name}: surely better {_times(won)}, surely worse {_times(lost)}, of {len(own)} comparisons."


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _lead(name: str, differences: Sequence[Difference]) -> int:
    won, lost = _won_and_lost(name, differences)
    return won - lost


def _won_and_lost(name: str, differences: Sequence[Difference]) -> tuple[int, int]:
    sure = [item for item in differences if item.sure and name in (item.first, item.second)]
    won = sum(item.better == name for item in sure)
    return won, len(sure) - won


def _method(differences: Sequence[Difference]) -> tuple[str, ...]:
    """Explain "sure" and the pairing of tests; empty where nothing was tested."""
    tested = [item for item in differences if item.p_value is not None]
    if not tested:
        return ()
    paired = sum(item.paired for item in tested)
    meaning = f"Sure: p below {LEVEL:g} after Holm's correction for all {len(tested)} tests. "
    if len(tested) == 1:
        meaning = f"Sure: p below {LEVEL:g}. "
    if paired == len(tested):
        return (meaning + "The representations have the same rows, so differences are paired.",)
    reasons = dict.fromkeys(UNPAIRED[item.status] for item in tested if not item.paired)
    how = "No difference is" if not paired else f"Only {paired} of {len(tested)} differences are"
    return (f"{meaning}{how} paired: {'; '.join(reasons)}.",)


#: Chance levels closer than this are alike.
LEAST_APART = 0.05
#: Most caveats and most factors in a verdict; a page has all caveats.
MOST_LISTED = 3


def caveats(reports: Mapping[str, Report], differences: Sequence[Difference]) -> tuple[str, ...]:
    """Return caveats on sure differences: the first few with the reason, the others by name."""
    found = [(item.metric, reason) for item in differences if (reason := caveat(reports, item))]
    sentences = [f"Read {metric} with care: {reason}." for metric, reason in found[:MOST_LISTED]]
    others = [metric for metric, _ in found[MOST_LISTED:]]
    return (*sentences, f"The same applies to {', '.join(others)}.") if others else tuple(sentences)


def untested(differences: Sequence[Difference]) -> tuple[str, ...]:
    """Name the scores that were not tested because their chance level differs with the number of codes or rows."""
    found: dict[str, list[str]] = {}
    for item in differences:
        if item.status is Comparability.CHANCE_DIFFERS:
            found.setdefault(f"{item.first} and {item.second}", []).append(item.metric)
    return tuple(
        f"Not tested between {pair}: {', '.join(metrics)}, as the chance level differs with the number of codes or "
        "rows; compare each score with its own chance level."
        for pair, metrics in found.items()
    )


def unlike(reports: Mapping[str, Report], differences: Sequence[Difference]) -> tuple[str, ...]:
    """Return a caveat where factors differ in name or kind: such scores do not rank models."""
    pairs = dict.fromkeys((item.first, item.second) for item in differences if not _label_free(item))
    apart = [pair for pair in pairs if _factors(reports[pair[0]]) != _factors(reports[pair[1]])]
    if not apart:
        return ()
    first, second = apart[0]
    factors = f"{_factor_text(reports[first])}; {_factor_text(reports[second])}"
    others = f", and so were {len(apart) - 1} more of the pairs" if len(apart) > 1 else ""
    return (
        f"{first} and {second} were scored over different factors ({factors}){others}: scores over "
        "different factors do not rank models, so what follows compares numbers only.",
    )


def _label_free(item: Difference) -> bool:
    return METRICS[item.metric].source.label_free


def _factors(report: Report) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return report.setup.factor_names, report.setup.factor_kinds


def _factor_text(report: Report) -> str:
    """Name the factors, with their kinds."""
    return listing([f"{name} {kind}" for name, kind in zip(*_factors(report), strict=True)], MOST_LISTED) or "none"


def caveat(reports: Mapping[str, Report], item: Difference) -> str:
    """Return the caveat on a sure difference: chance levels, or codes that encode no factor; else empty."""
    if not item.sure or item.better is None:
        return ""
    return _chance_caveat(reports, item) or _empty_codes_caveat(reports, item)


def _chance_caveat(reports: Mapping[str, Report], item: Difference) -> str:
    """Give both chance levels where, counted from chance, a difference shrinks by half or changes sign."""
    metric = METRICS[item.metric]
    first, second = (reports[name].scores[item.metric] for name in (item.first, item.second))
    if metric.source.label_free or first.null is None or second.null is None:
        return ""
    ahead, behind = (first, second) if item.better == item.first else (second, first)
    if against_chance(metric, ahead) in (AgainstChance.SAME, AgainstChance.WORSE):
        how = "no better than" if no_better(metric, ahead) else "not distinguished from"
        return f"{item.better} is ahead, but {how} chance ({ahead.null:.3f})"
    places = progress(metric, ahead), progress(metric, behind)
    if abs(first.null - second.null) < LEAST_APART or places[0] is None or places[1] is None:
        return ""
    if places[0] - places[1] > abs(item.value) / 2:
        return ""
    how = "hardly ahead" if places[0] > places[1] else "not ahead"
    return (
        f"the chance level is {first.null:.2f} for {item.first} and {second.null:.2f} for {item.second}; "
        f"on the scale from chance to best, {item.better} is {how}"
    )


def _empty_codes_caveat(reports: Mapping[str, Report], item: Difference) -> str:
    """Return a caveat where a representation is behind only because of codes that encode no factor."""
    loser = item.second if item.better == item.first else item.first
    ahead, behind = (reports[name].scores[item.metric] for name in (str(item.better), loser))
    empty = {name for found in reports[loser].findings if found.kind is FindingKind.EMPTY for name in found.codes}
    if not empty or behind.per_code is None:
        return ""
    others = behind.per_code[[name not in empty for name in reports[loser].setup.code_names]]
    mean = float(others[np.isfinite(others)].mean()) if np.isfinite(others).any() else math.nan
    if not (mean >= ahead.value if METRICS[item.metric].higher_is_better else mean <= ahead.value):
        return ""
    codes = "1 code that encodes" if len(empty) == 1 else f"{len(empty)} codes that encode"
    return f"{loser} has {codes} no factor; the mean over its other codes is {mean:.2f}"
