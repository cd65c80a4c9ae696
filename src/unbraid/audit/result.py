"""Result of an audit: tables, JSON, Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from unbraid._base.files import write_text
from unbraid._base.pages import page_of
from unbraid._base.record import JsonResult, versions, write_json
from unbraid.audit.candidate import Candidate, from_catalogue
from unbraid.audit.cases import CASES, Case
from unbraid.audit.truth import Claim, Should
from unbraid.audit.verdicts import CaseFinding, CaseVerdict
from unbraid.metrics import METRICS, KnownFailure, Property


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audit(JsonResult):
    """Findings by metric and case.

    Attributes:
        candidates: Audited scores, with their claims.
        cases: The cases it was tried on.
        findings: By name of candidate and name of case.
        meta: How it was run: seeds, rows, versions, processor seconds.
    """

    candidates: tuple[Candidate, ...]
    cases: tuple[Case, ...]
    findings: Mapping[tuple[str, str], CaseFinding]
    meta: Mapping[str, Any]

    def __getitem__(self, key: tuple[str, str]) -> CaseFinding:
        return self.findings[key]

    def of(self, metric: str) -> list[CaseFinding]:
        """Return the findings of one metric, in the order of the cases."""
        return [self.findings[metric, case.name] for case in self.cases]

    def count(self, metric: str) -> tuple[int, int]:
        """Return how many cases a metric passed, and how many have a verdict."""
        decided = [finding.verdict for finding in self.of(metric) if finding.verdict is not CaseVerdict.OPEN]
        return decided.count(CaseVerdict.PASS), len(decided)

    def failures(self, metric: str) -> list[CaseFinding]:
        """Return the findings in which a metric failed."""
        return [finding for finding in self.of(metric) if finding.verdict is CaseVerdict.FAIL]

    def table(self) -> pd.DataFrame:
        """One row for each metric and case: what it should do, what it did, and the verdict."""
        columns = ["metric", "case", "should", "baseline_value", "value", "verdict", "behaviour", "failure"]
        rows = [{column: getattr(finding, column) for column in columns} for finding in self.findings.values()]
        frame = pd.DataFrame(rows, columns=columns).set_index(["metric", "case"])
        return frame.assign(should=frame["should"].astype(str), verdict=frame["verdict"].astype(str))

    def summary(self) -> pd.DataFrame:
        """One row for each metric: cases passed, cases with a verdict, and where it failed."""
        rows = []
        for candidate in self.candidates:
            passed, with_verdict = self.count(candidate.name)
            failed = ", ".join(finding.case for finding in self.failures(candidate.name))
            rows.append({"metric": candidate.name, "passed": passed, "with_verdict": with_verdict, "failed": failed})
        return pd.DataFrame(rows, columns=["metric", "passed", "with_verdict", "failed"]).set_index("metric")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "metrics": {candidate.name: self._metric_dict(candidate) for candidate in self.candidates},
            "cases": {
                case.name: {
                    "description": case.description,
                    "baseline": case.baseline,
                    "rows": case.structure.most_rows,
                }
                for case in self.cases
            },
            "findings": [{**asdict(finding), "reason": reason(finding) or None} for finding in self.findings.values()],
            "meta": dict(self.meta),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the audit as JSON, and write it to ``path`` if given. An infinite number becomes text."""
        return write_json(self.to_dict(), path, infinite=str)

    def to_markdown(self, path: str | Path | None = None, *, keep: bool = False) -> str:
        """Return the tables as Markdown; write them to ``path`` if given, between its marks where it has them.

        Args:
            path: File to write to.
            keep: Keep the cells of metrics and cases that the tables in the file have and this audit has not.
        """
        earlier = read_cells(Path(path).read_text(encoding="utf-8")) if keep and path is not None else {}
        text = tables(with_earlier(self, earlier) if earlier else self)
        if path is not None:
            write_text(path, insert_tables(Path(path), text))
        return text

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page."""
        return write_text(path, page_of(self))

    def __repr__(self) -> str:
        return self.summary().to_string()

    def _metric_dict(self, candidate: Candidate) -> dict[str, Any]:
        passed, with_verdict = self.count(candidate.name)
        return {
            "title": candidate.title,
            "measures": [str(prop) for prop in candidate.measures],
            "bounds": list(candidate.bounds),
            "higher_is_better": candidate.higher_is_better,
            "invariant_to": sorted(str(change) for change in candidate.invariant_to),
            "min_factors": candidate.min_factors,
            "passed": passed,
            "with_verdict": with_verdict,
        }


def reason(finding: CaseFinding) -> str:
    """Return why a metric fails in a case, where its row gives a reason; a user's own metric has no row."""
    metric = METRICS.get(finding.metric)
    return "" if metric is None else metric.why_it_fails(finding.case)


