"""Against closed forms of jointly Gaussian factors, nuisances and posteriors."""

import numpy as np
import pytest

from unbraid.metrics import information_minimality, information_sufficiency

N = 2000
RNG = np.random.default_rng(0)
Y, OTHER, NUISANCE = RNG.standard_normal((3, N))


@pytest.mark.parametrize(("gain", "spoil", "noise"), [(1.0, 0.0, 0.5), (1.0, 0.5, 0.5), (0.5, 1.0, 1.0)])
def test_gaussian_channel(gain, spoil, noise):
    """mean = gain y + spoil n, posterior deviation = noise: both informations are logs of ratios of variances."""
    codes = np.column_stack([gain * Y + spoil * NUISANCE, OTHER])
    score = information_minimality(
        codes, np.column_stack([Y, OTHER]), code_variances=np.full((N, 2), noise**2), binning="quantile"
    )
    total, left = gain**2 + spoil**2 + noise**2, spoil**2 + noise**2
    with_data, with_factor = 0.5 * np.log(total / noise**2), 0.5 * np.log(total / left)
    assert score.evidence["information_with_data"][0] == pytest.approx(with_data, abs=0.02)
    assert score.evidence["mutual_information"][0, 0] == pytest.approx(with_factor, abs=0.03)
    assert score.per_code[0] == pytest.approx(with_factor / with_data, abs=0.04)
    assert score.evidence["mutual_information"][0, 1] == pytest.approx(0, abs=0.03)


def test_value_weighs_codes_by_what_they_know_of_factors():
    codes = np.column_stack([Y, NUISANCE])
    score = information_minimality(codes, np.column_stack([Y, OTHER]), code_variances=np.full((N, 2), 0.25))
    assert score.per_code[1] < 0.06
    assert score.value > 0.9


def test_a_coin_through_a_noisy_channel():
    """Means ±1, deviation s: the information of a binary input on a Gaussian channel, by quadrature on paper."""
    coin = RNG.integers(2, size=N)
    s = 0.7
    score = information_sufficiency(
        np.column_stack([2.0 * coin - 1, OTHER]), {"coin": coin, "other": OTHER}, code_variances=np.full((N, 2), s**2)
    )
    z = np.linspace(-8, 8, 20_001)
    one = np.exp(-0.5 * ((z - 1) / s) ** 2) / (s * np.sqrt(2 * np.pi))
    mixed = (one + one[::-1]) / 2
    capacity = np.trapezoid(-mixed * np.log(mixed), z) - 0.5 * np.log(2 * np.pi * np.e * s**2)
    assert score.per_factor[0] == pytest.approx(capacity / np.log(2), abs=0.01)


def test_scale_of_a_code_with_its_deviation_does_not_matter():
    codes = np.column_stack([Y + 0.3 * NUISANCE, OTHER])
    variances = np.full((N, 2), 0.1)
    first = information_minimality(codes, np.column_stack([Y, OTHER]), code_variances=variances)
    second = information_minimality(codes * [3, 0.2], np.column_stack([Y, OTHER]), code_variances=variances * [9, 0.04])
    assert second.value == pytest.approx(first.value, abs=1e-5)


def test_narrow_posteriors_are_pointed_out():
    codes, factors = np.column_stack([Y, OTHER]), np.column_stack([Y, OTHER])
    score = information_sufficiency(codes, factors, code_variances=np.full((N, 2), 1e-10))
    assert any("so narrow" in note for note in score.notes)
    assert not information_sufficiency(codes, factors, code_variances=np.full((N, 2), 0.1)).notes


@pytest.mark.parametrize(
    ("variances", "sentence"),
    [
        (np.ones(N), r"code_variances must have the shape of codes, \(2000, 2\), got \(2000,\)"),
        (np.zeros((N, 2)), "code_variances must be finite and above 0"),
        (np.full((N, 2), np.nan), "code_variances must be finite and above 0"),
    ],
)
def test_bad_variances_are_named(variances, sentence):
    with pytest.raises(ValueError, match=sentence):
        information_minimality(np.column_stack([Y, OTHER]), np.column_stack([Y, OTHER]), code_variances=variances)


def test_codes_that_know_nothing():
    score = information_minimality(
        np.column_stack([Y, OTHER]), np.column_stack([Y, OTHER]), code_variances=np.full((N, 2), 1e8)
    )
    assert score.value < 0.01 or score.evidence["mutual_information"].max() < 1e-6


def test_codes_without_variances_have_the_share_of_their_entropy():
    """Authors' form, I over H: a code of a factor with four values and of a coin has two thirds of its bits from it."""
    rng = np.random.default_rng(0)
    y, coin = rng.integers(0, 4, (20_000, 2)), rng.integers(0, 2, 20_000)
    codes = np.column_stack([y[:, 0], y[:, 1] + 10 * coin, np.zeros(20_000)])
    minimal = information_minimality(codes, y, n_bins=15, binning="uniform")
    assert minimal.per_code[:2] == pytest.approx([1, 2 / 3], abs=0.002)
    assert np.isnan(minimal.per_code[2])
    assert minimal.value == pytest.approx(5 / 6, abs=0.002)
    assert information_sufficiency(codes, y, n_bins=15, binning="uniform").value == pytest.approx(1)
    lost = np.column_stack([y[:, 0] // 2, y[:, 1]])
    assert information_sufficiency(lost, y, n_bins=15, binning="uniform").value == pytest.approx(0.75, abs=0.002)
