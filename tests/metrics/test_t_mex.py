"""T-MEX: truths on paper, the tests by their definitions, and their level and power."""

import numpy as np
import pytest
import scipy

import unbraid as ub
from helpers.worlds import random_factors
from unbraid.evidence.exclusivity import ExclusivityOptions, exclusivity
from unbraid.metrics import t_mex
from unbraid.metrics.identification.t_mex import matched

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(600, 3))
TIED = NORMAL + RNG.normal(size=(600, 1))


def test_codes_of_one_factor_each_score_zero_in_any_order_and_scale():
    for factors in (NORMAL, TIED, random_factors(3, 5, 8, n_samples=600)):
        for codes in (factors + 0.0, factors[:, ::-1] * -3.0, np.exp(factors / 4)[:, [1, 2, 0]]):
            assert float(t_mex(codes, factors)) == 0.0


def test_the_papers_mixture_is_one_mismatch():
    """Three latents in a chain; the first code is the sum of the first two latents."""
    rng = np.random.default_rng(1)
    first, noise = rng.normal(size=1000), rng.normal(size=(2, 1000))
    second = 0.05 * first + 0.01 * noise[0]
    third = 0.05 * first + 0.05 * second + 0.01 * noise[1]
    factors = np.column_stack([first, second, third])
    codes = np.column_stack([first + second, second, third])
    for regressor in ("basis", "linear"):
        for test in ("pcm", "gcm"):
            score = t_mex(codes, factors, test=test, regressor=regressor)
            assert float(score) == 1.0
            assert score.evidence["depends"][0].tolist() == [1, 1, 0]


def test_counts_by_hand():
    factors = NORMAL
    assert float(t_mex(np.hstack([factors, factors]), factors)) == 3.0  # three copies too many
    assert float(t_mex(factors[:, :2], factors)) == 1.0  # a factor without a code
    mixed = factors @ np.array([[1.0, 1, 1], [1, -1, 1], [1, 1, -2]])
    assert float(t_mex(mixed, factors)) == 6.0
    assert float(t_mex(RNG.normal(size=(600, 4)), factors)) == 3.0


def test_matching_takes_the_codes_that_depend():
    depends = np.array([[False, True], [True, True], [False, False]])
    assert matched(depends, np.zeros((3, 2))).tolist() == [[False, True], [True, False], [False, False]]
    strong = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    assert matched(np.ones((3, 2), dtype=bool), strong).tolist()[2] == [False, True]


def test_gcm_is_the_covariance_of_residuals():
    rng = np.random.default_rng(3)
    codes = NORMAL @ rng.normal(size=(3, 2)) + rng.normal(size=(600, 2))
    rep = ub.Representation(codes, NORMAL)
    found = exclusivity(rep, ExclusivityOptions(test="gcm", regressor="linear"), rng)
    design = np.column_stack([np.ones(600), NORMAL[:, 1:]])
    residuals = [x - design @ np.linalg.lstsq(design, x, rcond=None)[0] for x in (codes[:, 0], NORMAL[:, 0])]
    products = residuals[0] * residuals[1]
    statistic = np.sqrt(600) * products.mean() / products.std()
    assert found.statistic[0, 0] == pytest.approx(statistic, abs=1e-9)
    assert found.p_values[0, 0] == pytest.approx(2 * scipy.stats.norm.sf(abs(statistic)), abs=1e-12)


@pytest.mark.parametrize("test", ["pcm", "gcm"])
def test_level_under_dependence_and_power_against_squares(test):
    """A code of one factor depends on no other given it, although the factors depend; a square has no covariance."""
    rejected = np.zeros((2, 3))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(300, 3)) + rng.normal(size=(300, 1))
        codes = np.column_stack([factors[:, 0], factors[:, 1] ** 2]) + 0.5 * rng.normal(size=(300, 2))
        options = ExclusivityOptions(test=test, n_splits=3)
        rejected += exclusivity(ub.Representation(codes, factors), options, rng).p_values < 0.05
    rejected /= 40
    assert rejected[0, 0] == 1.0
    assert rejected[[0, 0, 1, 1], [1, 2, 0, 2]].max() <= 0.15
    assert rejected[1, 1] == 1.0 if test == "pcm" else rejected[1, 1] < 0.3


@pytest.mark.slow
def test_a_forest_sees_factors_that_act_together():
    """A product of two factors of mean 0 is no sum of functions of either."""
    factors = np.random.default_rng(5).choice([-1.0, 1.0], size=(600, 2))
    codes = np.column_stack([factors[:, 0] * factors[:, 1], factors[:, 1]])
    assert t_mex(codes, factors).evidence["depends"][0].sum() == 0
    assert t_mex(codes, factors, regressor="forest", n_splits=3).evidence["depends"][0].sum() == 2


def test_categories_and_angles_are_tested_as_a_whole():
    rng = np.random.default_rng(6)
    shape, turn = rng.integers(0, 3, 600), rng.integers(0, 8, 600)
    codes = np.column_stack([np.array([0, 3, 1])[shape], np.sin(2 * np.pi * turn / 8)])
    codes = codes + 0.1 * rng.normal(size=codes.shape)
    rep = ub.Representation(codes, {"shape": shape, "turn": turn}, kinds={"shape": "categorical", "turn": "circular"})
    for test in ("pcm", "gcm"):
        assert float(t_mex(rep, test=test)) == 0.0


def test_the_panel_gives_interval_and_chance():
    found = ub.evaluate(TIED, TIED + 0.0, metrics="t_mex", n_jobs=1, progress=False)["t_mex"]
    assert found.value == 0.0
    assert found.low <= found.value <= found.high
    assert found.chance == pytest.approx(3.0, abs=1.0)
    assert found.beats_chance is True


@pytest.mark.parametrize("options", [{"alpha": 0.0}, {"test": "kci"}, {"regressor": "tree"}, {"correct": "half"}])
def test_bad_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        t_mex(NORMAL, NORMAL, **options)
