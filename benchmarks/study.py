"""What a study costs: the speeds that estimates use, the status of a large store, and the `mini` study from nothing.

    python benchmarks/study.py                  # prints, and writes benchmarks/study.json
    python benchmarks/study.py --part speeds    # seconds of each kind of evidence, on one core
    python benchmarks/study.py --part tasks     # seconds of each predictor
    python benchmarks/study.py --part status    # of a store of 10 000 models
    python benchmarks/study.py --part mini      # the mini study, trained, scored, correlated and drawn

`src/unbraid/metrics/_sources.py` and `src/unbraid/study/cost.py` hold the speeds in round numbers; a test compares.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

import unbraid as ub
from helpers.worlds import dsprites_like
from measure import machine
from stores import NAMES, finished_store
from unbraid.downstream import PREDICTORS, solve
from unbraid.metrics import METRICS, udr
from unbraid.study import Store
from unbraid.study import status as status_of
from unbraid.study.cost import ROWS_MEASURED

OUT = Path(__file__).with_name("study.json")
TARGETS = {"status_seconds": 2.0, "mini_seconds": 600.0}
#: Models of the store whose status is timed.
N_MODELS = 10_000
#: How often the command is timed.
REPEATS = 7


def speeds():
    """CPU seconds of a point score for each kind of evidence, and of comparing two models."""
    reps = {n: ub.Representation(*dsprites_like(n), names=NAMES) for n in ROWS_MEASURED}
    first = {metric.source.name: metric.name for metric in reversed(METRICS.values())}
    scores = {source: [_score(rep, name) for rep in reps.values()] for source, name in first.items()}
    pair = _timed(lambda rep: udr([rep.codes] * 20, method="lasso"), reps[ROWS_MEASURED[0]]) / 20**2
    return {"rows": list(ROWS_MEASURED), "scores": scores, "agreement_of_a_pair": pair}


def tasks():
    """CPU seconds of a task with one part for each predictor; codes are bent, so that none is done at once."""
    worlds = [dsprites_like(n) for n in ROWS_MEASURED]
    reps = [ub.Representation(np.tanh(codes), factors, names=NAMES) for codes, factors in worlds]
    return {"rows": list(ROWS_MEASURED), "seconds": {name: [_task(rep, name) for rep in reps] for name in PREDICTORS}}


def _score(rep, name):
    return _timed(
        lambda rep: ub.evaluate(rep, metrics=[name], intervals=False, nulls=False, n_jobs=1, progress=False), rep
    )


def _task(rep, predictor):
    return _timed(lambda rep: solve(rep, "factor:x", predictor=predictor), rep)


def _timed(work, rep):
    """Time one call, after one on few rows, so that imports are not what is timed."""
    work(rep.take(np.arange(200)))
    started = time.process_time()
    work(rep)
    return time.process_time() - started


def status():
    """Seconds to say how far a study of 10 000 models is, all of them measured: the command, and the work in it."""
    with tempfile.TemporaryDirectory() as folder:
        plan, n_rows = finished_store(folder, N_MODELS)
        started = time.perf_counter()
        summary = status_of(folder).summary()
        work = time.perf_counter() - started
        command = [sys.executable, "-m", "unbraid", "study", "status", "--store", folder]
        commands = [_clock(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(REPEATS)]
        n_shards = len(Store(folder).names("results"))
    return {
        "models": len(plan.models),
        "numbers": sum(part["done"] for part in summary["parts"].values()),
        "rows": n_rows,
        "shards": n_shards,
        "seconds_of_work": work,
        "status_seconds": float(np.median(commands)),
        "status_seconds_range": [min(commands), max(commands)],
    }


def _clock(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def mini():
    """Wall-clock seconds of the mini study, from an empty folder to its report, as a user runs it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "unbraid", "study"]
        started = time.perf_counter()
        subprocess.run([*command, "run", "mini", "--store", folder], check=True)
        ran = time.perf_counter()
        report = Path(folder) / "report.html"
        subprocess.run([*command, "report", "--store", folder, "--out", str(report)], check=True)
        drawn = time.perf_counter()
        table = Store(folder).table()
        training = table[table["kind"] == "model"]["seconds"].sum()
        n_bytes = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        return {
            "models": int((table["kind"] == "model").sum()),
            "run_seconds": ran - started,
            "report_seconds": drawn - ran,
            "mini_seconds": drawn - started,
            "training_seconds": float(training),
            "report_megabytes": report.stat().st_size / 1e6,
            "store_megabytes": n_bytes / 1e6,
        }


PARTS = {"speeds": speeds, "tasks": tasks, "status": status, "mini": mini}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS)
    asked = parser.parse_args().part
    results = json.loads(OUT.read_text()) if OUT.exists() else {}
    for name, part in PARTS.items():
        if asked in (None, name):
            results[name] = {"machine": machine(), **part()}
            print(json.dumps({name: results[name]}, indent=1))
    OUT.write_text(json.dumps({**results, "targets": TARGETS}, indent=1) + "\n")


if __name__ == "__main__":
    main()
