"""Threads and processes that an evaluation has at once: never more than it was allowed, whatever the metric."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import unbraid as ub
from unbraid.metrics import METRICS
from unbraid.panel import evaluation
from unbraid.panel.steps import StepRole

pytestmark = pytest.mark.slow

TASKS = "/proc/self/task"
#: Threads of all kinds are counted, also those of OpenMP, BLAS and LightGBM, in a process where each may have four.
COUNT = """
import importlib, json, os, sys, threading, time
import numpy as np
import unbraid as ub
from unbraid.panel import evaluation

rng = np.random.default_rng(0)
factors = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=300)])
codes = np.column_stack([factors + 0.1 * rng.normal(size=factors.shape), rng.normal(size=300)])
rep = ub.Representation(codes, factors, kinds=["categorical", "continuous"])
n_jobs, cases, libraries = int(sys.argv[1]), *map(json.loads, sys.argv[2:])
evaluation.WORTH_PROCESSES = float("inf")
for library in libraries:  # some start threads, idle ones, as they are loaded; these do not count
    importlib.import_module(library)


def live():
    return set(os.listdir("/proc/self/task"))


def watched(metrics, options):
    before, most, over = live(), [0], threading.Event()

    def watch():
        last = [set(), set()]
        while not over.is_set():
            # A thread that is ending may still be listed for a moment: it must be there three times to count.
            last.append(live() - before)
            most[0] = max(most[0], len(set.intersection(*last[-3:])) - 1)
            time.sleep(0.0005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    spread = metrics == "all"  # metrics one by one need no intervals: what fits them is the same
    report = ub.evaluate(
        rep, metrics=metrics, options=options, n_jobs=n_jobs, intervals=spread, nulls=spread, progress=False
    )
    over.set()
    watcher.join()
    return most[0], sorted(report.failures)


print(json.dumps({str(metrics): watched(metrics, options) for metrics, options in cases}))
"""
#: Threads that run are counted in the processes that are forked. The process itself waits; BLAS ends its threads there
#: at a fork, and begins them again.
COUNT_RUNNING = """
import os, sys, threading, time
import numpy as np
import unbraid as ub
from unbraid.panel import evaluation

evaluation.WORTH_PROCESSES = 0.0
rng = np.random.default_rng(0)
factors = np.column_stack([rng.integers(0, 3, 2000), rng.normal(size=2000)])
codes = np.column_stack([factors + 0.1 * rng.normal(size=factors.shape), rng.normal(size=2000)])
mine, most, pids, over = str(threading.get_native_id()), [0], set(), threading.Event()


def running():
    found = set()
    for pid in open(f"/proc/self/task/{mine}/children").read().split():
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/stat") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] == "R":
                        found.add((pid, thread))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def watch():
    last = [set(), set()]
    while not over.is_set():
        last.append(running())
        pids.update(pid for pid, _ in last[-1])
        most[0] = max(most[0], len(set.intersection(*last[-3:])))
        time.sleep(0.002)


watcher = threading.Thread(target=watch)
watcher.start()
ub.evaluate(codes, factors, kinds=["categorical", "continuous"], n_jobs=2, progress=False)
over.set()
watcher.join()
print(most[0], len(pids))
"""
LIBRARIES = ["scipy.linalg", "scipy.optimize", "scipy.spatial", "sklearn.ensemble", "sklearn.linear_model", "lightgbm"]
LIGHT = {"dci_es": {"ladder": "forest"}}


def threads_by_case(n_jobs, cases, *, more_libraries=()):
    given = [str(n_jobs), json.dumps(cases), json.dumps([*LIBRARIES, *more_libraries])]
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *given],
        env=os.environ | {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(not os.path.isdir(TASKS), reason="threads cannot be counted here")
class TestThreads:
    def test_one_job_is_one_thread_for_every_metric(self):
        families = sorted({metric.family for metric in METRICS.values()} - {"udr", "dci_es"})
        cases = [[[name], {}] for name in families] + [[["dci_es"], LIGHT], ["all", LIGHT]]
        assert {name: most for name, (most, _) in threads_by_case(1, cases).items() if most} == {}

    def test_one_job_is_one_thread_where_torch_trains(self):
        pytest.importorskip("torch")
        mlp, nested = {"dci_es": {"ladder": "mlp", "importance": "none"}}, {"iwo": {"solver": "nested"}}
        cases = [[["dci_es.explicitness"], mlp], [["iwo"], nested]]
        assert threads_by_case(1, cases, more_libraries=["torch"]) == {
            "['dci_es.explicitness']": [0, []],
            "['iwo']": [0, []],
        }

    def test_two_jobs_are_two_threads(self):
        ((most, _),) = threads_by_case(2, [["all", LIGHT]]).values()
        assert most == 1

    def test_two_jobs_are_two_processes_of_one_thread(self):
        done = subprocess.run(
            [sys.executable, "-c", COUNT_RUNNING],
            env=os.environ | {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == ["2", "2"]


def test_nobody_opens_a_pool_beside_the_budget():
    """The study's engines have processes of their own; everything else asks the budget for threads."""
    source = Path(ub.__file__).parent
    allowed = {
        source / "_base" / "workers.py",
        source / "_base" / "processes.py",
        *(source / "study" / "engines").glob("*.py"),
    }
    words = (
        "get_context(",
        "ThreadPoolExecutor",
        "ProcessPoolExecutor",
        "ThreadPool(",
        "joblib",
        "cpu_count(",
        "n_jobs=-1",
    )
    found = {
        (str(path.relative_to(source)), word)
        for path in set(source.rglob("*.py")) - allowed
        for word in words
        if word in path.read_text(encoding="utf-8")
    }
    assert found == set()


@pytest.mark.parametrize("least", [0.0, float("inf")], ids=["processes", "threads"])
def test_scores_do_not_depend_on_the_number_of_jobs(least, monkeypatch):
    monkeypatch.setattr(evaluation, "WORTH_PROCESSES", least)
    rng = np.random.default_rng(1)
    factors = np.column_stack([rng.integers(0, 4, 250), rng.normal(size=250)])
    codes = np.column_stack([factors + 0.2 * rng.normal(size=factors.shape), rng.normal(size=250)])
    reports = [
        ub.evaluate(codes, factors, metrics="all", options=LIGHT, n_jobs=n_jobs, progress=False) for n_jobs in (1, 2, 4)
    ]
    first = reports[0]
    assert len(first.scores) > 20
    for other in reports[1:]:
        for name, score in first.scores.items():
            found = other.scores[name]
            assert (found.value, found.low, found.high, found.null) == (score.value, score.low, score.high, score.null)
            np.testing.assert_array_equal(found.replicates, score.replicates)
        assert other.findings == first.findings
        assert [(one.source, one.scores) for one in other.evidence] == [
            (one.source, one.scores) for one in first.evidence
        ]


def test_steps_are_told_by_processes_as_by_threads(monkeypatch):
    rng = np.random.default_rng(1)
    factors = rng.integers(0, 4, (250, 2))
    told = {}
    for least in (0.0, float("inf")):
        monkeypatch.setattr(evaluation, "WORTH_PROCESSES", least)
        steps = told[least] = []
        ub.evaluate(factors + 0.1, factors, metrics=["mig", "iwo"], n_jobs=2, progress=False, on_step=steps.append)
        assert [step.n_done for step in steps if step.role is not StepRole.START] == list(
            range(1, steps[-1].n_steps + 1)
        )
    apart, beside = (sorted((step.role, *step.values.items()) for step in steps) for steps in told.values())
    assert apart == beside


def test_a_thread_of_a_server_scores_in_threads(monkeypatch):
    """Other threads may hold locks, which a forked process would wait for without end."""
    monkeypatch.setattr(evaluation, "WORTH_PROCESSES", 0.0)
    monkeypatch.setattr(evaluation, "run_forked", lambda *_: pytest.fail("forked beside other threads"))
    factors = np.random.default_rng(1).integers(0, 4, (250, 2))
    found = []
    thread = threading.Thread(target=lambda: found.append(ub.evaluate(factors + 0.1, factors, metrics="mig", n_jobs=2)))
    thread.start()
    thread.join()
    assert found[0]["mig"].value > 0.9
