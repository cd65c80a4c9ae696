"""How often `compare` is sure of a difference that is none, and of one that is there.

    python benchmarks/differences.py --jobs 2          # prints, and writes benchmarks/differences.json

Each comparison draws factors and two representations of them. Under the null both have the same mechanism and noise of
the same size, drawn afresh: on the same rows, where tests are paired, or on rows of their own, where they are not. The
share of comparisons with any sure difference is the family-wise error, to be at most 5 %. For power, the second
representation has more noise: the share of comparisons with a sure difference in favour of the first, of comparisons
with one in favour of the second among scores that noise lowers, and of scores that are sure.

A run that was broken off goes on where it stopped: ``--store`` keeps each comparison, one line of JSON each.

Mechanisms: two to four factors, ordinal or continuous; each in a code of its own, turned, or mixed; noise of 0.2 to 1
standard deviations. Rows: 150 to 600.
"""

import json
import os
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from measure import fill_in, keep, machine, options, parse
from unbraid import Representation, compare, evaluate

CONDITIONS = ("same rows", "other rows", "more noise")
#: Standard deviation of the noise of the second representation, as a multiple of the first one's.
MORE = 1.3


def world(seed):
    """Return ``(rows, rng, noise) -> factors, codes`` of a random mechanism, its rows and its noise."""
    rng = np.random.default_rng([31, seed])
    n, rows = int(rng.integers(2, 5)), int(rng.integers(150, 601))
    levels = [int(rng.integers(3, 11)) if rng.random() < 0.5 else None for _ in range(n)]
    mix = {
        "own": np.eye(n),
        "turned": np.linalg.qr(rng.standard_normal((n, n)))[0],
        "mixed": rng.standard_normal((n, n)),
    }
    matrix, noise = mix[str(rng.choice(list(mix)))], float(rng.uniform(0.2, 1.0))

    def factors_of(rng):
        drawn = [rng.standard_normal(rows) if m is None else rng.integers(m, size=rows) for m in levels]
        return np.stack(drawn, axis=1)

    def codes_of(factors, rng, noise):
        return (factors - factors.mean(axis=0)) / factors.std(axis=0) @ matrix.T + noise * rng.standard_normal(
            factors.shape
        )

    kinds = ["continuous" if m is None else "ordinal" for m in levels]
    return factors_of, codes_of, kinds, noise


def one(condition, metrics, seed):
    """Compare two representations; return the names of sure scores for the first and for the second, and all tested."""
    warnings.simplefilter("ignore")
    factors_of, codes_of, kinds, noise = world(seed)
    rng = np.random.default_rng([32, seed])
    factors = factors_of(rng)
    other = factors_of(rng) if condition == "other rows" else factors
    codes = {"first": codes_of(factors, rng, noise)}
    codes["second"] = codes_of(other, rng, noise * (MORE if condition == "more noise" else 1.0))
    reports = {
        name: evaluate(
            Representation(z, v, kinds=kinds),
            metrics=metrics.split(","),
            nulls=False,
            n_jobs=1,
            progress=False,
            name=name,
        )
        for (name, z), v in zip(codes.items(), (factors, other), strict=True)
    }
    found = compare(reports).differences
    sure = {name: [item.metric for item in found if item.sure and item.better == name] for name in codes}
    return {
        "seed": seed,
        **sure,
        "tested": [item.metric for item in found if item.p_value is not None],
        "outside": _outside(found),
    }


def gather(condition, metrics, seeds, jobs, store):
    """Return the comparisons of all seeds; those in the store are read, and others are written to it as they come."""
    lines = store.read_text(encoding="utf-8").splitlines() if store is not None and store.exists() else []
    known = {row["seed"]: row for row in map(json.loads, lines) if row["condition"] == condition}
    missing = [seed for seed in seeds if seed not in known]
    work = partial(one, condition, metrics)
    with ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext() as pool:
        for row in (map if pool is None else pool.map)(work, missing):
            known[row["seed"]] = row
            if store is not None:
                with store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({**row, "condition": condition}) + "\n")
    return [known[seed] for seed in seeds]


def _outside(found):
    """Return the scores whose 95 % interval leaves out zero."""
    return [item.metric for item in found if item.low is not None and not item.low <= 0 <= item.high]


def summary(condition, results):
    """Print and return shares over comparisons, and by score."""
    n = len(results)
    either = sum(bool(r["first"] or r["second"]) for r in results)
    first, second = sum(bool(r["first"]) for r in results), sum(bool(r["second"]) for r in results)
    tested, outside = (Counter(name for r in results for name in r[key]) for key in ("tested", "outside"))
    sure = Counter(name for r in results for name in (*r["first"], *r["second"]))
    share = sum(sure.values()) / max(1, sum(tested.values()))
    print(
        f"{condition:<12}{n:5} comparisons; any sure difference {either / n:.3f}, for the first {first / n:.3f}, for "
        f"the second {second / n:.3f}; of single scores sure {share:.3f}"
    )
    by_score = {name: {"sure": sure[name] / tested[name], "outside": outside[name] / tested[name]} for name in tested}
    for name, of in by_score.items():
        print(f"    {name:<32} sure {of['sure']:.3f}   95 % interval without 0 {of['outside']:.3f}")
    return {"comparisons": n, "any": either / n, "first": first / n, "second": second / n, "by_score": by_score}


def as_markdown(found):
    """Return a table by condition for a page."""
    lines = [
        "| Condition | Comparisons | Any sure difference | For the first | For the second | Scores sure | "
        "95 % intervals without 0 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for condition, of in found.items():
        sure, outside = (np.mean([row[key] for row in of["by_score"].values()]) for key in ("sure", "outside"))
        shares = " | ".join(f"{100 * share:.1f} %" for share in (of["any"], of["first"], of["second"], sure, outside))
        lines.append(f"| {condition} | {of['comparisons']} | {shares} |")
    return "\n".join(lines)


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--first-seed", type=int, default=1000, help="seeds below 1000 served to choose rules")
    parser.add_argument("--comparisons", type=int, default=200)
    parser.add_argument("--metrics", default="default", help="names or families, with commas between them")
    parser.add_argument("--conditions", default=",".join(CONDITIONS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, help="file of comparisons, to go on with a run that was broken off")
    parser.add_argument("--page", type=Path, help="a page whose marked block is written anew")
    given = parse(parser, __file__, arguments, comparisons=1, metrics="mig,sap,r2")
    started, found = time.perf_counter(), {}
    seeds = range(given.first_seed, given.first_seed + given.comparisons)
    for condition in given.conditions.split(","):
        found[condition] = summary(condition, gather(condition, given.metrics, seeds, given.jobs, given.store))
        seconds = time.perf_counter() - started
        keep(given.output, {"machine": machine(), "seconds": seconds, condition: found[condition]}, beside_others=True)
    print(f"{seconds:.0f} s")
    kept = found if given.output is None else json.loads(given.output.read_text(encoding="utf-8"))
    fill_in(given.page, "differences", as_markdown({name: kept[name] for name in CONDITIONS if name in kept}))


if __name__ == "__main__":
    main()
