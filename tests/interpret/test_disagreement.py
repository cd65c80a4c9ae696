from dataclasses import replace

import numpy as np

from helpers.reports import information, record, subspaces
from unbraid import METRICS, Score
from unbraid.audit.cases import CASES
from unbraid.evidence.dependence import FactorDependence, FactorPair
from unbraid.interpret.disagreement import FLATTERING, HARSH, disagreements, explain
from unbraid.interpret.summary import opening
from unbraid.interpret.verdict import verdicts
from unbraid.results.finding import Finding, FindingKind


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


def test_what_only_the_lower_score_counts_is_named_where_the_codes_are_bad_at_it(make_report):
    assert METRICS["dcimig"].measures[1:] == ("explicitness",)
    scores = {"dcimig": scored(0.1), "z_diff": scored(0.95)}
    told = why(make_report({**scores, "r2": scored(0.3)}))
    assert "also counts explicitness (the factors can be predicted from the codes: weak here)." in told
    assert "also counts" not in why(make_report({**scores, "r2": scored(0.95)}))
    assert "also counts" not in why(make_report(scores))


def test_what_the_higher_score_is_blind_to_is_named_where_it_was_found(make_report):
    low, high = METRICS["dci_linear.completeness"], METRICS["dci_forest.completeness"]
    assert set(high.invariant_to - low.invariant_to) == {"warping"}
    assert "notice" not in why(make_report({low.name: scored(0.1), high.name: scored(0.9)}))
    low, high = METRICS["dci_forest.informativeness"], METRICS["r2"]
    assert set(high.invariant_to - low.invariant_to) == {"rotation"}
    report = make_report({low.name: scored(0.1), high.name: scored(0.9)})
    turned = Finding(kind=FindingKind.ROTATED, sentence="They are.", factors=("shape",), codes=("z0", "z1"))
    assert "notice" not in why(report)
    assert "Linear R² is invariant to rotations of the codes, DCI" in why(replace(report, findings=(turned,)))


def test_dependence_is_blamed_only_where_it_was_found(make_report):
    scores = {"mig": scored(0.1), "mcc": scored(0.9)}
    assert "depend on each other" not in why(make_report(scores))
    pair = FactorPair(first="shape", second="size", strength=0.5, p_value=0.001, depends=True)
    found = FactorDependence(pairs=(pair,), level=0.01, n_shuffles=100)
    told = why(replace(make_report(scores), dependence=found))
    assert "Factors depend on each other here, which misleads Mutual information gap" in told


def test_known_faults_of_the_audit_are_given_only_where_their_reason_was_found(make_report):
    report = make_report({"mig": scored(0.1), "mcc": scored(0.9)})
    assert "A known reason" not in why(report)
    copied = Finding(kind=FindingKind.COPIED, sentence="It is.", factors=("shape",), codes=("z0", "z1"))
    told = why(replace(report, findings=(copied,)))
    assert "A known reason for Mean correlation coefficient to be high: it matches one code" in told


def test_bins_are_blamed_only_where_a_factor_has_more_values(make_report):
    few = {"dcimig": scored(0.1), "z_diff": scored(0.9)}
    options = {"dcimig": {"n_bins": 20}}
    assert "bins" not in why(make_report(few, options=options, factor_levels=[3, 20]))
    told = why(make_report(few, options=options, factor_levels=[3, 21]))
    assert "DCIMIG cuts each code into 20 bins, fewer than the values of “size” (21)." in told


def test_the_ceiling_of_the_lower_score_is_given(make_report):
    report = make_report({"sap": scored(0.1), "mcc": scored(0.9)}, factor_kinds=["categorical"] * 2)
    assert "predictability cannot exceed about 0.67 here" in why(report)
    assert "cannot exceed" not in why(make_report({"sap": scored(0.1), "mcc": scored(0.9)}))


def test_the_cause_comes_before_what_is_known_of_the_scores(make_report):
    low = replace(scored(0.1), per_factor=np.array([0.02, 0.9]))
    high = replace(scored(0.9), per_factor=np.array([0.88, 0.92]))
    spread = Finding(kind=FindingKind.SPREAD, sentence="It is.", factors=("shape",), codes=("z0", "z1"))
    told = why(replace(make_report({"mig": low, "mcc": high}, factor_levels=[40, 40]), findings=(spread,)))
    assert (
        "The cause: “shape” is spread over 2 codes. Mutual information gap is 0.02 on average for “shape” and 0.90 for "
        "“size”; Mean correlation coefficient is 0.88 for the factors concerned and 0.92 for the others." in told
    )
    assert told.index("The cause") < told.index("cannot exceed")


def test_a_finding_that_the_score_does_not_show_is_not_its_cause(make_report):
    low = replace(scored(0.1), per_factor=np.array([0.1, 0.1]))
    spread = Finding(kind=FindingKind.SPREAD, sentence="It is.", factors=("shape",), codes=("z0", "z1"))
    told = why(replace(make_report({"mig": low, "mcc": scored(0.9)}), findings=(spread,)))
    assert "The cause" not in told


