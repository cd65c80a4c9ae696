"""Tables on a terminal, and plain ones in a pipe."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from unbraid._score import Score
from unbraid.comparison import Comparison
from unbraid.result import Report

PLAIN_WIDTH = 160


def print_rows(header: Sequence[str], rows: Sequence[Sequence[object]], *, wrap: Sequence[str] = ()) -> None:
    """Print a table to standard output, wide enough for a pipe to keep lines whole."""
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else _plain_width(header, rows, wrap))
    table = Table(box=None if not terminal else Table().box, header_style="bold", pad_edge=False)
    for name in header:
        numeric = name in ("value", "chance", "difference", "p (Holm)")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=name not in wrap, overflow="fold")
    for row in rows:
        table.add_row(*(_escape(str(cell)) for cell in row))
    console.print(table)


def print_report(report: Report) -> None:
    """Print scores with intervals and chance, then failures, then what was found and what the scores say together."""
    rows: list[list[str]] = []
    for name, score in report.scores.items():
        null = "" if score.null is None else f"{score.null:.3f}"
        rows.append([name, f"{score.value:.3f}", _interval(score), null])
    rows += [[name, "failed", reason, ""] for name, reason in report.failures.items()]
    print_rows(["metric", "value", "95 % interval", "chance"], rows, wrap=("95 % interval",))
    if report.findings:
        print("\n" + "\n".join(finding.says for finding in report.findings))
    for sentence in report.says:
        print(f"\n{sentence}")


def print_comparison(comparison: Comparison) -> None:
    """Print a column of values with intervals for each report, then failures, what each says, and which is better."""
    rows = [[metric, *(_cell(report, metric) for report in comparison.values())] for metric in comparison.metrics]
    print_rows(["metric", *comparison], rows)
    for name, report in comparison.items():
        for metric, reason in report.failures.items():
            print(f"\n{name}: {metric} failed: {reason}")
        for sentence in report.says:
            print(f"\n{name}: {sentence}")
    print_verdict(comparison)


def print_verdict(comparison: Comparison) -> None:
    """Print which is better, at what, and how sure that is."""
    print("".join(f"\n{sentence}" for sentence in comparison.verdict))


def _cell(report: Report, metric: str) -> str:
    if metric in report.scores:
        return f"{report.scores[metric].value:.3f} {_interval(report.scores[metric])}".rstrip()
    return "failed" if metric in report.failures else ""


def _interval(score: Score) -> str:
    return "" if score.low is None or score.high is None else f"[{score.low:.3f}, {score.high:.3f}]"


def _plain_width(header: Sequence[str], rows: Sequence[Sequence[object]], wrap: Sequence[str]) -> int:
    """Return the usual width, or more where the columns that must not wrap need it."""
    columns = zip(header, *rows, strict=True)
    needed = sum(max(len(str(cell)) for cell in column) + 2 for column in columns if column[0] not in wrap)
    return max(PLAIN_WIDTH, needed)


def _escape(text: str) -> str:
    """Keep square brackets from being read as markup."""
    return text.replace("[", "\\[")
