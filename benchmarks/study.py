"""What a study costs: the speeds that estimates use, the status of a large store, and the `mini` study from nothing.

    python benchmarks/study.py                  # prints, and writes benchmarks/study.json
    python benchmarks/study.py --part speeds    # seconds of each kind of evidence, on one core
    python benchmarks/study.py --part tasks     # seconds of each predictor
    python benchmarks/study.py --part thesis    # seconds of probes with the settings of the study `thesis`
    python benchmarks/study.py --part status    # of a store of 10 000 models
    python benchmarks/study.py --part mini      # the mini study, trained, scored, correlated and drawn

`metrics/table/sources.py` and `study/cost.py` hold the speeds in round numbers; a test compares.
"""

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
from measure import keep, machine, options, parse
from stores import NAMES, finished_store
from unbraid.downstream import PREDICTORS, solve
from unbraid.metrics import METRICS, udr
from unbraid.study import Store, load_study
from unbraid.study import status as status_of
from unbraid.study.cost import ROWS_MEASURED
from worlds import dsprites_like

TINY_STUDY = str(Path(__file__).with_name("tiny.yaml"))
TARGETS = {"status_seconds": 2.0, "mini_seconds": 600.0}


def speeds(given):
    """CPU seconds of a point score for each kind of evidence, and of comparing two models."""
    reps = {n: ub.Representation(*dsprites_like(n), names=NAMES) for n in given.rows}
    first = {metric.source.name: metric.name for metric in reversed(METRICS.values())}
    first = {source: first[source] for source in given.sources or first}
    scores = {source: [_score(rep, name) for rep in reps.values()] for source, name in first.items()}
    if given.sources and given.output is not None and given.output.exists():
        kept = json.loads(given.output.read_text(encoding="utf-8"))["speeds"]
        return {**kept, "scores": kept["scores"] | scores}
    pair = _timed(lambda rep: udr([rep.codes] * 20, method="lasso"), reps[given.rows[0]]) / 20**2
    return {"rows": given.rows, "scores": scores, "agreement_of_a_pair": pair}


def thesis(given):
    """CPU seconds of linear probes and forests with the settings of the study `thesis`, factors as classes."""
    spec = load_study("thesis").scores
    reps = [ub.Representation(*dsprites_like(n), names=NAMES).with_factors_as_classes() for n in given.rows]
    scores = {
        METRICS[f"{name}.disentanglement"].source.name: [_score(rep, name, spec.options) for rep in reps]
        for name in given.probes
    }
    return {"rows": given.rows, "scores": scores}


def tasks(given):
    """CPU seconds of a task with one part for each predictor; codes are bent, so that none is done at once."""
    worlds = [dsprites_like(n) for n in given.rows]
    reps = [ub.Representation(np.tanh(codes), factors, names=NAMES) for codes, factors in worlds]
    return {"rows": given.rows, "seconds": {name: [_task(rep, name) for rep in reps] for name in given.predictors}}


def _score(rep, name, options=None):
    how = {"options": {name: options[name]}} if options else {}
    return _timed(
        lambda rep: ub.evaluate(rep, metrics=[name], intervals=False, nulls=False, n_jobs=1, progress=False, **how), rep
    )


def _task(rep, predictor):
    return _timed(lambda rep: solve(rep, "factor:x", predictor=predictor), rep)


def _timed(work, rep):
    """Time one call, after one on few rows, so that imports are not what is timed."""
    work(rep.take(np.arange(200)))
    started = time.process_time()
    work(rep)
    return time.process_time() - started


def status(given):
    """Seconds to say how far a large study is, all of them measured: the command, and the work in it."""
    with tempfile.TemporaryDirectory() as folder:
        plan, n_rows = finished_store(folder, given.models, given.stored)
        started = time.perf_counter()
        summary = status_of(folder).summary()
        work = time.perf_counter() - started
        command = [sys.executable, "-m", "unbraid", "study", "status", "--store", folder]
        commands = [
            _clock(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(given.repeats)
        ]
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


def mini(given):
    """Wall-clock seconds of the mini study, from an empty folder to its report, as a user runs it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "unbraid", "study"]
        started = time.perf_counter()
        subprocess.run([*command, "run", given.study, "--store", folder], check=True)
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


PARTS = {"speeds": speeds, "thesis": thesis, "tasks": tasks, "status": status, "mini": mini}


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS_MEASURED))
    parser.add_argument("--sources", nargs="*", help="kinds of evidence, the others kept; all by default")
    parser.add_argument("--probes", nargs="*", default=["dci_linear", "dci_forest"], help="of the part thesis")
    parser.add_argument("--predictors", nargs="*", default=list(PREDICTORS))
    parser.add_argument("--models", type=int, default=10_000, help="models of the store whose status is timed")
    parser.add_argument("--stored", default="thesis", help="name or file of the study in that store")
    parser.add_argument("--repeats", type=int, default=7, help="how often the command is timed")
    parser.add_argument("--study", default="mini", help="name or file of the study that is run")
    small = {"rows": [200, 300], "sources": ["information"], "probes": ["dci_linear"], "predictors": ["linear"]}
    small |= {"models": 3, "repeats": 1}
    given = parse(parser, __file__, arguments, **small, stored=TINY_STUDY, study=TINY_STUDY)
    for name, part in PARTS.items():
        if given.part in (None, name):
            found = part(given) | {"machine": machine()}
            print(json.dumps({name: found}, indent=1))
            keep(given.output, {name: found, "targets": TARGETS}, beside_others=True)


if __name__ == "__main__":
    main()
