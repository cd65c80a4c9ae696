"""Scoring in the explorer while it goes on: steps that are done, and scores as they come."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from unbraid.explorer.session import SubjectEntry
from unbraid.explorer.subject import Subject
from unbraid.panel.steps import ScoringStep, StepRole
from unbraid.representation.representation import CodesLayout, Representation
from unbraid.results.report import Report


@dataclass(slots=True)
class MetricSoFar:
    """What is known of one score.

    Attributes:
        n_steps: Steps that the score waits for.
        n_done: Of these, how many are done.
        value: Plain estimate from all rows.
        nulls: Estimates with shuffled factors.
        error: Why there is no estimate.
    """

    n_steps: int = 0
    n_done: int = 0
    value: float | None = None
    nulls: list[float] = field(default_factory=list)
    error: str = ""

    def add(self, step: ScoringStep, name: str) -> None:
        """Take up a step that concerns this score."""
        self.n_done += 1
        found = step.values.get(name)
        if step.role is StepRole.POINT:
            self.value, self.error = found, step.errors.get(name, "")
        elif step.role is StepRole.NULL and found is not None:
            self.nulls.append(found)

    def about(self, name: str) -> dict[str, Any]:
        """Return a row of the table."""
        chance = sum(self.nulls) / len(self.nulls) if self.nulls else None
        row = {"name": name, "value": self.value, "low": None, "high": None, "chance": chance, "error": self.error}
        return {**row, "n_done": self.n_done, "n_steps": self.n_steps}


class LiveScores:
    """Scores of one representation while they are computed; the evaluation writes, the server reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[str, MetricSoFar] = {}
        self._n_done = self._n_steps = 0
        self._started: float | None = None
        self._report: Report | None = None

    def take(self, step: ScoringStep) -> None:
        """Take up a step of the evaluation."""
        with self._lock:
            self._started = time.monotonic() if self._started is None else self._started
            self._n_done, self._n_steps = step.n_done, step.n_steps
            for name, n in step.planned.items():
                self._metrics.setdefault(name, MetricSoFar()).n_steps += n
            for name in {**step.values, **step.errors}:
                self._metrics[name].add(step, name)

    def finish(self, report: Report) -> None:
        """Take up the report, with confidence intervals and findings."""
        with self._lock:
            self._report = report

    def about(self) -> dict[str, Any]:
        """Return the steps, the scores and, at the end, the findings."""
        with self._lock:
            if self._report is not None:
                return self._at_the_end(self._report)
            return {
                "n_done": self._n_done,
                "n_steps": self._n_steps,
                "seconds": 0.0 if self._started is None else round(time.monotonic() - self._started, 1),
                "rows": [one.about(name) for name, one in self._metrics.items()],
                "findings": [],
            }

    def _at_the_end(self, report: Report) -> dict[str, Any]:
        rows = []
        for name, score in report.scores.items():
            so_far = self._metrics.get(name, MetricSoFar()).about(name)
            rows.append({**so_far, "value": score.value, "low": score.low, "high": score.high, "chance": score.chance})
        failed = [{**MetricSoFar(error=reason).about(name)} for name, reason in report.failures.items()]
        return {
            "n_done": self._n_steps,
            "n_steps": self._n_steps,
            "seconds": report.setup.seconds,
            "rows": [*rows, *failed],
            "findings": [{"kind": str(one.kind), "sentence": one.sentence} for one in report.findings],
        }


class ScoringView:
    """Representations that are scored one after the other.

    Args:
        names: Their names, in order.
        reps: The representations.
    """

    def __init__(self, names: Sequence[str], reps: Sequence[Representation]) -> None:
        self.live = {name: LiveScores() for name in names}
        self.entries = [
            SubjectEntry(label=name, load=partial(_subject, name, rep))
            for name, rep in zip(names, reps, strict=True)
            if rep.layout is CodesLayout.DENSE
        ]

    def about(self) -> dict[str, Any]:
        """Return how far each representation is."""
        return {"parts": [{"name": name, **scores.about()} for name, scores in self.live.items()]}


def _subject(name: str, rep: Representation, key: str) -> Subject:
    return Subject(key, name, rep=rep, is_being_scored=True)
