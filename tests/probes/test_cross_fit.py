"""Folds of the rows of one factor."""

import numpy as np
import pytest

from unbraid.probes.splits import PLENTY, cross_fit_factor, cross_fit_together
from unbraid.representation.factor import make_factor


def folds_of(values, n_folds=3):
    return cross_fit_factor(make_factor(values, name="x"), n_folds=n_folds, rng=np.random.default_rng(0))


def test_every_labelled_row_is_tested_once_and_never_fitted_on_meanwhile():
    values = np.random.default_rng(1).standard_normal(100)
    values[7] = np.nan
    folds = folds_of(values)
    tested = np.concatenate([fold.test for fold in folds])
    np.testing.assert_array_equal(np.sort(tested), np.delete(np.arange(100), 7))
    for fold in folds:
        assert not set(fold.train) & set(fold.test)
        assert len(fold.train) + len(fold.test) == 99


def test_values_are_in_proportion():
    labels = np.repeat(["a", "b", "c"], [60, 30, 9])
    for fold in folds_of(labels):
        assert [(labels[fold.test] == label).sum() for label in "abc"] == [20, 10, 3]


def test_a_value_seen_once_is_always_fitted_on():
    labels = np.array(["a"] * 20 + ["b"] * 20 + ["once"])
    for fold in folds_of(labels):
        assert 40 in fold.train
        assert 40 not in fold.test


def test_ten_labelled_rows_are_needed():
    with pytest.raises(ValueError, match="'x' has 6 labelled rows"):
        folds_of(np.array([0, 1, 2] * 2))


class TestFoldsOfSeveralFactors:
    """Factors with plenty of rows share folds, so that they can be fitted together."""

    def splits(self, *columns):
        factors = [make_factor(values, name=f"x{k}") for k, values in enumerate(columns)]
        return cross_fit_together(factors, [f.labels for f in factors], n_folds=3, rng=np.random.default_rng(0))

    @pytest.mark.parametrize("numbers", [False, True])
    def test_factors_with_plenty_of_rows_have_the_same_splits(self, numbers):
        rng = np.random.default_rng(1)
        first, second = self.splits(
            rng.integers(0, 3, 2000), rng.normal(size=2000) if numbers else rng.integers(0, 5, 2000)
        )
        assert all(a is b for a, b in zip(first, second, strict=True))
        np.testing.assert_array_equal(np.sort(np.concatenate([one.test for one in first])), np.arange(2000))
        assert not any(set(one.train) & set(one.test) for one in first)

    @pytest.mark.parametrize(
        "rare",
        [
            np.r_[np.zeros(2000 - PLENTY // 2), np.ones(PLENTY // 2)],
            np.r_[np.nan, np.arange(1999) % 3],
            np.r_[np.nan, np.linspace(0, 0.5, 1999)],
        ],
        ids=["a rare value", "a row without a label", "a number without a label"],
    )
    def test_others_have_folds_of_their_own(self, rare):
        plenty, own = self.splits(np.arange(2000) % 4, rare)
        assert plenty[0] is not own[0]
        for one in own:
            assert np.isfinite(rare[one.test]).all()
            assert abs((rare[one.test] == 1).mean() - (rare == 1).mean()) < 0.002
