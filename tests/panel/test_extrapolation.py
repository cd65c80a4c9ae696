"""Intervals of scores that are extrapolated to many rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from helpers.worlds import random_factors
from unbraid import METRICS, evaluate
from unbraid.interpret.chance import drawn_fit, extrapolated, step_beyond_fits
from unbraid.probes.effects import lines_are_fitted
from unbraid.results.score import Score

FACTORS = random_factors(5, 4, n_samples=400)
NOISY = FACTORS @ [[1, 1], [1, -1]] + 2 * np.random.default_rng(0).normal(size=FACTORS.shape)


def scored(name: str) -> tuple[Score, float, float]:
    """Score, the half-width that its replicates give, and how far the mean over halves is off the plain score."""
    score = evaluate(NOISY, FACTORS, metrics=[name], nulls=False, n_jobs=1)[name]
    n = len(score.replicates)
    half_width = t.ppf(0.975, n - 1) * score.replicates.std(ddof=1) * np.sqrt(1 + 1 / n)
    return score, half_width, score.plain - score.replicates.mean()


@pytest.mark.parametrize(
    ("name", "slowest"),
    [
        ("explicitness", 2 / 3),
        ("infomec.explicitness", 2 / 3),
        ("dci_linear.informativeness", 2 / 3),
        ("dci_boosting.informativeness", 1 / 2),
    ],
)
def test_interval_covers_every_rate_at_which_the_bias_may_fall(name, slowest):
    score, half_width, gain = scored(name)
    slowly = score.plain + gain / (2**slowest - 1)
    assert score.value == pytest.approx(score.plain + gain)
    assert score.low == pytest.approx(min(score.value, slowly) - half_width, abs=1e-7)
    assert score.high == pytest.approx(max(score.value, slowly) + half_width, abs=1e-7)
    assert score.high - score.low > 2 * half_width


def test_interval_covers_faster_rates_too_where_they_are_known_to_occur():
    score, half_width, gain = scored("one_vs_rest")
    ends = [score.plain + gain / (2**power - 1) for power in (3 / 4, 1, 5 / 4)]
    assert score.value == pytest.approx(ends[1])
    assert score.low == pytest.approx(min(ends) - half_width, abs=1e-7)
    assert score.high == pytest.approx(max(ends) + half_width, abs=1e-7)


@pytest.mark.parametrize(("name", "power"), [("sparse_probe", 1), ("blocks.own", 1), ("t_mex", 1 / 4)])
def test_interval_of_a_score_that_is_left_as_it_is_covers_what_more_rows_lead_to(name, power):
    score = evaluate(NOISY, FACTORS, metrics=[name], nulls=False, n_jobs=1)[name]
    half_width = t.ppf(0.975, len(score.replicates) - 1) * score.replicates.std(ddof=1)
    limit = score.value + (score.value - score.replicates.mean()) / (2**power - 1)
    lowest, highest = (0.0, np.inf) if name == "t_mex" else (0.0, 1.0)
    assert score.plain is None
    assert score.low == pytest.approx(max(lowest, min(score.value, limit) - half_width), abs=1e-6)
    assert score.high == pytest.approx(min(highest, max(score.value, limit) + half_width), abs=1e-6)


def test_a_rate_that_is_known_widens_nothing():
    score, half_width, _ = scored("irs")
    assert score.high - score.low == pytest.approx(2 * half_width, abs=1e-7)


def test_the_error_of_least_squares_falls_with_the_rows_beyond_the_codes():
    """Fits to two thirds of 200 rows, and of 100, of 30 codes of noise and two that are factors."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 9, (200, 2))
    signal = factors / 2.58 + 0.5 * rng.normal(size=(200, 2))
    codes = np.hstack([signal, rng.normal(size=(200, 30))])
    score = evaluate(codes, factors, metrics=["r2"], nulls=False, n_jobs=1)["r2"]
    ratio = (200 * 2 / 3 - 34) / (100 * 2 / 3 - 34)
    assert score.value == pytest.approx(score.plain + (score.plain - score.replicates.mean()) / (ratio - 1))
    assert score.plain < 0.76
    assert score.value == pytest.approx(0.8, abs=0.05)


