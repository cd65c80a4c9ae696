"""Score against chance, its place between chance and the best possible, its half-width, and its limit of many rows."""

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.stats import student_quantile
from unbraid.metrics import Metric
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score

LEAST_ROOM = 0.05
#: Nearer to chance than this, on the scale from chance to best, is no better than chance.
NO_BETTER = 0.1
#: Differences smaller than the last digit shown are none.
LAST_DIGIT = 1e-3
#: A null above this is worth a note beside a score that beats it.
HIGH_NULL = 0.1


class AgainstChance(StrEnum):
    """A score's confidence interval beside its null."""

    BETTER = "better"
    SAME = "same"
    WORSE = "worse"
    UNKNOWN = "unknown"


def against_chance(metric: Metric, score: Score) -> AgainstChance:
    """Compare the interval with the null; overlapping means they cannot be told apart.

    Where the panel found that a score does not beat chance, counting the scatter of the null too, that stands.
    For label-free metrics the null is what independent codes score, so ``SAME`` is as good as it gets.
    """
    null = score.null
    if metric.source.label_free and math.isinf(score.value):
        return AgainstChance.UNKNOWN if null is None or math.isinf(null) else AgainstChance.WORSE
    if null is None or score.low is None or score.high is None or not math.isfinite(null):
        return AgainstChance.UNKNOWN
    above, below = score.low > null, score.high < null
    better, worse = (above, below) if metric.higher_is_better else (below, above)
    if worse and abs(score.value - null) < LAST_DIGIT:
        return AgainstChance.SAME
    if worse:
        return AgainstChance.WORSE
    return AgainstChance.BETTER if better and score.beats_chance is not False else AgainstChance.SAME


def remark(metric: Metric, score: Score) -> str:
    """Say how a score compares with chance where a reader should notice it, else nothing."""
    where = against_chance(metric, score)
    if metric.source.label_free:
        words = {AgainstChance.SAME: "as independent codes", AgainstChance.WORSE: "codes depend on each other"}
    else:
        words = {AgainstChance.SAME: "not distinguished from chance", AgainstChance.WORSE: "worse than chance"}
    return words.get(where, "")


def standing(metric: Metric, score: Score, best: float) -> float | None:
    """Return how far the score gets from chance (0) to the best attainable (1), held to that range.

    Args:
        metric: The row of the score.
        score: With its chance level; without one, there is no such scale.
        best: What perfect codes score, as far as it is known.
    """
    return None if score.null is None else progress(metric, score, best=best)


def progress(metric: Metric, score: Score, *, best: float | None = None) -> float | None:
    """Return how far the score gets from chance (0) to the best possible (1), held to that range.

    Without a null, chance is taken to be the worst possible value. ``None`` where there is no such scale: no best
    possible value, a null that leaves no room above it or says nothing of chance, or a label-free metric, whose null is
    the best there is.
    """
    worst, end = metric.bounds if metric.higher_is_better else metric.bounds[::-1]
    best = end if best is None else best
    chance = worst if score.null is None else score.null
    if metric.source.label_free or not metric.has_null or not all(map(math.isfinite, (score.value, chance, best))):
        return None
    room = best - chance
    if abs(room) < LEAST_ROOM * (abs(best - worst) if math.isfinite(worst) else 1.0) or room * (best - worst) < 0:
        return None
    return min(1.0, max(0.0, (score.value - chance) / room))


def no_better(metric: Metric, score: Score) -> bool:
    """Tell whether the value itself is at chance, not only within an interval that includes chance."""
    if score.null is not None and abs(score.value - score.null) < LAST_DIGIT:
        return True
    place = progress(metric, score)
    return place is not None and place < NO_BETTER


def progress_range(metric: Metric, score: Score) -> tuple[float, float] | None:
    """Return both ends of the interval on the scale of :func:`progress`, lower first."""
    if score.low is None or score.high is None:
        return None
    ends = [progress(metric, replace(score, value=end)) for end in (score.low, score.high)]
    known = sorted(end for end in ends if end is not None)
    return (known[0], known[-1]) if known else None


