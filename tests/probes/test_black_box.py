"""Importances of any probe: the measures agree on what is plain, and say what they cannot do."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from unbraid import Representation
from unbraid.probes.black_box import black_box_importance, resolve_measure
from unbraid.probes.capacity import (
    CapacityLevel,
    CapacityTask,
    EstimatorLadder,
    ForestLadder,
    FourierLadder,
    LinearLadder,
    MLPLadder,
)
from unbraid.probes.sage import SageOptions
from unbraid.probes.splits import capacity_split

FOREST = ForestLadder(depths=(2, 6), n_trees=10)
LINEAR = LinearLadder(n_directions=(1, 4))
QUICK = SageOptions(max_rows=256, n_background=16)


def world(n_samples=500, seed=0):
    """The first factor needs code 0, the second codes 1 and 2 alike; code 3 is noise."""
    rng = np.random.default_rng(seed)
    codes = rng.standard_normal((n_samples, 4))
    return Representation(codes, {"one": codes[:, 0].copy(), "two": codes[:, 1] + codes[:, 2]})


def task_of(rep):
    split = capacity_split(rep.factors, rep.n_samples, rng=np.random.default_rng(0))
    return CapacityTask(codes=rep.codes, factors=tuple(rep.factors), split=split)


def importance(ladder, measure, task, sage=QUICK, seed=0):
    probe = ladder.fit(task, rng=np.random.default_rng(seed)).probe(1)
    return black_box_importance(probe, measure, task, sage=sage, rng=np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("ladder", "measure"),
    [
        (FOREST, "gini"),
        (FOREST, "sage"),
        (FOREST, "permutation"),
        (LINEAR, "weights"),
        (LINEAR, "sage"),
        (LINEAR, "permutation"),
    ],
    ids=lambda part: getattr(part, "name", part),
)
def test_measures_agree_which_codes_matter(ladder, measure):
    found = importance(ladder, measure, task_of(world()))
    shares = found.values / found.values.sum(axis=0)
    assert found.measure == measure
    np.testing.assert_allclose(shares, [[1, 0], [0, 0.5], [0, 0.5], [0, 0]], atol=0.12)


def test_permutation_of_a_linear_probe_costs_twice_the_squared_weight():
    found = importance(LINEAR, "permutation", task_of(world(n_samples=4000)))
    expected = np.array([[2, 0], [0, 2], [0, 2], [0, 0]])
    np.testing.assert_allclose(found.values, expected, atol=0.2)
    assert (np.abs(found.values - expected) <= 4 * found.errors + 1e-4).all()


def test_categories_and_angles_have_importances_too():
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((500, 4))
    factors = {"sign": np.where(codes[:, 3] > 0, "p", "n"), "angle": np.arctan2(codes[:, 0], codes[:, 1])}
    task = task_of(Representation(codes, factors, kinds={"angle": "circular"}))
    for measure in ("sage", "permutation"):
        values = importance(FOREST, measure, task).values
        shares = values / values.sum(axis=0)
        np.testing.assert_allclose(shares, [[0, 0.5], [0, 0.5], [0, 0], [1, 0]], atol=0.15)


def test_no_importance_is_below_zero():
    rng = np.random.default_rng(0)
    task = task_of(Representation(rng.standard_normal((300, 4)), {"noise": rng.standard_normal(300)}))
    for measure in ("sage", "permutation"):
        assert (importance(FOREST, measure, task).values >= 0).all()


def test_sage_that_did_not_converge_names_the_factor():
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((300, 4))
    task = task_of(Representation(codes, {"clear": codes[:, 0].copy(), "noise": rng.standard_normal(300)}))
    notes = importance(LINEAR, "sage", task, sage=SageOptions(max_rows=128, tolerance=0.2)).notes
    assert notes == ("SAGE stopped after 128 rows before its standard error fell below 0.2 of the range for: noise.",)


def test_none_costs_nothing():
    found = importance(LINEAR, "none", task_of(world()))
    assert not found.values.any()


@pytest.mark.parametrize("measure", ["sage", "permutation"])
def test_factors_never_labelled_together(measure):
    codes = np.random.default_rng(0).standard_normal((200, 4))
    odd = np.arange(200) % 2 == 1
    factors = {"a": np.where(odd, codes[:, 0], np.nan), "b": np.where(odd, np.nan, codes[:, 1])}
    with pytest.raises(ValueError, match="importances need test rows on which every factor is labelled"):
        importance(LINEAR, measure, task_of(Representation(codes, factors)))


ESTIMATORS = EstimatorLadder(
    levels=(CapacityLevel(capacity=1, regressor=Ridge()), CapacityLevel(capacity=2, regressor=LinearRegression()))
)


@pytest.mark.parametrize(
    ("ladder", "measure"),
    [
        (FOREST, "gini"),
        (LINEAR, "weights"),
        (MLPLadder(), "sage"),
        (FourierLadder(), "permutation"),
        (ESTIMATORS, "sage"),
    ],
    ids=lambda part: getattr(part, "name", part),
)
def test_auto_is_what_suits_the_probes(ladder, measure):
    assert resolve_measure("auto", ladder) == measure


@pytest.mark.parametrize(
    ("ladder", "measure", "message"),
    [
        (MLPLadder(), "gini", "importance must be 'sage' or 'permutation' for the mlp ladder, got 'gini'"),
        (FOREST, "weights", "importance must be 'gini', 'sage' or 'permutation' for the forest ladder, got 'weights'"),
        (LINEAR, "gini", "importance must be 'weights', 'sage' or 'permutation' for the linear ladder, got 'gini'"),
        (FOREST, "sge", "importance must be one of auto, .*, got 'sge'; did you mean 'sage'"),
    ],
)
def test_a_measure_the_ladder_does_not_have(ladder, measure, message):
    with pytest.raises(ValueError, match=message):
        resolve_measure(measure, ladder)
