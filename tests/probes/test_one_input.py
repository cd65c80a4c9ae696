"""Forests of one input that grow side by side are those whose trees grow one by one."""

import numpy as np
import pytest

from unbraid.probes import one_input
from unbraid.probes.one_input import predict_from_one
from unbraid.probes.trees import Forest, as_tree_input, bootstrap, grow_tree

N_FORESTS, N_TREES, N_ROWS = 3, 4, 160
RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(N_FORESTS, N_ROWS))
CLASSES = RNG.integers(4, size=(N_FORESTS, N_ROWS))
WEIGHTS = np.array([[bootstrap(N_ROWS, N_ROWS, RNG) for _ in range(N_TREES)] for _ in range(N_FORESTS)])
#: Inputs that repeat never, often at one value, always, by less than trees tell apart, and on every row.
INPUTS = {
    "continuous": NORMAL,
    "sparse": np.maximum(NORMAL, 0.3),
    "thirds": np.round(3 * NORMAL) / 3,
    "nearly the same": np.round(3 * NORMAL) / 3 + 3e-8 * RNG.integers(4, size=NORMAL.shape),
    "constant": np.ones(NORMAL.shape),
}


def one_by_one(inputs, targets, tested, *, min_leaf, n_classes=0):
    found = []
    for f in range(len(inputs)):
        known = as_tree_input(inputs[f][:, None])
        settings = {"seed": 0, "n_classes": n_classes, "min_samples_leaf": min_leaf}
        trees = [grow_tree(known, targets[f], weights=weights, **settings) for weights in WEIGHTS[f]]
        found.append(Forest(trees).predict(tested[f][:, None]))
    return np.array(found)


@pytest.mark.parametrize("min_leaf", [1, 5])
@pytest.mark.parametrize("kind", INPUTS)
def test_numbers_are_predicted_as_by_trees_that_grow_one_by_one(kind, min_leaf):
    inputs, targets = INPUTS[kind], np.sin(2 * NORMAL)[..., None] + RNG.normal(size=(N_FORESTS, N_ROWS, 2))
    tested = INPUTS[kind][::-1]
    found = predict_from_one(inputs, targets, tested, WEIGHTS, min_leaf=min_leaf)
    np.testing.assert_allclose(found, one_by_one(inputs, targets, tested, min_leaf=min_leaf), atol=1e-12)
    assert kind == "constant" or found.std() > 0.1


@pytest.mark.parametrize("squared", [one_input.MOST_SQUARED, 1])
@pytest.mark.parametrize("kind", INPUTS)
def test_classes_are_predicted_to_the_last_tie(kind, squared, monkeypatch):
    """In single precision and, where whole numbers are too large for it, in double precision."""
    monkeypatch.setattr(one_input, "MOST_SQUARED", squared)
    for labels in (CLASSES, np.digitize(NORMAL, [0, 1])):
        found = predict_from_one(INPUTS[kind], labels, INPUTS[kind][::-1], WEIGHTS, min_leaf=5, n_classes=4)
        expected = one_by_one(INPUTS[kind], labels, INPUTS[kind][::-1], min_leaf=5, n_classes=4)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=2), 1)


def test_a_forest_does_not_depend_on_those_beside_it():
    targets = NORMAL[..., None] ** 2
    together = predict_from_one(INPUTS["sparse"], targets, NORMAL, WEIGHTS, min_leaf=5)
    for f in range(N_FORESTS):
        own = slice(f, f + 1)
        alone = predict_from_one(INPUTS["sparse"][own], targets[own], NORMAL[own], WEIGHTS[own], min_leaf=5)
        np.testing.assert_allclose(alone[0], together[f], atol=1e-12)


@pytest.mark.parametrize(("at_once", "longest"), [(1, 1.0), (10**6, 50.0)])
def test_how_many_nodes_are_compared_at_once_does_not_matter(at_once, longest, monkeypatch):
    expected = predict_from_one(NORMAL, CLASSES, NORMAL, WEIGHTS, min_leaf=2, n_classes=4)
    monkeypatch.setattr(one_input, "AT_ONCE", at_once)
    monkeypatch.setattr(one_input, "LONGEST", longest)
    found = predict_from_one(NORMAL, CLASSES, NORMAL, WEIGHTS, min_leaf=2, n_classes=4)
    np.testing.assert_array_equal(found, expected)


def test_a_step_is_found_halfway_between_the_rows_beside_it():
    inputs, weights = np.array([[0.0, 1.0, 2.0, 4.0, 5.0, 6.0]]), np.ones((1, 1, 6))
    targets = np.where(inputs > 3, 10.0, -2.0)[..., None]
    found = predict_from_one(inputs, targets, np.array([[-9.0, 3.0, 3.01, 99.0]]), weights, min_leaf=3)
    np.testing.assert_allclose(found[0, :, 0], [-2, -2, 10, 10])
    found = predict_from_one(inputs, targets, inputs, weights, min_leaf=4)  # too few rows on either side
    np.testing.assert_allclose(found, 4)
