"""Splits, logistic regression, Lasso and AUC against definitions and scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics import roc_auc_score

from unbraid.probes import linear as logistic
from unbraid.probes.importance import ProbeTask
from unbraid.probes.linear import (
    auc_by_level,
    coefficients_with_errors,
    exact_lasso,
    lasso_weights,
    least_squares,
    multinomial,
    one_vs_rest,
    whitening_axes,
)
from unbraid.probes.splits import holdout, standardise, standardise_by
from unbraid.probes.trees import ForestOptions, fit_forest
from unbraid.representation.factor import make_factor


class TestHoldout:
    def test_rows_are_split_once_each_and_in_proportion(self):
        labels = np.repeat(["a", "b", "c"], [600, 300, 100])
        split = holdout(make_factor(labels, name="x"), rng=np.random.default_rng(0))
        np.testing.assert_array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(1000))
        for label, count in (("a", 180), ("b", 90), ("c", 30)):
            assert abs((labels[split.test] == label).sum() - count) <= 1

    def test_a_value_seen_once_is_fitted_on(self):
        labels = np.array(["a"] * 20 + ["b"] * 20 + ["once"])
        for seed in range(20):
            split = holdout(make_factor(labels, name="x"), rng=np.random.default_rng(seed))
            assert 40 in split.train

    def test_every_held_out_value_was_shown(self):
        labels = np.random.default_rng(0).integers(30, size=100).astype(str)
        labels = np.where(np.isin(labels, ["3", "4"]), "5", labels)
        factor = make_factor(labels, name="x")
        for seed in range(20):
            split = holdout(factor, rng=np.random.default_rng(seed))
            assert set(labels[split.test]) <= set(labels[split.train])

    def test_unlabelled_rows_are_on_neither_side(self):
        values = np.random.default_rng(0).uniform(size=100)
        values[::3] = np.nan
        split = holdout(make_factor(values, name="x"), rng=np.random.default_rng(0))
        assert not np.isnan(values[np.concatenate([split.train, split.test])]).any()

    def test_few_rows_are_refused(self):
        with pytest.raises(ValueError, match="factor 'x' has 6 labelled rows; a held-out probe needs at least 10"):
            holdout(make_factor([0, 1, 2] * 2, name="x"), rng=np.random.default_rng(0))


class TestLogistic:
    codes = np.random.default_rng(0).standard_normal((600, 4))
    labels = (codes @ [1.0, -2.0, 0.5, 0.0] + 0.5 * np.random.default_rng(1).standard_normal(600) > 0).astype(int) + (
        codes[:, 3] > 1
    )

    def expected(self):
        return np.stack(
            [
                np.append(model.coef_[0], model.intercept_)
                for level in range(3)
                for model in [LogisticRegression(tol=1e-8, max_iter=1000).fit(self.codes, self.labels == level)]
            ]
        )

    def test_batched_newton_finds_what_scikit_learn_finds(self):
        np.testing.assert_allclose(one_vs_rest(self.codes, self.labels, 3), self.expected(), atol=1e-3)

    def test_quasi_newton_for_many_codes_finds_the_same(self, monkeypatch):
        monkeypatch.setattr(logistic, "MAX_NEWTON_CODES", 2)
        np.testing.assert_allclose(one_vs_rest(self.codes, self.labels, 3), self.expected(), atol=2e-2)

    def test_start_from_some_rows_does_not_change_the_end(self):
        codes, labels = np.tile(self.codes, (50, 1)), np.tile(self.labels, 50)
        exact = LogisticRegression(tol=1e-8, max_iter=1000).fit(codes, labels == 1)
        np.testing.assert_allclose(one_vs_rest(codes, labels, 3)[1, :-1], exact.coef_[0], atol=1e-3)

    def test_chunks_do_not_change_the_result(self, monkeypatch):
        whole = one_vs_rest(self.codes, self.labels, 3)
        monkeypatch.setattr(logistic, "CHUNK_CELLS", 100)
        np.testing.assert_allclose(one_vs_rest(self.codes, self.labels, 3), whole, rtol=1e-9)

    def test_separable_values_stay_finite(self):
        assert np.isfinite(one_vs_rest(np.sign(self.codes), (self.codes[:, 0] > 0).astype(int), 2)).all()


def test_lasso_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    codes = standardise(rng.standard_normal((400, 6)) @ rng.standard_normal((6, 6)))[0]
    target = codes[:, :2].sum(axis=1) + 0.3 * rng.standard_normal(400)
    target = target - target.mean()
    ours = lasso_weights(codes, target[:, None], rng=rng, strength=0.1)[:, 0]
    theirs = Lasso(alpha=0.1, tol=1e-10, max_iter=100_000, fit_intercept=False).fit(codes, target).coef_
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    assert ((np.abs(ours) < 1e-9) == (np.abs(theirs) < 1e-9)).all()


def test_auc_agrees_with_scikit_learn_with_ties_and_skips_absent_levels():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=200)
    scores = rng.integers(5, size=(200, 4)).astype(float)
    areas = auc_by_level(scores, labels)
    for level in range(3):
        assert areas[level] == pytest.approx(roc_auc_score(labels == level, scores[:, level]))
    assert np.isnan(areas[3])


def test_standardising_in_place_of_copies_gives_the_same_numbers():
    rng = np.random.default_rng(0)
    codes = rng.normal(3, 2, (40, 700))
    codes[:, 5] = 1.0
    rows = rng.permutation(40)[:25]
    np.testing.assert_allclose(standardise_by(codes, rows), standardise(codes[rows], codes)[1], atol=1e-12)
    assert (standardise_by(codes, rows)[:, 5] == 0).all()


class TestForest:
    """Trees grown one by one are those of scikit-learn's forests."""

    @pytest.mark.parametrize("forest", ["random", "extra"])
    @pytest.mark.parametrize("max_rows", [20_000, 90])
    def test_classes_as_by_scikit_learn(self, forest, max_rows):
        from sklearn import ensemble

        rng = np.random.default_rng(0)
        codes, labels = rng.normal(size=(300, 4)), rng.integers(0, 5, 300)
        codes[:, 1] += labels
        options = ForestOptions(forest=forest, n_trees=7, rows_a_tree=max_rows)
        fitted = fit_forest(options, task_of(codes, labels, "categorical"), 11)
        kind = {"random": ensemble.RandomForestClassifier, "extra": ensemble.ExtraTreesClassifier}[forest]
        sizes = {"n_estimators": 7, "min_samples_leaf": 5, "max_features": 1.0, "random_state": 11}
        if forest == "random" and max_rows < 200:
            sizes["max_samples"] = max_rows / 200
        theirs = kind(**sizes).fit(codes[:200], labels[:200])
        np.testing.assert_array_equal(fitted.predict(codes[200:]), theirs.predict(codes[200:]))
        np.testing.assert_allclose(fitted.weights / fitted.weights.sum(), theirs.feature_importances_, rtol=1e-12)

    def test_numbers_as_by_scikit_learn(self):
        from sklearn.ensemble import ExtraTreesRegressor

        rng = np.random.default_rng(1)
        codes = rng.normal(size=(300, 3))
        values = np.sin(codes[:, 0]) + 0.1 * rng.normal(size=300)
        fitted = fit_forest(ForestOptions(forest="extra", n_trees=5), task_of(codes, values, "continuous"), 3)
        theirs = ExtraTreesRegressor(5, min_samples_leaf=5, max_features=1.0, random_state=3)
        theirs.fit(codes[:200], values[:200])
        np.testing.assert_allclose(fitted.predict(codes[200:])[:, 0], theirs.predict(codes[200:]), rtol=1e-12)
        np.testing.assert_allclose(fitted.weights / fitted.weights.sum(), theirs.feature_importances_, rtol=1e-12)


