"""Differences between the scores of two representations: paired and unpaired tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_choice
from unbraid._base.stats import corrected, student_quantile, student_two_sided
from unbraid.interpret.chance import LAST_DIGIT
from unbraid.metrics import METRICS
from unbraid.results.report import Report
from unbraid.results.score import Score

LEVEL = 0.05
FEWEST_REPLICATES = 3
#: Two scores closer than this differ by rounding alone.
ROUNDING = 1e-8
#: Label-free scores are not tested where chance levels lie apart by more than this share of the difference.
MOST_CHANCE_SHARE = 0.1


class Comparability(StrEnum):
    """How the scores of two representations can be compared."""

    PAIRED = "paired"
    ROWS_UNKNOWN = "rows unknown"
    OTHER_ROWS = "other rows"
    OTHER_OPTIONS = "other options"
    OTHER_SEEDS = "other seeds"
    OTHER_VERSIONS = "other versions"
    NOT_FINITE = "not finite"
    NO_INTERVAL = "no interval"
    CHANCE_DIFFERS = "chance differs"
    TOO_FEW_REPLICATES = "too few replicates"
    OTHER_AXES = "other axes"


UNPAIRED = {
    Comparability.ROWS_UNKNOWN: "without factors it is not known whether the rows are the same",
    Comparability.OTHER_ROWS: "the rows or their factors differ",
    Comparability.OTHER_OPTIONS: "scored with other options, which may be all there is to the difference",
    Comparability.OTHER_SEEDS: "scored with other seeds",
    Comparability.OTHER_VERSIONS: "scored by other versions",
}
UNTESTED = {
    Comparability.OTHER_AXES: "factors have other numbers of axes, and how sure these are is not part of an interval",
    Comparability.NOT_FINITE: "a score is not finite",
    Comparability.NO_INTERVAL: "a score has no interval",
    Comparability.CHANCE_DIFFERS: "chance alone differs",
    Comparability.TOO_FEW_REPLICATES: "too few replicates",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Difference of one score between two representations.

    Attributes:
        metric: Registry name of the score.
        first: Name of one representation.
        second: Name of the other.
        value: Score of the first minus score of the second.
        low: Lower end of the 95 % confidence interval of the difference; ``None`` where there is none.
        high: Upper end.
        p_value: Chance of a difference as large or larger, were there none.
        adjusted: The same after Holm's correction for all differences of the comparison.
        better: The one that is ahead, in the direction that the score calls better; ``None`` where they are equal: to
            rounding, or to the digits shown with an interval that narrow.
        sure: Whether ``adjusted`` is below 0.05.
        status: Whether the test is paired, and if not, why; or why there is no test.
        chance: What chance scores for both and why that differs, where the status is that it does.
    """

    metric: str
    first: str
    second: str
    value: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    adjusted: float | None = None
    better: str | None = None
    sure: bool = False
    status: Comparability = Comparability.PAIRED
    chance: str = ""

    @property
    def paired(self) -> bool:
        """Whether both were resampled on the same rows, so that common sampling error cancels."""
        return self.status is Comparability.PAIRED

    @property
    def note(self) -> str:
        """Reason why it is not paired or not tested, if any."""
        if self.status in UNPAIRED:
            return f"unpaired: {UNPAIRED[self.status]}"
        return f"not tested: {self.chance or UNTESTED[self.status]}" if self.status in UNTESTED else ""

    @property
    def equal(self) -> bool:
        """Whether the scores are comparable and equal."""
        return self.better is None and math.isfinite(self.value) and self.status is not Comparability.CHANCE_DIFFERS


def difference_word(item: Difference) -> str:
    """Return one word or two for how sure a difference is; equal ones need no test."""
    if item.sure or item.equal:
        return "sure" if item.sure else "equal"
    return "not tested" if item.p_value is None else "unsure"


def find_differences(reports: Mapping[str, Report], *, against: str | None = None) -> tuple[Difference, ...]:
    """Subtract the scores of every two representations, with intervals, and test all differences together.

    Args:
        reports: By the name of the representation.
        against: Compare the others with this one only, which makes fewer tests and each of them stronger.

    Returns:
        One for each pair and each score that both have; pairs in the order given.

    Raises:
        ValueError: ``against`` names no report.
    """
    if against is not None:
        check_choice("against", against, reports)
    pairs = [pair for pair in combinations(reports, 2) if against is None or against in pair]
    found = [
        _difference(metric, (first, reports[first]), (second, reports[second]))
        for first, second in pairs
        for metric in reports[first].scores
        if metric in reports[second].scores
    ]
    return _tested(found)


def _tested(found: list[Difference]) -> tuple[Difference, ...]:
    """Correct the p-values for multiple tests, and mark the differences that are sure."""
    tested = [place for place, item in enumerate(found) if item.p_value is not None]
    adjusted = corrected(np.array([p for item in found if (p := item.p_value) is not None]), "holm")
    for place, p in zip(tested, adjusted, strict=True):
        item = replace(found[place], adjusted=float(p), sure=bool(p < LEVEL))
        found[place] = replace(item, better=None) if not item.sure and _shown_as_zero(item) else item
    return tuple(found)


def _shown_as_zero(item: Difference) -> bool:
    """Return whether difference and interval are zero to the digits shown, for a bounded score."""
    ends = [abs(end) for end in (item.value, item.low, item.high) if end is not None]
    return math.isfinite(METRICS[item.metric].bounds[1]) and max(ends) < LAST_DIGIT / 2


