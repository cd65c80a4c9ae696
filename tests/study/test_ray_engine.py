"""The same jobs on a Ray cluster of two nodes, one of which goes away."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.jobs_for_engines import (
    Arithmetic,
    Environment,
    Follower,
    Killed,
    Raises,
    Sleeper,
    SlowAtFirst,
    Unreadable,
    finish_all,
)
from unbraid.study.engines import make_engine
from unbraid.study.engines.local import LocalEngine
from unbraid.study.engines.process import ONE_THREAD
from unbraid.study.engines.ray import RayEngine

# Ray leaves sockets, files and processes to the garbage collector, and announces what its next versions will change.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*Ray will no longer override accelerator:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def started(cluster, **options):
    """Add a node; on a busy machine it may take longer than the half minute Ray waits, so try again."""
    for _ in range(4):
        try:
            return cluster.add_node(**options)
        except Exception as error:  # it raises nothing narrower
            if "timed out during startup" not in str(error):
                raise
    raise TimeoutError("no Ray node could be started in two minutes")


@pytest.fixture(scope="module")
def cluster():
    """Two nodes on this machine, the second with a GPU in name only; workers find the test's jobs by PYTHONPATH."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("OMP_NUM_THREADS", "2")
        made = Cluster()
        started(made, num_cpus=1, include_dashboard=False)
        made.second = started(made, num_cpus=2, num_gpus=1)
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def engine(cluster):
    with RayEngine(cluster.address, race_after=2.0) as joined:
        yield joined


def test_uses_the_cores_of_all_nodes(engine):
    assert engine.n_slots == 3


def test_gives_the_numbers_that_the_local_engine_gives(engine, tmp_path):
    def results(engine, folder):
        folder.mkdir()
        jobs = [Arithmetic(name=f"{seed}", folder=str(folder), seed=seed) for seed in range(4)]
        ended = finish_all(engine, jobs)
        assert [one.error for one in ended.values()] == [None] * 4
        assert all(len(job.starts()) == 1 for job in jobs)
        return {job.name: job.result() for job in jobs}

    with LocalEngine(1) as local:
        assert results(engine, tmp_path / "ray") == results(local, tmp_path / "local")


def test_a_worker_has_one_thread_and_sees_no_gpu(engine, tmp_path):
    job = Environment(name="ask", folder=str(tmp_path))
    finish_all(engine, [job])
    told = job.result()
    assert told["environment"].items() >= ONE_THREAD.items()
    assert told["environment"]["CUDA_VISIBLE_DEVICES"] == ""
    assert set(told["threads"].values()) == {1}


def test_a_job_sees_the_gpu_it_shares(engine, tmp_path):
    jobs = [
        Environment(name="ask", folder=str(tmp_path), gpus=0.5),
        Follower(name="a", folder=str(tmp_path), gpus=0.5, file="b.starts"),
        Follower(name="b", folder=str(tmp_path), gpus=0.5, file="a.starts"),
    ]
    ended = finish_all(engine, jobs)
    assert [one.error for one in ended.values()] == [None] * 3
    assert jobs[0].result()["environment"]["CUDA_VISIBLE_DEVICES"] == "0"


def test_misfortunes_end_in_the_sentences_of_the_local_engine(engine, tmp_path):
    folder = str(tmp_path)
    unlucky, killer = Killed(name="unlucky", folder=folder), Killed(name="killer", folder=folder, times=99)
    jobs = [
        Raises(name="value", folder=folder),
        Raises(name="unpicklable", folder=folder, what="unpicklable"),
        Unreadable(name="unreadable", folder=folder),
        Sleeper(name="hungry", folder=folder, gpus=2),
        unlucky,
        killer,
        Sleeper(name="innocent", folder=folder),
    ]
    ended = {name: one.error for name, one in finish_all(engine, jobs).items()}
    assert ended == {
        "value": "codes must be finite.",
        "unpicklable": "UnpicklableError: a",
        "unreadable": "ModuleNotFoundError: No module named 'elsewhere'",
        "hungry": "it needs 2 GPU, and the Ray cluster has only 1; set gpus: 0 to run it on the processor.",
        "unlucky": None,
        "killer": "its worker died 3 times (killed, perhaps for want of memory)",
        "innocent": None,
    }
    assert (len(unlucky.starts()), len(killer.starts())) == (2, 3)


