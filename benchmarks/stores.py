"""A store as a large study leaves it, without the weeks: real keys, real columns, made-up values."""

import msgspec
import numpy as np

import unbraid as ub
from unbraid.downstream import solve_all
from unbraid.study import Store, load_study, make_plan
from unbraid.study.jobs.measure import measured_row
from unbraid.study.jobs.train import model_row
from unbraid.study.run import keep_study
from unbraid.study.store import MERGE_ABOVE
from worlds import dsprites_like

#: Factors of dSprites.
NAMES = ["shape", "scale", "orientation", "x", "y"]
#: Rows that tell which measurements also have a value for each factor.
N_ROWS = 500


def finished_store(folder, n_models, name="thesis"):
    """Fill a folder with a study of at least so many models, all of them trained and measured.

    Every measurement has the rows it has in a real store, those for single factors among them. Half as many small
    shards are left as a run leaves before it merges them.

    Returns:
        The plan, and how many rows there are.
    """
    study = load_study(name)
    n_settings = len(make_plan(study).models) // study.seeds
    plan = make_plan(msgspec.structs.replace(study, seeds=-(-n_models // n_settings)))
    store = Store(folder)
    keep_study(plan.study, store)
    agreements = {model.key: one for group, one in plan.comparisons(set()) for model in group}
    parts = _parts(plan)
    rng, n_rows = np.random.default_rng(0), 0
    for number, model in enumerate(plan.models):
        rows = [model_row(model, rng.random())]
        for one in (*plan.measurements_of(model), agreements[model.key]):
            rows += [{**_row(model, one, rng), "factor": factor} for factor in ("", *parts.get(one.name, ()))]
        store.add_rows(rows)
        n_rows += len(rows)
        store.write(model.codes, b"")
        if number == len(plan.models) - MERGE_ABOVE // 2:
            store.merge()
    return plan, n_rows


def _row(model, measurement, rng):
    return {**measured_row(model, measurement), "value": rng.random(), "seconds": rng.random()}


def _parts(plan):
    """Which measurements have rows for factors, and for which: asked of a small representation."""
    codes, factors = dsprites_like(N_ROWS)
    rep = ub.Representation(np.tanh(codes), factors, names=NAMES)
    metrics = list(dict.fromkeys(one.name for one in plan.measurements if one.kind == "score"))
    report = ub.evaluate(rep, metrics=metrics, intervals=False, nulls=False, n_jobs=1, progress=False)
    tasks = list(dict.fromkeys(one.name for one in plan.measurements if one.kind == "task"))
    solved = solve_all(rep, tasks=tasks, predictors=["linear"], progress=False)
    of_scores = {name: NAMES for name in metrics if report[name].per_factor is not None}
    of_tasks = {name: [part for part in rows if part] for name, rows in solved.groupby("name")["factor"]}
    return {**of_scores, **of_tasks}
