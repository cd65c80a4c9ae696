"""How time and memory grow with rows, codes and factors, for each metric, with the fitted exponent.

    python benchmarks/scaling.py                # prints, and writes benchmarks/scaling.json
    python benchmarks/scaling.py --only mig     # one metric, the others in the file kept
    python benchmarks/scaling.py --limit 120    # go on to sizes that should take up to 120 s
    python benchmarks/scaling.py --axes codes --limit 200   # one axis, the others in the file kept
    python benchmarks/scaling.py --by-name      # metrics outside the default panel, and functions beside the panel
    python benchmarks/scaling.py --page benchmarks/README.md   # the table of --by-name from the kept numbers, no more

A size whose time, extrapolated from the sizes before it, passes the limit is left out and marked so, and so is one that
a metric refuses: rows of fifty factors never agree in forty-nine of them. Numbers of ``--by-name`` are kept in
scaling_by_name.json.
"""

import ctypes
import gc
import json
import multiprocessing
import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from beside import BESIDE
from measure import fill_in, keep, machine, measure, options, parse
from panel import DEFAULT_FAMILIES, METRICS_BY_FAMILY, run_information, run_metric
from worlds import many_factors

AXES = {
    "rows": [(1_000, 10, 5), (10_000, 10, 5), (100_000, 10, 5), (1_000_000, 10, 5)],
    "codes": [(10_000, 10, 5), (10_000, 100, 5), (10_000, 1_000, 5), (10_000, 4_096, 5), (10_000, 16_384, 5)],
    "factors": [(10_000, 10, 2), (10_000, 10, 10), (10_000, 10, 50)],
}
TINY = {axis: [(200, 4, 2), shape] for axis, shape in zip(AXES, [(400, 4, 2), (200, 8, 2), (200, 4, 3)], strict=True)}
POSITION = {"rows": 0, "codes": 1, "factors": 2}
INFORMATION_CASE = (1_000_000, 64, 10)
#: Scores by name are taken to 16 384 codes with fewer rows, as embeddings and sparse codes are scored.
BY_NAME_AXES = {**AXES, "codes": [(2_000, n_codes, 5) for _, n_codes, _ in AXES["codes"]]}
#: Families outside the default panel, and functions beside the panel.
BY_NAME = [*(name for name in METRICS_BY_FAMILY if name not in DEFAULT_FAMILIES), *BESIDE]
BY_NAME_FILE = Path(__file__).with_name("scaling_by_name.json")


def run_beside(name, codes, factors):
    BESIDE[name](codes, factors, 0)


def along(work: object, axis: str, shapes: list[tuple[int, ...]], limit: float) -> list[dict[str, float]]:
    """Measure sizes in turn, while the next can be expected to stay under the limit."""
    points: list[dict[str, float]] = []
    for shape in shapes:
        if points:
            growth = shape[POSITION[axis]] / points[-1]["size"]
            power = exponent(points, "seconds") if len(points) >= 2 else 1.0
            expected = points[-1]["seconds"] * growth ** max(1.0, power)
            if expected > limit:
                points.append({"size": shape[POSITION[axis]], "expected_seconds": expected})
                break
        if Path("/proc/self/clear_refs").exists():
            set_peak_back()
        try:
            found = measure(work, many_factors, shape, here=True)
        except (ValueError, RuntimeError):
            points.append({"size": shape[POSITION[axis]], "refused": 1.0})
            break
        points.append({"size": shape[POSITION[axis]], "seconds": found.seconds, "peak_mib": found.peak_mib})
    return points


def along_axes(name: str, axes: dict[str, list[tuple[int, ...]]], limit: float) -> dict[str, dict[str, object]]:
    """Measure one score along some axes in this process, whose peak memory is set back before each size."""
    rows: dict[str, dict[str, object]] = {}
    for axis, shapes in axes.items():
        work = partial(run_beside if name in BESIDE else run_metric, name)
        points = along(work, axis, shapes, limit)
        rows[axis] = {"points": points, "exponent": exponent(points, "seconds")}
    return rows


def set_peak_back() -> None:
    """Let Linux count the peak memory of this process from what it uses now."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


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


def by_name(kept: dict[str, dict[str, dict[str, object]]]) -> str:
    """Return the table of scores by name: the largest size along each axis, and the exponent."""
    lines = ["| score | rows, to 10⁶ | codes of 2000 rows, to 16 384 | factors, to 50 |", "|---|---|---|---|"]
    for name in [name for name in BY_NAME if name in kept]:
        cells = [largest(kept[name][axis]) if axis in kept[name] else "not run" for axis in AXES]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def largest(along_axis: dict[str, object]) -> str:
    """Return the largest size measured along an axis, the exponent, and the size that was not run, in words."""
    points = along_axis["points"]
    measured = [point for point in points if "seconds" in point]
    said = "" if len(measured) == len(points) else f" ({cell(points[-1]).replace(':', '')})"
    if not measured:
        return said.strip(" ()")
    last = measured[-1]
    growth = f"; exponent {along_axis['exponent']:.1f}" if len(measured) > 1 else ""
    seconds = f"{last['seconds']:.2g}" if last["seconds"] < 100 else f"{last['seconds']:.0f}"
    return f"{seconds} s, {last['peak_mib']:.0f} MiB at {int(last['size']):,}{growth}{said}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--axes", default=",".join(AXES), help="the axes to measure")
    parser.add_argument("--by-name", action="store_true", help="metrics outside the default panel, and functions")
    parser.add_argument("--page", type=Path, help="a page to put the table of --by-name into, and no more")
    given = parse(parser, __file__, arguments, only="mig,information,similarity.cka")
    if given.page is not None:
        kept = json.loads(BY_NAME_FILE.read_text(encoding="utf-8"))["results"]
        fill_in(given.page, "scores by name", by_name(kept))
        print(f"wrote the table into {given.page}")
        return
    if given.by_name and given.output == Path(__file__).with_suffix(".json"):
        given.output = BY_NAME_FILE
    wanted = given.only.split(",") if given.only else BY_NAME if given.by_name else DEFAULT_FAMILIES
    names = [name for name in (*METRICS_BY_FAMILY, *BESIDE) if name in wanted]
    shapes = TINY if given.tiny else BY_NAME_AXES if given.by_name else AXES
    axes = {axis: shapes[axis] for axis in given.axes.split(",")}
    results: dict[str, dict[str, object]] = {}
    if given.output is not None and given.output.exists():
        results = json.loads(given.output.read_text(encoding="utf-8"))["results"]
    for name in names:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows = (
                along_axes(name, axes, given.limit) if given.tiny else pool.apply(along_axes, (name, axes, given.limit))
            )
        for axis, found in rows.items():
            cells = "  ".join(map(cell, found["points"]))
            print(f"{name:26s}{axis:9s}{cells}  exponent {found['exponent']:.2f}", flush=True)
        both = results.get(name, {}) | rows
        results[name] = {axis: both[axis] for axis in AXES if axis in both}
        if given.output is not None:
            keep(given.output, {"machine": machine(), "results": results})
    if "information" in given.only.split(",") or not (given.only or given.by_name or given.axes != ",".join(AXES)):
        case = TINY["rows"][0] if given.tiny else INFORMATION_CASE
        found = measure(run_information, many_factors, case, here=given.tiny)
        results["information, with intervals"] = {"shape": case, **asdict(found)}
        print(
            f"information metrics with intervals, N, L, K = {case}: "
            f"{found.seconds:.1f} s, {found.process_mib:.0f} MiB in all"
        )
        if given.output is not None:
            keep(given.output, {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
