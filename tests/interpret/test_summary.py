import math
from dataclasses import replace

import numpy as np
import pytest

from helpers.reports import record
from unbraid import METRICS, Score
from unbraid.evidence.information import CodeInformation
from unbraid.interpret.summary import opening
from unbraid.interpret.verdict import MEANING, verdicts
from unbraid.metrics.table.metric import Property
from unbraid.results.finding import Finding, FindingKind


def scored(value, null=0.0, reach=0.01, **more):
    return Score(value=value, low=max(0.0, value - reach), high=value + reach, null=null, **more)


def by_property(report):
    return {verdict.about: verdict for verdict in verdicts(report)}


def test_every_property_is_explained():
    assert set(MEANING) == set(Property)


@pytest.mark.parametrize(
    ("value", "word"), [(0.95, "very good"), (0.75, "good"), (0.5, "middling"), (0.2, "weak"), (0.05, "poor")]
)
def test_the_middle_score_decides_the_word(make_report, value, word):
    report = make_report({"modularity": scored(value), "irs": scored(value), "mig_sup": scored(0.99)})
    verdict = by_property(report)[Property.MODULARITY]
    assert (verdict.level, verdict.middle) == (word, pytest.approx(value))
    assert f"This representation is {word} at modularity ({MEANING[Property.MODULARITY]})." in opening(report).verdict


def test_a_high_value_over_a_high_null_is_not_praised(make_report):
    report = make_report({"modularity": scored(0.72, null=0.7)})
    assert by_property(report)[Property.MODULARITY].level == "poor"


def test_scores_that_cover_their_null_are_at_chance(make_report):
    report = make_report({"modularity": scored(0.7, null=0.7), "irs": scored(0.3, null=0.3)})
    words = opening(report)
    assert by_property(report)[Property.MODULARITY].level == "at chance"
    assert "This representation does no better than chance at modularity" in words.verdict
    assert "None of the 2 scores that have a chance level is distinguished from chance." in words.caution


def test_scores_at_chance_are_named(make_report):
    report = make_report({"mig": scored(0.5), "modularity": scored(0.7, null=0.7)})
    assert "1 of 2 scores cannot be distinguished from chance: Modularity." in opening(report).caution


def test_below_chance_is_told_apart_from_at_chance(make_report):
    report = make_report({"mig": scored(0.5), "dci_linear.completeness": scored(0.2, null=0.6)})
    caution = opening(report).caution
    assert "1 of 2 scores is worse than chance: DCI completeness (linear)." in caution
    assert "distinguished" not in caution


def test_all_clear_of_chance_is_said(make_report):
    assert (
        "All 2 scores that have a chance level are better than chance."
        in opening(make_report({"mig": scored(0.5), "sap": scored(0.5)})).caution
    )


def test_without_intervals_or_nulls_the_paragraph_says_so(make_report):
    words = opening(make_report({"mig": Score(value=0.5)}))
    assert "no chance level was computed" in words.numbers
    assert "not compared with chance" in words.caution


def test_marked_disagreement_names_the_two_ends(make_report):
    caution = opening(make_report({"mig": scored(0.1), "sap": scored(0.5), "mcc": scored(0.9)})).caution
    assert "disagree markedly: compactness (Mutual information gap at 0.10, Mean correlation" in caution


def test_wide_intervals_are_no_disagreement(make_report):
    report = make_report({"mig": scored(0.3, reach=0.3), "sap": scored(0.8, reach=0.3)})
    assert "disagree" not in opening(report).caution


def test_independence_is_judged_against_shuffled_codes(make_report):
    same = make_report({"total_correlation": scored(0.01, null=0.01)})
    more = make_report({"total_correlation": scored(2.0, null=0.01)})
    assert "The codes cannot be distinguished from independent codes." in opening(same).verdict
    assert by_property(same)[Property.INDEPENDENCE].level == "no dependence seen"
    assert "Gaussian total correlation is 2.000, for independent codes 0.010." in opening(more).verdict
    assert by_property(more)[Property.INDEPENDENCE].level == "dependent"


def test_infinite_scores_do_not_break_the_words(make_report):
    report = make_report({"total_correlation": Score(value=math.inf, null=math.inf)})
    assert by_property(report)[Property.INDEPENDENCE].level == "no verdict"
    assert "independent" not in opening(report).verdict


def test_no_factors(make_report):
    report = make_report({"total_correlation": scored(0.01, null=0.01)}, factors=())
    assert (
        "No factors were given, so nothing can be said about modularity, compactness, explicitness and orthogonality."
        in opening(report).verdict
    )


def test_failures_and_absent_metrics_are_told_apart(make_report):
    report = make_report({"mig": scored(0.5)}, failures={"modularity": "because", "sap": "because"})
    words = opening(report)
    assert "Nothing can be said about modularity: every metric of that kind failed." in words.verdict
    unseen = "explicitness, orthogonality and independence"
    assert f"Nothing can be said about {unseen}: no metric of that kind was run." in words.verdict
    assert "1 metric of compactness failed; the verdict on it rests on the other 1." in words.caution


