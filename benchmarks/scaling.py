"""How time and memory grow with rows, codes and factors, for each metric, with the fitted exponent.

    python benchmarks/scaling.py                # prints, and writes benchmarks/scaling.json
    python benchmarks/scaling.py --only mig     # one metric, the others in the file kept
    python benchmarks/scaling.py --limit 120    # go on to sizes that should take up to 120 s

A size whose time, extrapolated from the sizes before it, passes the limit is left out and marked so, and so is one that
a metric refuses: rows of fifty factors never agree in forty-nine of them.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from measure import keep, machine, measure, options, parse
from panel import METRICS_BY_FAMILY, run_information, run_metric
from worlds import many_factors

AXES = {
    "rows": [(1_000, 10, 5), (10_000, 10, 5), (100_000, 10, 5), (1_000_000, 10, 5)],
    "codes": [(10_000, 10, 5), (10_000, 100, 5), (10_000, 1_000, 5), (10_000, 4_096, 5), (10_000, 16_384, 5)],
    "factors": [(10_000, 10, 2), (10_000, 10, 10), (10_000, 10, 50)],
}
TINY = {axis: [(200, 4, 2), shape] for axis, shape in zip(AXES, [(400, 4, 2), (200, 8, 2), (200, 4, 3)], strict=True)}
POSITION = {"rows": 0, "codes": 1, "factors": 2}
INFORMATION_CASE = (1_000_000, 64, 10)


def along(work: object, axis: str, shapes: list[tuple[int, ...]], limit: float, here: bool) -> list[dict[str, float]]:
    """Measure sizes in turn, while the next can be expected to stay under the limit."""
    points: list[dict[str, float]] = []
    for shape in shapes:
        if len(points) >= 2:
            growth = shape[POSITION[axis]] / points[-1]["size"]
            expected = points[-1]["seconds"] * growth ** max(1.0, exponent(points, "seconds"))
            if expected > limit:
                points.append({"size": shape[POSITION[axis]], "expected_seconds": expected})
                break
        try:
            found = measure(work, many_factors, shape, here=here)
        except (ValueError, RuntimeError):
            points.append({"size": shape[POSITION[axis]], "refused": 1.0})
            break
        points.append({"size": shape[POSITION[axis]], "seconds": found.seconds, "peak_mib": found.peak_mib})
    return points


def cell(point: dict[str, float]) -> str:
    """Return one size in words."""
    size = f"{int(point['size']):,}"
    if "seconds" in point:
        return f"{size}: {point['seconds']:.2f} s {point['peak_mib']:.0f} MiB"
    return f"{size}: refused" if "refused" in point else f"{size}: not run, about {point['expected_seconds']:.0f} s"


def exponent(points: list[dict[str, float]], key: str) -> float:
    """Slope of log ``key`` against log size, over the last two sizes measured: what larger sizes will follow."""
    measured = [point for point in points if key in point and point[key] > 0]
    if len(measured) < 2:
        return float("nan")
    first, last = measured[-2], measured[-1]
    return float(np.log(last[key] / first[key]) / np.log(last["size"] / first["size"]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=60.0)
    given = parse(parser, __file__, arguments, only="mig,information")
    names = [name for name in METRICS_BY_FAMILY if not given.only or name in given.only.split(",")]
    axes = TINY if given.tiny else AXES
    results: dict[str, object] = {}
    if given.output is not None and given.only and given.output.exists():
        results = json.loads(given.output.read_text())["results"]
    for name in names:
        rows = {}
        for axis, shapes in axes.items():
            points = along(partial(run_metric, name), axis, shapes, given.limit, given.tiny)
            rows[axis] = {"points": points, "exponent": exponent(points, "seconds")}
            cells = "  ".join(map(cell, points))
            print(f"{name:26s}{axis:9s}{cells}  exponent {rows[axis]['exponent']:.2f}", flush=True)
        results[name] = rows
        keep(given.output, {"machine": machine(), "results": results})
    if not given.only or "information" in given.only:
        case = TINY["rows"][0] if given.tiny else INFORMATION_CASE
        found = measure(run_information, many_factors, case, here=given.tiny)
        results["information, with intervals"] = {"shape": case, **asdict(found)}
        print(
            f"information metrics with intervals, N, L, K = {case}: "
            f"{found.seconds:.1f} s, {found.process_mib:.0f} MiB in all"
        )
    keep(given.output, {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
