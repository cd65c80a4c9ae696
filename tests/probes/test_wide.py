"""Logistic regressions of wide codes, and linear probes of very many codes."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from sklearn.linear_model import LogisticRegression

import unbraid.evidence.linear.classifiers as classifiers
import unbraid.evidence.linear.importance as importance
import unbraid.evidence.linear.regression as regression
from unbraid import Representation
from unbraid.metrics import dci_linear, explicitness, infomec
from unbraid.metrics.table.catalogue import METRICS
from unbraid.probes.linear import decision, one_vs_rest
from unbraid.probes.ridge import Ridge, fit_ridges
from unbraid.probes.splits import cross_fit_together, standardise
from unbraid.probes.wide import DenseCodes, Values, WideCodes, standardised


def world(n_rows: int, n_codes: int, n_levels: int, n_factors: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, n_levels, (n_rows, n_factors))
    codes = rng.normal(size=(n_rows, n_codes))
    codes[:, :n_factors] += (factors - factors.mean(axis=0)) / factors.std(axis=0)
    return codes, factors


@pytest.mark.parametrize("n_levels", [2, 5])
@pytest.mark.parametrize("together", [False, True])
def test_fits_at_once_are_those_one_by_one(n_levels, together):
    codes, factors = world(1500, 70, n_levels)
    rep = Representation(codes, factors)
    fitted = np.arange(len(codes)) % 3 > 0
    tasks = [Values(labels=v, n_levels=n_levels, fitted=fitted, together=together) for v in factors.T]
    wide = WideCodes.of(rep)
    x = wide.codes.z.astype(float)
    for (scores, _), v in zip(wide.fit(tasks, close=1e-6), factors.T, strict=True):
        if together:
            model = LogisticRegression(tol=1e-8, max_iter=5000).fit(x[fitted], v[fitted])
            odds = model.decision_function(x).reshape(len(x), -1)
            odds = np.hstack([-odds, odds]) / 2 if n_levels == 2 else odds
            expected, found = scipy.special.softmax(odds, axis=1), scipy.special.softmax(scores, axis=1)
        else:
            expected, found = decision(x, one_vs_rest(x[fitted], v[fitted], n_levels)), scores
        np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize("together", [False, True])
def test_fits_of_sparse_codes_are_those_of_codes_written_out(together):
    rng = np.random.default_rng(1)
    v = rng.integers(0, 4, 1200)
    codes = scipy.sparse.random(1200, 80, density=0.1, format="lil", random_state=1)
    codes[:, 0], codes[:, 1] = ((v == 2) * (rng.random(1200) < 0.8))[:, None], 3.0  # one that tells, one constant
    fitted = np.arange(1200) % 3 > 0
    task = Values(labels=v, n_levels=4, fitted=fitted, together=together)
    ((scores, _),) = WideCodes.of_sparse(codes.tocsr()).fit([task], close=1e-6)
    x, _ = standardise(codes.toarray()[fitted], codes.toarray()[fitted])
    if together:
        model = LogisticRegression(tol=1e-8, max_iter=5000).fit(x, v[fitted])
        expected, found = model.predict_proba(x), scipy.special.softmax(scores[fitted], axis=1)
    else:
        odds = decision(x, one_vs_rest(x, v[fitted], 4))
        expected, found = scipy.special.expit(odds), scipy.special.expit(scores[fitted])
    np.testing.assert_allclose(found, expected, atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("function", [explicitness, infomec])
def test_scores_of_128_codes_are_those_of_fits_one_by_one(monkeypatch, function):
    codes, factors = world(2000, 128, 4)
    fast = function(codes, factors)
    monkeypatch.setattr(classifiers, "MAX_NEWTON_CODES", 128)
    exact = function(codes, factors)
    if function is infomec:
        fast, exact = fast.explicitness, exact.explicitness
    assert fast.value == pytest.approx(exact.value, abs=0.005)


def test_linear_dci_of_128_codes_is_that_of_all_codes(monkeypatch):
    codes, factors = world(4000, 128, 2, n_factors=3)
    exact = dci_linear(codes, factors)
    monkeypatch.setattr(importance, "MOST_FITTED", 64)
    found = dci_linear(codes, factors)
    tolerance = max(0.03, METRICS["dci_linear.disentanglement"].tolerance)
    np.testing.assert_allclose([*map(float, found)], [*map(float, exact)], atol=tolerance)
    assert float(found.informativeness) != float(exact.informativeness)


def mixed(n_rows: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Codes that mix normal factors, with noise; and the disentanglement of the best linear predictor."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n_rows, len(weights)))
    codes = factors @ weights + rng.normal(size=(n_rows, weights.shape[1]))
    covariance = weights.T @ weights + np.eye(weights.shape[1])
    best = np.abs(np.linalg.solve(covariance, weights.T)) * np.sqrt(np.diagonal(covariance))[:, None]
    share = best / best.sum(axis=0)
    of_code = share / share.sum(axis=1, keepdims=True)
    entropy = -scipy.special.xlogy(of_code, of_code).sum(axis=1) / np.log(len(weights))
    return codes, factors, float(np.average(1 - entropy, weights=share.sum(axis=1)))


@pytest.mark.slow
@pytest.mark.parametrize("n_codes", [300, 600])
def test_linear_disentanglement_of_codes_that_share_factors_is_that_of_the_best_predictor(n_codes):
    rng = np.random.default_rng(1)
    spread = rng.normal(size=(5, n_codes))
    place, of_two = np.arange(n_codes), np.zeros((5, n_codes))
    of_two[place % 5, place] = of_two[(place + 1) % 5, place] = 1.0
    for weights, tolerance in ((spread, 0.02), (of_two, 0.1)):
        codes, factors, truth = mixed(5000, weights)
        assert float(dci_linear(codes, factors).disentanglement) == pytest.approx(truth, abs=tolerance)


def test_a_ridge_of_few_rows_is_that_of_many():
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(60, 40)), rng.normal(size=(60, 2))
    y += z[:, :2]
    by_codes = Ridge.of(z, y, z[:20], y[:20])
    padded = np.hstack([z, np.zeros((60, 40))])
    by_rows = Ridge.of(padded, y, padded[:20], y[:20])
    assert by_rows.strength == by_codes.strength
    np.testing.assert_allclose(by_rows.weights[:40], by_codes.weights, atol=1e-9)
    np.testing.assert_allclose(by_rows.errors[:40], by_codes.errors, rtol=1e-6)


def test_errors_of_a_ridge_are_those_of_repeated_draws():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(200, 5))

    def draw() -> np.ndarray:
        return (z @ [1.0, 0.5, 0.0, 0.0, 0.0] + rng.normal(size=200))[:, None]

    drawn = [Ridge.of(z, draw(), z, draw()) for _ in range(300)]
    spread = np.std([one.weights[:, 0] for one in drawn], axis=0)
    np.testing.assert_allclose(np.mean([one.errors[:, 0] for one in drawn], axis=0), spread, rtol=0.15)


@pytest.mark.slow
def test_known_codes_are_found_by_lines_among_4096():
    codes, factors = world(1500, 4096, 2)
    found = dci_linear(codes, factors)
    assert float(found.disentanglement) > 0.95
    assert float(found.completeness) > 0.9


@pytest.mark.slow
def test_the_best_of_4096_codes_of_noise_counts_for_nothing():
    codes, factors = world(1500, 4096, 2)
    found = dci_linear(codes, np.random.default_rng(1).permutation(factors))
    assert float(found.disentanglement) == 0
    assert float(found.informativeness) < 0.58


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_factors_of_the_same_folds_are_fitted_as_they_are_one_by_one(together, is_sparse):
    codes, factors = world(1500, 70, 3)
    rep = Representation(codes, factors)
    wide = WideCodes.of_sparse(scipy.sparse.csr_matrix(codes)) if is_sparse else WideCodes.of(rep)
    splits = cross_fit_together(rep.factors, [f.labels for f in rep.factors], n_folds=3, rng=np.random.default_rng(0))
    assert splits[0][0] is splits[1][0]
    at_once = wide.scores([(v, 3, own) for v, own in zip(factors.T, splits, strict=True)], together=together)
    for v, own, found in zip(factors.T, splits, at_once, strict=True):
        for scores, alone in zip(found, wide.scores([(v, 3, own)], together=together)[0], strict=True):
            np.testing.assert_allclose(scores, alone, atol=0.03)


def test_a_probe_of_wide_codes_is_fitted_and_tested_on_labelled_rows():
    rng = np.random.default_rng(3)
    codes = rng.standard_normal((3000, 300))
    known = np.arange(3000) < 900  # the last rows have no label
    target = np.where(known, codes[:, 5] + 0.1 * rng.standard_normal(3000), np.nan)
    found = fit_ridges(Representation(codes, {"number": target}), np.random.default_rng(0))["number"]
    assert known[found.rows].all()
    assert len(found.rows) == 270
    assert found.sizes[:, 0].argmax() == 5


def test_a_probe_of_wide_codes_says_that_labels_are_too_few():
    codes = np.random.default_rng(3).standard_normal((400, 300))
    target = np.where(np.arange(400) < 3, codes[:, 5], np.nan)
    with pytest.raises(ValueError, match=r"^factor 'number' has 3 labelled rows; a held-out probe needs at least 10"):
        fit_ridges(Representation(codes, {"number": target}), np.random.default_rng(0))


def test_regressions_by_products_of_rows_are_those_by_products_of_codes():
    rng = np.random.default_rng(4)
    codes = rng.standard_normal((180, 250)) * rng.uniform(0.1, 9, 250) + 5
    codes[:, 7] = 2.0  # constant
    targets = np.column_stack([codes[:, 0] / 3, codes[:, 1:30].sum(axis=1), rng.standard_normal(180)])
    fold = rng.permutation(180) % regression.N_FOLDS
    fold[:9] = -1  # fitted and never tested
    design = regression.standardised_with_ones(codes)
    by_codes = regression._cross_regressed(np.hstack([design, targets - targets.mean(axis=0)]), 3, fold)
    by_rows = regression._cross_regressed_by_rows(codes, targets, fold)
    np.testing.assert_allclose(by_rows[1], by_codes[1], rtol=1e-9)
    np.testing.assert_allclose(by_rows[0], by_codes[0], rtol=1e-5)
    assert by_rows[0][1] < by_rows[1][1]  # a sum of many codes is told in part


@pytest.mark.parametrize("n_rows", [200, 600])
def test_many_codes_tell_what_they_make_up_and_no_noise(n_rows):
    rng = np.random.default_rng(5)
    codes = rng.standard_normal((n_rows, 300))
    factors = np.column_stack([codes[:, :40].sum(axis=1), rng.standard_normal(n_rows)])
    together = regression.linear_fit(Representation(codes, factors), None, np.random.default_rng(0)).r2
    assert together[0] > 0.1
    assert together[1] < 0.1


@pytest.mark.parametrize("together", [False, True])
def test_regressions_on_coordinates_of_rows_are_those_on_the_codes(together):
    codes, factors = world(160, 300, 4)
    codes = codes * np.random.default_rng(6).uniform(0.1, 5, 300) + 3
    codes[:, 9] = 1.0  # constant
    rep = Representation(codes, factors)
    splits = cross_fit_together(rep.factors, list(factors.T), n_folds=3, rng=np.random.default_rng(0))
    tasks = [(labels, 4, own) for labels, own in zip(factors.T, splits, strict=True)]
    z = standardised(codes)
    of_codes = WideCodes(codes=DenseCodes(z), products=z.T @ z / np.float32(len(z)), close=1e-7)
    of_rows = replace(WideCodes.of(rep), close=1e-7)
    assert of_rows.codes.shape == (160, 160)
    for mine, other in zip(
        of_rows.scores(tasks, together=together), of_codes.scores(tasks, together=together), strict=True
    ):
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a, b, atol=0.02 * b.std())  # both are as far from fits in double precision
