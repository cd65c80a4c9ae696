"""Jobs and engines: their protocols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Job(Protocol):
    """A piece of work that can be sent to another process or machine, and repeated without harm.

    A job returns nothing: it writes its results to the store, each file atomically and under a name that depends on
    the work alone, so a job that runs twice leaves the same store as one that runs once.
    """

    @property
    def key(self) -> str:
        """Identity of the job."""
        ...

    @property
    def kind(self) -> str:
        """Kind of the job, such as ``"train"`` or ``"measure"``; jobs of a kind take about as long as each other."""
        ...

    @property
    def label(self) -> str:
        """A few words for people."""
        ...

    @property
    def gpus(self) -> float:
        """GPUs it holds while it runs; a fraction shares one."""
        ...

    @property
    def may_race(self) -> bool:
        """Whether a second copy may be started beside one that is slow."""
        ...

    def run(self) -> None:
        """Do it.

        Raises:
            ValueError: It cannot be done, with the reason.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A job that came to an end.

    Attributes:
        job: Which.
        error: Why it failed, in a sentence; ``None`` if it did not.
        seconds: From its last start to its end.
    """

    job: Job
    error: str | None
    seconds: float


class Engine(Protocol):
    """Runs jobs somewhere: any number may be submitted, each is reported once, in the order in which they end."""

    def __enter__(self) -> Engine:
        """Start the workers."""
        ...

    def __exit__(self, *error: object) -> None:
        """Stop them, with whatever they are doing."""
        ...

    @property
    def n_slots(self) -> int:
        """Jobs that run at the same time."""
        ...

    def submit(self, job: Job) -> None:
        """Queue a job."""
        ...

    def wait(self) -> Finished:
        """Return the next job that ends; must not be called when none is submitted and unreported."""
        ...
