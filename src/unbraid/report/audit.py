"""The page of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unbraid._base.text import count, listing, number, short
from unbraid.audit import Audit, Candidate, Case, CaseFinding, CaseVerdict
from unbraid.audit.result import FAILED, MARKS, known_reasons, reason
from unbraid.interpret.verdict import MEANING
from unbraid.metrics import METRICS, Property
from unbraid.report.shell import carried, fill

STYLES = {CaseVerdict.PASS: "pass", CaseVerdict.FAIL: "fail", CaseVerdict.OPEN: "open"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One metric on the score card."""

    name: str
    title: str
    question: str
    claims: tuple[str, ...]
    passed: int
    tested: int
    share: float
    n_failures: int
    failures: tuple[tuple[str, tuple[tuple[CaseFinding, str], ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingCell:
    """One finding in a matrix."""

    style: str
    text: str
    tip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTable:
    """Cases by metrics, for the metrics of one property."""

    about: str
    meaning: str
    metrics: tuple[str, ...]
    rows: tuple[tuple[Case, tuple[FindingCell, ...]], ...]


def render_audit(audit: Audit) -> str:
    """Return an audit as one HTML page that needs nothing else."""
    return fill("audit.html", audit_context(audit), "audit.css")


def audit_context(audit: Audit) -> dict[str, Any]:
    """Return everything the template shows, as plain data."""
    return {
        "meta": audit.meta,
        "heading": heading(audit),
        "facts": facts(audit),
        "lede": lede(audit),
        "cards": [make_card(audit, candidate) for candidate in audit.candidates],
        "reasons": known_reasons(audit.findings.values()),
        "matrices": matrices(audit),
        "cases": audit.cases,
        "marks": [(mark, f"should {should}") for should, mark in MARKS.items()],
        "data": carried(audit.to_json()),
    }


def heading(audit: Audit) -> str:
    """Return the question that the page answers."""
    if len(audit.candidates) == 1:
        return f"Does {audit.candidates[0].title} notice what it should?"
    return "Which metric notices what?"


def facts(audit: Audit) -> list[tuple[str, str]]:
    """Return what was audited and how, as label and text."""
    meta = audit.meta
    return [
        ("Metrics", f"{len(audit.candidates)}"),
        ("Cases", f"{len(audit.cases)}"),
        ("Rows", f"{meta['n_rows']:,}"),
        ("Seeds", f"{meta['n_seeds']}"),
        ("Processor time", f"{meta['cpu_seconds']:.0f} s"),
        ("Unbraid", f"{meta['unbraid']}"),
    ]


def lede(audit: Audit) -> str:
    """Say in a sentence or two how it went."""
    counts = {candidate.name: audit.count(candidate.name) for candidate in audit.candidates}
    passed, tested = (sum(values) for values in zip(*counts.values(), strict=True))
    text = f"{passed:,} of {count(tested, 'test')} passed."
    clean = [name for name, (good, all_of_them) in counts.items() if good == all_of_them]
    if len(audit.candidates) == 1:
        failed = [finding.case for finding in audit.failures(audit.candidates[0].name)]
        return text + (f" It failed in {listing(failed)}." if failed else " It behaved as it should in every case.")
    if clean:
        return text + f" Without a failure: {listing(clean)}."
    return text + " No metric behaved as it should in every case: read each metric with its failures in mind."


def make_card(audit: Audit, candidate: Candidate) -> Card:
    """Return one row of the score card."""
    passed, tested = audit.count(candidate.name)
    known = METRICS.get(candidate.name) if not audit.meta["own_metric"] else None
    failures = audit.failures(candidate.name)
    return Card(
        name=candidate.name,
        title=candidate.title,
        question=known.summary if known else "",
        claims=tuple(str(prop) for prop in candidate.measures),
        passed=passed,
        tested=tested,
        share=round(100 * passed / tested, 1) if tested else 0.0,
        n_failures=len(failures),
        failures=_by_reason(failures),
    )


def _by_reason(failures: list[CaseFinding]) -> tuple[tuple[str, tuple[tuple[CaseFinding, str], ...]], ...]:
    """Put failures with the same reason together; those without one come last."""
    by_reason: dict[str, list[tuple[CaseFinding, str]]] = {}
    for finding in failures:
        by_reason.setdefault(reason(finding), []).append((finding, did(finding)))
    ordered = sorted(by_reason.items(), key=lambda item: not item[0])
    return tuple((text, tuple(found)) for text, found in ordered)


def did(finding: CaseFinding) -> str:
    """Say what a metric did in a case, with numbers."""
    if finding.failure is not None:
        return f"{finding.behaviour}: {finding.failure}"
    if finding.value is None:
        return finding.behaviour
    before = "" if finding.baseline_value is None else f"{number(finding.baseline_value)} → "
    return f"{finding.behaviour} ({before}{number(finding.value)})"


def matrices(audit: Audit) -> list[CaseTable]:
    """Return cases by metrics, for each property that some metric is first of all about."""
    found = []
    for prop in Property:
        candidates = [candidate for candidate in audit.candidates if candidate.measures[0] is prop]
        if not candidates:
            continue
        rows = tuple(
            (case, tuple(finding_cell(audit[candidate.name, case.name]) for candidate in candidates))
            for case in audit.cases
        )
        names = tuple(candidate.name for candidate in candidates)
        found.append(CaseTable(about=str(prop), meaning=MEANING[prop], metrics=names, rows=rows))
    return found


def finding_cell(finding: CaseFinding) -> FindingCell:
    """Return one finding as mark and score, with the rest to point at."""
    value = "refused" if finding.value is None else short(finding.value)
    cross = f"{FAILED} " if finding.verdict is CaseVerdict.FAIL else ""
    tip = (
        f"{finding.metric} in {finding.case}: should {finding.should} ({', '.join(finding.because)}); {did(finding)}. "
    )
    return FindingCell(
        style=STYLES[finding.verdict],
        text=f"{cross}{MARKS[finding.should]} {value}",
        tip=tip + str(finding.verdict).capitalize() + ".",
    )
