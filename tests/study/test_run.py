"""Running studies: everything once, only what is missing, and no failure that costs more than itself."""

import errno
import json

import numpy as np
import pandas as pd
import pytest

from helpers.inline_engine import InlineEngine
from unbraid import Representation
from unbraid.metrics import mig
from unbraid.representation.files import save
from unbraid.study import Store, estimate_cost, make_plan, parse_study, status
from unbraid.study.plan import scored_rows
from unbraid.study.run import find_leftovers, remove_leftovers, run_jobs
from unbraid.study.state import keep_study
from unbraid.study.table import FailureKind

pytestmark = pytest.mark.slow

TRAINED = """\
name: tiny
data: [sprites_mini]
rows: 400
models:
  - {family: beta_vae, hyperparameters: {beta: [1, 4]}}
seeds: 2
training: {n_steps: 3, n_codes: 4, width: 4, batch: 8, learning_rate: 1e-3}
scores: {metrics: [mig, sap], rows: [400, 100]}
tasks:
  - {tasks: [position_cartesian], predictors: [linear], train: [1.0, 50]}
agreement: {methods: [spearman], rows: 200}
"""
#: Four models, each with two scores at two sizes, a task at two sizes, and an agreement.
N_NUMBERS = 4 * (4 + 2 + 1)


def run(text, store, **options):
    engine = InlineEngine(**options)
    plan = make_plan(parse_study(text))
    keep_study(plan.study, store)
    return run_jobs(status(store, plan), engine), engine


