"""``unbraid study``."""

from __future__ import annotations

import json as jsons
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from unbraid._base.files import output_folder, write_text
from unbraid._base.progress import bar_or_lines
from unbraid._base.text import as_csv, printable
from unbraid.cli._io import check_writable, json_file, say
from unbraid.cli._table import print_rows

if TYPE_CHECKING:
    from unbraid.study import StudyStatus

study = App(
    name="study",
    help=(
        "Train or load many models, score each, solve tasks on their codes, and correlate scores with tasks.\n\n"
        "A study is a short YAML file; `unbraid study show mini` prints one to start from. Results go to a store: a "
        "folder or a URL. Running a study again computes only what is missing, so a run may be stopped at any time, or "
        "shared between machines."
    ),
    help_format="markdown",
    version_flags=(),
)
Flag = Annotated[bool, Parameter(negative=())]
#: An option under its earlier name.
Hidden = Annotated[bool, Parameter(show=False, negative=())]
#: Exit status of a run that ended with failures in its table.
SOME_FAILED = 1


def show_list() -> None:
    """List the studies that come with the package.

    Examples:
        unbraid study list
    """
    from unbraid.study import load_study, make_plan, ready_studies

    rows = []
    for name in ready_studies():
        plan = make_plan(load_study(name))
        n_measurements = sum(1 for _ in plan.wanted(set()))
        rows.append([name, len(plan.models), len(plan.ensembles), n_measurements, plan.study.about.strip()])
    print_rows(["name", "models", "ensembles", "measurements", "about"], rows, wrap=("about",))


def show(name: str, /) -> None:
    """Print a study file, as a start for your own.

    Examples:
        unbraid study show mini > my.yaml

    Parameters
    ----------
    name
        Name of a study that comes with the package, or a file.
    """
    from unbraid.study import load_study, study_text

    with _notes_on_stderr():
        load_study(name)
    text = study_text(name).removeprefix("\ufeff")
    print("".join(letter if letter in "\n\t" else printable(letter) for letter in text), end="")


def run(
    study: str,
    /,
    *,
    store: str,
    engine: Literal["local", "ray"] = "local",
    workers: int | None = None,
    address: str | None = None,
    data: Path | None = None,
    memory: str | None = None,
    yes: Flag = False,
    watch: Flag = False,
    browser: bool = True,
) -> None:
    """Run a study, or what is missing of it in its store.

    Prints the estimated cost before it starts, or what this machine lacks. Ends with status 1 if some models or scores
    failed; `study status` lists them with the reasons, and another run tries them again. Training needs torch.

    Examples:
        unbraid study run mini --store mini

        unbraid study run my.yaml --store s3://bucket/my --engine ray --address auto

    Parameters
    ----------
    study
        A file, or the name of a study that comes with the package.
    store
        Folder for the results, or a URL that fsspec knows.
    engine
        `local`: processes on this machine; `ray`: a Ray cluster.
    workers
        Jobs in parallel; as many as there are cores by default.
    address
        Address of the Ray cluster, `host:port` of its head or `auto`; by default a cluster is started on this machine.
    data
        Folder with the files of official data sets.
    memory
        Memory that all workers on this machine may take together, such as `16G`. It is estimated beforehand, and more
        is refused; by default what is available.
    yes
        Start even if the estimated cost is large.
    watch
        Open `unbraid explore` on the store while the study runs: jobs, failures, and models as they come.
    browser
        Open a browser to watch; with `--no-browser`, only print the address.
    """
    from unbraid.study import estimate_cost, load_study, run_study
    from unbraid.study.state import check_torch

    def announce(before: StudyStatus) -> None:
        if address is None:
            check_torch(before)
        cost = estimate_cost(before)
        say(cost.sentence(workers))
        if cost.is_large and not yes:
            raise ValueError(f"study {study!r} is large; give --yes to start it all the same.")
        if watch:
            stack.enter_context(_watching(before, browser=browser))

    with _notes_on_stderr():
        spec = load_study(study)
    with _notes_on_stderr(), ExitStack() as stack:
        state = run_study(
            spec,
            store,
            engine=engine,
            workers=workers,
            address=address,
            data_folder=data,
            memory=memory,
            progress=bar_or_lines(),
            on_start=announce,
        )
        _print_state(state)
    named = f"--store {store}"
    say(f"next: unbraid study report {named} --out report.html; unbraid study table {named}")
    if not state.is_complete:
        sys.exit(SOME_FAILED)


