"""``unbraid reproduce --all``."""

import sys
from collections.abc import Sequence
from pathlib import Path

from unbraid._base.checks import check_choice
from unbraid._base.files import write_text
from unbraid.cli._io import check_writable
from unbraid.cli._reproduce_manifolds import Device
from unbraid.cli._table import print_rows
from unbraid.reproduce import REPRODUCTIONS, Reproduction
from unbraid.reproduce.run import Outcome, how_run, judge, load_run, reason_of, run_all, status_page


def run_everything(
    *,
    quick: bool = False,
    only: str | None = None,
    data: Path | None = None,
    device: Device = "cpu",
    json: Path | None = None,
    remake: bool = False,
    page: Path | None = None,
    report: Path | None = None,
) -> None:
    """Run every reproduction: which tables and figures agree with the papers, and why the others do not.

    Each number of ours is held against the paper's with a stated tolerance, and against the truth where it is known. A
    table is green if all of its numbers agree, amber if at least half do, red if fewer, and grey if it was not run.
    One thread is used throughout.

    Examples:
        unbraid reproduce --all --quick --report status.html

        unbraid reproduce --all --data mnist --json results --page status.md

        unbraid reproduce --all --json results --remake --page status.md

    Parameters
    ----------
    quick
        Small settings: seven minutes of one core, and two studies of 15 and 30 minutes of processor time on all cores.
    only
        Comma-separated names, instead of everything that `--list` shows.
    data
        An MNIST folder in IDX format, for those that need one; they are left out without it.
    device
        Where to train, for those that train.
    json
        A folder to keep every result in, as NAME.json, as soon as it is there.
    remake
        Run nothing: read the results kept in the `--json` folder.
    page
        Write the status page as Markdown.
    report
        Write the status page as one HTML page.
    """
    chosen = _chosen(only)
    if remake and json is None:
        raise ValueError("remake needs the folder with the kept results: give it with --json.")
    for argument, path in (("page", page), ("report", report)):
        if path is not None:
            check_writable(argument, path)
    if json is not None and not remake:
        _make_folder(json)
    outcomes = _kept(chosen, json) if remake and json is not None else _fresh(chosen, quick, data, device, json)
    _print_table(outcomes)
    if page is not None:
        print(f"wrote {write_text(page, status_page(outcomes))}", file=sys.stderr)
    if report is not None:
        from unbraid.reproduce.status_page import render_status

        print(f"wrote {write_text(report, render_status(outcomes))}", file=sys.stderr)


def _chosen(only: str | None) -> list[Reproduction]:
    if only is None:
        return list(REPRODUCTIONS.values())
    names = [part.strip() for part in only.split(",") if part.strip()]
    for name in names:
        check_choice("only", name, list(REPRODUCTIONS))
    if not names:
        raise ValueError("only must name at least one reproduction, got none.")
    return [item for item in REPRODUCTIONS.values() if item.name in names]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ValueError(f"json {str(folder)!r} must be a folder, or a name for one: {error.strerror}.") from error


def _kept(chosen: list[Reproduction], folder: Path) -> list[Outcome]:
    if not folder.is_dir():
        raise ValueError(f"json must be the folder with the kept results, and there is no folder {str(folder)!r}.")
    return [judge(item, load_run(folder, item.name)) for item in chosen]


def _fresh(
    chosen: list[Reproduction], quick: bool, data: Path | None, device: Device, folder: Path | None
) -> list[Outcome]:
    outcomes = []
    for position, run in enumerate(run_all(chosen, quick=quick, data=data, device=device, folder=folder)):
        outcome = judge(chosen[position], run)
        print(f"{outcome.colour}: {run.name}. {how_run(outcome)}", file=sys.stderr)
        outcomes.append(outcome)
    return outcomes


def _print_table(outcomes: Sequence[Outcome]) -> None:
    rows = []
    for outcome in outcomes:
        if not outcome.parts:
            rows.append([str(outcome.colour), outcome.reproduction.name, "all", "", how_run(outcome)])
        for part in outcome.parts:
            agree = f"{part.n_agree} of {len(part.checks)}"
            rows.append([str(part.colour), outcome.reproduction.name, part.where, agree, reason_of(part)])
    print_rows(["colour", "name", "table or figure", "agree", "why"], rows, wrap=("why",))
