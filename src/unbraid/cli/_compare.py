"""``unbraid compare``."""

from collections import Counter
from collections.abc import Hashable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from cyclopts import Parameter

from unbraid._base.files import write_text
from unbraid._base.text import as_csv, listing, printable
from unbraid.cli._io import check_outputs, distinct_names, json_file, read_all, say
from unbraid.cli._table import has_nulls, marked, null_text, print_legend, print_rows, print_verdict
from unbraid.comparison.differences import Difference, difference_word
from unbraid.comparison.result import Comparison
from unbraid.comparison.result import compare as put_together
from unbraid.panel.saved import read_reports
from unbraid.representation.files import CODE_COLUMNS, load_codes
from unbraid.results.report import Report
from unbraid.similarity.table import SimilarityTable, similarities

#: Measures of similarity, unless told otherwise.
MEASURES = "cka,procrustes,cca,rsa"


def compare(
    *files: Path,
    against: str | None = None,
    similarity: bool = False,
    measures: str | None = None,
    untrained: Path | None = None,
    code_columns: str | None = None,
    seed: int | None = None,
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

        unbraid compare --similarity vae.npz flow.npz --measures cka,cca --report alike.html

    Parameters
    ----------
    files
        Two or more reports; a file may hold several. With --similarity, two or more files of codes.
    against
        Name of a representation in the table: compare the others with this one only. Fewer tests have more power.
    similarity
        Ask how alike representations of the same rows are, without labels, in place of which is better.
    measures
        With --similarity: which of cka, procrustes, cca, rsa and dictionaries; by default all but the last.
    untrained
        With --similarity: codes of the same rows from untrained weights, the chance level that counts for networks.
    code_columns
        With --similarity: the columns of a table that are codes, as names and shell patterns with commas between them.
    seed
        With --similarity: seed of the halves and shuffles behind intervals and chance.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    csv
        Write the differences as CSV.
    report
        Write a self-contained HTML page.
    """
    check_outputs(files if untrained is None else (*files, untrained), json, csv, report)
    if similarity:
        if against is not None:
            raise ValueError("against cannot be given with --similarity, which has no better and worse; leave it out.")
        columns = CODE_COLUMNS if code_columns is None else code_columns
        found = _similarities(files, MEASURES if measures is None else measures, untrained, columns, seed or 0)
        _print_similarity(found, json, csv, report)
        return
    options = {"measures": measures, "untrained": untrained, "code_columns": code_columns, "seed": seed}
    for name in (name for name, value in options.items() if value is not None):
        raise ValueError(f"{name} needs --similarity; reports are compared by their scores.")
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


def _similarities(
    files: tuple[Path, ...], measures: str, untrained: Path | None, code_columns: str, seed: int
) -> SimilarityTable:
    if len(files) < 2:
        raise ValueError(f"files must be two or more files of codes with --similarity, got {len(files)}.")
    every = files if untrained is None else (*files, untrained)
    names = [name.rpartition(".")[0] for name in distinct_names(every)]
    if len(set(names)) < len(names):
        names = distinct_names(every)
    codes = dict(zip(names, read_all(every, partial(load_codes, code_columns=code_columns)), strict=True))
    base = None if untrained is None else codes.pop(names[-1])
    return similarities(codes, measures=measures, untrained=base, seed=seed)


def _print_similarity(found: SimilarityTable, json: str | None, csv: Path | None, report: Path | None) -> None:
    """Print a row for each measure and pair, and write what was asked for."""
    if json == "-":
        print(found.to_json())
    else:
        rows = found.table()
        header = ["measure", "first", "second", "similarity", "95 % interval", "chance", "more than chance"]
        print_rows(header, [_similarity_cells(row) for row in rows.to_dict("records")])
        for note in dict.fromkeys(note for note in rows["note"] if note):
            print(f"\n{printable(note)}")
    if (path := json_file(json)) is not None:
        found.to_json(path)
        say(f"wrote {path}")
    for path, write in ((csv, found.to_csv), (report, found.to_html)):
        if path is not None:
            write(path)
            say(f"wrote {path}")


def _similarity_cells(row: dict[Hashable, Any]) -> list[str]:
    interval = f"[{row['low']:.3f}, {row['high']:.3f}]" if pd.notna(row["low"]) else ""
    chance = f"{row['chance']:.3f}" if pd.notna(row["chance"]) else ""
    verdict = {True: "yes", False: "no"}.get(row["beats_chance"], "")
    return [row["measure"], row["first"], row["second"], f"{row['value']:.3f}", interval, chance, verdict]


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
