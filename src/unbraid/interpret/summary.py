"""Opening paragraph of a report, and notes grouped by kind."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import IntArray
from unbraid._base.text import count, listing, number, quoted, spoken
from unbraid.evidence.information import CodeInformation
from unbraid.interpret.chance import AgainstChance, against_chance
from unbraid.interpret.dependence import depending, distrusted
from unbraid.interpret.disagreement import Disagreement, disagreements, explain
from unbraid.interpret.structure import best_prediction
from unbraid.interpret.verdict import (
    LEVELS,
    MEANING,
    PREDICTED_WELL,
    Level,
    Verdict,
    exceptions,
    scores_of,
    verdicts,
)
from unbraid.metrics import METRICS
from unbraid.metrics.table.catalogue import ceiling
from unbraid.metrics.table.metric import Property
from unbraid.results.note import Note, NoteKind, as_note
from unbraid.results.report import Report
from unbraid.results.score import Score

NOTABLE_GAP, LEAST_TIE = 0.15, 0.02
#: How many times the mutual information of any other pair two codes must have to be named.
STANDS_OUT = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first words of the page.

    Attributes:
        verdict: What the representation is good and bad at.
        findings: How the codes encode the factors.
        numbers: The same as numbers: the median scores, and the ceilings of some scores.
        caution: How far to trust that: chance, scores that disagree, factors that differ.
        disagreements: For each property whose scores disagree markedly, what they ask and why they may.
    """

    verdict: str
    caution: str
    numbers: str = ""
    findings: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()


def opening(report: Report) -> Opening:
    """Summarise the scores in sentences."""
    if not report.scores:
        return Opening(verdict="Nothing could be scored; the reasons are below.", caution="")
    properties, apart = verdicts(report), disagreements(report)
    caution = [
        *_one_factor(properties, report),
        *_partly_failed(properties),
        *_chance(report),
        *_disagreements(apart),
        *_factors(report),
    ]
    return Opening(
        verdict=" ".join([*_verdict_words(properties, report), *_independence(report), *_unscored(properties, report)]),
        findings=tuple(finding.sentence for finding in report.findings),
        numbers=" ".join([*_scale(properties, report), *_ceilings(report)]),
        caution=" ".join(caution),
        disagreements=tuple(explain(item, report, properties) for item in apart),
    )


def _verdict_words(properties: list[Verdict], report: Report) -> list[str]:
    """Say the levels, and where dependent factors mislead the scores behind them."""
    levels, misled = _levels(properties, report), _dependence(report)
    return [*levels, *(f"But {said}" if levels else f"Note that {said}" for said in misled)]


def _levels(properties: list[Verdict], report: Report) -> list[str]:
    parts = []
    for _, word in LEVELS:
        names = _explained(properties, report, word)
        if names:
            parts.append(f"{word} at {listing(names)}")
    joined = ", and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
    sentences = [f"This representation is {joined}."] if parts else []
    chance = {
        Level.AT_CHANCE: "does no better than chance at",
        Level.NOT_TOLD: "cannot be distinguished from chance in",
    }
    for level, words in chance.items():
        names = _explained(properties, report, level)
        if names:
            sentences.append(f"{'It' if sentences else 'This representation'} {words} {listing(names)}.")
    return sentences


def _explained(properties: list[Verdict], report: Report, level: Level) -> list[str]:
    """Name the properties with this verdict, the meaning of each, and the exceptions to a good verdict."""
    return [f"{v.about} ({MEANING[v.about]}{exceptions(v, report)})" for v in properties if v.level is level]


def _scale(properties: list[Verdict], report: Report) -> list[str]:
    parts = [f"{v.middle:.2f} for {v.about}" for v in properties if v.middle is not None]
    if not parts:
        return []
    with_null = any(score.null is not None for score in report.scores.values())
    zero = "the chance level" if with_null else "the worst possible value; no chance level was computed"
    return [f"On a scale from 0 ({zero}) to 1 (the best possible value), the median score is {listing(parts)}."]


def _independence(report: Report) -> list[str]:
    found = [(m, s, against_chance(m, s)) for m, s in scores_of(report, Property.INDEPENDENCE) if m.source.label_free]
    worse = [
        f"{spoken(m.title)} is {number(s.value)}, for independent codes {number(s.null)}"
        for m, s, where in found
        if where is AgainstChance.WORSE
    ]
    if worse:
        like = ", as some factors do" if report.dependence is not None and report.dependence.found else ""
        return [f"The codes depend on each other{like}: {worse[0]}{_closest(report)}."]
    if any(where is not AgainstChance.UNKNOWN for *_, where in found):
        return ["The codes cannot be distinguished from independent codes."]
    return []


