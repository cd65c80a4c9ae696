"""Sparse codes as sparse autoencoders have them: seconds and peak memory of scoring, beside the goals.

    python benchmarks/reach_sparse.py                    # prints, and writes benchmarks/reach_sparse.json
    python benchmarks/reach_sparse.py --only wide        # the one of a million codes

Each row is a process of its own. Codes are drawn so that code k has factor k, among codes that are active at random;
the run fails where a factor's best code is another one.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse

from measure import cpu_seconds, in_a_process, keep, machine, memory_with_children, options, parse
from unbraid import evaluate

#: Rows, codes, codes active in a row, factors, metrics, and the goals in seconds and GiB.
ROWS = {
    "deep": (100_000, 16_384, 164, 20, "default", 300, 6),
    "wide": (20_000, 1_000_000, 64, 20, "mig,mcc,sap", 300, 8),
}
TINY = {
    "deep": (600, 3_000, 30, 3, "mig,mcc,r2", 300, 6),
    "wide": (500, 20_000, 20, 3, "mig,mcc,sap", 300, 8),
}


def draw(n_rows, n_codes, n_active, n_factors, seed=0):
    """Draw sparse codes, of which the first have a factor each: categories of four values and numbers by turns."""
    rng = np.random.default_rng(seed)
    factors, known = {}, []
    for k in range(n_factors):
        if k % 2:
            values = np.maximum(rng.normal(size=n_rows), 0.0)
            factors[f"number_{k}"], column = values, values
        else:
            values = rng.integers(0, 4, n_rows)
            factors[f"kind_{k}"], column = np.array(list("abcd"))[values], values
        known.append(column * (rng.random(n_rows) < 0.95))
    places = rng.integers(n_factors, n_codes, (n_rows, n_active))
    rows = np.repeat(np.arange(n_rows), n_active)
    values = rng.exponential(size=n_rows * n_active).astype(np.float32)
    noise = scipy.sparse.csr_matrix((values, (rows, places.ravel())), shape=(n_rows, n_codes))
    first = scipy.sparse.csr_matrix(np.stack(known, axis=1).astype(np.float32))
    first.resize((n_rows, n_codes))
    return (noise + first).tocsr(), factors


def score(n_rows, n_codes, n_active, n_factors, metrics):
    """Score, and hold the best codes against the truth; return seconds, CPU seconds and the peak memory in MiB."""
    codes, factors = draw(n_rows, n_codes, n_active, n_factors)
    started, worked = time.perf_counter(), cpu_seconds()
    with memory_with_children() as memory:
        report = evaluate(codes, factors, metrics=metrics, progress=False)
    seconds, of_cpu = time.perf_counter() - started, cpu_seconds() - worked
    best = report["mig"].evidence["mutual_information"].argmax(axis=0)
    if best.tolist() != list(range(len(factors))):
        raise ValueError(f"the best codes must be the first ones, got {best.tolist()}.")
    if report.failures:
        raise ValueError(f"all metrics must have a score, got {report.failures}.")
    for name, found in report.scores.items():
        chance = "none" if found.null is None else f"{found.null:.3f}"
        print(f"  {name:28} {found.value:8.3f}  chance {chance}", flush=True)
    print("  ", dict(report.setup.seconds_by_evidence), flush=True)
    return seconds, of_cpu, max(memory)


def main(arguments=None):
    """Measure and print."""
    parser = options(__doc__, __file__)
    parser.add_argument("--only", choices=list(ROWS), help="one of the rows")
    given = parse(parser, __file__, arguments)
    found = {}
    for name, (n_rows, n_codes, n_active, n_factors, metrics, seconds, gib) in (TINY if given.tiny else ROWS).items():
        if given.only in (None, name):
            sizes = (n_rows, n_codes, n_active, n_factors, metrics)
            took, of_cpu, peak = score(*sizes) if given.tiny else in_a_process(score, *sizes)
            found[name] = {
                "rows": n_rows,
                "codes": n_codes,
                "active": n_active,
                "factors": n_factors,
                "metrics": metrics,
                "seconds": round(took, 1),
                "cpu_seconds": round(of_cpu, 1),
                "process_mib": round(peak),
                "goal_seconds": seconds,
                "goal_mib": 1024 * gib,
            }
            print(f"{name}: {n_rows} x {n_codes}, {n_active} active, {n_factors} factors, {metrics}:")
            print(f"  {took:.1f} s (goal {seconds}), {of_cpu:.1f} s of CPU, {peak / 1024:.2f} GiB (goal {gib})")
    keep(given.output, {"machine": machine(), **found}, beside_others=given.only is not None)


if __name__ == "__main__":
    main()
