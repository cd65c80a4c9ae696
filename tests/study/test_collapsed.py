"""Models whose codes are all constant: models like others, without numbers, and no failures."""

import numpy as np
import pandas as pd
import pytest

from helpers.inline_engine import InlineEngine
from helpers.study_tables import study_with_collapsed_models
from unbraid.metrics import udr
from unbraid.report import study_page
from unbraid.study import Store, analyze, estimate_cost, make_plan, parse_study, pivot, status
from unbraid.study.plan import scored_rows
from unbraid.study.run import run_jobs
from unbraid.study.table import NOTHING_TO_MEASURE, FailureKind

N_ROWS = 120


@pytest.fixture
def folder(tmp_path):
    """Three files of one setting; the second has collapsed."""
    lines = ["file,dataset,family,hyperparameter,seed"]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        factors = rng.integers(0, 4, (N_ROWS, 2))
        codes = np.full((N_ROWS, 2), 0.3) if seed == 1 else factors + 0.3 * rng.normal(size=(N_ROWS, 2))
        np.savez(tmp_path / f"m{seed}.npz", codes=codes, factors=factors)
        lines.append(f"m{seed}.npz,d,f,1,{seed}")
    (tmp_path / "index.csv").write_text("\n".join(lines))
    return tmp_path


@pytest.fixture
def plan(folder):
    return make_plan(
        parse_study(
            f"name: given\nrepresentations: {{folder: {folder}, index: index.csv}}\n"
            f"scores: {{metrics: [mig, sap], rows: [{N_ROWS}, 60]}}\n"
            "tasks:\n  - {tasks: [factors], predictors: [linear]}\n"
            f"agreement: {{methods: [spearman], rows: {N_ROWS}}}\n"
        )
    )


@pytest.mark.slow
def test_a_collapsed_model_has_reasons_for_numbers_and_is_not_tried_again(plan, folder):
    store = Store(folder / "store")
    state = run_jobs(status(store, plan), InlineEngine())
    lost = state.table().query("seed == 1 and kind != 'agreement'")
    assert lost["failure_kind"].tolist() == [FailureKind.COLLAPSED] * 5  # two scores at two sizes and a task
    assert set(lost["failure"]) == {NOTHING_TO_MEASURE.reason}
    assert lost["value"].isna().all()
    assert not state.missing
    summary = state.summary()
    assert summary["collapsed"] == {"count": 1, "example": "f 1 seed 1 on d"}
    assert summary["failures"] == []
    assert summary["parts"]["models"] == {"wanted": 3, "done": 3, "failed": 0, "missing": 0}
    assert summary["parts"]["scores"] == {"wanted": 8, "done": 8, "failed": 0, "missing": 0}
    assert estimate_cost(state).n_measurements == 0
    again = InlineEngine()
    run_jobs(status(store, plan), again)
    assert again.ran == []


def test_it_agrees_with_no_other_model_and_costs_the_others_nothing_but_that(plan, folder):
    table = run_jobs(status(Store(folder / "store"), plan), InlineEngine()).table().query("kind == 'agreement'")
    codes = [np.load(folder / f"m{seed}.npz")["codes"] for seed in range(3)]
    rows = scored_rows(plan.study, N_ROWS, N_ROWS)
    expected = udr([one[rows] for one in codes], method="spearman").per_model
    assert expected[1] == 0 < expected[0]
    np.testing.assert_array_equal(table.sort_values("seed")["value"], expected)


def test_a_setting_that_collapsed_altogether_agrees_in_nothing(plan, folder):
    for seed in (0, 2):
        factors = np.load(folder / f"m{seed}.npz")["factors"]
        np.savez(folder / f"m{seed}.npz", codes=np.full((N_ROWS, 2), float(seed)), factors=factors)
    plan = make_plan(plan.study)
    state = run_jobs(status(Store(folder / "store"), plan), InlineEngine())
    assert state.table().query("kind == 'agreement'")["value"].tolist() == [0.0] * 3
    assert state.summary()["collapsed"]["count"] == 3
    assert not state.missing


@pytest.mark.slow
def test_a_reason_of_an_earlier_run_does_not_hide_that_a_model_collapsed(plan, folder):
    store = Store(folder / "store")
    died = lambda job: "a worker died." if job.kind == "measure" else None  # noqa: E731
    assert run_jobs(status(store, plan), InlineEngine(fail=died)).missing
    assert NOTHING_TO_MEASURE.reason > "a worker died."  # by the alphabet it would come first
    state = run_jobs(status(store, plan), InlineEngine())
    assert not state.missing
    assert state.summary()["failures"] == []
    assert set(state.table()["failure"]) == {"", NOTHING_TO_MEASURE.reason}


def test_correlations_and_means_leave_collapsed_models_out_and_the_tables_count_them():
    table = study_with_collapsed_models()
    models = pivot(table)
    lost = models.values.index[models.values["mig"].isna()]
    assert len(lost) == 2
    assert models.values.loc[lost].drop(columns="udr_lasso").isna().all(axis=None)
    assert models.counts.loc["mig"].tolist() == [len(models.values) - 2, 0, 2]
    analysis = analyze(table, n_bootstrap=0, progress=False)
    assert analysis.with_tasks["pearson"].at("mig", "task:shape/linear@100").n == len(models.values) - 2
    runs = analysis.runs.set_index("family")
    assert runs["collapsed"].to_dict() == {"beta_vae": 0, "dip_vae": 2, "factor_vae": 0}
    assert runs["models"].tolist() == [20] * 3
    assert int(runs["failures"].sum()) == 1
    assert NOTHING_TO_MEASURE.reason not in set(analysis.failures["reason"])
    setting = pivot(table, per="setting").values.loc["dots/dip_vae/1", "mig"]
    alive = models.values.loc[[f"dots-dip_vae-0-{seed}" for seed in (2, 3, 4)], "mig"]
    assert setting == pytest.approx(alive.mean())


@pytest.mark.slow
def test_the_page_says_how_many_collapsed_and_what_that_means():
    page = study_page(study_with_collapsed_models(), name="S", n_bootstrap=0, progress=False)
    assert "2 of 60 models collapsed, all their codes constant: 2 dip_vae on dots." in page
    assert "correlations and means are computed without them; their agreement with other models is 0" in page
    assert "60, 2 collapsed" in page
    assert '<th scope="col" class="n">Collapsed</th>' in page
    assert page.count("nothing to measure") == 0  # not among what failed


def test_a_table_of_collapsed_models_only_is_no_error():
    table = study_with_collapsed_models(families=("dip_vae",), n_settings=1, n_seeds=2)
    analysis = analyze(table[table["kind"] != "agreement"], n_bootstrap=0, progress=False)
    assert analysis.models.values.empty
    assert isinstance(analysis.runs, pd.DataFrame)
    assert analysis.runs["collapsed"].tolist() == [2]