def _closest(report: Report) -> str:
    """Name the two codes with the most mutual information, where they stand out, and the factor that both encode."""
    found = next(iter(report.evidence_of(CodeInformation)), None)
    if found is None or len(found.data.matrix) < 3:
        return ""
    names, matrix, measured = report.setup.active_codes, found.data.matrix, found.data.measured
    if len(measured):
        names = tuple(name for name, own in zip(report.setup.code_names, measured, strict=True) if own)
    rows, columns = np.triu_indices(len(matrix), 1)
    pairs = matrix[rows, columns]
    first = int(pairs.argmax())
    if pairs[first] < STANDS_OUT * np.delete(pairs, first).max():
        return ""
    both = {names[rows[first]], names[columns[first]]}
    shared = next((item for item in report.findings if len(item.factors) == 1 and both <= set(item.codes)), None)
    why = "" if shared is None else f", the codes of {quoted(shared.factors)}"
    return f"; the most dependent are {quoted([names[rows[first]], names[columns[first]]])}{why}"


def _unscored(properties: list[Verdict], report: Report) -> list[str]:
    empty = [v for v in properties if v.level is Level.NOT_SCORED]
    if empty and not report.setup.n_factors:
        return [f"No factors were given, so nothing can be said about {_names(empty)}."]
    failed, not_run = [v for v in empty if v.n_failed], [v for v in empty if not v.n_failed]
    sentences = []
    if failed:
        sentences.append(f"Nothing can be said about {_names(failed)}: every metric of that kind failed.")
    if not_run:
        sentences.append(f"Nothing can be said about {_names(not_run)}: no metric of that kind was run.")
    return sentences


def _names(properties: list[Verdict]) -> str:
    return listing([str(v.about) for v in properties])


def _dependence(report: Report) -> list[str]:
    """Say which factors depend on each other, and how many of the scores behind the verdict dependence misleads."""
    misled = distrusted(report.scores, report.dependence)
    if not misled or report.dependence is None:
        return []
    sets = depending(report.dependence)
    who = quoted(sets[0]) if len(sets) == 1 else f"{len(sets)} pairs of factors"
    if report.dependence.triples and len(sets) > 1:
        who = f"{len(sets)} sets of two or three factors"
    verb = "depend on each other" if len(sets) == 1 else "depend"
    return [
        f"{who} {verb}, which misleads {len(misled)} of the {count(len(report.scores), 'score')} behind this verdict."
    ]


def _one_factor(properties: list[Verdict], report: Report) -> list[str]:
    has_modularity = any(v.about is Property.MODULARITY and v.n_scores for v in properties)
    if report.setup.n_factors != 1 or not has_modularity:
        return []
    return ["With one factor, no code can mix factors, so the verdict on modularity means little."]


def _partly_failed(properties: list[Verdict]) -> list[str]:
    return [
        f"{count(v.n_failed, 'metric')} of {v.about} failed; the verdict on it rests on the other {v.n_scores}."
        for v in properties
        if v.n_failed and v.n_scores
    ]


def _chance(report: Report) -> list[str]:
    found = [(METRICS[name], score) for name, score in report.scores.items() if not METRICS[name].source.label_free]
    where = {spoken(metric.title): against_chance(metric, score) for metric, score in found}
    known = [title for title in where if where[title] is not AgainstChance.UNKNOWN]
    if not known:
        return ["Scores were not compared with chance, so some may be due to chance."] if found else []
    same = [title for title in known if where[title] is AgainstChance.SAME]
    worse = [title for title in known if where[title] is AgainstChance.WORSE]
    if not same and not worse:
        return [f"All {len(known)} scores that have a chance level are better than chance."] if len(known) > 1 else []
    if len(same) == len(known) > 1:
        return [f"None of the {len(known)} scores that have a chance level is distinguished from chance."]
    total, sentences = count(len(known), "score"), []
    if same:
        sentences.append(f"{len(same)} of {total} cannot be distinguished from chance: {listing(same)}.")
    if worse:
        verb = "is" if len(worse) == 1 else "are"
        sentences.append(f"{len(worse)} of {total} {verb} worse than chance: {listing(worse)}.")
    return sentences


def _disagreements(found: list[Disagreement]) -> list[str]:
    if not found:
        return []
    parts = [f"{item.about} ({item.names})" for item in found]
    return [f"On the scale from chance to best, scores of the same property disagree markedly: {listing(parts)}."]