def known_reasons(findings: Iterable[CaseFinding]) -> list[tuple[KnownFailure, list[str], list[str]]]:
    """Return the known reasons for failures, each with the metrics and cases that it explains, in the table's order."""
    found: dict[KnownFailure, list[CaseFinding]] = {}
    for finding in findings:
        if finding.verdict is CaseVerdict.FAIL and finding.metric in METRICS:
            for failure in METRICS[finding.metric].known_failures:
                if failure.covers(finding.case):
                    found.setdefault(failure, []).append(finding)
    return [
        (failure, list(dict.fromkeys(one.metric for one in hits)), list(dict.fromkeys(one.case for one in hits)))
        for failure, hits in found.items()
    ]


def describe_run(*, n_seeds: int, n_rows: int, seed: int, cpu_seconds: float, own: bool) -> dict[str, Any]:
    """Return how an audit was run, as plain data."""
    return {
        **versions(),
        "n_seeds": n_seeds,
        "n_rows": n_rows,
        "seed": seed,
        "cpu_seconds": round(cpu_seconds, 1),
        "own_metric": own,
    }


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


def read_cells(page: str) -> dict[tuple[str, str], CaseFinding]:
    """Return the findings that the tables of a page show, by metric and case; only what is shown is known of them."""
    found: dict[tuple[str, str], CaseFinding] = {}
    metrics: list[str] = []
    for line in page.partition(BEGIN)[2].partition(END)[0].splitlines():
        cells = [part.strip() for part in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            metrics = []
        elif cells[0] == "Case" and not cells[1].startswith("What"):
            metrics = [part.strip("` ") for part in cells[1:]]
        elif metrics and cells[0].startswith("`"):
            case = cells[0].strip("`")
            found |= {(name, case): _read_cell(name, case, text) for name, text in zip(metrics, cells[1:], strict=True)}
    return found


def _read_cell(metric: str, case: str, text: str) -> CaseFinding:
    """Return the finding that :func:`cell` wrote."""
    *failed, mark, value = text.strip("*").split()
    should = next(option for option, sign in MARKS.items() if sign == mark)
    verdict = CaseVerdict.FAIL if failed else CaseVerdict.OPEN if should is Should.FREE else CaseVerdict.PASS
    number = None if value == "refused" else float(value.replace("∞", "inf"))
    baseline = CASES[case].baseline if case in CASES else case
    return CaseFinding(
        metric=metric, case=case, baseline=baseline, should=should, because=(), verdict=verdict, value=number
    )


def with_earlier(audit: Audit, earlier: Mapping[tuple[str, str], CaseFinding]) -> Audit:
    """Add earlier findings to an audit: the metrics of the catalogue that have a finding in every case."""
    findings = {**earlier, **audit.findings}
    known = {one.name: one for group in from_catalogue("all") for one in group.candidates}
    candidates = tuple(known[name] for name in METRICS if all((name, case) in findings for case in CASES))
    shown = {(one.name, case): findings[one.name, case] for one in candidates for case in CASES}
    n_kept = len(shown) - len(shown.keys() & audit.findings.keys())
    return Audit(
        candidates=candidates, cases=tuple(CASES.values()), findings=shown, meta={**audit.meta, "n_kept": n_kept}
    )


def cell(finding: CaseFinding) -> str:
    """Write one finding: what it should do, the score, and a cross where it failed."""
    value = "refused" if finding.value is None else _number(finding.value)
    text = f"{MARKS[finding.should]} {value}"
    return f"**{FAILED} {text}**" if finding.verdict is CaseVerdict.FAIL else text


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00").replace("inf", "∞")


def _made_by(audit: Audit) -> str:
    meta = audit.meta
    kept = f" {meta['n_kept']:,} cells are kept from earlier runs." if meta.get("n_kept") else ""
    return (
        f"Made by `unbraid audit --markdown`, version {meta['unbraid']}: {len(audit.candidates)} metrics, "
        f"{len(audit.cases)} cases, {meta['n_rows']:,} rows, {meta['n_seeds']} seeds from {meta['seed']}; "
        f"{meta['cpu_seconds']:.0f} s of processor time.{kept}"
    )


def _score_card(audit: Audit) -> str:
    rows = []
    for candidate in audit.candidates:
        passed, with_verdict = audit.count(candidate.name)
        failed = [f"`{finding.case}`" for finding in audit.failures(candidate.name)]
        claims = ", ".join(str(prop) for prop in candidate.measures)
        rows.append([f"`{candidate.name}`", claims, f"{passed} of {with_verdict}", ", ".join(failed) or "nowhere"])
    return _table(["Metric", "Claims", "Passed", "Fails in"], rows)


def _why(audit: Audit) -> str:
    if not any(finding.verdict is CaseVerdict.FAIL for finding in audit.findings.values()):
        return "They do not."
    rows = [
        [item.sentence, item.source, ", ".join(f"`{m}`" for m in metrics), ", ".join(f"`{c}`" for c in cases)]
        for item, metrics, cases in known_reasons(audit.findings.values())
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
        rows.append([f"`{case.name}`", case.description, against, *(MARKS[case.truth.of(claim)] for claim in Claim)])
    return _table(["Case", "What it is", "Compared with", *(str(claim).capitalize() for claim in Claim)], rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
