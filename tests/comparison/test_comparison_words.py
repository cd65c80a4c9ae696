from dataclasses import replace

from unbraid.comparison.differences import UNTESTED, Comparability, Difference
from unbraid.comparison.verdict import verdict


def apart(metric, first="a", second="b", *, better=None, sure=False, status=Comparability.PAIRED):
    p = None if status in UNTESTED else 0.01
    return Difference(
        metric=metric, first=first, second=second, value=0.1, p_value=p, better=better, sure=sure, status=status
    )


def test_one_is_better():
    said = verdict(["a", "b"], [apart("mig", better="b", sure=True), apart("sap", better="a"), apart("r2", better="b")])
    assert said[0] == (
        "b is surely better than a at 1 of 3 scores (compactness 1 of 2) and surely worse at none; "
        "the other 2 could be chance."
    )
    assert said[1] == (
        "Sure: p below 0.05 after Holm's correction for all 3 tests. "
        "The representations have the same rows, so differences are paired."
    )


def test_neither_is_better_throughout():
    said = verdict(["a", "b"], [apart("mig", better="b", sure=True), apart("r2", better="a", sure=True)])
    assert said[0] == (
        "Neither a nor b is better throughout: a is surely better at 1 of 2 scores (explicitness 1 of 1), "
        "b at 1 of 2 scores (compactness 1 of 1)."
    )


def test_one_that_wins_three_times_as_often_is_mostly_better():
    won = [apart(metric, better="b", sure=True) for metric in ("mig", "sap", "mcc")]
    lost = [apart(metric, better="a", sure=True) for metric in ("r2", "irs")]
    assert verdict(["a", "b"], [*won, lost[0], apart("iwo", better="a")])[0] == (
        "b is mostly better than a: surely better at 3 of 5 scores (compactness 3 of 3), "
        "surely worse at 1 of 5 scores (explicitness 1 of 1); the other 1 could be chance."
    )
    assert verdict(["a", "b"], won + lost)[0].startswith("Neither a nor b")


def test_caveats_stand_between_the_verdict_and_its_method():
    said = verdict(["a", "b"], [apart("mig", better="b", sure=True)], ["But."])
    assert said[0].startswith("b is surely better")
    assert said[1] == "But."
    assert said[2].startswith("Sure: ")


def test_nothing_is_sure_or_tested_or_shared():
    assert verdict(["a", "b"], [apart("mig", better="b")])[0] == (
        "No difference between a and b is sure: the only one tested could be chance."
    )
    assert verdict(["a", "b"], [apart("mig", status=Comparability.NO_INTERVAL)]) == (
        "No difference between a and b could be tested: a score has no interval.",
    )
    assert verdict(["a", "b"], []) == ("The representations share no score, so that nothing can be compared.",)
    assert verdict(["a"], []) == ()


def test_what_is_not_paired_is_said():
    items = [apart("mig"), apart("sap", status=Comparability.OTHER_SEEDS)]
    assert verdict(["a", "b"], items)[-1].endswith("Only 1 of 2 differences are paired: scored with other seeds.")
    assert verdict(["a", "b"], items[1:])[-1].endswith("No difference is paired: scored with other seeds.")


def test_many_representations_are_ranked():
    names = ["a", "b", "c", "d"]
    pairs = [(x, y) for i, x in enumerate(names) for y in names[i + 1 :]]
    said = verdict(names, [apart("mig", x, y, better=y, sure="d" in (x, y)) for x, y in pairs])
    assert said[0] == "d: surely better 3 times, surely worse 0 times, of 3 comparisons."
    assert said[1] == "a: surely better 0 times, surely worse once, of 3 comparisons."
    assert len(said) == 5


def test_equal_scores_are_called_equal():
    same = [replace(apart(metric), value=0.0) for metric in ("mig", "sap")]
    assert verdict(["a", "b"], same)[0] == "a and b are equal at each of the 2 tested."
    assert verdict(["a", "b"], [*same, apart("r2", better="a")])[0] == (
        "No difference between a and b is sure: 2 are equal and 1 could be chance."
    )
    won = apart("mcc", better="a", sure=True)
    assert verdict(["a", "b"], [won, *same])[0].endswith("surely worse at none; the other 2 are equal.")
    assert verdict(["a", "b"], [won, same[0], apart("r2", better="a")])[0].endswith(
        "surely worse at none; of the others, 1 is equal and 1 could be chance."
    )


def test_what_chance_keeps_from_being_tested_is_not_said_to_lack_intervals():
    item = apart("total_correlation", status=Comparability.CHANCE_DIFFERS)
    assert verdict(["a", "b"], [item])[0].endswith("could be tested: chance alone differs.")
