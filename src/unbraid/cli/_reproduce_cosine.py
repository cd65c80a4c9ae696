"""``unbraid reproduce dependent-cosine``."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unbraid.cli._io import check_writable, json_file
from unbraid.cli._reproduce_report import write_report
from unbraid.cli._table import print_rows
from unbraid.evidence.cross_prediction import Predictions
from unbraid.evidence.regressors import Scaling
from unbraid.reproduce import CosineTables, dependent_cosine


def run_dependent_cosine(
    *,
    tables: str = "2,3,4,10,11",
    samples: int = 10_000,
    scaling: Scaling = "range",
    predictions: Predictions = "cross_fitted",
    seed: int = 0,
    report: Path | None = None,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
) -> None:
    """Reproduce Tables 2, 3, 4, 10 and 11 of the paper on dependent factors (arXiv:2408.07016).

    Codes are cosines of three factors. In scenarios that end in I the factors are independent, in those that end in D
    the third is the mean of the others. A trustworthy metric gives the same for Cos1I and Cos1D, where every code is
    one factor. Each cell shows ours and, in brackets, the paper's.

    Examples:
        unbraid reproduce dependent-cosine --tables 2 --samples 2000

        unbraid reproduce dependent-cosine --scaling spread --json cosine.json

    Parameters
    ----------
    tables
        Tables to run: 2 modularity, 3 compactness, 4 explicitness, 10 and 11 single codes with nuisances.
    samples
        Rows of each scenario.
    scaling
        `range` as in the paper, or `spread`, the default of the metrics.
    predictions
        `cross_fitted`, `held_out` or `in_sample`.
    seed
        Same seed, same numbers.
    report
        Write ours beside the paper's, and which numbers agree, as one HTML page.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    """
    target = json_file(json)
    for argument, path in (("json", target), ("report", report)):
        if path is not None:
            check_writable(argument, path)
    found = dependent_cosine(_numbers(tables), n_samples=samples, scaling=scaling, predictions=predictions, seed=seed)
    if json == "-":
        print(found.to_json())
    else:
        _print(found)
    if target is not None:
        found.to_json(target)
        print(f"wrote {target}", file=sys.stderr)
    if report is not None:
        print(f"wrote {write_report('dependent-cosine', found, report)}", file=sys.stderr)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"tables must be numbers separated by commas, got {text!r}.") from None


def _print(found: CosineTables) -> None:
    for table in dict.fromkeys(result.line.table for result in found.results):
        rows = [result for result in found.results if result.line.table == table]
        header = [f"Table {table}", "ours is", *rows[0].line.scenarios, "worst"]
        print_rows(
            header,
            [
                [
                    result.line.label,
                    result.line.metric,
                    *(f"{o:.3f} ({p:.3f})" for o, p in zip(result.ours, result.line.published, strict=True)),
                    f"{result.worst:.3f}",
                ]
                for result in rows
            ],
        )
        print()
    print("settings: " + ", ".join(f"{name}={value}" for name, value in _flat(found)))


def _flat(found: CosineTables) -> list[tuple[str, object]]:
    own = found.settings["dependent"]
    return [(name, value) for name, value in found.settings.items() if name != "dependent"] + list(own.items())
