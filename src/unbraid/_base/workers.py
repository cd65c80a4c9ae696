"""Usable cores of this process, and a budget of worker threads that nested work and forked processes share."""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Generic, TypeVar

from unbraid._base.checks import check_at_least

Item = TypeVar("Item")
Result = TypeVar("Result")


def usable_cores() -> int:
    """Count the cores this process may use: those of its affinity, within the CPU quota of its container."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, cpu_quota())))


def cpu_quota(groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")) -> float:
    """Return the cores that the control groups of this process grant, versions 1 and 2; ``inf`` without a limit.

    Args:
        groups: Names the groups of the process, a line ``id:controllers:path`` each.
        mounted: Where the groups are mounted.
    """
    lines = _text(groups).splitlines()
    quotas = [math.inf]
    for controllers, path in (line.split(":", 2)[1:] for line in lines if line.count(":") >= 2):
        if controllers and "cpu" not in controllers.split(","):
            continue
        inside = PurePosixPath(path.lstrip("/"))
        # A container may see its own group as the root, or by its full name: both are tried, and all groups above.
        for folder in (mounted / controllers / above for above in (inside, *inside.parents)):
            if controllers:
                quotas.append(_cores(_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")))
            else:
                quotas.append(_cores(*(_text(folder / "cpu.max").split() or ("max", ""))))
    return min(quotas)


def _cores(quota: str, period: str) -> float:
    """Quota over period; none where either is missing, ``max`` or -1."""
    try:
        wanted, unit = float(quota), float(period)
    except ValueError:
        return math.inf
    return wanted / unit if wanted > 0 and unit > 0 else math.inf


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


class Once(Generic[Result]):
    """Work that several threads need, done by the first of them; a failure is raised for each.

    The work is forgotten once it is done, with all data that it holds.

    Args:
        work: The work.

    Example:
        >>> drawn = Once(lambda: [0])
        >>> drawn() is drawn()
        True
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work: Callable[[], Result] | None = work
        self._lock = threading.Lock()
        self._found: list[Result] = []

    def __call__(self) -> Result:
        with self._lock:
            if self._work is not None:
                self._found.append(self._work())
                self._work = None
        return self._found[0]

    @property
    def is_done(self) -> bool:
        """Whether there is a result."""
        return bool(self._found)

    def give(self, found: Result) -> None:
        """Take a result that was found elsewhere, in place of the work."""
        with self._lock:
            self._found[:], self._work = [found], None


class Permits:
    """Permits for threads that several processes share; none at first.

    Example:
        >>> with Permits() as permits:
        ...     permits.give()
        ...     permits.take(), permits.take()
        (True, False)
    """

    def __init__(self) -> None:
        # A byte in a pipe is a permit: processes that are forked have the same pipe, and none waits for it.
        self._taken, self._given = os.pipe()
        os.set_blocking(self._taken, False)

    def __enter__(self) -> Permits:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._taken)
        os.close(self._given)

    def take(self) -> bool:
        """Take a permit, if there is one."""
        try:
            return len(os.read(self._taken, 1)) == 1
        except BlockingIOError:
            return False

    def give(self) -> None:
        """Give a permit, new or taken before."""
        os.write(self._given, b"1")


class Workers:
    """A budget of threads for everything that is done under it, nested work included.

    The calling thread counts as one. A further thread is started only while the budget allows one more, so that work
    inside work never has more than ``n`` threads in all, and never waits for one.

    Args:
        n: Threads at most; all usable cores by default.
        torch_threads: Threads of torch inside one item; ``None`` leaves them as they are.

    Raises:
        ValueError: ``n`` below 1.

    Example:
        >>> Workers(2).map(abs, [-1, 2, -3])
        [1, 2, 3]
    """

    def __init__(self, n: int | None = None, *, torch_threads: int | None = None) -> None:
        self.n = usable_cores() if n is None else n
        check_at_least("n_jobs", self.n, 1)
        self.torch_threads = torch_threads
        # Set once, by Ctrl-C in the calling thread: maps inside maps, in all threads, begin nothing more.
        self._interrupted = False
        # Permits for further threads, each with the thread that had it last, which may still be ending.
        self._free: deque[threading.Thread | None] = deque([None] * (self.n - 1))
        self._permits: Permits | None = None

    def restrict(self, permits: Permits) -> None:
        """Start further threads only with a permit: other processes work within the same budget."""
        self._permits = permits

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``function`` of each item, in order.

        Raises:
            BaseException: What the first item that fails raises; items that were not begun are left out.
            KeyboardInterrupt: At once: items that are being worked on are not waited for.
        """
        waiting = deque(enumerate(items))
        found: dict[int, Result] = {}
        failed: dict[int, BaseException] = {}

        def work(before_each: Callable[[], object]) -> None:
            while waiting and not self._interrupted:
                before_each()
                try:
                    index, item = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                try:
                    found[index] = function(item)
                except BaseException as error:
                    failed[index] = error
                    waiting.clear()
                    self._interrupted |= isinstance(error, KeyboardInterrupt)

        def work_beside() -> None:
            try:
                work(lambda: None)
            finally:
                self._free.append(threading.current_thread())
                if self._permits is not None:
                    self._permits.give()

        threads: list[threading.Thread] = []

        def borrow() -> None:
            while len(waiting) > 1:
                try:
                    last = self._free.popleft()
                except IndexError:  # the budget is spent
                    return
                if self._permits is not None and not self._permits.take():
                    self._free.append(last)
                    return
                if last is not None:
                    last.join()
                threads.append(threading.Thread(target=work_beside, name="unbraid-worker", daemon=True))
                threads[-1].start()

        try:
            work(borrow)
            for thread in threads if not self._interrupted else ():
                thread.join()
        except KeyboardInterrupt:
            self._interrupted = True
            raise
        finally:
            waiting.clear()  # on an interrupt, tasks that have not started are dropped
        if self._interrupted:
            raise KeyboardInterrupt
        if failed:
            raise failed[min(failed)]
        return [found[index] for index in range(len(found))]


_torch_lock = threading.Lock()
_torch_before: list[int] = []


@contextmanager
def torch_threads(n: int | None = 1) -> Iterator[None]:
    """Let torch compute in ``n`` threads meanwhile: the last digits of sums depend on the number of threads.

    Several threads may be inside at once: the number from before the first of them comes back. ``None`` does nothing.
    """
    if n is None:
        yield
        return
    import torch

    with _torch_lock:
        # Asked first in any case: a thread that has not asked yet would take up later what another thread sets.
        here = torch.get_num_threads()
        _torch_before.append(_torch_before[0] if _torch_before else here)
        torch.set_num_threads(n)
    try:
        yield
    finally:
        with _torch_lock:
            torch.set_num_threads(_torch_before.pop())
