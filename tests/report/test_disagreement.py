from dataclasses import replace

from unbraid import METRICS, Score
from unbraid.audit._cases import CASES
from unbraid.evidence.factor_dependence import FactorDependence, FactorPair
from unbraid.report._disagreement import FLATTERING, HARSH, disagreements, explain
from unbraid.report._summary import opening
from unbraid.report._verdict import verdicts


def scored(value):
    return Score(value=value, low=value - 0.01, high=value + 0.01, null=0.0)


def why(report):
    (found,) = disagreements(report)
    return explain(found, report, verdicts(report))


def test_both_questions_are_given_word_for_word(make_report):
    report = make_report({"sap": scored(0.1), "mcc": scored(0.9)})
    told = why(report)
    assert told.startswith("Compactness. ")
    assert f"(0.10) asks: {METRICS['sap'].summary}" in told
    assert f"(0.90) asks: {METRICS['mcc'].summary}" in told
    assert opening(report).disagreements == (told,)


def test_what_one_counts_and_the_other_does_not_is_named_with_its_verdict(make_report):
    report = make_report({"dcimig": scored(0.1), "z_diff": scored(0.95), "r2": scored(0.3)})
    assert METRICS["dcimig"].measures[1:] == ("explicitness",)
    assert "also counts explicitness (the factors can be read out of the codes: weak here)." in why(report)
    bare = make_report({"dcimig": scored(0.1), "z_diff": scored(0.95)})
    assert "also counts explicitness (the factors can be read out of the codes)." in why(bare)


def test_what_one_is_blind_to_is_named(make_report):
    low, high = METRICS["dci_linear.completeness"], METRICS["dci_forest.completeness"]
    assert set(high.invariant_to - low.invariant_to) == {"warping"}
    report = make_report({low.name: scored(0.1), high.name: scored(0.9)})
    assert f"{high.title} does not notice bending a code, DCI completeness (linear) does." in why(report)


def test_dependence_is_blamed_only_where_it_was_found(make_report):
    scores = {"mig": scored(0.1), "mcc": scored(0.9)}
    assert "depend on each other" not in why(make_report(scores))
    pair = FactorPair(first="shape", second="size", strength=0.5, p_value=0.001, depends=True)
    found = FactorDependence(pairs=(pair,), level=0.01, n_shuffles=100)
    told = why(replace(make_report(scores), dependence=found))
    assert "Factors depend on each other here, which misleads Mutual information gap" in told


def test_known_faults_of_the_audit_are_given(make_report):
    report = make_report({"mig": scored(0.1), "mcc": scored(0.9)}, factor_levels=[3, 40])
    told = why(report)
    assert "A known reason for Mutual information gap to be low: twenty bins cannot hold" in told
    assert "A known reason for Mean correlation coefficient to be high: it matches one code" in told
    few = make_report({"mig": scored(0.1), "mcc": scored(0.9)})
    assert "twenty bins" not in why(few)


def test_the_cases_asked_for_exist():
    assert {*FLATTERING, *HARSH, "many_values/identity", "continuous/identity"} <= set(CASES)
