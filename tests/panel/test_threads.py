"""Threads that an evaluation has at once: never more than it was allowed, whatever the metric."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import unbraid as ub
from unbraid.metrics import METRICS

pytestmark = pytest.mark.slow

TASKS = "/proc/self/task"
#: Threads of all kinds are counted, also those of OpenMP, BLAS and LightGBM, in a process where each may have four.
COUNT = """
import importlib, json, os, sys, threading, time
import numpy as np
import unbraid as ub

rng = np.random.default_rng(0)
factors = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=300)])
codes = np.column_stack([factors + 0.1 * rng.normal(size=factors.shape), rng.normal(size=300)])
rep = ub.Representation(codes, factors, kinds=["categorical", "continuous"])
n_jobs, cases, libraries = int(sys.argv[1]), *map(json.loads, sys.argv[2:])
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


def test_nobody_opens_a_pool_beside_the_budget():
    """The study's engines have processes of their own; everything else asks the budget for threads."""
    source = Path(ub.__file__).parent
    allowed = {source / "_base" / "workers.py", *(source / "study" / "engines").glob("*.py")}
    words = ("ThreadPoolExecutor", "ProcessPoolExecutor", "ThreadPool(", "joblib", "cpu_count(", "n_jobs=-1")
    found = {
        (str(path.relative_to(source)), word)
        for path in set(source.rglob("*.py")) - allowed
        for word in words
        if word in path.read_text(encoding="utf-8")
    }
    assert found == set()


def test_scores_do_not_depend_on_the_number_of_threads():
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
