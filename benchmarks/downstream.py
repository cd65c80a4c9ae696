"""Time of downstream tasks by each predictor, and of agreement between all pairs of many models.

    python benchmarks/downstream.py          # prints, and writes benchmarks/downstream.json

Tasks: 10 000 rows of procedural sprites, codes that are a bent mix of the five factors. Agreement: 50 models of ten
codes each, the same factors turned another way in each; beside it scikit-learn's Lasso with the Gram matrix given, for
some pairs, scaled up to all, and for all pairs from one table of products, as ours works. Beside the seconds on the
clock stand those of the processor: read these where other work runs on the machine.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from measure import keep, machine, options, parse
from unbraid import Representation
from unbraid.data import sample_rows, sprites
from unbraid.downstream import PREDICTORS, pictures_of, solve
from unbraid.metrics import udr

N_CODES, PEER_PAIRS = 10, 20


def timed(name, work):
    """Seconds of one piece of work, and what it found."""
    work_started, clock_started = time.process_time(), time.perf_counter()
    found = work()
    clock, processor = time.perf_counter() - clock_started, time.process_time() - work_started
    print(f"{name:<60}{clock:8.2f} s   {processor:8.2f} s of the processor", flush=True)
    return {"name": name, "seconds": clock, "processor_seconds": processor}, found


def bent_sprites(n_rows):
    """Codes that carry all factors of sprites, none of them alone."""
    data, rng = sprites(), np.random.default_rng(0)
    rows = sample_rows(data, n_rows, rng=0)
    shape, scale, turn, x, y = (data.factors(rows) / (np.array(data.factor_sizes) - 1)).T
    told = np.column_stack([shape, scale, np.cos(2 * np.pi * turn), np.sin(2 * np.pi * turn), x, y]) * 2 - 1
    codes = np.tanh(told @ rng.normal(size=(6, N_CODES)))
    rep = Representation(codes, data.factors(rows), names=data.factor_names, kinds=data.factor_kinds)
    return rep, pictures_of(data, rows)


def time_tasks(n_rows, predictors):
    rep, pictures = bent_sprites(n_rows)
    small, some = bent_sprites(200)
    lines = []
    for name in predictors:
        masks = ["segmentation"] if PREDICTORS[name].finds_masks else []
        tasks = ["factors", "position_polar", *masks]
        for task in tasks:
            solve(small, task, predictor=name, pictures=some)  # imports are not what is timed
            line, result = timed(
                f"{task} by {name}, N={n_rows}",
                lambda task=task, name=name: solve(rep, task, predictor=name, pictures=pictures),
            )
            lines.append(line | {"value": result.value, "blind": result.blind})
    return lines


def turned_models(n_rows, n_models):
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n_rows, N_CODES))
    return [factors @ np.linalg.qr(rng.normal(size=(N_CODES, N_CODES)))[0] for _ in range(n_models)]


def pair_by_pair(scaled):
    """Lasso of one model's codes on another's, for a few pairs, with the Gram matrix of the codes given."""
    from sklearn.linear_model import Lasso

    gram = scaled[0].T @ scaled[0]
    lasso = Lasso(alpha=0.1, precompute=gram, fit_intercept=False)
    return [lasso.fit(scaled[0], other).coef_ for other in scaled[1:]]


def from_products(models):
    """All pairs by the library, from the same table of products as ours.

    A square root of the Gram matrix has the same products as the codes, in ten rows: no fit goes over the data again.
    """
    from sklearn.linear_model import Lasso
    from sklearn.preprocessing import StandardScaler

    stacked = np.hstack([StandardScaler().fit_transform(codes) for codes in models])
    products = stacked.T @ stacked / len(stacked)
    found = []
    for start in range(0, len(products), N_CODES):
        own = slice(start, start + N_CODES)
        root = np.linalg.cholesky(products[own, own]).T * np.sqrt(N_CODES)
        targets = np.linalg.solve(root.T, products[own]) * N_CODES
        found.append(Lasso(alpha=0.1, precompute=root.T @ root, fit_intercept=False).fit(root, targets).coef_)
    return found


def time_agreement(n_rows, n_models):
    from sklearn.preprocessing import StandardScaler

    models = turned_models(n_rows, n_models)
    udr(models[:2])
    from_products(models[:2])  # imports are not what is timed
    size = f"{n_models} models, L={N_CODES}, N={n_rows}"
    lines = [
        timed(f"udr by {method}, all pairs of {size}", lambda m=method: udr(models, method=m))[0]
        for method in ("lasso", "spearman")
    ]
    scaled = [StandardScaler().fit_transform(codes) for codes in models[: PEER_PAIRS + 1]]
    pairs, _ = timed(f"scikit-learn's Lasso(precompute=gram), {PEER_PAIRS} pairs", lambda: pair_by_pair(scaled))
    table, _ = timed("scikit-learn's Lasso(precompute=gram) on the table of products", lambda: from_products(models))
    n_pairs, ours = n_models * (n_models - 1), lines[0]["processor_seconds"]
    all_pairs = pairs["processor_seconds"] * n_pairs / PEER_PAIRS
    pairs |= {"all_pairs_processor_seconds": all_pairs, "times_as_long": all_pairs / ours}
    table |= {"times_as_long": table["processor_seconds"] / ours}
    print(f"{n_pairs} pairs one by one would take {all_pairs:.1f} s: {all_pairs / ours:.0f} times as long")
    return [*lines, pairs, table]


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--predictors", nargs="*", default=list(PREDICTORS))
    given = parse(parser, __file__, arguments, rows=100, models=PEER_PAIRS + 1, predictors=["linear"])
    lines = [*time_agreement(given.rows, given.models), *time_tasks(given.rows, given.predictors)]
    keep(given.output, {"machine": machine(), "rows": lines})


if __name__ == "__main__":
    main()