def values(state):
    return state.table().drop(columns="seconds")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished study, to read only."""
    store = Store(tmp_path_factory.mktemp("store"))
    state, engine = run(TRAINED, store)
    return state, engine, store


@pytest.fixture
def given(tmp_path):
    """Three files of one setting, and the study of them."""
    folder = tmp_path / "given"
    folder.mkdir()
    lines = ["file,dataset,family,hyperparameter,seed"]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        factors = rng.integers(0, 4, (200, 2))
        save(Representation(factors + rng.normal(size=(200, 2)), factors, names=["x", "y"]), folder / f"m{seed}.npz")
        lines.append(f"m{seed}.npz,d,f,1,{seed}")
    (folder / "index.csv").write_text("\n".join(lines))
    return (
        f"name: given\nrepresentations: {{folder: {folder}, index: index.csv}}\n"
        "scores: {metrics: [mig, sap], rows: [200]}\n"
    )


def test_everything_is_measured_once(trained):
    state, _, _ = trained
    assert not state.missing
    assert not state.failed_models
    parts = state.summary()["parts"]
    assert sum(part["done"] for part in parts.values()) == N_NUMBERS + 4
    whole = state.table().query("factor == '' and kind != 'model'")
    assert len(whole) == len(whole.drop_duplicates(["model", "name", "n_rows"])) == N_NUMBERS
    assert whole["value"].notna().all()


def test_models_are_trained_as_one_program(trained):
    _, engine, store = trained
    assert [job.kind for job in engine.ran].count("train") == 1
    (members,) = [name for name in store.names("models") if name.endswith("members.json")]
    told = json.loads(store.read(f"models/{members}"))
    assert [(one["hyperparameter"], one["seed"]) for one in told["members"]] == [(1, 0), (4, 0), (1, 1), (4, 1)]


def test_a_score_is_what_the_metric_says_of_the_same_codes(trained):
    state, _, store = trained
    model = state.plan.models[0]
    labels = store.read_arrays(f"factors/{next(iter(store.names('factors')))}")
    codes = store.read_arrays(model.codes)["codes"]
    rep = Representation(codes, labels["factors"], names=labels["names"].tolist(), kinds=labels["kinds"].tolist())
    row = state.table().query(f"model == '{model.key}' and name == 'mig' and n_rows == 280 and factor == ''")
    assert row["value"].item() == float(mig(rep.take(scored_rows(state.plan.study, 400, 400))))


def test_the_same_rows_are_scored_for_every_model_and_factors_have_rows(trained):
    state, _, _ = trained
    sizes = state.table().query("name == 'mig' and factor == 'shape'").groupby("model")["n_rows"].apply(list)
    assert [sorted(one) for one in sizes] == [[100, 280]] * 4  # no row of the test set


def test_running_again_does_nothing(trained):
    state, _, store = trained
    again, engine = run(TRAINED, store)
    assert engine.ran == []
    pd.testing.assert_frame_equal(again.table(), state.table())


def test_another_store_gets_the_same_numbers_whatever_the_order(trained, tmp_path):
    class Reversed(InlineEngine):
        def wait(self):
            self.jobs.reverse()
            return super().wait()

    state, _, _ = trained
    plan = make_plan(parse_study(TRAINED))
    other = run_jobs(status(Store(tmp_path / "other"), plan), Reversed())
    pd.testing.assert_frame_equal(values(other), values(state))


def test_a_store_elsewhere_gets_the_same_numbers(trained, tmp_path):
    state, _, _ = trained
    store = Store(f"memory://{tmp_path.name}")
    assert store.folder is None
    other, _ = run(TRAINED, store)
    pd.testing.assert_frame_equal(values(other), values(state))
    assert any(name.endswith("ensemble.pt") for name in store.names("models"))
    again, engine = run(TRAINED.replace("rows: 400", "rows: 300").replace("[400, 100]", "[300]"), store)
    assert [job.kind for job in engine.ran].count("train") == 1  # encodes again; the models are there
    assert not again.missing


def test_an_option_changes_the_rows_of_its_metric_only(given, tmp_path):
    store = Store(tmp_path / "store")
    run(given, store)
    state, engine = run(given.replace("scores: {", "scores: {options: {mig: {n_bins: 5}}, "), store)
    assert [[one.name for one in job.measurements] for job in engine.ran] == [["mig"]] * 3
    assert not state.missing


def test_a_metric_that_fails_is_named_and_costs_nothing_else(given, tmp_path):
    # Twelve rows can be binned, but not split for cross-prediction: its five scores fail on three models.
    text = given.replace("metrics: [mig, sap]", "metrics: [mig, dependent]").replace("rows: [200]", "rows: [12]")
    state, _ = run(text, Store(tmp_path / "store"))
    failed = state.table().query("failure != ''")
    assert failed["name"].nunique() == 5
    assert "mig" not in set(failed["name"])
    assert len(state.table().query("name == 'mig' and factor == '' and failure == ''")) == 3
    assert state.summary()["failures"][0]["count"] == 15
    assert "f 1 seed" in state.summary()["failures"][0]["example"]


def test_a_job_that_fails_is_named_and_done_the_next_time(given, tmp_path):
    store = Store(tmp_path / "store")
    state, _ = run(given, store, fail=lambda job: "its worker died." if job.model.seed == 1 else None)
    assert len(state.missing) == 2
    assert {row["why"] for row in state.summary()["failures"]} == {"its worker died."}
    assert state.summary()["parts"]["scores"] == {"wanted": 6, "done": 4, "failed": 2, "missing": 0}
    state, engine = run(given, store)
    assert len(engine.ran) == 1
    assert not state.missing
    assert (state.table()["failure"] == "").all()


def test_a_value_written_before_a_job_failed_is_kept(given, tmp_path):
    store = Store(tmp_path / "store")

    def late(job):
        job.run()
        return "the machine went away after the work."

    state, _ = run(given, store, fail=late)
    assert not state.missing


def test_training_that_fails_costs_its_models_only(tmp_path):
    text = TRAINED.replace("hyperparameters: {beta: [1, 4]}}", "hyperparameters: {beta: [1, 4]}}\n  - family: vae")
    store = Store(tmp_path / "store")
    lost = lambda job: "no space left" if job.kind == "train" and job.ensemble.family == "vae" else None  # noqa: E731
    state, _ = run(text, store, fail=lost)
    assert set(state.failed_models.values()) == {(FailureKind.FAILED, "no space left")}
    assert state.summary()["parts"]["models"] == {"wanted": 6, "done": 4, "failed": 2, "missing": 0}
    assert not state.missing
    state, engine = run(text, store)
    assert [job.kind for job in engine.ran].count("train") == 1
    assert not state.failed_models
    assert not state.missing


def test_what_is_tried_again_is_estimated_with_all_its_numbers(tmp_path):
    store = Store(tmp_path / "store")
    fresh = estimate_cost(status(store, parse_study(TRAINED)))
    assert (fresh.n_models, fresh.n_measurements) == (4, N_NUMBERS)
    state, _ = run(TRAINED, store, fail=lambda job: "torch is not there." if job.kind == "train" else None)
    assert len(state.failed_models) == 4
    assert estimate_cost(state) == fresh
    parts = state.summary()["parts"]
    assert parts["models"] == {"wanted": 4, "done": 0, "failed": 4, "missing": 0}
    assert sum(part["missing"] for part in parts.values()) == N_NUMBERS
    assert [reason["again"] for reason in state.summary()["failures"]] == [True]


def test_what_diverged_is_neither_estimated_nor_tried_whatever_failed_before(tmp_path):
    text = TRAINED.replace("beta: [1, 4]", "beta: [1e300, 1e301]")
    store = Store(tmp_path / "store")
    run(text, store, fail=lambda job: "a worker died.")  # by the alphabet before what comes next
    state, _ = run(text, store)
    cost = estimate_cost(state)
    assert (cost.n_models, cost.n_measurements) == (0, 0)
    assert [reason["again"] for reason in state.summary()["failures"]] == [False]
    assert run(text, store)[1].ran == []


def test_a_model_that_diverges_is_named_and_the_others_are_measured(tmp_path):
    text = TRAINED.replace("beta: [1, 4]", "beta: [1, 1e300]")  # beyond what single precision holds
    store = Store(tmp_path / "store")
    state, _ = run(text, store)
    hyperparameters = {model.hyperparameter for model in state.plan.models if model.key in state.failed_models}
    assert hyperparameters == {1e300}
    assert all("diverged" in reason for reason in state.failed_models.values())
    assert not state.missing
    assert len(state.table().query("kind == 'agreement'")) == 2
    _, engine = run(text, store)
    assert engine.ran == []  # the same seed would diverge again


def test_a_full_disk_is_a_reason_and_not_the_end(given, tmp_path, monkeypatch):
    store = Store(tmp_path / "store")
    write, full = Store.write, iter([True, False, False])

    def sometimes(self, name, content):
        if name.startswith("results") and next(full, False):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, name, content)

    class Careful(InlineEngine):
        def wait(self):
            try:
                return super().wait()
            except OSError as error:
                from unbraid.study.jobs import Finished

                return Finished(job=self.ran[-1], error=str(error), seconds=0.0)

    monkeypatch.setattr(Store, "write", sometimes)
    state = run_jobs(status(store, parse_study(given)), Careful())
    assert len(state.missing) == 2
    assert "No space left" in state.summary()["failures"][0]["why"]
    monkeypatch.undo()
    state, _ = run(given, store)
    assert not state.missing


def test_what_no_study_asks_for_can_be_removed(given, tmp_path):
    store = Store(tmp_path / "store")
    run(given, store)
    state, _ = run(given.replace("[mig, sap]", "[mig]"), store)
    store.write("codes/old/model.npz", b"12345")
    found = find_leftovers(store)
    assert (found.files, found.n_bytes) == (("codes/old/model.npz",), 5)
    assert found.n_rows > 0
    remove_leftovers(store, found)
    assert not store.has("codes/old/model.npz")
    left = status(store, "given")
    pd.testing.assert_frame_equal(left.table(), state.table())
    assert find_leftovers(store).n_rows == 0


def test_files_and_rows_in_use_are_no_leftovers(trained):
    _, _, store = trained
    found = find_leftovers(store)
    assert (found.files, found.n_rows) == ((), 0)


def test_a_store_says_which_studies_it_has(given, tmp_path):
    store = Store(tmp_path / "store")
    with pytest.raises(ValueError, match="has no study"):
        status(store)
    run(given, store)
    run(given.replace("name: given", "name: other"), store)
    with pytest.raises(ValueError, match="several studies, given, other; name one"):
        status(store)
    with pytest.raises(ValueError, match="given"):
        status(store, "gven")
    assert not status(store, "other").missing
