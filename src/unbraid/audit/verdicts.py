"""Verdicts of the audit: the behaviour of a metric in a case against the expected one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.stats import student_quantile
from unbraid.audit.candidate import Candidate, Outcome
from unbraid.audit.cases import IDENTITY, MIXED, NOISE, WHEELS, WHEELS_NOISE, Case
from unbraid.audit.truth import Should

CONFIDENCE = 0.95
MARGIN = 0.05
NEAR_BEST = 0.1
NEAR_WORST = 0.2
ROUNDING = 1e-9
Runs = Mapping[str, tuple[Outcome, ...]]


class CaseVerdict(StrEnum):
    """Verdict on a metric in a case; open where the expected behaviour is not known."""

    PASS = "pass"
    FAIL = "fail"
    OPEN = "no verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFinding:
    """One metric in one case.

    Attributes:
        metric: Name of the metric.
        case: Name of the case.
        baseline: Name of the case it is compared with.
        should: Expected behaviour of the score.
        because: The claims, or the promised invariance, from which ``should`` follows.
        verdict: Pass, fail or no verdict.
        value: Mean score over seeds; ``None`` where there is none.
        baseline_value: Mean score of the baseline.
        worse_by: Decrease in quality against the baseline, as a share of ``span``; negative where better.
        half_width: Half-width of the 95 % confidence interval of ``worse_by``.
        span: Distance of the scores of separated factors and of noise; for a label-free score, of independent and
            of mixed codes.
        failure: Error message of the metric, where there is no score.
        behaviour: Change of the score, in words.
    """

    metric: str
    case: str
    baseline: str
    should: Should
    because: tuple[str, ...]
    verdict: CaseVerdict
    value: float | None = None
    baseline_value: float | None = None
    worse_by: float | None = None
    half_width: float | None = None
    span: float | None = None
    failure: str | None = None
    behaviour: str = ""


def judge(candidate: Candidate, case: Case, runs: Runs) -> CaseFinding:
    """Compare the scores of one candidate in one case with the expected behaviour."""
    should, because = candidate.should(case.truth)
    refusal = next((run for run in runs[case.name] if isinstance(run, str)), None)
    covered = _covers(candidate, case)
    if refusal is not None or not covered:
        return _judge_failure(candidate, case, should, because, refusal)
    values = np.array(runs[case.name], dtype=float)
    span = _span(candidate, runs)
    base = None if case.baseline == case.name else _numbers(runs[case.baseline])
    change, half_width = _worsening(candidate, values, base, span)
    verdict, behaviour = _verdict(candidate, should, values, base, change, half_width, span)
    return CaseFinding(
        metric=candidate.name,
        case=case.name,
        baseline=case.baseline,
        should=should,
        because=because,
        verdict=verdict,
        value=float(values.mean()),
        baseline_value=None if base is None else float(base.mean()),
        worse_by=change,
        half_width=half_width,
        span=span,
        behaviour=behaviour,
    )


def _judge_failure(
    candidate: Candidate, case: Case, should: Should, because: tuple[str, ...], refusal: str | None
) -> CaseFinding:
    """Judge a score that was not given: right where the definition does not cover the input, else a failure."""
    covered, kind = _covers(candidate, case), candidate.factor_kind
    needs = f"{candidate.min_factors} factors" if kind is None else f"a {kind} factor"
    if refusal is None:
        behaviour = f"gave a score for {case.structure.n_labelled} factor, though it needs {needs}"
    else:
        behaviour = "refused" if covered else f"refused, as its definition needs {needs}"
    return CaseFinding(
        metric=candidate.name,
        case=case.name,
        baseline=case.baseline,
        should=should,
        because=because if covered else (f"needs {needs}",),
        verdict=CaseVerdict.PASS if refusal is not None and not covered else CaseVerdict.FAIL,
        failure=refusal,
        behaviour=behaviour,
    )


def _covers(candidate: Candidate, case: Case) -> bool:
    """Return whether the definition of a candidate covers the factors of a case."""
    n_labelled, kinds = case.structure.n_labelled, case.structure.kinds or ()
    has_kind = candidate.factor_kind is None or any(str(kind).startswith(candidate.factor_kind) for kind in kinds)
    return has_kind and (n_labelled is None or n_labelled >= candidate.min_factors)


def _numbers(runs: tuple[Outcome, ...]) -> FloatArray | None:
    """Return scores by seed, or ``None`` where one is missing."""
    return None if any(isinstance(run, str) for run in runs) else np.array(runs, dtype=float)


def _span(candidate: Candidate, runs: Runs) -> float | None:
    """Distance of the mean scores in the two cases that set the scale."""
    good_and_bad = (IDENTITY, MIXED if candidate.label_free else NOISE)
    if candidate.factor_kind is not None:
        good_and_bad = (WHEELS, WHEELS_NOISE)
    ends = [_numbers(runs[name]) for name in good_and_bad]
    if any(end is None or not np.isfinite(end).all() for end in ends):
        return None
    good, bad = (float(end.mean()) for end in ends if end is not None)
    return abs(good - bad)


def _worsening(
    candidate: Candidate, values: FloatArray, base: FloatArray | None, span: float | None
) -> tuple[float | None, float | None]:
    """Return mean and half-width of the loss against the baseline, as a share of the span."""
    if base is None or span is None:
        return None, None
    sign = 1.0 if candidate.higher_is_better else -1.0
    if not (np.isfinite(values).all() and np.isfinite(base).all()):
        gap = sign * (_extended(base) - _extended(values))
        return (None, None) if np.isnan(gap) else (float(gap), 0.0)
    gaps = sign * (base - values)
    scale = span if span > ROUNDING else 1.0
    return float(gaps.mean() / scale), _half_width(gaps) / scale


def _extended(values: FloatArray) -> float:
    """Return one number for scores of which some are infinite."""
    infinite = values[~np.isfinite(values)]
    return float(infinite[0]) if len(infinite) else float(values.mean())


def _half_width(values: FloatArray) -> float:
    """Half-width of the 95 % confidence interval of the mean, by Student's t; 0 for an infinite mean."""
    if not np.isfinite(values).all():
        return 0.0
    quantile = student_quantile(0.5 + CONFIDENCE / 2, len(values) - 1)
    return float(quantile * values.std(ddof=1) / np.sqrt(len(values)))


