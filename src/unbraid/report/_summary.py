"""The opening paragraph: what the scores say, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from unbraid._score import Score
from unbraid.metrics import METRICS, Metric
from unbraid.metrics._metric import Property
from unbraid.report._format import count, listing, number
from unbraid.report._standing import Standing, progress, progress_range, standing
from unbraid.result import Report

MEANING = {
    Property.MODULARITY: "each code is about one factor",
    Property.COMPACTNESS: "each factor sits in one code",
    Property.EXPLICITNESS: "the factors can be read out of the codes",
    Property.INDEPENDENCE: "the codes do not depend on each other",
}
LEVELS = ((0.9, "very good"), (0.7, "good"), (0.4, "middling"), (0.1, "weak"), (0.0, "poor"))
AT_CHANCE, NOT_SCORED, NOT_COMPARED = "at chance", "not scored", "no verdict"
MARKED_SPREAD = 0.4
NOTABLE_GAP = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the scores of one property say together.

    Attributes:
        property: The property.
        level: One or two words.
        middle: Median of ``points``, where there are any.
        points: Title and progress from chance (0) to best (1) of each score that has such a scale.
        n_scores: How many scores there are, with or without such a scale.
    """

    property: Property
    level: str
    middle: float | None
    points: tuple[tuple[str, float], ...]
    n_scores: int


def scores_of(report: Report, prop: Property) -> list[tuple[Metric, Score]]:
    """Return the scores whose first property is ``prop``; each score is judged under one property only."""
    return [(METRICS[name], score) for name, score in report.scores.items() if METRICS[name].measures[0] is prop]


def verdicts(report: Report) -> list[Verdict]:
    """Judge every property from its scores."""
    return [_verdict(prop, scores_of(report, prop)) for prop in Property]


def opening(report: Report) -> list[str]:
    """Return the sentences of the opening paragraph."""
    judged = verdicts(report)
    sentences = [
        *_levels(judged),
        *_scale(judged, report),
        *_independence(report),
        *_unscored(judged, report),
        *_chance(report),
        *_disagreements(report),
        *_factors(report),
    ]
    return sentences or ["Nothing could be scored; the reasons are below."]


def _verdict(prop: Property, scores: list[tuple[Metric, Score]]) -> Verdict:
    labelled = [(metric, score) for metric, score in scores if not metric.source.label_free]
    points = tuple((m.title, p) for m, s in labelled if (p := progress(m, s)) is not None)
    middle = median(p for _, p in points) if points else None
    return Verdict(
        property=prop,
        level=_level(scores, labelled, middle),
        middle=middle,
        points=points,
        n_scores=len(scores),
    )


def _level(scores: list[tuple[Metric, Score]], labelled: list[tuple[Metric, Score]], middle: float | None) -> str:
    if not scores:
        return NOT_SCORED
    if not labelled:
        return _independence_level([standing(m, s) for m, s in scores])
    known = [where for m, s in labelled if (where := standing(m, s)) is not Standing.UNKNOWN]
    if known and sum(where is Standing.BETTER for where in known) <= len(known) / 2:
        return AT_CHANCE
    return NOT_COMPARED if middle is None else next(word for least, word in LEVELS if middle >= least)


def _independence_level(found: list[Standing]) -> str:
    if Standing.WORSE in found:
        return "dependent"
    return "no dependence seen" if set(found) - {Standing.UNKNOWN} else NOT_COMPARED


def _levels(judged: list[Verdict]) -> list[str]:
    words = [word for _, word in LEVELS]
    parts = []
    for word in words:
        names = [f"{v.property} ({MEANING[v.property]})" for v in judged if v.level == word]
        if names:
            parts.append(f"{word} at {listing(names)}")
    sentences = [f"This representation is {listing(parts)}."] if parts else []
    names = [f"{v.property} ({MEANING[v.property]})" for v in judged if v.level == AT_CHANCE]
    if names:
        sentences.append(f"It does no better than chance at {listing(names)}.")
    return sentences


