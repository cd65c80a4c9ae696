"""``unbraid reproduce thesis-study`` and ``iwo-study``."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from unbraid.cli._outputs import check_writable, json_file
from unbraid.cli._table import print_rows
from unbraid.reproduce import iwo_study, thesis_study
from unbraid.reproduce._studies import EngineName, Scale

if TYPE_CHECKING:
    from unbraid.reproduce._study_result import StudyTables

#: Scores beyond which each has a line instead of a column.
MOST_COLUMNS = 6
Json = Annotated[str | None, Parameter(allow_leading_hyphen=True)]


def run_thesis_study(
    *,
    scale: Scale = "mini",
    store: str | None = None,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    data: Path | None = None,
    yes: bool = False,
    json: Json = None,
) -> None:
    """Reproduce the study of 1800 models of dSprites: how Modularity correlates with fifteen other scores.

    Trains six families of VAEs with six strengths each, scores their codes, solves twelve tasks on them, and prints the
    correlations of Figure E.1 beside the published ones. All others were published as pictures; give a store, and
    `unbraid study report` draws ours.

    Examples:
        unbraid reproduce thesis-study --scale mini

        unbraid reproduce thesis-study --scale full --store thesis --data ~/data --yes

    Parameters
    ----------
    scale
        `mini`: small models of small sprites, two seeds; `full`: the published study.
    store
        Where results go, and are found again by the next run; in small, a temporary folder by default.
    engine
        `local`: processes on this machine; `ray`: a Ray cluster.
    workers
        Jobs at the same time.
    address
        Of the Ray cluster.
    data
        Folder with the files of official data sets.
    yes
        Start even if it is going to be long.
    json
        Write everything as JSON, to a file or `-`.
    """
    options: dict[str, Any] = {"engine": engine, "workers": workers, "address": address, "data_folder": data}
    _run(thesis_study, scale, store, yes, json, options)


def run_iwo_study(
    *,
    scale: Scale = "mini",
    store: str | None = None,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    data: Path | None = None,
    yes: bool = False,
    json: Json = None,
) -> None:
    """Reproduce the study of orthogonality against downstream tasks (arXiv:2407.03728, Tables 2, 3, 4, 5 and 7).

    Trains six families of VAEs with six strengths each on six data sets, scores their codes, predicts the factors from
    them with three predictors, and prints the correlations beside the published ones.

    Examples:
        unbraid reproduce iwo-study --scale mini

        unbraid reproduce iwo-study --scale full --store iwo --data ~/data --engine ray --address auto --yes

    Parameters
    ----------
    scale
        `mini`: small models of small sprites, two seeds, Tables 2a and 7; `full`: the published study.
    store
        Where results go, and are found again by the next run; in small, a temporary folder by default.
    engine
        `local`: processes on this machine; `ray`: a Ray cluster.
    workers
        Jobs at the same time.
    address
        Of the Ray cluster.
    data
        Folder with the files of official data sets.
    yes
        Start even if it is going to be long.
    json
        Write everything as JSON, to a file or `-`.
    """
    options: dict[str, Any] = {"engine": engine, "workers": workers, "address": address, "data_folder": data}
    _run(iwo_study, scale, store, yes, json, options)


def _run(
    study: "Callable[..., StudyTables]",
    scale: Scale,
    store: str | None,
    yes: bool,
    json: str | None,
    options: dict[str, Any],
) -> None:
    target = json_file(json)
    if target is not None:
        check_writable("json", target)
    tables = study(scale=scale, store=store, yes=yes, **options)
    if json == "-":
        print(tables.to_json())
    else:
        _print_tables(tables)
    for note in tables.notes:
        print(f"note: {note}", file=sys.stderr)
    if tables.n_failed:
        print(f"note: {tables.n_failed} models or numbers failed; `unbraid study status` says why.", file=sys.stderr)
    if target is not None:
        tables.to_json(target)
        print(f"wrote {target}", file=sys.stderr)
    if store is not None:
        print(f"next: unbraid study report --store {store} --out report.html", file=sys.stderr)


def _print_tables(tables: "StudyTables") -> None:
    """Print each table with a column for each score; one with many scores, with a line for each."""
    print(f"{tables.n_models} models; each number is ours (the paper's)")
    for where in dict.fromkeys(line.table for line in tables.lines):
        lines = [line for line in tables.lines if line.table == where]
        cells = {(line.group, line.task, line.score): f"{_shown(line.ours)} ({line.paper:.2f})" for line in lines}
        scores = list(dict.fromkeys(line.score for line in lines))
        keys = list(dict.fromkeys((line.group, line.task) for line in lines))
        print(f"\n{where}")
        if len(scores) <= MOST_COLUMNS:
            rows = [[*key, *(cells[(*key, score)] for score in scores)] for key in keys]
            print_rows(["", "correlation with", *scores], rows)
        else:
            header = [f"{group} with {task}" for group, task in keys]
            print_rows(["score", *header], [[score, *(cells[(*key, score)] for key in keys)] for score in scores])


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
