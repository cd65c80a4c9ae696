"""Memory as it is estimated beforehand, beside the measured peak; and the share of checks in the time of scoring.

    python benchmarks/limits.py          # prints, and writes benchmarks/limits.json

Files of each format are read, each kind of evidence is gathered alone, a decoder is measured within a budget, and two
small studies are run, once each. An estimate should lie between half and a few times the peak, never far below it;
peaks are Linux's, which can be set back before each measurement; of a study, that of its worker. Checks, which look at
the input and estimate the memory, should take no more than 2 % of the processor time of scoring.
"""

import ctypes
import gc
import os
import resource
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from measure import keep, machine, options, parse
from unbraid import evaluate, load
from unbraid._base.checks import check_values
from unbraid.metrics import METRICS
from unbraid.panel.cost import check_panel, panel_bytes, size_of
from unbraid.panel.plan import plan_evidence, resolve_metrics
from unbraid.representation.formats.headers import file_bytes
from unbraid.representation.representation import Representation
from unbraid.representation.warnings import representation_notes
from worlds import many_factors

SHARED = {"n_bins": 20, "binning": "robust"}
#: Evidence that takes minutes at the sizes measured here.
DEAR = ("loss_capacity", "cross_prediction")
MOST_SHARE = 0.02


def by_source():
    """Names of the metrics of each kind of evidence."""
    found = {}
    for name, metric in METRICS.items():
        if metric.source.name not in DEAR:
            found.setdefault(metric.source.name, []).append(name)
    return found


def score(names, codes, factors):
    """Gather one kind of evidence once."""
    return evaluate(codes, factors, metrics=names, intervals=False, nulls=False, n_jobs=1, progress=False)


def peak_mib(work):
    """Peak memory of a call beyond what was there before."""

    def status(key):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))

    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    work()
    return status("VmHWM") - before


def memory_lines(sizes):
    """Estimate and peak of each kind of evidence."""
    lines = []
    for n_rows, n_codes, n_factors in sizes:
        world, few = (many_factors(rows, n_codes, n_factors) for rows in (n_rows, 200))
        size = size_of(Representation(*world))
        for source, names in by_source().items():
            plans = plan_evidence(resolve_metrics(names), SHARED, {})
            estimate = panel_bytes(size, plans, n_jobs=1, refits=False) / 2**20
            score(names, *few)  # imports are not what is measured
            peak = peak_mib(lambda names=names, world=world: score(names, *world))
            line = {"rows": n_rows, "codes": n_codes, "factors": n_factors, "evidence": source}
            lines.append(line | {"estimate_mib": round(estimate, 1), "peak_mib": round(peak, 1)})
            print(
                f"{n_rows:>8} x {n_codes:<4}{source:<18}estimate {estimate:8.1f} MiB   peak {peak:8.1f} MiB", flush=True
            )
    return lines


def written(folder, n_rows):
    """The same codes and factors as a file of each format."""
    import h5py
    import pandas as pd
    import pyarrow as pa
    import scipy.sparse
    import torch
    import zarr

    codes, factors = many_factors(n_rows, 40, 5)
    table = pd.DataFrame(
        {f"code_{j}": codes[:, j] for j in range(40)} | {f"factor_{k}": factors[:, k] for k in range(5)}
    )
    np.savez(folder / "a.npz", codes=codes, factors=factors)
    table.to_parquet(folder / "a.parquet")
    table.to_csv(folder / "a.csv", index=False)
    arrow = pa.Table.from_pandas(table)
    with pa.ipc.new_file(str(folder / "a.arrow"), arrow.schema) as writer:
        writer.write_table(arrow)
    torch.save({"codes": torch.from_numpy(codes), "factors": torch.from_numpy(factors)}, folder / "a.pt")
    with h5py.File(folder / "a.h5ad", "w") as file:
        file["X"] = codes
        file.create_group("obs")
    group = zarr.open_group(str(folder / "a.zarr"), mode="w")
    for name, array in (("codes", codes), ("factors", factors)):
        group.create_array(name, data=array)
    few = np.where(np.random.default_rng(0).random(codes.shape) < 0.1, codes, 0.0)
    np.save(folder / "labels.npy", factors)
    scipy.sparse.save_npz(folder / "sparse.npz", scipy.sparse.csr_matrix(few), compressed=False)
    return [(folder / f"a.{kind}", None) for kind in ("npz", "parquet", "csv", "arrow", "pt", "h5ad", "zarr")] + [
        (folder / "sparse.npz", folder / "labels.npy")
    ]


def file_lines(n_rows):
    """Estimate and peak of reading a file of each format."""
    lines = []
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        for small, large in zip(written(Path(few), 200), written(Path(many), n_rows), strict=True):
            load(*small)  # imports are not what is measured
            estimate = sum(file_bytes(path) for path in large if path is not None) / 2**20
            peak = peak_mib(lambda large=large: load(*large))
            name = large[0].name.removeprefix("a")
            lines.append({"file": name, "estimate_mib": round(estimate, 1), "peak_mib": round(peak, 1)})
            print(f"reading {name:<14}estimate {estimate:8.1f} MiB   peak {peak:8.1f} MiB", flush=True)
    return lines


