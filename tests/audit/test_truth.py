"""What a metric should do follows from its claims and promises."""

import pytest

from unbraid.audit import CASES, Should
from unbraid.audit.candidate import Candidate, from_catalogue
from unbraid.audit.truth import Claim, claims
from unbraid.metrics import METRICS, Invariance, Property

MODULARITY, COMPACTNESS, EXPLICITNESS, ORTHOGONALITY, INDEPENDENCE, DIMENSION = Property
BEST, STAY, FALL, CHANCE, FREE = Should
MARKS = {"▲": BEST, "=": STAY, "↓": FALL, "▼": CHANCE, "·": FREE}


def should(case, *measures, promises=()):
    candidate = Candidate(name="x", title="x", measures=measures, invariant_to=frozenset(promises))
    return candidate.should(CASES[case].truth)[0]


@pytest.mark.parametrize(
    ("case", "marks"),
    [
        # modularity, compactness, explicitness, orthogonality, independence, dimension
        ("independent/identity", "▲▲▲▲▲▲"),
        ("independent/permuted", "======"),
        ("independent/scaled", "=====·"),
        ("independent/warped", "==·==·"),
        ("independent/rotated", "↓↓==↓="),
        ("independent/mixed", "↓↓=↓↓↓"),
        ("independent/dropped", "··↓·=↓"),
        ("independent/duplicated", "=↓==↓="),
        ("independent/two_factors_per_code", "↓=·↓=·"),
        ("independent/two_codes_per_factor", "=↓·=··"),
        ("independent/leaky", "↓↓=↓↓↓"),
        ("independent/bent_copy", "=↓··↓·"),
        ("independent/dead_code", "======"),
        ("independent/many_noise_codes", "=====·"),
        ("independent/outlier", "======"),
        ("independent/noise_normal", "▼▼▼▼▲·"),
        ("independent/nuisance_mixed", "··↓·=·"),
        ("correlated/identity", "====↓↓"),
        ("correlated/mixed", "↓↓=↓··"),
        ("composed/identity", "===·↓↓"),
        ("copied/duplicated", "=↓==↓="),
        ("tied_angles/cosines", "===·↓·"),
        ("tied_angles/cosines_pairs", "↓↓····"),
    ],
)
def test_expectation_of_each_property(case, marks):
    assert [should(case, prop) for prop in Property] == [MARKS[mark] for mark in marks]


def test_any_property_that_suffers_should_show():
    assert should("independent/duplicated", MODULARITY, COMPACTNESS) is FALL
    assert should("independent/noise_normal", COMPACTNESS, EXPLICITNESS) is CHANCE


def test_a_property_that_says_nothing_leaves_nothing_to_judge():
    assert should("independent/two_factors_per_code", COMPACTNESS, EXPLICITNESS) is FREE


def test_a_promise_outranks_a_property():
    assert should("independent/rotated", COMPACTNESS) is FALL
    assert should("independent/rotated", COMPACTNESS, promises=[Invariance.ROTATION]) is STAY
    assert should("independent/warped", EXPLICITNESS, promises=[Invariance.WARPING]) is STAY
    because = Candidate(
        name="x", title="x", measures=(COMPACTNESS,), invariant_to=frozenset({Invariance.ROTATION})
    ).should(CASES["independent/rotated"].truth)[1]
    assert because == ("promised invariance to rotation",)


def test_compactness_up_to_rotation_does_not_count_copies():
    assert should("independent/duplicated", COMPACTNESS, promises=[Invariance.ROTATION]) is STAY
    assert should("independent/duplicated", COMPACTNESS, promises=[Invariance.SCALING]) is FALL


def test_every_metric_of_the_catalogue_is_a_candidate_with_its_own_claims():
    candidates = {one.name: one for group in from_catalogue("all") for one in group.candidates}
    assert set(candidates) == set(METRICS)
    for name, metric in METRICS.items():
        assert candidates[name].measures == metric.measures
        assert (candidates[name].best, candidates[name].worst) == (
            metric.bounds[::-1] if metric.higher_is_better else metric.bounds
        )
        assert any(candidates[name].should(case.truth)[0] is STAY for case in CASES.values())
        # No case makes the number of directions that a factor needs larger, and nothing else.
        if set(claims(metric.measures, metric.invariant_to)) != {Claim.RANK}:
            assert any(candidates[name].should(case.truth)[0] is FALL for case in CASES.values())
