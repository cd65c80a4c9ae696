"""Truths of scores at 4096 codes: known codes among noise are found, and the best of so much noise fools nobody."""

import numpy as np
import pytest

import unbraid

METRICS = ["mig", "mcc", "sap", "dci_linear"]
N_ROWS, N_CODES, N_FACTORS = 1500, 4096, 3


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (N_ROWS, N_FACTORS))
    codes = rng.normal(size=(N_ROWS, N_CODES))
    codes[:, :N_FACTORS] = factors + 0.2 * rng.normal(size=(N_ROWS, N_FACTORS))
    return codes, factors


@pytest.mark.slow
def test_known_codes_score_as_if_the_noise_were_not_there(world):
    codes, factors = world
    wide = unbraid.evaluate(codes, factors, metrics=METRICS, progress=False)
    few = unbraid.evaluate(codes[:, :10], factors, metrics=METRICS, progress=False)
    assert not wide.failures
    for name in ("mig", "mcc", "sap", "dci_linear.disentanglement", "dci_linear.completeness"):
        assert wide[name].value == pytest.approx(few[name].value, abs=0.05), name
        assert wide[name].beats_chance, name
    best = wide["mig"].evidence["mutual_information"].argmax(axis=0)
    np.testing.assert_array_equal(best, np.arange(N_FACTORS))


@pytest.mark.slow
def test_the_best_of_4096_codes_of_noise_is_chance(world):
    codes, factors = world
    shuffled = np.random.default_rng(1).permutation(factors)
    report = unbraid.evaluate(codes, shuffled, metrics=METRICS, progress=False)
    assert not report.failures
    assert [name for name, score in report.scores.items() if score.beats_chance] == []
    assert report["mcc"].plain == pytest.approx(report["mcc"].null, abs=0.02)
    assert report["mig"].value < 0.02
    assert report["dci_linear.disentanglement"].value == 0
