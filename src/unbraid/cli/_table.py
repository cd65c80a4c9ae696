"""Tables on a terminal, and plain ones in a pipe."""

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from unbraid._base.text import printable
from unbraid.comparison.result import Comparison
from unbraid.interpret.summary import opening
from unbraid.metrics import METRICS
from unbraid.results.report import Report
from unbraid.results.score import Score

PLAIN_WIDTH = 160
#: Marks a score of which less is better.
LOWER = "↓"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command, which ends quietly."""
        raise BrokenPipeError


def print_rows(header: Sequence[str], rows: Sequence[Sequence[object]], *, wrap: Sequence[str] = ()) -> None:
    """Print a table to standard output, wide enough for a pipe to keep lines whole."""
    header, cells = [printable(name) for name in header], [[printable(str(cell)) for cell in row] for row in rows]
    terminal = sys.stdout.isatty()
    console = _Console(width=None if terminal else _plain_width(header, cells, wrap))
    table = Table(box=None if not terminal else Table().box, header_style="bold", pad_edge=False)
    for name in header:
        numeric = name in ("value", "chance", "standing", "difference", "p (Holm)")
        table.add_column(
            _escape(name), justify="right" if numeric else "left", no_wrap=name not in wrap, overflow="fold"
        )
    for row in cells:
        table.add_row(*map(_escape, row))
    console.print(table)


def print_report(report: Report) -> None:
    """Print scores with intervals and chance, then failures, then the words that the page opens with, and findings."""
    rows = [
        [marked(name), f"{score.value:.3f}", _interval(score), null_text(score), _standing(score)]
        for name, score in report.scores.items()
    ]
    rows += [[name, "failed", reason, "", ""] for name, reason in report.failures.items()]
    print_rows(["metric", "value", "95 % interval", "chance", "standing"], rows, wrap=("95 % interval",))
    print_legend(report.scores, nulls=has_nulls([report]), standing=True)
    if verdict := opening(report).verdict:
        print(f"\n{printable(verdict)}")
    if report.findings:
        print("\n" + "\n".join(f"- {printable(finding.sentence)}" for finding in report.findings))
    for sentence in report.sentences:
        print(f"\n{printable(sentence)}")


def print_comparison(comparison: Comparison) -> None:
    """Print values, intervals and chance of each report, then failures, sentences, and which report is better."""
    nulls = has_nulls(comparison.values())
    header = ["metric", *(part for name in comparison for part in ([name, "chance"] if nulls else [name]))]
    rows = [
        [marked(metric), *(part for report in comparison.values() for part in _cells(report, metric, nulls=nulls))]
        for metric in comparison.metrics
    ]
    print_rows(header, rows)
    print_legend(comparison.metrics, nulls=nulls)
    for name, report in comparison.items():
        for metric, reason in report.failures.items():
            print(f"\n{printable(f'{name}: {metric} failed: {reason}')}")
        for sentence in report.sentences:
            print(f"\n{printable(f'{name}: {sentence}')}")
    print_verdict(comparison)


def print_verdict(comparison: Comparison) -> None:
    """Print which is better, at what, and how sure that is."""
    print("".join(f"\n{printable(sentence)}" for sentence in comparison.verdict))


def marked(metric: str) -> str:
    """Return the name of a metric, with a sign where lower is better."""
    return metric if METRICS[metric].higher_is_better else f"{metric} {LOWER}"


def print_legend(metrics: Iterable[str], *, nulls: bool, standing: bool = False) -> None:
    """Explain the sign of :func:`marked`, where there is one, and of chance levels, where there are some."""
    lines = []
    if any(not METRICS[metric].higher_is_better for metric in metrics):
        lines.append(f"{LOWER}: lower is better; for all others, higher.")
    if nulls:
        lines.append("chance: the score of the same codes with shuffled factors; without labels, with shuffled codes.")
    if nulls and standing:
        lines.append("standing: from 0, the chance level, to 1, the best that perfect codes attain.")
    if lines:
        print("\n" + "\n".join(lines))


def has_nulls(reports: Iterable[Report]) -> bool:
    """Tell whether any score has a chance level."""
    return any(score.null is not None for report in reports for score in report.scores.values())


def null_text(score: Score) -> str:
    """Return the chance level, or nothing where it was not computed."""
    return "" if score.null is None else f"{score.null:.3f}"


def _standing(score: Score) -> str:
    return "" if score.standing is None else f"{score.standing:.2f}"


def _cells(report: Report, metric: str, *, nulls: bool) -> list[str]:
    score = report.scores.get(metric)
    if score is None:
        text, null = "failed" if metric in report.failures else "", ""
    else:
        text, null = f"{score.value:.3f} {_interval(score)}".rstrip(), null_text(score)
    return [text, null] if nulls else [text]


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
