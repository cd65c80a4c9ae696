"""Damaged stores: named, set aside, made again; nothing that is not damaged is lost."""

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
from unbraid.study.run import run_jobs
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
