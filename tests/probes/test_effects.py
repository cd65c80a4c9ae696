import lightgbm
import numpy as np
import pytest

from unbraid.probes.effects import SharedLines, Trees, TreeTask, fit_boosting_by_effects, fit_forest_by_effects
from unbraid.probes.growing import Grower, SharedCodes
from unbraid.probes.importance import beyond_chance, in_errors
from unbraid.probes.trees import ForestOptions, forest_importance
from unbraid.representation.factor import make_factor
from unbraid.representation.representation import Representation

RNG = np.random.default_rng(0)
CODES = RNG.normal(size=(600, 4))
TARGETS = CODES[:, 0] + 0.3 * CODES[:, 1] ** 2 + 0.1 * RNG.normal(size=600)
SETTINGS = {"verbose": -1, "num_threads": 1, "num_leaves": 12, "min_data_in_leaf": 5, "objective": "regression"}


def train(codes, targets, seed, n_rounds=8, **settings):
    return lightgbm.train(SETTINGS | settings | {"seed": seed}, lightgbm.Dataset(codes, targets), n_rounds)


class TestTrees:
    model = train(CODES, TARGETS, 0)
    trees = Trees.of(model.model_to_string())
    leaves = np.asarray(model.predict(CODES, pred_leaf=True), dtype=int) + trees.first_leaf

    def test_leaves_sum_to_the_prediction_of_the_model(self):
        np.testing.assert_allclose(self.trees.value[self.leaves].sum(axis=1), self.model.predict(CODES), rtol=1e-9)

    def test_contributions_and_the_root_sum_to_the_prediction(self):
        parts = self.trees.contributions(self.leaves, 4, 8)
        start = self.trees.value[self.trees.roots].sum()
        np.testing.assert_allclose(parts.sum(axis=1) + start, self.model.predict(CODES), rtol=1e-9)

    def test_contributions_in_several_steps_are_the_same(self, monkeypatch):
        whole = self.trees.contributions(self.leaves, 4, 8)
        monkeypatch.setattr("unbraid.probes.effects.CELLS", 1)
        np.testing.assert_allclose(self.trees.contributions(self.leaves, 4, 8), whole, atol=1e-12)

    def test_a_tree_cut_back_is_the_tree_grown_so_far(self):
        small = train(CODES, TARGETS, 0, n_rounds=1, num_leaves=5)
        large = train(CODES, TARGETS, 0, n_rounds=1)
        trees = Trees.of(large.model_to_string())
        leaves = np.asarray(large.predict(CODES, pred_leaf=True), dtype=int) + trees.first_leaf
        np.testing.assert_allclose(trees.cut_values(4)[leaves], small.predict(CODES)[:, None], rtol=1e-6)

    def test_a_tree_without_a_split_is_a_constant(self):
        trees = Trees.of(train(CODES, np.ones(600), 0, n_rounds=1).model_to_string())
        assert len(trees.code) == 0
        np.testing.assert_allclose(trees.value[trees.roots], 1.0)


@pytest.mark.parametrize("kind", ["continuous", "categorical"])
def test_effects_are_those_of_the_codes_that_matter(kind):
    values = TARGETS if kind == "continuous" else np.digitize(TARGETS, [-0.5, 0.5])
    factor = make_factor(values, name="v", kind=kind)
    bagged = SETTINGS | {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}

    def how(settings, n_rounds):
        grower = Grower(settings=lambda n_rows: dict(settings), n_rounds=n_rounds)
        return TreeTask(bins=SharedCodes(CODES), grower=grower, n_codes=4, lines=SharedLines(CODES))

    forest, _ = fit_forest_by_effects(factor, n_folds=3, how=how(bagged, 8), rng=np.random.default_rng(1))
    boosted = fit_boosting_by_effects(factor, n_folds=3, how=how(SETTINGS, 40), rng=np.random.default_rng(1))
    for fit in (forest, boosted):
        ratios = in_errors(fit.sizes, fit.errors).max(axis=1)
        assert ratios[0] > 8
        assert max(ratios[2:]) < 4
        assert fit.informativeness > 0.6


class TestBeyondChance:
    def test_where_few_matter_noise_is_dropped(self):
        ratios = np.abs(RNG.normal(size=(8, 5)))
        ratios[range(5), range(5)] = 40.0
        (kept,) = beyond_chance([ratios])
        assert kept[range(5), range(5)].all()
        assert not kept[ratios < 1].any()
        assert kept.sum() < 15

    def test_where_most_matter_small_ones_are_kept(self):
        ratios = np.abs(4 * RNG.normal(size=(5, 5))) + 1.0
        (kept,) = beyond_chance([ratios])
        assert kept.all()

    def test_unknown_ratios_stay_unknown(self):
        assert beyond_chance([None, None]) == [None, None]


def test_trees_that_stop_at_the_largest_size_are_reported(monkeypatch):
    monkeypatch.setattr("unbraid.probes.trees.MAX_LEAVES", 4)
    rep = Representation(CODES, {"v": CODES[:, 0]})
    found = forest_importance(rep, ForestOptions(n_trees=5), np.random.default_rng(0))
    assert found.leaves_a_tree == 4
