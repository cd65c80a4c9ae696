"""Flatness, linearity and distances: truths on paper, and agreement with disent."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import pearsonr, spearmanr

import unbraid as ub
from helpers.worlds import full_grid
from unbraid.metrics import distances, flatness, linearity

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "specialists.json").read_text(encoding="utf-8"))["flatness"]
GRID = full_grid(5, 4, 3)


def grid_world(seed):
    """Codes of a grid of 4 x 5 x 6 values: mixed, bent, with noise."""
    rng = np.random.default_rng(seed)
    factors = np.stack(np.meshgrid(*map(np.arange, (4, 5, 6)), indexing="ij"), axis=-1).reshape(-1, 3)
    codes = factors @ rng.normal(size=(3, 4)) + np.sin(factors @ rng.normal(size=(3, 4)))
    return codes + 0.2 * rng.normal(size=codes.shape), factors


@pytest.mark.parametrize("seed", GOLDEN["values"])
def test_they_equal_disent_on_whole_traversals(seed):
    codes, factors = grid_world(int(seed))
    expected = GOLDEN["values"][seed]
    for norm in ("mixed", "l1", "l2"):
        assert float(flatness(codes, factors, norm=norm)) == pytest.approx(expected[norm], abs=2e-6)
    for name, score in linearity(codes, factors)._asdict().items():
        assert float(score) == pytest.approx(expected[name], abs=2e-6)


class TestFlatness:
    def test_straight_along_an_axis_is_one_whatever_the_steps(self):
        assert float(flatness(GRID**3 + 0.0, GRID)) == pytest.approx(1.0, abs=1e-12)

    def test_a_straight_line_at_equal_angles_to_d_axes(self):
        for d in (2, 3, 5):
            codes = GRID[:, :1] * np.ones(d) + 0.0
            assert flatness(codes, GRID).per_factor[0] == pytest.approx(1 / np.sqrt(d), abs=1e-12)
            assert flatness(codes, GRID, norm="l2").per_factor[0] == pytest.approx(1.0, abs=1e-12)

    def test_a_circle_is_its_diameter_over_its_chords(self):
        n = 8
        turn = np.arange(n).repeat(3)
        angle = 2 * np.pi * turn / n
        other = np.tile(np.arange(3), n)
        codes = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        score = flatness(codes, np.stack([turn, other], axis=1), norm="l2")
        assert score.per_factor[0] == pytest.approx(2 / ((n - 1) * 2 * np.sin(np.pi / n)), abs=1e-12)
        assert score.per_factor[1] == 0.0

    def test_there_and_back_is_a_half(self):
        """0, 1, 2, 1, 0: as wide as 2 and as long as 4; the step back to the start is 0 and the largest is left out."""
        codes = np.stack([np.array([0.0, 1, 2, 1, 0])[GRID[:, 0]], GRID[:, 1]], axis=1)
        assert flatness(codes, GRID).per_factor[0] == pytest.approx(2 / 3, abs=1e-12)

    def test_values_that_are_missing_do_not_bend_a_line(self):
        rng = np.random.default_rng(0)
        rows = rng.permutation(len(GRID))[:40]
        score = flatness(GRID[rows] + 0.0, GRID[rows])
        assert float(score) == pytest.approx(1.0)
        assert "lack values" in score.notes[0]

    def test_without_traversals_it_refuses(self):
        values = np.arange(30)
        with pytest.raises(ValueError, match="no rows agree in all factors but one"):
            flatness(np.stack([values, -values], axis=1), np.stack([values // 2, values // 3], axis=1))


class TestLinearity:
    def test_a_line_at_45_degrees_is_straight_and_not_aligned(self):
        codes = GRID[:, :2] @ np.array([[1.0, 1.0], [1.0, -1.0]])
        factors = GRID[:, :2]
        found = linearity(codes, factors)
        assert float(found.linear_ratio) == pytest.approx(1.0, abs=1e-12)
        assert float(found.axis_ratio) == pytest.approx(0.0, abs=1e-6)
        assert found.axis_alignment.per_factor[0] == pytest.approx(0.0, abs=1e-12)

    def test_two_to_one_by_hand(self):
        """z = (2 v, v): variances 4 to 1, so that the axis ratio is (4/5 - 1/2) / (1/2) = 0.6."""
        codes = GRID[:, :1] * np.array([2.0, 1.0])
        assert linearity(codes, GRID).axis_ratio.per_factor[0] == pytest.approx(0.6, abs=1e-12)
        assert float(linearity(codes, GRID).axis_ratio) == 0.0  # the other factors move nothing

    def test_a_whole_circle_has_no_line(self):
        grid = full_grid(8, 3)
        angle = 2 * np.pi * grid[:, 0] / 8
        codes = np.column_stack([np.cos(angle), np.sin(angle)])
        assert linearity(codes, grid).linear_ratio.per_factor[0] == pytest.approx(0.0, abs=1e-12)


class TestDistances:
    def test_separated_codes_keep_all_distances(self):
        assert [float(score) for score in distances(GRID * [2.0, -1.0, 5.0], GRID)] == pytest.approx([1.0] * 3)

    def test_bent_codes_keep_the_order_from_one_end_only(self):
        found = distances(np.exp(2.0 * GRID), GRID)
        assert float(found.rank) < 0.99
        assert float(found.linear) < 0.95
        assert float(found.order) < 0.99

    def test_an_angle_goes_the_shorter_way_round(self):
        grid = full_grid(8, 3)
        angle = 2 * np.pi * grid[:, 0] / 8
        codes = np.column_stack([np.cos(angle), np.sin(angle), grid[:, 1]])
        rep = ub.Representation(codes, grid, kinds=["circular:8", "ordinal"])
        assert distances(rep).rank.per_factor[0] == pytest.approx(1.0)
        assert distances(codes, grid).rank.per_factor[0] < 0.7

    def test_a_category_has_no_distances(self):
        rep = ub.Representation(GRID + 0.0, GRID, kinds=["categorical", "ordinal", "ordinal"])
        assert np.isnan(distances(rep).rank.per_factor[0])
        assert float(distances(rep).order) == 1.0
        alone = ub.Representation(GRID + 0.0, GRID, kinds=["categorical"] * 3)
        with pytest.raises(ValueError, match="needs a factor with an order"):
            distances(alone)

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_random_codes_by_plain_loops(self, norm):
        """The formulas of disent's metric of distances, over all pairs of two rows of each traversal."""
        codes, factors = grid_world(1)
        found = distances(codes, factors, norm=norm)
        for k in range(3):
            steps, gaps, agree = [], [], []
            for others in np.unique(np.delete(factors, k, axis=1), axis=0):
                rows = np.flatnonzero((np.delete(factors, k, axis=1) == others).all(axis=1))
                v = cdist(factors[rows, k : k + 1], factors[rows, k : k + 1])
                z = cdist(codes[rows], codes[rows], "cityblock" if norm == "l1" else "euclidean")
                for i in range(len(rows)):
                    steps += list(v[i, i + 1 :])
                    gaps += list(z[i, i + 1 :])
                    pairs = [(p, q) for p in range(len(rows)) for q in range(len(rows)) if i not in (p, q)]
                    agree += [z[i, p] < z[i, q] for p, q in pairs if v[i, p] < v[i, q]]
            assert found.rank.per_factor[k] == pytest.approx(spearmanr(steps, gaps).statistic, abs=1e-9)
            assert found.linear.per_factor[k] == pytest.approx(pearsonr(steps, gaps).statistic, abs=1e-9)
            assert found.order.per_factor[k] == pytest.approx(np.mean(agree), abs=1e-9)

    def test_one_norm_by_hand(self):
        """(v, |v - 2|): equal steps are not equal distances."""
        values = GRID[:, 0]
        codes = np.column_stack([values, np.abs(values - 2)])
        steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
        bent = np.abs(np.abs(np.arange(5) - 2)[:, None] - np.abs(np.arange(5) - 2))
        upper = np.triu_indices(5, 1)
        expected = np.corrcoef(steps[upper], (steps + bent)[upper])[0, 1]
        assert distances(codes, GRID, norm="l1").linear.per_factor[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_noise_is_at_chance_and_straight_codes_are_not():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, (1500, 3))
    names = ["flatness", "linearity", "distances"]
    for codes, beats in ((rng.normal(size=(1500, 4)), False), (factors + 0.1 * rng.normal(size=(1500, 3)), True)):
        report = ub.evaluate(codes, factors, metrics=names, n_jobs=1, progress=False)
        for score in report.scores.values():
            assert score.beats_chance is beats
            assert score.low <= score.value <= score.high


@pytest.mark.parametrize(("function", "norm"), [(flatness, "l3"), (distances, "mixed")])
def test_bad_norm(function, norm):
    with pytest.raises(ValueError, match="norm"):
        function(GRID + 0.0, GRID, norm=norm)
