"""``unbraid reproduce thesis-study`` and ``iwo-study``."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from unbraid.cli._io import check_writable, json_file
from unbraid.cli._table import print_rows
from unbraid.reproduce import iwo_study, thesis_study
from unbraid.reproduce.studies import EngineName, Scale

if TYPE_CHECKING:
    from unbraid.reproduce.studies import StudyTables

#: Scores beyond which each has a line instead of a column.
MOST_COLUMNS = 6


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class How:
    """How a published study is run.

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
        Of the Ray cluster, `host:port` of its head or `auto`.
    data
        Folder with the files of official data sets.
    yes
        Start even if it is going to be long.
    json
        Write everything as JSON, to a file or `-`.
    """

    scale: Scale = "mini"
    store: str | None = None
    engine: EngineName = "local"
    workers: int | None = None
    address: str | None = None
    data: Path | None = None
    yes: bool = False
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None


AS_USUAL = How()


def run_thesis_study(*, how: How = AS_USUAL) -> None:
    """Reproduce the study of 1800 models of dSprites: how Modularity correlates with fifteen other scores.

    Trains six families of VAEs with six strengths each, scores their codes, solves twelve tasks on them, and prints the
    correlations of Figure E.1 beside the published ones. All others were published as pictures; give a store, and
    `unbraid study report` draws ours.

    For example:
        unbraid reproduce thesis-study --scale mini

        unbraid reproduce thesis-study --scale full --store thesis --data ~/data --yes
    """
    _run(thesis_study, how)


def run_iwo_study(*, how: How = AS_USUAL) -> None:
    """Reproduce the study of orthogonality against downstream tasks (arXiv:2407.03728, Tables 2, 3, 4, 5 and 7).

    Trains six families of VAEs with six strengths each on six data sets, scores their codes, predicts the factors from
    them with three predictors, and prints the correlations beside the published ones; in small, Tables 2a and 7.

    For example:
        unbraid reproduce iwo-study --scale mini

        unbraid reproduce iwo-study --scale full --store iwo --data ~/data --engine ray --address auto --yes
    """
    _run(iwo_study, how)


def _run(study: "Callable[..., StudyTables]", how: How) -> None:
    target = json_file(how.json)
    if target is not None:
        check_writable("json", target)
    tables = study(
        scale=how.scale,
        store=how.store,
        yes=how.yes,
        engine=how.engine,
        workers=how.workers,
        address=how.address,
        data_folder=how.data,
    )
    if how.json == "-":
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
    if how.store is not None:
        print(f"next: unbraid study report --store {how.store} --out report.html", file=sys.stderr)


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
