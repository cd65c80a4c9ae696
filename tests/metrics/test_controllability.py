"""Smoothness and monotonicity along a code: truths on paper, and agreement with the formulas of latte."""

import json
from pathlib import Path

import numpy as np
import pytest

from unbraid.metrics import controllability
from unbraid.metrics.geometry.controllability import monotonicity_of_curves, smoothness_of_curves

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "specialists.json").read_text(encoding="utf-8"))["latte"]
CODES = np.random.default_rng(0).normal(size=(50, 3))
CODES -= CODES.mean(axis=0)


def test_a_line_a_bowl_and_a_step():
    line = controllability(lambda z: 2 * z[:, 1] - z[:, 0], CODES, code=1)
    assert (float(line.smoothness), float(line.monotonicity)) == (1.0, 1.0)
    assert float(controllability(lambda z: -z[:, 1], CODES, code=1).monotonicity) == -1.0
    for n_points in (5, 9, 21):
        bowl = controllability(lambda z: z[:, 1] ** 2, CODES, code=1, n_points=n_points)
        assert float(bowl.smoothness) == pytest.approx(1 - 1 / (n_points - 2), abs=1e-9)
        assert float(bowl.monotonicity) == pytest.approx(0.0, abs=1e-9)
    step = controllability(lambda z: (z[:, 1] > 0.01) + 0.0, CODES, code=1)
    assert float(step.smoothness) == pytest.approx(0.0, abs=1e-9)
    assert float(step.monotonicity) == 1.0


def test_random_curves_agree_with_latte():
    for seed, expected in GOLDEN["values"].items():
        curves = np.random.default_rng(int(seed)).normal(size=(4, 8)).cumsum(axis=1)
        np.testing.assert_allclose(smoothness_of_curves(curves, 0.25), expected["smoothness"], atol=1e-9)
        np.testing.assert_allclose(monotonicity_of_curves(curves, 0.25, 1.0), expected["monotonicity"], atol=1e-12)


def test_interval_and_chance():
    found = controllability(lambda z: np.sin(2 * z[:, 0] + z[:, 1]) + z[:, 0], CODES, code=0)
    for score in found:
        assert score.low < score.value < score.high
        assert score.chance < score.low
    assert abs(found.monotonicity.chance) < 0.3


def test_unit_and_start_of_the_attribute_change_nothing_and_its_shape_does():
    def attribute(z):
        return np.sin(2 * z[:, 0] + z[:, 1]) + z[:, 0]

    before = [score.value for score in controllability(attribute, CODES, code=0)]
    moved = [score.value for score in controllability(lambda z: 5 * attribute(z) - 3, CODES, code=0)]
    assert moved == pytest.approx(before, abs=1e-9)
    bent = [score.value for score in controllability(lambda z: np.exp(attribute(z)), CODES, code=0)]
    assert abs(bent[0] - before[0]) > 0.05


def test_an_attribute_that_does_not_change_has_no_direction():
    found = controllability(lambda z: z[:, 0], CODES, code=2)
    assert float(found.smoothness) == 1.0
    assert "does not change" in found.monotonicity.notes[0]


@pytest.mark.parametrize(
    ("attribute", "options", "sentence"),
    [
        (lambda z: z[:, 0], {"code": 3}, "code must be between 0 and 2, got 3"),
        (lambda z: z[:, 0], {"code": 0, "n_points": 3}, "n_points must be at least 4"),
        (lambda z: z, {"code": 0}, "attribute must return one number for each of 450 rows"),
        (lambda z: z[:, 0], {"code": 0, "reach": 0.0}, "reach be above 0"),
    ],
)
def test_bad_input(attribute, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        controllability(attribute, CODES, **options)
