"""Logistic regressions of wide codes, and linear probes of codes chosen among very many."""

import numpy as np
import pytest
import scipy
from sklearn.linear_model import LogisticRegression

import unbraid.evidence.linear as evidence
from unbraid import Representation
from unbraid.metrics import dci_linear, explicitness, infomec
from unbraid.metrics.table.catalogue import METRICS
from unbraid.probes.linear import decision, one_vs_rest
from unbraid.probes.wide import Values, WideCodes


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
    x = wide.z.astype(float)
    for (scores, _), v in zip(wide.fit(tasks, close=1e-6), factors.T, strict=True):
        if together:
            model = LogisticRegression(tol=1e-8, max_iter=5000).fit(x[fitted], v[fitted])
            odds = model.decision_function(x).reshape(len(x), -1)
            odds = np.hstack([-odds, odds]) / 2 if n_levels == 2 else odds
            expected, found = scipy.special.softmax(odds, axis=1), scipy.special.softmax(scores, axis=1)
        else:
            expected, found = decision(x, one_vs_rest(x[fitted], v[fitted], n_levels)), scores
        np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("function", [explicitness, infomec])
def test_scores_of_128_codes_are_those_of_fits_one_by_one(monkeypatch, function):
    codes, factors = world(2000, 128, 4)
    fast = function(codes, factors)
    monkeypatch.setattr(evidence, "MAX_NEWTON_CODES", 128)
    exact = function(codes, factors)
    if function is infomec:
        fast, exact = fast.explicitness, exact.explicitness
    assert fast.value == pytest.approx(exact.value, abs=0.005)


def test_linear_dci_of_128_codes_is_that_of_all_codes(monkeypatch):
    codes, factors = world(4000, 128, 2, n_factors=3)
    exact = dci_linear(codes, factors)
    monkeypatch.setattr(evidence, "MOST_FITTED", 64)
    chosen = dci_linear(codes, factors)
    tolerance = max(0.03, METRICS["dci_linear.disentanglement"].tolerance)
    np.testing.assert_allclose([*map(float, chosen)], [*map(float, exact)], atol=tolerance)
    assert float(chosen.informativeness) != float(exact.informativeness)


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
