import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from helpers.worlds import DSPRITES_SIZES, full_grid, random_factors
from unbraid.metrics import mig
from unbraid.metrics.information.gaps import information_gaps


def binary_entropy(p: float) -> float:
    return 0.0 if p in (0.0, 1.0) else float(-p * np.log(p) - (1 - p) * np.log(1 - p))


def test_is_one_when_codes_are_the_factors_in_another_order():
    factors = full_grid(4, 3, 2)
    assert float(mig(factors[:, [2, 0, 1]], factors)) == pytest.approx(1.0)


def test_is_zero_when_every_code_is_doubled():
    factors = full_grid(4, 3, 2)
    assert float(mig(np.hstack([factors, -factors]), factors)) == pytest.approx(0.0)


def test_does_not_mind_two_factors_in_one_code():
    """One code holds both factors whole: each factor's best code still has it all and the others nothing."""
    factors = full_grid(4, 5)
    both = factors[:, 0] * 5 + factors[:, 1]
    other = full_grid(2, 10)[:, 0] * 0
    assert float(mig(np.column_stack([both, other]), factors)) == pytest.approx(1.0)


def test_is_a_half_when_half_of_a_factor_has_moved_to_another_code():
    factors = full_grid(4, 4)
    first, second = factors[:, 0], factors[:, 1]
    codes = np.column_stack([first // 2, first % 2, second])
    score = mig(codes, factors)
    np.testing.assert_allclose(score.per_factor, [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("n_flipped", [0, 5, 10, 25])
def test_matches_the_capacity_of_a_binary_symmetric_channel(n_flipped):
    factor = np.repeat([0, 1], 50)
    code = factor.copy()
    code[:n_flipped] = 1
    code[50 : 50 + n_flipped] = 0
    noise = np.tile([0, 1], 50)
    expected = 1 - binary_entropy(n_flipped / 50) / np.log(2)
    found = float(mig(np.column_stack([code, noise]), factor, bias_correction="none"))  # all rows there are, no sample
    assert found == pytest.approx(expected, abs=1e-12)


def test_dsprites_grid_is_capped_by_the_bins_as_counting_says():
    """Forty values fall two by two into 20 bins; 32 values fill 12 bins with two and 8 with one."""
    factors = random_factors(*DSPRITES_SIZES, n_samples=0)
    factors = np.concatenate([factors, np.stack([np.resize(np.arange(n), 3840) for n in DSPRITES_SIZES], axis=1)])
    score = mig(np.column_stack([factors, np.zeros(3840)]), factors, binning="uniform")
    pairs, singles = 12, 8
    h32 = -(pairs * (2 / 32) * np.log(2 / 32) + singles * (1 / 32) * np.log(1 / 32))
    best = score.evidence["mutual_information"].max(axis=0)
    expected = [np.log(3), np.log(6), np.log(20), h32, h32]
    np.testing.assert_allclose(best, expected, rtol=1e-12)
    assert any("raise n_bins" in note for note in score.notes)


def test_one_outlier_does_not_empty_the_bins():
    factors = random_factors(4, 4)
    codes = factors + 0.01 * np.random.default_rng(1).standard_normal(factors.shape)
    before = float(mig(codes, factors))
    codes[0] = 1e6
    assert float(mig(codes, factors)) == pytest.approx(before, abs=0.01)
    assert float(mig(codes, factors, binning="uniform")) < 0.05


def test_information_matrix_agrees_with_scikit_learn():
    factors = random_factors(4, 7)
    codes = np.random.default_rng(1).integers(6, size=(2000, 3))
    expected = [[mutual_info_score(v, z) for v in factors.T] for z in codes.T]
    found = mig(codes, factors, bias_correction="none").evidence["mutual_information"]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_quantile_binning_ignores_increasing_maps():
    factors = random_factors(5, 5)
    codes = factors + 0.2 * np.random.default_rng(1).standard_normal(factors.shape)
    assert float(mig(codes, factors, binning="quantile")) == float(mig(np.exp(codes), factors, binning="quantile"))


def test_miller_madow_takes_the_bias_off_pure_noise():
    rng = np.random.default_rng(0)
    codes, factors = rng.standard_normal((2000, 2)), rng.integers(10, size=(2000, 2))
    plain, corrected = (
        mig(codes, factors, binning="quantile", bias_correction=how).evidence["mutual_information"].mean()
        for how in ("none", "miller_madow")
    )
    assert plain == pytest.approx((20 - 1) * (10 - 1) / (2 * 2000), rel=0.2)
    assert corrected < 0.006


def test_gap_is_best_minus_second():
    np.testing.assert_allclose(information_gaps(np.array([[0.9, 0.1], [0.2, 0.4], [0.5, 0.3]])), [0.4, 0.1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 1}, "n_bins must be at least 2, got 1"),
        ({"n_bins": 100_000}, "n_bins must be at most 1000"),
        (
            {"binning": "robusst"},
            "binning must be one of uniform, quantile, robust, got 'robusst'; did you mean 'robust'",
        ),
        ({"normalise_by": "row"}, "normalise_by must be one of factor, code"),
        ({"bias_correction": "some"}, "bias_correction must be one of auto, none, miller_madow, schurmann"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        mig(full_grid(3, 3), full_grid(3, 3), **options)


@pytest.mark.slow
def test_variances_of_posteriors_give_the_information_of_drawn_codes():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, (1500, 2))
    means = np.column_stack([factors[:, 0] + 0.5 * factors[:, 1], factors[:, 1], rng.normal(size=1500)]) * 1.0
    variances = np.tile([0.25, 0.5, 1.0], (1500, 1))
    found = mig(means, factors, code_variances=variances)
    # By Monte Carlo: log-densities of drawn codes under the mixtures of posteriors of all rows and of rows alike.
    rows = rng.integers(1500, size=1500)
    drawn = means[rows] + np.sqrt(variances[rows]) * rng.normal(size=(1500, 3))
    distance = (drawn[:, None] - means[None]) ** 2 / variances[None]
    kernel = np.exp(-distance / 2) / np.sqrt(variances[None])
    shares = []
    for column in factors.T:
        alike = column[rows][:, None] == column[None]
        within = np.einsum("nmc,nm->nc", kernel, alike) / alike.sum(axis=1, keepdims=True)
        p = np.bincount(column) / len(column)
        shares.append(np.sort(np.log(within / kernel.mean(axis=1)).mean(axis=0) / -(p * np.log(p)).sum())[::-1])
    expected = np.array([share[0] - share[1] for share in shares])
    np.testing.assert_allclose(found.per_factor, expected, atol=0.04)
    assert abs(found.value - mig(means, factors).value) > 0.1


def test_variances_of_posteriors_exclude_entropies_of_codes():
    codes, factors = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 2
    with pytest.raises(ValueError, match="normalise_by must be 'factor' with code_variances"):
        mig(codes, factors, code_variances=np.ones((50, 2)), normalise_by="code")
    with pytest.raises(ValueError, match="code_variances must have the shape of codes"):
        mig(codes, factors, code_variances=np.ones(50))
