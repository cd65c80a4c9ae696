"""Processor time of the whole default panel against that of an earlier commit.

    python benchmarks/panel_since.py                      # against 3cb39ae; prints, and writes panel_since.json
    python benchmarks/panel_since.py --commit v1.0 --repeats 5
    python benchmarks/panel_since.py --before ../old/src  # against a tree that is there

Both trees score the same codes in processes of their own, in turn, with one thread. The least of the repeats counts,
in seconds of the processor, so that other work on the machine hardly matters. Scores that are new since then count too.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measure import keep, machine, options, parse

HERE = Path(__file__).resolve().parents[1]
SIZES = ("mixed 2000", "own 2000", "mixed 10000")
#: Run in a process of its own, with the tree to be measured first on the path.
SCORED = """
import json, sys, time, warnings
import numpy as np
from unbraid import evaluate

warnings.simplefilter("ignore")


def mixed(n):
    rng = np.random.default_rng(0)
    v = np.stack([rng.integers(size, size=n) for size in (3, 6, 40, 32, 32)], axis=1)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    return np.hstack([(v - v.mean(axis=0)) / v.std(axis=0) @ turn, rng.standard_normal((n, 5))]), v


def own(n):
    rng = np.random.default_rng(0)
    v = rng.integers(0, 10, (n, 5))
    return np.hstack([(v - 4.5) / 2.87, rng.normal(size=(n, 5))]) + rng.normal(size=(n, 10)), v


worlds, found = {"mixed": mixed, "own": own}, {}
evaluate(*own(100), n_jobs=1, progress=False)  # imports and caches are not what is timed
for size in sys.argv[1:]:
    world, n_rows = size.split()
    codes, factors = worlds[world](int(n_rows))
    started = time.process_time()
    report = evaluate(codes, factors, n_jobs=1, progress=False)
    found[size] = (time.process_time() - started, len(report.scores))
print(json.dumps(found))
"""


def tree_of(commit: str, folder: Path) -> Path:
    """Write the sources of a commit into a folder, and return the folder of its packages."""
    archive = subprocess.run(["git", "-C", HERE, "archive", commit, "src"], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], check=True, input=archive)
    return folder / "src"


def timed(tree: Path, sizes: Sequence[str]) -> dict[str, tuple[float, int]]:
    """Processor seconds and number of scores of each size."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    done = subprocess.run(
        [sys.executable, "-c", SCORED, *sizes], check=True, capture_output=True, text=True, env=environment
    )
    return {size: (seconds, n_scores) for size, (seconds, n_scores) in json.loads(done.stdout).items()}


def compared(before: Path, sizes: Sequence[str], repeats: int) -> dict[str, dict[str, float]]:
    """Print and return the least seconds of both trees, and their ratio."""
    runs = [(timed(before, sizes), timed(HERE / "src", sizes)) for _ in range(repeats)]
    found = {}
    print(f"{'':14s}{'before':>10s}{'now':>10s}{'ratio':>8s}   scores")
    for size in sizes:
        old, new = (min(run[tree][size][0] for run in runs) for tree in (0, 1))
        n_old, n_new = (runs[0][tree][size][1] for tree in (0, 1))
        found[size] = {"before": old, "now": new, "ratio": new / old, "scores_before": n_old, "scores": n_new}
        print(f"{size:14s}{old:8.2f} s{new:8.2f} s{new / old:8.2f}   {n_old}, {n_new}", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("--commit", default="3cb39ae", help="commit to compare with")
    parser.add_argument("--before", type=Path, help="folder of the packages to compare with, in place of a commit")
    parser.add_argument("--sizes", default=",".join(SIZES), help="kinds of codes and numbers of rows")
    parser.add_argument("--repeats", type=int, default=3)
    given = parse(parser, __file__, arguments, before=HERE / "src", sizes="own 100", repeats=1)
    sizes = given.sizes.split(",")
    with tempfile.TemporaryDirectory() as folder:
        before = given.before or tree_of(given.commit, Path(folder))
        found = compared(before, sizes, given.repeats)
    keep(given.output, {"machine": machine(), "commit": given.commit, "results": found})


if __name__ == "__main__":
    main()
