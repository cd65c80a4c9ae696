"""Verdicts on metrics that are wrong in known ways, and on one that is right."""

import json
from dataclasses import replace

import numpy as np
import pytest

from helpers import wrong_metrics as plugins
from unbraid import METRICS, audit, metrics
from unbraid.audit import CaseVerdict, Should
from unbraid.audit.result import known_reasons, reason
from unbraid.metrics.table.weaknesses import ONE_PAIR_AT_A_TIME

PASS, FAIL, OPEN = CaseVerdict
SMALL = {"n_seeds": 3, "n_rows": 400, "n_jobs": 1, "progress": False}
PLAIN = [
    "independent/permuted",
    "independent/scaled",
    "independent/mixed",
    "independent/rotated",
    "independent/dropped",
    "independent/duplicated",
    "independent/dead_code",
    "independent/noise_code",
    "independent/noise_uniform",
    "correlated/identity",
]


def verdicts(function, measures, cases=PLAIN, **more):
    found = audit.run(function, measures=measures, cases=cases, **SMALL | more)
    return {finding.case: finding.verdict for finding in found.of(function.__name__)}


def test_a_constant_notices_nothing_and_does_not_move():
    found = verdicts(plugins.constant, "compactness,explicitness")
    assert found["independent/identity"] is FAIL
    assert found["independent/noise_normal"] is FAIL
    for case in ("independent/mixed", "independent/rotated", "independent/dropped", "independent/duplicated"):
        assert found[case] is FAIL
    for case in ("independent/permuted", "independent/scaled", "independent/noise_code", "correlated/identity"):
        assert found[case] is PASS


def test_a_metric_that_reads_the_order_of_columns_fails_permutation():
    found = verdicts(plugins.first_column, "compactness")
    assert found["independent/identity"] is PASS
    assert found["independent/permuted"] is FAIL
    assert found["independent/noise_code"] is PASS
    assert found["independent/dead_code"] is FAIL  # it shifts the columns
    assert found["independent/duplicated"] is FAIL


def test_a_metric_that_ignores_duplicates_fails_only_there():
    found = verdicts(plugins.best_column, "compactness")
    failed = [case for case, verdict in found.items() if verdict is FAIL]
    assert failed == ["independent/duplicated"]


def test_a_right_metric_passes_where_its_definition_is_right():
    found = verdicts(plugins.gap, "compactness,explicitness")
    failed = [case for case, verdict in found.items() if verdict is FAIL]
    assert failed == ["correlated/identity"]  # as SAP: one code at a time


def test_lower_is_better_without_an_upper_end():
    claims = {"bounds": (0, np.inf), "higher_is_better": False}
    found = verdicts(plugins.leftover, "explicitness", **claims)
    assert set(found.values()) == {PASS}
    upside_down = verdicts(plugins.leftover, "explicitness", bounds=(0, np.inf), higher_is_better=True)
    assert upside_down["independent/dropped"] is FAIL
    assert upside_down["independent/identity"] is OPEN  # it has no best


def test_one_function_gets_the_verdicts_of_its_row():
    own = verdicts(metrics.mig, "compactness,explicitness", invariant_to="permutation,scaling")
    found = audit.run("mig", cases=PLAIN, **SMALL)
    assert own == {finding.case: finding.verdict for finding in found.of("mig")}
    assert own["correlated/identity"] is FAIL
    assert own["independent/duplicated"] is PASS


def test_a_metric_that_raises_in_one_case_has_a_verdict_in_the_others():
    found = audit.run(plugins.fragile, measures="compactness", cases=PLAIN, **SMALL)
    dead = found["fragile", "independent/dead_code"]
    assert (dead.verdict, dead.value) == (FAIL, None)
    assert dead.failure == "ZeroDivisionError: a code never changes"
    assert found["fragile", "independent/duplicated"].verdict is PASS


def test_refusing_too_few_factors_is_right_and_scoring_them_is_not():
    found = audit.run("modularity,mig", cases="one_labelled/identity", **SMALL)
    refused = found["modularity", "one_labelled/identity"]
    assert refused.verdict is PASS
    assert refused.failure == "factors must have at least two columns for modularity, got 1."
    assert found["mig", "one_labelled/identity"].failure is None
    brash = audit.run(plugins.gap, measures="compactness", min_factors=2, cases="one_labelled/identity", **SMALL)
    assert brash["gap", "one_labelled/identity"].verdict is FAIL


@pytest.mark.slow
def test_same_numbers_for_any_number_of_workers_and_other_ones_for_another_seed():
    cases = ["independent/noise_code", "few_rows/identity"]
    one, two = (audit.run("mig,z_min_var,dci_linear", cases=cases, **SMALL | {"n_jobs": n}) for n in (1, 3))
    assert one.findings == two.findings
    other = audit.run("mig", cases=cases, **SMALL | {"seed": 9})
    assert other["mig", "independent/noise_code"].value != one["mig", "independent/noise_code"].value


