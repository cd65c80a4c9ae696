"""How time and memory grow with rows, codes and factors, for each metric, with the fitted exponent.

    python benchmarks/scaling.py                # prints, and writes benchmarks/scaling.json
    python benchmarks/scaling.py --only mig     # one metric, the others in the file kept
    python benchmarks/scaling.py --limit 120    # go on to sizes that should take up to 120 s

A size whose time, extrapolated from the sizes before it, passes the limit is left out and marked so.
"""

import argparse
import json
import os
from dataclasses import asdict
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from helpers.worlds import many_factors
from measure import machine, measure
from panel import METRICS_BY_FAMILY, run_information, run_metric

AXES = {
    "rows": [(1_000, 10, 5), (10_000, 10, 5), (100_000, 10, 5), (1_000_000, 10, 5)],
    "codes": [(10_000, 10, 5), (10_000, 100, 5), (10_000, 1_000, 5)],
    "factors": [(10_000, 10, 2), (10_000, 10, 10), (10_000, 10, 50)],
}
POSITION = {"rows": 0, "codes": 1, "factors": 2}
INFORMATION_CASE = (1_000_000, 64, 10)


def along(work: object, axis: str, limit: float) -> list[dict[str, float]]:
    """Measure sizes in turn, while the next can be expected to stay under the limit."""
    points: list[dict[str, float]] = []
    for shape in AXES[axis]:
        if len(points) >= 2:
            growth = shape[POSITION[axis]] / points[-1]["size"]
            expected = points[-1]["seconds"] * growth ** max(1.0, exponent(points, "seconds"))
            if expected > limit:
                points.append({"size": shape[POSITION[axis]], "expected_seconds": expected})
                break
        found = measure(work, many_factors, shape)
        points.append({"size": shape[POSITION[axis]], "seconds": found.seconds, "peak_mib": found.peak_mib})
    return points


def exponent(points: list[dict[str, float]], key: str) -> float:
    """Slope of log ``key`` against log size, over the last two sizes measured: what larger sizes will follow."""
    measured = [point for point in points if key in point and point[key] > 0]
    if len(measured) < 2:
        return float("nan")
    first, last = measured[-2], measured[-1]
    return float(np.log(last[key] / first[key]) / np.log(last["size"] / first["size"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    names = [name for name in METRICS_BY_FAMILY if not arguments.only or name in arguments.only.split(",")]
    results: dict[str, object] = {}
    for name in names:
        rows = {}
        for axis in AXES:
            points = along(partial(run_metric, name), axis, arguments.limit)
            rows[axis] = {"points": points, "exponent": exponent(points, "seconds")}
            cells = "  ".join(
                f"{int(p['size']):,}: {p['seconds']:.2f} s {p['peak_mib']:.0f} MiB"
                if "seconds" in p
                else f"{int(p['size']):,}: not run, about {p['expected_seconds']:.0f} s"
                for p in points
            )
            print(f"{name:26s}{axis:9s}{cells}  exponent {rows[axis]['exponent']:.2f}", flush=True)
        results[name] = rows
    if not arguments.only or "information" in arguments.only:
        found = measure(run_information, many_factors, INFORMATION_CASE)
        results["information, with intervals"] = {"shape": INFORMATION_CASE, **asdict(found)}
        print(
            f"information metrics with intervals, N, L, K = {INFORMATION_CASE}: "
            f"{found.seconds:.1f} s, {found.process_mib:.0f} MiB in all"
        )
    kept = json.loads(arguments.out.read_text())["results"] if arguments.only and arguments.out.exists() else {}
    arguments.out.write_text(json.dumps({"machine": machine(), "results": kept | results}, indent=1) + "\n")
    print(f"wrote {arguments.out}")


if __name__ == "__main__":
    main()
