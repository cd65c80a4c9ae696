"""Engine that runs jobs in processes of this machine."""

from __future__ import annotations

import os
import queue
import threading
from collections import defaultdict, deque
from collections.abc import Sequence

from unbraid._base.checks import check_at_least
from unbraid._base.optional import require
from unbraid._base.workers import usable_cores
from unbraid.study.engines.process import WorkerProcess
from unbraid.study.jobs import Finished, Job

# A card is divided into this many shares, as in Ray, so that ten tenths are a whole.
_SHARES = 10_000


class Cards:
    """The GPUs of one machine, and the free share of each.

    Args:
        names: As ``CUDA_VISIBLE_DEVICES`` names them.

    Example:
        >>> cards = Cards(["0", "1"])
        >>> cards.take(0.5), cards.take(0.5), cards.take(1), cards.take(0.25)
        (('0',), ('1',), None, ('0',))
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._free = dict.fromkeys(names, _SHARES)

    def refusal(self, gpus: float) -> str | None:
        """Return why this machine can never give a job so many GPUs, or ``None`` if it can."""
        return gpus_refusal(gpus, len(self._free), "this machine")

    def take(self, gpus: float, held: Sequence[str] = ()) -> tuple[str, ...] | None:
        """Take a share of one card or several whole ones, if they are free.

        Args:
            gpus: How many.
            held: Cards that the worker has already, which are preferred; then the cards with most free.

        Returns:
            The cards; ``None`` if too few are free now.
        """
        need = _shares(gpus)
        fit = [name for name, free in self._free.items() if free >= min(need, _SHARES)]
        fit.sort(key=lambda name: (name not in held, -self._free[name]))
        count = -(-need // _SHARES)
        if len(fit) < count:
            return None
        for name in fit[:count]:
            self._free[name] -= min(need, _SHARES)
        return tuple(fit[:count])

    def give_back(self, names: Sequence[str], gpus: float) -> None:
        """Undo a ``take``."""
        for name in names:
            self._free[name] += min(_shares(gpus), _SHARES)


def gpus_refusal(gpus: float, n_cards: float, place: str) -> str | None:
    """Say why ``gpus`` can never be had in a place with ``n_cards``, or ``None`` if they can."""
    if not gpus >= 0 or (gpus > 1 and gpus != int(gpus)):
        return f"gpus must be a share between 0 and 1 or a whole number, got {gpus}."
    if gpus > n_cards:
        there = "no GPU" if n_cards == 0 else f"only {n_cards:g}"
        return f"it needs {gpus:g} GPU, and {place} has {there}; set gpus: 0 to run it on the processor."
    return None


def visible_cards() -> list[str]:
    """Name the GPUs that torch sees, as ``CUDA_VISIBLE_DEVICES`` would."""
    require("a job on a GPU", "torch", extra="torch")
    import torch

    count = torch.cuda.device_count()
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = map(str, range(count)) if chosen is None else (name.strip() for name in chosen.split(","))
    return list(names)[:count]


def _shares(gpus: float) -> int:
    return 0 if gpus == 0 else max(1, round(gpus * _SHARES))


class LocalEngine:
    """Runs jobs in processes of this machine.

    Each worker is a process with one thread for arithmetic and sees only the GPUs its job holds. A job whose worker is
    killed is started again in a new one, three times in all; a job that raises is not, as it would raise again.
    Workers end with this process, even if it is killed.

    Args:
        workers: Jobs at the same time; as many as there are cores by default.

    Raises:
        ValueError: ``workers`` is less than 1.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._n_slots = usable_cores() if workers is None else workers
        check_at_least("workers", self._n_slots, 1)
        self._waiting: dict[float, deque[Job]] = defaultdict(deque)
        self._changed = threading.Condition()
        self._cards: Cards | None = None
        self._finished: queue.SimpleQueue[Finished] = queue.SimpleQueue()
        self._n_unreported = 0
        self._stopped = False
        self._workers = [WorkerProcess() for _ in range(self._n_slots)]
        self._threads = [threading.Thread(target=self._serve, args=(one,), daemon=True) for one in self._workers]

    def __enter__(self) -> LocalEngine:
        """Start the threads that look after the workers; processes start with the first job they get."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End all workers at once."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.stop()
        for thread in self._threads:
            thread.join()

    @property
    def n_slots(self) -> int:
        """Jobs that run at the same time."""
        return self._n_slots

    def submit(self, job: Job) -> None:
        """Queue a job; a job that needs more GPUs than this machine has fails at once."""
        self._n_unreported += 1
        refusal = self._refusal(job)
        if refusal is not None:
            self._finished.put(Finished(job=job, error=refusal, seconds=0.0))
            return
        with self._changed:
            self._waiting[job.gpus].append(job)
            self._changed.notify()

    def wait(self) -> Finished:
        """Return the next job that ends.

        Raises:
            RuntimeError: No job is submitted and unreported.
        """
        if self._n_unreported == 0:
            raise RuntimeError("there is no job to wait for")
        finished = self._finished.get()
        self._n_unreported -= 1
        return finished

    def _refusal(self, job: Job) -> str | None:
        if job.gpus == 0:
            return None
        if self._cards is None:
            try:
                self._cards = Cards(visible_cards())
            except ValueError as error:
                return str(error)
        return self._cards.refusal(job.gpus)

    def _serve(self, worker: WorkerProcess) -> None:
        while (taken := self._take(worker.cards)) is not None:
            job, cards = taken
            finished = worker.finish(job, cards)
            if cards:
                self._give_back(cards, job.gpus)
            self._finished.put(finished)

    def _give_back(self, cards: tuple[str, ...], gpus: float) -> None:
        with self._changed:
            assert self._cards is not None
            self._cards.give_back(cards, gpus)
            self._changed.notify_all()

    def _take(self, held: tuple[str, ...]) -> tuple[Job, tuple[str, ...]] | None:
        """Wait for a job that can start now, and take it with its GPUs; ``None`` when the engine stops."""
        with self._changed:
            while not self._stopped:
                # Jobs that need most of a GPU go first: jobs without a GPU can run beside them, not vice versa.
                for gpus in sorted(self._waiting, reverse=True):
                    cards = self._cards.take(gpus, held) if self._cards is not None else ()
                    if cards is not None:
                        return self._pop(gpus), cards
                self._changed.wait()
        return None

    def _pop(self, gpus: float) -> Job:
        job = self._waiting[gpus].popleft()
        if not self._waiting[gpus]:
            del self._waiting[gpus]
        return job
