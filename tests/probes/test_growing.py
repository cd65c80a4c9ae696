"""Trees of wide codes grow on data sets that are put together from single codes."""

import lightgbm
import numpy as np
import pytest

from unbraid.metrics import dci_boosting, dci_forest
from unbraid.probes import boosters, effects, growing
from unbraid.probes.bins import N_BINS, bins_of
from unbraid.probes.growing import Grower, SharedCodes, SharedColumns

RNG = np.random.default_rng(0)
BINS = bins_of(RNG.normal(size=(700, 90)))
TARGETS = BINS[:, 7] / N_BINS + RNG.normal(size=700)
TRIED = np.array([3, 7, 40, 88])
GROWER = Grower(
    settings=lambda n_rows: {"num_leaves": 8, "min_data_in_leaf": 10, "objective": "regression"}, n_rounds=5
)


def predicted(columns: SharedColumns, rows: np.ndarray) -> np.ndarray:
    data = columns.data(rows, TRIED, TARGETS[rows])
    model = GROWER.finished(GROWER.started(data, 0), data.n_rows)
    return lightgbm.Booster(model_str=model.text()).predict(BINS[:, TRIED])


def test_trees_of_joined_columns_are_those_of_a_matrix(monkeypatch):
    rows = np.flatnonzero(RNG.random(700) < 0.6)
    joined = predicted(SharedColumns(BINS, N_BINS), rows)
    monkeypatch.setattr(growing, "MOST_KEPT", 0)
    np.testing.assert_array_equal(joined, predicted(SharedColumns(BINS, N_BINS), rows))
    assert joined.std() > 0


def test_trees_of_few_codes_are_those_that_lightgbm_grows_on_the_same_rows_and_bins():
    codes, rows = RNG.normal(size=(700, 5)), np.arange(0, 700, 2)
    targets = codes[:, 1] + RNG.normal(size=700)
    shared = SharedCodes(codes, 16)
    model = GROWER.finished(GROWER.started(shared.data(rows, np.arange(5), targets[rows]), 0), len(rows))
    settings = GROWER.settings(len(rows)) | growing.QUIET | {"deterministic": True, "seed": 0}
    data = lightgbm.Dataset(codes, targets, params=growing.QUIET | {"max_bin": 16}).subset(rows)
    usual = lightgbm.train(settings, data, GROWER.n_rounds)
    np.testing.assert_array_equal(
        model.leaves(shared.cells(rows, np.arange(5))), usual.predict(codes[rows], pred_leaf=True)
    )
    assert usual.predict(codes).std() > 0


def test_a_long_text_is_read_whole(monkeypatch):
    data = SharedColumns(BINS, N_BINS).data(np.arange(700), TRIED, TARGETS)
    model = GROWER.finished(GROWER.started(data, 0), 700)
    whole = model.text()
    monkeypatch.setattr(boosters, "USUAL_TEXT", 10)
    assert model.text() == whole
    assert whole.count("\nTree=") == 5
    assert model.text(2).count("\nTree=") == model.leaves(BINS[:, TRIED], 2).shape[1] == 2
    np.testing.assert_array_equal(model.without_rows().leaves(BINS[:, TRIED]), model.leaves(BINS[:, TRIED]))


def test_what_lightgbm_refuses_is_raised():
    with pytest.raises(lightgbm.basic.LightGBMError):
        SharedColumns(BINS, N_BINS).data(np.arange(700), TRIED, TARGETS[:5])


def test_constant_codes_are_no_obstacle():
    codes, factors = np.ones((300, 3)), RNG.normal(size=(300, 2))
    codes[0] = 2.0
    for score in (*dci_boosting(codes, factors), *dci_forest(codes, factors, n_trees=5)):
        assert float(score) == 0


def test_the_next_codes_are_not_taken_for_the_last():
    columns, rows = SharedColumns(BINS, N_BINS), np.arange(700)
    first = predicted(columns, rows)
    columns.data(rows, np.array([1, 2]), TARGETS)
    np.testing.assert_array_equal(predicted(columns, rows), first)


def test_only_rows_of_the_pool_train():
    pool = np.arange(0, 700, 2)
    columns = SharedColumns(BINS, N_BINS, pool=pool)
    assert columns.data(np.arange(101), TRIED, TARGETS[:101]).n_rows == 51
    np.testing.assert_array_equal(predicted(columns, np.arange(700)), predicted(SharedColumns(BINS, N_BINS), pool))


def test_memory_is_set_aside_for_leaves_that_the_rows_of_a_tree_can_fill():
    bagged = {"boosting": "rf", "bagging_fraction": 0.1, "bagging_freq": 1, "num_leaves": 2048, "min_data_in_leaf": 10}
    grower = Grower(settings=lambda n_rows: bagged | {"objective": "regression"}, n_rounds=1)
    data = SharedColumns(BINS, N_BINS).data(np.arange(700), TRIED, TARGETS)
    assert grower.started(data, 0).settings["num_leaves"] == 12


@pytest.mark.slow
@pytest.mark.parametrize("n_codes", [8, 80])
@pytest.mark.parametrize(
    ("module", "limit", "value"),
    [(effects, "PATIENCE", 1000), (effects, "MOST_TOGETHER", 0), (growing, "MOST_KEPT", 0)],
)
def test_boosting_to_the_end_alone_and_from_a_matrix_scores_the_same(monkeypatch, n_codes, module, limit, value):
    factors = RNG.normal(size=(1200, 2))
    codes = RNG.normal(size=(1200, n_codes))
    codes[:, :4] += np.repeat(factors, 2, axis=1)
    usual = [float(score) for score in dci_boosting(codes, factors)]
    monkeypatch.setattr(module, limit, value)
    assert [float(score) for score in dci_boosting(codes, factors)] == usual


@pytest.mark.slow
@pytest.mark.parametrize("metric", [dci_forest, dci_boosting])
def test_factors_spread_over_many_codes_are_told_from_luck_among_wide_ones(metric):
    """Three factors mixed into sixty codes, among as many codes of noise as a third of the rows; and few of it."""

    def disentanglement(n_rows: int, n_noise: int) -> float:
        rng = np.random.default_rng(5)
        mixing = rng.normal(size=(3, 60))
        factors = rng.integers(0, 4, (n_rows, 3))
        codes = factors @ mixing + rng.normal(size=(n_rows, 60))
        found = metric(np.hstack([codes, rng.normal(size=(n_rows, n_noise))]), factors)
        return found.disentanglement.value

    assert disentanglement(1500, 452) == pytest.approx(disentanglement(10_000, 20), abs=0.15)
