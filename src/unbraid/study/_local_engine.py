"""Jobs on this machine, each in a process beside this one."""

from __future__ import annotations

import os
import queue
import threading
from collections import defaultdict, deque

from unbraid._validation import check_at_least
from unbraid.study._cards import Cards, visible_cards
from unbraid.study._job import Finished, Job
from unbraid.study._worker_process import WorkerProcess


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
        """Queue a job; one that wants GPUs this machine does not have fails at once."""
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
                # Those that want most of a GPU go first: jobs without one can run beside them, not the other way round.
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


def usable_cores() -> int:
    """Count the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
