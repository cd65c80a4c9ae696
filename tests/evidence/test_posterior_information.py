"""Information from posteriors: several draws of rows at once against each of them alone, and against plain sums."""

import numpy as np
import pytest

import unbraid as ub
from unbraid.evidence.posterior_information import (
    DrawnRows,
    PosteriorSamples,
    posterior_information,
    posterior_information_of_draws,
    posterior_separation,
)

N_ROWS, N_CODES = 120, 3


def world() -> tuple[ub.Representation, np.ndarray]:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (N_ROWS, 2)).astype(float)
    factors[::7, 1] = np.nan  # partly labelled
    codes = np.column_stack([np.nan_to_num(factors), np.zeros(N_ROWS)]) + 0.3 * rng.standard_normal((N_ROWS, N_CODES))
    return ub.Representation(codes, factors), rng.uniform(0.05, 0.6, (N_ROWS, N_CODES))


def test_draws_of_rows_are_as_each_alone():
    rep, variances = world()
    draws = [np.arange(N_ROWS), np.arange(0, N_ROWS, 2), np.arange(50, 110)]
    labelled = [DrawnRows.of(rep.take(rows), rows, n_bins=20, binning="robust") for rows in draws]
    found = posterior_information_of_draws(rep.codes, variances, labelled)
    for rows, together in zip(draws, found, strict=True):
        alone = posterior_information(rep.take(rows), variances[rows], n_bins=20, binning="robust")
        np.testing.assert_allclose(together.with_data, alone.with_data, atol=1e-5)
        np.testing.assert_allclose(together.with_factors, alone.with_factors, atol=1e-5)
        np.testing.assert_array_equal(together.factor_entropy, alone.factor_entropy)
        np.testing.assert_array_equal(together.saturated, alone.saturated)


def test_separation_of_parts_is_the_mean_of_plain_logarithms():
    rep, variances = world()
    means, deviations = rep.codes, np.sqrt(variances)
    samples = PosteriorSamples.draw(means, variances, n_samples=300, rng=np.random.default_rng(1))
    parts = [np.arange(N_ROWS), np.arange(0, N_ROWS, 3)]
    for rows, found in zip(parts, posterior_separation(means, variances, samples, parts), strict=True):
        terms = []
        for row, values in zip(samples.rows, samples.values, strict=True):
            if row in rows:
                density = np.exp(-0.5 * ((values - means) / deviations) ** 2) / deviations
                ratio = density[rows] / density[row]
                others = [np.delete(ratio, j, axis=1).prod(axis=1).mean() for j in range(N_CODES)]
                terms.append(-np.log([*ratio.mean(axis=0), *others, ratio.prod(axis=1).mean()]))
        expected = np.mean(terms, axis=0)
        np.testing.assert_allclose(found.alone, expected[:N_CODES], rtol=1e-9)
        np.testing.assert_allclose(found.others, expected[N_CODES : 2 * N_CODES], rtol=1e-9)
        assert found.together == pytest.approx(expected[-1], rel=1e-9)
        assert found.ceiling == pytest.approx(np.log(len(rows)))
