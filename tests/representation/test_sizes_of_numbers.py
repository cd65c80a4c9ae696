"""Numbers too large or too small to compute with are refused by name; what is left does not depend on the scale."""

import numpy as np
import pytest

from unbraid import Representation, evaluate
from unbraid._base.checks import CollapsedError
from unbraid.metrics import udr
from unbraid.representation.factor import make_factor
from unbraid.representation.warnings import representation_notes

FACTORS = np.random.default_rng(0).standard_normal((300, 3))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e29, 1e-8])
def test_large_and_small_codes_score_as_others_do(scale):
    metrics = ["r2", "sap", "mcc", "iwo", "dci_linear", "dci_forest", "z_diff"]
    usual, scaled = (
        evaluate(FACTORS * size, FACTORS, metrics=metrics, n_jobs=1, intervals=False, nulls=False)
        for size in (1, scale)
    )
    for name, score in usual.items():
        assert scaled[name].value == pytest.approx(score.value, abs=1e-3), name


@pytest.mark.parametrize("size", [1e300, 1e31, -1e200])
def test_codes_that_overflow_are_refused_by_name(size):
    codes = FACTORS.copy()
    codes[7, 1] = size
    with pytest.raises(
        ValueError, match=r"codes must be at most 1e\+30 in size, got .* in 'pose'; divide by a constant"
    ):
        Representation(codes, FACTORS, code_names=["size", "pose", "hue"])
    with pytest.raises(ValueError, match="in 'code_1'; divide"):
        udr([codes, FACTORS])


def test_codes_that_underflow_are_refused():
    with pytest.raises(
        ValueError,
        match=r"codes must spread over at least 1e-09, got .* at most in 'code_0', 'code_1' and",
    ):
        Representation(FACTORS * 1e-12, FACTORS)


def test_one_tiny_code_among_others_is_let_in():
    assert Representation(FACTORS * [1, 1, 1e-12], FACTORS).active.all()


@pytest.mark.parametrize("offset", [1e10, -1e12, 1e15])
def test_codes_far_from_0_are_not_called_constant(offset):
    with pytest.raises(ValueError, match=r"got .* around .* in 'code_0', 'code_1' and 'code_2'; subtract") as raised:
        Representation(FACTORS + offset, FACTORS)
    assert not isinstance(raised.value, CollapsedError)
    with pytest.raises(ValueError, match=r"in 'code_1'; subtract a constant from each code"):
        Representation(FACTORS + np.array([0, offset, 0]), FACTORS)


def test_a_code_that_varies_by_rounding_error_is_dead():
    codes = np.column_stack([FACTORS, 0.3 + np.finfo(float).eps * (FACTORS[:, 0] > 0)])
    assert Representation(codes, FACTORS).active.tolist() == [True, True, True, False]


def scores_of(factors, kind):
    codes = SMALL + 0.05 * np.random.default_rng(1).standard_normal(SMALL.shape)
    metrics = ["dci_forest", "dci_boosting", "dci_linear", "r2"]
    report = evaluate(codes, factors, kinds=[kind] * 2, metrics=metrics, n_jobs=1, intervals=False, nulls=False)
    return {name: score.value for name, score in report.items()}


SMALL = np.random.default_rng(0).integers(0, [11, 5], (300, 2)).astype(float)


@pytest.mark.parametrize("kind", ["ordinal", "continuous"])
def test_factors_far_from_0_score_as_those_near_0(kind):
    usual = scores_of(SMALL, kind)
    assert scores_of(SMALL + np.array([1.7e9, 2e7]), kind) == pytest.approx(usual, abs=1e-9)
    assert scores_of((SMALL + np.array([2**30, 2**25])) * 2.0**-50, kind) == pytest.approx(usual, abs=1e-6)
    assert usual["dci_forest.informativeness"] > 0.9


@pytest.mark.parametrize("scale", [2.0**-50, 1e-15, 1e13])
def test_large_and_small_factors_score_as_others_do(scale):
    assert scores_of(SMALL * scale, "continuous") == pytest.approx(scores_of(SMALL, "continuous"), abs=1e-3)


def test_ordinary_factors_are_their_own_targets():
    for numbers in (SMALL[:, 0], 2000 + SMALL[:, 0], SMALL[:, 0] * 1e-5):
        factor = make_factor(numbers, name="a")
        assert (factor.origin, factor.unit) == (0, 1)
        assert (factor.targets(np.arange(300))[:, 0] == numbers).all()


def test_factors_that_overflow_are_refused_by_name_unless_they_are_names():
    columns = {"time": FACTORS[:, 0] * 1e18, "id": np.repeat([10**18, 2 * 10**18, 3 * 10**18], 100)}
    with pytest.raises(
        ValueError, match=r"factor 'time' must hold numbers of at most 1e\+15 in size, got .*; subtract"
    ):
        Representation(FACTORS, columns)
    kept = Representation(FACTORS, columns, kinds={"id": "categorical"}, only=["id"])
    assert kept.factors[0].levels == ("1e+18", "2e+18", "3e+18")


def test_codes_that_are_not_finite_are_named_and_their_rows_counted():
    codes = FACTORS.copy()
    codes[[3, 5], 0], codes[5, 2] = np.nan, np.inf
    sentence = r"got NaN or inf in 2 of 300 rows, in 'x' and 'z'; drop those rows or codes\.$"
    with pytest.raises(ValueError, match=sentence):
        Representation(codes, FACTORS, code_names=["x", "y", "z"])


def test_a_code_that_probes_may_take_for_constant_is_noted():
    codes = FACTORS * np.array([1, 1, 1e-20])
    note = "Codes that spread over less than 1e-09 may count as constant in some scores: code_2 ("
    assert any(one.startswith(note) for one in representation_notes(Representation(codes, FACTORS)))
    assert not any(one.startswith(note[:20]) for one in representation_notes(Representation(FACTORS, FACTORS)))