def test_a_rotation_of_every_factor_is_the_cause_for_scores_that_notice_it(make_report):
    turned = Finding(kind=FindingKind.ROTATED, sentence="They are.", factors=("shape", "size"), codes=("z0", "z1"))
    report = replace(make_report({"mig": scored(0.1), "mcc": scored(0.9)}), findings=(turned,))
    assert "The cause: “shape” and “size” are rotated, which lowers Mutual information gap." in why(report)
    blind = replace(make_report({"infomec.explicitness": scored(0.1), "r2": scored(0.9)}), findings=(turned,))
    assert "The cause" not in why(blind)


def test_codes_that_mix_or_carry_nothing_lower_scores_given_code_by_code(make_report):
    low = replace(scored(0.1), per_code=np.array([0.9, 0.9, 0.05]))
    empty = Finding(kind=FindingKind.EMPTY, sentence="It is.", codes=("z2",))
    told = why(replace(make_report({"irs": low, "z_diff": scored(0.9)}), findings=(empty,)))
    assert "The cause: “z2” encodes no factor. Interventional robustness is 0.05 on average for “z2” and 0.90" in told
    assert "A known reason for Interventional robustness to be low: it is a mean over codes" in told


def test_axes_of_little_weight_explain_overlap_that_importance_does_not_see(make_report):
    found = subspaces([np.eye(2)[:, :1], np.eye(2)], [[1.0], [0.994, 0.006]])
    overlap = Score(value=0.6, low=0.59, high=0.61, null=1.0)
    iwo = Score(value=0.95, low=0.94, high=0.96, null=0.0)
    evidence = (record(found, "iwo", "orthogonality"),)
    told = why(make_report({"iwo": iwo, "orthogonality": overlap}, evidence=evidence))
    assert "the last axis of “size” (weight 0.006)" in told


def test_a_factor_that_is_troubled_but_not_to_blame_is_not_left_out(make_report):
    low = replace(scored(0.1), per_factor=np.array([0.1, 0.8, 0.9]))
    kinds = {"shape": FindingKind.CURVED, "size": FindingKind.COPIED}
    found = tuple(Finding(kind=kind, sentence="It is.", factors=(name,)) for name, kind in kinds.items())
    report = make_report(
        {"explicitness": low, "dci_forest.informativeness": scored(0.9)},
        factors=("shape", "size", "hue"),
        factor_kinds=["ordinal"] * 3,
        factor_levels=[3] * 3,
    )
    told = why(replace(report, findings=found))
    assert "is 0.10 on average for “shape”, 0.80 for “size” and 0.90 for “hue”" in told


def test_what_is_said_of_one_factor_is_said_together(make_report):
    low = replace(scored(0.1), per_factor=np.array([0.1, 0.9]))
    kinds = (FindingKind.SPREAD, FindingKind.CURVED)
    found = tuple(Finding(kind=kind, sentence="It is.", factors=("shape",), codes=("z0", "z1")) for kind in kinds)
    told = why(replace(make_report({"explicitness": low, "dci_forest.informativeness": scored(0.9)}), findings=found))
    assert "The cause: “shape” is spread over 2 codes and is not encoded linearly. " in told


def test_noise_is_the_cause_where_only_the_lower_score_counts_it(make_report):
    report = make_report({"mig": scored(0.1), "dci_linear.completeness": scored(0.9)}, factor_kinds=["continuous"] * 2)
    assert "where the edges fall" in why(report)
    partly = Finding(kind=FindingKind.PARTLY, sentence="They are.", factors=("shape", "size"))
    told = why(replace(report, findings=(partly,)))
    assert "The cause: “shape” and “size” are predicted only in part, and Mutual information gap also measures" in told
    assert "where the edges fall" not in told
    both = make_report({"mig": scored(0.1), "mcc": scored(0.9)})
    assert "The cause" not in why(replace(both, findings=(partly,)))


def test_bins_are_no_reason_where_something_else_was_found(make_report):
    report = make_report({"mig": scored(0.1), "mcc": scored(0.9)}, factor_kinds=["continuous"] * 2)
    spread = Finding(kind=FindingKind.SPREAD, sentence="It is.", factors=("shape",), codes=("z0", "z1"))
    assert "where the edges fall" in why(report)
    assert "where the edges fall" not in why(replace(report, findings=(spread,)))


def test_codes_without_a_factor_have_their_share_in_a_sum_over_codes(make_report):
    table = information([[0.8, 0.0], [0.0, 0.8], [0.2, 0.2]])
    scores = {"infomec.compactness": scored(0.5), "dci_linear.completeness": scored(1.0)}
    report = make_report(scores, evidence=(record(table, "infomec.compactness"),))
    empty = Finding(kind=FindingKind.EMPTY, sentence="It is.", codes=("z2",))
    assert "The cause" not in why(report)
    told = why(replace(report, findings=(empty,)))
    assert "The cause: 1 code encodes no factor, but estimates in bins find a little" in told
    assert "in total 0.20 of the sum over codes that InfoC uses" in told


def test_the_cases_asked_for_exist():
    assert {*FLATTERING, *HARSH, "continuous/identity"} <= set(CASES)
