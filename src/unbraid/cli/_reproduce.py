"""``unbraid reproduce``: one command for every reproduction, its options from the signature of its function."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from cyclopts import App, Parameter

from unbraid._base.checks import check_choice
from unbraid._base.files import output_folder, write_text
from unbraid._base.progress import bar_or_lines
from unbraid.cli._io import check_writable, json_file, say
from unbraid.cli._table import print_rows
from unbraid.reproduce import REPRODUCTIONS, Reproduction
from unbraid.reproduce.figures import Device
from unbraid.reproduce.result import DrawnResult, Result
from unbraid.reproduce.run import (
    Outcome,
    ReproductionRun,
    counts_of,
    how_run,
    judge,
    load_run,
    mode_of,
    processor_time,
    provenance,
    reason_of,
    run_all,
    status_page,
)

FIGURE_HELP = "Where to write the figure."
#: A range is not read further than this, so that a slip of the hand does not fill the memory.
MOST_IN_RANGE = 10_000
KEEP_HELP = "Keep the result as NAME.json in this folder, from which --all --remake makes the page of results."
JSON_HELP = "Write everything as JSON to this file, or to standard output with `-`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of the command line.

    Attributes:
        name: Argument of the function, or field of its settings.
        flag: Name on the command line, without dashes.
        kind: Type of the argument.
        default: Its default.
        quick: Its value with ``--quick``.
        help: What it does.
        is_setting: Whether it is a field of the settings.
    """

    name: str
    flag: str
    kind: Any
    default: Any
    quick: Any
    help: str
    is_setting: bool = False

    @property
    def is_list(self) -> bool:
        """Whether it takes several values, separated by commas."""
        return get_origin(self.kind) in (tuple, Iterable)

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter that the command line is built from."""
        shown = _shown(self.default) + ("" if self.quick == self.default else f"; {_shown(self.quick)} with --quick")
        tell = False if self.default is None else lambda _: shown
        default = _shown(self.default) if self.is_list else self.default
        kind = str if self.is_list else self.kind
        return _keyword(self.name, kind, default, name=f"--{self.flag}", help=self.help, show_default=tell)

    def read(self, value: Any) -> Any:
        """Return the value for the function: lists are given as text such as ``1,3-5``."""
        if not self.is_list:
            return value
        kind = get_args(self.kind)[0]
        found = _whole_numbers(self.flag, value) if kind is int else _others(self.flag, value, kind)
        if get_origin(self.kind) is Iterable:
            return found
        values, length = tuple(found), len(get_args(self.kind))
        if Ellipsis not in get_args(self.kind) and len(values) != length:
            raise ValueError(f"{self.flag} must have {length} values, separated by commas, got {value!r}.")
        return values


def options_of(reproduction: Reproduction[Any]) -> list[Option]:
    """Return the options of a reproduction: arguments of its function, with those of ``settings`` spread out."""
    found = []
    for one in _arguments(reproduction.run):
        quick = reproduction.quick.get(one.name, one.default)
        if one.name == "settings":
            kinds, described = get_type_hints(type(one.default)), _described(type(one.default))
            pairs = [(part.name, getattr(one.default, part.name), getattr(quick, part.name)) for part in fields(quick)]
        else:
            kinds, described = get_type_hints(reproduction.run), _described(reproduction.run)
            pairs = [(one.name, one.default, quick)]
        found += [
            Option(
                name=name,
                flag=reproduction.options.get(name, name.removeprefix("n_").replace("_", "-")),
                kind=kinds[name],
                default=default,
                quick=small,
                help=described[name],
                is_setting=one.name == "settings",
            )
            for name, default, small in pairs
        ]
    return found


def make_command(reproduction: Reproduction[Any]) -> Callable[..., None]:
    """Return the command of a reproduction."""
    options = options_of(reproduction)

    def command(**given: Any) -> None:
        _reproduce(reproduction, options, given)

    figure, default = reproduction.options.get("figure", "figure"), reproduction.figure
    drawn = issubclass(reproduction.result_type, DrawnResult)
    outputs = [
        _keyword("quick", bool, False, help="Small settings; other options change single ones."),
        _keyword("figure", Path | None, Path(default) if default else None, name=f"--{figure}", help=FIGURE_HELP),
        _keyword("report", Path | None, None, help="Write which numbers agree with the paper, as one HTML page."),
        _keyword("json", str | None, None, help=JSON_HELP, allow_leading_hyphen=True),
        _keyword("keep", Path | None, None, help=KEEP_HELP),
    ]
    outputs = [one for one in outputs if drawn or one.name != "figure"]
    parameters = [*(option.parameter for option in options), *outputs]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__doc__ = None
    return command


def _reproduce(reproduction: Reproduction[Any], options: Sequence[Option], given: dict[str, Any]) -> None:
    """Check where results go, run, print, write. Only options that were named on the command line are given."""
    json, report = given.get("json"), given.get("report")
    figure = given.get("figure", Path(reproduction.figure) if reproduction.figure else None)
    target, drawn_to = json_file(json), reproduction.options.get("figure", "figure")
    for argument, path in {"json": target, drawn_to: figure, "report": report}.items():
        if path is not None:
            check_writable(argument, path)
    arguments, started = _named_arguments(reproduction, options, given), processor_time()
    made_from = provenance(str(arguments.get("device", "cpu")))  # before the run, during which the source may change
    result = reproduction.run(**arguments)
    run = ReproductionRun(
        name=reproduction.name,
        mode=mode_of(reproduction, arguments),
        processor_seconds=round(processor_time() - started, 1),
        result=result,
        **made_from,
    )
    outcome = judge(reproduction, run)
    if json == "-":
        print(result.to_json())
    else:
        _print_tables(result)
        _print_parts([outcome])
    for note in result.notes:
        say(f"note: {note}")
    if target is not None:
        result.to_json(target)
        say(f"wrote {target}")
    if given.get("keep") is not None:
        say(f"wrote {run.save(given['keep'])}")
    if report is not None:
        _write_report([outcome], report)
    if figure is not None:
        say(f"wrote {result.draw(figure)}")


def _named_arguments(
    reproduction: Reproduction[Any], options: Sequence[Option], given: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of the function: those of a quick run if asked for, changed by the options given."""
    arguments = dict(reproduction.quick) if given.get("quick") else {}
    if "progress" in inspect.signature(reproduction.run).parameters:
        arguments["progress"] = bar_or_lines()
    named = [option for option in options if option.name in given]
    arguments |= {option.name: option.read(given[option.name]) for option in named if not option.is_setting}
    changed = {option.name: option.read(given[option.name]) for option in named if option.is_setting}
    if changed:
        default = inspect.signature(reproduction.run).parameters["settings"].default
        arguments["settings"] = replace(arguments.get("settings", default), **changed)
    return arguments


