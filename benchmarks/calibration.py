"""Bias and coverage of every score: what it is with few rows, against what it is with many.

    python benchmarks/calibration.py                                   # all worlds, 200 to 20 000 rows; hours
    python benchmarks/calibration.py --worlds ordinal,continuous --rows 2000 --draws 100
    python benchmarks/calibration.py --metrics mig,infomec             # the others in the file kept
    python benchmarks/calibration.py --check                           # kept numbers that are out of their limits
    python benchmarks/calibration.py --kept-large --first-seed 9000 --output copy.json   # other draws, in a copy
    python benchmarks/calibration.py --metrics med,rankme --output benchmarks/calibration_by_name.json
    python benchmarks/calibration.py --metrics similarity.cka,absorption --output benchmarks/calibration_by_name.json

The large-sample value of a score is known on paper (``ON_PAPER``), or the same call on 100 000 rows; with
``--many-draws`` the mean of several such calls, for scores that draw a fixed number of groups or traversals and so
scatter with any number of rows. Functions beside the panel are called as :mod:`beside` has it. For every world and
number of rows the script draws rows again and again, scores each draw with the default options, and prints the mean,
the bias against the large-sample value, the share of 95 % confidence intervals that hold it, and the mean half-width.
Every draw is kept in ``benchmarks/.calibration/`` as soon as it is scored: a run that was stopped goes on where it was,
and a change of the library wants ``--fresh``. The tables in docs/calibration.md are made from the kept numbers by
``--page``: that of the default panel from calibration.json, and that of scores by name from calibration_by_name.json.
"""

import json
import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from beside import BESIDE
from measure import fill_in, keep, machine, options, parse
from unbraid import METRICS, evaluate
from unbraid._base.progress import track
from unbraid._base.workers import usable_cores
from worlds import CALIBRATION, KINDS, weak_on_paper

ROWS = (200, 2_000, 20_000)
MANY_ROWS, MANY_SEED, FIRST_SEED = 100_000, 5, 1_000
WORK = Path(__file__).parent / ".calibration"
#: For a score to be called calibrated: most bias, and least and most share of intervals that hold the large-sample
#: value; of fewer draws than the last number, all may hold it.
MOST_BIAS, MOST_BIAS_OF_TREES, LEAST_COVERAGE, MOST_COVERAGE, MANY_DRAWS = 0.01, 0.02, 0.9, 0.99, 100
#: Decimals to which a large-sample value is an end of the range of its score, and values of draws are alike.
DECIMALS, ALIKE_DECIMALS = 3, 6
#: Mark of scores at an end of their range, and of scores that are nearly always one number.
MARK = "†"
START, END = "<!-- table of benchmarks/calibration.py -->", "<!-- end of the table -->"
#: Large-sample values that are known on paper, in place of calls on many rows, whose own bias is as large as that of
#: 2000 rows may be.
ON_PAPER = {"weak": weak_on_paper()}
BY_NAME = Path(__file__).with_name("calibration_by_name.json")

Scores = dict[str, tuple[float | None, float | None, float | None, float | None]]


def score(world: str, n_rows: int, seed: int, metrics: str) -> Scores:
    """Return value, ends of the interval and plain estimate of every score of one draw."""
    codes, factors = CALIBRATION[world](n_rows, seed)
    kinds = ["categorical"] * factors.shape[1] if factors.dtype.kind == "U" else KINDS.get(world)
    names = metrics.split(",")
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [name for name in names if name in BESIDE]:
            found |= BESIDE[name](codes, factors, seed)
        if chosen := [name for name in names if name not in BESIDE]:
            found |= evaluate(
                codes, factors, kinds=kinds, metrics=chosen, seed=seed, nulls=False, n_jobs=1, progress=False
            ).scores
    return {name: (one.value, one.low, one.high, one.plain) for name, one in found.items()}


def scored(work: Path, world: str, n_rows: int, seed: int, metrics: str) -> Scores:
    """Score one draw, or read what an earlier run scored; metrics are kept in files of their own."""
    file = work / f"{world}_{n_rows}_{seed}_{metrics.replace(',', '+')}.json"
    if file.exists():
        return dict(json.loads(file.read_text(encoding="utf-8")))
    found = score(world, n_rows, seed, metrics)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(file)
    return found


