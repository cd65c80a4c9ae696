"""UniBound: partial information of examples on paper, and what a forest sees of them."""

import numpy as np
import pytest

import unbraid as ub
from helpers.worlds import full_grid, random_factors
from unbraid import Representation
from unbraid.evidence import joint_information
from unbraid.evidence.joint_information import JointInformation, JointOptions
from unbraid.metrics import mig, unibound
from unbraid.metrics.information.unibound import partial_information, unibound_score
from unbraid.probes.splits import cross_fit_splits
from unbraid.probes.trees import Forest, as_tree_input, bootstrap, grow_tree

BITS = full_grid(2, 2, 2).repeat(4, axis=0)
FACTORS = random_factors(4, 5, 6, n_samples=1500)


def counted(codes, factors):
    return unibound(codes, factors, estimator="counts")


def test_separated_codes_are_unique_to_the_last_digit():
    grid = full_grid(4, 3, 5)
    score = counted(grid + 0.0, grid)
    assert float(score) == pytest.approx(1.0, abs=1e-12)
    for part in ("redundant", "synergistic"):
        np.testing.assert_allclose(score.evidence[part], 0.0, atol=1e-12)


def test_copies_are_redundant():
    score = counted(np.hstack([BITS, BITS]) + 0.0, BITS)
    assert float(score) == 0.0
    np.testing.assert_allclose(score.evidence["redundant"].max(axis=0), 1.0, atol=1e-12)
    np.testing.assert_allclose(score.evidence["unique_at_most"], 0.0, atol=1e-12)


def test_an_exclusive_or_is_synergy():
    """Neither of two bits tells anything of their exclusive or, and both tell all of it."""
    score = counted(BITS[:, :2] + 0.0, (BITS[:, 0] ^ BITS[:, 1])[:, None])
    assert float(score) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(score.evidence["synergistic"], 1.0, atol=1e-12)
    np.testing.assert_allclose(score.evidence["redundant_at_most"], 0.0, atol=1e-12)


def test_half_of_two_bits_is_unique_to_each():
    factor = 2 * BITS[:, 0] + BITS[:, 1]
    score = counted(BITS[:, :2] + 0.0, factor[:, None])
    assert float(score) == pytest.approx(0.0, abs=1e-12)  # either bit is worth as much as the other
    np.testing.assert_allclose(score.evidence["unique_at_most"], 0.5, atol=1e-12)


def test_bounds_of_given_information():
    found = JointInformation(
        alone=np.array([[0.6], [0.5]]),
        others=np.array([[0.5], [0.6]]),
        together=np.array([0.8]),
        factor_entropy=np.array([1.0]),
        active=np.array([True, False, True]),
    )
    parts = partial_information(found)
    np.testing.assert_allclose(parts["unique"], [[0.1], [0.0]])
    np.testing.assert_allclose(parts["unique_at_most"], [[0.3], [0.2]])
    np.testing.assert_allclose(parts["redundant"], [[0.3], [0.3]])
    np.testing.assert_allclose(parts["synergistic_at_most"], [[0.2], [0.2]])
    score = unibound_score(found)
    assert float(score) == pytest.approx(0.1)
    assert score.evidence["unique"].shape == (3, 1)
    assert "1 constant code" in score.notes[0]


@pytest.mark.slow
def test_a_forest_sees_a_rotated_copy_that_pairs_do_not():
    """The example of the paper: no single code of the copy tells much, all of them together tell everything."""
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    codes = np.hstack([FACTORS, FACTORS @ turn])
    assert float(unibound(FACTORS + 0.0, FACTORS)) > 0.97
    assert float(unibound(codes, FACTORS)) < 0.15
    assert float(mig(codes, FACTORS)) > 0.4


def one_by_one(codes, labels, some, options, seed):
    """Information of some codes from forests that are grown for them alone."""
    rng = np.random.default_rng(seed)
    shares, surprise = np.bincount(labels) / len(labels), np.zeros(len(labels))
    for split in cross_fit_splits(len(labels), "cross_fitted", 2, rng):
        inputs, known = as_tree_input(codes[split.train][:, some]), labels[split.train]
        sizes = {"n_classes": len(shares), "min_samples_leaf": options.min_leaf}
        draws = [(bootstrap(len(known), len(known), rng), int(rng.integers(2**31))) for _ in range(options.n_trees)]
        trees = [grow_tree(inputs, known, weights=weights, seed=own, **sizes) for weights, own in draws]
        mixed = 0.99 * Forest(trees).predict(codes[split.test][:, some]) + 0.01 * shares
        surprise[split.test] = -np.log(mixed[np.arange(len(split.test)), labels[split.test]])
    return max(0.0, -np.log(shares[labels]).mean() - surprise.mean())


@pytest.mark.parametrize("most_cells", [1, 10**6])
def test_forests_that_share_their_growth_are_those_that_grow_one_by_one(most_cells, monkeypatch):
    """Leaves are so large that no two splits are equally good, between which growth at once might choose otherwise."""
    monkeypatch.setattr(joint_information, "MOST_CELLS", most_cells)
    rng = np.random.default_rng(0)
    factors = FACTORS[:300]
    codes = np.column_stack([factors[:, 0], np.maximum(factors[:, 1] + rng.normal(size=300), 3), rng.normal(size=300)])
    codes[:, 0] += 0.3 * rng.normal(size=300)
    options = JointOptions(n_trees=3, min_leaf=12)
    child = np.random.default_rng(0).spawn(3)
    found = joint_information.joint_information(Representation(codes, factors), options, np.random.default_rng(0))
    for k in range(3):
        seed = int(child[k].integers(2**31))
        of_factor = codes, np.unique(factors[:, k], return_inverse=True)[1]
        alone = [one_by_one(*of_factor, [j], options, seed) for j in range(3)]
        others = [one_by_one(*of_factor, some, options, seed) for some in ([1, 2], [0, 2], [0, 1])]
        np.testing.assert_allclose(found.alone[:, k], alone, atol=1e-12)
        np.testing.assert_allclose(found.others[:, k], others, atol=1e-12)
        np.testing.assert_allclose(found.together[k], one_by_one(*of_factor, [0, 1, 2], options, seed), atol=1e-12)
    assert found.alone[:2].max() > 0.3
    assert np.abs(found.others - found.together).max() > 0.3


def test_one_code_has_no_others():
    codes = np.column_stack([FACTORS[:, 0], np.ones(len(FACTORS))])
    found = joint_information.joint_information(
        Representation(codes, FACTORS[:, :1]), JointOptions(n_trees=2), np.random.default_rng(0)
    )
    assert found.others.item() == 0
    assert found.alone.item() == pytest.approx(found.together.item())


@pytest.mark.slow
def test_the_panel_gives_interval_and_chance():
    rng = np.random.default_rng(0)
    for codes, beats in ((FACTORS + 0.1 * rng.normal(size=FACTORS.shape), True), (rng.normal(size=(1500, 3)), False)):
        score = ub.evaluate(codes, FACTORS, metrics="unibound", n_jobs=1, progress=False)["unibound"]
        assert score.low <= score.value <= score.high
        assert score.beats_chance is beats
        assert score.chance < 0.02


@pytest.mark.parametrize("options", [{"estimator": "knn"}, {"n_trees": 0}, {"max_rows": 5}])
def test_bad_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        unibound(BITS + 0.0, BITS, **options)