def _verdict(
    candidate: Candidate,
    should: Should,
    values: FloatArray,
    base: FloatArray | None,
    change: float | None,
    half_width: float | None,
    span: float | None,
) -> tuple[CaseVerdict, str]:
    if should is Should.FREE:
        return CaseVerdict.OPEN, "nothing to judge"
    if should is Should.BEST:
        return _near_best(candidate, values, span)
    if should is Should.CHANCE and np.isfinite(candidate.bounds).all():
        return _near_worst(candidate, values)
    if base is None:
        return CaseVerdict.FAIL, "its baseline has no score to compare with"
    if change is None or half_width is None or not np.isfinite(base).all():
        return CaseVerdict.OPEN, "its baseline is as bad as can be, or its scale unknown"
    if should is Should.STAY:
        stayed = abs(change) - half_width <= MARGIN + ROUNDING
        if stayed:
            return CaseVerdict.PASS, "stayed"
        return CaseVerdict.FAIL, "got worse" if change > 0 else "got better"
    if change - half_width > MARGIN:
        return CaseVerdict.PASS, "got worse"
    return CaseVerdict.FAIL, "did not clearly get worse" if change > -MARGIN else "got better"


def _near_best(candidate: Candidate, values: FloatArray, span: float | None) -> tuple[CaseVerdict, str]:
    if not np.isfinite(candidate.best) or span is None:
        return CaseVerdict.OPEN, "it has no best value to be near"
    gap = abs(candidate.best - float(values.mean())) - _half_width(values)
    near = gap <= NEAR_BEST * span + ROUNDING
    return (CaseVerdict.PASS, "near its best") if near else (CaseVerdict.FAIL, "not near its best")


def _near_worst(candidate: Candidate, values: FloatArray) -> tuple[CaseVerdict, str]:
    height = abs(float(values.mean()) - candidate.worst) - _half_width(values)
    near = height <= NEAR_WORST * abs(candidate.best - candidate.worst)
    return (CaseVerdict.PASS, "near its worst") if near else (CaseVerdict.FAIL, "looks like something")
