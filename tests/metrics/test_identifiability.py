"""The verdict on identifiability: every class, its boundary, what is in the way, and the caveats."""

import math

import pytest

from unbraid.metrics import Identified, identifiability

PERFECT = {
    "disentanglement": 1.0,
    "completeness": 1.0,
    "informativeness": 1.0,
    "explicitness": 1.0,
    "size": 1.0,
    "importance": "weights",
    "starts_linear": True,
}


def verdict(**changes):
    return identifiability(**PERFECT | changes)


@pytest.mark.parametrize(
    ("changes", "supported", "in_the_way"),
    [
        ({}, Identified.SIGN_AND_PERMUTATION, ()),
        ({"explicitness": 0.7}, Identified.REPARAMETRISATION, ("explicitness",)),
        ({"explicitness": -1.0}, Identified.REPARAMETRISATION, ("explicitness",)),
        ({"disentanglement": 0.2}, Identified.LINEAR_MAP, ("disentanglement",)),
        (
            {"disentanglement": 0.5, "completeness": 0.2},
            Identified.LINEAR_MAP,
            ("completeness", "disentanglement"),
        ),
        ({"informativeness": 0.6}, Identified.NOTHING, ("informativeness",)),
        (
            {"disentanglement": 0.4, "explicitness": 0.1},
            Identified.NOTHING,
            ("explicitness", "disentanglement"),
        ),
        (
            {"disentanglement": 0.0, "completeness": 0.3, "informativeness": 0.2, "explicitness": 0.1},
            Identified.NOTHING,
            ("disentanglement", "explicitness", "informativeness", "completeness"),
        ),
    ],
)
def test_strongest_class_and_what_keeps_from_more(changes, supported, in_the_way):
    found = verdict(**changes)
    assert found.supported is supported
    assert found.in_the_way == in_the_way


@pytest.mark.parametrize("name", ["disentanglement", "completeness", "informativeness", "explicitness"])
def test_a_score_at_the_tolerance_counts_as_one_and_below_it_does_not(name):
    assert verdict(**{name: 0.95}).supported is Identified.SIGN_AND_PERMUTATION
    assert verdict(**{name: 0.9499}).supported is not Identified.SIGN_AND_PERMUTATION
    assert verdict(**{name: 0.9}, tolerance=0.1).supported is Identified.SIGN_AND_PERMUTATION
    assert verdict(**{name: 0.9999}, tolerance=0.0).supported is not Identified.SIGN_AND_PERMUTATION


def test_a_score_that_is_no_number_counts_for_nothing():
    assert verdict(disentanglement=math.nan).supported is Identified.LINEAR_MAP


class TestLadderThatDoesNotStartLinear:
    def test_supports_no_claim_about_linear_maps(self):
        assert verdict(starts_linear=False).supported is Identified.REPARAMETRISATION
        assert verdict(starts_linear=False, disentanglement=0.2).supported is Identified.NOTHING

    def test_explicitness_is_not_what_stands_in_the_way(self):
        assert verdict(starts_linear=False, explicitness=0.3).in_the_way == ()
        assert verdict(starts_linear=False, explicitness=0.3, disentanglement=0.2).in_the_way == ("disentanglement",)

    def test_is_said(self):
        assert any("does not start at linear probes" in caveat for caveat in verdict(starts_linear=False).caveats)
        assert verdict().caveats == ()


class TestCaveats:
    @pytest.mark.parametrize("importance", ["sage", "permutation"])
    def test_remark_3_6_where_d_and_c_carry_the_claim(self, importance):
        for explicitness in (1.0, 0.5):
            caveats = verdict(importance=importance, explicitness=explicitness).caveats
            assert len(caveats) == 1
            assert caveats[0].startswith(f"{importance} importances can be 0")
            assert "Remark 3.6" in caveats[0]

    @pytest.mark.parametrize("changes", [{"disentanglement": 0.1}, {"informativeness": 0.1}])
    def test_no_remark_3_6_where_they_do_not(self, changes):
        assert verdict(importance="sage", **changes).caveats == ()

    def test_weights_meet_the_condition(self):
        assert verdict(importance="weights").caveats == ()

    def test_a_forest_cannot_be_inverted(self):
        caveats = verdict(importance="gini", starts_linear=False).caveats
        assert "a forest cannot be inverted" in caveats[0]
        assert "Remark 3.6" not in " ".join(caveats)

    @pytest.mark.parametrize(("size", "words"), [(0.7, "more codes than factors"), (2.0, "fewer codes than factors")])
    def test_numbers_of_codes_and_factors_that_differ(self, size, words):
        assert words in verdict(size=size).caveats[0]


class TestSentence:
    def test_at_the_top(self):
        assert verdict().sentence == (
            "The scores support that the codes identify the factors up to sign and permutation "
            "(scores of at least 0.95 count as 1)."
        )

    def test_names_scores_in_the_way_with_their_values(self):
        sentence = verdict(explicitness=0.714).sentence
        assert "up to permutation and element-wise reparametrisation; a stronger claim needs a higher" in sentence
        assert "explicitness (0.71)" in sentence

    def test_none_of_the_classes(self):
        sentence = verdict(informativeness=0.3, importance="sage", size=0.5).sentence
        assert sentence.startswith("The scores support no claim that the codes identify the factors; a claim needs")
        assert sentence.endswith("But there are more codes than factors, and the theory is for equally many.")


def test_tolerance_below_zero():
    with pytest.raises(ValueError, match=r"tolerance must be at least 0, got -0\.1"):
        verdict(tolerance=-0.1)
