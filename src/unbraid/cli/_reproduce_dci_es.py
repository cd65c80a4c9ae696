"""``unbraid reproduce dci-es-table1``."""

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from unbraid.cli._io import check_writable, json_file
from unbraid.cli._reproduce_report import write_report
from unbraid.cli._table import print_rows
from unbraid.reproduce import REPRODUCTIONS
from unbraid.reproduce.dci_es import SCORES, TITLES, WITHIN, ESTable, ProbeResult, dci_es_table1


def run_dci_es_table1(
    *,
    codes: str = "labels,noisy,mix",
    probes: str = "mlp,forest",
    rows: str = "20000",
    seeds: int = 3,
    trees: int = 100,
    quick: bool = False,
    figure: Path | None = None,
    report: Path | None = None,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
) -> None:
    """Reproduce the rows of Table 1 of DCI-ES (arXiv:2210.00364) that need no images.

    Codes are made from the labels of MPI3D's grid of seven factors: the labels themselves, labels with noise, and a
    mix of all labels that a matrix undoes. Networks of growing width and forests of growing depth read the factors
    back. The table shows our mean and deviation over seeds beside the paper's value; under it stands what a perfect
    probe would score, and where we are more than 0.03 from the paper.

    Examples:
        unbraid reproduce dci-es-table1 --quick --figure curves.html

        unbraid reproduce dci-es-table1 --probes forest --codes mix --rows 5000,20000,80000 --seeds 1

    Parameters
    ----------
    codes
        Comma-separated representations: labels, noisy, mix.
    probes
        Comma-separated ladders: mlp (needs torch), forest.
    rows
        Comma-separated numbers of rows of the grid; several show whether the scores have settled. The paper fits on
        295,000 of 1,036,800 rows, we on 60 % of these.
    seeds
        Runs of each row, with seeds 0, 1, ...; rows, noise and mixing matrix are drawn afresh.
    trees
        Trees of each forest.
    quick
        One seed, 3000 rows, narrow networks and 30 trees: about a minute.
    figure
        Write the loss–capacity curves, as in the paper's Fig. 1, as one HTML page.
    report
        Write ours beside the paper's, and which numbers agree, as one HTML page.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    """
    target = json_file(json)
    for argument, path in (("json", target), ("figure", figure), ("report", report)):
        if path is not None:
            check_writable(argument, path)
    asked: dict[str, Any] = {"n_samples": _numbers(rows), "n_seeds": seeds, "n_trees": trees}
    options = REPRODUCTIONS["dci-es-table1"].quick if quick else asked
    table = dci_es_table1(codes=_parts(codes), probes=_parts(probes), **options)
    if json == "-":
        print(table.to_json())
    else:
        _print_table(table)
    for note in table.notes:
        print(f"note: {note}", file=sys.stderr)
    if target is not None:
        table.to_json(target)
        print(f"wrote {target}", file=sys.stderr)
    if report is not None:
        print(f"wrote {write_report('dci-es-table1', table, report)}", file=sys.stderr)
    if figure is not None:
        print(f"wrote {table.to_html(figure)}", file=sys.stderr)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[int]:
    """Read ``5000,20000``."""
    found = []
    for part in _parts(text):
        if not part.isdigit():
            raise ValueError(f"rows must be whole numbers separated by commas, got {part!r}.")
        found.append(int(part))
    if not found:
        raise ValueError("rows must hold at least one number, got none.")
    return found


def _print_table(table: ESTable) -> None:
    header = ["representation", "probe", "rows", *(f"{score[0].upper()} (paper)" for score in SCORES)]
    print_rows(header, [_cells(result) for result in table.results])
    print()
    oracle = {result.row.codes: result.row.oracle for result in table.results}
    cells = [[TITLES[codes], *(f"{truth[score]:.3g}" for score in SCORES)] for codes, truth in oracle.items()]
    print_rows(["best possible", *(score[0].upper() for score in SCORES)], cells)
    far = [text for result in table.results for text in _far(result)]
    if far:
        print()
        print_rows(["further than 0.03 from the paper", "ours", "paper"], far)


def _cells(result: ProbeResult) -> list[str]:
    cells = [TITLES[result.row.codes], result.row.probes, f"{result.n_samples:,}"]
    for score in SCORES:
        spread, paper = result.spread(score), result.row.published.get(score)
        ours = f"{result.mean(score):.3f}" + ("" if spread is None else f" ± {spread:.3f}")
        cells.append(ours + ("" if paper is None else f" ({paper:.2f})"))
    return cells


def _far(result: ProbeResult) -> list[list[str]]:
    return [
        [f"{score} of {result.row.title}, {result.n_samples:,} rows", f"{result.mean(score):.3f}", f"{paper:.2f}"]
        for score, paper in result.row.published.items()
        if abs(result.mean(score) - paper) > WITHIN
    ]
