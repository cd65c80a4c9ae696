"""Seconds and memory of one piece of work, and the options and result files that all benchmarks share."""

import argparse
import importlib.abc
import json
import multiprocessing
import os
import platform
import re
import resource
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from unbraid._base.workers import usable_cores

#: Packages that unbraid imports, but that training and differentiating do not need.
ELSEWHERE = {"lightgbm", "pandas", "scipy", "sklearn", "threadpoolctl"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one piece of work took.

    Attributes:
        seconds: Of the fastest run.
        peak_mib: Peak memory beyond what making the inputs had already needed.
        process_mib: Peak memory of the whole process and of those that it forks, inputs and imports included.
    """

    seconds: float
    peak_mib: float
    process_mib: float


def measure(
    work: Callable[..., Any],
    prepare: Callable[..., Any],
    arguments: tuple[Any, ...],
    *,
    repeats: int = 1,
    here: bool = False,
) -> Measurement:
    """Call ``work(*prepare(*arguments))`` in a fresh process, or in this one where only the call matters."""
    timed = partial(_timed, work, prepare, arguments, repeats)
    return timed() if here else in_a_process(timed)


def in_a_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a fresh process, which may have processes of its own, unlike those of a pool."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def options(doc: str, script: str) -> argparse.ArgumentParser:
    """Return a parser with what every benchmark takes: the smallest sizes, and where to keep the numbers."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    kept = Path(script).with_suffix(".json").name
    parser.add_argument("--tiny", action="store_true", help="seconds at the smallest sizes, to see that it runs")
    parser.add_argument("--output", type=Path, help=f"by default {kept} beside the script, and nothing with --tiny")
    return parser


def parse(
    parser: argparse.ArgumentParser, script: str, arguments: Sequence[str] | None, **tiny: Any
) -> argparse.Namespace:
    """Read options; ``tiny`` are the defaults with ``--tiny``."""
    given = parser.parse_args(arguments)
    if given.tiny:
        parser.set_defaults(**tiny)
        return parser.parse_args(arguments)
    given.output = given.output or Path(script).with_suffix(".json")
    return given


def keep(output: Path | None, found: dict[str, Any], *, beside_others: bool = False) -> None:
    """Write numbers to a file, if there is one, ``beside_others`` that are in it under other names."""
    if output is None:
        return
    kept = json.loads(output.read_text(encoding="utf-8")) if beside_others and output.exists() else {}
    output.write_text(json.dumps({**kept, **found}, indent=1) + "\n", encoding="utf-8")


def fill_in(page: Path | None, name: str, text: str) -> None:
    """Write text between the marks of that name in a page, if there is one."""
    if page is None:
        return
    begin, end = rf"(<!-- {name}: [^\n]*-->\n)", rf"(<!-- end of {name} -->)"
    old = page.read_text(encoding="utf-8")
    new, n = re.subn(f"{begin}.*?{end}", lambda found: f"{found[1]}\n{text}\n\n{found[2]}", old, flags=re.DOTALL)
    if n != 1:
        raise ValueError(f"page must have the marks of {name!r} once, got {n} in {page}.")
    page.write_text(new, encoding="utf-8")


def leave_out_the_rest() -> None:
    """Let modules of unbraid be imported where only NumPy and torch are there.

    Each is imported by its file, without what its package imports, and what is not installed is imported as a
    placeholder, which can stand in an annotation but cannot be called.
    """
    sys.meta_path.append(Placeholders())
    for name in [name for name in sys.modules if name.partition(".")[0] == "unbraid"]:
        del sys.modules[name]
    source = Path(__file__).resolve().parents[1] / "src"
    for folder in (path.parent for path in (source / "unbraid").rglob("__init__.py")):
        package = types.ModuleType(".".join(folder.relative_to(source).parts))
        package.__path__ = [str(folder)]
        sys.modules[package.__name__] = package


class Placeholders(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports packages that unbraid needs elsewhere, where they are not installed, as empty modules."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return a spec for what nobody else found."""
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in ELSEWHERE else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Return a module in which every name is a class that cannot be made."""
        module = types.ModuleType(spec.name)
        module.__getattr__ = _placeholder  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Run nothing."""


def _placeholder(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {"__init__": _absent})


def _absent(self: object, *arguments: object, **options: object) -> None:
    raise ModuleNotFoundError(f"{type(self).__name__} is not installed here.")


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
    with memory_with_children() as together:
        for _ in range(repeats):
            started = time.perf_counter()
            work(*inputs)
            seconds.append(time.perf_counter() - started)
    peak = max(together)
    return Measurement(seconds=min(seconds), peak_mib=max(0.0, peak - before), process_mib=peak)


def _small(n_rows: int, *sizes: int) -> tuple[int, ...]:
    """Few rows, and not too many codes and factors for them."""
    return min(n_rows, 1000), *(min(size, 50) for size in sizes)


@contextmanager
def memory_with_children() -> Iterator[list[float]]:
    """Yield a list of what this process and its children take together, in MiB, every fifth of a second or so.

    What processes share is counted once. The last number is the peak of this process alone. To look takes the kernel
    as long as the processes are large: it is asked less often then, for a fiftieth of the time.
    """
    found, over, parent = [0.0], threading.Event(), threading.get_native_id()

    def watch() -> None:
        spent = 0.0
        while not over.wait(max(0.2, 50 * spent)):
            started = time.perf_counter()
            children = Path(f"/proc/self/task/{parent}/children").read_text().split()
            if children:
                found.append(sum(_share(process) for process in ("self", *children)))
            spent = time.perf_counter() - started

    watcher = threading.Thread(target=watch, daemon=True)
    if Path("/proc/self/smaps_rollup").exists():
        watcher.start()
    try:
        yield found
    finally:
        over.set()
        found.append(_peak())


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _share(process: str) -> float:
    """MiB of a process, of pages that several share its part; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
