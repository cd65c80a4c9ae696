"""Scores of one model at further sample sizes."""

import numpy as np
import pytest

from helpers.inline_engine import InlineEngine
from helpers.study_tables import row, table
from unbraid.study import Store, convergence, convergence_of_few, make_plan, parse_study, pivot, status
from unbraid.study.run import run_jobs
from unbraid.study.state import keep_study

STUDY = """
name: converging
data: [sprites_mini]
rows: 300
models: [{family: beta_vae, hyperparameters: {beta: [1, 4, 8]}}]
seeds: 2
training: {n_steps: 2, n_codes: 3, width: 4, batch: 8, learning_rate: 1e-3}
scores: {metrics: [mig, sap], rows: [1.0, 105], convergence: [0.25, 0.5, 0.75]}
tasks: [{tasks: ["factor:shape"], predictors: [linear]}]
agreement: {methods: [spearman], rows: 100}
"""


def test_only_the_first_model_is_scored_at_further_sizes():
    plan = make_plan(parse_study(STUDY))
    sizes = {
        model.label: sorted({one.n_rows for one in plan.measurements_of(model) if one.kind == "score"})
        for model in plan.models
    }
    first, *others = sizes.values()
    assert first == [52, 105, 158, 210]  # half of 210 rows are measured already
    assert others == [[105, 210]] * 5
    agreed = [[one.n_rows for one in plan.agreements(group)] for group in plan.settings]
    assert agreed == [[100, 25, 50, 75], [100], [100]]


def test_keys_of_other_measurements_do_not_change():
    with_sizes, without = (
        make_plan(parse_study(text)) for text in (STUDY, STUDY.replace(", convergence: [0.25, 0.5, 0.75]", ""))
    )
    keys = {key for key, _, _ in without.wanted(set())}
    assert keys < {key for key, _, _ in with_sizes.wanted(set())}


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ("[0.5, 2]", "line 8: scores.convergence must be shares between 0 and 1 of the largest size, got 2"),
        ("[0.05]", "line 8: rows of scores.convergence must be at least 10, got 5"),
    ],
)
def test_bad_sizes_are_refused(sizes, words):
    with pytest.raises(ValueError, match=words):
        parse_study(STUDY.replace("[0.25, 0.5, 0.75]", sizes))


@pytest.mark.slow
def test_a_study_measures_them_and_counts_them(tmp_path):
    store, plan = Store(tmp_path / "store"), make_plan(parse_study(STUDY))
    keep_study(plan.study, store)
    state = run_jobs(status(store, plan), InlineEngine())
    assert state.is_complete
    parts = state.summary()["parts"]
    assert parts["scores"]["done"] == parts["scores"]["wanted"] == 2 * (2 * 6 + 2)
    assert parts["agreement"]["done"] == parts["agreement"]["wanted"] == 2 * (4 + 2)
    rows = state.table()
    found = convergence_of_few(rows).set_index(["column", "n_rows"])
    assert found.loc["mig", "models"].to_dict() == {52: 1, 105: 1, 158: 1, 210: 1}
    assert found.loc["udr_spearman", "models"].to_dict() == {25: 2, 50: 2, 75: 2, 100: 2}
    assert sorted(convergence(rows).query("column == 'mig'")["n_rows"]) == [105, 210]
    assert pivot(rows).values["mig"].notna().all()


def test_few_models_have_their_own_curve():
    rows = [row(f"m{k}", float(k), n_rows=n, seed=k) for k in range(5) for n in (10, 1000)]
    rows += [row("m0", value, n_rows=n) for n, value in ((100, 0.5), (500, 0.25))]
    found = convergence_of_few(table(rows))
    assert found[["n_rows", "mean", "models"]].to_numpy().tolist() == [
        [10, 0, 1],
        [100, 0.5, 1],
        [500, 0.25, 1],
        [1000, 0, 1],
    ]
    assert sorted(convergence(table(rows))["n_rows"]) == [10, 1000]
    assert np.isclose(convergence(table(rows))["mean"], 2).all()
    assert convergence_of_few(table(rows[:10])).empty
