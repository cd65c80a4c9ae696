"""How many findings are false, and how many are missed, over random representations of known structure.

    python benchmarks/findings.py --jobs 2             # prints, and writes benchmarks/findings.json

``structures.py`` draws the representations and says which claims are true of each, which are expected, and that all
others are false. A finding that lists several factors or codes makes a claim of each. Seeds from 1000 on are held out:
rules and limits were chosen with seeds below 150 alone (``--first-seed 0 --worlds 150``).

A run that was broken off goes on where it stopped: ``--store`` keeps the claims of each seed, one line of JSON each.
About 2.4 s of one core for each representation; 500 of them take about 10 minutes on two idle cores.
"""

import json
import os
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from measure import fill_in, keep, machine, options, parse
from structures import Claim, Kind, claims_of, make
from unbraid import evaluate

#: The evidence that findings are derived from; other scores of the panel add nothing.
METRICS = "mig,sap,dci_linear,dci_forest,iwo,explicitness"


def found(seed):
    """Return the claims that the report on one representation makes, as plain data."""
    warnings.simplefilter("ignore")
    started = time.process_time()
    report = evaluate(make(seed).rep, metrics=METRICS, n_jobs=1, progress=False)
    claims = claims_of(report.findings)
    return {
        "seed": seed,
        "seconds": round(time.process_time() - started, 2),
        "claims": [[str(one.kind), sorted(one.factors), sorted(one.codes)] for one in claims],
        "sentences": [item.sentence for item in report.findings],
    }


def gather(seeds, jobs, store):
    """Return the claims of all seeds; those in the store are read, and others are written to it as they come."""
    lines = store.read_text(encoding="utf-8").splitlines() if store is not None and store.exists() else []
    known = {row["seed"]: row for row in map(json.loads, lines)}
    missing = [seed for seed in seeds if seed not in known]
    with ProcessPoolExecutor(jobs) if jobs > 1 else _Here() as pool:
        for row in pool.map(found, missing):
            known[row["seed"]] = row
            if store is not None:
                with store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    return [known[seed] for seed in seeds]


class _Here:
    """Work in this process, with the face of a pool."""

    map = staticmethod(map)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def judge(rows, *, verbose=False):
    """Count claims made, false, expected and missed, by kind of finding and by structure."""
    counts = {by: {what: Counter() for what in ("made", "false", "expected", "missed")} for by in ("kind", "structure")}

    def count(what, world, one, seed):
        few = "few rows, " if "few rows" in world.structures else ""
        counts["kind"][what][str(one.kind)] += 1
        counts["structure"][what][few + world.structure_of(one)] += 1
        if verbose and what in ("false", "missed"):
            print(f"seed {seed}: {what} {one.kind}: {sorted(one.factors)} in {sorted(one.codes)}")

    for row in rows:
        world = make(row["seed"])
        claims = [Claim(kind=Kind(kind), factors=frozenset(f), codes=frozenset(c)) for kind, f, c in row["claims"]]
        for one in claims:
            count("made", world, one, row["seed"])
            if not world.is_true(one):
                count("false", world, one, row["seed"])
        for one in world.must:
            count("expected", world, one, row["seed"])
            if not world.is_made(one, claims):
                count("missed", world, one, row["seed"])
    return counts


def show(counts):
    """Print one table, and return the shares over all."""
    columns = ("made", "false", "expected", "missed")
    names = sorted({name for what in columns for name in counts[what]})
    rows = [(name, *(counts[what][name] for what in columns)) for name in names]
    rows.append(("all", *(sum(counts[what].values()) for what in columns)))
    print(f"{'':<34}{'made':>7}{'false':>7}{'share':>9}{'expected':>10}{'missed':>8}{'share':>9}")
    for name, made, false, expected, missed in rows:
        shares = false / made if made else 0.0, missed / expected if expected else 0.0
        print(f"{name:<34}{made:>7}{false:>7}{shares[0]:>9.3f}{expected:>10}{missed:>8}{shares[1]:>9.3f}")
    return [dict(zip(("name", *columns), row, strict=True)) for row in rows]


def as_markdown(rows):
    """Return a table by kind of finding for a page, all kinds first."""
    lines = ["| Kind | Claims made | False | Claims expected | Missed |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in (rows[-1], *rows[:-1]):
        made, false, expected, missed = (row[what] for what in ("made", "false", "expected", "missed"))
        shares = 100 * false / max(made, 1), 100 * missed / max(expected, 1)
        name = "all" if row["name"] == "all" else f"`{row['name']}`"
        lines.append(f"| {name} | {made} | {false} ({shares[0]:.1f} %) | {expected} | {missed} ({shares[1]:.1f} %) |")
    return "\n".join(lines)


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--first-seed", type=int, default=1000, help="seeds below 150 served to choose limits")
    parser.add_argument("--worlds", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--store", type=Path, help="file of claims by seed, to go on with a run that was broken off")
    parser.add_argument("--page", type=Path, help="a page whose marked block is written anew")
    parser.add_argument("--verbose", action="store_true", help="name every false and every missed claim")
    given = parse(parser, __file__, arguments, worlds=2)
    rows = gather(range(given.first_seed, given.first_seed + given.worlds), given.jobs, given.store)
    seconds = sum(row["seconds"] for row in rows)
    counts = judge(rows, verbose=given.verbose)
    tables = {}
    for by, of in counts.items():
        print(f"\nBy {by}, {given.worlds} representations:")
        tables[f"by_{by}"] = show(of)
    print(f"\n{seconds:.0f} s of the processor")
    fill_in(given.page, "findings", as_markdown(tables["by_kind"]))
    keep(given.output, {"machine": machine(), "processor_seconds": seconds, "first_seed": given.first_seed, **tables})


if __name__ == "__main__":
    main()
