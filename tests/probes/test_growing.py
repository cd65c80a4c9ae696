"""Trees of wide codes grow on data sets that are put together from single codes."""

import numpy as np
import pytest

from unbraid.metrics import dci_boosting
from unbraid.probes import effects, growing
from unbraid.probes.bins import N_BINS, bins_of
from unbraid.probes.growing import Grower, SharedColumns

RNG = np.random.default_rng(0)
BINS = bins_of(RNG.normal(size=(700, 90)))
TARGETS = BINS[:, 7] / N_BINS + RNG.normal(size=700)
TRIED = np.array([3, 7, 40, 88])
GROWER = Grower(
    settings=lambda n_rows: {"num_leaves": 8, "min_data_in_leaf": 10, "objective": "regression"}, n_rounds=5
)


def predicted(columns: SharedColumns, rows: np.ndarray) -> np.ndarray:
    data, n_rows = columns.data(rows, TRIED, TARGETS[rows])
    return GROWER.finished(GROWER.started(data, n_rows, 0), n_rows).predict(BINS[:, TRIED])


def test_trees_of_joined_columns_are_those_of_a_matrix(monkeypatch):
    rows = np.flatnonzero(RNG.random(700) < 0.6)
    joined = predicted(SharedColumns(BINS, N_BINS), rows)
    monkeypatch.setattr(growing, "MOST_KEPT", 0)
    np.testing.assert_array_equal(joined, predicted(SharedColumns(BINS, N_BINS), rows))
    assert joined.std() > 0


def test_the_next_codes_are_not_taken_for_the_last():
    columns, rows = SharedColumns(BINS, N_BINS), np.arange(700)
    first = predicted(columns, rows)
    columns.data(rows, np.array([1, 2]), TARGETS)
    np.testing.assert_array_equal(predicted(columns, rows), first)


def test_only_rows_of_the_pool_train():
    pool = np.arange(0, 700, 2)
    columns = SharedColumns(BINS, N_BINS, pool=pool)
    assert columns.data(np.arange(101), TRIED, TARGETS[:101])[1] == 51
    np.testing.assert_array_equal(predicted(columns, np.arange(700)), predicted(SharedColumns(BINS, N_BINS), pool))


def test_memory_is_set_aside_for_leaves_that_the_rows_of_a_tree_can_fill():
    bagged = {"boosting": "rf", "bagging_fraction": 0.1, "bagging_freq": 1, "num_leaves": 2048, "min_data_in_leaf": 10}
    grower = Grower(settings=lambda n_rows: bagged | {"objective": "regression"}, n_rounds=1)
    data, n_rows = SharedColumns(BINS, N_BINS).data(np.arange(700), TRIED, TARGETS)
    assert grower.started(data, n_rows, 0).params["num_leaves"] == 10


@pytest.mark.slow
@pytest.mark.parametrize(("module", "limit", "value"), [(effects, "PATIENCE", 1000), (growing, "MOST_KEPT", 0)])
def test_boosting_to_the_end_and_from_a_matrix_scores_the_same(monkeypatch, module, limit, value):
    factors = RNG.normal(size=(1200, 2))
    codes = RNG.normal(size=(1200, 80))
    codes[:, :4] += np.repeat(factors, 2, axis=1)
    usual = [float(score) for score in dci_boosting(codes, factors)]
    monkeypatch.setattr(module, limit, value)
    assert [float(score) for score in dci_boosting(codes, factors)] == usual
