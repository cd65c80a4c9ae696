"""Why scores disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import listing, quoted, spoken
from unbraid.evidence.information import InformationTable
from unbraid.evidence.subspaces.options import Subspaces
from unbraid.interpret.chance import progress, progress_range
from unbraid.interpret.dependence import distrusted
from unbraid.interpret.verdict import MEANING, Verdict, scores_of
from unbraid.metrics import METRICS, Invariance, Metric, Trait
from unbraid.metrics.table.catalogue import ceiling
from unbraid.metrics.table.metric import Property
from unbraid.metrics.table.sources import INFORMATION
from unbraid.results.finding import Finding, FindingKind
from unbraid.results.report import Report
from unbraid.results.score import Score

#: How far below the others the parts of a score must lie to say that a finding lowers it.
SHOWS = 0.2
#: An axis with less weight is one that a factor hardly uses.
HARDLY_USED = 0.05
#: The share of a sum over codes that codes without a factor must have to be blamed.
DILUTES = 0.1
LAYOUT = (FindingKind.ROTATED, FindingKind.MIXED, FindingKind.CIRCLE, FindingKind.SPREAD)
ABOUT_FACTORS = (
    *LAYOUT,
    FindingKind.PACKED,
    FindingKind.COPIED,
    FindingKind.CURVED,
    FindingKind.FOLDED,
    FindingKind.PARTLY,
    FindingKind.LOST,
)
ABOUT_CODES = (FindingKind.ROTATED, FindingKind.MIXED, FindingKind.PACKED, FindingKind.EMPTY)


def causes(low: Metric, high: Metric, report: Report) -> list[str]:
    """Say which findings lower one score, as its values by factor or code show, and whether the other sees it."""
    parts = _by_factor(low, report) or _by_code(low, report)
    if parts:
        found, told = parts
        return [f"The cause: {in_short(found)}. {told}{_unseen(found, high, report)}"]
    return _everywhere(low, high, report) or _noise(low, high, report) or _diluted(low, report)


def _everywhere(low: Metric, high: Metric, report: Report) -> list[str]:
    """Blame what was found of all factors, so that no factor is left to compare with."""
    found = [item for item in report.findings if item.kind in LAYOUT]
    names = {name for item in found for name in item.factors}
    if Invariance.ROTATION in low.invariant_to or names != set(report.setup.factor_names):
        return []
    ignored = f"; {spoken(high.title)} does not notice" if Invariance.ROTATION in high.invariant_to else ""
    return [f"The cause: {in_short(found)}, which lowers {spoken(low.title)}{ignored}."]


def _noise(low: Metric, high: Metric, report: Report) -> list[str]:
    """Explain a score that also counts how well factors are predicted, where all are predicted in part, by that."""
    weak = [item for item in report.findings if item.kind is FindingKind.PARTLY]
    names = {name for item in weak for name in item.factors}
    if names != set(report.setup.factor_names) or Property.EXPLICITNESS not in low.measures:
        return []
    if Property.EXPLICITNESS in high.measures:
        return []
    return [
        f"The cause: {in_short(weak)}, and {spoken(low.title)} also measures how well the codes predict a factor, "
        f"which {spoken(high.title)} does not."
    ]


def _diluted(low: Metric, report: Report) -> list[str]:
    """Blame codes without a factor for their share in a sum over codes, which counts in bins never leave at 0."""
    empty = {name for item in report.findings if item.kind is FindingKind.EMPTY for name in item.codes}
    table = next((r.data for r in report.evidence_of(InformationTable) if low.name in r.scores), None)
    if Trait.SUMS_OVER_CODES not in low.traits or table is None or not empty:
        return []
    mi = table.mutual_information
    is_empty = np.array([name in empty for name in report.setup.code_names])
    share = float(np.mean(mi[is_empty].sum(axis=0) / np.maximum(mi.sum(axis=0), 1e-12)))
    if share < DILUTES:
        return []
    some = "1 code encodes" if len(empty) == 1 else f"{len(empty)} codes encode"
    return [
        f"The cause: {some} no factor, but estimates in bins find a little information in each by chance, in total "
        f"{share:.2f} of the sum over codes that {spoken(low.title)} uses."
    ]


def limits(low: Metric, report: Report) -> list[str]:
    """Say how high the lower score could get with these factors, where that is not all the way."""
    top = ceiling(low.name, report.scores[low.name].value, report.setup)
    if top is None:
        return []
    return [f"{low.title} cannot exceed about {top.value:.2f} here, even with one code for each factor: {top.why}."]


def weak_axes(low: Metric, report: Report) -> list[str]:
    """Say which factors have an axis that they hardly use, where a score counts every axis alike."""
    subspaces = next(iter(report.evidence_of(Subspaces)), None)
    if Trait.COUNTS_AXES_ALIKE not in low.traits or subspaces is None:
        return []
    slight = [weights[weights > 0].min() for weights in subspaces.data.weights]
    found = [
        f"“{name}” (weight {w:.3f})"
        for name, w in zip(report.setup.factor_names, slight, strict=True)
        if w < HARDLY_USED
    ]
    if not found:
        return []
    return [
        f"{low.title} counts every axis alike, also axes of little weight, which may be errors of the fit: the last "
        f"axis of {listing(found)}."
    ]


def in_short(findings: Sequence[Finding]) -> str:
    """Say findings in a few words, those about the same names together."""
    said: dict[str, list[str]] = {}
    for item in findings:
        said.setdefault(quoted(item.factors or item.codes, 4), []).append(_short(item))
    return listing([f"{who} {listing(list(dict.fromkeys(what)))}" for who, what in said.items()])


def _short(finding: Finding) -> str:
    """Say in a few words what is the matter, without the names."""
    one = len(finding.factors or finding.codes) == 1
    be = "is" if one else "are"
    return {
        FindingKind.ROTATED: "are rotated",
        FindingKind.MIXED: "are mixed",
        FindingKind.PACKED: "share one code",
        FindingKind.CIRCLE: "is encoded in two codes",
        FindingKind.SPREAD: f"is spread over {len(finding.codes)} codes",
        FindingKind.COPIED: f"is encoded {len(finding.codes)} times",
        FindingKind.CURVED: "is not encoded linearly",
        FindingKind.FOLDED: "is encoded, but R² does not show it",
        FindingKind.PARTLY: f"{be} predicted only in part",
        FindingKind.LOST: f"{be} not predicted by any probe",
        FindingKind.EMPTY: f"{'encodes' if one else 'encode'} no factor",
    }.get(finding.kind, str(finding.kind))


def _by_factor(low: Metric, report: Report) -> tuple[list[Finding], str] | None:
    values = _oriented(low, report.scores[low.name].per_factor)
    faults = [item for item in report.findings if item.kind in ABOUT_FACTORS]
    return _contrast(low, values, report.setup.factor_names, [(item, item.factors) for item in faults])


def _by_code(low: Metric, report: Report) -> tuple[list[Finding], str] | None:
    values = _oriented(low, report.scores[low.name].per_code)
    faults = [item for item in report.findings if item.kind in ABOUT_CODES]
    return _contrast(low, values, report.setup.code_names, [(item, item.codes) for item in faults])


def _contrast(
    low: Metric, values: FloatArray | None, names: Sequence[str], faults: Sequence[tuple[Finding, tuple[str, ...]]]
) -> tuple[list[Finding], str] | None:
    """Return the findings whose parts lie clearly below those without a fault, and both means in words."""
    if values is None or not faults:
        return None
    place = {name: j for j, name in enumerate(names)}
    troubled = {name for _, about in faults for name in about}
    fine = [name for name in names if name not in troubled and np.isfinite(values[place[name]])]
    if not fine:
        return None
    others = _mean(values, place, fine)
    shown = [(item, about) for item, about in faults if others - _mean(values, place, about) >= SHOWS]
    if not shown:
        return None
    blamed = list(dict.fromkeys(name for _, about in shown for name in about))
    means = (_mean(values, place, part) for part in (blamed, fine))
    here, there = (f"{value if low.higher_is_better else -value:.2f}" for value in means)
    parts = [f"{here} on average for {quoted(blamed, 4)}", f"{there} for {quoted(fine, 4)}"]
    rest = [name for name in names if name in troubled - set(blamed) and np.isfinite(values[place[name]])]
    if rest:
        between = _mean(values, place, rest)
        parts.insert(1, f"{between if low.higher_is_better else -between:.2f} for {quoted(rest, 4)}")
    told = f"{low.title} is {listing(parts)}"
    return [item for item, _ in shown], told


def _unseen(found: list[Finding], high: Metric, report: Report) -> str:
    """Add what the higher score gives for the same factors, where it hardly tells them from the rest."""
    values = report.scores[high.name].per_factor
    blamed = {name for item in found for name in item.factors}
    names = report.setup.factor_names
    is_blamed = np.array([name in blamed for name in names])
    if values is None or not np.isfinite(values).all() or is_blamed.all() or not is_blamed.any():
        return "."
    here, there = float(values[is_blamed].mean()), float(values[~is_blamed].mean())
    if abs(here - there) >= SHOWS / 2:
        return "."
    return f"; {spoken(high.title)} is {here:.2f} for the factors concerned and {there:.2f} for the others."


def _oriented(metric: Metric, values: FloatArray | None) -> FloatArray | None:
    return values if values is None or METRICS[metric.name].higher_is_better else -values


def _mean(values: FloatArray, place: dict[str, int], names: Sequence[str]) -> float:
    found = [values[place[name]] for name in names if np.isfinite(values[place[name]])]
    return float(np.mean(found)) if found else np.inf


#: How far apart, from chance to best, intervals must lie to speak of a marked disagreement.
MARKED_SPREAD = 0.4
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


def explain(found: Disagreement, report: Report, properties: list[Verdict]) -> str:
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
        *([] if caused else _also_counts(low, high, properties)),
        *_invariance(high, low, report),
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


def _also_counts(low: Metric, high: Metric, properties: list[Verdict]) -> list[str]:
    """Name what only the lower score is about as well, where the codes are not good at it."""
    levels = {verdict.about: verdict for verdict in properties if verdict.middle is not None and verdict.middle < GOOD}
    extra = [prop for prop in low.measures if prop not in high.measures and prop in levels]
    if not extra:
        return []
    parts = [f"{prop} ({MEANING[prop]}: {levels[prop].level} here)" for prop in extra]
    return [f"{low.title} also counts {listing(parts)}."]


def _invariance(metric: Metric, other: Metric, report: Report) -> list[str]:
    """Say that the higher score does not notice a rotation and the lower does, where one was found."""
    unseen = Invariance.ROTATION in metric.invariant_to - other.invariant_to
    if not unseen or not any(finding.kind is FindingKind.ROTATED for finding in report.findings):
        return []
    return [f"{metric.title} is invariant to rotations of the codes, {spoken(other.title)} is not."]


def _cases(known: Mapping[str, tuple[FindingKind, ...]], report: Report) -> list[str]:
    """Return the cases of the audit whose fault was found here."""
    here = {finding.kind for finding in report.findings}
    return [case for case, kinds in known.items() if here & set(kinds)]


def _cases_of_factors(report: Report) -> list[str]:
    """Return the cases of the audit that this report's factors resemble, where nothing is wrong with the codes."""
    sound = not any(finding.kind in ABOUT_FACTORS for finding in report.findings)
    return ["continuous/identity"] if sound and "continuous" in report.setup.factor_kinds else []


def _few_bins(low: Metric, report: Report) -> list[str]:
    """Say which factors have more values than a code has bins, for scores from bins without another ceiling."""
    n_bins = report.setup.options.get(low.name, {}).get("n_bins", 0)
    columns = zip(report.setup.factor_names, report.setup.factor_levels, strict=True)
    many = [f"“{name}” ({levels})" for name, levels in columns if levels and levels > n_bins]
    if low.source is not INFORMATION or low.ceiling is not None or not n_bins or not many:
        return []
    return [f"{low.title} cuts each code into {n_bins} bins, fewer than the values of {listing(many)}."]


def _known(metric: Metric, cases: Sequence[str], what: str) -> list[str]:
    """Say what the audit has found of a score that makes it come out so."""
    found = next((told for case in cases if (told := metric.why_it_fails(case))), "")
    return [f"A known reason for {metric.title} to be {what}: {found[0].lower()}{found[1:]}"] if found else []
