"""The same study on one worker, on two, on a Ray cluster that loses a node, and killed half-way: the same table."""

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from helpers.clusters import LosesANode, two_nodes
from study.test_run import N_NUMBERS, TRAINED
from unbraid.study import Store, parse_study, run_study, status
from unbraid.study.run import run_jobs

pytestmark = pytest.mark.slow

# As in test_ray_engine.py: Ray leaves things to the garbage collector and announces changes.
quiet_ray = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*Ray will no longer override accelerator:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The table that one worker makes."""
    return values(run_study(parse_study(TRAINED), tmp_path_factory.mktemp("alone"), workers=1))


def values(state):
    assert not state.missing
    assert not state.failed_models
    return state.table().drop(columns="seconds")


def test_two_workers_make_the_same_table(alone, tmp_path):
    state = run_study(parse_study(TRAINED), tmp_path / "store", workers=2)
    pd.testing.assert_frame_equal(values(state), alone)


@pytest.fixture
def cluster(monkeypatch):
    yield from two_nodes(monkeypatch)


class TestRay:
    pytestmark = quiet_ray

    def test_a_cluster_that_loses_a_node_makes_the_same_table(self, alone, cluster, tmp_path):
        engine = LosesANode(cluster.address)
        engine.cluster = cluster
        state = run_jobs(status(tmp_path / "store", parse_study(TRAINED)), engine)
        assert engine.is_lost
        pd.testing.assert_frame_equal(values(state), alone)


def start(file, store):
    """Run a study as a user does, in a process group of its own."""
    command = [sys.executable, "-m", "unbraid", "study", "run", str(file), "--store", str(store), "--workers", "2"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def workers_of(pid):
    """Return the processes below one."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def test_a_killed_run_leaves_only_whole_results_and_goes_on(alone, tmp_path):
    file, store = tmp_path / "tiny.yaml", tmp_path / "store"
    file.write_text(TRAINED)
    first = start(file, store)
    wait_for(lambda: len(list(store.glob("results/*.parquet"))) >= 3)
    orphans = workers_of(first.pid)
    first.send_signal(signal.SIGKILL)
    first.wait()
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in orphans))

    between = status(store)
    assert Store(store).damaged() == []
    assert between.done
    assert between.missing
    before = between.table().drop(columns="seconds")
    second = start(file, store)
    assert second.wait() == 0
    after = values(status(store))
    pd.testing.assert_frame_equal(after, alone)
    kept = before.merge(after, on=["key", "factor"], suffixes=("", "_after"))
    assert len(kept) == len(before)
    assert kept["value"].equals(kept["value_after"])
    assert len(after.query("factor == '' and kind != 'model'")) == N_NUMBERS


def test_a_killed_worker_costs_nothing(alone, tmp_path):
    file, store = tmp_path / "tiny.yaml", tmp_path / "store"
    file.write_text(TRAINED)
    run = start(file, store)
    wait_for(lambda: (store / "models").is_dir() and any(store.glob("models/*/members.json")))
    for pid in workers_of(run.pid):
        os.kill(pid, signal.SIGKILL)
    assert run.wait() == 0
    pd.testing.assert_frame_equal(values(status(store)), alone)


def test_two_runs_at_once_make_one_table(alone, tmp_path):
    file, store = tmp_path / "tiny.yaml", tmp_path / "store"
    file.write_text(TRAINED)
    runs = [start(file, store), start(file, store)]
    assert [run.wait() for run in runs] == [0, 0]
    pd.testing.assert_frame_equal(values(status(store)), alone)
