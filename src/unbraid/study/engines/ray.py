"""Engine that runs jobs on a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from unbraid._base.checks import check_at_least
from unbraid._base.optional import require
from unbraid._base.workers import usable_cores
from unbraid.study.engines.local import gpus_refusal
from unbraid.study.engines.process import (
    ONE_THREAD,
    TRIES,
    changed_environment,
    died_sentence,
    error_sentence,
    run_pickled,
)
from unbraid.study.jobs import Finished, Job

_SECONDS_TO_ANSWER = 5.0
_LOCAL = "local"
LOOPBACK = "127.0.0.1"


def import_ray() -> Any:
    """Return the module ``ray``.

    Raises:
        ValueError: It is not installed.
    """
    require("engine 'ray'", "ray", extra="ray")
    import ray

    return ray


def check_address(address: str) -> None:
    """Raise unless a server answers at an address; Ray itself tries for minutes before it gives up.

    Args:
        address: ``host:port``; ``auto`` and ``local`` are left to Ray.
    """
    if address in ("auto", _LOCAL):
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in address:
        raise ValueError(f"address must be host:port of a Ray cluster's head, or auto, got {address!r}.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise ValueError(
            f"no Ray cluster answers at {address!r} ({error}); start one with `ray start --head`, or give no address."
        ) from error


def connect(address: str | None, workers: int | None) -> bool:
    """Join the cluster at an address, or start one on this machine.

    Args:
        address: ``host:port`` or ``auto``; ``None`` takes ``RAY_ADDRESS``, and without it starts a cluster that ends
            with this process.
        workers: Cores to give to the cluster if it is started.

    Returns:
        Whether this call did it; ``False`` if the process was in a cluster already.

    Raises:
        ValueError: No cluster answers, the cluster has another version of Ray, or none can be started here.
    """
    ray = import_ray()
    place = address or os.environ.get("RAY_ADDRESS") or _LOCAL
    check_address(place)
    if ray.is_initialized():
        return False
    settings: dict[str, Any] = {"address": place, "log_to_driver": False, "logging_level": logging.ERROR}
    if place == _LOCAL:
        settings |= {"num_cpus": workers, "include_dashboard": False, "_node_ip_address": LOOPBACK}
    tries = TRIES if place == _LOCAL else 1  # on a busy machine a cluster may take longer to start than Ray waits
    for left in reversed(range(tries)):
        try:
            # A cluster that is ours alone sends nobody statistics.
            with changed_environment({"RAY_USAGE_STATS_ENABLED": "0"}), _on_loopback(place):
                ray.init(**settings)
            break
        except Exception as error:  # Ray raises a bare Exception for some of its troubles
            ray.shutdown()
            if not left:
                first = str(error).strip().partition("\n")[0].rstrip(".")
                raise ValueError(f"the Ray cluster at {place!r} cannot be joined: {first}.") from error
    return True


@contextmanager
def _on_loopback(place: str) -> Iterator[None]:
    """Let a cluster that is started here listen on the loopback only, as Ray itself does on Windows and macOS.

    Whoever reaches a cluster may run programs on it. Ray replaces an address of the loopback by one that others reach,
    unless it is told that there are no clusters of several machines.
    """
    from ray._private import ray_constants

    if place != _LOCAL:
        yield
        return
    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_BETWEEN_COUNTS = 5.0
# A job is slow when it takes this many times the median of its kind, once so many of its kind are finished.
_SLOW = 3.0
_ENOUGH_FINISHED = 3


class RayEngine:
    """Runs jobs on the cores and GPUs of a Ray cluster.

    A job whose worker or node dies is started again elsewhere, three times in all. When no job is left to start, one
    that is slow and may be raced gets a second copy: the first to end counts, the other is cancelled. The package, and
    the modules the jobs come from, must be importable on every node.

    Args:
        address: ``host:port`` of the cluster's head, or ``auto`` for the one this machine is part of. By default that
            in ``RAY_ADDRESS``, and without it one on this machine that ends with the process.
        workers: Jobs at the same time; by default as many as the cluster has cores, counted anew while it grows or
            shrinks.
        race_after: Seconds before which no job is slow.

    Raises:
        ValueError: Ray is not installed, or ``workers`` is less than 1. On entering: no cluster answers at the address.
    """

    def __init__(self, address: str | None = None, workers: int | None = None, *, race_after: float = 10.0) -> None:
        if workers is not None:
            check_at_least("workers", workers, 1)
        self._ray = import_ray()
        self._address = address
        self._workers = workers
        self._race_after = race_after
        self._connected_here = False
        self._counted: dict[str, float] = {}
        self._counted_at = float("-inf")
        self._waiting: dict[float, deque[_Underway]] = defaultdict(deque)
        self._copies: dict[Any, _Underway] = {}
        self._ended: deque[Finished] = deque()
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._n_unreported = 0

    def __enter__(self) -> RayEngine:
        """Join the cluster, or start one."""
        self._connected_here = connect(self._address, self._workers or usable_cores())
        self._remote = self._ray.remote(run_pickled)
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the jobs, and leave the cluster if it was joined here."""
        self._cancel(self._copies)
        self._copies.clear()
        if self._connected_here:
            self._ray.shutdown()

    @property
    def n_slots(self) -> int:
        """Jobs that run at the same time."""
        return self._workers or max(1, int(self._count("CPU")))

    def submit(self, job: Job) -> None:
        """Queue a job; a job that needs more GPUs than the cluster has fails at once."""
        self._n_unreported += 1
        self._waiting[job.gpus].append(_Underway(job))
        self._fill()

    def wait(self) -> Finished:
        """Return the next job that ends.

        Raises:
            RuntimeError: No job is submitted and unreported.
        """
        if self._n_unreported == 0:
            raise RuntimeError("there is no job to wait for")
        while not self._ended:
            if self._copies:
                ready, _ = self._ray.wait(list(self._copies), timeout=_SECONDS_BETWEEN_LOOKS)
                for copy in ready:
                    self._settle(copy)
            self._refuse_stranded()
            self._fill()
            self._race()
        self._n_unreported -= 1
        return self._ended.popleft()

    def _fill(self) -> None:
        """Start jobs while there is room; jobs that need most of a GPU first, as others can run beside them."""
        for gpus in sorted(self._waiting, reverse=True):
            queue = self._waiting[gpus]
            refusal = gpus_refusal(gpus, self._count("GPU"), "the Ray cluster")
            while queue and (refusal is not None or self._has_room(gpus, self._n_ahead())):
                if refusal is None:
                    self._start(queue.popleft())
                else:  # also when the node that had the GPUs is lost: Ray would wait for ever
                    self._end(queue.popleft(), refusal, 0.0)
            if not queue:
                del self._waiting[gpus]

    def _refuse_stranded(self) -> None:
        """End jobs that were given to Ray before the node that has their GPUs was lost: they would wait for ever."""
        for underway in {id(one): one for one in self._copies.values() if one.job.gpus}.values():
            refusal = gpus_refusal(underway.job.gpus, self._count("GPU"), "the Ray cluster")
            if refusal is not None:
                self._end(underway, refusal, 0.0)

    def _n_ahead(self) -> int:
        """Return how many jobs to hand to Ray beyond those that can run, so that no worker waits for this process.

        None if the cluster would run more at the same time than it was asked to.
        """
        return self.n_slots if self.n_slots >= self._count("CPU") else 0

    def _has_room(self, gpus: float, n_ahead: int = 0) -> bool:
        if len(self._copies) >= self.n_slots + n_ahead:
            return False
        return gpus == 0 or sum(one.job.gpus for one in self._copies.values()) + gpus <= self._count("GPU") + 1e-9

    def _start(self, underway: _Underway, strategy: str = "DEFAULT") -> None:
        job = underway.job
        hidden = {} if job.gpus else {"CUDA_VISIBLE_DEVICES": ""}
        # Retries are made here: Ray's own would start a job that is too large for memory again for ever.
        remote = self._remote.options(
            name=job.label,
            num_cpus=1,
            num_gpus=job.gpus,
            max_retries=0,
            scheduling_strategy=strategy,
            runtime_env={"env_vars": ONE_THREAD | hidden},
        )
        try:
            copy = remote.remote(self._ray.cloudpickle.dumps(job))
        except Exception as problem:  # a job that cannot be sent
            self._end(underway, error_sentence(problem), 0.0)
            return
        underway.copies[copy] = time.perf_counter()
        self._copies[copy] = underway

    def _settle(self, copy: Any) -> None:
        """Report the job that a copy was of, or queue it again if its worker died."""
        underway = self._copies.pop(copy)
        seconds = time.perf_counter() - underway.copies.pop(copy)
        exceptions = self._ray.exceptions
        try:
            error, seconds = self._ray.get(copy)
        except (exceptions.RayTaskError, exceptions.RuntimeEnvSetupError) as problem:
            last = str(problem).strip().rpartition("\n")[2]
            error = f"no Ray worker could begin it ({last}); unbraid and its jobs must be importable on every node"
        except exceptions.RayError:
            if underway.copies:  # the other copy goes on
                return
            underway.deaths += 1
            if underway.deaths < TRIES:
                self._counted_at = float("-inf")  # it may have been a node that died
                self._waiting[underway.job.gpus].appendleft(underway)
                return
            error = died_sentence(TRIES)
        self._end(underway, error, seconds)

    def _end(self, underway: _Underway, error: str | None, seconds: float) -> None:
        self._cancel(underway.copies)
        for copy in underway.copies:
            del self._copies[copy]
        if error is None:
            self._seconds[underway.job.kind].append(seconds)
        self._ended.append(Finished(job=underway.job, error=error, seconds=seconds))

    def _race(self) -> None:
        """Start second copies of slow jobs, if all else is done or running."""
        if self._waiting:
            return
        now = time.perf_counter()
        for underway in list(self._copies.values()):
            if underway.job.may_race and len(underway.copies) == 1 and self._has_room(underway.job.gpus):
                (started,) = underway.copies.values()
                if now - started > self._patience(underway.job.kind):
                    self._start(underway, "SPREAD")  # elsewhere: it may be the node that is slow

    def _patience(self, kind: str) -> float:
        known = self._seconds[kind]
        return max(self._race_after, _SLOW * median(known)) if len(known) >= _ENOUGH_FINISHED else float("inf")

    def _cancel(self, copies: Any) -> None:
        for copy in copies:
            self._ray.cancel(copy, force=True)

    def _count(self, resource: str) -> float:
        """Return how much of a resource the cluster has, by a count that is at most seconds old."""
        now = time.perf_counter()
        if now - self._counted_at > _SECONDS_BETWEEN_COUNTS:
            self._counted, self._counted_at = self._ray.cluster_resources(), now
        return self._counted.get(resource, 0.0)


@dataclass(eq=False)
class _Underway:
    """A job, its running copies with when they were started, and how often its worker died."""

    job: Job
    copies: dict[Any, float] = field(default_factory=dict)
    deaths: int = 0