def test_a_straggler_is_raced_and_reported_once(engine, tmp_path):
    folder = str(tmp_path)
    slow = SlowAtFirst(name="slow", folder=folder, kind="race", may_race=True)
    quick = [Sleeper(name=f"quick{i}", folder=folder, kind="race") for i in range(4)]
    started = time.monotonic()
    ended = finish_all(engine, [slow, *quick])
    assert ended["slow"].error is None
    assert time.monotonic() - started < slow.seconds
    assert len(slow.starts()) == 2
    with pytest.raises(RuntimeError, match="no job to wait for"):
        engine.wait()


def test_a_job_that_may_not_be_raced_is_waited_for(engine, tmp_path):
    folder = str(tmp_path)
    slow = SlowAtFirst(name="slow", folder=folder, kind="race", may_race=False, seconds=5.0)
    finish_all(engine, [slow, *(Sleeper(name=f"quick{i}", folder=folder, kind="race") for i in range(4))])
    assert len(slow.starts()) == 1


def test_everything_ends_once_when_a_node_is_lost(cluster, engine, tmp_path):
    """The last test of this cluster: it has one node afterwards, and no GPU."""
    jobs = [Sleeper(name=f"job{i}", folder=str(tmp_path), seconds=1.0) for i in range(8)]
    bound = Sleeper(name="bound", folder=str(tmp_path), seconds=300.0, gpus=1.0)
    for job in [bound, *jobs]:
        engine.submit(job)
    ended = [engine.wait(), engine.wait()]
    while not bound.starts():
        time.sleep(0.1)
    cluster.remove_node(cluster.second, allow_graceful=False)
    ended += [engine.wait() for _ in range(7)]
    errors = {one.job.key: one.error for one in ended}
    assert len(errors) == len(ended) == 9
    assert "the Ray cluster has no GPU" in errors.pop("bound")
    assert errors == {job.key: None for job in jobs}
    assert all(job.is_done() for job in jobs)


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class TestAddress:
    def test_where_nobody_answers_is_said_at_once(self):
        started = time.monotonic()
        address = f"127.0.0.1:{closed_port()}"
        with pytest.raises(ValueError, match=f"no Ray cluster answers at '{address}'.*; start one with `ray start"):
            RayEngine(address).__enter__()
        assert time.monotonic() - started < 6

    @pytest.mark.parametrize("address", ["head", "ray://head:10001", "head:", "head:x"])
    def test_what_is_no_address_is_refused(self, address):
        with pytest.raises(ValueError, match="address must be host:port of a Ray cluster's head, or auto, got"):
            RayEngine(address).__enter__()

    def test_workers_must_be_some(self):
        with pytest.raises(ValueError, match="workers must be"):
            make_engine("ray", workers=0)

    def test_without_ray_the_cure_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(ValueError, match=r"engine 'ray' needs ray.*pip install .*\[ray\]"):
            make_engine("ray")


LISTENING = """
import os, sys

from helpers.jobs_for_engines import Arithmetic
from helpers.sockets import descendants, listening_beyond_loopback
from unbraid.study.engines.ray import RayEngine

with RayEngine(workers=1) as engine:
    engine.submit(Arithmetic(name="0", folder=sys.argv[1]))
    assert engine.wait().error is None
    print(listening_beyond_loopback(descendants(os.getpid())))
"""


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no /proc here")
def test_a_cluster_of_our_own_answers_this_machine_only(tmp_path):
    # In a process of its own: clusters of other tests listen where they were told to.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", LISTENING, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
