"""Gram matrices and counts of wide codes on a GPU and on the processor, with the transfer of the codes.

    python benchmarks/on_gpu.py                  # prints, and writes benchmarks/on_gpu.json; a minute
    python benchmarks/on_gpu.py --device cpu     # without a GPU

50 000 rows of 4096 codes in single precision, 40 factors of two values, 20 bins.

"""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
from threadpoolctl import threadpool_limits

from measure import keep, machine, options, parse
from unbraid.evidence.information import joint_counts

N_BINS, N_LEVELS = 20, 2
#: Rows, codes and factors.
SIZES, TINY = (50_000, 4096, 40), (500, 70, 3)
CORES = (1, 2, 16)


def seconds(work: Callable[[], Any], repeats: int = 2) -> float:
    """Least of a few runs."""
    took = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return min(took)


def counts_by_products(torch: Any, bins: Any, labels: Any) -> Any:
    """Counts of every bin of every code with every value of every factor, as products of indicators."""
    values = torch.nn.functional.one_hot(labels.long(), N_LEVELS).flatten(1).half()
    return torch.stack([(bins == value).half().T @ values for value in range(N_BINS)])


def on_gpu(torch: Any, codes: np.ndarray, bins: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Seconds of each piece of work, and of the transfer."""

    def done(made: Any) -> Any:
        torch.cuda.synchronize()
        return made

    started = time.perf_counter()
    done(torch.ones(1, device="cuda") + 1)
    first = time.perf_counter() - started
    z = done(torch.as_tensor(codes).cuda())
    b, v = torch.as_tensor(bins).cuda(), torch.as_tensor(labels).cuda()
    torch.backends.cuda.matmul.allow_tf32 = False
    return {
        "first_use": first,
        "transfer_of_codes": seconds(lambda: done(torch.as_tensor(codes).cuda())),
        "transfer_of_bins": seconds(lambda: done(torch.as_tensor(bins).cuda())),
        "gram": seconds(lambda: done(z.T @ z).cpu()),
        "gram_in_double": seconds(lambda: done(z.double().T @ z.double()).cpu()),
        "counts": seconds(lambda: done(counts_by_products(torch, b, v)).cpu()),
    }


def on_processor(codes: np.ndarray, bins: np.ndarray, labels: np.ndarray, n_cores: int) -> dict[str, float]:
    """Seconds of the Gram matrix, and of counts, which one thread makes."""
    with threadpool_limits(n_cores):
        found = {"gram": seconds(lambda: codes.T @ codes)}
    if n_cores == 1:
        turned = np.ascontiguousarray(bins.T)
        found["counts"] = seconds(
            lambda: [joint_counts(turned, N_BINS, v.astype(np.intp), N_LEVELS) for v in labels.T], 1
        )
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = options(__doc__, __file__)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    given = parse(parser, __file__, arguments, device="cpu")
    n_rows, n_codes, n_factors = TINY if given.tiny else SIZES
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((n_rows, n_codes), dtype=np.float32)
    bins = rng.integers(0, N_BINS, codes.shape, dtype=np.uint8)
    labels = rng.integers(0, N_LEVELS, (n_rows, n_factors), dtype=np.uint8)
    found: dict[str, Any] = {"machine": machine(), "rows": n_rows, "codes": n_codes, "factors": n_factors}
    if given.device == "cuda":
        import torch

        found["gpu"] = {"name": torch.cuda.get_device_name(), **on_gpu(torch, codes, bins, labels)}
        print("GPU", found["gpu"], flush=True)
        keep(given.output, found)
    for n_cores in CORES:
        if n_cores <= found["machine"]["cores"]:
            found[f"cores_{n_cores}"] = on_processor(codes, bins, labels, n_cores)
            print(n_cores, "cores", found[f"cores_{n_cores}"], flush=True)
            keep(given.output, found)


if __name__ == "__main__":
    main()
