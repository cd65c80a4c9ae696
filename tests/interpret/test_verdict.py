"""A good verdict names what it does not hold for."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.reports import record, subspaces
from unbraid import Score, evaluate
from unbraid.evidence.dependence import FactorDependence, FactorPair
from unbraid.interpret.summary import opening
from unbraid.interpret.verdict import MEANING, Level, verdicts
from unbraid.metrics.table.metric import Property
from unbraid.results.finding import Finding, FindingKind

FOUR = ("a", "b", "c", "d")


def one_axis_each(low):
    """Subspaces of four factors with one axis each: every two at right angles but those given, by their IWO."""
    cosines = np.eye(4)
    for (i, j), at in low.items():
        cosines[i, j] = cosines[j, i] = np.sqrt(1 - at)
    axes = np.linalg.cholesky(cosines).T
    return subspaces([axes[:, [k]] for k in range(4)], [[1.0]] * 4)


def last_shares_all():
    """Subspaces of four factors, the last of which is spread evenly over the axes of the others."""
    return subspaces([*(np.eye(3)[:, [k]] for k in range(3)), np.eye(3)], [[1.0]] * 3 + [np.full(3, 1 / 3)])


@pytest.mark.parametrize(
    ("low", "value", "told"),
    [
        ({}, 0.95, "of its own)"),
        ({(0, 1): 0.02}, 0.8, "of its own, except “a” and “b”, which share one)"),
        ({(0, 1): 0.7}, 0.95, "of its own, except “a” and “b”, which share some)"),
        ({(0, 1): 0.7}, 0.8, "of its own)"),
        ("all", 0.8, "of its own, except “d”)"),
        ({(0, 1): 0.1, (2, 3): 0.3}, 0.8, "of its own, except 2 pairs of factors, most of all “a” and “b”)"),
        ({(0, 1): 0.02}, 0.5, "of its own)"),  # middling: nothing is claimed of each factor
    ],
)
def test_factors_that_share_directions_are_named(make_report, low, value, told):
    found = last_shares_all() if low == "all" else one_axis_each(low)
    report = make_report({"iwo": Score(value=value)}, evidence=(record(found, "iwo"),), factors=FOUR)
    assert f"(each factor has directions {told}" in opening(report).verdict


def test_a_factor_that_no_probe_predicts_is_an_exception_to_explicitness(make_report):
    values = np.array([1.0, 1.0, 1.0, 0.0])
    scores = {name: Score(value=0.75, null=0.0, per_factor=values) for name in ("r2", "infomec.explicitness")}
    assert "can be predicted from the codes, except “d”)" in opening(make_report(scores, factors=FOUR)).verdict
    trees = Score(value=0.99, null=0.0, per_factor=np.array([1.0, 1.0, 1.0, 0.95]))
    read = make_report({**scores, "dci_forest.informativeness": trees}, factors=FOUR)
    assert "can be predicted from the codes)" in opening(read).verdict


def test_values_are_placed_between_chance_and_best(make_report):
    """0.8 is far for a score whose chance is 0 and near to chance for one of 0.6."""
    for null, told in ((0.0, ""), (0.6, ", except “size”")):
        score = Score(value=0.9, null=null, per_factor=np.array([1.0, 0.8]))
        assert f"({MEANING[Property.COMPACTNESS]}{told})" in opening(make_report({"mig": score})).verdict


def test_codes_that_mix_are_named_and_those_without_a_factor_are_not(make_report):
    score = Score(value=0.8, null=0.0, per_code=np.array([1.0, 0.2, 0.1]))
    report = make_report({"modularity": score})
    empty = Finding(kind=FindingKind.EMPTY, sentence="It is.", codes=("z2",))
    assert ", except “z1” and “z2”)" in opening(report).verdict
    assert ", except “z1”)" in opening(replace(report, findings=(empty,))).verdict


@pytest.mark.slow
def test_two_factors_in_one_code_are_an_exception_to_orthogonality():
    factors = np.random.default_rng(0).integers(0, 6, (1000, 4))
    codes = np.column_stack([factors[:, 0] + factors[:, 1], factors[:, 2], factors[:, 3]])
    said = opening(evaluate(codes, factors, metrics=["iwo"], n_jobs=1)).verdict
    assert "except “factor_0” and “factor_1”, which share one" in said


def tied(*pairs):
    found = tuple(FactorPair(first=a, second=b, strength=0.5, p_value=0.001, depends=True) for a, b in pairs)
    return FactorDependence(pairs=found, level=0.01, n_shuffles=99)


def test_dependence_is_told_right_after_the_levels(make_report):
    scores = {"mig": Score(value=0.95), "total_correlation": Score(value=0.5, low=0.4, high=0.6, null=0.0)}
    report = replace(make_report(scores), dependence=tied(("shape", "size")))
    words = opening(report)
    assert (
        "). But “shape” and “size” depend on each other, which misleads 2 of the 2 scores behind this verdict. "
        "The codes depend on each other, as some factors do: Gaussian total correlation" in words.verdict
    )
    assert "misleads" not in words.caution
    more = replace(report, dependence=tied(("shape", "size"), ("shape", "x")))
    assert "But 2 pairs of factors depend, which misleads" in opening(more).verdict


def test_a_wide_interval_around_a_good_value_is_not_called_no_better_than_chance(make_report):
    wide = Score(value=0.95, low=0.2, high=1.0, null=0.5)
    said = opening(make_report({"mig": wide})).verdict
    assert said.startswith("This representation cannot be distinguished from chance in compactness")
    assert "no better" not in said
    full = Score(value=1.0, low=1.0, high=1.0, null=0.98, beats_chance=False)
    levels = {item.about: item.level for item in verdicts(make_report({"iwo": full}))}
    assert levels[Property.ORTHOGONALITY] is Level.NOT_TOLD


def test_what_was_found_is_an_exception_whatever_the_scores_say(make_report):
    rotated = Finding(kind=FindingKind.ROTATED, sentence="They are.", factors=("a", "b"), codes=("z0", "z1"))
    circle = Finding(kind=FindingKind.CIRCLE, sentence="It is.", factors=("c",), codes=("z2", "z3"))
    dead = Finding(kind=FindingKind.DEAD, sentence="It is.", codes=("z4",))
    scores = {
        "modularity": Score(value=0.9, null=0.0, per_code=np.array([0.9, 0.9, 0.9, 0.9, 0.0])),
        "mig": Score(value=0.9, null=0.0, per_factor=np.full(4, 0.9)),
    }
    report = make_report(scores, factors=FOUR, codes=[f"z{k}" for k in range(5)])
    said = opening(replace(report, findings=(rotated, circle, dead))).verdict
    assert f"{MEANING[Property.MODULARITY]}, except “z0” and “z1”)" in said
    assert f"{MEANING[Property.COMPACTNESS]}, except “a”, “b” and “c”)" in said
