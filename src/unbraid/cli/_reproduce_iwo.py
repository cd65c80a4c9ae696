"""``unbraid reproduce iwo-table1``."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unbraid.cli._io import check_writable, json_file
from unbraid.cli._reproduce_report import write_report
from unbraid.cli._table import print_rows
from unbraid.evidence.subspaces.options import Solver, Weights
from unbraid.reproduce import IWO_TABLE1, RowResult, Table1, iwo_table1


def run_iwo_table1(
    *,
    rows: str | None = None,
    seeds: int = 4,
    weights: Weights = "explained",
    solver: Solver = "fast",
    dci: bool = False,
    report: Path | None = None,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
) -> None:
    """Reproduce Table 1 of Measuring Orthogonality (arXiv:2407.03728): 22 synthetic representations.

    Codes are Gaussian; each of five factors is a function of R of the L codes, so the right IWO (how orthogonal
    the factors' subspaces are) and IWR (how few axes a factor needs) follow on paper. Each row is drawn afresh for
    every seed. The table shows our mean and standard deviation over seeds, the paper's value and the truth; under it
    stand the mean absolute errors of ours and of the paper, and the worst rows.

    Examples:
        unbraid reproduce iwo-table1 --rows 1-4 --seeds 1

        unbraid reproduce iwo-table1 --weights spread --json table1.json

        unbraid reproduce iwo-table1 --rows 3,4 --dci

    Parameters
    ----------
    rows
        Rows to run, such as `1,3-5`; all 22 by default. The dear ones are the last: 250 codes.
    seeds
        Runs of each row, with seeds 0, 1, ...
    weights
        Importance of an axis: the share of the loss it removes (`explained`, Eq. 2), or that with what stays
        unexplained spread over all axes (`spread`, Eq. 3).
    solver
        `fast`, or `nested` for the published networks (needs torch).
    dci
        Add D, C and I, by gradient-boosted trees, beside the paper's.
    report
        Write ours beside the paper's, and which numbers agree, as one HTML page.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    """
    target = json_file(json)
    for argument, path in (("json", target), ("report", report)):
        if path is not None:
            check_writable(argument, path)
    numbers = range(1, len(IWO_TABLE1) + 1) if rows is None else _row_numbers(rows)
    table = iwo_table1(numbers, n_seeds=seeds, weights=weights, solver=solver, dci=dci)
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
        print(f"wrote {write_report('iwo-table1', table, report)}", file=sys.stderr)


def _row_numbers(text: str) -> Iterator[int]:
    """Read ``1,3-5``."""
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if match is None:
            raise ValueError(f"rows must be numbers and ranges such as 1,3-5, got {part.strip()!r}.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"rows must have ranges from low to high, got {part.strip()!r}.")
        yield from range(first, last + 1)


def _print_table(table: Table1) -> None:
    header = ["row", "L", "R", "f", "ROP", "IWO", "paper", "truth", "IWR", "paper", "truth"]
    if table.dci:
        header += ["D (paper)", "C (paper)", "I (paper)", "E (paper)"]
    print_rows(header, [_cells(result, dci=table.dci) for result in table.results])
    print()
    errors = [_error_cells(table, score, paper=paper) for score in ("iwo", "iwr") for paper in (False, True)]
    print_rows(["error against the truth", "mean", "worst", "in row"], errors)


def _error_cells(table: Table1, score: str, *, paper: bool) -> list[str]:
    errors = table.errors(score, paper=paper)
    label = f"{score.upper()}, {'paper' if paper else 'ours'}"
    return [label, f"{errors.mean_absolute_error:.4f}", f"{errors.worst_error:.4f}", str(errors.worst_row)]


def _cells(result: RowResult, *, dci: bool) -> list[str]:
    row = result.row
    cells = [str(row.number), str(row.n_codes), str(row.rank), row.mapping, "yes" if row.rotate else "no"]
    for score in ("iwo", "iwr"):
        cells += [_ours(result, score), f"{row.published[score]:.2f}", f"{row.truth[score]:.3f}"]
    if dci:
        for score in ("disentanglement", "completeness", "informativeness", "explicitness"):
            mean = result.mean(score)
            cells.append(f"{'' if mean is None else f'{mean:.2f}':4} ({row.published[score]:.2f})")
    return cells


def _ours(result: RowResult, score: str) -> str:
    spread = result.spread(score)
    return f"{result.mean(score):.3f}" + ("" if spread is None else f" ± {spread:.3f}")
