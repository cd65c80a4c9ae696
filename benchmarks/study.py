"""What a study costs: the speeds that estimates use, the status of a large store, and the `mini` study from nothing.

    python benchmarks/study.py                  # prints, and writes benchmarks/study.json
    python benchmarks/study.py --part speeds    # seconds of each kind of evidence, on one core
    python benchmarks/study.py --part tasks     # seconds of each predictor
    python benchmarks/study.py --part status    # of a store of 10 000 models
    python benchmarks/study.py --part mini      # the mini study, trained, scored, correlated and drawn

`src/unbraid/study/_speeds.py` holds the speeds in round numbers; a test compares the two.
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
from measure import machine
from unbraid.downstream import PREDICTORS, solve
from unbraid.metrics import METRICS, udr
from unbraid.study import Store, load_study, look, make_plan
from unbraid.study._plan import model_row_key
from unbraid.study._speeds import ROWS_MEASURED
from worlds import dsprites_like

OUT = Path(__file__).with_name("study.json")
TARGETS = {"status_seconds": 2.0, "mini_seconds": 600.0}
#: Models of the store whose status is timed.
N_MODELS = 10_000


NAMES = ["shape", "scale", "orientation", "x", "y"]


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
    """Seconds to say how far a study of 10 000 models is, all of them measured."""
    study = load_study("thesis")
    seeds = N_MODELS // (6 * 6) + 1
    plan = make_plan(_with(study, seeds=seeds))
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        for number, model in enumerate(plan.models):
            rows = [_row(model, model_row_key(model), "model")]
            rows += [_row(model, one.on(model), one.kind, one) for one in plan.measurements_of(model)]
            store.add_rows(rows)
            if number % 200 == 199:
                store.merge()
        for ensemble in plan.ensembles:
            for model in ensemble.members:
                store.write(model.codes, b"")
        started = time.perf_counter()
        summary = look(make_plan(plan.study), store).summary()
        seconds = time.perf_counter() - started
        n_shards = len(store.names("results"))
    return {
        "models": len(plan.models),
        "numbers": sum(p["done"] for p in summary["parts"].values()),
        "shards": n_shards,
        "seconds": seconds,
    }


def _with(study, **changes):
    import msgspec

    return msgspec.structs.replace(study, **changes)


def _row(model, key, kind, one=None):
    return {
        **model.columns(),
        "key": key,
        "kind": kind,
        "name": one.name if one else "loss",
        "predictor": one.predictor if one else "",
        "factor": "",
        "n_rows": one.n_rows if one else 0,
        "value": 0.5,
        "failure": "",
        "seconds": 1.0,
        "version": "0",
    }


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
