"""The status of reproductions as one HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from unbraid._base.text import MINUS, listing
from unbraid.report.charts import Strip, make_strip
from unbraid.report.shell import carried, fill
from unbraid.reproduce.agreement import RULE, Check, Colour, Part
from unbraid.reproduce.result import as_text
from unbraid.reproduce.run import Outcome, how_run, reason_of, sentence_of

WORDS = {
    Colour.GREEN: "agree in every printed number",
    Colour.AMBER: "agree in at least half of the numbers attempted",
    Colour.RED: "agree in fewer",
    Colour.GREY: "were not attempted at full settings",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    """One table or figure, ready to show.

    Attributes:
        part: Its checks.
        counts: How many numbers are printed, were attempted and agree, as a sentence.
        reason: Why it is not all green.
        ends: Ends of the axis, as text.
        rows: Each check with its drawing, its texts (ours, paper, truth, difference) and what to say on hovering.
    """

    part: Part
    counts: str
    reason: str
    ends: tuple[str, str]
    rows: Sequence[tuple[Check, Strip | None, tuple[str, str, str, str], str]]


def render_status(outcomes: Sequence[Outcome]) -> str:
    """Return one HTML page that needs nothing else."""
    alone = outcomes[0].reproduction if len(outcomes) == 1 else None
    context = {
        "heading": alone.title if alone else "Do the published tables and figures come out again?",
        "command": alone.name if alone else "--all",
        "opening": opening(outcomes),
        "rule": RULE,
        "sections": [(outcome, how_run(outcome), [_view(part) for part in outcome.parts]) for outcome in outcomes],
        "facts": _facts(outcomes),
        "data": carried(msgspec.json.encode([outcome.run.kept() for outcome in outcomes]).decode()),
    }
    return fill("reproduction.html", context, "figure.css", "reproduction.css")


def opening(outcomes: Sequence[Outcome]) -> str:
    """Return a summary of the results in words."""
    parts = [part for outcome in outcomes for part in outcome.parts]
    colours = [part.colour for part in parts]
    sentences = []
    if parts:
        counts = [f"{colours.count(colour)} {words}" for colour, words in WORDS.items() if colour in colours]
        noun = "table or figure" if len(parts) == 1 else "tables and figures"
        sentences.append(f"Of {len(parts)} {noun}, {listing(counts)}.")
    counted = [part for part in parts if part.n_attempted]
    n_attempted, n_nearer = sum(part.n_attempted for part in counted), sum(part.n_nearer for part in counted)
    if n_nearer:
        sentences.append(
            f"Of {n_attempted} numbers attempted, {n_nearer} of ours lie nearer the known truth than the paper's, "
            "which are further from it than allowed."
        )
    missing = [outcome.reproduction.name for outcome in outcomes if not outcome.parts]
    if missing:
        sentences.append(f"Not run: {listing(missing)}.")
    return " ".join(sentences)


def _facts(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    parts = [part for outcome in outcomes for part in outcome.parts]
    found = [(str(colour).capitalize(), str(sum(part.colour is colour for part in parts))) for colour in WORDS]
    seconds = sum(outcome.run.processor_seconds for outcome in outcomes)
    took = [("Processor time", f"{seconds:.0f} s")] if seconds else []
    numbers = [
        ("Printed", sum(part.n_printed for part in parts)),
        ("Attempted", sum(part.n_attempted for part in parts)),
        ("Agree", sum(part.n_agree for part in parts if part.n_attempted)),
    ]
    return [*found, *((word, str(number)) for word, number in numbers), *took]


def _view(part: Part) -> PartView:
    drawn = [value for check in part.checks if not check.claim for value in _values(check)]
    low, high = (min(drawn), max(drawn)) if drawn else (0.0, 1.0)
    low, high = (0.0, 1.0) if low >= 0 and high <= 1 and high > 0.05 else (low, high)
    return PartView(
        part=part,
        counts=sentence_of(part),
        reason=reason_of(part),
        ends=(as_text(low), as_text(high)),
        rows=[(check, _strip(check, (low, high)), _texts(check), _tip(check)) for check in part.checks],
    )


def _values(check: Check) -> list[float]:
    found = (check.ours, check.paper, check.truth)
    return [value for value in found if value is not None and math.isfinite(value)]


def _strip(check: Check, bounds: tuple[float, float]) -> Strip | None:
    if check.claim or check.ours is None:
        return None
    return make_strip(check.ours, bounds=bounds, null=check.paper, truth=check.truth)


def _texts(check: Check) -> tuple[str, str, str, str]:
    difference = check.difference
    text = "" if difference is None or not math.isfinite(difference) else f"{difference:+.3g}"
    return as_text(check.ours), check.claim or as_text(check.paper), as_text(check.truth), text.replace("-", MINUS)


def _tip(check: Check) -> str:
    paper = check.claim or ("" if check.paper is None else repr(check.paper))
    known: list[tuple[str, Any]] = [
        ("ours", "not finite" if check.ours is None else repr(check.ours)),
        ("paper", paper),
        ("truth", "" if check.truth is None else repr(check.truth)),
        ("allowed", check.rule),
    ]
    values = "; ".join(f"{label} {text}" for label, text in known if text)
    return f"{check.what}: {values}; {check.agreement}"
