"""Verdicts from numbers made up by hand."""

import pytest

from unbraid.audit import CASES, CaseVerdict
from unbraid.audit.candidate import Candidate
from unbraid.audit.cases import IDENTITY, MIXED, NOISE
from unbraid.audit.verdicts import judge
from unbraid.metrics import Property

PASS, FAIL, OPEN = CaseVerdict
STAYS, FALLS = "independent/dead_code", "independent/duplicated"
ONES = (1.0, 1.0, 1.0)


def finding(case, values, *, measures=(Property.COMPACTNESS,), identity=ONES, noise=(0.0, 0.0, 0.0), **claims):
    candidate = Candidate(name="x", title="x", measures=measures, **claims)
    runs = {IDENTITY: identity, NOISE: noise, MIXED: noise}
    return judge(candidate, CASES[case], runs | {case: values})


@pytest.mark.parametrize(
    ("case", "values", "verdict"),
    [
        (STAYS, (0.96, 0.96, 0.96), PASS),  # within a twentieth of the span
        (STAYS, (0.94, 0.94, 0.94), FAIL),
        (STAYS, (1.06, 1.06, 1.06), FAIL),  # getting better is no better than getting worse
        (STAYS, (0.97, 0.85, 1.00), PASS),  # perhaps it did not change: the interval says so
        (FALLS, (0.94, 0.94, 0.94), PASS),
        (FALLS, (0.96, 0.96, 0.96), FAIL),
        (FALLS, (0.97, 0.85, 1.00), FAIL),  # perhaps it did not change: that is not clear enough
        (FALLS, (1.20, 1.20, 1.20), FAIL),
        (IDENTITY, (0.91, 0.91, 0.91), PASS),  # within a tenth of the span
        (IDENTITY, (0.80, 0.80, 0.80), FAIL),
        (NOISE, (0.19, 0.19, 0.19), PASS),  # within a fifth of the range
        (NOISE, (0.21, 0.21, 0.21), FAIL),
        (NOISE, (0.10, 0.20, 0.36), PASS),  # 0.22, give or take 0.33
    ],
)
def test_thresholds(case, values, verdict):
    assert finding(case, values).verdict is verdict


def test_changes_are_paired_by_seed_and_counted_in_spans():
    uneven = (1.0, 0.8, 0.6)
    found = finding(FALLS, (0.9, 0.7, 0.5), identity=uneven, noise=(0.3, 0.3, 0.3))
    assert found.span == pytest.approx(0.5)
    assert found.worse_by == pytest.approx(0.2)
    assert found.half_width == pytest.approx(0, abs=1e-12)
    assert found.verdict is PASS


def test_a_score_without_labels_is_measured_between_independent_and_mixed_codes():
    claims = {"measures": (Property.INDEPENDENCE,), "higher_is_better": False, "bounds": (0.0, float("inf"))}
    candidate = Candidate(name="x", title="x", **claims)
    zeros = (0.0, 0.0, 0.0)
    runs = {IDENTITY: zeros, NOISE: zeros, MIXED: (4.0, 4.0, 4.0), FALLS: (1.0, 1.0, 1.0)}
    found = judge(candidate, CASES[FALLS], runs)
    assert (found.span, found.worse_by, found.verdict) == (4.0, 0.25, PASS)


def test_lower_is_better_turns_everything_round():
    claims = {"higher_is_better": False, "bounds": (0.0, 1.0), "identity": (0.0, 0.0, 0.0), "noise": ONES}
    assert finding(FALLS, (0.5, 0.5, 0.5), **claims).verdict is PASS
    assert finding(IDENTITY, (0.05, 0.05, 0.05), **claims | {"identity": (0.05,) * 3}).verdict is PASS
    assert finding(NOISE, (0.1, 0.1, 0.1), **claims | {"noise": (0.1,) * 3}).verdict is FAIL


def test_an_infinitely_bad_score_is_not_near_the_best():
    claims = {"measures": (Property.INDEPENDENCE,), "higher_is_better": False, "bounds": (0.0, float("inf"))}
    infinite = (float("inf"),) * 3
    candidate = Candidate(name="x", title="x", **claims)
    case = "copied_shuffled/identity"
    runs = {IDENTITY: (0.0, 0.0, 0.0), NOISE: (0.0, 0.0, 0.0), MIXED: ONES, case: infinite}
    assert judge(candidate, CASES[case], runs).verdict is FAIL


def test_a_baseline_without_a_score_leaves_nothing_to_pass():
    found = finding(FALLS, (0.5, 0.5, 0.5), identity=("no", 1.0, 1.0))
    assert (found.verdict, found.behaviour) == (FAIL, "its baseline has no score to compare with")


def test_one_refusal_among_seeds_is_a_failure_with_its_reason():
    found = finding(STAYS, (1.0, "cannot", 1.0))
    assert (found.verdict, found.failure, found.value) == (FAIL, "cannot", None)