def test_nothing_scored(make_report):
    assert opening(make_report(failures={"mig": "because"})).verdict.startswith("Nothing could be scored")


def test_one_factor_says_little_about_modularity(make_report):
    report = make_report({"irs": scored(0.9)}, factors=("shape",))
    assert "With one factor, no code can mix factors" in opening(report).caution


def test_weakest_and_strongest_factor(make_report):
    parts = {"per_factor": np.array([0.2, 0.8])}
    report = make_report({"mig": scored(0.5, **parts), "sap": scored(0.5, **parts)})
    assert "lowest for “shape” (mean 0.20 over the 2 scores" in opening(report).caution
    assert "highest for “size” (0.80)" in opening(report).caution


def test_factors_that_hardly_differ_are_not_ranked(make_report):
    parts = {"per_factor": np.array([0.50, 0.55])}
    assert "lowest" not in opening(make_report({"mig": scored(0.5, **parts), "sap": scored(0.5, **parts)})).caution


def test_each_score_counts_under_its_first_property_only(make_report):
    report = make_report({"jemmig": scored(0.8)})
    assert METRICS["jemmig"].measures[0] is Property.MODULARITY
    assert [verdict.n_scores for verdict in verdicts(report)] == [1, 0, 0, 0, 0]


def test_factors_that_cannot_be_told_apart_share_their_place(make_report):
    parts = {"per_factor": np.array([0.700, 0.705, 0.95])}
    report = make_report(
        {"mig": scored(0.78, **parts), "sap": scored(0.78, **parts)},
        factors=("x", "y", "size"),
        factor_levels=[3] * 3,
        factor_kinds=["ordinal"] * 3,
    )
    caution = opening(report).caution
    assert "“x” and “y” (mean 0.70" in caution
    assert "“size” (0.95)" in caution


def test_no_factor_is_weakest_within_the_uncertainty(make_report):
    parts = {"per_factor": np.array([0.5, 0.7])}
    wide = make_report({"mig": scored(0.6, reach=0.1, **parts), "sap": scored(0.6, reach=0.1, **parts)})
    narrow = make_report({"mig": scored(0.6, reach=0.01, **parts), "sap": scored(0.6, reach=0.01, **parts)})
    assert "lowest" not in opening(wide).caution
    assert "lowest" in opening(narrow).caution


def test_weak_factors_that_can_be_read_are_not_taken_for_lost(make_report):
    parts = {"per_factor": np.array([0.2, 0.8])}
    scores = {"mig": scored(0.5, **parts), "sap": scored(0.5, **parts)}
    read = {"dci_linear.informativeness": scored(0.96, per_factor=np.array([0.938, 0.98]))}
    assert "The codes do encode “shape”: the best probe predicts at least 0.93 of it." in (
        opening(make_report(scores | read)).caution
    )
    lost = {"dci_linear.informativeness": scored(0.5, per_factor=np.array([0.1, 0.98]))}
    assert "do encode" not in opening(make_report(scores | lost)).caution


def test_findings_stand_as_they_were_found(make_report):
    found = Finding(kind=FindingKind.DEAD, sentence="The code “z0” never changes.", codes=("z0",))
    assert opening(replace(make_report({"mig": scored(0.5)}), findings=(found,))).findings == (found.sentence,)


def test_codes_that_stand_out_in_their_dependence_are_named_with_their_factor(make_report):
    matrix = np.array([[0.0, 0.9, 0.1], [0.9, 0.0, 0.1], [0.1, 0.1, 0.0]])
    scores = {"code_mutual_information": scored(0.4, null=0.05)}

    def depending(matrix):
        between = CodeInformation(matrix=matrix, active=np.ones(3, dtype=bool))
        return make_report(scores, evidence=(record(between, "code_mutual_information"),))

    report = depending(matrix)
    assert opening(report).verdict.startswith(
        "The codes depend on each other: Mutual information between codes is 0.400"
    )
    assert "; the most dependent are “z0” and “z1”." in opening(report).verdict
    circle = Finding(kind=FindingKind.CIRCLE, sentence="It does.", factors=("shape",), codes=("z0", "z1"))
    told = opening(replace(report, findings=(circle,))).verdict
    assert "“z0” and “z1”, the codes of “shape”." in told
    assert "most dependent" not in opening(depending(np.full((3, 3), 0.4))).verdict


def test_what_perfect_codes_would_score_is_said_unless_the_score_is_chance(make_report):
    kinds = {"factor_kinds": ["categorical"] * 2}
    assert "perfect codes, one for each factor, get about 0.67 for Separated attribute predictability." in (
        opening(make_report({"sap": scored(0.6)}, **kinds)).numbers
    )
    assert "perfect" not in opening(make_report({"sap": scored(0.0)}, **kinds)).numbers
    assert "perfect" not in opening(make_report({"sap": scored(0.6)})).numbers