def _print_tables(result: Result) -> None:
    for table in result.tables():
        if table.title:
            print(table.title)
        print_rows(*table.text, wrap=table.wrap)
        print()


def help_of(reproduction: Reproduction[Any]) -> str:
    """Return what the function's docstring says before its arguments, and examples."""
    about = inspect.getdoc(reproduction.run) or ""
    examples = "\n\n".join(f"    unbraid reproduce {reproduction.name} {text}" for text in reproduction.examples)
    return f"{_markdown(about.partition('Args:')[0]).rstrip()}\n\nFor example:\n\n{examples}"


def _arguments(run: Callable[..., Any]) -> list[inspect.Parameter]:
    return [one for one in inspect.signature(run).parameters.values() if one.name != "progress"]


def _described(thing: Any) -> dict[str, str]:
    """Return what a docstring in Google's style says of each argument or attribute."""
    text = inspect.getdoc(thing) or ""
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    return {name: _markdown(" ".join(about.split())) for name, about in found}


def _markdown(text: str) -> str:
    return text.replace("``", "`")


def _keyword(name: str, kind: Any, default: Any, /, **about: Any) -> inspect.Parameter:
    annotation = Annotated[kind, Parameter(**about)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _shown(value: Any) -> str:
    if isinstance(value, range):
        return f"{value[0]}-{value[-1]}"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _whole_numbers(flag: str, text: str) -> Iterator[int]:
    """Read ``1,3-5``."""
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if match is None:
            raise ValueError(f"{flag} must be numbers and ranges such as 1,3-5, got {part.strip()!r}.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"{flag} must have ranges from low to high, got {part.strip()!r}.")
        yield from range(first, min(last, first + MOST_IN_RANGE) + 1)
        if last > first + MOST_IN_RANGE:
            raise ValueError(f"{flag} must have ranges of at most {MOST_IN_RANGE} numbers, got {part.strip()!r}.")


def _others(flag: str, text: str, kind: Callable[[str], Any]) -> list[Any]:
    """Read ``labels,mix`` or ``0.1,1``."""
    try:
        return [kind(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{flag} must be numbers separated by commas, got {text!r}.") from None


def show_list() -> None:
    """List what can be reproduced, where it was published and what it costs."""
    rows = [[item.name, item.title, item.paper, item.cost] for item in REPRODUCTIONS.values()]
    print_rows(["name", "title", "paper", "cost"], rows, wrap=("title", "paper", "cost"))


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
    table is green if all that is printed agrees, amber if at least half of what was attempted does, red if less does,
    and grey if it was not run at full settings. One thread is used throughout.

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
    if remake and json is not None:
        outcomes = _kept(chosen, json)
    else:
        with nullcontext() if json is None else output_folder("json", json):
            outcomes = _fresh(chosen, quick, data, device, json)
    _print_parts(outcomes)
    if page is not None:
        say(f"wrote {write_text(page, status_page(outcomes))}")
    if report is not None:
        _write_report(outcomes, report)


def _write_report(outcomes: Sequence[Outcome], path: Path) -> None:
    from unbraid.reproduce.status_page import render_status  # templates are not loaded where there is no page

    say(f"wrote {write_text(path, render_status(outcomes))}")


def _chosen(only: str | None) -> list[Reproduction[Any]]:
    if only is None:
        return list(REPRODUCTIONS.values())
    names = [part.strip() for part in only.split(",") if part.strip()]
    for name in names:
        check_choice("only", name, list(REPRODUCTIONS))
    if not names:
        raise ValueError("only must name at least one reproduction, got none.")
    return [item for item in REPRODUCTIONS.values() if item.name in names]


def _kept(chosen: list[Reproduction[Any]], folder: Path) -> list[Outcome]:
    if not folder.is_dir():
        raise ValueError(f"json must be the folder with the kept results, and there is no folder {str(folder)!r}.")
    return [judge(item, load_run(folder, item)) for item in chosen]


def _fresh(
    chosen: list[Reproduction[Any]], quick: bool, data: Path | None, device: Device, folder: Path | None
) -> list[Outcome]:
    outcomes = []
    for position, run in enumerate(
        run_all(chosen, quick=quick, data=data, device=device, folder=folder, progress=bar_or_lines())
    ):
        outcome = judge(chosen[position], run)
        say(f"{outcome.colour}: {run.name}. {how_run(outcome)}")
        outcomes.append(outcome)
    return outcomes


def _print_parts(outcomes: Sequence[Outcome]) -> None:
    rows = []
    for outcome in outcomes:
        if not outcome.parts:
            rows.append([str(outcome.colour), outcome.reproduction.name, "all", "", "0", "", how_run(outcome)])
        for part in outcome.parts:
            name = outcome.reproduction.name
            rows.append([str(part.colour), name, part.where, *counts_of(part), reason_of(part)])
    header = ["colour", "name", "table or figure", "printed", "attempted", "agree", "why"]
    print_rows(header, rows, wrap=("why",))


reproduce = App(
    name="reproduce",
    help=(
        "Run published tables and figures again: our numbers beside the paper's and the known truth.\n\n"
        "`unbraid reproduce --list` lists the reproductions and their costs; `unbraid reproduce NAME --help` shows how "
        "to run a part of one; `unbraid reproduce --all` runs all, and reports which tables and figures agree."
    ),
    help_format="markdown",
    version_flags=(),
)
reproduce.command(show_list, name="--list")
reproduce.command(run_everything, name="--all")
for _reproduction in REPRODUCTIONS.values():
    reproduce.command(make_command(_reproduction), name=_reproduction.name, help=help_of(_reproduction))
