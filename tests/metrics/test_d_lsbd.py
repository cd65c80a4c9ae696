"""D_LSBD: truths on paper, and agreement with the formulas of the authors' code."""

import json
from pathlib import Path

import numpy as np
import pytest

import unbraid as ub
from unbraid.metrics import d_lsbd

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "specialists.json").read_text(encoding="utf-8"))["d_lsbd"]
SIZES = (8, 10)
KINDS = ["circular:8", "circular:10"]
GRID = np.stack(np.meshgrid(*map(np.arange, SIZES), indexing="ij"), axis=-1).reshape(-1, 2)
ANGLES = 2 * np.pi * GRID / np.array(SIZES)


def score(codes, factors=GRID, kinds=KINDS):
    return d_lsbd(ub.Representation(codes, factors, kinds=kinds))


@pytest.mark.parametrize("seed", GOLDEN["values"])
def test_it_equals_the_published_code_on_a_grid(seed):
    """The published spread has N in the denominator where its scale has N - 1."""
    rng = np.random.default_rng(int(seed))
    angles = ANGLES.reshape(*SIZES, 2)
    base = np.concatenate([np.cos(angles), np.sin(angles), np.sin(2 * angles)], axis=-1)
    codes = base @ rng.normal(size=(6, 5)) + 0.3 * rng.normal(size=(*SIZES, 5))
    ours = score(codes.reshape(-1, 5)).per_factor * (len(GRID) - 1) / len(GRID)
    np.testing.assert_allclose(ours, GOLDEN["values"][seed], atol=1e-9)


def test_circles_score_zero_however_they_lie_and_however_often_they_turn():
    circles = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    fast = np.column_stack([np.cos(3 * ANGLES[:, 0]), -np.sin(3 * ANGLES[:, 0]), np.cos(ANGLES[:, 1] + 1)])
    fast = np.column_stack([fast, np.sin(ANGLES[:, 1] + 1)])
    for codes in (circles, circles @ turn, 5 * circles * [2, 1, 2, 1] + 3, fast):
        assert float(score(codes)) == pytest.approx(0.0, abs=1e-9)
    assert np.abs(score(fast).evidence["turns"]).tolist() == [3, 1]


def test_a_ramp_has_the_first_coefficient_of_a_saw():
    """Of a saw of n steps, |E[z exp(-iθ)]|² over twice the variance: 3 / (2 (n² - 1) sin²(π/n))."""
    n = 8
    expected = 1 - 3 / (2 * (n**2 - 1) * np.sin(np.pi / n) ** 2)
    codes = np.column_stack([GRID[:, 0], 0.0 * GRID[:, 0] + 100 * (GRID[:, 1] % 2)])
    assert score(codes).per_factor[0] == pytest.approx(expected, abs=1e-9)


def test_noise_and_codes_that_do_not_turn_score_one_or_nearly():
    codes = np.column_stack([np.cos(ANGLES[:, 0]), np.sin(ANGLES[:, 0])])
    assert score(codes).per_factor[1] == 1.0
    assert float(score(np.random.default_rng(0).normal(size=(80, 4)))) > 0.7


def test_random_rows_with_other_factors_agree_with_the_grid():
    rng = np.random.default_rng(0)
    turn, other = rng.uniform(0, 360, 2000), rng.integers(0, 5, (2000, 2))
    angle = np.deg2rad(turn)
    codes = np.column_stack([np.cos(angle), np.sin(angle), 3 * other])
    found = score(codes, np.column_stack([turn, other]), ["circular:360", None, None])
    assert float(found) < 0.01
    assert np.isnan(found.per_factor[1:]).all()
    assert "factor_1" in found.notes[0]


def test_it_needs_an_angle():
    with pytest.raises(ValueError, match="factors must have a circular one, got none; declare it"):
        d_lsbd(ANGLES, GRID)


def test_circles_beat_chance_and_noise_does_not():
    rng = np.random.default_rng(1)
    steps = rng.integers(0, 8, (1500, 2))
    angles = 2 * np.pi * steps / 8
    circles = np.column_stack([np.cos(angles), np.sin(angles)])
    for codes, beats in ((circles + 0.1 * rng.normal(size=circles.shape), True), (rng.normal(size=(1500, 4)), False)):
        rep = ub.Representation(codes, steps, kinds=["circular:8"] * 2)
        found = ub.evaluate(rep, metrics="d_lsbd", n_jobs=1, progress=False)["d_lsbd"]
        assert found.beats_chance is beats
        assert found.low <= found.value <= found.high


def test_codes_beyond_the_rows_turn_as_the_few_that_they_repeat():
    angle, other = (grid.ravel() for grid in np.meshgrid(np.arange(12) * 30.0, np.arange(4)))
    turn = np.deg2rad(angle)
    rng = np.random.default_rng(3)
    few = np.column_stack([np.cos(turn), np.sin(turn), other]) + 0.2 * rng.normal(size=(48, 3))
    many = few @ np.linalg.qr(rng.normal(size=(100, 3)))[0].T  # the same distances between rows, in more codes
    factors = {"angle": angle, "other": other}
    kinds = {"angle": "circular:360"}
    found = [float(d_lsbd(ub.Representation(codes, factors, kinds=kinds))) for codes in (few, many)]
    assert 0.01 < found[0] < 0.5
    assert found[1] == pytest.approx(found[0], abs=1e-9)


def test_one_code_that_varies_is_enough():
    angle = np.tile(np.arange(12) * 30.0, 4)
    codes = np.column_stack([np.cos(np.deg2rad(angle)), np.ones(48)])
    rep = ub.Representation(
        codes, {"angle": angle, "other": np.repeat(np.arange(4), 12)}, kinds={"angle": "circular:360"}
    )
    assert 0.4 < float(d_lsbd(rep)) < 0.9
