"""Worker process of the local engine, and running of jobs in a worker."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from unbraid._base.processes import start_worker
from unbraid.study.jobs import Finished, Job

#: Starts of a job whose worker keeps dying.
TRIES = 3

#: Variables of a worker's environment. Libraries read them when they are loaded, so they must be there before any
#: import: then every number is summed in the same order wherever it is computed, and workers do not fight over cores.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}

_LONGEST_SENTENCE = 2000


def died_sentence(tries: int) -> str:
    """Return the reason of a job whose worker died each time it was started."""
    return f"its worker died {tries} times (killed, perhaps for want of memory)"


def error_sentence(error: BaseException) -> str:
    """Return the message of an exception, cut to a reasonable length.

    The library raises ``ValueError`` with a full sentence, so its message stands alone; other exceptions are shown
    with their type.
    """
    try:
        said = str(error)
    except Exception:  # a message that cannot be made must not hide what it is about
        said = ""
    if not isinstance(error, ValueError) or not said:
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return said if len(said) <= _LONGEST_SENTENCE else f"{said[:_LONGEST_SENTENCE]}…"


def run_pickled(pickled: bytes) -> tuple[str | None, float]:
    """Run a job in this process.

    The job arrives as bytes, so that a job that cannot be unpickled here (its module is missing) fails with a sentence;
    an exception is returned as a sentence, since exceptions cannot always be pickled.

    Returns:
        The reason of its failure, ``None`` without a failure; and the seconds it took.
    """
    started = time.perf_counter()
    error = None
    try:
        job: Job = pickle.loads(pickled)
        job.run()
    except BaseException as problem:  # SystemExit too: a job must not take its worker with it
        error = error_sentence(problem)
    return error, time.perf_counter() - started


_environment_lock = threading.Lock()


class WorkerProcess:
    """Runs jobs in a process of its own, so that the death of the process is attributed to the job it was running.

    Args:
        tries: Starts of a job whose process keeps dying.
    """

    def __init__(self, tries: int = TRIES) -> None:
        self.cards: tuple[str, ...] = ()
        self._tries = tries
        self._executor: ProcessPoolExecutor | None = None
        self._context: _Context | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def finish(self, job: Job, cards: Sequence[str] = ()) -> Finished:
        """Run a job and wait for it.

        Args:
            job: The job.
            cards: The only GPUs it may see.
        """
        started = time.perf_counter()
        error: str | None = died_sentence(self._tries)
        try:
            pickled = pickle.dumps(job)
        except Exception as problem:  # pickling runs the job's own code, which may raise anything
            return Finished(job=job, error=error_sentence(problem), seconds=0.0)
        for _ in range(self._tries):
            started = time.perf_counter()
            try:
                error, seconds = self._start(pickled, tuple(cards)).result()
                return Finished(job=job, error=error, seconds=seconds)
            except BrokenProcessPool:
                self._discard()
            except Exception as problem:  # no process could be started, or the engine was stopped
                self._discard()
                error = error_sentence(problem)
                break
        return Finished(job=job, error=error, seconds=time.perf_counter() - started)

    def stop(self) -> None:
        """End the process and its job now and for good; from any thread."""
        with self._lock:
            self._stopped = True
            self._kill()

    def _start(self, pickled: bytes, cards: tuple[str, ...]) -> Future[tuple[str | None, float]]:
        """Send a job to the process, or to a new one if there is none or it sees other GPUs."""
        with self._lock:
            if self._stopped:
                raise RuntimeError("the engine was stopped")
            if self._executor is not None and cards == self.cards:
                try:
                    return self._executor.submit(run_pickled, pickled)
                except BrokenProcessPool:  # it died while it had nothing to do: nobody's fault
                    pass
            self._kill()
            self.cards = cards
            self._context = _Context(ONE_THREAD | {"CUDA_VISIBLE_DEVICES": ",".join(cards)})
            self._executor = ProcessPoolExecutor(1, self._context, initializer=start_worker)
            return self._executor.submit(run_pickled, pickled)

    def _discard(self) -> None:
        with self._lock:
            self._kill()

    def _kill(self) -> None:
        if self._executor is not None and self._context is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            for process in self._context.made:
                if process.pid is not None:  # it was started
                    process.kill()
        self._executor = self._context = None


class _Context(SpawnContext):
    """Starts processes afresh, in an environment of their own, and remembers them so that they can be killed."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__()
        self.made: list[_Process] = []
        self._environment = environment

    def Process(self, *args: Any, **kwargs: Any) -> _Process:  # type: ignore[override]  # noqa: N802
        process = _Process(*args, **kwargs)
        process.environment = dict(self._environment)
        self.made.append(process)
        return process


class _Process(SpawnProcess):
    environment: Mapping[str, str]

    def start(self) -> None:
        # A new process copies the environment of this one, and only what it copies is there before its imports.
        with changed_environment(self.environment):
            super().start()


@contextmanager
def changed_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Change this process's environment for a moment."""
    with _environment_lock:
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
