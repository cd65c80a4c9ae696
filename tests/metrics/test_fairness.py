"""Fairness: distances known on paper, codes that are fair and codes that are not, options and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest

import unbraid as ub
from golden.random_input import decisions
from unbraid.evidence import fairness as subject
from unbraid.evidence.fairness import as_classes, demographic_parity, equalised_odds
from unbraid.metrics import fairness

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "specialists.json").read_text(encoding="utf-8"))["fairness"]


def world(n_rows=1200, seed=0):
    """A target and a sensitive factor of two values each, independent, each in a code of its own."""
    rng = np.random.default_rng(seed)
    y, s = rng.integers(0, 2, (2, n_rows))
    codes = np.column_stack([y, s]) + 0.05 * rng.normal(size=(n_rows, 2))
    return ub.Representation(codes, {"y": y, "s": s})


@pytest.mark.parametrize(
    ("counts", "distance"),
    [
        ([[10, 0], [0, 10]], 0.5),  # each group gets its own class: half of the rows would have to move
        ([[10, 20], [5, 10]], 0.0),  # the same shares in groups of unlike size
        ([[30, 0], [0, 10]], 2 * 0.25 * 0.75),  # 2 q (1 - q) for a share q in the smaller group
        ([[10, 0, 10], [0, 0, 0]], 0.0),  # one class for all, and a group without rows
    ],
)
def test_parity_on_paper(counts, distance):
    assert demographic_parity(np.array([counts], dtype=float)) == pytest.approx(distance, abs=1e-12)


def test_odds_are_parity_within_the_true_classes():
    right = np.zeros((2, 2, 2))  # predicted, true, group
    right[0, 0], right[1, 1] = [30, 10], [5, 55]  # every prediction is right, and groups have other base rates
    assert equalised_odds(right[None]) == 0.0
    assert demographic_parity(right.sum(axis=1)[None]) > 0.3
    wrong = right.copy()
    wrong[:, 0] = [[30, 0], [0, 10]]  # of the first class, all of the second group are wrong: 40 of 100 rows
    assert equalised_odds(wrong[None]) == pytest.approx(0.4 * 2 * 0.25 * 0.75)


def test_cross_fitted_distances_are_those_on_paper_where_folds_agree_and_0_where_they_disagree():
    each = np.array([[6.0, 1.0], [1.0, 2.0]])
    whole = demographic_parity((2 * each)[None])
    n_rows = each.sum()
    assert demographic_parity(np.stack([each, each])) == pytest.approx(whole * n_rows / (n_rows - 1), abs=1e-12)
    turned = each[:, ::-1]  # the difference has the other sign in the other fold
    assert demographic_parity(np.stack([each, turned])) < 0


@pytest.mark.slow
def test_groups_that_do_not_differ_have_a_distance_of_0_on_average_and_not_that_of_chance():
    rng = np.random.default_rng(0)
    codes, factors = rng.normal(size=(300, 2)), rng.integers(0, 5, (300, 2))
    drawn = [fairness(codes, rng.permutation(factors), n_trees=1, rng=seed).parity for seed in range(12)]
    assert abs(np.mean([one.evidence["matrix"][[0, 1], [1, 0]] for one in drawn])) < 0.02
    published = fairness(codes, factors, n_trees=1, cross_fit=False).parity
    assert published.value > 0.07


def test_two_groups_and_classes_follow_from_the_differences_of_fairlearn():
    """With a share q of rows in one of two groups, the mean distance from all rows is 2 q (1 - q) of the difference."""
    truth, guess, group = decisions()
    counts = np.zeros((2, 2, 2))
    np.add.at(counts, (guess, truth, group), 1)

    def factor(rows):
        return 2 * rows.mean() * (1 - rows.mean())

    theirs = GOLDEN["values"]
    assert demographic_parity(counts.sum(axis=1)[None]) == pytest.approx(factor(group) * theirs["parity"], abs=1e-12)
    by_truth = {0: theirs["false_positive"], 1: theirs["true_positive"]}
    odds = sum((truth == y).mean() * factor(group[truth == y]) * gap for y, gap in by_truth.items())
    assert equalised_odds(counts[None]) == pytest.approx(odds, abs=1e-12)


def test_codes_of_independent_factors_are_fair_and_read():
    found = fairness(world(), sensitive="s", target="y")
    assert found.parity.value < 0.02
    assert found.odds.value < 0.01
    assert found.leakage_linear.value > 0.99
    assert found.leakage_forest.value > 0.99
    assert np.isnan(found.leakage_linear.per_factor[0])


@pytest.mark.parametrize("predictor", ["linear", "forest"])
def test_codes_that_show_the_sensitive_factor_in_place_of_the_target_are_unfair(predictor):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    s = np.where(rng.random(1500) < 0.85, y, 1 - y)  # they agree in most rows
    codes = np.column_stack([s + 0.01 * rng.normal(size=1500), rng.normal(size=1500)])
    found = fairness(codes, {"y": y, "s": s}, sensitive="s", target="y", predictor=predictor)
    assert found.parity.value == pytest.approx(0.5, abs=0.05)  # predictions are the sensitive factor
    assert found.odds.value == pytest.approx(2 * 0.85 * 0.15, abs=0.05)  # and so they are given the truth
    chance = found.odds.evidence["chance"][0, 1]
    assert chance < 0.05 < found.odds.evidence["matrix"][0, 1]


def test_a_folded_factor_is_read_by_the_forest_only():
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(1200, 2)), rng.integers(0, 2, 1200)
    found = fairness(z, {"y": y, "s": np.abs(z[:, 0]) > 0.7}, sensitive="s")
    assert found.leakage_linear.value < 0.1
    assert found.leakage_forest.value > 0.9


def noisy_world(n_codes, n_rows=900, seed=0):
    """Two factors of three values, each in two codes, among codes of noise."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, 3, (n_rows, 2))
    codes = rng.normal(size=(n_rows, n_codes))
    codes[:, :4] += 2 * np.repeat(factors, 2, axis=1)
    return ub.Representation(codes, {"y": factors[:, 0], "s": factors[:, 1]})