def _factors(report: Report) -> list[str]:
    """Name the weakest and strongest factors, where they differ; factors within the uncertainty share a place."""
    found = {
        name: score
        for name, score in report.scores.items()
        if score.per_factor is not None
        and METRICS[name].higher_is_better
        and METRICS[name].bounds == (0.0, 1.0)
        and np.isfinite(score.per_factor).all()
    }
    table = np.array([score.per_factor for score in found.values()])
    if len(table) < 2 or table.shape[1] < 2:
        return []
    means, names = table.mean(axis=0), report.setup.factor_names
    tie = _uncertainty(list(found.values()))
    if means.max() - means.min() < max(NOTABLE_GAP, 2 * tie):
        return []
    low, high = (np.flatnonzero(np.abs(means - end) <= tie) for end in (means.min(), means.max()))
    weakest, strongest = (quoted([names[k] for k in part]) for part in (low, high))
    return [
        f"By factor, scores are lowest for {weakest} (mean {means[low].mean():.2f} over the {len(table)} scores from 0 "
        f"to 1 that have a value for each factor) and highest for {strongest} ({means[high].mean():.2f})."
        f"{_still_there(report, low)}"
    ]


def _uncertainty(scores: list[Score]) -> float:
    """How far the mean of a factor over scores may be off: the interval of a mean over factors, widened to one."""
    known = [width for score in scores if (width := score.half_width) is not None]
    first = scores[0].per_factor
    assert first is not None
    return max(LEAST_TIE, float(np.sqrt(len(first)) * np.mean(known))) if known else LEAST_TIE


def _still_there(report: Report, factors: IntArray) -> str:
    """Add that the weakest factors are not lost, where probes predict them."""
    best = best_prediction(report)
    if best is None or best[factors].min() < PREDICTED_WELL:
        return ""
    least, of = math.floor(100 * best[factors].min()) / 100, "it" if len(factors) == 1 else "each"
    share = "all" if least >= 1 else f"at least {least:.2f}"
    who = quoted([report.setup.factor_names[k] for k in factors])
    return f" The codes do encode {who}: the best probe predicts {share} of {of}."


def _ceilings(report: Report) -> list[str]:
    """Say which scores cannot reach the best of their range with these factors."""
    found = [(METRICS[name], score) for name, score in report.scores.items()]
    above = [(metric, score) for metric, score in found if against_chance(metric, score) is not AgainstChance.SAME]
    known = [(metric, ceiling(metric.name, score.value, report.setup)) for metric, score in above]
    parts = [f"{top.value:.2f} for {spoken(metric.title)}" for metric, top in known if top is not None]
    if not parts:
        return []
    return [
        f"Not every score can reach 1 on these factors: perfect codes, one for each factor, get about {listing(parts)}."
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One note, and the scores it is about.

    Attributes:
        text: The note; where values differ from score to score, they are dots.
        about: Titles of the scores, each with its own values where they differ. Empty: about everything.
    """

    text: str
    about: tuple[str, ...] = ()


def general_doubts(report: Report) -> list[Doubt]:
    """Return the notes about the representation as a whole."""
    return [Doubt(text=note) for note in dict.fromkeys(report.notes)]


def failure_doubts(report: Report) -> list[Doubt]:
    """Return why metrics failed, one entry for each reason; too few factors are one reason for all metrics alike."""
    reasons: dict[str, list[str]] = {}
    n_factors = report.setup.n_factors
    for name, reason in report.failures.items():
        least = METRICS[name].min_factors
        few = f"At least {count(least, 'factor')} needed, got {n_factors}."
        reasons.setdefault(few if least > n_factors else reason, []).append(METRICS[name].title)
    return [Doubt(text=reason, about=tuple(titles)) for reason, titles in reasons.items()]


def score_doubts(report: Report) -> list[Doubt]:
    """Return the notes of single scores; notes of the same kind and wording become one."""
    alike: dict[tuple[NoteKind, str], list[tuple[str, Note]]] = {}
    for name, score in report.scores.items():
        for note in map(as_note, dict.fromkeys(score.notes)):
            alike.setdefault((note.kind, note.template), []).append((METRICS[name].title, note))
    return [_merge(found) for found in alike.values()]


def _merge(found: list[tuple[str, Note]]) -> Doubt:
    """Put the notes of several scores together, with dots for the values that differ."""
    columns = list(zip(*(note.values for _, note in found), strict=True))
    differs = [len(set(column)) > 1 for column in columns]
    if not any(differs):
        return Doubt(text=found[0][1], about=tuple(title for title, _ in found))
    shown = ["…" if different else column[0] for different, column in zip(differs, columns, strict=True)]
    about = [
        f"{title} ({', '.join(value for value, different in zip(note.values, differs, strict=True) if different)})"
        for title, note in found
    ]
    return Doubt(text=Note.of(found[0][1].kind, found[0][1].template, *shown).replace("….", "…"), about=tuple(about))
