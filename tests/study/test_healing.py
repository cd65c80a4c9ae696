"""Damaged stores: named, set aside, made again; nothing that is not damaged is lost."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.inline_engine import InlineEngine
from helpers.small import run_cli
from unbraid import Representation
from unbraid.representation.files import save
from unbraid.study import Store, make_plan, parse_study, status
from unbraid.study.run import find_leftovers, run_jobs
from unbraid.study.state import keep_study
from unbraid.study.store import RESULTS, SET_ASIDE

pytestmark = pytest.mark.slow

TRAINED = """\
name: tiny
data: [sprites_mini]
rows: 300
models: [{family: vae}]
seeds: 2
training: {n_steps: 2, n_codes: 4, width: 4, batch: 8, learning_rate: 1e-3}
scores: {metrics: [mig]}
agreement: {methods: [spearman], rows: 200}
"""


def run(text, store, **options):
    engine = InlineEngine(**options)
    plan = make_plan(parse_study(text))
    keep_study(plan.study, store)
    return run_jobs(status(store, plan), engine), engine


def values(state):
    return state.table().drop(columns="seconds")


@pytest.fixture
def given(tmp_path):
    """Four files of one setting, and the study of them in a file."""
    folder = tmp_path / "given"
    folder.mkdir()
    lines = ["file,dataset,family,hyperparameter,seed"]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        factors = rng.integers(0, 4, (200, 2))
        save(Representation(factors + rng.normal(size=(200, 2)), factors, names=["x", "y"]), folder / f"m{seed}.npz")
        lines.append(f"m{seed}.npz,d,f,1,{seed}")
    (folder / "index.csv").write_text("\n".join(lines))
    study = tmp_path / "study.yaml"
    study.write_text(
        f"name: given\nrepresentations: {{folder: {folder}, index: index.csv}}\n"
        "scores: {metrics: [mig], rows: [200]}\nagreement: {methods: [spearman], rows: 200}\n"
    )
    return study


def damage_pages(path):
    """Overwrite the pages of a shard; its beginning and its footer stay."""
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little")
    for place in range(4, len(content) - 8 - footer):
        content[place] ^= 0x5A
    path.write_bytes(content)


def change_one_number(path):
    """Change a value as a disk might: still a Parquet file, with another number in it."""
    table = pq.read_table(path)
    pq.write_table(table, path, compression="none", use_dictionary=False, write_page_checksum=True)
    value = np.float64(table["value"].drop_null()[0].as_py()).tobytes()
    content = path.read_bytes()
    at = content.index(value)
    path.write_bytes(content[: at + 4] + bytes([content[at + 4] ^ 1]) + content[at + 5 :])


def foreign(path):
    pq.write_table(pa.table({"a": [1, 2]}), path.with_name("mine.parquet"))


def other_types(path):
    table = pq.read_table(path)
    text = pa.array(["x"] * len(table))
    pq.write_table(table.set_column(table.schema.get_field_index("value"), "value", text), path)


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def not_a_shard(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_pages, foreign, other_types, cut, not_a_shard, change_one_number])
def test_a_damaged_shard_is_left_out_then_set_aside_and_made_again(capsys, given, tmp_path, damage):
    store = tmp_path / "store"
    assert run_cli(capsys, "study", "run", given, "--store", store, "--workers", 1)[0] == 0
    whole = status(Store(store)).table().drop(columns="seconds")
    shard = sorted((store / RESULTS).iterdir())[0]
    damage(shard)
    named = "mine.parquet" if damage is foreign else shard.name
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    if damage is not change_one_number:  # found by commands that read every byte
        for command in ("status", "table"):
            code, _, err = run_cli(capsys, "study", command, "--store", store)
            assert code == 0
            assert f"{RESULTS}/{named} cannot be read and is left out" in err
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before
    code, _, err = run_cli(capsys, "study", "run", given, "--store", store, "--workers", 1)
    assert code == 0
    assert f"{RESULTS}/{named}" in err
    assert (store / SET_ASIDE / RESULTS / named).is_file()
    pd.testing.assert_frame_equal(status(Store(store)).table().drop(columns="seconds"), whole)


def test_clean_sets_damaged_shards_aside_and_deletes_none(capsys, given, tmp_path):
    store = tmp_path / "store"
    run_cli(capsys, "study", "run", given, "--store", store, "--workers", 1)
    shard = sorted((store / RESULTS).iterdir())[0]
    damage_pages(shard)
    content = shard.read_bytes()
    code, out, _ = run_cli(capsys, "study", "clean", "--store", store)
    assert code == 0
    assert shard.name in out
    assert shard.exists()
    assert run_cli(capsys, "study", "clean", "--store", store, "--yes")[0] == 0
    assert (store / SET_ASIDE / RESULTS / shard.name).read_bytes() == content
    assert Store(store).damaged() == []


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory):
    """Values of the small study of trained models, in a store of its own."""
    return values(run(TRAINED, Store(tmp_path_factory.mktemp("store") / "store"))[0])


def first(folder, pattern):
    return sorted(folder.rglob(pattern))[0]


def test_damaged_codes_are_encoded_again_when_their_results_are_gone(undamaged, tmp_path):
    store = Store(tmp_path / "store")
    state, _ = run(TRAINED, store)
    codes = tmp_path / "store" / state.plan.models[0].codes
    cut(codes)
    store.delete(RESULTS)
    state, engine = run(TRAINED, store)
    assert state.is_complete
    assert [job.kind for job in engine.ran].count("train") == 1
    assert (tmp_path / "store" / SET_ASIDE / state.plan.models[0].codes).is_file()
    pd.testing.assert_frame_equal(values(state), undamaged)


@pytest.mark.parametrize("damage", [cut, os.remove])
def test_factors_that_are_damaged_or_gone_are_made_again(undamaged, tmp_path, damage):
    store = Store(tmp_path / "store")
    run(TRAINED, store)
    damage(first(tmp_path / "store" / "factors", "*.npz"))
    store.delete(RESULTS)
    state, _ = run(TRAINED, store)
    assert state.is_complete
    pd.testing.assert_frame_equal(values(state), undamaged)


def test_a_damaged_checkpoint_is_set_aside_and_its_models_trained_again(undamaged, tmp_path):
    store = Store(tmp_path / "store")
    run(TRAINED, store)
    store.delete("codes")
    store.delete(RESULTS)
    cut(first(tmp_path / "store" / "models", "ensemble.pt"))
    state, _ = run(TRAINED, store)
    assert state.is_complete
    assert first(tmp_path / "store" / SET_ASIDE, "ensemble.pt").is_file()
    pd.testing.assert_frame_equal(values(state), undamaged)


def test_losses_that_are_gone_are_there_again_without_a_step(undamaged, tmp_path):
    store = Store(tmp_path / "store")
    run(TRAINED, store)
    checkpoint = first(tmp_path / "store" / "models", "ensemble.pt")
    before = checkpoint.read_bytes()
    store.delete(RESULTS)
    state, engine = run(TRAINED, store)
    assert [job.kind for job in engine.ran].count("train") == 1
    assert checkpoint.read_bytes() == before
    pd.testing.assert_frame_equal(values(state), undamaged)


def test_training_that_fails_now_is_counted_though_it_worked_before(tmp_path):
    store = Store(tmp_path / "store")
    run(TRAINED, store)
    store.delete("codes")
    more = TRAINED.replace("[mig]", "[mig, sap]")
    state, _ = run(more, store, fail=lambda job: "no room." if job.kind == "train" else None)
    assert state.summary()["parts"]["models"] == {"wanted": 2, "done": 0, "failed": 2, "missing": 0}
    assert not state.is_complete


def test_codes_are_made_again_only_if_something_is_to_be_measured(undamaged, tmp_path):
    store = Store(tmp_path / "store")
    run(TRAINED, store)
    store.delete("codes")
    store.delete("models")
    state, engine = run(TRAINED, store)
    assert engine.ran == []
    assert state.is_complete
    assert state.summary()["parts"]["models"] == {"wanted": 2, "done": 2, "failed": 0, "missing": 0}
    pd.testing.assert_frame_equal(values(state), undamaged)
    state, engine = run(TRAINED.replace("[mig]", "[mig, sap]"), store)
    assert [job.kind for job in engine.ran].count("train") == 1
    assert state.is_complete
    pd.testing.assert_frame_equal(values(state).query("name != 'sap'").reset_index(drop=True), undamaged)


def test_a_damaged_file_among_those_given_costs_itself_only(given, tmp_path):
    folder = tmp_path / "given"
    whole = (folder / "m3.npz").read_bytes()
    cut(folder / "m3.npz")
    store = Store(tmp_path / "store")
    text = given.read_text()
    state, _ = run(text, store)
    assert [model.seed for model in state.plan.models if model.key in state.failed_models] == [3]
    assert "m3.npz" in next(iter(state.failed_models.values())).reason
    table = state.table()
    assert table.query("kind == 'agreement' and failure == ''")["seed"].tolist() == [0, 1, 2]
    assert not state.is_complete
    assert run(text, store)[1].ran == []
    (folder / "m3.npz").write_bytes(whole)
    state, _ = run(text, store)
    assert state.is_complete
    assert state.table().query("kind == 'agreement'")["seed"].tolist() == [0, 1, 2, 3]


def test_a_file_that_could_not_be_read_for_a_while_counts_again(given, tmp_path, monkeypatch):
    import unbraid.study.run as running

    store, text, load = Store(tmp_path / "store"), given.read_text(), running.load

    def refused(path):
        if path.endswith("m0.npz"):
            raise PermissionError("path 'm0.npz' cannot be read")
        return load(path)

    monkeypatch.setattr(running, "load", refused)
    assert len(run(text, store)[0].failed_models) == 1
    monkeypatch.undo()
    assert run(text, store)[0].is_complete


def test_a_store_that_cannot_be_written_is_read(capsys, given, tmp_path, monkeypatch):
    store = tmp_path / "store"
    run_cli(capsys, "study", "run", given, "--store", store, "--workers", 1)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))

    def refused(*arguments):
        raise AssertionError("wrote to a store that is only read")

    monkeypatch.setattr(Store, "write", refused)
    monkeypatch.setattr("unbraid.cli._study.check_writable", lambda *_: None)
    for command in (["status"], ["table"], ["clean"], ["report", "--out", tmp_path / "r.html"]):
        code, _, err = run_cli(capsys, "study", *command, "--store", store)
        assert code == 0, err
    code, _, err = run_cli(capsys, "study", "run", given, "--store", store)
    assert code == 2
    assert "is not writable" in err


@pytest.mark.parametrize("command", ["status", "clean"])
def test_an_empty_name_of_a_store_is_refused(capsys, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run_cli(capsys, "study", command, "--store", "")
    assert code == 2
    assert "store must be a folder or a URL, got an empty name" in err
    assert not list(tmp_path.iterdir())


def test_a_tilde_is_the_home_folder(capsys, given, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    assert run_cli(capsys, "study", "run", given, "--store", "~/st", "--workers", 1)[0] == 0
    assert (tmp_path / "home" / "st" / RESULTS).is_dir()
    assert run_cli(capsys, "study", "status", "--store", "~/st")[0] == 0


def test_another_study_of_the_same_name_does_not_make_the_first_ones_models_leftovers(tmp_path):
    store = Store(tmp_path / "store")
    run(TRAINED, store)
    n_rows = len(store.table())
    run(TRAINED.replace("n_steps: 2", "n_steps: 3"), store)
    found = find_leftovers(store)
    assert (found.files, found.n_rows) == ((), 0)
    assert len(store.table()) == 2 * n_rows
    assert status(store).plan.study.training.n_steps == 3
