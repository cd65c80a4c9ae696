"""Time of the five scores for dependent factors, and of the test that asks for them.

    python benchmarks/dependent.py          # prints, and writes benchmarks/dependent.json

The target is 15 s on two cores for 10 000 rows, 3 factors and 4 codes. Beside the seconds on the clock stand those of
the processor: where other work runs on the machine, half of the latter is what two idle cores would need.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from measure import keep, machine, options, parse
from unbraid.data import cosine_dependence
from unbraid.evidence.dependence import factor_dependence
from unbraid.metrics import dependent

TARGET = 15.0


def timed(name, work):
    work_started, clock_started = time.process_time(), time.perf_counter()
    work()
    clock, processor = time.perf_counter() - clock_started, time.process_time() - work_started
    print(f"{name:<60}{clock:8.2f} s   {processor:8.2f} s of the processor", flush=True)
    return {"name": name, "seconds": clock, "processor_seconds": processor}


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--trees", type=int, default=30)
    given = parse(parser, __file__, arguments, rows=100, trees=2)

    rep = cosine_dependence("Cos3D", n_samples=given.rows)
    dependent(cosine_dependence("Cos3D", n_samples=100), n_trees=2)  # imports are not what is timed
    size = f"N={given.rows}, K={rep.n_factors}, L={rep.n_codes}"
    lines = [
        timed(f"dependent, all five scores, {size}", lambda: dependent(rep, n_trees=given.trees)) | {"target": TARGET},
        timed(f"dependent, extra trees, {size}", lambda: dependent(rep, regressor="extra", n_trees=given.trees)),
        timed(f"test for dependence, {size}", lambda: factor_dependence(rep, np.random.default_rng(0))),
    ]
    keep(given.output, {"machine": machine(), "rows": lines})


if __name__ == "__main__":
    main()