def _watching(before: StudyStatus, *, browser: bool) -> AbstractContextManager[None]:
    from unbraid.cli._explore import watching
    from unbraid.explorer.session import Session
    from unbraid.explorer.studies import StudyView
    from unbraid.study import Store

    view = StudyView(Store(before.store.url), before.plan)
    return watching(Session(view.title, view.entries, study=view, watching=True), browser=browser)


def status(
    *,
    store: str,
    study: str | None = None,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
) -> None:
    """Print how much of a study is done, and why measurements failed.

    Examples:
        unbraid study status --store mini

    Parameters
    ----------
    store
        Folder or URL of the results.
    study
        Name of the study, where the store has several.
    json
        Write the status as JSON to this file, or to standard output with `-`.
    """
    from unbraid.study import status as status_of

    path = json_file(json)
    with _notes_on_stderr():
        state = status_of(_there(store), study)
        summary = state.summary()
    if json is None:
        _print_state(state)
        return
    text = jsons.dumps(summary, indent=2)
    if path is None:
        print(text)
    else:
        write_text(path, f"{text}\n")


def table(
    *, store: str, study: str | None = None, csv: Path | None = None, pivot: Flag = False, wide: Hidden = False
) -> None:
    """Print the table of a study, or write it as CSV.

    Examples:
        unbraid study table --store mini --csv mini.csv

        unbraid study table --store mini --pivot

    Parameters
    ----------
    store
        Folder or URL of the results.
    study
        Name of the study, where the store has several.
    csv
        File to write to, instead of printing.
    pivot
        A row for each model and a column for each score and task, instead of a row for each measurement. The column
        `task:factor:shape/forest@2800` is the factor shape, predicted by a forest trained on 2800 rows.
    wide
        The earlier name of `--pivot`.
    """
    from unbraid.study import pivot as pivot_table
    from unbraid.study import study_table

    if csv is not None:
        check_writable("csv", csv)
    with _notes_on_stderr():
        rows = study_table(_there(store), study)
    shown = rows.drop(columns=["key", "version"])
    if wide:
        say("note: --wide is now called --pivot; the next release takes --pivot only.")
    if pivot or wide:
        models = pivot_table(rows)
        shown = models.about.join(models.values).reset_index()
    if csv is None:
        print(as_csv(shown.map(_shown).rename(columns=_shown)), end="")
    else:
        write_text(csv, as_csv(shown))
        say(f"wrote {len(shown)} lines to {csv}")


def report(
    *,
    store: str,
    out: Path = Path("report.html"),
    study: str | None = None,
    tables: Path | None = None,
    factors: str | None = None,
) -> None:
    """Write the report of a study: correlations of scores with each other and with tasks.

    Examples:
        unbraid study report --store mini --out report.html

        unbraid study report --store mini --out report.html --tables tables

        unbraid study report --store mini --factors shape,scale,position=x+y,orientation

    Parameters
    ----------
    store
        Folder or URL of the results.
    out
        HTML file to write.
    study
        Name of the study, where the store has several.
    tables
        Folder to also write every table to, as CSV, and the correlations as LaTeX.
    factors
        Correlate scores of single factors too: `all`, or factors separated by commas. `position=x+y` is the mean of x
        and y.
    """
    from unbraid.report import study_page
    from unbraid.study import analyze
    from unbraid.study import status as status_of

    single = False if factors is None else _factors(factors)
    check_writable("out", out)
    with nullcontext() if tables is None else output_folder("tables", tables):
        with _notes_on_stderr():
            state = status_of(_there(store), study)
            found = state.table()
        analysis = analyze(found, factors=single)
        spec = state.plan.study
        write_text(out, study_page(analysis, name=spec.name, about=spec.about))
        say(f"wrote {out}")
        if tables is not None:
            written = [*analysis.to_csv(tables), *analysis.to_latex(tables)]
            say(f"wrote {len(written)} tables to {tables}")


