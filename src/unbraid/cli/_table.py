"""Tables on a terminal, and plain ones in a pipe."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from unbraid.result import Report

PLAIN_WIDTH = 160


def print_rows(header: Sequence[str], rows: Sequence[Sequence[object]], *, wrap: Sequence[str] = ()) -> None:
    """Print a table to standard output, wide enough for a pipe to keep lines whole."""
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else PLAIN_WIDTH)
    table = Table(box=None if not terminal else Table().box, header_style="bold", pad_edge=False)
    for name in header:
        numeric = name in ("value", "null")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=name not in wrap, overflow="fold")
    for row in rows:
        table.add_row(*(_escape(str(cell)) for cell in row))
    console.print(table)


def print_report(report: Report) -> None:
    """Print scores with intervals and nulls, then failures."""
    rows: list[list[str]] = []
    for name, score in report.scores.items():
        interval = "" if score.low is None or score.high is None else f"[{score.low:.3f}, {score.high:.3f}]"
        null = "" if score.null is None else f"{score.null:.3f}"
        rows.append([name, f"{score.value:.3f}", interval, null])
    rows += [[name, "failed", reason, ""] for name, reason in report.failures.items()]
    print_rows(["metric", "value", "95 % interval", "null"], rows, wrap=("95 % interval",))


def _escape(text: str) -> str:
    """Keep square brackets from being read as markup."""
    return text.replace("[", "\\[")