def _difference(metric: str, one: tuple[str, Report], other: tuple[str, Report]) -> Difference:
    (first, report), (second, second_report) = one, other
    a, b = report.scores[metric], second_report.scores[metric]
    plain = Difference(metric=metric, first=first, second=second, value=a.value - b.value)
    if not np.isfinite(plain.value):
        return replace(plain, status=Comparability.NOT_FINITE)
    size = abs(plain.value)
    same = size <= ROUNDING * max(1.0, abs(a.value), abs(b.value))
    ahead = first if (plain.value > 0) is METRICS[metric].higher_is_better else second
    plain = replace(plain, better=None if same else ahead)
    if a.replicates is None or b.replicates is None:
        return replace(plain, status=Comparability.NO_INTERVAL)
    if not same and (chance := _chance_differs(metric, report, second_report)):
        return replace(plain, better=None, status=Comparability.CHANCE_DIFFERS, chance=chance)
    if not same and _n_axes(metric, report) != _n_axes(metric, second_report):
        return replace(plain, status=Comparability.OTHER_AXES)
    status = _pairing(metric, report, second_report)
    paired = status is Comparability.PAIRED
    error, freedom = _paired_error(a, b) if paired else _unpaired_error(a, b)
    if freedom < FEWEST_REPLICATES - 1:
        return replace(plain, status=Comparability.TOO_FEW_REPLICATES)
    p = 1.0 if same else 0.0 if error == 0 else float(student_two_sided(size / error, freedom))
    half_width = student_quantile(1 - LEVEL / 2, freedom) * error
    low, high = METRICS[metric].bounds
    ends = np.clip([plain.value - half_width, plain.value + half_width], low - high, high - low)
    return replace(plain, low=float(ends[0]), high=float(ends[1]), p_value=p, status=status)


def _n_axes(metric: str, report: Report) -> list[int]:
    """Number of axes of each factor, where replicates keep those of all rows; else nothing."""
    kept = (
        [record.data for record in report.evidence if metric in record.scores] if METRICS[metric].source.follows else []
    )
    return [one.basis.shape[1] for data in kept for one in data.subspaces]


def _chance_differs(metric: str, one: Report, other: Report) -> str:
    """Return a note where the chance level of a label-free score differs with the number of codes or rows."""
    sizes = [(report.setup.n_codes, report.setup.n_samples) for report in (one, other)]
    if not METRICS[metric].source.label_free or sizes[0] == sizes[1]:
        return ""
    (a, b), what = (r.scores[metric] for r in (one, other)), "codes" if sizes[0][0] != sizes[1][0] else "rows"
    first, second = (size[what == "rows"] for size in sizes)
    if a.null is None or b.null is None:
        return f"chance alone may differ, which was not computed, with {first} and {second} {what}"
    if abs(a.null - b.null) <= MOST_CHANCE_SHARE * abs(a.value - b.value):
        return ""
    return f"chance alone scores {a.null:.3f} and {b.null:.3f} with {first} and {second} {what}"


def _pairing(metric: str, one: Report, other: Report) -> Comparability:
    """Return whether the replicates of two reports are draws of the same rows, and if not, why."""
    a, b = one.setup, other.setup
    if a.rows_key is None or b.rows_key is None:
        return Comparability.ROWS_UNKNOWN
    if a.rows_key != b.rows_key:
        return Comparability.OTHER_ROWS
    if a.options.get(metric) != b.options.get(metric):
        return Comparability.OTHER_OPTIONS
    if a.seed != b.seed:
        return Comparability.OTHER_SEEDS
    draws = [
        (report.setup.unbraid, report.interval_methods.get(metric), _n_replicates(report[metric]))
        for report in (one, other)
    ]
    return Comparability.PAIRED if draws[0] == draws[1] else Comparability.OTHER_VERSIONS


def _n_replicates(score: Score) -> int:
    return 0 if score.replicates is None else len(score.replicates)


def _paired_error(a: Score, b: Score) -> tuple[float, float]:
    """Standard error of the difference and degrees of freedom, from replicates on the same rows."""
    assert a.replicates is not None
    assert b.replicates is not None
    return _error(a.replicates - b.replicates, _plain(a) - _plain(b), extrapolated=_is_extrapolated(a, b))


def _unpaired_error(a: Score, b: Score) -> tuple[float, float]:
    """Standard error and Welch's degrees of freedom, from independent replicates."""
    assert a.replicates is not None
    assert b.replicates is not None
    error_a, freedom_a = _error(a.replicates, _plain(a), extrapolated=_is_extrapolated(a))
    error_b, freedom_b = _error(b.replicates, _plain(b), extrapolated=_is_extrapolated(b))
    error = float(np.hypot(error_a, error_b))
    if min(freedom_a, freedom_b) < 1 or error == 0:
        return error, min(freedom_a, freedom_b)
    return error, error**4 / (error_a**4 / freedom_a + error_b**4 / freedom_b)


def _error(replicates: FloatArray, middle: float, *, extrapolated: bool) -> tuple[float, float]:
    """Return the standard error that replicates show, and its degrees of freedom.

    Replicates scatter about the value itself: where they lie to one side of it, as replicates of counts in thin tables
    and of scores at their bound do, their distance is an error that their scatter about their own mean does not show.
    An extrapolated value is the value less that distance, known with the error of the mean of the replicates.
    """
    known = replicates[np.isfinite(replicates)]
    n = len(known)
    if n < 2:
        return 0.0, n - 1
    with np.errstate(over="ignore", invalid="ignore"):  # of a file, replicates may be any numbers
        scatter, mean = float(known.std(ddof=1)), float(known.mean())
    if extrapolated and scatter > 0:
        return scatter * math.sqrt(1 + 1 / n), n - 1
    return math.hypot(scatter, mean - middle), n - 1


def _plain(score: Score) -> float:
    return score.value if score.plain is None else score.plain


def _is_extrapolated(*scores: Score) -> bool:
    return any(score.plain is not None for score in scores)
