"""The table of all tasks has the words of a study, shares what it can, and says what failed."""

import numpy as np
import pytest

from unbraid import Representation
from unbraid.downstream import solve, solve_all
from unbraid.study.table import SCHEMA

RNG = np.random.default_rng(0)
X, Y = RNG.integers(0, 12, size=(2, 400))
SHAPE = RNG.choice(["disc", "box", "star"], size=400)
REP = Representation(np.column_stack([X + Y, X - Y, SHAPE == "box"]), {"shape": SHAPE, "x": X, "y": Y})
TASKS = ["factors", "factor:x", "position_cartesian", "position_polar"]


@pytest.fixture(scope="module")
def table():
    return solve_all(REP, tasks=TASKS, predictors=["linear", "boosting"], train_sizes=[0.25, 200, None], seed=2)


def test_columns_are_those_of_a_study(table):
    assert list(table.columns) == ["name", "predictor", "factor", "n_rows", "value", "chance", "failure", "seconds"]
    assert set(table.columns) <= set(SCHEMA.names)
    assert (table.failure == "").all()


def test_a_row_for_the_whole_and_for_each_part(table):
    assert len(table) == 3 * 2 * (4 + 1 + 3 + 3)
    assert sorted(table.n_rows.unique()) == [70, 200, 280]
    polar = table[(table.name == "position_polar") & (table.predictor == "boosting") & (table.n_rows == 280)]
    assert polar.factor.tolist() == ["", "radius", "angle"]
    assert polar.value.iloc[0] == pytest.approx(polar.value.iloc[1:].mean())


@pytest.mark.parametrize("size", [0.25, 200, None])
def test_numbers_are_those_of_one_task_alone(table, size):
    n_rows = {0.25: 70, 200: 200, None: 280}[size]
    for name in TASKS:
        alone = solve(REP, name, predictor="boosting", n_train=size, seed=2)
        row = table[
            (table.name == name) & (table.predictor == "boosting") & (table.factor == "") & (table.n_rows == n_rows)
        ]
        assert row.value.item() == alone.value
        assert row.chance.item() == alone.blind


def test_a_factor_asked_for_twice_is_predicted_once(monkeypatch):
    from unbraid.downstream import evaluation as _solve

    asked = []
    real = _solve._solve_part
    monkeypatch.setattr(
        _solve, "_solve_part", lambda bench, factor, by: asked.append(factor.name) or real(bench, factor, by)
    )
    solve_all(REP, tasks=["factors", "factor:x", "position_cartesian"], predictors=["linear"])
    assert asked == ["shape", "x", "y"]


def test_what_fails_says_why_and_the_rest_goes_on():
    table = solve_all(
        REP, tasks=["segmentation", "factor:size", "factor:x"], predictors=["linear"], train_sizes=[5, 5000, None]
    ).set_index(["name", "n_rows"])
    assert table.failure["factor:x", 5].startswith("n_train must leave at least 10 rows")
    assert table.failure["factor:x", 5000].startswith("n_train must be at most 280")
    assert table.failure["segmentation", 280].startswith("segmentation needs pictures")
    assert table.failure["factor:size", 280].startswith("task 'factor:size' must name one of the factors shape, x, y")
    assert table.failure["factor:x", 280] == ""
    assert np.isnan(table.value.drop(("factor:x", 280))).all()
    assert table.value["factor:x", 280] == pytest.approx(1, abs=1e-6)


def test_what_breaks_says_so_and_the_rest_goes_on(monkeypatch):
    def broken(*arguments):
        raise RuntimeError("no memory left")

    monkeypatch.setattr("unbraid.downstream.predictors.fit_forest", broken)
    table = solve_all(REP, tasks=["factor:x"], predictors=["forest", "linear"])
    assert table.failure.tolist() == ["RuntimeError: no memory left", ""]


def test_all_there_is_by_default():
    table = solve_all(REP, predictors=["linear"])
    assert set(table.name) == {
        "factors",
        "factors_as_classes",
        "position_cartesian",
        "position_polar",
        "position_polar_centre",
        "factor:shape",
        "factor:x",
        "factor:y",
    }


def test_bad_input():
    with pytest.raises(ValueError, match="did you mean 'factors'"):
        solve_all(REP, tasks=["facters"])
    with pytest.raises(ValueError, match="did you mean 'linear'"):
        solve_all(REP, predictors=["linea"])
    with pytest.raises(TypeError, match=r"tasks must be a list of names, got the text 'factors'; give \['factors'\]"):
        solve_all(REP, tasks="factors")
    with pytest.raises(TypeError, match=r"n_train must be a number of rows, .* got 'all'"):
        solve_all(REP, tasks=["factors"], train_sizes=["all"])
    with pytest.raises(ValueError, match=r"n_train must be a share in \(0, 1\]"):
        solve_all(REP, tasks=["factors"], train_sizes=[2.5])