def task_of(codes, values, kind):
    train, test = np.arange(200), np.arange(200, 300)
    factor = make_factor(values, name="v", kind=kind)
    return ProbeTask(factor=factor, train=train, test=test, codes=codes[train], test_codes=codes[test])


class TestLeastSquares:
    def test_is_ridge_regression_with_a_free_intercept(self):
        from sklearn.linear_model import Ridge

        rng = np.random.default_rng(0)
        codes, targets = rng.normal(size=(100, 3)) + 2.0, rng.normal(size=(100, 2)) + 5.0
        theirs = Ridge(alpha=0.3 * 100).fit(codes, targets)
        found = least_squares(codes, targets, ridge=0.3)
        np.testing.assert_allclose(found, np.vstack([theirs.coef_.T, theirs.intercept_]), rtol=1e-10)

    def test_without_a_ridge_repeated_codes_share_the_smallest_coefficients(self):
        x = np.random.default_rng(0).normal(size=(50, 1))
        found = least_squares(np.hstack([x, x]), 2 * x + 1, ridge=0.0)
        np.testing.assert_allclose(found[:, 0], [1.0, 1.0, 1.0], atol=1e-12)


class TestErrorsOfLeastSquares:
    def test_are_right_with_two_rows_to_a_code(self):
        rng = np.random.default_rng(0)
        found = [
            coefficients_with_errors(codes, codes[:, :1] + rng.normal(size=(120, 1)))
            for codes in (standardise(rng.normal(size=(120, 60)))[0] for _ in range(150))
        ]
        weights, errors = (np.array(each)[:, 1:, 0] for each in zip(*found, strict=True))
        assert np.sqrt((errors**2).mean()) == pytest.approx(weights.std(), rel=0.05)

    @pytest.mark.parametrize("n_equal", [0, 2])
    def test_are_those_of_the_codes_that_elimination_from_scratch_keeps(self, n_equal):
        """Thirty codes, five of which are nearly sums of others; with two codes more that equal the first."""
        rng = np.random.default_rng(1)
        codes = rng.normal(size=(400, 25))
        codes = np.hstack([codes, codes[:, :5] + codes[:, 5:10] + 0.02 * rng.normal(size=(400, 5))])
        codes = standardise(np.hstack([codes, *[codes[:, :1]] * n_equal]))[0]
        target = standardise(codes[:, :3].sum(axis=1, keepdims=True) + rng.normal(size=(400, 1)))[0]
        weights, errors = coefficients_with_errors(codes, target)
        kept = eliminated(codes, target[:, 0])
        np.testing.assert_array_equal(np.flatnonzero(weights[:, 0]), kept)
        alone, their_errors = coefficients_with_errors(codes[:, kept], target)
        np.testing.assert_allclose(weights[kept], alone, atol=1e-8)
        np.testing.assert_allclose(errors[kept], their_errors, atol=1e-8)