def test_least_squares_is_not_extrapolated_from_halves_with_too_few_rows_for_the_codes():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 9, (200, 2))
    codes = np.hstack([factors + 0.1 * rng.normal(size=(200, 2)), rng.normal(size=(200, 70))])
    score = evaluate(codes, factors, metrics=["r2"], nulls=False, n_jobs=1)["r2"]
    assert score.value == score.plain
    assert step_beyond_fits(1000.0, 500.0, 8) == pytest.approx(490 / 500)


@pytest.mark.parametrize("seed", range(3))
def test_scores_that_few_rows_can_only_raise_are_not_extrapolated_upwards(seed):
    """Three factors under three times as much noise, of which halves of the rows leave some out."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, 10, (1000, 3))
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(3, 3)))[0]
    codes = 0.3 * (factors - 4.5) / 2.87 @ turn + rng.normal(size=(1000, 3))
    report = evaluate(codes, factors, metrics=["dci_boosting"], nulls=False, n_jobs=1)
    d, i = report["dci_boosting.disentanglement"], report["dci_boosting.informativeness"]
    gain = d.plain - d.replicates.mean()
    assert d.value == pytest.approx(max(d.plain + min(gain, 0.0), 0.0))
    assert d.low <= d.value <= d.high
    assert i.value == pytest.approx(2 * i.plain - i.replicates.mean())


@pytest.mark.slow
def test_where_no_half_of_the_rows_shows_anything_the_score_may_be_nothing():
    """No factor is predicted from 60 rows, so that D of each half is 0, and two are from 120."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 10, (120, 5))
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(5, 5)))[0]
    codes = (factors - 4.5) / 2.87 @ turn + rng.normal(size=(120, 5))
    score = evaluate(codes, factors, metrics=["dci_boosting.disentanglement"], n_jobs=1)["dci_boosting.disentanglement"]
    assert not score.replicates.any()
    assert score.value > 0.1
    assert score.plain is None
    assert (score.low, score.high) == (0.0, pytest.approx(2 * score.value))
    assert not score.beats_chance


@pytest.mark.parametrize("name", ["disentanglement", "completeness"])
def test_scores_of_coefficients_are_not_extrapolated(name):
    assert (
        evaluate(NOISY, FACTORS, metrics=[f"dci_linear.{name}"], nulls=False, n_jobs=1)[f"dci_linear.{name}"].plain
        is None
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mig", {"binning": "uniform"}),
        ("mig", {"bias_correction": "none"}),
        ("mig_sup", {"normalise_by": "code"}),
        ("irs", {"variant": "authors"}),
        ("irs", {"quantile": 0.9}),
        ("z2", {"variant": "thesis"}),
    ],
)
def test_published_formulas_are_not_extrapolated(name, options):
    as_published, ours = (
        evaluate(NOISY, FACTORS, metrics=[name], options={name: given}, nulls=False, n_jobs=1)[name]
        for given in (options, {})
    )
    assert as_published.plain is None
    assert as_published.value == float(METRICS[name].function(NOISY, FACTORS, **options))
    assert ours.plain == float(METRICS[name].function(NOISY, FACTORS))


@pytest.mark.parametrize("name", ["mig", "mig_sup", "dcimig"])
def test_intervals_of_counts_cover_the_plain_estimate_too(name):
    score = evaluate(NOISY, FACTORS, metrics=[name], nulls=False, n_jobs=1)[name]
    n = len(score.replicates)
    half_width = t.ppf(0.975, n - 1) * score.replicates.std(ddof=1) * np.sqrt(1 + 1 / n)
    assert score.value == pytest.approx(np.clip(2 * score.plain - score.replicates.mean(), 0, 1))
    assert score.low == pytest.approx(max(min(score.value, score.plain) - half_width, 0.0), abs=1e-6)
    assert score.high == pytest.approx(min(max(score.value, score.plain) + half_width, 1.0), abs=1e-6)


