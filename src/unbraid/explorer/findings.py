"""Findings on the page: from a saved report, or scored in the background, each with its views."""

from __future__ import annotations

import threading
import time
from enum import StrEnum
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import count
from unbraid.evidence.block_reading import BlockReading
from unbraid.explorer.subject import MOST_CODES, Subject
from unbraid.interpret.dependence import depending
from unbraid.interpret.views import MOST_VIEWS, finding_views
from unbraid.panel.evaluation import evaluate
from unbraid.panel.steps import ScoringStep
from unbraid.representation.representation import Representation
from unbraid.results.finding import ColumnKind, FindingView, Still, ViewColumn
from unbraid.results.note import NoteKind, as_note
from unbraid.results.report import Report

#: What the rules of findings need, without the dearest of the panel.
METRICS = "mig,sap,dci_linear,dci_forest,iwo,explicitness"
#: Rows that are scored for findings; of more, as many are drawn.
SCORED_ROWS = 4000
DEPENDENT = "Independent factors would fill the picture evenly: each value of one with every value of the other."


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
        self._started, self._step = 0.0, (0, 0)
        self._thread: threading.Thread | None = None
        self._answer: dict[str, Any] | None = None

    def answer(self) -> dict[str, Any]:
        """Return the findings, or how far they are."""
        with self._lock:
            if self._answer is None and self._thread is None:
                self._begin()
            if self._answer is not None:
                return self._answer
            seconds = round(time.monotonic() - self._started, 1)
            return {"state": JobState.RUNNING, "seconds": seconds, "n_done": self._step[0], "n_steps": self._step[1]}

    def _begin(self) -> None:
        rep, report = self.subject.rep, self.subject.report
        if report is not None:
            self._answer = _told(rep, report, "")
        elif self.subject.is_being_scored:
            self._answer = {"state": JobState.ABSENT, "note": "Findings come at the end of the scoring."}
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

    def _take(self, step: ScoringStep) -> None:
        self._step = step.n_done, step.n_steps

    def _score(self, rep: Representation) -> None:
        note = ""
        if rep.n_samples > SCORED_ROWS:
            rows = np.sort(np.random.default_rng(0).choice(rep.n_samples, SCORED_ROWS, replace=False))
            note = f"From {SCORED_ROWS:,} of {count(rep.n_samples, 'row')}, drawn at random."
            rep = rep.take(rows)
        try:
            metrics = f"{METRICS},blocks" if rep.blocks else METRICS
            report = evaluate(
                rep, metrics=metrics, n_jobs=1, progress=False, on_step=self._take, name=self.subject.label
            )
            answer = _told(rep, report, note)
        except Exception as error:  # whatever it is, the page has to say it
            answer = {"state": JobState.FAILED, "note": f"The codes could not be scored: {error}"}
        with self._lock:
            self._answer = answer


def _told(rep: Representation | None, report: Report, note: str) -> dict[str, Any]:
    if rep is None:
        views = [(still.view.finding, _kept(report, still)) for still in report.stills]
    else:
        views = [(view.finding, _as_data(view)) for view in finding_views(rep, report)]
    scores = [
        {"name": name, "value": score.value, "low": score.low, "high": score.high, "chance": score.chance}
        for name, score in report.scores.items()
    ]
    findings = [
        {
            "kind": str(finding.kind),
            "sentence": finding.sentence,
            "views": [view for of, view in views if of == place],
        }
        for place, finding in enumerate(report.findings)
    ]
    return {
        "state": JobState.DONE,
        "note": note if rep is not None else _kept_rows(report),
        "findings": [*findings, *_dependence(rep, report)],
        "scores": scores,
        "blocks": _blocks(report),
    }


def _kept_rows(report: Report) -> str:
    """Return what a report without its codes can show."""
    if not report.stills:
        return "Open the file of codes beside the report to see what findings look like."
    shown, n_rows = len(report.stills[0].points), report.stills[0].n_rows
    if shown == n_rows:
        return ""
    return f"The report keeps {shown:,} of {count(n_rows, 'row')}; open the file of codes beside it to see all of them."


def _dependence(rep: Representation | None, report: Report) -> list[dict[str, Any]]:
    """Return dependent factors as one more sentence, which leads to each two of them."""
    notes = [note for note in map(as_note, report.notes) if note.kind is NoteKind.DEPENDENT_FACTORS]
    if report.dependence is None or not report.dependence.found or not notes:
        return []
    places = {name: ViewColumn(kind=ColumnKind.FACTOR, index=k, name=name) for k, name in enumerate(_names(rep))}
    views = [
        FindingView(finding=-1, caption=DEPENDENT, x=places[names[0]], y=places[names[1]], colour=places[names[-1]])
        for names in depending(report.dependence)[:MOST_VIEWS]
        if all(name in places for name in names)
    ]
    kind = str(NoteKind.DEPENDENT_FACTORS)
    return [{"kind": kind, "sentence": str(notes[0]), "views": [_as_data(view) for view in views]}]


def _names(rep: Representation | None) -> tuple[str, ...]:
    return () if rep is None else tuple(rep.factor_names)


def _kept(report: Report, still: Still) -> dict[str, Any]:
    """Return a view with the rows that the report keeps of it."""
    columns = zip(("x", "y", "colour"), (still.view.x, still.view.y, still.view.colour), still.points.T, strict=True)
    kept = {name: _kept_column(report, column, values) for name, column, values in columns if column is not None}
    return {**_as_data(still.view), "kept": kept}


def _kept_column(report: Report, column: ViewColumn, values: FloatArray) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    factor: dict[str, Any] | None = None
    if column.kind is ColumnKind.FACTOR:
        kind, n_levels = str(report.setup.factor_kinds[column.index]), report.setup.factor_levels[column.index]
        factor = {"kind": kind, "levels": [], "n_levels": n_levels, "low": low, "high": high, "period": high - low}
    return {"name": column.name, "factor": factor, "values": values.tolist()}


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
