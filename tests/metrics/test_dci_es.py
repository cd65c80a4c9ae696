"""DCI-ES: curves and scores by hand, the oracle rows of the paper, and small worlds from end to end."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from helpers.worlds import full_grid, random_rotation
from unbraid import Representation, compare, evaluate
from unbraid.evidence.loss_capacity import (
    LossCapacity,
    LossCapacityOptions,
    RowLosses,
    _choose,
    baseline_loss,
    loss_capacity_curves,
    resampled_curves,
    row_losses,
)
from unbraid.metrics import (
    area_under_curve,
    dci_es,
    explicitness_of_curve,
    loss_capacity,
    shared_explicitness,
    task_explicitness,
)
from unbraid.metrics.prediction.dci_es import (
    es_completeness,
    es_disentanglement,
    es_explicitness,
    es_informativeness,
    es_size,
)
from unbraid.probes.black_box import BlackBoxImportance
from unbraid.probes.capacity import (
    CapacityLevel,
    CapacityTask,
    EstimatorLadder,
    FittedLadder,
    ForestLadder,
    FourierLadder,
    LinearLadder,
    MLPLadder,
)
from unbraid.probes.sage import SageOptions
from unbraid.probes.splits import capacity_split
from unbraid.representation.factor import make_factor

CAPACITIES = np.array([0.0, 1.0, 3.0])
FOREST = ForestLadder(depths=(1, 2, 4, 8), n_trees=10)
MLP = MLPLadder(widths=(2, 8), n_steps=80)
SAGE = SageOptions(max_rows=256, n_background=16)


def curves_of(losses, importance, *, baselines=None, capacities=CAPACITIES, **changes):
    """Curves with given losses and importances, as a ladder would leave them, judged on a hundred rows."""
    losses, matrix = np.asarray(losses, dtype=float), np.asarray(importance, dtype=float)
    n_factors = len(losses)
    curves = LossCapacity(
        factor_names=tuple(f"f{k}" for k in range(n_factors)),
        ladder="mlp",
        axis="capacity",
        starts_linear=True,
        capacities=np.tile(capacities, (n_factors, 1)),
        rows=tuple(RowLosses(each=np.repeat(row[:, None], 100, axis=1), unit=np.ones(100)) for row in losses),
        baselines=np.ones(n_factors) if baselines is None else np.asarray(baselines),
        in_accuracy=np.zeros(n_factors),
        beats_baseline=np.ones(n_factors, dtype=bool),
        chosen=0,
        importance=BlackBoxImportance(measure="sage", values=matrix, errors=np.zeros_like(matrix)),
        size=n_factors / len(matrix),
    )
    return replace(curves, **changes)


def scores_of(curves):
    parts = (es_disentanglement, es_completeness, es_informativeness, es_explicitness, es_size)
    return [score(curves).value for score in parts]


class TestCurve:
    def test_area_on_three_points_by_hand(self):
        # (0.9 + 0.4) / 2 - 0.1 over 1, and (0.4 + 0.1) / 2 - 0.1 over 2.
        assert area_under_curve(CAPACITIES, np.array([0.9, 0.4, 0.1])) == pytest.approx(0.55 + 0.3)

    def test_explicitness_on_three_points_by_hand(self):
        found = explicitness_of_curve(CAPACITIES, np.array([0.9, 0.4, 0.1]), baseline=1.0)
        assert found == pytest.approx(1 - 0.85 / (0.5 * 3 * 1))

    @pytest.mark.parametrize(
        ("losses", "expected"),
        [
            ([0.0, 0.0, 0.0], 1.0),  # all there for the first probe
            ([0.3, 0.3, 0.3], 1.0),  # not all, but no capacity helps
            ([0.3, 0.5, 0.4], 1.0),  # more capacity only over-fits
            ([1.0, 2 / 3, 0.0], 0.0),  # along the straight line
            ([1.0, 1.0, 1.0], 1.0),  # nothing to read: see the note
            ([1.0, 1.0, 0.0], 1 - (1 + 1) / 1.5),  # falls on the last level: -1/3 here
            ([0.5, 0.5, 0.0], 1 - (0.5 + 0.5) / 1.5),
        ],
    )
    def test_one_zero_and_below_by_hand(self, losses, expected):
        assert explicitness_of_curve(CAPACITIES, np.array(losses), baseline=1.0) == pytest.approx(expected)

    def test_tends_to_minus_one_when_all_the_fall_is_at_the_end(self):
        capacities = np.array([0.0, 1.0, 1.0 + 1e-9])
        assert explicitness_of_curve(capacities, np.array([1.0, 1.0, 0.0]), baseline=1.0) == pytest.approx(-1.0)

    def test_losses_above_the_baseline_count_as_the_baseline(self):
        worse, level = ([7.0, 0.5, 0.0], [1.0, 0.5, 0.0])
        found = [explicitness_of_curve(CAPACITIES, np.array(losses), baseline=1.0) for losses in (worse, level)]
        assert found[0] == found[1]
        assert explicitness_of_curve(CAPACITIES, np.array([9.0, 8.0, 7.0]), baseline=1.0) == 1.0

    def test_a_bump_is_levelled_out(self):
        bumpy, level = ([1.0, 0.4, 0.9, 0.2], [1.0, 0.4, 0.4, 0.2])
        capacities = np.arange(4.0)
        assert area_under_curve(capacities, bumpy) == pytest.approx(area_under_curve(capacities, level))

    def test_the_unit_of_capacity_does_not_matter(self):
        losses = np.array([0.8, 0.5, 0.1])
        found = [explicitness_of_curve(k, losses, baseline=1.0) for k in (CAPACITIES, 7 + 100 * CAPACITIES)]
        assert found[0] == pytest.approx(found[1])

    def test_baseline_and_lowest_loss_set_the_scale(self):
        whole = explicitness_of_curve(CAPACITIES, np.array([0.8, 0.5, 0.1]), baseline=1.0)
        scaled = explicitness_of_curve(CAPACITIES, np.array([2.6, 2.0, 1.2]), baseline=3.0, lowest=1.0)
        assert scaled == pytest.approx(whole)

    @pytest.mark.parametrize(
        ("capacities", "baseline", "message"),
        [
            ([1.0], 1.0, "capacities must hold at least two capacities, got 1"),
            ([1.0, 1.0], 1.0, "capacities must increase from level to level, got 1 after 1"),
            ([2.0, 1.0], 1.0, "capacities must increase from level to level, got 1 after 2"),
            ([1.0, 2.0], 0.0, "baseline must be above the lowest loss, got 0 and 0"),
        ],
    )
    def test_curves_that_are_none(self, capacities, baseline, message):
        with pytest.raises(ValueError, match=message):
            explicitness_of_curve(np.array(capacities), np.array([0.5] * len(capacities)), baseline=baseline)


class TestOracleRows:
    """Table 1, rows MLP*: seven factors, importances and losses as a perfect probe would have them."""

    def test_ground_truth_labels(self):
        assert scores_of(curves_of(np.zeros((7, 3)), np.eye(7))) == [1.0, 1.0, 1.0, 1.0, 1.0]

    def test_noisy_labels(self):
        found = scores_of(curves_of(np.full((7, 3), 0.1), np.eye(7)))
        assert found == pytest.approx([1.0, 1.0, 0.9, 1.0, 1.0])

    def test_uniform_mix(self):
        found = scores_of(curves_of(np.zeros((7, 3)), np.full((7, 7), 1 / 7)))
        assert found == pytest.approx([0.0, 0.0, 1.0, 1.0, 1.0], abs=1e-12)

    def test_importances_need_no_scale(self):
        assert scores_of(curves_of(np.zeros((3, 3)), 5 * np.eye(3)))[:2] == [1.0, 1.0]


class TestScoresOfCurves:
    def test_overall_is_the_mean_over_factors(self):
        curves = curves_of([[1.0, 2 / 3, 0.0], [0.2, 0.2, 0.2]], np.eye(2))
        found = es_explicitness(curves)
        np.testing.assert_allclose(found.per_factor, [0.0, 1.0], atol=1e-12)
        assert found.value == pytest.approx(0.5)
        np.testing.assert_allclose(es_informativeness(curves).per_factor, [1.0, 0.8])

    def test_informativeness_reads_the_best_rung_and_is_not_below_zero(self):
        curves = curves_of([[0.9, 0.2, 0.6], [3.0, 2.0, 5.0]], np.eye(2))
        np.testing.assert_allclose(es_informativeness(curves).per_factor, [0.8, 0.0])

    def test_categories_start_at_the_accuracy_of_a_die(self):
        curves = curves_of([[0.9, 0.9, 0.9]], np.ones((2, 1)), baselines=[0.75])
        np.testing.assert_allclose(es_informativeness(curves).per_factor, [0.25])

    def test_cross_entropy_is_a_share_of_that_of_a_die(self):
        curves = curves_of([[3.0, 1.0, 0.5], [9.0, 9.0, 9.0]], np.eye(2), baselines=[2.0, 2.0], loss="cross_entropy")
        np.testing.assert_allclose(es_informativeness(curves).per_factor, [0.75, 0.0])

    def test_nothing_to_read_is_noted(self):
        unread = es_explicitness(curves_of([[1.2, 1.0, 0.97], [0.1, 0.1, 0.1]], np.eye(2)))
        assert unread.per_factor[0] > 0.9
        assert unread.notes[0].startswith("For 1 factor(s) no probe gets far below a blind guess")
        assert es_explicitness(curves_of([[0.9, 0.9, 0.9]] * 2, np.eye(2))).notes == ()

    def test_a_factor_nobody_predicts_has_a_column_of_zeros(self):
        curves = curves_of([[0.1] * 3, [1.0] * 3], [[1.0, 0.5], [0.0, 0.5]], beats_baseline=np.array([True, False]))
        np.testing.assert_array_equal(curves.matrix, [[1, 0], [0, 0]])
        assert es_disentanglement(curves).value == 0.0  # one column says nothing about sharing
        completeness = es_completeness(curves)
        assert completeness.value == 0.5
        assert "1 factor(s) that this probe cannot predict score 0." in completeness.notes

    def test_verdict_comes_with_explicitness(self):
        said = es_explicitness(curves_of(np.zeros((2, 3)), np.eye(2))).sentence
        assert "sign and permutation" in said
        assert "Remark 3.6" in said

    def test_one_factor_or_no_importances_make_no_verdict(self):
        assert es_explicitness(curves_of(np.zeros((1, 3)), np.ones((2, 1)))).sentence == ""
        none = BlackBoxImportance(measure="none", values=np.zeros((2, 2)), errors=np.zeros((2, 2)))
        bare = replace(curves_of(np.zeros((2, 3)), np.eye(2)), importance=none)
        assert es_explicitness(bare).sentence == ""
        for score in (es_disentanglement, es_completeness):
            with pytest.raises(ValueError, match="need importances, but importance is 'none'"):
                score(bare)

    def test_evidence_holds_what_a_plot_needs(self):
        evidence = es_explicitness(curves_of([[1.0, 0.5, 0.0]] * 2, np.eye(2))).evidence
        assert set(evidence) == {"capacities", "losses", "loss_low", "loss_high", "baselines"}


class TestRowLosses:
    def test_numbers_by_one_minus_r2(self):
        factor = make_factor(np.array([0.0, 1.0, 2.0, 3.0]), name="f", kind="continuous")
        said = np.array([[[0.0], [1.0], [2.0], [5.0]], [[1.5], [1.5], [1.5], [1.5]]])
        found = row_losses(factor, np.arange(4), said, "error")
        np.testing.assert_allclose(found.values, [4 / 5, 1.0])
        assert baseline_loss(factor, "error") == 1.0

    def test_angles_by_distance_on_the_circle(self):
        factor = make_factor(np.array([0.0, 90.0, 180.0, 270.0]), name="f", kind="circular:360")
        said = np.zeros((2, 4, 2))
        said[0] = factor.targets(np.arange(4))
        np.testing.assert_allclose(row_losses(factor, np.arange(4), said, "error").values, [0.0, 1.0], atol=1e-12)

    def test_categories_by_accuracy_or_cross_entropy(self):
        factor = make_factor(np.array(["a", "b", "a", "c", "c", "b"]), name="f")
        said = np.tile([0.5, 0.25, 0.25], (1, 6, 1))
        said[0, 1] = [0.0, 0.0, 1.0]
        rows = np.arange(4)
        assert row_losses(factor, rows, said[:, :4], "error").values == pytest.approx([0.5])
        expected = -np.mean(np.log([0.5, 1e-4, 0.5, 0.25]))
        assert row_losses(factor, rows, said[:, :4], "cross_entropy").values == pytest.approx([expected])
        assert baseline_loss(factor, "error") == pytest.approx(2 / 3)
        assert baseline_loss(factor, "cross_entropy") == pytest.approx(np.log(3))

    def test_unlabelled_rows_do_not_count(self):
        factor = make_factor(np.array([0.0, np.nan, 2.0, 4.0]), name="f", kind="continuous")
        found = row_losses(factor, np.arange(4), np.array([[[0.0], [99.0], [2.0], [4.0]]]), "error")
        assert found.values == pytest.approx([0.0])
        assert len(found.unit) == 3

    def test_standard_errors_are_those_of_a_bootstrap(self):
        rng = np.random.default_rng(0)
        truth = rng.standard_normal(400)
        factor = make_factor(truth, name="f")
        said = np.stack([0.5 * truth, truth + 0.3 * rng.standard_normal(400)])[:, :, None]
        found = row_losses(factor, np.arange(400), said, "error")
        drawn = np.std([found.resampled(rng).values for _ in range(400)], axis=0)
        np.testing.assert_allclose(found.errors, drawn, rtol=0.2)


def noisy_grid(n_samples=900, seed=0):
    """Independent factors, and codes that are the factors with noise."""
    rng = np.random.default_rng(seed)
    factors = rng.integers([4, 5], size=(n_samples, 2))
    return factors + 0.2 * rng.standard_normal(factors.shape), factors


class TestEndToEnd:
    @pytest.mark.parametrize(
        "ladder", [LinearLadder(), FOREST, MLP, FourierLadder(n_features=(16, 64, 256))], ids=lambda one: one.name
    )
    def test_factors_as_codes_score_one(self, ladder):
        factors = np.tile(full_grid(4, 5), (30, 1))
        scores = dci_es(factors + 0.0, factors, ladder=ladder, sage=SAGE)
        assert float(scores.disentanglement) > 0.97
        assert float(scores.completeness) > 0.97
        assert float(scores.informativeness) > 0.98
        assert float(scores.size) == 1.0

    def test_a_rotation_is_explicit_for_a_line_and_not_for_a_tree(self):
        rng = np.random.default_rng(0)
        factors = rng.uniform(-1, 1, (1500, 3))
        turned = factors @ random_rotation(3, rng)
        line = dci_es(turned, factors, ladder=MLP, sage=SAGE)
        tree = dci_es(turned, factors, ladder=FOREST)
        assert float(line.explicitness) == pytest.approx(1.0, abs=0.01)
        assert float(line.informativeness) == pytest.approx(1.0, abs=0.01)
        assert "an invertible linear map" in line.explicitness.sentence
        assert float(tree.explicitness) < 0.9
        assert "no claim" in tree.explicitness.sentence

    def test_a_square_takes_capacity_that_a_copy_does_not(self):
        rng = np.random.default_rng(0)
        codes = rng.uniform(-1, 1, (1200, 3))
        factors = {"copy": codes[:, 0].copy(), "square": codes[:, 1] ** 2}
        found = dci_es(codes, factors, ladder=MLPLadder(widths=(4, 16), n_steps=250), sage=SAGE)
        copy, square = found.explicitness.per_factor
        assert copy == pytest.approx(1.0, abs=0.01)
        assert square < 0.5
        np.testing.assert_allclose(found.informativeness.per_factor, 1.0, atol=0.05)
        np.testing.assert_allclose(found.disentanglement.evidence["importance"], np.eye(3)[:, :2], atol=0.03)

    @pytest.mark.parametrize(
        ("ladder", "tolerance"),
        [(LinearLadder(), 1e-6), (FOREST, 0.03), (MLP, 0.03)],
        ids=["linear", "forest", "mlp"],
    )
    def test_order_of_codes_does_not_matter(self, ladder, tolerance):
        rng = np.random.default_rng(0)
        codes, factors = noisy_grid()
        codes = np.column_stack([codes, codes[:, 0] * codes[:, 1], rng.standard_normal(900)])
        before, after = (dci_es(z, factors, ladder=ladder, sage=SAGE) for z in (codes, codes[:, [2, 0, 3, 1]]))
        for one, two in zip(before, after, strict=True):
            assert float(two) == pytest.approx(float(one), abs=tolerance)

    def test_noise_scores_nothing_but_explicitness(self):
        rng = np.random.default_rng(0)
        found = dci_es(rng.standard_normal((600, 3)), rng.standard_normal((600, 2)), ladder=LinearLadder())
        assert float(found.disentanglement) == 0.0
        assert float(found.completeness) == 0.0
        assert float(found.informativeness) < 0.05
        assert float(found.explicitness) > 0.9
        assert "Look at informativeness first" in found.explicitness.notes[0]
        assert "2 factor(s) that this probe cannot predict score 0." in found.completeness.notes

    def test_dead_codes_have_no_importance_and_count_in_size(self):
        codes, factors = noisy_grid()
        found = dci_es(np.column_stack([np.ones(900), codes]), factors, ladder=FOREST)
        assert float(found.size) == pytest.approx(2 / 3)
        importance = found.disentanglement.evidence["importance"]
        assert importance.shape == (3, 2)
        assert not importance[0].any()

    def test_a_users_own_estimators(self):
        codes, factors = noisy_grid(400)
        levels = (
            CapacityLevel(capacity=1, regressor=Ridge()),
            CapacityLevel(capacity=2, regressor=KNeighborsRegressor(9)),
        )
        found = dci_es(codes, factors, ladder=EstimatorLadder(levels=levels, starts_linear=True), sage=SAGE)
        assert float(found.disentanglement) > 0.9
        assert float(found.explicitness) > 0.95

    def test_simplest_probe_within_one_error_or_the_best(self):
        rng = np.random.default_rng(0)
        rep = Representation(rng.standard_normal((400, 2)), rng.standard_normal((400, 2)))
        split = capacity_split(rep.factors, 400, rng=rng)
        task = CapacityTask(codes=rep.codes, factors=tuple(rep.factors), split=split)
        noise = rng.standard_normal((2, len(split.validation), 1))
        said = [
            f.targets(split.validation) + np.multiply.outer([1.0, 0.31, 0.3], n)
            for f, n in zip(rep.factors, noise, strict=True)
        ]
        fitted = FittedLadder(capacities=np.zeros((2, 3)), validation=said, test=said, probe=lambda level: None)
        chosen = {how: _choose(fitted, task, LossCapacityOptions(probe=how)) for how in ("simplest", "best")}
        assert chosen == {"simplest": 1, "best": 2}

    def test_same_seed_same_scores(self):
        world = noisy_grid(300)
        first, again = (dci_es(*world, ladder=MLP, sage=SAGE, rng=4) for _ in range(2))
        assert [float(score) for score in first] == [float(score) for score in again]

    def test_cross_entropy(self):
        codes, factors = noisy_grid()
        names = np.array(["a", "b", "c", "d", "e"])[factors]
        found = dci_es(codes, names, ladder=FOREST, loss="cross_entropy")
        assert 0.8 < float(found.informativeness) <= 1.0
        # A split in two halves the entropy of four values.
        assert found.explicitness.evidence["losses"][0, 0] == pytest.approx(np.log(2), abs=0.3)
        assert found.explicitness.evidence["baselines"] == pytest.approx(np.log([4, 5]))


class TestTaskLabels:
    def test_a_label_that_is_no_factor(self):
        rng = np.random.default_rng(0)
        codes = rng.uniform(-1, 1, (900, 2))
        easy, hard = codes[:, 0] > 0, (codes[:, 0] > 0) ^ (codes[:, 1] > 0)
        scores = [float(task_explicitness(codes, y, ladder=FOREST)) for y in (easy, hard)]
        assert scores[0] == pytest.approx(1.0, abs=0.02)
        assert scores[1] < 0.8

    def test_several_tasks_at_once(self):
        codes, _ = noisy_grid(300)
        found = task_explicitness(codes, np.column_stack([codes[:, 0], codes[:, 1] ** 2]), ladder=FOREST)
        assert found.per_factor.shape == (2,)
        assert found.sentence == ""

    def test_a_pandas_column_keeps_its_name_and_kind(self):
        codes, factors = noisy_grid(300)
        curves = loss_capacity(codes, pd.Series(factors[:, 0], name="speed", dtype="category"), ladder=FOREST)
        assert curves.factor_names == ("speed",)
        assert curves.in_accuracy.tolist() == [1.0]

    def test_table_has_a_row_for_each_factor_and_rung(self):
        codes, factors = noisy_grid(300)
        curves = loss_capacity(codes, factors, ladder=FOREST)
        table = curves.table()
        assert list(table.columns) == ["factor", "capacity", "loss", "low", "high"]
        assert len(table) == 2 * 4
        assert (table.low <= table.loss).all()
        assert (table.loss <= table.high).all()
        assert table.capacity.tolist() == [1, 2, 4, 8] * 2
        assert curves.importance.measure == "none"

    def test_labels_of_another_length(self):
        with pytest.raises(ValueError, match="rows"):
            task_explicitness(np.zeros((30, 2)) + np.arange(30)[:, None], np.arange(29) % 3, ladder="linear")


class TestRedraws:
    def test_spread_of_losses_is_their_standard_error(self):
        codes, factors = noisy_grid()
        rep = Representation(codes, factors)
        curves = loss_capacity_curves(rep, LossCapacityOptions(ladder=FOREST), np.random.default_rng(0))
        drawn = resampled_curves(curves, n_resamples=200, rng=np.random.default_rng(1))
        np.testing.assert_allclose(np.std([c.losses for c in drawn], axis=0), curves.errors, rtol=0.35)
        scatter = np.std([c.importance.values for c in drawn], axis=0)
        large = curves.importance.errors > 1e-3
        np.testing.assert_allclose(scatter[large], curves.importance.errors[large], rtol=0.5)
        assert all((c.importance.values >= 0).all() for c in drawn)


class TestBadInput:
    CODES, FACTORS = noisy_grid(100)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"ladder": "forrest"}, "ladder must be one of .*; did you mean 'forest'"),
            ({"loss": "mse"}, "loss must be one of error, cross_entropy, got 'mse'"),
            ({"probe": "first"}, "probe must be one of simplest, best, got 'first'"),
            ({"ladder": "forest", "importance": "weights"}, "the forest ladder"),
            ({"ladder": "forest", "importance": "none"}, "need importances"),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            dci_es(self.CODES, self.FACTORS, **options)

    def test_one_factor_is_for_task_explicitness(self):
        with pytest.raises(ValueError, match="factors must have at least two columns for dci_es, got 1"):
            dci_es(self.CODES, self.FACTORS[:, :1], ladder="linear")
        assert float(task_explicitness(self.CODES, self.FACTORS[:, 0], ladder="linear")) <= 1.0

    def test_fewer_rows_than_classes(self):
        names = np.array([f"v{i}" for i in range(60)])[np.arange(100) % 60]
        with pytest.raises(ValueError, match="is categorical but takes 60 distinct values in 100 rows"):
            dci_es(self.CODES, {"many": names, "few": self.FACTORS[:, 0]}, ladder="forest")


class TestSettings:
    """Groups, splits, settings as text, and one axis for several representations."""

    FACTORS = np.random.default_rng(1).uniform(-1, 1, (600, 2))
    TURNED = np.column_stack([FACTORS.sum(axis=1), FACTORS[:, 0] - FACTORS[:, 1], FACTORS[:, 1] ** 3, np.ones(600)])

    def test_text_is_a_ladder_with_its_settings(self):
        text = "forest:depths=1+2+4+8,n_trees=10"
        given, named = (
            dci_es(self.TURNED, self.FACTORS, ladder=ladder, split=split, sage="max_rows=64")
            for ladder, split in ((FOREST, (0.5, 0.2)), (text, "0.5+0.2"))
        )
        assert [float(score) for score in given] == [float(score) for score in named]

    @pytest.mark.parametrize("ladder", [FOREST, pytest.param(MLP, marks=pytest.mark.slow)], ids=["forest", "mlp"])
    @pytest.mark.parametrize("importance", ["auto", "permutation"])
    def test_groups_count_as_codes(self, ladder, importance):
        found = dci_es(self.TURNED, self.FACTORS, ladder=ladder, groups="0+1,2,3", importance=importance, sage=SAGE)
        matrix = found.disentanglement.evidence["importance"]
        assert matrix.shape == (3, 2)
        np.testing.assert_allclose(matrix[:, 0], [1, 0, 0], atol=0.05)  # only the first group knows the first factor
        assert matrix[2].tolist() == [0, 0]  # a group of dead codes
        assert found.size.value == pytest.approx(2 / 3)
        per_code = found.disentanglement.per_code
        assert per_code[0] == per_code[1]
        assert np.isnan(per_code[3])

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"ladder": "forest:depth=3"}, "ladder forest must have settings among depths, .*did you mean 'depths'"),
            ({"ladder": "forest:n_trees=x"}, "ladder forest, n_trees, must be int, got 'x'"),
            ({"sage": "max_rows"}, "sage must have settings among"),
            ({"split": (0.6, 0.4)}, "split must be the shares of training and of validation rows"),
            ({"split": "0.6"}, "split must be the shares"),
            ({"groups": "0+9"}, "groups must name columns of codes from 0 to 3, got 9"),
        ],
    )
    def test_bad_settings_are_named(self, options, sentence):
        with pytest.raises(ValueError, match=sentence):
            dci_es(self.TURNED, self.FACTORS, **{"ladder": FOREST} | options)

    def test_split_is_the_one_asked_for(self):
        split = capacity_split((), 1000, rng=np.random.default_rng(0), shares=(0.285, 0.015))
        assert [len(part) for part in (split.train, split.validation, split.test)] == [285, 15, 700]

    def test_shared_axis_ends_at_the_largest_capacity(self):
        # One less explicitness is an area over half the axis: twice the axis, half of it.
        short = curves_of([[0.5, 0.25, 0.25]], [[1.0]], capacities=np.array([0.0, 1.0, 2.0]))
        long = curves_of([[0.5, 0.25, 0.25]], [[1.0]], capacities=np.array([0.0, 1.0, 4.0]))
        found = shared_explicitness({"short": short, "long": long})
        assert found["short"] == pytest.approx(found["long"])
        assert 1 - found["short"] == pytest.approx((1 - es_explicitness(short).value) / 2)
        assert found["long"] == pytest.approx(es_explicitness(long).value)
        with pytest.raises(ValueError, match="curves must have one axis"):
            shared_explicitness({"short": short, "other": replace(long, axis="depth")})

    def test_comparison_is_on_a_shared_axis(self):
        rng = np.random.default_rng(2)
        wide = np.hstack([self.TURNED[:, :2], rng.normal(size=(600, 14))])
        options = {"dci_es": {"ladder": "linear"}}
        reports = {
            name: evaluate(codes, self.FACTORS, metrics="dci_es", options=options, nulls=False)
            for name, codes in (("two", self.TURNED[:, :2] @ [[1, 0.5], [0, 0.1]]), ("sixteen", wide))
        }
        side = compare(reports)
        alone, together = (group["two"]["dci_es.explicitness"] for group in (reports, side))
        share = np.log(2) / np.log(16)  # of the axis that two directions reach
        assert 1 - together.value == pytest.approx((1 - alone.value) * share)
        assert 1 - together.low == pytest.approx((1 - alone.low) * share)
        assert together.notes[-1].startswith("On the capacity axis of all representations compared")
        assert side["sixteen"]["dci_es.explicitness"].value == reports["sixteen"]["dci_es.explicitness"].value
