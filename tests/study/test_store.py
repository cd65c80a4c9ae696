"""The store: nothing lost, nothing twice, nothing half."""

import threading

import fsspec
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from unbraid.study.plan import content_key
from unbraid.study.store import RESULTS, Store
from unbraid.study.table import FailureKind


@pytest.fixture(params=["folder", "memory"])
def store(request, tmp_path):
    return Store(tmp_path / "store" if request.param == "folder" else f"memory://{tmp_path.name}")


def row(number, *, value=0.5, failure="", kind=FailureKind.FAILED, factor=""):
    return {
        "key": content_key(number),
        "model": "m",
        "dataset": "d",
        "family": "f",
        "hyperparameter": 1.0,
        "seed": number,
        "kind": "score",
        "name": "mig",
        "predictor": "",
        "factor": factor,
        "n_rows": 10,
        "value": None if failure else value,
        "failure": failure,
        "failure_kind": kind if failure else FailureKind.NONE,
        "version": "1",
    }


def test_rows_come_back(store):
    store.add_rows([row(0, value=0.25), row(1)])
    table = store.table()
    assert table["value"].tolist() == [0.25, 0.5]
    assert pd.isna(table["low"]).all()


class KeepsLists(MemoryFileSystem):
    """As object stores do: what was listed once is not looked at again until told to."""

    protocol, cachable = "keepslists", False
    lists: dict

    def __init__(self, **options):
        super().__init__(**options)
        self.lists = {}

    def find(self, path, **options):
        return self.lists.setdefault(path, super().find(path, **options))

    def exists(self, path, **options):
        return self.lists.setdefault(("exists", path), super().exists(path, **options))

    def invalidate_cache(self, path=None):
        self.lists.clear()


def test_what_another_process_writes_is_seen_where_file_systems_keep_lists(tmp_path):
    fsspec.register_implementation("keepslists", KeepsLists, clobber=True)
    here, elsewhere = Store(f"keepslists://{tmp_path.name}"), Store(f"keepslists://{tmp_path.name}")
    assert here.names(RESULTS) == set()
    assert not here.has("codes/a.npz")
    elsewhere.add_rows([row(0)])
    elsewhere.write("codes/a.npz", b"1")
    assert len(here.names(RESULTS)) == 1
    assert here.has("codes/a.npz")


def test_an_empty_store_has_an_empty_table(store):
    assert len(store.table()) == 0
    assert "value" in store.table()


def test_the_same_rows_again_are_there_once(store):
    store.add_rows([row(0)])
    store.add_rows([row(0)])
    store.add_rows([row(0), row(1)])
    assert store.table()["seed"].tolist() == [0, 1]


def test_a_value_counts_more_than_a_failure_whichever_came_first(store):
    store.add_rows([row(0, failure="no")])
    store.add_rows([row(0)])
    store.add_rows([row(1)])
    store.add_rows([row(1, failure="no")])
    assert store.table()["failure"].tolist() == ["", ""]


@pytest.mark.parametrize("kind", [FailureKind.DIVERGED, FailureKind.COLLAPSED])
def test_a_failure_that_is_final_counts_more_than_one_of_an_earlier_run(store, kind):
    store.add_rows([row(0, failure="a worker died."), row(1)])  # first by the alphabet
    store.add_rows([row(0, failure="some words.", kind=kind)])
    assert store.failures() == {content_key(0): (kind, "some words.")}
    assert sorted(store.table()["failure_kind"]) == ["", kind]


@pytest.mark.parametrize("words", ["training diverged at step 3.", "collapsed: all codes are constant."])
def test_the_kind_of_a_failure_does_not_depend_on_its_words(store, words):
    store.add_rows([row(0, failure=words)])
    assert store.failures()[content_key(0)].kind is FailureKind.FAILED


def test_rows_of_factors_are_rows_of_their_own(store):
    store.add_rows([row(0), row(0, factor="x"), row(0, factor="y")])
    assert store.table()["factor"].tolist() == ["", "x", "y"]


