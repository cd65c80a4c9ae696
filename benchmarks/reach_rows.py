"""More rows than memory: rows a second of reading Parquet shards in blocks, on one process, on two, and on Ray.

    python benchmarks/reach_rows.py                            # prints, and writes benchmarks/reach_rows.json
    python benchmarks/reach_rows.py --rows 100000000           # 6 GB of shards, drawn first
    python benchmarks/reach_rows.py --engines one,two,ray

Shards are drawn block by block, ten codes in single precision and five factors. All engines must give the same digits.
"""

import hashlib
import os
import resource
import shutil
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from measure import keep, machine, options, parse
from unbraid import evaluate
from unbraid.panel.rows import scan
from unbraid.study.engines import make_engine

N_CODES, N_FACTORS = 10, 5
SHARD_ROWS, GROUP_ROWS = 5_000_000, 250_000
METRICS = "mig,jemmig,modularity,mcc,total_correlation,sap,r2"


def draw(folder, n_rows):
    """Write shards in which code k has factor k with some noise; return their bytes."""
    shard, left = 0, n_rows
    while left:
        size = min(left, SHARD_ROWS)
        writer = None
        for at in range(0, size, GROUP_ROWS):
            rng = np.random.default_rng([shard, at])
            n = min(GROUP_ROWS, size - at)
            factors = rng.integers(0, 8, (n, N_FACTORS)).astype(np.float32)
            codes = rng.normal(size=(n, N_CODES)).astype(np.float32)
            codes[:, :N_FACTORS] = 0.3 * codes[:, :N_FACTORS] + factors
            columns = {f"code_{j}": codes[:, j] for j in range(N_CODES)}
            columns |= {f"factor_{k}": factors[:, k] for k in range(N_FACTORS)}
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(folder / f"part-{shard:04d}.parquet", table.schema)
            writer.write_table(table, row_group_size=GROUP_ROWS)
        writer.close()
        shard, left = shard + 1, left - size
    return sum(file.stat().st_size for file in folder.iterdir())


def read(folder, engine):
    """Gather all blocks on one engine; return the representation and the seconds."""
    started = time.perf_counter()
    if engine == "one":
        rep = scan(f"{folder}/*.parquet", progress=False)
    else:
        with make_engine("local" if engine == "two" else "ray", workers=2) as running:
            rep = scan(f"{folder}/*.parquet", engine=running, progress=False)
    return rep, time.perf_counter() - started


def digest(rep):
    """Key of all counts and sums, to the last digit."""
    arrays = rep.whole.counted.to_arrays()
    return hashlib.blake2b(b"".join(arrays[name].tobytes() for name in sorted(arrays)), digest_size=8).hexdigest()


def peak_mib():
    """Peak memory of this process and of the largest one that it started."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return [round(resource.getrusage(kind).ru_maxrss / 1024) for kind in kinds]


def main(arguments=None):
    """Draw, read, compare and print."""
    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows in all")
    parser.add_argument("--engines", default="one,two,ray", help="one: this process; two: two processes; ray")
    parser.add_argument("--folder", type=Path, help="where to draw shards; by default a temporary folder")
    given = parse(parser, __file__, arguments, rows=20_000, engines="one")
    folder = Path(tempfile.mkdtemp(prefix="rows-", dir=given.folder))
    found, digests = {}, set()
    try:
        n_bytes = draw(folder, given.rows)
        print(f"{given.rows} rows of {N_CODES} codes and {N_FACTORS} factors, {n_bytes / 2**30:.2f} GiB of Parquet")
        for engine in given.engines.split(","):
            rep, seconds = read(folder, engine)
            digests.add(digest(rep))
            found[engine] = {"seconds": round(seconds, 1), "rows_a_second": round(given.rows / seconds)}
            print(f"  {engine}: {seconds:.1f} s, {given.rows / seconds:,.0f} rows a second, digits {digest(rep)}")
        started = time.perf_counter()
        report = evaluate(rep, metrics=METRICS, progress=False)
        took = time.perf_counter() - started
    finally:
        shutil.rmtree(folder)
    print(f"  scores from it in {took:.1f} s: " + ", ".join(f"{n} {s.value:.3f}" for n, s in report.scores.items()))
    print(f"  peak of this process and of the largest other: {peak_mib()} MiB")
    if len(digests) > 1:
        raise ValueError(f"all engines must give the same digits, got {len(digests)} results.")
    kept = {"rows": given.rows, "bytes": n_bytes, "engines": found, "score_seconds": round(took, 1)}
    keep(given.output, {"machine": machine(), **kept, "peak_mib": peak_mib()})


if __name__ == "__main__":
    main()
