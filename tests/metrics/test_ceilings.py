from dataclasses import replace

import numpy as np
import pytest

import unbraid as ub
from helpers.reports import build_setup
from unbraid.metrics.table.catalogue import ceiling


def perfect_codes(levels, kinds, *, noise=0.01):
    """Return a report on codes that are the factors, but for a little noise."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(size, size=3000) for size in levels], axis=1)
    rep = ub.Representation(factors + noise * rng.standard_normal(factors.shape), factors, kinds=kinds)
    names = ["sap", "r2", "explicitness", "mig"]
    return ub.evaluate(rep, metrics=names, intervals=False, nulls=False, n_jobs=1, progress=False)


@pytest.mark.parametrize(
    ("levels", "kind", "expected"),
    [
        ([3, 3], "categorical", {"sap": 2 / 3, "r2": 1 / 2, "explicitness": 5 / 6}),
        ([5, 2], "categorical", {"sap": 0.65, "r2": 5 / 8, "explicitness": 0.9}),
        ([6, 6], "ordinal", {"explicitness": 0.8}),
        ([40, 40], "ordinal", {"mig": np.log(20) / np.log(40)}),
    ],
)
def test_perfect_codes_score_the_ceiling_and_no_more(levels, kind, expected):
    report = perfect_codes(levels, [kind] * 2)
    for name, most in expected.items():
        found = ceiling(name, report[name].value, report.setup)
        assert found.value == pytest.approx(most)
        assert report[name].value == pytest.approx(most, abs=0.04)


def test_scores_that_can_reach_the_best_have_none():
    report = perfect_codes([6, 6], ["ordinal"] * 2)
    assert [name for name in report if ceiling(name, report[name].value, report.setup)] == ["explicitness"]


def test_a_score_above_it_shows_that_it_does_not_hold():
    setup = build_setup(factors=("a",), factor_kinds=["categorical"], factor_levels=[3], options={})
    assert ceiling("r2", 0.5, setup).value == pytest.approx(0.5)
    assert ceiling("r2", 0.9, setup) is None


@pytest.mark.parametrize(
    ("name", "options"),
    [("explicitness", {"classifier": "multinomial"}), ("mig", {"n_bins": 40}), ("mig", {"normalise_by": "code"})],
)
def test_options_that_lift_it(name, options):
    setup = build_setup(factors=("a",), factor_kinds=["ordinal"], factor_levels=[40], options={})
    assert ceiling(name, 0.5, setup) is not None
    assert ceiling(name, 0.5, replace(setup, options={name: options})) is None


def test_normalised_explicitness_has_its_own():
    options = {"explicitness": {"normalised": True}}
    setup = build_setup(factors=("a",), factor_kinds=["ordinal"], factor_levels=[6], options=options)
    assert ceiling("explicitness", 0.3, setup).value == pytest.approx(0.6)


def test_no_factors_no_ceiling():
    assert ceiling("sap", 0.5, build_setup(factors=())) is None


@pytest.mark.parametrize(("levels", "rows"), [(8, 1000), (8, 4000), (20, 1000)])
def test_infoe_of_perfect_codes_is_its_ceiling(levels, rows):
    factors = np.random.default_rng(0).integers(levels, size=(rows, 2))
    report = ub.evaluate(factors + 0.0, factors, metrics="infomec", intervals=False, nulls=False, n_jobs=1)
    score = report["infomec.explicitness"].value
    assert ceiling("infomec.explicitness", score, report.setup).value == pytest.approx(score, abs=0.02)


def test_infoe_of_perfect_circles_has_another():
    steps = np.random.default_rng(0).integers(12, size=(2000, 2))
    angles = 2 * np.pi * steps / 12
    codes = np.hstack([np.cos(angles), np.sin(angles)])
    report = ub.evaluate(
        codes, steps, kinds=["circular:12"] * 2, metrics="infomec", intervals=False, nulls=False, n_jobs=1
    )
    score = report["infomec.explicitness"].value
    assert ceiling("infomec.explicitness", score, report.setup).value == pytest.approx(score, abs=0.03)


def test_infoe_of_continuous_factors_and_of_two_values_reaches_the_best():
    for kind, levels in (("continuous", None), ("categorical", 2)):
        setup = build_setup(factors=("a",), factor_kinds=[kind], factor_levels=[levels], options={}, n_samples=500)
        assert ceiling("infomec.explicitness", 0.5, setup) is None
