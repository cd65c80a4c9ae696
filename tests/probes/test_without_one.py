"""Trees without one input are those that are grown without it."""

import numpy as np
import pytest

from unbraid.probes.trees import as_tree_input, bootstrap, grow_tree
from unbraid.probes.without_one import predictions_without_each

RNG = np.random.default_rng(0)
CODES, TESTED = (as_tree_input(RNG.normal(size=(n_rows, 6))) for n_rows in (200, 80))
WEIGHTS = bootstrap(200, 200, RNG)
#: Numbers; the last two inputs hardly matter. Two inputs may split a node of few rows alike, but not a larger one.
TARGETS = CODES @ [2.0, 1.0, 1.0, 0.5, 0.1, 0.0] + CODES[:, 0] * CODES[:, 1] + 0.01 * RNG.normal(size=200)


@pytest.mark.parametrize("min_leaf", [10, 60])
def test_predictions_are_those_of_trees_grown_without_the_input(min_leaf):
    grown = {"weights": WEIGHTS, "seed": 0, "min_samples_leaf": min_leaf}
    tree = grow_tree(CODES, TARGETS[:, None], **grown)
    whole = tree.values[tree.grown.apply(TESTED)]
    found = np.repeat(whole[None], 6, axis=0)
    for code, rows, predicted in predictions_without_each(tree, CODES, TARGETS[:, None], TESTED, **grown):
        np.testing.assert_array_equal(found[code, rows], whole[rows])  # no row is predicted twice
        found[code, rows] = predicted
    for code in range(6):
        without = grow_tree(np.delete(CODES, code, axis=1), TARGETS[:, None], **grown)
        expected = without.values[without.grown.apply(np.delete(TESTED, code, axis=1))]
        np.testing.assert_allclose(found[code], expected, atol=1e-12)
    assert np.abs(found[0] - whole).max() > 0.5


def test_what_is_given_stays_as_it_is():
    before = CODES.copy(), TESTED.copy()
    tree = grow_tree(CODES, TARGETS[:, None], weights=WEIGHTS, seed=0)
    list(predictions_without_each(tree, CODES, TARGETS[:, None], TESTED, weights=WEIGHTS, seed=0))
    np.testing.assert_array_equal(CODES, before[0])
    np.testing.assert_array_equal(TESTED, before[1])


@pytest.mark.parametrize(("targets", "n_classes"), [(TARGETS[:, None], 0), (np.digitize(TARGETS, [-1, 0, 2]), 4)])
def test_rows_of_no_weight_have_no_part_in_a_tree(targets, n_classes):
    drawn = np.flatnonzero(WEIGHTS)
    assert 0 < len(drawn) < len(WEIGHTS)
    grown = {"seed": 0, "n_classes": n_classes, "min_samples_leaf": 5}
    every = grow_tree(CODES, targets, weights=WEIGHTS, **grown)
    alone = grow_tree(CODES[drawn], targets[drawn], weights=WEIGHTS[drawn], **grown)
    np.testing.assert_array_equal(every.grown.threshold, alone.grown.threshold)
    np.testing.assert_array_equal(every.values, alone.values)
