"""Rows are drawn with the factors asked for, tied as the joint says, and the rest evenly."""

import numpy as np
import pytest

from unbraid import Representation
from unbraid.data import bundled_digits, coloured_digits, factor_joint, sample_rows, sprites_mini

MINI = sprites_mini()
DIGITS = coloured_digits(bundled_digits(), rng=0)


def test_all_factors_are_even_and_independent_on_a_grid():
    factors = MINI.factors(sample_rows(MINI, 40_000))
    for values, size in zip(factors.T, MINI.factor_sizes, strict=True):
        np.testing.assert_allclose(np.bincount(values, minlength=size) * size / 40_000, 1, atol=0.06)
    assert np.abs(np.corrcoef(factors.T) - np.eye(5)).max() < 0.02


def test_held_factors_stay_and_others_vary():
    factors = MINI.factors(sample_rows(MINI, 5000, fixed={"shape": 2, "x": 5}))
    assert np.unique(factors[:, [0, 3]], axis=0).tolist() == [[2, 5]]
    assert [len(np.unique(column)) for column in factors.T] == [1, 3, 8, 1, 8]


def test_a_joint_is_followed_and_the_rest_stays_even():
    weights = np.random.default_rng(1).random((8, 3)) * 7
    factors = MINI.factors(sample_rows(MINI, 60_000, joint=factor_joint(["y", "scale"], weights)))
    seen = np.zeros((8, 3))
    np.add.at(seen, (factors[:, 4], factors[:, 1]), 1 / len(factors))
    np.testing.assert_allclose(seen, weights / weights.sum(), atol=0.004)
    np.testing.assert_allclose(np.bincount(factors[:, 3]) / len(factors), 1 / 8, atol=0.006)


def test_a_joint_given_a_held_factor_is_its_row():
    joint = factor_joint(["x", "y"], np.eye(8) + np.eye(8, k=1))
    factors = MINI.factors(sample_rows(MINI, 4000, fixed={"x": 3}, joint=joint))
    assert (factors[:, 3] == 3).all()
    assert sorted(np.unique(factors[:, 4])) == [3, 4]
    assert (factors[:, 4] == 3).mean() == pytest.approx(0.5, abs=0.03)
    both = MINI.factors(sample_rows(MINI, 10, fixed={"x": 3, "y": 4}, joint=joint))
    assert (both[:, 3:] == [3, 4]).all()


def test_data_without_a_grid_is_drawn_from_the_rows_it_has():
    rows = sample_rows(DIGITS, 3000, fixed={"digit": 2, "digit_colour": 1})
    everything = DIGITS.factors(np.arange(len(DIGITS)))
    matching = np.flatnonzero((everything[:, 0] == 2) & (everything[:, 1] == 1))
    assert set(rows) == set(matching)
    assert np.bincount(rows)[matching].std() < 3 * np.sqrt(3000 / len(matching))
    joint = factor_joint(["digit", "digit_colour"], [[1, 0], [0, 2], [1, 0], [0, 0]])
    drawn = DIGITS.factors(sample_rows(DIGITS, 3000, joint=joint))
    assert np.array_equal(drawn[:, 1], drawn[:, 0] == 1)
    np.testing.assert_allclose(np.bincount(drawn[:, 0], minlength=4) / 3000, [0.25, 0.5, 0.25, 0], atol=0.03)
    assert len(set(sample_rows(DIGITS, 5000))) > 700


def test_same_seed_same_rows():
    assert np.array_equal(sample_rows(MINI, 50, rng=4), sample_rows(MINI, 50, rng=np.random.default_rng(4)))
    assert not np.array_equal(sample_rows(MINI, 50, rng=4), sample_rows(MINI, 50, rng=5))
    assert sample_rows(MINI, 0).shape == sample_rows(DIGITS, 0).shape == (0,)


@pytest.mark.parametrize("data", [MINI, DIGITS], ids=["grid", "digits"])
def test_names_and_kinds_make_a_representation(data):
    rows = sample_rows(data, 300)
    codes = np.random.default_rng(0).standard_normal((300, 3))
    rep = Representation(codes, data.factors(rows), names=data.factor_names, kinds=data.factor_kinds)
    assert rep.factor_names == data.factor_names
    assert [str(factor.kind) for factor in rep.factors] == [kind.partition(":")[0] for kind in data.factor_kinds]
    assert data.observations(rows[:2]).shape == (2, *data.observation_shape)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fixed": {"shap": 1}}, "fixed factor must be one of .* got 'shap'; did you mean 'shape'"),
        ({"fixed": {"shape": 3}}, "fixed factor 'shape' must be a whole number from 0 to 2, got 3."),
        ({"fixed": {"shape": 0.5}}, "fixed factor 'shape' must be a whole number from 0 to 2, got 0.5."),
        ({"joint": factor_joint(["x", "size"], np.eye(8))}, "factor of joint must be one of .* got 'size'"),
        ({"joint": factor_joint(["x", "scale"], np.eye(8))}, r"joint of x, scale must be \(8, 3\), got \(8, 8\)."),
        (
            {"joint": factor_joint(["x", "y"], np.eye(8)), "fixed": {"x": 1, "y": 2}},
            "joint gives no chance to fixed={'x': 1, 'y': 2}",
        ),
    ],
)
def test_what_cannot_be_drawn(options, message):
    with pytest.raises(ValueError, match=message):
        sample_rows(MINI, 10, **options)


def test_a_combination_without_a_row():
    only_red = coloured_digits(bundled_digits(), red_digit=(1, 1), black_background=(1, 0))
    with pytest.raises(ValueError, match=r"no row has digit 1, digit_colour 1; give combinations that the data has."):
        sample_rows(only_red, 5, fixed={"digit": 1, "digit_colour": 1})
    with pytest.raises(ValueError, match=r"n_samples must be at least 0, got -1."):
        sample_rows(MINI, -1)


@pytest.mark.parametrize(
    ("names", "weights", "message"),
    [
        (["x"], np.eye(2), "one axis for each of 1 different names, got 2 axes."),
        (["x", "x"], np.eye(2), "one axis for each of 2 different names"),
        ([], 1.0, "one axis for each of 0 different names"),
        (["x"], [1, -1], "weights must be finite, not negative, and not all 0."),
        (["x"], [1, np.nan], "weights must be finite"),
        (["x"], [0, 0], "weights must be finite, not negative, and not all 0."),
    ],
)
def test_weights_that_are_none(names, weights, message):
    with pytest.raises(ValueError, match=message):
        factor_joint(names, weights)