def row(large: Sequence[Any], draws: Sequence[Any]) -> dict[str, float]:
    """Bias and coverage of one score from its draws; draws without a value or interval count as not covered."""
    draws = [(None,) * 4 if draw is None else draw for draw in draws]
    values = np.array([draw[0] for draw in draws], dtype=float)
    ends = [(draw[1], draw[2]) if draw is not None and draw[1] is not None else (np.nan, np.nan) for draw in draws]
    low, high = np.array(ends, dtype=float).T
    plain = np.array(
        [np.nan if draw is None else draw[0] if draw[3] is None else draw[3] for draw in draws], dtype=float
    )
    truths = np.array([np.nan if one is None else one[0] for one in large], dtype=float)
    truth = float(truths.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a mean of nothing is NaN
        return {
            "large": truth,
            "mean": float(np.nanmean(values)),
            "bias": float(np.nanmean(values) - truth),
            "plain_bias": float(np.nanmean(plain) - truth),
            "deviation": float(np.nanstd(values, ddof=1)) if len(values) > 1 else float("nan"),
            "half_width": float(np.nanmean((high - low) / 2)),
            # An end at the bound of the score may miss the value by rounding only.
            "coverage": float(np.mean((low - 1e-9 <= truth) & (truth <= high + 1e-9))),
            "draws": len(draws),
            "alike": float(np.unique(np.round(values, ALIKE_DECIMALS), return_counts=True)[1].max() / len(values)),
        } | ({"large_error": float(truths.std(ddof=1) / np.sqrt(len(truths)))} if len(truths) > 1 else {})


def kept_large(output: Path, world: str, names: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return the rows of a world in a file of results that have the large-sample values, those with most draws."""
    tables = json.loads(output.read_text(encoding="utf-8"))["worlds"][world].values()
    return {name: max((t[name] for t in tables if name in t), key=lambda one: one["draws"]) for name in names}


def is_calibrated(name: str, found: dict[str, float]) -> bool:
    """Return whether bias and coverage are within what the docs promise."""
    most = MOST_BIAS_OF_TREES if name.startswith(("dci_forest", "dci_boosting")) else MOST_BIAS
    may_hold_all = found["draws"] < MANY_DRAWS or has_no_exact_interval(name, found)
    is_held = LEAST_COVERAGE <= found["coverage"] <= (1.0 if may_hold_all else MOST_COVERAGE)
    return abs(found["bias"]) <= most and is_held


def has_no_exact_interval(name: str, found: dict[str, float]) -> bool:
    """Return whether no interval can hold the large-sample value in 95 % of draws.

    It is an end of the range, where intervals that are cut off at the range hold it or end short of it on one side
    only; or most draws have one and the same value.
    """
    bounds = METRICS[name].bounds if name in METRICS else (0.0, 1.0)
    is_at_end = any(round(found["large"], DECIMALS) == end for end in bounds)
    return is_at_end or found.get("alike", 0.0) > 0.5


def check(kept: dict[str, Any]) -> None:
    """Print the cells that are out of their limits, and how many are not."""
    cells = [
        (w, n, name, found)
        for w, sizes in kept["worlds"].items()
        for n, t in sizes.items()
        for name, found in t.items()
    ]
    outside = [cell for cell in cells if not is_calibrated(cell[2], cell[3])]
    for world, n_rows, name, found in outside:
        print(
            f"{world:13s}{int(n_rows):7,} rows {name:28s} bias {found['bias']:+.3f}, holds it {found['coverage']:4.0%} "
            f"of {found['draws']} draws, half-width {found['half_width']:.3f}, deviation {found['deviation']:.3f}"
        )
    print(f"{len(cells) - len(outside)} of {len(cells)} cells are within their limits")


def show(world: str, n_rows: int, table: dict[str, dict[str, float]]) -> None:
    """Print the rows of one world and number of rows."""
    print(f"\n{world}, {n_rows:,} rows")
    print(f"{'score':30s}{'many rows':>10s}{'mean':>9s}{'bias':>9s}{'plain':>9s}{'half-width':>12s}{'holds it':>10s}")
    for name, found in table.items():
        mark = " " if is_calibrated(name, found) else "!"
        print(
            f"{name:30s}{found['large']:10.3f}{found['mean']:9.3f}{found['bias']:+9.3f}{found['plain_bias']:+9.3f}"
            f"{found['half_width']:12.3f}{found['coverage']:9.0%} {mark}"
        )


def page(kept: dict[str, Any], file: Path) -> None:
    """Put the table of the kept numbers between the marks of a docs page."""
    text = file.read_text(encoding="utf-8")
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    file.write_text(f"{head}{START}\n\n{chr(10).join(_markdown(kept))}\n{END}{tail}", encoding="utf-8")


def by_name(kept: dict[str, Any]) -> str:
    """Return the table of scores that are not in the default panel, a row for each score and world."""
    head = "score | world | large-sample value, of rows | bias | half-width | holds it | draws"
    lines = [f"| {head} |", "|---" * 7 + "|"]
    names = dict.fromkeys(name for sizes in kept["worlds"].values() for table in sizes.values() for name in table)
    for name in names:
        for world, sizes in kept["worlds"].items():
            for found in (table[name] for table in sizes.values() if name in table):
                error = f" ± {found['large_error']:.3f}" if "large_error" in found else ""
                large = f"{found['large']:.3f}{error}, {int(found['many_rows']):,}"
                width = f"{found['half_width']:.3f}" if "half_width" in found else ""
                held = f"{found['bias']:+.3f} | {width} | {found['coverage']:.0%} | {found['draws']}"
                lines.append(f"| `{name}` | {world} | {large} | {held} |")
    return "\n".join(lines)


def _markdown(kept: dict[str, Any]) -> Iterable[str]:
    for world, by_rows in kept["worlds"].items():
        most = max(by_rows.values(), key=lambda table: sum(int(found["draws"]) for found in table.values()))
        yield f"**{world}**: {CALIBRATION[world].__doc__}"
        yield ""
        sizes = [f"{int(size):,} rows ({_draws(table)}): bias, holds it" for size, table in by_rows.items()]
        yield f"| score | many rows | {' | '.join(sizes)} |"
        yield "|---" * (len(by_rows) + 2) + "|"
        for name in most:
            found = [table.get(name) for table in by_rows.values()]
            marks = ["" if one is None or not has_no_exact_interval(name, one) else f" {MARK}" for one in found]
            cells = [
                f"{one['bias']:+.3f}, {one['coverage']:.0%}{mark}" if one else ""
                for one, mark in zip(found, marks, strict=True)
            ]
            yield f"| `{name}` | {most[name]['large']:.3f} | {' | '.join(cells)} |"
        yield ""


def _draws(table: dict[str, dict[str, float]]) -> str:
    """Say how many draws the scores of a table have."""
    numbers = sorted({int(found["draws"]) for found in table.values()})
    return f"{numbers[0]} draws" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} draws"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("--worlds", default=",".join(CALIBRATION))
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="of the draws; another one draws others")
    parser.add_argument("--many", type=int, default=MANY_ROWS, help="rows of the large-sample value")
    parser.add_argument("--many-draws", type=int, default=1, help="calls that the large-sample value is the mean of")
    parser.add_argument(
        "--kept-large", action="store_true", help="take large-sample values of the file of results, and score no others"
    )
    parser.add_argument("--metrics", default="default", help="names or families, with commas between them")
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--work", type=Path, default=WORK, help="folder of the draws that were scored")
    parser.add_argument("--fresh", action="store_true", help="score draws again that are in the folder")
    parser.add_argument("--check", action="store_true", help="print the kept numbers that are out of their limits")
    parser.add_argument("--page", type=Path, help="a docs page to put the table of the kept numbers into, and no more")
    given = parse(
        parser, __file__, arguments, worlds="ordinal,weak", rows="100,200", draws=2, many=400, metrics="mig,r2", jobs=1
    )
    if given.check:
        check(json.loads((given.output or Path(__file__).with_suffix(".json")).read_text(encoding="utf-8")))
        return
    if given.page is not None:
        page(json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8")), given.page)
        fill_in(given.page, "scores by name", by_name(json.loads(BY_NAME.read_text(encoding="utf-8"))))
        print(f"wrote the tables into {given.page}")
        return
    worlds, sizes = given.worlds.split(","), [int(size) for size in given.rows.split(",")]
    many_seeds = range(MANY_SEED, MANY_SEED + (0 if given.kept_large else given.many_draws))
    cells = [(world, given.many, seed) for world in worlds for seed in many_seeds]
    seeds = range(given.first_seed, given.first_seed + given.draws)
    cells += [(world, size, seed) for world in worlds for size in sizes for seed in seeds]
    found = dict(zip(cells, _all(cells, given), strict=True))
    tables: dict[str, Any] = {}
    for world in worlds:
        calls = [found[world, given.many, seed] for seed in many_seeds]
        for size in sizes:
            draws = [found[world, size, seed] for seed in seeds]
            kept = kept_large(given.output, world, draws[0]) if given.kept_large else {}
            table = {}
            for name in kept or calls[0]:
                large = [(kept[name]["large"],)] if kept else [call.get(name) for call in calls]
                of_large = {key: kept[name][key] for key in ("large_error", "many_rows") if key in kept.get(name, {})}
                if name in ON_PAPER.get(world, {}):
                    large, of_large = [(ON_PAPER[world][name],)], {}
                table[name] = row(large, [draw.get(name) for draw in draws]) | {"many_rows": given.many} | of_large
            tables.setdefault(world, {})[str(size)] = table
            show(world, size, table)
    keep(given.output, {"machine": machine(), "many_rows": given.many, "worlds": _merged(given.output, tables)})


def _all(cells: list[tuple[str, int, int]], given: Any) -> list[Scores]:
    """Score all draws, in processes of their own where there is more than one."""
    if given.tiny:
        return [score(*cell, given.metrics) for cell in cells]
    given.work.mkdir(parents=True, exist_ok=True)
    if given.fresh:
        for file in given.work.glob("*.json"):
            file.unlink()
    with ProcessPoolExecutor(given.jobs) as pool, track(len(cells), None, doing="scoring draws") as bar:
        waiting = [pool.submit(scored, given.work, *cell, given.metrics) for cell in cells]
        results = []
        for one in waiting:
            results.append(one.result())
            bar.advance()
    return results


def _merged(output: Path | None, tables: dict[str, Any]) -> dict[str, Any]:
    """Put new rows beside those of other worlds, sizes and scores that the file has."""
    kept = json.loads(output.read_text(encoding="utf-8"))["worlds"] if output is not None and output.exists() else {}
    for world, by_rows in tables.items():
        for size, table in by_rows.items():
            kept.setdefault(world, {}).setdefault(size, {}).update(table)
    return {world: dict(sorted(by_rows.items(), key=lambda item: int(item[0]))) for world, by_rows in kept.items()}


if __name__ == "__main__":
    main()
