"""Verdict per property, and its exceptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.text import quoted
from unbraid.evidence.subspaces.options import Subspaces
from unbraid.interpret.chance import NO_BETTER, AgainstChance, against_chance, progress
from unbraid.interpret.structure import best_prediction
from unbraid.metrics import METRICS, Metric
from unbraid.metrics.geometry.orthogonality import weighted_pairs
from unbraid.metrics.table.metric import Property
from unbraid.results.finding import FindingKind
from unbraid.results.report import Report
from unbraid.results.score import Score

MEANING = {
    Property.MODULARITY: "each code encodes one factor",
    Property.COMPACTNESS: "each factor is encoded in one code",
    Property.EXPLICITNESS: "the factors can be predicted from the codes",
    Property.ORTHOGONALITY: "each factor has directions of its own",
    Property.INDEPENDENCE: "the codes do not depend on each other",
    Property.DIMENSION: "the codes vary along many directions",
}


class Level(StrEnum):
    """Verdict on a property, in a few words."""

    VERY_GOOD = "very good"
    GOOD = "good"
    MIDDLING = "middling"
    WEAK = "weak"
    POOR = "poor"
    AT_CHANCE = "at chance"
    NOT_TOLD = "not distinguished from chance"
    NOT_SCORED = "not scored"
    NO_VERDICT = "no verdict"
    DEPENDENT = "dependent"
    INDEPENDENT = "no dependence seen"


#: Least median of the scores' places from chance (0) to best (1), and the verdict from there on.
LEVELS = ((0.9, Level.VERY_GOOD), (0.7, Level.GOOD), (0.4, Level.MIDDLING), (0.1, Level.WEAK), (0.0, Level.POOR))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on one property.

    Attributes:
        about: The property.
        level: The verdict.
        middle: Median of ``points``, where there are any.
        points: Title and progress from chance (0) to best (1) of each score that has such a scale.
        n_scores: How many scores there are, with or without such a scale.
        n_failed: How many more were asked for.
        no_points: Why there are no points, or empty.
    """

    about: Property
    level: Level
    middle: float | None
    points: tuple[tuple[str, float], ...]
    n_scores: int
    n_failed: int
    no_points: str = ""


def verdicts(report: Report) -> list[Verdict]:
    """Return the verdict on every property, from its scores."""
    failed = [METRICS[name].measures[0] for name in report.failures]
    found = [_verdict(prop, scores_of(report, prop), failed.count(prop)) for prop in Property]
    # No metric of dimension is in the default panel, where its absence is no news.
    return [one for one in found if one.about is not Property.DIMENSION or one.n_scores or one.n_failed]


def scores_of(report: Report, prop: Property) -> list[tuple[Metric, Score]]:
    """Return the scores whose first property is ``prop``; each score counts towards one property only."""
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


def _level(scores: list[tuple[Metric, Score]], labelled: list[tuple[Metric, Score]], middle: float | None) -> Level:
    if not scores:
        return Level.NOT_SCORED
    if scores[0][0].measures[0] is Property.DIMENSION:
        return Level.NO_VERDICT
    if not labelled:
        return _independence_level([against_chance(m, s) for m, s in scores])
    known = [where for m, s in labelled if (where := against_chance(m, s)) is not AgainstChance.UNKNOWN]
    if known and sum(where is AgainstChance.BETTER for where in known) <= len(known) / 2:
        return Level.AT_CHANCE if middle is not None and middle < NO_BETTER else Level.NOT_TOLD
    return Level.NO_VERDICT if middle is None else next(word for least, word in LEVELS if middle >= least)


def _independence_level(found: list[AgainstChance]) -> Level:
    if AgainstChance.WORSE in found:
        return Level.DEPENDENT
    return Level.INDEPENDENT if set(found) - {AgainstChance.UNKNOWN} else Level.NO_VERDICT


def _no_points(scores: list[tuple[Metric, Score]], labelled: list[tuple[Metric, Score]]) -> str:
    if not scores:
        return ""
    if labelled and not any(metric.has_null for metric, _ in labelled):
        return "Not on this scale: shuffled factors give no chance level for these scores."
    if labelled:
        return "The chance level is so close to the best possible value that these scores are uninformative here."
    return "Not on this scale: the chance level of these scores is the best possible value, that of independent codes."


#: A factor, code or pair below this is an exception to a verdict of that level; a lesser one claims nothing of each.
LEAST = {Level.VERY_GOOD: 0.75, Level.GOOD: 0.55}
#: How well a probe must predict a factor to say that it is encoded.
PREDICTED_WELL = 0.9
#: Two factors whose orthogonality is below this hardly have a direction that they do not share.
HARDLY_ANY = 0.25

#: Findings whose codes all encode several factors, and findings whose factors all need several codes.
SHARED_CODES = (FindingKind.ROTATED, FindingKind.PACKED)
SEVERAL_CODES = (FindingKind.ROTATED, FindingKind.SPREAD, FindingKind.CIRCLE)


def exceptions(verdict: Verdict, report: Report) -> str:
    """Name the exceptions to a good verdict, in words that follow the verdict; nothing where there are none."""
    least = LEAST.get(verdict.level)
    if least is None:
        return ""
    if verdict.about is Property.ORTHOGONALITY:
        return _pairs(report, least)
    of_codes = verdict.about is Property.MODULARITY
    middle = _middle([_points(m, s, of_codes) for m, s in scores_of(report, verdict.about)])
    names = report.setup.code_names if of_codes else report.setup.factor_names
    known = {Property.MODULARITY: _without_factor, Property.EXPLICITNESS: _predicted_by_some}.get(verdict.about)
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


def _predicted_by_some(report: Report) -> set[str]:
    """Return the factors that at least one probe predicts well, though most may not."""
    best = best_prediction(report)
    if best is None:
        return set()
    return {name for name, most in zip(report.setup.factor_names, best, strict=True) if most >= PREDICTED_WELL}


def _pairs(report: Report, least: float) -> str:
    """Name factors that share directions: alone where they do with every other, else as pairs."""
    found, names = next(iter(report.evidence_of(Subspaces)), None), report.setup.factor_names
    if found is None:
        return ""
    matrix = weighted_pairs(found.data).matrix
    low = matrix < least
    np.fill_diagonal(low, False)
    alone = low.sum(axis=1) == len(names) - 1
    low[alone] = low[:, alone] = False
    pairs = np.argwhere(np.triu(low))
    said = [quoted([name for name, out in zip(names, alone, strict=True) if out])] if alone.any() else []
    if len(pairs):
        said.append(_shared(matrix, pairs, names))
    return f", except {' and '.join(said)}" if said else ""


def _shared(matrix: FloatArray, found: IntArray, names: Sequence[str]) -> str:
    values = matrix[found[:, 0], found[:, 1]]
    worst = int(values.argmin())
    both = quoted([names[k] for k in found[worst]])
    if len(found) > 1:
        return f"{len(found)} pairs of factors, most of all {both}"
    return f"{both}, which {'share one' if values[worst] < HARDLY_ANY else 'share some'}"
