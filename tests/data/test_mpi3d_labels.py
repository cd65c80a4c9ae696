import numpy as np
import pytest
from scipy.stats import norm

from unbraid.data import mpi3d_labels
from unbraid.data.synthetic import SIZES, best_noisy_predictions, mixing_importance, mixing_matrix


def numbers(rep):
    return np.stack([factor.numbers / (factor.numbers.max() or 1) for factor in rep.factors], axis=1)


def test_codes_are_the_labels_scaled_to_one():
    rep = mpi3d_labels(n_samples=4000)
    np.testing.assert_allclose(rep.codes, numbers(rep))
    assert [len(np.unique(column)) for column in rep.codes.T] == list(SIZES)


def test_rows_of_the_grid_are_drawn_once():
    rep = mpi3d_labels(n_samples=50_000)
    assert len(np.unique(rep.codes, axis=0)) == 50_000


def test_noise_has_a_variance_of_a_hundredth():
    rep = mpi3d_labels("noisy", n_samples=20_000)
    noise = rep.codes - numbers(rep)
    assert noise.std() == pytest.approx(0.1, rel=0.01)
    assert np.abs(np.corrcoef(noise.T) - np.eye(7)).max() < 0.03


def test_a_matrix_undoes_the_mix_and_every_code_has_every_factor():
    rep = mpi3d_labels("mix", n_samples=2000, seed=3)
    undone = np.linalg.lstsq(rep.codes, numbers(rep), rcond=None)
    np.testing.assert_allclose(rep.codes @ undone[0], numbers(rep), atol=1e-9)
    mixing = np.linalg.lstsq(numbers(rep), rep.codes, rcond=None)[0]
    assert (np.abs(mixing) > 1e-4).all()


def test_the_mixing_matrix_does_not_depend_on_the_number_of_rows():
    few, many = (mpi3d_labels("mix", n_samples=n, seed=1) for n in (500, 2000))
    matrices = [np.linalg.lstsq(numbers(rep), rep.codes, rcond=None)[0] for rep in (few, many)]
    np.testing.assert_allclose(*matrices, atol=1e-9)


def test_weak_noise_leaves_equal_weights():
    rep = mpi3d_labels("mix", n_samples=2000, scale=1e-6)
    np.testing.assert_allclose(rep.codes, np.repeat(numbers(rep).sum(axis=1)[:, None] / 49, 7, axis=1), atol=1e-5)


def test_best_predictions_follow_from_the_noise():
    best = best_noisy_predictions()
    reach = norm.cdf(0.1, scale=0.1)
    assert best[0] == pytest.approx((2 * reach + 4 * (2 * reach - 1)) / 6)
    assert best.mean() == pytest.approx(0.895, abs=0.001)
    assert (best_noisy_predictions(1e-3) > 1 - 1e-9).all()


@pytest.mark.slow
def test_the_best_prediction_of_an_angle_is_the_mean_given_its_noisy_label():
    rng = np.random.default_rng(0)
    values = np.linspace(0, 1, 40)
    truth = rng.choice(values, 100_000)
    seen = truth + 0.1 * rng.standard_normal(len(truth))
    weight = norm.pdf(seen[:, None], values, 0.1)
    guess = weight @ values / weight.sum(axis=1)
    assert best_noisy_predictions()[-1] == pytest.approx(1 - ((truth - guess) ** 2).mean() / truth.var(), abs=0.003)


def test_same_seed_same_rows():
    one, two, other = (mpi3d_labels("noisy", n_samples=100, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.codes, two.codes)
    assert not np.array_equal(one.codes, other.codes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"codes": "noisey"}, "codes must be one of .* did you mean 'noisy'"),
        ({"n_samples": 2_000_000}, "n_samples must be at most 1036800, the size of the grid, got 2000000"),
        ({"n_samples": 1}, "n_samples must be at least 4, got 1"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        mpi3d_labels(**arguments)


def test_importances_of_a_mix_are_those_of_its_inverse():
    """SAGE of a linear model of independent codes' causes: weight times covariance with the factor."""
    matrix = mixing_matrix(seed=3)
    rep = mpi3d_labels("mix", n_samples=50_000, seed=3)
    factors = np.stack([factor.numbers for factor in rep.factors], axis=1)
    factors = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    codes = rep.codes - rep.codes.mean(axis=0)
    weights = np.linalg.lstsq(codes, factors, rcond=None)[0]
    measured = np.abs(weights * (codes.T @ factors / len(codes)))
    np.testing.assert_allclose(measured / measured.sum(axis=0), mixing_importance(matrix), atol=0.02)
    assert not np.allclose(mixing_matrix(seed=4), matrix)
