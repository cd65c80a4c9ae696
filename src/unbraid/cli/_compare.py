"""``unbraid compare``."""

from collections import Counter
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unbraid._base.files import write_text
from unbraid._base.text import as_csv, listing
from unbraid.cli._io import check_outputs, distinct_names, json_file, say
from unbraid.cli._table import has_nulls, marked, null_text, print_legend, print_rows, print_verdict
from unbraid.comparison.differences import Difference, difference_word
from unbraid.comparison.result import Comparison
from unbraid.comparison.result import compare as put_together
from unbraid.panel.saved import read_reports
from unbraid.results.report import Report


def compare(
    *files: Path,
    against: str | None = None,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    csv: Path | None = None,
    report: Path | None = None,
) -> None:
    """Compare representations that were scored before: which is better, in which property, and is the difference sure?

    FILES are what `unbraid score FILE --json OUT` wrote. Where the rows of two representations are the same (the same
    factors in the same order, the same seed and options), each difference is paired: both representations are
    scored on the same resampled rows, and variation common to both cancels. p-values are corrected for the number of
    tests (Holm).

    Examples:
        unbraid score vae.npz --json vae.json

        unbraid score flow.npz --json flow.json

        unbraid compare vae.json flow.json

        unbraid compare reports/*.json --against vae --report compared.html

    Parameters
    ----------
    files
        Two or more reports; a file may hold several.
    against
        Name of a representation in the table: compare the others with this one only. Fewer tests have more power.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    csv
        Write the differences as CSV.
    report
        Write a self-contained HTML page.
    """
    check_outputs(files, json, csv, report)
    compared = put_together(_read(files), against=against)
    if not compared.differences:
        raise ValueError(f"files must share a score, got {_scores_of(compared)}; score all with the same --metrics.")
    if json == "-":
        print(compared.to_json())
    else:
        print_differences(compared)
    _write(compared, json, csv, report)


def print_differences(compared: Comparison) -> None:
    """Print a row for each pair and score, then the verdict."""
    nulls = has_nulls(compared.values())
    values = ["first", "chance", "second", "chance"] if nulls else ["first", "second"]
    header = ["metric", *values, "difference", "95 % interval", "p (Holm)", "better", "sure"]
    print_rows(header, [_row(compared, item, nulls=nulls) for item in compared.differences])
    print_legend((item.metric for item in compared.differences), nulls=nulls)
    print_verdict(compared)


def _row(compared: Comparison, item: Difference, *, nulls: bool) -> list[str]:
    values = []
    for name in (item.first, item.second):
        score = compared[name][item.metric]
        values += [f"{name} {score.value:.3f}", *([null_text(score)] if nulls else [])]
    interval = "" if item.low is None or item.high is None else f"[{item.low:+.3f}, {item.high:+.3f}]"
    p = "" if item.adjusted is None else f"{item.adjusted:.3g}" if item.adjusted >= 1e-4 else "<0.0001"
    better, word = ("equal", "") if item.equal else (item.better or "", difference_word(item))
    return [marked(item.metric), *values, f"{item.value:+.3f}", interval, p, better, word]


def _scores_of(compared: Comparison) -> str:
    return " and ".join(f"{listing(list(report), 3) or 'none'} in {name}" for name, report in compared.items())


def _read(files: tuple[Path, ...]) -> dict[str, Report]:
    """Read every file; a lone report is called after its file, and several of one file by the names they have there."""
    if not files:
        raise ValueError("files must be two or more reports, got none; make them with `unbraid score FILE --json OUT`.")
    found: list[tuple[str, Report]] = []
    for name, file in zip(distinct_names(files), files, strict=True):
        reports = read_reports(file)
        stem = name.removesuffix(file.suffix)
        found += [(stem if len(reports) == 1 else inner, report) for inner, report in reports.items()]
    if len(found) < 2:
        raise ValueError(f"files must hold two or more reports, got one ({files[0]}); score another and give both.")
    twice = [name for name, n in Counter(name for name, _ in found).items() if n > 1]
    if twice:
        raise ValueError(f"files must hold reports of different names, got {twice[0]!r} more than once; rename a file.")
    return dict(found)


def _write(compared: Comparison, json: str | None, csv: Path | None, report: Path | None) -> None:
    if (path := json_file(json)) is not None:
        compared.to_json(path)
        say(f"wrote {path}")
    if csv is not None:
        write_text(csv, as_csv(compared.differences_table(), index=True))
        say(f"wrote {csv}")
    if report is not None:
        compared.to_html(report)
        say(f"wrote {report}")
