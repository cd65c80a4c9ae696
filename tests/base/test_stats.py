"""Ranks, ranges and means of columns, in the fast ways, against the plain ones."""

import numpy as np
import pytest
from scipy.stats import rankdata

from unbraid._base.checks import column_ranges
from unbraid._base.stats import average_ranks, centred_columns, near_their_mean, ranks_of_labels, scale_columns

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(1000, 10), (997, 7), (5, 3), (40, 300), (300, 600)])
def test_long_rows_change_no_number(shape):
    matrix = RNG.normal(size=shape) + RNG.normal(size=shape[1])
    np.testing.assert_array_equal(column_ranges(matrix), (matrix.min(axis=0), matrix.max(axis=0)))
    centred, mean, squares = centred_columns(matrix)
    np.testing.assert_allclose(mean, matrix.mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(centred, matrix - matrix.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(squares, len(matrix) * matrix.var(axis=0), rtol=1e-12)
    scale_columns(centred, np.arange(shape[1]))
    np.testing.assert_allclose(centred, (matrix - matrix.mean(axis=0)) * np.arange(shape[1]), atol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("row", [0, 500, 996])
def test_no_row_is_left_out_of_ranges(bad, row):
    matrix = RNG.normal(size=(997, 7))
    matrix[row, 3] = bad
    low, high = column_ranges(matrix)
    assert not np.isfinite(high[3])
    assert np.isfinite(np.delete(low, 3)).all()


def test_columns_far_from_zero_lose_no_digits():
    matrix = RNG.normal(size=(997, 7)) + np.array([0, 0, 0, 1e7, 0, -1e8, 0])
    products, mean, squares = near_their_mean(matrix)
    np.testing.assert_allclose(squares, len(matrix) * matrix.var(axis=0), rtol=1e-12)
    covariance = products.T @ products - len(matrix) * np.outer(mean, mean)
    np.testing.assert_allclose(covariance / (len(matrix) - 1), np.cov(matrix, rowvar=False), atol=1e-12)


def test_ranks_are_those_of_scipy_with_ties_and_without():
    columns = np.stack([RNG.normal(size=500), RNG.integers(0, 7, 500), np.ones(500), -np.arange(500.0)], axis=1)
    np.testing.assert_array_equal(average_ranks(columns), rankdata(columns, axis=0))
    labels = RNG.integers(0, 7, 500)
    np.testing.assert_array_equal(ranks_of_labels(labels, 9), rankdata(labels))