@pytest.mark.slow
def test_regressions_of_wide_codes_predict_what_those_of_few_do(monkeypatch):
    rep = noisy_world(128)
    wide = fairness(rep, n_trees=1)
    monkeypatch.setattr(subject, "MAX_NEWTON_CODES", 128)
    exact = fairness(rep, n_trees=1)
    assert wide.leakage_linear.value == pytest.approx(exact.leakage_linear.value, abs=0.02)
    assert wide.parity.value == pytest.approx(exact.parity.value, abs=0.02)
    assert wide.odds.value == pytest.approx(exact.odds.value, abs=0.02)
    assert wide.leakage_forest.value == exact.leakage_forest.value
    assert exact.leakage_linear.value > 0.5


@pytest.mark.slow
def test_forests_of_very_many_codes_read_the_known_ones_and_nothing_from_noise():
    rep = noisy_world(2000, n_rows=500)
    read = fairness(rep, n_trees=5)
    assert read.leakage_forest.value > 0.6
    assert abs(read.parity.value) < 0.05
    noise = ub.Representation(rep.codes[:, 4:], {"y": rep.factors[0].numbers, "s": rep.factors[1].numbers})
    nothing = fairness(noise, n_trees=5)
    assert abs(nothing.leakage_forest.value) < 0.1
    assert abs(nothing.leakage_linear.value) < 0.1


@pytest.mark.slow
def test_trees_try_codes_that_tell_most_alone_and_predict_as_trees_of_all_codes_do(monkeypatch):
    rep = noisy_world(128, n_rows=600)
    every = fairness(rep, n_trees=10).leakage_forest
    monkeypatch.setattr(subject, "MOST_CODES_TRIED", 100)
    some = fairness(rep, n_trees=10).leakage_forest
    assert some.value == pytest.approx(every.value, abs=0.04)
    assert some.value != every.value


@pytest.mark.slow
def test_all_pairs_by_default():
    rep = world()
    both = fairness(rep).parity
    each = [fairness(rep, sensitive=s, target=y).parity.value for y, s in (("y", "s"), ("s", "y"))]
    assert both.value == pytest.approx(np.mean(each))
    assert both.per_factor == pytest.approx([each[1], each[0]])


def test_numbers_are_cut_into_classes():
    values = np.linspace(0, 1, 100)
    classes = as_classes(ub.Representation(np.eye(100)[:, :2], values[:, None]).factors[0], 5)
    assert np.bincount(classes.labels).tolist() == [20] * 5
    angle = ub.Representation(np.eye(100)[:, :2], values[:, None] * 359, kinds=["circular:360"]).factors[0]
    assert len(as_classes(angle, 4).levels) == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sensitive": "sex"}, "sensitive must name factors, of y, s, got 'sex'"),
        ({"target": "y,z"}, "target must name factors, of y, s, got 'z'"),
        ({"sensitive": "s", "target": "s"}, "sensitive and target must be different factors, got 's' for both"),
        ({"predictor": "svm"}, "predictor must be one of linear, forest, got 'svm'"),
        ({"n_cuts": 1}, "n_cuts must be at least 2"),
    ],
)
def test_what_is_refused(options, says):
    with pytest.raises(ValueError, match=says):
        fairness(world(100), **options)


@pytest.mark.slow
def test_the_panel_gives_intervals():
    report = ub.evaluate(
        world(600),
        metrics="fairness",
        options={"fairness": {"sensitive": "s", "target": "y"}},
        n_jobs=1,
        progress=False,
    )
    assert report["fairness.parity"].low <= report["fairness.parity"].value <= report["fairness.parity"].high
    assert report["fairness.leakage_linear"].low > 0.9


@pytest.mark.slow
def test_forests_grow_on_all_rows_and_so_read_fine_structure():
    """A board of 12 x 12 fields: trees of 600 rows have four rows a field."""
    rng = np.random.default_rng(0)
    codes = rng.random((4000, 2))
    board = (np.floor(12 * codes).sum(axis=1) % 2).astype(int)
    rep = ub.Representation(codes, {"board": board, "coin": rng.integers(0, 2, 4000)})
    read, luck = fairness(rep, n_trees=10).leakage_forest.per_factor
    assert read > 0.6
    assert luck < 0.1
