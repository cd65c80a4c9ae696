"""Predictions from single codes."""

import numpy as np
import pytest
import scipy

from unbraid import evaluate
from unbraid.evidence.association import NoOptions, predictability, rows_above
from unbraid.representation.representation import Representation


def test_a_category_is_predicted_by_the_nearest_mean():
    # Means of the values are 0, 2 and 10, so that thresholds are at 1 and 6: of "b", two rows in three are hit.
    codes = np.tile([0.0, 0.0, 0.0, 3.0, 3.0, 0.0, 10.0, 10.0, 10.0], 200)[:, None] * [1.0, -2.0]
    names = np.tile(list("aaabbbccc"), 200)
    rep = Representation(codes, {"name": names})
    found = predictability(rep, NoOptions(), np.random.default_rng(0)).matrix
    assert found[:, 0] == pytest.approx((1 + 2 / 3 + 1) / 3)


def test_sparse_and_dense_codes_predict_alike():
    rng = np.random.default_rng(0)
    names = rng.choice(list("abcd"), 600)
    codes = (rng.random((600, 5)) < 0.3) * np.round(rng.exponential(size=(600, 5)), 1)
    codes[:, 0] += names == "c"
    reports = [evaluate(one, {"name": names}, metrics=["sap"]) for one in (codes, scipy.sparse.csr_matrix(codes))]
    dense, sparse = (report["sap"].value for report in reports)
    assert dense == pytest.approx(sparse, abs=1e-12)


def test_rows_above_thresholds_are_counted_however_many_there_are():
    rng = np.random.default_rng(0)
    for n_rows in (0, 1, 255, 256, 1000):
        codes = rng.integers(0, 4, (n_rows, 5)).astype(float)
        thresholds = np.array([-np.inf, 0.0, 1.5, 3.0, np.inf])
        np.testing.assert_array_equal(rows_above(codes, thresholds), (codes > thresholds).sum(axis=0))
