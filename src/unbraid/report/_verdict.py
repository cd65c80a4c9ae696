"""What the scores of one property say together."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from unbraid._score import Score
from unbraid._standing import NO_BETTER, Standing, progress, standing
from unbraid.metrics import METRICS, Metric
from unbraid.metrics._metric import Property
from unbraid.result import Report

MEANING = {
    Property.MODULARITY: "each code is about one factor",
    Property.COMPACTNESS: "each factor sits in one code",
    Property.EXPLICITNESS: "the factors can be read out of the codes",
    Property.ORTHOGONALITY: "each factor has directions of its own",
    Property.INDEPENDENCE: "the codes do not depend on each other",
}
LEVELS = ((0.9, "very good"), (0.7, "good"), (0.4, "middling"), (0.1, "weak"), (0.0, "poor"))
AT_CHANCE, NOT_TOLD, NOT_SCORED, NO_VERDICT = "at chance", "not told from chance", "not scored", "no verdict"
DEPENDENT, INDEPENDENT = "dependent", "no dependence seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One property, judged.

    Attributes:
        about: The property.
        level: One to three words.
        middle: Median of ``points``, where there are any.
        points: Title and progress from chance (0) to best (1) of each score that has such a scale.
        n_scores: How many scores there are, with or without such a scale.
        n_failed: How many more were asked for.
        no_points: Why there are no points, or empty.
    """

    about: Property
    level: str
    middle: float | None
    points: tuple[tuple[str, float], ...]
    n_scores: int
    n_failed: int
    no_points: str = ""


def verdicts(report: Report) -> list[Verdict]:
    """Judge every property from its scores."""
    failed = [METRICS[name].measures[0] for name in report.failures]
    return [_verdict(prop, scores_of(report, prop), failed.count(prop)) for prop in Property]


def scores_of(report: Report, prop: Property) -> list[tuple[Metric, Score]]:
    """Return the scores whose first property is ``prop``; each score is judged under one property only."""
    return [(METRICS[name], score) for name, score in report.scores.items() if METRICS[name].measures[0] is prop]


def _verdict(prop: Property, scores: list[tuple[Metric, Score]], n_failed: int) -> Verdict:
    labelled = [(metric, score) for metric, score in scores if not metric.source.label_free]
    points = tuple((m.title, p) for m, s in labelled if (p := progress(m, s)) is not None)
    middle = median(p for _, p in points) if points else None
    return Verdict(
        about=prop,
        level=_level(scores, labelled, middle),
        middle=middle,
        points=points,
        n_scores=len(scores),
        n_failed=n_failed,
        no_points="" if points else _no_points(scores, labelled),
    )


def _level(scores: list[tuple[Metric, Score]], labelled: list[tuple[Metric, Score]], middle: float | None) -> str:
    if not scores:
        return NOT_SCORED
    if not labelled:
        return _independence_level([standing(m, s) for m, s in scores])
    known = [where for m, s in labelled if (where := standing(m, s)) is not Standing.UNKNOWN]
    if known and sum(where is Standing.BETTER for where in known) <= len(known) / 2:
        return AT_CHANCE if middle is not None and middle < NO_BETTER else NOT_TOLD
    return NO_VERDICT if middle is None else next(word for least, word in LEVELS if middle >= least)


def _independence_level(found: list[Standing]) -> str:
    if Standing.WORSE in found:
        return DEPENDENT
    return INDEPENDENT if set(found) - {Standing.UNKNOWN} else NO_VERDICT


def _no_points(scores: list[tuple[Metric, Score]], labelled: list[tuple[Metric, Score]]) -> str:
    if not scores:
        return ""
    if labelled and not any(metric.has_null for metric, _ in labelled):
        return "Not on this scale: shuffled factors do not tell what chance scores here."
    if labelled:
        return "Chance alone comes so close to the best possible that these scores tell nothing here."
    return "Not on this scale: independent codes, the chance level of these scores, are the best there is."