def score_notes(metric: Metric, score: Score, draw_error: str | None) -> tuple[Note, ...]:
    """Return notes about one score beside its confidence interval and null.

    Args:
        metric: The score's row.
        score: With interval and null.
        draw_error: Why a replicate or null of this score failed, if one did.
    """
    notes = []
    if score.low is None and draw_error is not None:
        notes.append(Note.of(NoteKind.NO_INTERVAL, f"No interval: {draw_error}"))
    known = score.null is not None and not metric.source.label_free
    where = against_chance(metric, score) if known else AgainstChance.UNKNOWN
    if where is AgainstChance.SAME:
        words = "Not distinguished from chance: shuffled factors score {}."
        notes.append(Note.of(NoteKind.AT_CHANCE, words, f"{score.null:.3f}"))
    elif where is AgainstChance.WORSE:
        words = "Worse than chance: shuffled factors score {}."
        notes.append(Note.of(NoteKind.WORSE_THAN_CHANCE, words, f"{score.null:.3f}"))
    elif known and score.null is not None and metric.higher_is_better and score.null > HIGH_NULL:
        words = "The chance level is {}; compare the value with the chance level, not with 0."
        notes.append(Note.of(NoteKind.HIGH_CHANCE, words, f"{score.null:.2f}"))
    return tuple(notes)


CONFIDENCE = 0.95
#: With this many shuffles, a score at chance exceeds all of them with probability 1/20.
ENOUGH_NULLS = 19


def half_width(values: FloatArray) -> float:
    """Half-width of a 95 % confidence interval, by Student's t."""
    return float(student_quantile(0.5 + CONFIDENCE / 2, len(values) - 1) * values.std(ddof=1))


def beyond(value: float, nulls: FloatArray, gain: float) -> bool:
    """Return whether a value lies outside the scatter of the nulls; of many nulls, whether it exceeds all."""
    if len(nulls) < 3 or gain > half_width(nulls):
        return True
    return len(nulls) >= ENOUGH_NULLS and bool(np.all(nulls < value) or np.all(nulls > value))


def extrapolated(
    metric: Metric, score: Score, draws: Sequence[Score], step: float, *, like: Score | None = None
) -> Score:
    """Return the score of infinitely many rows, where the bias of the score of n rows falls as a power of 1/n.

    With s(N) the score of all rows and s(n) the mean over parts of n rows, the bias of s(N) is
    (s(n) - s(N)) ``step``, and ``step`` is 1 / ((N / n) ** power - 1): n / (N - n) for a bias that falls as 1/n.

    Args:
        metric: Its bounds, and whether few rows can only raise it.
        score: Of all rows.
        draws: Of parts of the rows.
        step: How far to go, from :func:`step_beyond`.
        like: Of all rows, fitted like the parts, where these are fitted with less effort, whose bias is not that of few
            rows.
    """

    def limit(full: Any, parts: list[Any], alike: Any) -> Any:
        alike = full if like is None else alike
        if full is None or any(one is None or np.shape(one) != np.shape(full) for one in (*parts, alike)):
            return full
        change = step * (alike - np.mean(parts, axis=0))
        return np.clip(full + (np.minimum(change, 0.0) if metric.falls_with_rows else change), *metric.bounds)

    return replace(
        score,
        value=float(limit(score.value, [draw.value for draw in draws], None if like is None else like.value)),
        plain=score.value if score.plain is None else score.plain,
        per_factor=limit(
            score.per_factor, [draw.per_factor for draw in draws], None if like is None else like.per_factor
        ),
        per_code=limit(score.per_code, [draw.per_code for draw in draws], None if like is None else like.per_code),
    )


def step_beyond(scale: float, order: float) -> float:
    """Return how far to go beyond the score of all rows, where the bias falls with a power of one over the rows."""
    return float(1 / ((1 + 1 / scale**2) ** order - 1))


def step_beyond_fits(all_rows: float, part: float, n_codes: int) -> float:
    """Return the same for least squares of all codes, whose held-out error grows by codes over rows beyond them.

    With as many codes as half of the rows fitted, the error of a fit to half of these rows has no end, and a bias that
    falls as one over the rows would be far too large. Where parts have too few rows to be fitted, the step is 0.

    Args:
        all_rows: Rows that a fit to all rows sees.
        part: Rows that a fit to a part of them sees.
        n_codes: Codes that vary.
    """
    left = part - n_codes - 2  # an inverse of normal products of codes has a mean of one over this
    return float(max(left, 0.0) / (all_rows - part))


def drawn_fit(step: float, scale: float, error_of_mean: float) -> float:
    """Return how much larger the error of an extrapolated score is by chance in the fit than by chance in the rows.

    Of (1 + step) s(N) less ``step`` times the mean over parts, chance in the rows is shared by both terms, and leaves
    the error of s(N) and that of the mean over few parts. Chance in the fit is not shared: s(N) counts (1 + step)
    times. It falls as one over the rows too, so that s(N) has n/N of the variance of a part.
    """
    of_all_rows = (1 + step) ** 2 / (1 + scale**2)
    return float(np.sqrt((of_all_rows + error_of_mean) / (1 + error_of_mean)))