def test_halves_that_hardly_show_an_axis_have_it_nevertheless():
    """Three factors under three times as much noise: halves by themselves lose some of them."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 10, (1200, 3))
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(3, 3)))[0]
    codes = 0.3 * (factors - 4.5) / 2.87 @ turn + rng.normal(size=(1200, 3))
    report = evaluate(codes, factors, metrics=["iwo", "iwr"], nulls=False, n_jobs=1)
    assert report["iwr"].value == 1.0
    assert (report["iwr"].replicates == 1.0).all()
    assert report["iwo"].low > 0.85
    assert report["iwo"].value == pytest.approx(
        min(2 * report["iwo"].plain - report["iwo"].replicates.mean(), 1.0), abs=1e-6
    )


def test_replicates_of_a_drawn_fit_scatter_as_its_interval_says():
    score, half_width, _ = scored("dci_forest.disentanglement")
    assert score.value + half_width == pytest.approx(score.high, abs=1e-7)


@pytest.mark.parametrize(("rows", "part"), [(2, 1), (5, 1)])
def test_chance_in_the_fit_counts_as_often_as_the_score_of_all_rows(rows, part):
    """Drawn anew for all rows and for each part, with a variance of one over the rows."""
    rng = np.random.default_rng(0)
    whole, parts = rng.normal(size=50_000) / np.sqrt(rows), rng.normal(size=(50_000, 5)) / np.sqrt(part)
    step, scale = part / (rows - part), np.sqrt(part / (rows - part))
    error_of_mean = (step / scale) ** 2 / 5
    found = scale * np.sqrt(1 + error_of_mean) * drawn_fit(step, scale, error_of_mean) / np.sqrt(part)
    assert found == pytest.approx(((1 + step) * whole - step * parts.mean(axis=1)).std(), rel=0.02)


def test_halves_are_held_against_all_rows_fitted_as_they_are():
    all_rows = Score(value=0.5, per_factor=np.array([0.4, 0.6]))
    as_halves = Score(value=0.45, per_factor=np.array([0.35, 0.55]))
    halves = [Score(value=0.4, per_factor=np.array([0.3, 0.5]))] * 2
    found = extrapolated(METRICS["dci_forest.informativeness"], all_rows, halves, 1.0, like=as_halves)
    assert found.value == pytest.approx(0.55)
    assert found.plain == 0.5
    np.testing.assert_allclose(found.per_factor, [0.45, 0.65])


def test_few_trees_in_fits_to_halves_do_not_pass_for_few_rows(monkeypatch):
    """Forests of four trees predict worse than those of fifty, however many rows they have."""
    name = "dci_forest.informativeness"
    factors = random_factors(5, 4, n_samples=300)
    rng = np.random.default_rng(0)
    codes = np.hstack([factors @ [[1, 0.4], [-0.4, 1]] + rng.normal(size=(300, 2)), rng.normal(size=(300, 3))])

    def with_trees(n_trees: int) -> Score:
        source = replace(METRICS[name].source, lighten=lambda options: replace(options, n_trees=n_trees))
        with monkeypatch.context() as patched:
            patched.setitem(METRICS, name, replace(METRICS[name], source=source))
            return evaluate(codes, factors, metrics=[name], nulls=False, n_jobs=1)[name]

    few, many = with_trees(4), with_trees(50)
    assert few.plain == many.plain
    assert few.replicates.mean() < many.replicates.mean() - 0.05
    assert few.value == pytest.approx(many.value, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dci_forest", "dci_boosting"])
def test_nothing_is_extrapolated_from_halves_without_the_least_squares_of_all_rows(name):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (300, 2))
    codes = np.hstack([factors + rng.normal(size=(300, 2)), rng.normal(size=(300, 98))])
    assert lines_are_fitted(300, 100)
    assert not lines_are_fitted(150, 100)
    name = f"{name}.informativeness"
    wide, narrow = (
        evaluate(some, factors, metrics=[name], nulls=False, n_jobs=1)[name] for some in (codes, codes[:, :50])
    )
    assert wide.plain is None
    assert narrow.plain is not None