def test_an_infinite_score_is_worse_than_any_and_never_a_baseline():
    found = audit.run("total_correlation", cases=["independent/duplicated", "composed/circles"], **SMALL)
    doubled = found["total_correlation", "independent/duplicated"]
    assert (doubled.value, doubled.verdict) == (np.inf, PASS)
    assert found["total_correlation", "composed/circles"].verdict is OPEN
    assert '"value": "inf"' in found.to_json()


def test_a_change_is_counted_in_spans():
    found = audit.run("mig", cases="independent/dropped", **SMALL)
    finding = found["mig", "independent/dropped"]
    assert finding.worse_by == pytest.approx(1 / 3, abs=0.03)  # one factor of three
    assert finding.span == pytest.approx(1, abs=0.05)
    assert finding.should is Should.FALL
    assert finding.because == ("explicitness",)


def test_tables_and_json_agree():
    found = audit.run("mig,sap", cases=PLAIN, **SMALL)
    passed, with_verdict = found.count("mig")
    assert found.summary().loc["mig", ["passed", "with_verdict"]].tolist() == [passed, with_verdict]
    assert passed + len(found.failures("mig")) == with_verdict
    data = json.loads(found.to_json())
    assert data["metrics"]["sap"]["with_verdict"] == found.count("sap")[1]
    assert len(data["findings"]) == len(found.table()) == 2 * len(found.cases)
    row = next(row for row in data["findings"] if (row["metric"], row["case"]) == ("mig", "correlated/identity"))
    assert row["verdict"] == "fail"
    assert "dependence between factors" in row["reason"]
    assert found.table().loc[("mig", "correlated/identity"), "verdict"] == "fail"
    assert "correlated/identity" in repr(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "migg"}, "Unknown metric 'migg'; did you mean 'mig'"),
        ({"metric": plugins.gap}, "measures must say what the metric claims to measure"),
        ({"metric": plugins.gap, "measures": ""}, "measures must say what the metric claims to measure"),
        ({"metric": plugins.gap, "measures": "compact"}, "measures must be one of .* got 'compact'; did you mean"),
        ({"metric": plugins.gap, "measures": "compactness", "bounds": (1, 0)}, "bounds must be the lowest and"),
        ({"metric": plugins.gap, "measures": "compactness", "invariant_to": "turns"}, "invariant_to must be one of"),
        ({"metric": "mig", "measures": "compactness"}, "measures must be left out for metrics of the catalogue"),
        ({"metric": "mig", "higher_is_better": False}, "higher_is_better must be left out"),
        ({"metric": "mig", "n_seeds": 1}, "n_seeds must be at least 2, got 1"),
        ({"metric": "mig", "n_rows": 10}, "n_rows must be at least 200, got 10"),
        ({"metric": "mig", "seed": -1}, "seed must be at least 0"),
        ({"metric": "mig", "n_jobs": 0}, "n_jobs must be at least 1"),
        ({"metric": lambda codes, factors: np.nan, "measures": "modularity"}, "must return a number, got nan"),
        (
            {"metric": lambda codes, factors: codes[0], "measures": "modularity"},
            r"must return one number or a Score, got ndarray of shape \(3,\)",
        ),
        ({"metric": lambda codes, factors: 1 / 0, "measures": "modularity"}, "ZeroDivisionError: division by zero"),
        ({"metric": lambda codes: 1.0, "measures": "modularity"}, "has no score for separated factors: TypeError"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        audit.run(**{"cases": "independent/identity"} | SMALL | arguments)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_every_pattern_of_a_known_failure_names_cases_that_exist(metric):
    for failure in metric.known_failures:
        for pattern in failure.cases:
            assert any(replace(failure, cases=(pattern,)).covers(case) for case in audit.CASES), pattern


def test_failures_are_grouped_by_their_reason():
    cases = ["independent/duplicated", "correlated/identity", "independent/permuted"]
    found = audit.run("mcc,mig,sap", cases=cases, **SMALL)
    assert reason(found["mcc", "independent/permuted"]) == ""
    grouped = {item: (names, cases) for item, names, cases in known_reasons(found.findings.values())}
    [left_over] = [item for item in METRICS["mcc"].known_failures if item.covers("independent/duplicated")]
    assert grouped[left_over] == (["mcc"], ["independent/duplicated"])
    assert grouped[ONE_PAIR_AT_A_TIME] == (["mig", "sap"], ["correlated/identity"])
    assert reason(found["mcc", "independent/duplicated"]) == left_over.sentence


def test_a_metric_of_ones_own_has_no_known_reason():
    found = audit.run(plugins.best_column, measures="compactness", cases="independent/duplicated", **SMALL)
    assert found.failures("best_column")
    assert known_reasons(found.findings.values()) == []
