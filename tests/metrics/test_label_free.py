import math

import numpy as np
import pytest

from helpers.worlds import full_grid
from unbraid.metrics import code_mutual_information, total_correlation, wasserstein_correlation


def gaussian(rho: float, n_samples: int = 100_000) -> np.ndarray:
    """Two standard normal codes whose sample correlation is exactly ``rho``."""
    z = np.random.default_rng(0).standard_normal((n_samples, 2))
    z = (z - z.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(z.T))).T
    return z @ np.linalg.cholesky(np.array([[1, rho], [rho, 1]])).T


@pytest.mark.parametrize("rho", [0.0, 0.5, -0.9])
def test_total_correlation_of_a_gaussian_pair(rho):
    assert float(total_correlation(gaussian(rho))) == pytest.approx(-0.5 * np.log(1 - rho**2), abs=1e-9)


@pytest.mark.parametrize("rho", [0.0, 0.5, -0.9])
def test_wasserstein_distance_of_a_gaussian_pair(rho):
    """The square roots of the eigenvalues 1 ± rho add up to the trace of the root."""
    expected = 4 - 2 * (np.sqrt(1 + rho) + np.sqrt(1 - rho))
    assert float(wasserstein_correlation(gaussian(rho), normalised=False)) == pytest.approx(expected, abs=1e-9)
    assert float(wasserstein_correlation(gaussian(rho))) == pytest.approx(expected / 2, abs=1e-9)


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_binned_mutual_information_approaches_that_of_the_gaussian(rho):
    found = float(code_mutual_information(gaussian(rho), n_bins=60))
    assert found == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.03)


def test_independent_grid_scores_zero_everywhere():
    grid = full_grid(6, 7, 8)
    for metric in (total_correlation, wasserstein_correlation, code_mutual_information):
        assert float(metric(grid)) == pytest.approx(0.0, abs=1e-9)


def test_a_copied_code_has_all_its_entropy_in_common():
    grid = full_grid(8, 3)
    codes = np.column_stack([grid[:, 0], -grid[:, 0]])
    assert float(code_mutual_information(codes)) == pytest.approx(np.log(8))


def test_linear_dependence_is_infinite_with_a_note():
    codes = full_grid(5, 5)
    score = total_correlation(np.column_stack([codes, codes.sum(axis=1)]))
    assert math.isinf(float(score))
    assert "A code is a linear function of the others: the total correlation is infinite." in score.notes


def test_dead_codes_are_left_out():
    codes = np.column_stack([gaussian(0.5), np.ones(100_000)])
    assert float(total_correlation(codes)) == pytest.approx(-0.5 * np.log(0.75), abs=1e-9)
    assert np.isnan(code_mutual_information(codes).per_code[2])
