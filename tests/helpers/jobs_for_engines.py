"""Jobs that tests give to engines: they leave files that tell what happened. Workers import this module by its name."""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, kw_only=True)
class FileJob:
    """Notes that it was started, does its work, and writes a file when it is done."""

    name: str
    folder: str
    kind: str = "test"
    gpus: float = 0.0
    may_race: bool = False

    @property
    def key(self):
        return self.name

    @property
    def label(self):
        return f"the job {self.name}"

    def run(self):
        with open(Path(self.folder, f"{self.name}.starts"), "a") as file:
            file.write(f"{os.getpid()}\n")
        Path(self.folder, f"{self.name}.done").write_text(json.dumps(self.work()))

    def work(self):
        return None

    def starts(self):
        """Ids of the processes that started it."""
        path = Path(self.folder, f"{self.name}.starts")
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def is_done(self):
        return Path(self.folder, f"{self.name}.done").exists()

    def result(self):
        return json.loads(Path(self.folder, f"{self.name}.done").read_text())


@dataclass(frozen=True, kw_only=True)
class Sleeper(FileJob):
    seconds: float = 0.0

    def work(self):
        time.sleep(self.seconds)


@dataclass(frozen=True, kw_only=True)
class Follower(FileJob):
    """Waits for a file of another job: it ends only if that one runs beside it, and some seconds later."""

    file: str
    rest: float = 0.0

    def work(self):
        limit = time.monotonic() + 120
        while not Path(self.folder, self.file).exists():
            if time.monotonic() > limit:
                raise ValueError(f"{self.file} did not come.")
            time.sleep(0.02)
        time.sleep(self.rest)


@dataclass(frozen=True, kw_only=True)
class SlowAtFirst(FileJob):
    """Slow the first time it is started, quick the second."""

    seconds: float = 300.0

    def work(self):
        time.sleep(self.seconds if len(self.starts()) == 1 else 0.0)


@dataclass(frozen=True, kw_only=True)
class Killed(FileJob):
    """Kills its own process, as want of memory would, the first so many times."""

    times: int = 1

    def work(self):
        if len(self.starts()) <= self.times:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, kw_only=True)
class Arithmetic(FileJob):
    """Sums whose last digits would show another number of threads."""

    seed: int = 0

    def work(self):
        rng = np.random.default_rng(self.seed)
        matrix = rng.normal(size=(300, 300))
        return float(np.linalg.svd(matrix @ matrix.T, compute_uv=False).sum()).hex()


@dataclass(frozen=True, kw_only=True)
class Environment(FileJob):
    """Tells the threads of the libraries that are loaded, and the environment."""

    def work(self):
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: F401  for its OpenMP
        from threadpoolctl import threadpool_info

        threads = {one["filepath"]: one["num_threads"] for one in threadpool_info()}
        return {"threads": threads, "environment": dict(os.environ)}


class UnpicklableError(Exception):
    def __init__(self, needed, also):
        super().__init__(needed)
        self.function = lambda: also


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


RAISED = {
    "value": lambda: ValueError("codes must be finite."),
    "division": lambda: ZeroDivisionError("division by zero"),
    "bare": lambda: MemoryError(),
    "unpicklable": lambda: UnpicklableError("a", "b"),
    "unspeakable": lambda: UnspeakableError(),
    "long": lambda: ValueError("x" * 100_000),
}


@dataclass(frozen=True, kw_only=True)
class Raises(FileJob):
    what: str = "value"

    def work(self):
        if self.what == "exit":
            sys.exit(3)
        raise RAISED[self.what]()


@dataclass(frozen=True, kw_only=True)
class Unreadable(FileJob):
    """Cannot be read again where it is sent."""

    def __reduce__(self):
        return _missing, ()


@dataclass(frozen=True, kw_only=True)
class Unsendable(FileJob):
    def __reduce__(self):
        raise TypeError("cannot pickle this")


def _missing():
    raise ModuleNotFoundError("No module named 'elsewhere'")


def finish_all(engine, jobs):
    """Submit all, wait for all, and return what the engine said by the jobs' names."""
    for job in jobs:
        engine.submit(job)
    ended = [engine.wait() for _ in jobs]
    assert sorted(one.job.key for one in ended) == sorted(job.key for job in jobs), "each job once"
    return {one.job.key: one for one in ended}
