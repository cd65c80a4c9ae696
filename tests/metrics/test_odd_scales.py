"""Scores of codes of odd sizes: the unit of a code does not matter."""

import numpy as np
import pytest

from helpers.worlds import full_grid, random_factors
from unbraid.metrics import mcc, r2, sap

GRID = full_grid(10, 10).astype(float)
FACTORS = random_factors(8, 8, n_samples=1000)


@pytest.mark.parametrize("size", [3e11, 1e28, 1e-9])
def test_rank_correlation_does_not_depend_on_the_size_of_codes(size):
    assert float(mcc(size * GRID, GRID, correlation="spearman")) == pytest.approx(1.0)


def test_rank_correlation_is_one_for_steep_curves():
    assert float(mcc(np.exp(5 * GRID), GRID, correlation="spearman")) == pytest.approx(1.0)


@pytest.mark.parametrize("metric", [mcc, sap, r2])
@pytest.mark.parametrize("size", [1e-11, 1e-30, 1e25])
def test_one_code_of_odd_size_beside_others_counts_as_they_do(metric, size):
    noisy = FACTORS + np.random.default_rng(0).standard_normal(FACTORS.shape)
    assert float(metric(noisy * [size, 1], FACTORS)) == pytest.approx(float(metric(noisy, FACTORS)), abs=1e-6)


def test_a_constant_code_with_rounding_errors_counts_nothing():
    codes = np.column_stack([GRID, 5 + 1e-15 * GRID[:, 0]])
    assert np.all(mcc(codes, GRID, correlation="spearman").evidence["correlation"][2] == 0)
