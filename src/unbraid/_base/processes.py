"""Tasks in forked processes, where threads would wait for Python's lock; and the life of a worker process."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import current_process, get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from unbraid._base.workers import Once, Permits, Workers

Result = TypeVar("Result")

_SECONDS_BETWEEN_LOOKS = 2.0
#: Packages that start threads of their own which do not live on in a forked process, and that say so when it is forked.
NOT_FORKED = ("jax",)


class WorkerDiedError(ChildProcessError):
    """A worker process was ended from outside, as by a system that has no memory left."""


@dataclass(frozen=True, slots=True, eq=False)
class WorkItem(Generic[Result]):
    """Work that depends on no other task, but for a result that several tasks may share.

    Attributes:
        work: The work.
        shared: Result that the work needs; the first task that needs it makes it.
    """

    work: Callable[[], Result]
    shared: Once[Any] | None = None


def can_fork() -> bool:
    """Return whether tasks may run in forked processes here.

    Only Linux forks safely beside numerical libraries. A process that has begun to compute on a GPU cannot be forked, a
    daemon may have no processes, and in any thread but the main one other work is going on that must not be copied.
    """
    torch = sys.modules.get("torch")
    return (
        sys.platform == "linux"
        and threading.current_thread() is threading.main_thread()
        and not current_process().daemon
        and not any(name in sys.modules for name in NOT_FORKED)
        and not (torch is not None and torch.cuda.is_initialized())
    )


def run_forked(
    tasks: Sequence[WorkItem[Result]], workers: Workers, done: Callable[[Result], object] = lambda result: None
) -> list[Result]:
    """Return the result of each task, in order, from as many processes as there are workers.

    The processes are forked, so that they have all data without a copy, and results are pickled. A task that fails
    there, or whose result cannot be pickled, is run again here, to fail or to succeed as it does without processes.
    Once no task is left to begin, tasks that go on may have the threads of the processes that have nothing to do.

    Args:
        tasks: The tasks, in the order in which they begin.
        workers: The budget of threads that tasks share.
        done: Called with each result as it comes, from this thread.

    Raises:
        WorkerDiedError: A process was killed.
        BaseException: What a task raises here.
    """
    found: dict[int, Result] = {}
    queue = _Queue(tasks)
    with _forked(tasks, workers) as pool:
        while True:
            for process in pool.idle():
                if queue.ready:
                    queue.begin_next(process)
                elif not queue.waiting:
                    pool.lend_thread_of(process)
            working = pool.working()
            if not working:
                break
            for connection in wait(list(working)):
                index, pickled = queue.end(working[connection])
                with suppress(Exception):
                    found[index] = pickle.loads(pickled)
                if index in found:
                    done(found[index])
    failed = [index for index in range(len(tasks)) if index not in found]
    for index, result in zip(failed, workers.map(lambda index: tasks[index].work(), failed), strict=True):
        found[index] = result
        done(result)
    return [found[index] for index in range(len(tasks))]


class _Queue:
    """Tasks that have not begun: those that are ready, and those that wait for a shared result."""

    def __init__(self, tasks: Sequence[WorkItem[Any]]) -> None:
        self._tasks = tasks
        self.ready: deque[int] = deque()
        self.waiting: dict[Once[Any], list[int]] = {}
        self._made: dict[Once[Any], bytes] = {}
        for index, task in enumerate(tasks):
            if task.shared is not None and task.shared in self.waiting:
                self.waiting[task.shared].append(index)
                continue
            self.ready.append(index)
            if task.shared is not None:
                self.waiting[task.shared] = []

    def begin_next(self, process: _Forked) -> None:
        """Let a process begin a task, with the shared result if another process made it."""
        index = self.ready.popleft()
        shared = self._tasks[index].shared
        process.begin(index, None if shared is None else self._made.get(shared))

    def end(self, process: _Forked) -> tuple[int, bytes]:
        """Return the task that a process has ended, and its pickled result, empty if there is none."""
        index, result, made = process.end()
        shared = self._tasks[index].shared
        if shared is not None and shared in self.waiting:
            if made is not None:
                self._made[shared] = made
            self.ready.extendleft(reversed(self.waiting.pop(shared)))
        return index, result or b""


class _Forked:
    """A forked process, and the task that it works on."""

    def __init__(self, process: BaseProcess, connection: Connection) -> None:
        self._process, self.connection = process, connection
        self.index: int | None = None
        self.is_lent = False

    def begin(self, index: int, made: bytes | None) -> None:
        """Give it a task."""
        self.index = index
        try:
            self.connection.send((index, made))
        except OSError as error:
            raise self._died() from error

    def end(self) -> tuple[int, bytes | None, bytes | None]:
        """Return its task, the result and the shared result."""
        index, self.index = self.index, None
        assert index is not None
        try:
            return index, *self.connection.recv()
        except (EOFError, OSError) as error:
            raise self._died() from error

    def dismiss(self) -> None:
        """Let it end."""
        self.connection.send(None)
        self._process.join()

    def kill(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.join()
        self.connection.close()

    def _died(self) -> WorkerDiedError:
        self._process.join()
        return WorkerDiedError(
            f"a worker process ended before its work (exit code {self._process.exitcode}; -9 is a kill, perhaps for "
            "want of memory); give fewer rows, or n_jobs=1 (--jobs 1)."
        )


class _Pool:
    """Forked processes, and the threads that those without work lend to the others."""

    def __init__(self, permits: Permits) -> None:
        self.processes: list[_Forked] = []
        self.permits = permits

    def idle(self) -> list[_Forked]:
        """Return the processes without a task."""
        return [process for process in self.processes if process.index is None]

    def working(self) -> dict[Any, _Forked]:
        """Return the processes with a task, by connection."""
        return {process.connection: process for process in self.processes if process.index is not None}

    def lend_thread_of(self, process: _Forked) -> None:
        """Let tasks that go on have one thread more, in place of a process that gets no further task."""
        if not process.is_lent:
            process.is_lent = True
            self.permits.give()


@contextmanager
def _forked(tasks: Sequence[WorkItem[Any]], workers: Workers) -> Iterator[_Pool]:
    """Yield processes that run tasks; they end with the block."""
    context = get_context("fork")
    with Permits() as permits:
        pool = _Pool(permits)
        try:
            for _ in range(min(workers.n, len(tasks))):
                here, there = context.Pipe()
                process = context.Process(target=_serve, args=(there, tasks, workers, permits), daemon=True)
                with warnings.catch_warnings():
                    # Python warns of threads that may hold a lock; tasks take none that our threads do.
                    warnings.simplefilter("ignore", DeprecationWarning)
                    process.start()
                there.close()
                pool.processes.append(_Forked(process, here))
            for _ in range(workers.n - len(pool.processes)):  # where tasks are few
                permits.give()
            yield pool
            for one in pool.processes:
                one.dismiss()
        finally:
            for one in pool.processes:
                one.kill()


def _serve(connection: Connection, tasks: Sequence[WorkItem[Any]], workers: Workers, permits: Permits) -> None:
    """Run the tasks whose numbers come, until none comes."""
    start_worker()
    workers.restrict(permits)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    while (message := connection.recv()) is not None:
        index, made = message
        work, shared = tasks[index].work, tasks[index].shared
        reply: tuple[bytes | None, bytes | None] = None, None  # the process that asked runs the task again
        with suppress(BaseException):
            if shared is not None and made is not None:
                shared.give(pickle.loads(made))
            reply = pickle.dumps(work()), None
            if shared is not None and made is None and shared.is_done:
                reply = reply[0], pickle.dumps(shared())
        connection.send(reply)


def start_worker() -> None:
    """Prepare this worker process: leave Ctrl-C to the process that started it, and end when that one does."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="unbraid-end-with-parent", daemon=True).start()


def _end_with_parent() -> None:
    """Wait until the parent is gone, however it went, then end this process at once."""
    parent = parent_process()
    assert parent is not None
    # The sentinel tells at once. It stays silent if the parent left a forked child that holds the other end: so look
    # at the parent's id as well.
    while os.getppid() == parent.pid and not wait([parent.sentinel], timeout=_SECONDS_BETWEEN_LOOKS):
        pass
    os._exit(1)