def _scale(judged: list[Verdict], report: Report) -> list[str]:
    parts = [f"{v.middle:.2f} for {v.property}" for v in judged if v.middle is not None]
    if not parts:
        return []
    with_null = any(score.null is not None for score in report.scores.values())
    zero = "what shuffled factors score" if with_null else "the worst possible (no chance level was computed)"
    return [f"On a scale from 0, {zero}, to 1, the best possible, the middle score is {listing(parts)}."]


def _independence(report: Report) -> list[str]:
    found = [(m, s, standing(m, s)) for m, s in scores_of(report, Property.INDEPENDENCE) if m.source.label_free]
    worse = [f"{m.title} is {number(s.value)} against {number(s.null)}" for m, s, where in found if where is Standing.WORSE]
    if worse:
        return [f"The codes depend on each other: {listing(worse, most=3)} for independent codes."]
    if any(where is not Standing.UNKNOWN for *_, where in found):
        return ["The codes cannot be told from independent ones."]
    return []


def _unscored(judged: list[Verdict], report: Report) -> list[str]:
    names = [str(v.property) for v in judged if v.level == NOT_SCORED]
    if not names:
        return []
    if not report.meta["n_factors"]:
        return [f"No factors were given, so nothing can be said about {listing(names)}."]
    failed = {METRICS[name].measures[0] for name in report.failures}
    why = "the metrics for it failed" if any(v in failed for v in names) else "no metric for it was run"
    return [f"Nothing can be said about {listing(names)}: {why}."]


def _chance(report: Report) -> list[str]:
    found = [(METRICS[name], score) for name, score in report.scores.items() if not METRICS[name].source.label_free]
    where = {metric.title: standing(metric, score) for metric, score in found}
    known = [title for title in where if where[title] is not Standing.UNKNOWN]
    if not known:
        return ["Scores were not compared with chance, so some may be luck."] if found else []
    low = [
        f"{title} (below it)" if where[title] is Standing.WORSE else title
        for title in known
        if where[title] is not Standing.BETTER
    ]
    if not low:
        return [f"All {len(known)} scores compared with chance are clear of it."] if len(known) > 1 else []
    verb = "is" if len(low) == 1 else "are"
    return [f"{len(low)} of {count(len(known), 'score')} {verb} not clear of chance: {listing(low)}."]


def _disagreements(report: Report) -> list[str]:
    parts = []
    for prop in Property:
        ends = [(m.title, e) for m, s in scores_of(report, prop) if (e := progress_range(m, s)) is not None]
        if len(ends) < 2:
            continue
        bottom = min(ends, key=lambda item: item[1][1])
        top = max(ends, key=lambda item: item[1][0])
        if top[1][0] - bottom[1][1] >= MARKED_SPREAD:
            parts.append(f"{prop} ({bottom[0]} at most {bottom[1][1]:.2f}, {top[0]} at least {top[1][0]:.2f})")
    if not parts:
        return []
    return [f"Scores about the same property disagree markedly, on the same scale, for {listing(parts)}."]


def _factors(report: Report) -> list[str]:
    """Name the weakest and strongest factor, where they differ."""
    columns = [
        score.per_factor
        for name, score in report.scores.items()
        if score.per_factor is not None and METRICS[name].higher_is_better and METRICS[name].bounds == (0.0, 1.0)
    ]
    table = np.array([column for column in columns if np.isfinite(column).all()])
    if len(table) < 2 or table.shape[1] < 2:
        return []
    means, names = table.mean(axis=0), report.meta["factor_names"]
    low, high = int(means.argmin()), int(means.argmax())
    if means[high] - means[low] < NOTABLE_GAP:
        return []
    return [
        f"Of the factors, {names[low]} comes out weakest (mean {means[low]:.2f} over the {len(table)} scores "
        f"that are given factor by factor) and {names[high]} strongest ({means[high]:.2f})."
    ]