def _factors(text: str) -> bool | dict[str, list[str]]:
    """Read ``all``, or ``shape,position=x+y``."""
    if text.strip() == "all":
        return True
    found: dict[str, list[str]] = {}
    for part in text.split(","):
        name, _, several = (piece.strip() for piece in part.partition("="))
        found[name] = [one.strip() for one in (several or name).split("+")]
        if not name or not all(found[name]):
            raise ValueError(
                f"factors must be all, or names separated by commas such as shape,position=x+y, got {text!r}."
            )
    return found


def clean(*, store: str, yes: Flag = False) -> None:
    """Remove codes, models and rows that no study of a store needs any more.

    Prints what would be removed; `--yes` removes it. No run may be using the store.

    Examples:
        unbraid study clean --store mini

    Parameters
    ----------
    store
        Store to clean.
    yes
        Remove them.
    """
    from unbraid.study import Store, find_leftovers, remove_leftovers

    place = Store(_there(store))
    if yes:
        place.check_writable()
    with _notes_on_stderr():
        found = find_leftovers(place)
    print(
        f"{len(found.files)} files ({found.n_bytes / 1e6:.1f} MB), {found.n_rows} rows and {len(found.damaged)} "
        f"damaged shards are not needed by any study in {printable(store)}."
    )
    for shard in found.damaged:
        print(printable(f"damaged, to be moved to set_aside/: results/{shard}"))
    if yes:
        with _notes_on_stderr():
            remove_leftovers(place, found)
        say("removed")
    elif found.files or found.n_rows or found.damaged:
        say("give --yes to remove them")


def show_tasks() -> None:
    """List the tasks that can be solved on codes, and the predictors.

    Examples:
        unbraid study tasks
    """
    from unbraid.downstream import PREDICTORS, TASKS

    print_rows(
        ["task", "what is predicted", "needs"], [[task.name, task.description, task.needs] for task in TASKS.values()]
    )
    say(f"factor:NAME is the factor NAME alone; predictors are {', '.join(PREDICTORS)}")


@contextmanager
def _notes_on_stderr() -> Iterator[None]:
    """Print warnings as notes: names of earlier versions in a study file, files of a store that are damaged."""
    before = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always", DeprecationWarning)
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: say(f"note: {message}")
        try:
            yield
        finally:
            warnings.showwarning = before


def _there(store: str) -> str:
    """Raise if a folder that should hold results is not there, rather than make an empty one."""
    if store.strip() and "://" not in store and not Path(store).expanduser().is_dir():
        raise ValueError(f"store {store!r} is not there; `unbraid study run NAME --store {store}` makes it.")
    return store


def _shown(cell: object) -> object:
    return printable(cell) if isinstance(cell, str) else cell


def _print_state(state: StudyStatus) -> None:
    summary = state.summary()
    rows = [[what, one["wanted"], one["done"], one["failed"], one["missing"]] for what, one in summary["parts"].items()]
    print_rows([f"study {summary['study']}", "wanted", "done", "failed", "missing"], rows)
    collapsed = summary["collapsed"]
    if collapsed["count"]:
        example = printable(str(collapsed["example"]))
        print(
            f"\n{collapsed['count']} collapsed, such as {example}: all codes are constant, so there is nothing to "
            "score or to solve tasks with."
        )
    for reason in summary["failures"]:
        again = "" if reason["again"] else " Training would diverge again, and is not tried again."
        what = f"{reason['count']} failed when last tried, such as {reason['example']}: {reason['why']}{again}"
        print(f"\n{printable(what)}")
    if any(reason["again"] for reason in summary["failures"]):
        print("\nThe current or the next run tries failures again.")


study.command(show_list, name="list")
study.command(show)
study.command(show_tasks, name="tasks")
study.command(run)
study.command(status)
study.command(table)
study.command(report)
study.command(clean)
