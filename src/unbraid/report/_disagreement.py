"""Where scores about one property disagree, and why: what was found in the codes, then how the scores differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unbraid._dependence import distrusted
from unbraid._finding import FindingKind
from unbraid._score import Score
from unbraid._standing import progress, progress_range
from unbraid.audit._reasons import reason
from unbraid.metrics import Invariance, Metric
from unbraid.metrics._metric import Property
from unbraid.report._causes import ABOUT_FACTORS, causes, limits, weak_axes
from unbraid.report._format import listing, spoken
from unbraid.report._verdict import MEANING, Verdict, scores_of
from unbraid.result import Report

#: How far apart, from chance to best, intervals must lie to speak of a marked disagreement.
MARKED_SPREAD = 0.4
INFORMATION = "information"
#: Below this place, a property that a score counts as well may be why it is low.
GOOD = 0.7
#: Cases of the audit that show how a score comes out too high or too low, and what must have been found to name them.
FLATTERING = {
    "independent/mixed": (FindingKind.ROTATED, FindingKind.MIXED),
    "independent/duplicated": (FindingKind.COPIED,),
    "independent/bent_copy": (FindingKind.COPIED,),
}
HARSH = {"independent/noise_code": (FindingKind.EMPTY,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """The two scores about a property that are furthest apart.

    Attributes:
        about: The property.
        low: The score nearer to chance, and its place from chance (0) to best (1).
        high: The score nearer to the best, and its place.
    """

    about: Property
    low: tuple[Metric, float]
    high: tuple[Metric, float]

    @property
    def names(self) -> str:
        """Both, with their places."""
        return ", ".join(f"{spoken(metric.title)} at {place:.2f}" for metric, place in (self.low, self.high))


def disagreements(report: Report) -> list[Disagreement]:
    """Return, for each property, the scores furthest apart, if even their intervals are."""
    found = []
    for prop in Property:
        ends = [(m, s, e) for m, s in scores_of(report, prop) if (e := progress_range(m, s)) is not None]
        if len(ends) < 2:
            continue
        bottom, top = min(ends, key=lambda item: item[2][1]), max(ends, key=lambda item: item[2][0])
        if top[2][0] - bottom[2][1] >= MARKED_SPREAD:
            found.append(Disagreement(about=prop, low=_placed(*bottom[:2]), high=_placed(*top[:2])))
    return found


def explain(found: Disagreement, report: Report, judged: list[Verdict]) -> str:
    """Say what the two scores ask, and in which respects they differ that may have set them apart."""
    low, high = found.low[0], found.high[0]
    asked = [f"{metric.title} ({place:.2f}) asks: {metric.summary}" for metric, place in (found.low, found.high)]
    caused = causes(low, high, report)
    bounded = [*limits(low, report), *weak_axes(low, report)]
    factors = [] if caused or bounded else _cases_of_factors(report)
    reasons = [
        *caused,
        *bounded,
        *_misled(low, high, report),
        *([] if caused else _also_counts(low, high, judged)),
        *_blind(high, low, report),
        *_few_bins(low, report),
        *_known(low, [*_cases(HARSH, report), *factors], "low"),
        *_known(high, _cases(FLATTERING, report), "high"),
    ]
    return f"{str(found.about).capitalize()}. {' '.join(asked)} {' '.join(reasons)}".rstrip()


def _placed(metric: Metric, score: Score) -> tuple[Metric, float]:
    place = progress(metric, score)
    assert place is not None  # its interval has places, so it has one
    return metric, place


def _misled(low: Metric, high: Metric, report: Report) -> list[str]:
    titles = [spoken(metric.title) for metric in (low, high) if distrusted([metric.name], report.dependence)]
    if not titles:
        return []
    return [f"Factors depend on each other here, which misleads {listing(titles)}."]


def _also_counts(low: Metric, high: Metric, judged: list[Verdict]) -> list[str]:
    """Name what only the lower score is about as well, where the codes are not good at it."""
    levels = {verdict.about: verdict for verdict in judged if verdict.middle is not None and verdict.middle < GOOD}
    extra = [prop for prop in low.measures if prop not in high.measures and prop in levels]
    if not extra:
        return []
    parts = [f"{prop} ({MEANING[prop]}: {levels[prop].level} here)" for prop in extra]
    return [f"{low.title} also counts {listing(parts)}."]


def _blind(metric: Metric, other: Metric, report: Report) -> list[str]:
    """Say that the higher score does not notice a rotation and the lower does, where one was found."""
    unseen = Invariance.ROTATION in metric.invariant_to - other.invariant_to
    if not unseen or not any(finding.kind is FindingKind.ROTATED for finding in report.findings):
        return []
    return [f"{metric.title} does not notice turning the codes, {spoken(other.title)} does."]


def _cases(known: Mapping[str, tuple[FindingKind, ...]], report: Report) -> list[str]:
    """Return the cases of the audit whose fault was found here."""
    here = {finding.kind for finding in report.findings}
    return [case for case, kinds in known.items() if here & set(kinds)]


def _cases_of_factors(report: Report) -> list[str]:
    """Return the cases of the audit that this report's factors resemble, where nothing is wrong with the codes."""
    sound = not any(finding.kind in ABOUT_FACTORS for finding in report.findings)
    return ["continuous/identity"] if sound and "continuous" in report.meta["factor_kinds"] else []


def _few_bins(low: Metric, report: Report) -> list[str]:
    """Say which factors have more values than a code has bins, for scores that count and have no other ceiling."""
    n_bins = report.meta["options"].get(low.name, {}).get("n_bins", 0)
    columns = zip(report.meta["factor_names"], report.meta["factor_levels"], strict=True)
    many = [f"“{name}” ({levels})" for name, levels in columns if levels and levels > n_bins]
    if low.source.name != INFORMATION or low.name == "mig" or not n_bins or not many:
        return []
    return [f"{low.title} cuts each code into {n_bins} bins, fewer than the values of {listing(many)}."]


def _known(metric: Metric, cases: Sequence[str], what: str) -> list[str]:
    """Say what the audit has found of a score that makes it come out so."""
    found = next((told for case in cases if (told := reason(metric.name, case))), "")
    return [f"A known reason for {metric.title} to be {what}: {found[0].lower()}{found[1:]}"] if found else []
