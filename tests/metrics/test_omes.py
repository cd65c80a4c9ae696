"""OMES: truths on paper, and agreement with the formulas of the authors' code."""

import json
from pathlib import Path

import numpy as np
import pytest

import unbraid as ub
from helpers.worlds import full_grid
from unbraid.metrics import omes
from unbraid.metrics.interventions.omes import overlap

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "specialists.json").read_text(encoding="utf-8"))["omes"]
GRID = full_grid(5, 4, 3, 2)


def grid_world(seed):
    """Codes of a grid of 3 x 4 x 5 values: mixed, bent, with noise."""
    rng = np.random.default_rng(seed)
    factors = np.stack(np.meshgrid(*map(np.arange, (3, 4, 5)), indexing="ij"), axis=-1).reshape(-1, 3)
    codes = factors @ rng.normal(size=(3, 6)) + np.sin(factors @ rng.normal(size=(3, 6)))
    return codes + 0.2 * rng.normal(size=codes.shape), factors


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("pooling", ["best", "weighted"])
def test_it_equals_the_published_code_on_all_pairs(seed, alpha, pooling):
    ours = float(omes(*grid_world(seed), alpha=alpha, pooling=pooling, sign="absolute"))
    assert ours == pytest.approx(GOLDEN["values"][str(seed)][f"alpha {alpha}, {pooling}"], abs=1e-4)


def test_separated_codes_score_one_whatever_the_number_of_values():
    assert float(omes(GRID + 0.0, GRID)) == pytest.approx(1.0, abs=1e-12)
    assert float(omes(-3 * GRID[:, ::-1] + 1, GRID)) == pytest.approx(1.0, abs=1e-12)


def test_as_published_the_number_of_values_bounds_the_score():
    """Over pairs of different values, a code of n values correlates by -1/(n - 1): S is 1 - 1/(n - 1) at most."""
    top = 1 - 1 / (np.array([5, 4, 3, 2]) - 1)
    expected = top * (1 - (1 - top) / 4)
    np.testing.assert_allclose(omes(GRID + 0.0, GRID, sign="absolute").per_factor, expected, atol=1e-12)


def test_rotated_by_45_degrees():
    """z = a ± b: over pairs that differ in a, (1 - 1/(n - 1)) / 2 of the variance is shared: S = 0.625 for n = 5."""
    grid = full_grid(5, 5)
    turned = grid @ np.array([[1.0, 1.0], [1.0, -1.0]])
    score = omes(turned, grid)
    np.testing.assert_allclose(score.evidence["moved"], 0.625, atol=1e-12)
    assert float(score) == pytest.approx(0.625 * (1 - (0.375 + 0.625) / 2), abs=1e-12)


def test_overlap_of_a_matrix_by_hand():
    np.testing.assert_allclose(overlap(np.array([[1.0, 0.5]])), [[1 - 0.5 / 2, 1 - (1 + 0.5) / 2]])


def test_copies_cost_compactness_only_and_packing_modularity():
    grid = full_grid(4, 4)
    copies, packed = np.hstack([grid, grid]) + 0.0, np.column_stack([4 * grid[:, 0] + grid[:, 1], grid[:, 1]]) + 0.0
    assert float(omes(copies, grid, alpha=1.0)) == pytest.approx(1.0)
    assert float(omes(copies, grid, alpha=0.0)) == pytest.approx(1 - 1 / 4)
    assert omes(packed, grid, alpha=1.0).per_factor[0] < 0.99


def test_rows_in_several_copies_change_nothing():
    codes, factors = grid_world(1)
    once = float(omes(codes, factors))
    assert float(omes(np.repeat(codes, 3, axis=0), np.repeat(factors, 3, axis=0))) == pytest.approx(once, abs=1e-12)


def test_a_factor_that_follows_from_the_others_has_no_score():
    grid = full_grid(4, 4)
    factors = np.column_stack([grid, grid[:, 0] // 2])
    score = omes(factors + 0.0, factors)
    assert np.isnan(score.per_factor[2])
    assert np.isfinite(score.per_factor[:2]).all()
    assert "factor_2" in score.notes[0]


def test_without_pairs_it_refuses():
    values = np.arange(10)
    with pytest.raises(ValueError, match="no two rows differ in one factor and agree in all others"):
        omes(np.stack([values, values], axis=1) + 0.0, np.stack([values // 2, values // 2], axis=1))


def test_noise_is_at_chance_and_separated_codes_are_not():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, (1000, 3))
    for codes, beats in ((rng.normal(size=(1000, 4)), False), (factors + 0.1 * rng.normal(size=(1000, 3)), True)):
        score = ub.evaluate(codes, factors, metrics="omes", n_jobs=1, progress=False)["omes"]
        assert score.beats_chance is beats
        assert score.low <= score.value <= score.high


@pytest.mark.parametrize("options", [{"alpha": 2.0}, {"pooling": "mean"}, {"sign": "minus"}])
def test_bad_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        omes(GRID + 0.0, GRID, **options)