def eliminated(codes, target):
    """Codes that are left when the least certain one is taken out, again and again, of fits each made from scratch."""
    kept = np.arange(codes.shape[1])
    while True:
        inverse = np.linalg.pinv(codes[:, kept].T @ codes[:, kept], rcond=1e-9)
        weights = inverse @ codes[:, kept].T @ target
        left = target - codes[:, kept] @ weights
        certainty = np.abs(weights) / np.sqrt(left @ left / (len(left) - len(kept)) * np.diagonal(inverse))
        if certainty.min() >= 2:
            return kept
        kept = np.delete(kept, certainty.argmin())


class TestWhitening:
    @pytest.mark.parametrize("shape", [(200, 6), (5, 30)])
    def test_axes_give_uncorrelated_codes_of_unit_variance_in_order(self, shape):
        codes = np.random.default_rng(0).normal(size=shape) * np.arange(1, shape[1] + 1)
        codes = codes - codes.mean(axis=0)
        axes = whitening_axes(codes, shape[1])
        white = codes @ axes
        np.testing.assert_allclose(white.T @ white / len(white), np.eye(axes.shape[1]), atol=1e-9)
        assert (np.diff(np.linalg.norm(axes, axis=0)) >= 0).all()  # the largest variance has the shortest axis


class TestExactLasso:
    @pytest.mark.parametrize("strength", [0.5, 0.05, 0.001])
    def test_agrees_with_scikit_learn(self, strength):
        rng = np.random.default_rng(0)
        x = standardise(rng.normal(size=(400, 12)) @ rng.normal(size=(12, 12)))[0]
        y = standardise(x[:, :2] @ [[1.0], [-2.0]] + rng.normal(size=(400, 1)))[0]
        ours = exact_lasso(x.T @ x / 400, x.T @ y / 400, strength=strength)
        theirs = Lasso(alpha=strength, tol=1e-12, max_iter=100_000).fit(x, y[:, 0]).coef_
        np.testing.assert_allclose(ours[:, 0], theirs, atol=1e-7)

    def test_equal_and_constant_codes_are_no_trouble(self):
        rng = np.random.default_rng(0)
        one = standardise(rng.normal(size=(400, 1)))[0]
        x = np.hstack([one, one, np.zeros_like(one)])
        weights = exact_lasso(x.T @ x / 400, x.T @ one / 400, strength=0.1)[:, 0]
        assert weights.sum() == pytest.approx(0.9, abs=1e-4)
        assert weights[2] == 0.0


@pytest.mark.parametrize("n_levels", [2, 4])
def test_softmax_of_few_codes_is_that_of_scikit_learn(n_levels):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_levels, 400)
    codes = rng.normal(size=(400, 3)) + (labels == 1)[:, None]
    found = multinomial(codes, labels + 1, n_levels + 2)
    odds = codes @ found[:, :-1].T + found[:, -1]
    model = LogisticRegression(tol=1e-9, max_iter=5000).fit(codes, labels)
    p = np.exp(odds - odds.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    assert not p[:, [0, -1]].any()  # values without a row
    np.testing.assert_allclose(p[:, 1:-1], model.predict_proba(codes), atol=1e-5)
