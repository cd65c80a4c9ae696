"""Run one piece of work in a process of its own, and tell how long it took and how much memory it needed."""

import multiprocessing
import os
import platform
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unbraid._base.workers import usable_cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one piece of work took.

    Attributes:
        seconds: Of the fastest run.
        peak_mib: Peak memory beyond what making the inputs had already needed.
        process_mib: Peak memory of the whole process, inputs and imports included.
    """

    seconds: float
    peak_mib: float
    process_mib: float


def measure(
    work: Callable[..., Any], prepare: Callable[..., Any], arguments: tuple[Any, ...], *, repeats: int = 1
) -> Measurement:
    """Call ``work(*prepare(*arguments))`` in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_timed, (work, prepare, arguments, repeats))


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    model = "unknown"
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), model)
    return {
        "cpu": model,
        "cores": usable_cores(),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }


def _timed(
    work: Callable[..., Any], prepare: Callable[..., Any], arguments: tuple[Any, ...], repeats: int
) -> Measurement:
    inputs = prepare(*arguments)
    work(*prepare(*_small(*arguments)))  # imports and caches are not what is timed
    before = _peak()
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work(*inputs)
        seconds.append(time.perf_counter() - started)
    return Measurement(seconds=min(seconds), peak_mib=max(0.0, _peak() - before), process_mib=_peak())


def _small(n_rows: int, *sizes: int) -> tuple[int, ...]:
    """Few rows, and not too many codes and factors for them."""
    return min(n_rows, 1000), *(min(size, 50) for size in sizes)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
