"""Scores from counts with few rows: near their values of many rows, within intervals that hold these, 0 for noise."""

from functools import cache

import numpy as np
import pytest

import unbraid as ub
from helpers.worlds import random_factors
from unbraid import METRICS, Representation
from unbraid.metrics import infomec, mig, mig_sup, modularity

SOURCES = ("information", "code_information")
NAMES = [name for name, metric in METRICS.items() if metric.source.name in SOURCES and metric.in_default]
TURN = np.array([[0.8, 0.6, 0.0], [-0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])


def world(kind: str, n_rows: int, seed: int) -> Representation:
    """Codes that mix three factors, beside a code of noise."""
    rng = np.random.default_rng(seed)
    if kind == "continuous":
        factors = rng.normal(size=(n_rows, 3))
        codes = np.tanh(factors) @ TURN + 0.4 * rng.normal(size=(n_rows, 3))
    else:
        factors = random_factors(3, 6, 12, n_samples=n_rows, seed=seed)
        signal = 0.3 if kind == "weak" else 3.0
        codes = signal * (factors / [0.82, 1.71, 3.45]) @ TURN + rng.normal(size=(n_rows, 3))
    return Representation(np.column_stack([codes, rng.normal(size=n_rows)]), factors)


def scored(rep: Representation) -> dict[str, float]:
    report = ub.evaluate(rep, metrics=NAMES, intervals=False, nulls=False, n_jobs=1, progress=False)
    return {name: score.value for name, score in report.scores.items()}


@cache
def of_many_rows(kind: str) -> dict[str, float]:
    return scored(world(kind, 50_000, seed=99))


@pytest.mark.parametrize("kind", ["ordinal", "continuous"])
@pytest.mark.slow
def test_two_thousand_rows_score_as_many_do(kind):
    draws = [scored(world(kind, 2000, seed)) for seed in range(12)]
    for name, expected in of_many_rows(kind).items():
        assert np.mean([draw[name] for draw in draws]) == pytest.approx(expected, abs=0.012), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ordinal", "continuous", "weak"])
def test_intervals_hold_the_value_of_many_rows(kind):
    expected, n_draws = of_many_rows(kind), 40
    held = dict.fromkeys(NAMES, 0)
    for seed in range(n_draws):
        report = ub.evaluate(world(kind, 2000, seed), metrics=NAMES, nulls=False, n_jobs=1, progress=False)
        for name, score in report.scores.items():
            held[name] += score.low <= expected[name] <= score.high
    assert min(held.values()) >= 0.85 * n_draws, held


def test_noise_scores_next_to_nothing():
    rng = np.random.default_rng(0)
    rep = Representation(rng.normal(size=(2000, 10)), random_factors(3, 6, 40, 32, 32))
    assert all(value < 0.03 for name, value in scored(rep).items() if name != "jemmig")


def test_codes_of_noise_hardly_move_ratios():
    rep = world("ordinal", 2000, seed=0)
    noise = np.random.default_rng(1).normal(size=(2000, 8))
    beside = Representation(np.column_stack([rep.codes, noise]), rep.factors)
    before, after = scored(rep), scored(beside)
    for name in ("modularity", "infomec.modularity"):
        assert after[name] == pytest.approx(before[name], abs=0.01), name
    # An even division is 1/4 of the information in each code before, and 1/12 after.
    share = 1 / 4 + 3 / 4 * before["infomec.compactness"]
    assert after["infomec.compactness"] == pytest.approx((share - 1 / 12) / (11 / 12), abs=0.015)


def test_published_means_count_every_code_alike():
    """Plug-in information of noise is above 0, so that a code of noise has a ratio of its own."""
    rep = world("ordinal", 2000, seed=0)
    for options in ({"binning": "uniform"}, {"bias_correction": "none"}):
        score = modularity(rep, **options)
        assert score.value == pytest.approx(np.mean(score.per_code), abs=1e-12)
        shares = infomec(rep, **options).modularity
        assert shares.value == pytest.approx(np.mean(shares.per_code), abs=1e-12)
        assert infomec(rep).modularity.value > shares.value + 0.1


def test_a_code_without_information_is_said_to_count_little():
    notes = modularity(world("ordinal", 2000, seed=0)).notes
    assert "1 code has little information about any factor, and counts little." in notes


@pytest.mark.parametrize("far", [50.0, 1e6])
def test_one_outlier_in_many_rows_does_not_move_a_gap(far):
    factors = random_factors(25, 25, n_samples=8000)
    codes = factors + 0.1 * np.random.default_rng(1).standard_normal(factors.shape)
    before = mig(codes, factors).value, mig_sup(codes, factors).value
    codes[0] = far
    assert (mig(codes, factors).value, mig_sup(codes, factors).value) == pytest.approx(before, abs=0.003)


@pytest.mark.parametrize(("shift", "scale"), [(0.1, 1.0), (0.0, 0.1), (-7.3, 1 / 3), (1e4, 2.5)])
def test_values_on_the_edges_of_bins_score_the_same_in_any_unit(shift, scale):
    factors = random_factors(25, 25, n_samples=4000)
    assert mig((factors + shift) * scale, factors).value == pytest.approx(mig(factors * 1.0, factors).value, abs=1e-9)