def work_lines(n_rows):
    """Budget or estimate, and peak, of a decoder, a data set and the worker of a study."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        found = (*manifold_peaks(n_rows), *data_peaks(Path(folder), n_rows), *study_peaks(Path(folder), n_rows))
    for name, estimate, peak in found:
        lines.append({"work": name, "estimate_mib": round(estimate, 1), "peak_mib": round(peak, 1)})
        print(f"{name:<32}estimate {estimate:8.1f} MiB   peak {peak:8.1f} MiB", flush=True)
    return lines


def manifold_peaks(n_rows):
    """A decoder of many outputs within two budgets."""
    import torch

    from unbraid.manifold import analyze

    decoder = torch.nn.Sequential(torch.nn.Linear(20, 100), torch.nn.Tanh(), torch.nn.Linear(100, 2 * n_rows))
    for budget in (100, 400):
        analyze(decoder, latent_dim=20, n_samples=4, memory=f"{budget}M")
        yield (
            f"manifold, --memory {budget}M",
            budget,
            peak_mib(lambda budget=budget: analyze(decoder, latent_dim=20, n_samples=200, memory=f"{budget}M")),
        )


def data_peaks(folder, n_rows):
    """Pictures of an official data set; their size is known from the header."""
    from unbraid.data.official import read_mpi3d

    sizes = (2, 1, 1, 1, 1, 5, n_rows // 50)
    images = np.random.default_rng(0).integers(256, size=(10 * (n_rows // 50), 64, 64, 3), dtype=np.uint8)
    np.savez_compressed(folder / "real.npz", images=images)
    n_bytes = images.nbytes
    del images
    yield "data, mpi3d", n_bytes / 2**20, peak_mib(lambda: read_mpi3d(folder / "real.npz", sizes=sizes))


def study_peaks(folder, n_rows):
    """Workers of a study of given codes and of one that trains; children are measured by their largest so far."""
    from unbraid import save
    from unbraid.study import run_study
    from unbraid.study.cost import worker_bytes

    (folder / "given").mkdir()
    save(Representation(*many_factors(n_rows, 40, 5)), folder / "given" / "a.npz")
    texts = {
        "given": f"name: given\nrepresentations: {{folder: {folder}/given}}\nscores: {{metrics: [mig, dci_forest]}}\n",
        "trained": "name: trained\ndata: [sprites_mini]\nrows: 1000\nmodels: [{family: vae}]\n"
        "training: {n_steps: 3, n_codes: 10, width: 32, batch: 64}\nscores: {metrics: [mig]}\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
        seen = []
        run_study(
            folder / f"{name}.yaml",
            folder / name / "store",
            workers=1,
            progress=False,
            on_start=lambda before, seen=seen: seen.append(worker_bytes(before)),
        )
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        yield f"study, {name}, its worker", seen[0] / 2**20, peak


def seconds_of(work, repeats=1):
    """Processor seconds of one call, the fastest of a few."""
    found = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def check_lines(n_rows):
    """Processor time of each check, and its share in reading and scoring one file with the default panel."""
    codes, factors = many_factors(n_rows, 10, 5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.npz"
        np.savez(path, codes=codes, factors=factors)
        rep = load(path)
        plans = plan_evidence(resolve_metrics("default"), SHARED, {})
        checks = {
            "memory of reading": lambda: file_bytes(path),
            "memory of scoring": lambda: check_panel(size_of(rep), plans, n_jobs=2, refits=True, memory=None),
            "values of codes": lambda: check_values(rep.codes, rep.code_names),
            "notes on the input": lambda: representation_notes(rep),
        }
        taken = {name: seconds_of(check, repeats=5) for name, check in checks.items()}
        evaluate(many_factors(200, 10, 5)[0], many_factors(200, 10, 5)[1], n_jobs=1, progress=False)  # imports
        whole = seconds_of(lambda: evaluate(load(path), n_jobs=1, progress=False))
    for name, seconds in taken.items():
        share = seconds / whole
        verdict = "" if share <= MOST_SHARE else "   MORE THAN 2 %"
        print(f"{name:<24}{1e3 * seconds:8.2f} ms   {100 * share:6.3f} % of {whole:.1f} s{verdict}", flush=True)
    return [{"check": name, "seconds": seconds, "share": seconds / whole} for name, seconds in taken.items()]


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--sizes", default="20000x10x5,20000x40x5", help="rows, codes and factors of each world")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of the file that is scored")
    parser.add_argument("--file-rows", type=int, default=200_000, help="rows of the files that are read")
    parser.add_argument("--work-rows", type=int, default=20_000, help="rows of a study, half a decoder's outputs")
    given = parse(parser, __file__, arguments, sizes="300x4x2", rows=200, file_rows=200, work_rows=200)
    sizes = [tuple(int(part) for part in one.split("x")) for one in given.sizes.split(",")]
    checks = check_lines(given.rows)
    reading = file_lines(given.file_rows)
    work = work_lines(given.work_rows)
    found = {"checks": checks, "reading": reading, "work": work, "memory": memory_lines(sizes)}
    keep(given.output, {"machine": machine(), **found})


if __name__ == "__main__":
    main()
