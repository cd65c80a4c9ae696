"""What the audit returns: a finding for every metric and case, as a table, JSON, Markdown or a page."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._files import write_text
from unbraid._version import __version__
from unbraid.audit._candidate import Candidate
from unbraid.audit._cases import Case
from unbraid.audit._judge import Finding, Verdict
from unbraid.audit._reasons import reason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audit:
    """Findings by metric and case.

    Attributes:
        candidates: What was audited, with what each claims.
        cases: The cases it was tried on.
        findings: By name of candidate and name of case.
        meta: How it was run: seeds, rows, versions, processor seconds.
    """

    candidates: tuple[Candidate, ...]
    cases: tuple[Case, ...]
    findings: Mapping[tuple[str, str], Finding]
    meta: Mapping[str, Any]

    def __getitem__(self, key: tuple[str, str]) -> Finding:
        return self.findings[key]

    def of(self, metric: str) -> list[Finding]:
        """Return the findings of one metric, in the order of the cases."""
        return [self.findings[metric, case.name] for case in self.cases]

    def count(self, metric: str) -> tuple[int, int]:
        """Return how many cases a metric passed, and how many it was judged in."""
        judged = [finding.verdict for finding in self.of(metric) if finding.verdict is not Verdict.OPEN]
        return judged.count(Verdict.PASS), len(judged)

    def failures(self, metric: str) -> list[Finding]:
        """Return the findings in which a metric failed."""
        return [finding for finding in self.of(metric) if finding.verdict is Verdict.FAIL]

    def table(self) -> pd.DataFrame:
        """One row for each metric and case: what it should do, what it did, and the verdict."""
        columns = ["metric", "case", "should", "baseline_value", "value", "verdict", "says", "failure"]
        rows = [{column: getattr(finding, column) for column in columns} for finding in self.findings.values()]
        frame = pd.DataFrame(rows, columns=columns).set_index(["metric", "case"])
        return frame.assign(should=frame["should"].astype(str), verdict=frame["verdict"].astype(str))

    def summary(self) -> pd.DataFrame:
        """One row for each metric: cases passed, cases judged, and where it failed."""
        rows = []
        for candidate in self.candidates:
            passed, judged = self.count(candidate.name)
            failed = ", ".join(finding.case for finding in self.failures(candidate.name))
            rows.append({"metric": candidate.name, "passed": passed, "judged": judged, "failed": failed})
        return pd.DataFrame(rows, columns=["metric", "passed", "judged", "failed"]).set_index("metric")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "metrics": {candidate.name: self._metric_dict(candidate) for candidate in self.candidates},
            "cases": {
                case.name: {"says": case.says, "baseline": case.baseline, "rows": case.structure.most_rows}
                for case in self.cases
            },
            "findings": [
                {**asdict(finding), "reason": reason(finding.metric, finding.case) or None}
                for finding in self.findings.values()
            ],
            "meta": dict(self.meta),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the audit as JSON, and write it to ``path`` if given. An infinite number becomes text."""
        text = json.dumps(_plain(self.to_dict()), indent=2, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return the tables as Markdown; write them to ``path`` if given, between its marks where it has them."""
        from unbraid.audit._markdown import insert_tables, tables

        text = tables(self)
        if path is not None:
            write_text(path, insert_tables(Path(path), text))
        return text

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page."""
        from unbraid.report import render_audit

        return write_text(path, render_audit(self))

    def __repr__(self) -> str:
        return self.summary().to_string()

    def _metric_dict(self, candidate: Candidate) -> dict[str, Any]:
        passed, judged = self.count(candidate.name)
        return {
            "title": candidate.title,
            "measures": [str(prop) for prop in candidate.measures],
            "bounds": list(candidate.bounds),
            "higher_is_better": candidate.higher_is_better,
            "invariant_to": sorted(str(change) for change in candidate.invariant_to),
            "min_factors": candidate.min_factors,
            "passed": passed,
            "judged": judged,
        }


def describe_run(*, n_seeds: int, n_rows: int, seed: int, cpu_seconds: float, own: bool) -> dict[str, Any]:
    """Return how an audit was run, as plain data."""
    return {
        "unbraid": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "n_seeds": n_seeds,
        "n_rows": n_rows,
        "seed": seed,
        "cpu_seconds": round(cpu_seconds, 1),
        "own_metric": own,
    }


def _plain(value: Any) -> Any:
    """Replace what JSON has no word for."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
