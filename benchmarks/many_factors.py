"""The default panel on few rows with many factors: seconds of the processor, by kind of evidence.

    python benchmarks/many_factors.py          # prints, and writes benchmarks/many_factors.json

Each kind of evidence is gathered as often as the panel does it: once for the number, again for its confidence interval
and for chance. One thread, so that seconds of the processor are seconds on an idle core; imports are not counted. The
test of factors for dependence, which every call makes, has a line of its own and is taken off the others.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from measure import keep, machine, options, parse
from unbraid import evaluate
from unbraid.evidence.dependence import factor_dependence
from unbraid.panel.plan import plan_evidence, resolve_metrics
from unbraid.representation.representation import Representation

N_LEVELS, N_CODES, NOISE = 4, 10, 0.3
SHARED = {"n_bins": 20, "binning": "robust"}


def draw(n_rows, n_factors):
    """Factors of whole numbers, and codes that are some of them with noise."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, N_LEVELS, (n_rows, n_factors))
    codes = rng.standard_normal((n_rows, N_CODES))
    codes[:, : min(N_CODES, n_factors)] = factors[:, :N_CODES] + NOISE * codes[:, : min(N_CODES, n_factors)]
    return Representation(codes, factors)


def seconds_of(work):
    """Seconds of the processor, of all threads."""
    started = time.process_time()
    work()
    return time.process_time() - started


def lines_of(rep):
    """Seconds of the test for dependence and of each kind of evidence, with the number of times it is gathered."""
    tests = seconds_of(lambda: factor_dependence(rep, np.random.default_rng(0)))
    lines = [{"evidence": "dependence of factors", "times": 1, "seconds": tests}]
    for plan in plan_evidence(resolve_metrics("default"), SHARED, {}):
        names = list(plan.metrics)
        taken = seconds_of(lambda names=names: evaluate(rep, metrics=names, n_jobs=1, progress=False))
        times = 1 + plan.source.n_replicates * plan.refits + plan.source.n_nulls
        lines.append({"evidence": plan.source.name, "times": times, "seconds": max(0.0, taken - tests)})
    return sorted(lines, key=lambda line: -line["seconds"])


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--factors", default="24,200", help="numbers of factors")
    given = parse(parser, __file__, arguments, factors="3")
    evaluate(draw(given.rows, 2), intervals=False, nulls=False, n_jobs=1, progress=False)  # imports
    found = {}
    for n_factors in map(int, given.factors.split(",")):
        lines = found[n_factors] = lines_of(draw(given.rows, n_factors))
        for line in lines:
            print(f"{n_factors:>5} factors  {line['evidence']:<24}{line['times']:>4} times {line['seconds']:8.1f} s")
        total = sum(line["seconds"] for line in lines)
        print(f"{n_factors:>5} factors  in all {total:.1f} s, {total / n_factors:.2f} s for each", flush=True)
    keep(given.output, {"machine": machine(), "rows": given.rows, "codes": N_CODES, "seconds": found})


if __name__ == "__main__":
    main()
