"""The audit as Markdown tables, and where they go in a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.audit._candidate import Candidate
from unbraid.audit._cases import Case
from unbraid.audit._judge import Finding, Verdict
from unbraid.audit._reasons import known_reasons
from unbraid.audit._truth import Claim, Should
from unbraid.metrics import Property

if TYPE_CHECKING:
    from unbraid.audit._result import Audit

BEGIN, END = "<!-- audit tables: begin -->", "<!-- audit tables: end -->"
MARKS = {Should.BEST: "▲", Should.STAY: "=", Should.FALL: "↓", Should.CHANCE: "▼", Should.FREE: "·"}
FAILED = "✗"


def tables(audit: Audit) -> str:
    """Return all tables, between the marks."""
    parts = [BEGIN, _made_by(audit), "### Score card", _score_card(audit), "### Why they fail", _why(audit)]
    for prop in Property:
        candidates = [candidate for candidate in audit.candidates if candidate.measures[0] is prop]
        if candidates:
            parts += [f"### {str(prop).capitalize()}, case by case", _matrix(audit, candidates)]
    parts += ["### The cases", _cases(audit.cases), END]
    return "\n\n".join(parts)


def insert_tables(path: Path, text: str) -> str:
    """Return the page at ``path`` with new tables between its marks, or the tables alone where there is no page."""
    if not path.exists():
        return text + "\n"
    head, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(
            f"markdown {str(path)!r} exists and has no lines {BEGIN!r} and {END!r} to write between; "
            "add them, or give a new file."
        )
    return head + text + tail


def cell(finding: Finding) -> str:
    """Write one finding: what it should do, the score, and a cross where it failed."""
    value = "refused" if finding.value is None else _number(finding.value)
    text = f"{MARKS[finding.should]} {value}"
    return f"**{FAILED} {text}**" if finding.verdict is Verdict.FAIL else text


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00").replace("inf", "∞")


def _made_by(audit: Audit) -> str:
    meta = audit.meta
    return (
        f"Made by `unbraid audit --markdown`, version {meta['unbraid']}: {len(audit.candidates)} metrics, "
        f"{len(audit.cases)} cases, {meta['n_rows']:,} rows, {meta['n_seeds']} seeds from {meta['seed']}; "
        f"{meta['cpu_seconds']:.0f} s of processor time."
    )


def _score_card(audit: Audit) -> str:
    rows = []
    for candidate in audit.candidates:
        passed, judged = audit.count(candidate.name)
        failed = [f"`{finding.case}`" for finding in audit.failures(candidate.name)]
        claims = ", ".join(str(prop) for prop in candidate.measures)
        rows.append([f"`{candidate.name}`", claims, f"{passed} of {judged}", ", ".join(failed) or "nowhere"])
    return _table(["Metric", "Claims", "Passed", "Fails in"], rows)


def _why(audit: Audit) -> str:
    failures = [
        (finding.metric, finding.case) for finding in audit.findings.values() if finding.verdict is Verdict.FAIL
    ]
    if not failures:
        return "They do not."
    rows = [
        [item.says, item.source, ", ".join(f"`{m}`" for m in metrics), ", ".join(f"`{c}`" for c in cases)]
        for item, metrics, cases in known_reasons(failures)
    ]
    return _table(["Reason", "Described by", "Metrics", "Cases"], rows) if rows else "No reason is known."


def _matrix(audit: Audit, candidates: Sequence[Candidate]) -> str:
    rows = [
        [f"`{case.name}`", *(cell(audit[candidate.name, case.name]) for candidate in candidates)]
        for case in audit.cases
    ]
    return _table(["Case", *(f"`{candidate.name}`" for candidate in candidates)], rows)


def _cases(cases: Iterable[Case]) -> str:
    rows = []
    for case in cases:
        against = "the best possible" if case.baseline == case.name else f"`{case.baseline}`"
        rows.append([f"`{case.name}`", case.says, against, *(MARKS[case.truth.of(claim)] for claim in Claim)])
    return _table(["Case", "What it is", "Compared with", *(str(claim).capitalize() for claim in Claim)], rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
