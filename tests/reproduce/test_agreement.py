import math

import pytest

from unbraid.reproduce import Agreement, Check, Colour, Part
from unbraid.reproduce.agreement import seed_tolerance
from unbraid.reproduce.result import Number
from unbraid.reproduce.run import reason_of


def check(**known):
    return Check(**{"what": "a number", "ours": 0.5} | known)


@pytest.mark.parametrize(
    ("known", "agreement"),
    [
        ({"paper": 0.52, "tolerance": 0.02}, Agreement.AGREES),
        ({"paper": 0.53, "tolerance": 0.02}, Agreement.DIFFERS),
        # the paper is off, ours is right: that counts, and is said
        ({"paper": 0.60, "truth": 0.51, "tolerance": 0.02}, Agreement.NEARER),
        ({"paper": 0.60, "truth": 0.40, "tolerance": 0.02}, Agreement.DIFFERS),
        # agreement with the paper comes first, even where both are wrong
        ({"paper": 0.50, "truth": 0.90, "tolerance": 0.02}, Agreement.AGREES),
        # no number in the paper: the truth decides
        ({"truth": 0.51, "tolerance": 0.02}, Agreement.AGREES),
        ({"truth": 0.90, "tolerance": 0.02}, Agreement.DIFFERS),
        # words
        ({"claim": "high", "at_least": 0.5}, Agreement.AGREES),
        ({"claim": "high", "at_least": 0.6}, Agreement.DIFFERS),
        ({"claim": "low", "at_most": 0.4}, Agreement.DIFFERS),
        ({"ours": math.nan, "paper": 0.5, "tolerance": 1.0}, Agreement.DIFFERS),
        ({"ours": math.nan, "claim": "low", "at_most": 1.0}, Agreement.DIFFERS),
        ({"ours": None, "paper": 0.5, "tolerance": 1.0}, Agreement.DIFFERS),
        ({"ours": None, "claim": "low", "at_most": 1.0}, Agreement.DIFFERS),
    ],
)
def test_agreement_follows_from_the_numbers(known, agreement):
    assert check(**known).agreement is agreement


def test_rounding_does_not_decide_at_the_edge():
    assert 1.0 - 0.97 > 0.03
    assert check(ours=1.0, paper=0.97, tolerance=0.03).agreement is Agreement.AGREES


def test_a_check_that_cannot_fail_is_refused():
    with pytest.raises(ValueError, match="no paper, no truth and no bound"):
        check()


def test_what_was_allowed_is_said():
    assert check(paper=0.5, tolerance=0.02).rule == "±0.02"
    assert check(claim="some", at_least=2, at_most=3).rule == "at least 2, at most 3"
    assert check(paper=0.4).difference == pytest.approx(0.1)
    assert check(truth=0.7).difference == pytest.approx(-0.2)
    assert check(claim="high", at_least=0.5).difference is None


@pytest.mark.parametrize(
    ("n_good", "n_bad", "colour"),
    [
        (4, 0, Colour.GREEN),
        (3, 1, Colour.AMBER),
        (2, 2, Colour.AMBER),
        (2, 3, Colour.RED),
        (1, 3, Colour.RED),
        (0, 1, Colour.RED),
    ],
)
def test_colour_follows_from_the_share_that_agrees(n_good, n_bad, colour):
    good, bad = check(paper=0.5), check(paper=0.9)
    part = Part(where="Table 1", checks=[good] * n_good + [bad] * n_bad)
    assert part.colour is colour
    assert part.n_agree == n_good


def test_nearer_the_truth_counts_as_agreeing():
    part = Part(where="Table 1", checks=[check(paper=0.9, truth=0.5)])
    assert (part.colour, part.n_nearer) == (Colour.GREEN, 1)


def test_numbers_without_a_printed_one_and_tuned_ones_do_not_count():
    alone, tuned = check(truth=0.5), check(paper=0.5, tuned=True)
    part = Part(where="Table 1", checks=[alone, tuned])
    assert (part.n_printed, part.n_attempted, part.n_agree, part.colour) == (1, 0, 0, Colour.GREY)
    part = Part(where="Table 1", checks=[alone, tuned, check(paper=0.5)])
    assert (part.n_printed, part.n_attempted, part.n_agree, part.colour) == (2, 1, 1, Colour.AMBER)


def test_a_table_is_green_only_if_all_that_is_printed_agrees():
    part = Part(where="Table 1", checks=[check(paper=0.5)], n_published=2)
    assert (part.n_attempted, part.n_agree, part.colour) == (1, 1, Colour.AMBER)


def test_other_settings_than_the_full_ones_count_for_nothing():
    part = Part(where="Table 1", checks=[check(paper=0.5)], is_full=False)
    assert (part.n_printed, part.n_attempted, part.n_agree, part.colour) == (1, 0, 1, Colour.GREY)


def test_a_tolerance_is_what_other_seeds_may_change():
    assert seed_tolerance((0.0, 0.0), (4, 4)) == 0.005
    assert seed_tolerance((0.1, 0.0), (4, 4)) == pytest.approx(1.96 * 0.05 + 0.005, abs=0.005)
    assert seed_tolerance((0.1, 0.0), (16, 4)) < seed_tolerance((0.1, 0.1), (16, 4))


def test_numbers_within_the_margin_and_beyond_the_seeds_are_named():
    """Seeds 0.88 and 0.9 differ by a deviation of 0.014: one of the paper's may be 0.034 away, and 0.84 is further."""
    near, far = (Number.over_seeds([0.88, 0.9], paper=paper) for paper in (0.87, 0.84))
    checks = [Check.of("a", number, tolerance=0.1, rounding=0.0) for number in (near, far)]
    assert [check.agreement for check in checks] == [Agreement.AGREES] * 2
    assert [check.is_beyond_seeds for check in checks] == [False, True]
    part = Part(where="Table 1", checks=checks)
    assert (part.colour, part.n_beyond_seeds) == (Colour.GREEN, 1)
    assert reason_of(part) == "1 agrees within the margin and is further from the paper than other seeds explain."
    assert not Check.of("a", Number(ours=0.9, paper=0.84), tolerance=0.1, rounding=0.0).is_beyond_seeds
    strict = [Check.of("a", number, tolerance=0.01, rounding=0.0) for number in (near, far)]
    assert [check.agreement for check in strict] == [Agreement.AGREES, Agreement.DIFFERS]  # seeds explain the first
    assert not any(check.is_beyond_seeds for check in strict)  # one that differs says more
