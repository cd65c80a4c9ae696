"""The opening of the page: what the scores say, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._dependence import distrusted
from unbraid.metrics import METRICS
from unbraid.metrics._metric import Property
from unbraid.report._disagreement import Disagreement, disagreements, explain
from unbraid.report._format import count, listing, number, spoken
from unbraid.report._standing import Standing, standing
from unbraid.report._verdict import AT_CHANCE, LEVELS, MEANING, NOT_SCORED, Verdict, scores_of, verdicts
from unbraid.result import Report

NOTABLE_GAP = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first words of the page.

    Attributes:
        verdict: What the representation is good and bad at.
        caution: How far to trust that: chance, scores that disagree, factors that differ.
        disagreements: For each property whose scores disagree markedly, what they ask and why they may.
    """

    verdict: str
    caution: str
    disagreements: tuple[str, ...] = ()


def opening(report: Report) -> Opening:
    """Say in words what the numbers say."""
    if not report.scores:
        return Opening(verdict="Nothing could be scored; the reasons are below.", caution="")
    judged, apart = verdicts(report), disagreements(report)
    verdict = [*_levels(judged), *_scale(judged, report), *_independence(report), *_unscored(judged, report)]
    caution = [
        *_dependence(report),
        *_one_factor(judged, report),
        *_partly_failed(judged),
        *_chance(report),
        *_disagreements(apart),
        *_factors(report),
    ]
    return Opening(
        verdict=" ".join(verdict),
        caution=" ".join(caution),
        disagreements=tuple(explain(item, report, judged) for item in apart),
    )


def _levels(judged: list[Verdict]) -> list[str]:
    parts = []
    for _, word in LEVELS:
        names = _explained(judged, word)
        if names:
            parts.append(f"{word} at {listing(names)}")
    joined = ", and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
    sentences = [f"This representation is {joined}."] if parts else []
    names = _explained(judged, AT_CHANCE)
    if names:
        subject = "It" if parts else "This representation"
        sentences.append(f"{subject} does no better than chance at {listing(names)}.")
    return sentences


def _explained(judged: list[Verdict], level: str) -> list[str]:
    return [f"{v.about} ({MEANING[v.about]})" for v in judged if v.level == level]


def _scale(judged: list[Verdict], report: Report) -> list[str]:
    parts = [f"{v.middle:.2f} for {v.about}" for v in judged if v.middle is not None]
    if not parts:
        return []
    with_null = any(score.null is not None for score in report.scores.values())
    zero = "what shuffled factors score" if with_null else "the worst possible (no chance level was computed)"
    return [f"On a scale from 0, {zero}, to 1, the best possible, the middle score is {listing(parts)}."]


def _independence(report: Report) -> list[str]:
    found = [(m, s, standing(m, s)) for m, s in scores_of(report, Property.INDEPENDENCE) if m.source.label_free]
    worse = [
        f"{spoken(m.title)} is {number(s.value)} where independent codes give {number(s.null)}"
        for m, s, where in found
        if where is Standing.WORSE
    ]
    if worse:
        return [f"The codes depend on each other: {worse[0]}."]
    if any(where is not Standing.UNKNOWN for *_, where in found):
        return ["The codes cannot be told from independent ones."]
    return []


def _unscored(judged: list[Verdict], report: Report) -> list[str]:
    empty = [v for v in judged if v.level == NOT_SCORED]
    if empty and not report.meta["n_factors"]:
        return [f"No factors were given, so nothing can be said about {_names(empty)}."]
    failed, not_run = [v for v in empty if v.n_failed], [v for v in empty if not v.n_failed]
    sentences = []
    if failed:
        sentences.append(f"Nothing can be said about {_names(failed)}: every metric of that kind failed.")
    if not_run:
        sentences.append(f"Nothing can be said about {_names(not_run)}: no metric of that kind was run.")
    return sentences


def _names(judged: list[Verdict]) -> str:
    return listing([str(v.about) for v in judged])


def _dependence(report: Report) -> list[str]:
    misled = distrusted(report.scores, report.dependence)
    if not misled:
        return []
    return [f"Some factors depend on each other, which misleads {len(misled)} of {count(len(report.scores), 'score')}."]


def _one_factor(judged: list[Verdict], report: Report) -> list[str]:
    judges_modularity = any(v.about is Property.MODULARITY and v.n_scores for v in judged)
    if report.meta["n_factors"] != 1 or not judges_modularity:
        return []
    return ["With one factor, no code can mix factors, so the verdict on modularity says little."]


def _partly_failed(judged: list[Verdict]) -> list[str]:
    return [
        f"{count(v.n_failed, 'metric')} of {v.about} failed; the verdict on it rests on the other {v.n_scores}."
        for v in judged
        if v.n_failed and v.n_scores
    ]


def _chance(report: Report) -> list[str]:
    found = [(METRICS[name], score) for name, score in report.scores.items() if not METRICS[name].source.label_free]
    where = {spoken(metric.title): standing(metric, score) for metric, score in found}
    known = [title for title in where if where[title] is not Standing.UNKNOWN]
    if not known:
        return ["Scores were not compared with chance, so some may be luck."] if found else []
    same = [title for title in known if where[title] is Standing.SAME]
    worse = [title for title in known if where[title] is Standing.WORSE]
    if not same and not worse:
        return [f"All {len(known)} scores compared with chance are clear of it."] if len(known) > 1 else []
    if len(same) == len(known) > 1:
        return [f"None of the {len(known)} scores compared with chance can be told from it."]
    total, sentences = count(len(known), "score"), []
    if same:
        sentences.append(f"{len(same)} of {total} cannot be told from chance: {listing(same)}.")
    if worse:
        verb = "lies" if len(worse) == 1 else "lie"
        sentences.append(f"{len(worse)} of {total} {verb} below chance: {listing(worse)}.")
    return sentences


def _disagreements(found: list[Disagreement]) -> list[str]:
    if not found:
        return []
    parts = [f"{item.about} ({item.names})" for item in found]
    return [f"On the scale from chance to best, scores about one property disagree markedly for {listing(parts)}."]


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
        f"Of the factors, “{names[low]}” comes out weakest (mean {means[low]:.2f} over the {len(table)} scores "
        f"that are given factor by factor) and “{names[high]}” strongest ({means[high]:.2f})."
    ]
