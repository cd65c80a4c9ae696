"""Held-out combinations: what is held out, and the gap to random rows."""

import numpy as np
import pytest

from unbraid import Representation
from unbraid.downstream import combination_split, solve, solve_all
from unbraid.study import load_study, pivot, run_study

RNG = np.random.default_rng(0)
PAIRS = RNG.integers(0, 5, (1200, 2))
PLACES = RNG.normal(size=(25, 6))
FACTORS = {"a": PAIRS[:, 0], "b": PAIRS[:, 1]}
APART = Representation(PAIRS + 0.05 * RNG.normal(size=PAIRS.shape), FACTORS)
FUSED = Representation(PLACES[5 * PAIRS[:, 0] + PAIRS[:, 1]], FACTORS)


def test_combinations_are_on_one_side_and_each_value_is_on_both():
    split = combination_split(APART.factors, seed=1)
    train, test = ({tuple(row) for row in PAIRS[rows]} for rows in (split.train, split.test))
    assert not train & test
    assert {a for a, _ in train} == {b for _, b in train} == set(range(5))
    for column in (0, 1):
        for value in range(5):
            assert sum(pair[column] == value for pair in train) >= 3
    assert sorted([*split.train, *split.test]) == list(range(1200))
    assert 0.2 < len(split.test) / 1200 <= 0.35
    again = combination_split(APART.factors, seed=1)
    np.testing.assert_array_equal(split.train, again.train)
    assert set(combination_split(APART.factors, seed=2).test) != set(split.test)


def test_numbers_are_cut_into_ranges_and_rows_without_labels_left_out():
    x, y = RNG.random((2, 500))
    y[:50] = np.nan
    rep = Representation(np.column_stack([x, x]), {"x": x, "y": y})
    split = combination_split(rep.factors)
    assert min(*split.train, *split.test) == 50
    cells = [{(int(5 * x[row]), int(5 * y[row])) for row in rows} for rows in (split.train, split.test)]
    assert len(cells[1] - cells[0]) >= 3


def test_codes_that_compose_have_no_gap_and_codes_that_do_not_have_one():
    composed = solve(APART, "factors", predictor="forest", split="combinations")
    looked_up = solve(FUSED, "factors", predictor="forest", split="combinations")
    assert abs(composed.gap) < 0.02
    assert looked_up.gap > 0.5
    assert solve(APART, "factors", predictor="linear").gap is None


def test_a_table_has_the_gap_beside_each_row():
    table = solve_all(
        FUSED, tasks=["factors"], predictors=["forest"], train_sizes=[200, None], split="combinations", progress=False
    ).set_index(["name", "factor", "n_rows"])
    assert set(table.index.get_level_values("name")) == {"factors@combinations", "factors@gap"}
    whole = table.xs("", level="factor").value
    size = int(whole.index.get_level_values("n_rows").max())
    one = solve(FUSED, "factors", predictor="forest", split="combinations")
    assert whole["factors@gap", size] == pytest.approx(one.gap)
    assert whole["factors@combinations", size] == pytest.approx(one.value)


def test_factors_can_be_named():
    third = {**FACTORS, "c": RNG.integers(0, 5, 1200)}
    rep = Representation(np.column_stack([PAIRS, third["c"]]) + 0.0, third)
    found = solve(rep, "factor:a", predictor="linear", split="combinations", combinations=["b", "c"])
    assert found.value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"split": "values"}, "split"),
        ({"split": "rows", "combinations": ["a", "b"]}, "combinations must be left out"),
        ({"split": "combinations", "test_rows": 20}, "test_rows must be left out"),
        ({"split": "combinations", "combinations": ["a"]}, "at least two factors, got 1"),
        ({"split": "combinations", "combinations": ["a", "d"]}, "factor 'd' is not one of a, b"),
    ],
)
def test_bad_options(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        solve(APART, "factors", predictor="linear", **options)


def test_too_few_combinations():
    coins = RNG.integers(0, 2, (15, 2))
    rep = Representation(coins + 0.0, coins)
    with pytest.raises(ValueError, match="name factors of more values, or give more rows"):
        solve(rep, "factors", predictor="linear", split="combinations")


@pytest.mark.slow
def test_a_study_has_the_gap_as_a_task(tmp_path):
    codes = tmp_path / "codes"
    codes.mkdir()
    for name, rep in (("apart", APART), ("fused", FUSED)):
        np.savez(codes / f"{name}.npz", codes=rep.codes, factors=PAIRS)
    spec = tmp_path / "study.yaml"
    spec.write_text(
        f"name: gaps\nrepresentations: {{folder: {codes}}}\nscores: {{metrics: [mig]}}\n"
        "tasks:\n  - {tasks: [factors], predictors: [forest]}\n"
        "  - {tasks: [factors], predictors: [forest], split: combinations}\n",
        encoding="utf-8",
    )
    table = run_study(load_study(spec), tmp_path / "store", workers=1, progress=False).table()
    rows = table[(table.kind == "task") & (table.factor == "")].set_index(["family", "name"]).value
    assert rows["fused", "factors@gap"] > 0.5 > 0.05 > abs(rows["apart", "factors@gap"])
    assert rows["apart", "factors"] > 0.9
    assert any("factors@gap" in column for column in pivot(table).tasks)
    spec.write_text(spec.read_text().replace("combinations", "values"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"split must be one of rows, combinations"):
        load_study(spec)