def test_merging_changes_nothing_but_the_number_of_files(store):
    for number in range(7):
        store.add_rows([row(number, value=number / 7)])
    store.add_rows([row(3, failure="no")])
    before = store.table()
    store.merge(above=3)
    pd.testing.assert_frame_equal(store.table(), before)
    assert len(store.names(RESULTS)) == 1
    store.merge(above=3)
    assert len(store.names(RESULTS)) == 1


def test_few_shards_are_left_alone(store):
    store.add_rows([row(0)])
    store.merge()
    assert len(store.names(RESULTS)) == 1


def test_a_torn_shard_costs_its_own_rows_only(store):
    store.add_rows([row(0)])
    store.write(f"{RESULTS}/torn.parquet", b"PAR1 and then the power went")
    with pytest.warns(UserWarning, match="results/torn.parquet cannot be read"):
        assert store.table()["seed"].tolist() == [0]
    assert store.damaged() == ["torn.parquet"]


def half_of_another(content, other, place):
    """Put two shards of one size together, where every page stays whole."""
    return content[:place] + other[place:]


def one_bit(content, other, place):
    return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("damage", [half_of_another, one_bit])
def test_no_byte_of_a_shard_can_change_unnoticed(tmp_path, damage):
    store = Store(tmp_path)
    for number in range(2):
        store.add_rows([row(number, value=0.25 + number / 2)])
    names = sorted(store.names(RESULTS))
    content, other = (store.read(f"{RESULTS}/{name}") for name in names)
    assert len(content) == len(other)
    for place in range(4, len(content), 397):
        changed = damage(content, other, place)
        if changed in (content, other):
            continue
        store.write(f"{RESULTS}/{names[0]}", changed)
        again = Store(tmp_path)
        assert again.damaged() == names[:1], place
        with pytest.warns(UserWarning, match=f"{RESULTS}/{names[0]} cannot be read"):
            assert len(again.table()) == 1


def test_shards_of_earlier_versions_have_no_seal_and_are_read(tmp_path):
    store = Store(tmp_path)
    store.add_rows([row(0, value=0.25)])
    (path,) = (tmp_path / RESULTS).iterdir()
    pq.write_table(pq.read_table(path), path)
    again = Store(tmp_path)
    assert again.table()["value"].tolist() == [0.25]
    assert again.damaged() == []


@pytest.mark.slow
def test_others_may_write_and_merge_while_one_reads(tmp_path):
    store = Store(tmp_path)
    n_rows, failed = 60, []

    def write(start):
        try:
            for number in range(start, n_rows, 2):
                store.add_rows([row(number)])
                if number % 10 == start:
                    store.merge(above=5)
        except Exception as error:  # shown by the assertion below
            failed.append(error)

    threads = [threading.Thread(target=write, args=(start,)) for start in range(2)]
    for thread in threads:
        thread.start()
    counts = [len(store.table()) for _ in range(10)]
    for thread in threads:
        thread.join()
    assert not failed
    assert counts == sorted(counts)
    assert sorted(store.table()["seed"]) == list(range(n_rows))


def test_arrays_come_back(store):
    store.write_arrays("a/b.npz", codes=np.arange(6.0).reshape(2, 3))
    assert store.has("a/b.npz")
    assert np.array_equal(store.read_arrays("a/b.npz")["codes"], np.arange(6.0).reshape(2, 3))
    assert store.names("a") == {"b.npz"}


def test_deleting_what_is_not_there_is_no_error(store):
    store.write("a/b", b"x")
    store.delete("a/b")
    store.delete("a/b")
    assert not store.has("a/b")


def test_a_store_where_a_file_is_is_refused(tmp_path):
    (tmp_path / "taken").write_text("x")
    with pytest.raises(ValueError, match="cannot be a folder"):
        Store(tmp_path / "taken")


def test_an_unknown_protocol_is_refused():
    with pytest.raises(ValueError, match="store 'nowhere://x' cannot be"):
        Store("nowhere://x")
