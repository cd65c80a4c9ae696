"""What happens in a worker process, whichever engine started it."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from multiprocessing import parent_process
from multiprocessing.connection import wait

from unbraid.study._job import Job

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

_SECONDS_BETWEEN_LOOKS = 2.0
_LONGEST_SENTENCE = 2000


def died_sentence(tries: int) -> str:
    """Say that a job's worker died each time it was started."""
    return f"its worker died {tries} times (killed, perhaps for want of memory)"


def error_sentence(error: BaseException) -> str:
    """Return what an exception says, in a string of reasonable length.

    A ``ValueError`` is how the library says that something cannot be done, so its words stand alone; others need
    their type to be understood.
    """
    try:
        said = str(error)
    except Exception:  # a message that cannot be made must not hide what it is about
        said = ""
    if not isinstance(error, ValueError) or not said:
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return said if len(said) <= _LONGEST_SENTENCE else f"{said[:_LONGEST_SENTENCE]}…"


def run_pickled(pickled: bytes) -> tuple[str | None, float]:
    """Do a job in this process.

    The job travels as bytes, so that one which cannot be read here (its module is missing) fails with a sentence;
    its exception travels back as one, since exceptions cannot always be pickled.

    Returns:
        Why it failed, ``None`` if it did not; and the seconds it took.
    """
    started = time.perf_counter()
    error = None
    try:
        job: Job = pickle.loads(pickled)
        job.run()
    except BaseException as problem:  # SystemExit too: a job must not take its worker with it
        error = error_sentence(problem)
    return error, time.perf_counter() - started


def start_worker() -> None:
    """Prepare this process: leave Ctrl-C to the driver, and end when the driver does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="unbraid-end-with-parent", daemon=True).start()


def _end_with_parent() -> None:
    """Wait until the driver is gone, however it went, then end this process at once."""
    parent = parent_process()
    assert parent is not None
    # The sentinel tells at once. It stays silent if the driver left a forked child that holds the other end: so look
    # at the parent's id as well.
    while os.getppid() == parent.pid and not wait([parent.sentinel], timeout=_SECONDS_BETWEEN_LOOKS):
        pass
    os._exit(1)
