"""Findings on the page: from a saved report, or scored in the background, each with its views."""

from __future__ import annotations

import threading
import time
from enum import StrEnum
from typing import Any

import numpy as np

from unbraid._base.text import count
from unbraid.evidence.block_reading import BlockReading
from unbraid.explorer.subject import MOST_CODES, Subject
from unbraid.interpret.views import finding_views
from unbraid.panel.evaluation import evaluate
from unbraid.representation.representation import Representation
from unbraid.results.report import Report
from unbraid.results.view import FindingView, ViewColumn

#: What the rules of findings need, without the dearest of the panel.
METRICS = "mig,sap,dci_linear,dci_forest,iwo,explicitness"
#: Rows that are scored for findings; of more, as many are drawn.
SCORED_ROWS = 4000


class JobState(StrEnum):
    """State of the scoring."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    ABSENT = "absent"


class FindingsJob:
    """Findings of one subject; scoring begins when they are first asked for, in a thread of its own."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._lock = threading.Lock()
        self._started = 0.0
        self._thread: threading.Thread | None = None
        self._answer: dict[str, Any] | None = None

    def answer(self) -> dict[str, Any]:
        """Return the findings, or how far they are."""
        with self._lock:
            if self._answer is None and self._thread is None:
                self._begin()
            if self._answer is not None:
                return self._answer
            return {"state": JobState.RUNNING, "seconds": round(time.monotonic() - self._started, 1)}

    def _begin(self) -> None:
        rep, report = self.subject.rep, self.subject.report
        if report is not None:
            self._answer = _told(rep, report, "")
        elif rep is None:
            self._answer = {
                "state": JobState.ABSENT,
                "note": "Findings need codes and factors; here is a decoder only.",
            }
        elif rep.n_factors < 2:
            self._answer = {"state": JobState.ABSENT, "note": "Findings need codes and at least two labelled factors."}
        elif rep.n_codes > MOST_CODES:
            words = f"Findings are scored here for up to {MOST_CODES} codes"
            cure = "score the file with --json report.json, and open the report beside the codes"
            self._answer = {"state": JobState.ABSENT, "note": f"{words}; {cure}."}
        else:
            self._started = time.monotonic()
            self._thread = threading.Thread(target=self._score, args=(rep,), daemon=True, name="unbraid-findings")
            self._thread.start()

    def _score(self, rep: Representation) -> None:
        note = ""
        if rep.n_samples > SCORED_ROWS:
            rows = np.sort(np.random.default_rng(0).choice(rep.n_samples, SCORED_ROWS, replace=False))
            note = f"From {SCORED_ROWS:,} of {count(rep.n_samples, 'row')}, drawn at random."
            rep = rep.take(rows)
        try:
            metrics = f"{METRICS},blocks" if rep.blocks else METRICS
            report = evaluate(rep, metrics=metrics, n_jobs=1, progress=False, name=self.subject.label)
            answer = _told(rep, report, note)
        except Exception as error:  # whatever it is, the page has to say it
            answer = {"state": JobState.FAILED, "note": f"The codes could not be scored: {error}"}
        with self._lock:
            self._answer = answer


def _told(rep: Representation | None, report: Report, note: str) -> dict[str, Any]:
    views = () if rep is None else finding_views(rep, report)
    scores = [
        {"name": name, "value": score.value, "low": score.low, "high": score.high, "chance": score.chance}
        for name, score in report.scores.items()
    ]
    missing = "" if rep is not None else "Open the file of codes beside the report to see what findings look like."
    return {
        "state": JobState.DONE,
        "note": " ".join(filter(None, (note, missing))),
        "findings": [
            {
                "kind": str(finding.kind),
                "sentence": finding.sentence,
                "views": [_as_data(view) for view in views if view.finding == place],
            }
            for place, finding in enumerate(report.findings)
        ],
        "scores": scores,
        "blocks": _blocks(report),
    }


def _blocks(report: Report) -> dict[str, Any] | None:
    """Return how well each factor is read from each block of codes, where there are blocks."""
    found = next(iter(report.evidence_of(BlockReading)), None)
    if found is None or not report.setup.blocks:
        return None
    shares = np.round(found.data.kernel.share, 4).tolist()
    return {"names": list(found.data.blocks), "factors": list(found.data.factors), "shares": shares}


def _as_data(view: FindingView) -> dict[str, Any]:
    return {
        "caption": view.caption,
        "x": _place(view.x),
        "y": _place(view.y),
        "x_name": view.x.name,
        "y_name": view.y.name,
        "colour": None if view.colour is None else _place(view.colour),
        "lines": [{"role": str(line.role), "label": line.label, "points": line.points.tolist()} for line in view.lines],
    }


def _place(column: ViewColumn) -> list[Any]:
    return [str(column.kind), column.index]
