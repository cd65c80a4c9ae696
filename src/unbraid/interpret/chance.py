"""Where a score stands between chance and the best possible."""

import math
from dataclasses import replace
from enum import StrEnum

from unbraid.metrics import Metric
from unbraid.results.score import Score

LEAST_ROOM = 0.05
#: Nearer to chance than this, on the scale from chance to best, is no better than chance.
NO_BETTER = 0.1
#: Differences smaller than the last digit shown are none.
LAST_DIGIT = 1e-3
#: A null above this is worth a note beside a score that beats it.
HIGH_NULL = 0.1


class Standing(StrEnum):
    """A score's interval beside its null."""

    BETTER = "better"
    SAME = "same"
    WORSE = "worse"
    UNKNOWN = "unknown"


def standing(metric: Metric, score: Score) -> Standing:
    """Compare the interval with the null; overlapping means they cannot be told apart.

    Where the panel found that a score does not beat chance, counting the scatter of the null too, that stands.
    For label-free metrics the null is what independent codes score, so ``SAME`` is as good as it gets.
    """
    null = score.null
    if metric.source.label_free and math.isinf(score.value):
        return Standing.UNKNOWN if null is None or math.isinf(null) else Standing.WORSE
    if null is None or score.low is None or score.high is None or not math.isfinite(null):
        return Standing.UNKNOWN
    above, below = score.low > null, score.high < null
    better, worse = (above, below) if metric.higher_is_better else (below, above)
    if worse and abs(score.value - null) < LAST_DIGIT:
        return Standing.SAME
    if worse:
        return Standing.WORSE
    return Standing.BETTER if better and score.beats_chance is not False else Standing.SAME


def remark(metric: Metric, score: Score) -> str:
    """Say the standing in words where a reader should notice it, else nothing."""
    where = standing(metric, score)
    if metric.source.label_free:
        words = {Standing.SAME: "as independent codes", Standing.WORSE: "codes depend on each other"}
    else:
        words = {Standing.SAME: "not told from chance", Standing.WORSE: "worse than chance"}
    return words.get(where, "")


def progress(metric: Metric, score: Score) -> float | None:
    """Return how far the score gets from chance (0) to the best possible (1), held to that range.

    Without a null, chance is taken to be the worst possible value. ``None`` where there is no such scale: no best
    possible value, a null that leaves no room above it or says nothing of chance, or a label-free metric, whose null is
    the best there is.
    """
    worst, best = metric.bounds if metric.higher_is_better else metric.bounds[::-1]
    chance = worst if score.null is None else score.null
    if metric.source.label_free or not metric.has_null or not all(map(math.isfinite, (score.value, chance, best))):
        return None
    room = best - chance
    if abs(room) < LEAST_ROOM * (abs(best - worst) if math.isfinite(worst) else 1.0) or room * (best - worst) < 0:
        return None
    return min(1.0, max(0.0, (score.value - chance) / room))


def no_better(metric: Metric, score: Score) -> bool:
    """Tell whether the value itself is at chance, not only its interval too wide to tell."""
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


def score_notes(metric: Metric, score: Score, spread_error: str | None) -> tuple[str, ...]:
    """Notes about one score beside its interval and null."""
    notes = []
    if score.low is None and spread_error is not None:
        notes.append(f"No interval: {spread_error}")
    where = Standing.UNKNOWN if metric.source.label_free or score.null is None else standing(metric, score)
    if where is Standing.SAME:
        notes.append(f"Cannot be told from chance: shuffled factors score {score.null:.3f}.")
    elif where is Standing.WORSE:
        notes.append(f"Worse than chance: shuffled factors score {score.null:.3f}.")
    elif score.null is not None and metric.higher_is_better and score.null > HIGH_NULL:
        notes.append(f"Chance alone scores {score.null:.2f}; read the value against that, not against 0.")
    return tuple(notes)
