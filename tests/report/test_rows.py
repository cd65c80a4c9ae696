import math

import pytest

from unbraid import METRICS, Score
from unbraid._base.text import exact, number, short
from unbraid.interpret.summary import failure_doubts, general_doubts, score_doubts
from unbraid.report.scores import score_groups
from unbraid.results.note import Note, NoteKind


def rows_of(report):
    return {row.name: row for group in score_groups(report) for row in group.rows}


def test_a_row_holds_the_numbers_of_its_score(make_report):
    row = rows_of(make_report({"mig": Score(value=1 / 3, low=0.3, high=0.4, null=0.01, standing=0.25)}))["mig"]
    assert (row.value, row.interval, row.null, row.standing) == ("0.333", "0.300 \u2013 0.400", "0.010", "0.250")
    assert row.keys == (repr(1 / 3), "0.3", "0.01", "0.25")
    assert repr(1 / 3) in row.tip
    assert (row.title, row.question) == (METRICS["mig"].title, METRICS["mig"].summary)
    assert row.tags == ("compactness", "explicitness")
    assert row.direction == ""


def test_what_keeps_a_score_from_the_best_is_said_beside_it(make_report):
    named = {"sap": Score(value=0.6), "mcc": Score(value=0.6)}
    rows = rows_of(make_report(named, factor_kinds=["categorical"] * 2))
    why = METRICS["sap"].ceiling.why
    assert rows["sap"].limit == f"At most about 0.67 with one code for each factor: {why}."
    assert rows["mcc"].limit == rows_of(make_report(named))["sap"].limit == ""


def test_what_is_missing_is_a_dash(make_report):
    row = rows_of(make_report({"mig": Score(value=0.5)}))["mig"]
    assert (row.interval, row.null, row.standing, row.keys[1:]) == ("\u2013", "\u2013", "\u2013", ("", "", ""))


def test_groups_follow_the_properties_and_hold_failures(make_report):
    report = make_report({"mig": Score(value=0.5), "modularity": Score(value=0.5)}, failures={"sap": "too few rows"})
    groups = score_groups(report)
    assert [str(group.about) for group in groups] == ["modularity", "compactness"]
    assert [(row.name, row.failure) for row in groups[1].rows] == [("mig", ""), ("sap", "too few rows")]


def test_lower_is_better_is_said(make_report):
    assert rows_of(make_report({"total_correlation": Score(value=2.0)}))["total_correlation"].direction


def test_a_row_is_drawn_between_the_bounds_of_its_metric(make_report):
    scores = {"mig": Score(value=0.5, low=0.4, high=0.7, null=0.1), "total_correlation": Score(value=7.5, null=0.01)}
    rows = rows_of(make_report(scores))
    assert (rows["mig"].strip.value, rows["mig"].strip.null, rows["mig"].strip.ends) == (50.0, 10.0, None)
    assert rows["mig"].strip.bar == pytest.approx((40.0, 30.0))
    assert (rows["total_correlation"].strip.ends, rows["total_correlation"].strip.is_open) == (("0", "10"), True)


def test_infinite_value_is_not_drawn(make_report):
    row = rows_of(make_report({"total_correlation": Score(value=math.inf)}))["total_correlation"]
    assert (row.strip, row.value) == (None, "∞")


def test_the_same_note_is_listed_once(make_report):
    note = "Two constant codes left out."
    report = make_report({"mig": Score(value=0.5, notes=(note,)), "sap": Score(value=0.5, notes=(note,))})
    (doubt,) = score_doubts(report)
    assert (doubt.text, doubt.about) == (note, (METRICS["mig"].title, METRICS["sap"].title))


def test_notes_that_differ_in_numbers_are_merged_with_their_numbers(make_report):
    notes = [Note.of(NoteKind.HIGH_CHANCE, "Chance scores {}; beware of {} rows.", null, 50) for null in (0.25, 0.31)]
    scores = {name: Score(value=0.5, notes=(note,)) for name, note in zip(("mig", "sap"), notes, strict=True)}
    (doubt,) = score_doubts(make_report(scores))
    assert doubt.text == "Chance scores …; beware of 50 rows."
    assert doubt.about == ("Mutual information gap (0.25)", "Separated attribute predictability (0.31)")


def test_failures_with_the_same_reason_are_one_entry(make_report):
    reasons = {name: f"factors must have at least two columns for {name}, got 1." for name in ("z_diff", "mig_sup")}
    (doubt,) = failure_doubts(make_report(failures=reasons, factors=("shape",)))
    assert doubt.text == "At least 2 factors needed, got 1."
    assert doubt.about == (METRICS["z_diff"].title, METRICS["mig_sup"].title)


def test_general_notes_keep_their_order(make_report):
    assert [doubt.text for doubt in general_doubts(make_report(notes=("b", "a", "b")))] == ["b", "a"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.12345, "0.123"),
        (12.345, "12.35"),
        (1234.5, "1,234.5"),
        (-0.5, "\u22120.500"),
        (2e7, "2e+07"),
        (math.nan, "\u2013"),
    ],
)
def test_numbers(value, expected):
    assert number(value) == expected


def test_short_and_exact_numbers():
    assert (short(0.126), short(-0.001), short(math.inf)) == ("0.13", "0.00", "∞")
    assert (exact(0.1), exact(math.inf), exact(None)) == ("0.1", "", "")
