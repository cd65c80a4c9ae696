"""Steps of an evaluation, told to a listener while the evaluation goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class StepRole(StrEnum):
    """What a step of an evaluation is for."""

    START = "start"
    DEPENDENCE = "dependence"
    POINT = "point"
    REPLICATE = "replicate"
    NULL = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringStep:
    """A step of an evaluation that is done, or the start of several steps.

    Attributes:
        role: What the step is for.
        n_done: Steps that are done.
        n_steps: Steps that are known so far; dependent factors may add some.
        planned: At the start, the steps that each metric waits for.
        values: Plain estimates that the step gave, by metric: of all rows, of a part of them, or of shuffled factors.
        errors: For each metric that the step could not score, the reason.
    """

    role: StepRole
    n_done: int
    n_steps: int
    planned: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


Listener = Callable[[ScoringStep], object]


class StepTeller:
    """Counts steps that finish in any thread, and tells them to a listener one at a time.

    Args:
        listener: Takes the steps.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener, self._lock = listener, threading.Lock()
        self._n_done = self._n_steps = 0

    def start(self, n_steps: int, planned: Mapping[str, int]) -> None:
        """Tell that steps begin, and how many of them each metric waits for."""
        with self._lock:
            self._n_steps += n_steps
            self._listener(
                ScoringStep(role=StepRole.START, n_done=self._n_done, n_steps=self._n_steps, planned=planned)
            )

    def done(self, role: StepRole, values: Mapping[str, float], errors: Mapping[str, str]) -> None:
        """Tell that a step is done, with the estimates that it gave."""
        with self._lock:
            self._n_done += 1
            self._listener(
                ScoringStep(role=role, n_done=self._n_done, n_steps=self._n_steps, values=values, errors=errors)
            )
