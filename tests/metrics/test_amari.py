"""Amari distance and unified scores: values on paper, and the published scores that they contain."""

import json
from pathlib import Path

import numpy as np
import pytest

import unbraid as ub
from golden.random_input import unmixing_and_mixing
from helpers.worlds import random_rotation
from unbraid.metrics import amari, amari_distance, dci_boosting, mig, sap, unified_scores
from unbraid.metrics.information.unified import aggregated, independent_groups

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "specialists.json").read_text(encoding="utf-8"))["amari"]


def normal(n_rows=2000, n_factors=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_factors))


@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
def test_a_shear_on_paper(a):
    assert amari_distance([[1, a], [0, 1]]) == pytest.approx(a / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("matrix", "distance"),
    [
        (np.eye(4)[[2, 0, 3, 1]] * [-1, 5, 2, 0.1], 0.0),
        (np.ones((5, 5)), 1.0),
        (np.array([[1, 1], [1, -1]]), 1.0),
        (np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), (0 + (0 + 1 / 2) / 2) / 2),  # one factor in two codes of three
        (np.array([[1.0, 0.0], [1.0, 0.0]]), ((0 + 0) / 2 + (1 + 1) / 2) / 2),  # the second factor is in none
    ],
)
def test_distances_on_paper(matrix, distance):
    assert amari_distance(matrix) == pytest.approx(distance, abs=1e-12)


def test_the_distance_of_squares_is_that_of_picard():
    """Theirs divides the sums of a matrix of K columns by 2 K, ours by 2 K (K - 1)."""
    unmixing, mixing = unmixing_and_mixing()
    ours = (len(mixing) - 1) * amari_distance((unmixing @ mixing) ** 2)
    assert ours == pytest.approx(GOLDEN["values"]["distance"], abs=1e-12)


def test_codes_that_are_the_factors_have_distance_0_and_a_known_mixture_its_own():
    v = normal()
    assert amari(v[:, [2, 0, 1]] * [3, -1, 0.2], v).value == pytest.approx(0.0, abs=1e-6)
    mixing = np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    v = (v - v.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(v.T, bias=True))).T  # exactly uncorrelated
    scaled = mixing / np.linalg.norm(mixing, axis=1, keepdims=True)  # codes count in units of their deviation
    assert amari(v @ mixing.T, v).value == pytest.approx(amari_distance(scaled), abs=1e-6)


def test_order_and_scale_change_nothing_and_a_rotation_does():
    v = normal()
    codes = v @ (np.eye(3) + 0.2) + 0.1 * normal(seed=1)
    before = amari(codes, v).value
    assert amari(codes[:, ::-1] * [1, -9, 0.1] + 5, v).value == pytest.approx(before, abs=1e-9)
    assert amari(codes @ random_rotation(3, np.random.default_rng(0)), v).value > before + 0.05


def test_a_code_of_noise_is_left_out_and_noise_alone_is_worst():
    v, noise = normal(), normal(seed=5)
    score = amari(np.column_stack([v, noise[:, 0]]), v)
    assert score.value == pytest.approx(0.0, abs=1e-6)
    assert np.isnan(score.per_code[3])
    assert any("left out" in note for note in score.notes)
    assert amari(noise, v).value == 1.0


def test_the_panel_extrapolates_and_compares_with_chance():
    v = normal(800)
    score = ub.evaluate(v + 0.3 * normal(800, seed=2), v, metrics="amari", n_jobs=1, progress=False)["amari"]
    assert score.low <= score.value < 0.03 < 0.9 < score.chance
    assert score.beats_chance


@pytest.mark.parametrize("matrix", [[1, 2], [[1.0]], [[1, np.nan], [0, 1]]])
def test_what_is_no_matrix_is_refused(matrix):
    with pytest.raises(ValueError, match="matrix must be finite with at least two rows and columns"):
        amari_distance(matrix)


def test_groups_on_paper():
    matrix = np.array([[0.9, 0.2], [0.0, 0.6], [0.1, 0.0]])
    # Above 0.6 one group; from 0.6 to 0.2 two; from 0.2 on one, as the first code links both.
    assert independent_groups(matrix) == (2, pytest.approx(0.3 * 1.5 + 0.4 * 1.5 + 0.1 + 0.1))


def test_aggregations_of_a_perfect_matrix():
    found = aggregated(np.eye(3), np.ones(3))
    assert (found["groups"], found["group_area"]) == (3, 3.0)
    assert [found[name] for name in ("disentanglement", "completeness", "mig", "sap", "modularity")] == [1.0] * 5


def test_published_scores_are_among_the_unified():
    rng = np.random.default_rng(0)
    v = rng.integers(0, 5, (600, 3))
    rep = ub.Representation(v @ (np.eye(3) + 0.3) + 0.1 * rng.normal(size=(600, 3)), v)
    table = unified_scores(rep)
    assert table.shape == (3, 7)
    assert table.loc["information", "mig"] == pytest.approx(mig(rep).value)
    assert table.loc["predictability", "sap"] == pytest.approx(sap(rep).value)
    boosted = dci_boosting(rep).disentanglement.value
    assert table.loc["importance", "disentanglement"] == pytest.approx(boosted, abs=0.05)
