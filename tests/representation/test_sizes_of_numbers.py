"""Numbers too large or too small to compute with are refused by name; what is left does not depend on the scale."""

import numpy as np
import pytest

from unbraid import Representation, evaluate
from unbraid.metrics import udr

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
        ValueError, match=r"codes must spread over at least 1e-09, got .* at most; multiply by a constant"
    ):
        Representation(FACTORS * 1e-12, FACTORS)


def test_one_tiny_code_among_others_is_let_in():
    assert Representation(FACTORS * [1, 1, 1e-12], FACTORS).active.all()


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
