import math

import pytest

from unbraid import METRICS, Score
from unbraid.interpret.chance import AgainstChance, against_chance, progress, progress_range, remark, score_notes
from unbraid.results.note import NoteKind

MIG, TC = METRICS["mig"], METRICS["total_correlation"]


@pytest.mark.parametrize(
    ("low", "high", "null", "expected"),
    [
        (0.4, 0.6, 0.1, AgainstChance.BETTER),
        (0.4, 0.6, 0.5, AgainstChance.SAME),
        (0.4, 0.6, 0.4, AgainstChance.SAME),
        (0.4, 0.6, 0.7, AgainstChance.WORSE),
        (None, None, 0.1, AgainstChance.UNKNOWN),
        (0.4, 0.6, None, AgainstChance.UNKNOWN),
        (0.4, 0.6, math.inf, AgainstChance.UNKNOWN),
    ],
)
def test_the_interval_decides_where_a_score_stands(low, high, null, expected):
    assert against_chance(MIG, Score(value=0.5, low=low, high=high, null=null)) is expected


def test_the_panels_comparison_with_chance_counts_first():
    assert against_chance(MIG, Score(value=0.5, low=0.4, high=0.6, null=0.3, beats_chance=False)) is AgainstChance.SAME
    assert against_chance(MIG, Score(value=0.5, low=0.4, high=0.6, null=0.7, beats_chance=False)) is AgainstChance.WORSE
    assert against_chance(MIG, Score(value=0.5, low=0.4, high=0.6, null=0.3, beats_chance=True)) is AgainstChance.BETTER


def test_a_difference_that_no_digit_shows_is_none():
    assert against_chance(MIG, Score(value=0.0, low=0.0, high=0.0, null=0.0004)) is AgainstChance.SAME
    assert against_chance(MIG, Score(value=0.0, low=0.0, high=0.0, null=0.004)) is AgainstChance.WORSE


def test_lower_is_better_turns_the_comparison_round():
    assert against_chance(TC, Score(value=2.0, low=1.9, high=2.1, null=0.1)) is AgainstChance.WORSE
    assert against_chance(TC, Score(value=0.1, low=0.0, high=0.2, null=0.1)) is AgainstChance.SAME


def test_infinite_total_correlation_is_dependence_only_if_shuffled_codes_are_finite():
    assert against_chance(TC, Score(value=math.inf, null=0.1)) is AgainstChance.WORSE
    assert against_chance(TC, Score(value=math.inf, null=math.inf)) is AgainstChance.UNKNOWN


def test_remarks_speak_of_chance_or_of_independence():
    same = Score(value=0.5, low=0.4, high=0.6, null=0.5)
    assert remark(MIG, same) == "not distinguished from chance"
    assert remark(TC, same) == "as independent codes"
    assert remark(MIG, Score(value=0.5, low=0.4, high=0.6, null=0.1)) == ""


@pytest.mark.parametrize(
    ("value", "null", "expected"),
    [(0.6, 0.2, 0.5), (1.0, 0.2, 1.0), (0.2, 0.2, 0.0), (0.1, 0.2, 0.0), (0.6, None, 0.6)],
)
def test_progress_runs_from_chance_to_best(value, null, expected):
    assert progress(MIG, Score(value=value, null=null)) == pytest.approx(expected)


@pytest.mark.parametrize("null", [0.97, 1.0, math.nan])
def test_no_progress_where_chance_leaves_no_room(null):
    assert progress(MIG, Score(value=0.99, null=null)) is None


def test_no_progress_where_shuffling_does_not_show_chance():
    assert progress(METRICS["dci_es.explicitness"], Score(value=0.99)) is None


def test_no_progress_for_label_free_metrics():
    assert progress(TC, Score(value=0.1, null=0.1)) is None


def test_interval_on_the_same_scale():
    score = Score(value=0.6, low=0.4, high=0.8, null=0.2)
    assert progress_range(MIG, score) == pytest.approx((0.25, 0.75))
    assert progress_range(MIG, Score(value=0.6)) is None


@pytest.mark.parametrize(
    ("score", "kinds"),
    [
        (Score(value=0.5, low=0.4, high=0.6, null=0.5), [NoteKind.AT_CHANCE]),
        (Score(value=0.5, low=0.4, high=0.6, null=0.7), [NoteKind.WORSE_THAN_CHANCE]),
        (Score(value=0.5, low=0.4, high=0.6, null=0.3), [NoteKind.HIGH_CHANCE]),
        (Score(value=0.5, low=0.4, high=0.6, null=0.05), []),
        (Score(value=0.5, null=0.05), [NoteKind.NO_INTERVAL]),
    ],
)
def test_a_score_that_needs_care_has_a_note_of_that_kind(score, kinds):
    assert [note.kind for note in score_notes(MIG, score, "too few rows.")] == kinds
