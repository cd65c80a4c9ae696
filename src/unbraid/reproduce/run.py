"""Run, keep, judge, Markdown; used by one CLI command."""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from threadpoolctl import threadpool_limits

from unbraid._base.checks import check_choice
from unbraid._base.files import write_text
from unbraid._base.record import finite
from unbraid.reproduce.agreement import RULE, Check, Colour, Part, Reproduction, Standing

Mode = Literal["quick", "full", "own"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One reproduction, run or not.

    Attributes:
        name: Which.
        mode: ``"quick"`` or ``"full"``; ``"own"`` for settings chosen one by one.
        seconds: Processor time it took.
        result: Its plain data; ``None`` where it was not run.
        reason: Why it was not run; empty where it was.
    """

    name: str
    mode: Mode
    seconds: float = 0.0
    result: Mapping[str, Any] | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what a file holds."""
        return {
            "name": self.name,
            "mode": self.mode,
            "processor_seconds": self.seconds,
            "reason": self.reason,
            "result": self.result,
        }

    def save(self, folder: str | Path) -> Path:
        """Write ``NAME.json`` into ``folder``, all or nothing."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        return write_text(Path(folder) / f"{self.name}.json", text + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A run and what it says of its reproduction.

    Attributes:
        reproduction: What was run.
        run: How, and what came out.
        parts: Tables and figures; empty where it was not run.
    """

    reproduction: Reproduction
    run: Run
    parts: Sequence[Part]

    @property
    def colour(self) -> Colour:
        """The worst of its parts; grey where there are none."""
        order = [Colour.RED, Colour.AMBER, Colour.GREEN]
        found = [part.colour for part in self.parts]
        return min(found, key=order.index) if found else Colour.GREY


def run_all(
    chosen: Iterable[Reproduction],
    *,
    quick: bool = False,
    data: str | Path | None = None,
    device: str = "cpu",
    folder: str | Path | None = None,
    progress: bool | None = None,
) -> Iterator[Run]:
    """Run reproductions one after the other, and yield each as it ends.

    One that cannot run, for want of data or of an optional package, is yielded with the reason, and the next one
    starts. Everything runs on one thread, so that processor time means something.

    Args:
        chosen: What to run.
        quick: Whether to run the small settings.
        data: An MNIST folder, for those that need one, and in full runs for all that take one.
        device: Where to train, for those that train.
        folder: Where to keep the results, one file each; not kept if not given.
        progress: Show progress bars on standard error; by default when that is a terminal.
    """
    for reproduction in chosen:
        with threadpool_limits(1):
            run = _run(reproduction, quick=quick, data=data, device=device, progress=progress)
        if folder is not None:
            run.save(folder)
        yield run


def load_run(folder: str | Path, name: str) -> Run:
    """Read what :meth:`Run.save` wrote; one that was never kept counts as not run.

    Raises:
        ValueError: The file is not one of these.
    """
    path = Path(folder) / f"{name}.json"
    if not path.exists():
        return Run(name=name, mode="full", reason="no result is kept")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        check_choice("mode", found["mode"], get_args(Mode))
        return Run(
            name=found["name"],
            mode=found["mode"],
            seconds=found["processor_seconds"],
            result=found["result"],
            reason=found["reason"],
        )
    except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{str(path)!r} does not hold a run of `unbraid reproduce --all` ({error!r}).") from error


def judge(reproduction: Reproduction, run: Run) -> Outcome:
    """Compare a run with the paper and the truth."""
    parts = () if run.result is None else tuple(reproduction.parts(_with_nan(run.result)))
    return Outcome(reproduction=reproduction, run=run, parts=parts)


def _run(
    reproduction: Reproduction, *, quick: bool, data: str | Path | None, device: str, progress: bool | None
) -> Run:
    mode: Mode = "quick" if quick else "full"
    needs = reproduction.quick_needs if quick else reproduction.needs
    if needs and data is None:
        return Run(name=reproduction.name, mode=mode, reason=f"needs {needs}")
    # Quick settings are made for digits that come along; where those will do, they are used.
    digits = data if needs or not quick else None
    given = {"data": digits, "device": device, "progress": progress}
    known = inspect.signature(reproduction.run).parameters
    own = reproduction.quick if quick else reproduction.full
    options = {key: value for key, value in given.items() if key in known} | dict(own)
    started = _processor_time()
    try:
        result = reproduction.run(**options).to_dict()
    except ValueError as error:
        return Run(name=reproduction.name, mode=mode, reason=str(error))
    seconds = round(_processor_time() - started, 1)
    # Through JSON, so that what was run and what is read back are the same: tuples become lists, keys text.
    return Run(name=reproduction.name, mode=mode, seconds=seconds, result=json.loads(json.dumps(finite(result))))


def _processor_time() -> float:
    """Return seconds of this process and of workers it has waited for."""
    return sum(os.times()[:4])


def _with_nan(value: Any, key: str = "") -> Any:
    """Return plain data in which our numbers that were not finite, and so null, are NaN again."""
    if isinstance(value, dict):
        return {name: _with_nan(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_nan(item, key) for item in value]
    return math.nan if value is None and key == "ours" else value


MARKS = {Colour.GREEN: "🟢", Colour.AMBER: "🟡", Colour.RED: "🔴", Colour.GREY: "⚪"}
MADE_BY = (
    "<!-- Made by `unbraid reproduce --all --json docs/reproductions --page docs/reproduction.md`; "
    "with --remake from the kept results. Do not edit. -->"
)
OPENING = """# Reproduction

Published tables and figures run again: our numbers beside the paper's, and beside the truth where it is known. This
page is made from the results kept in `docs/reproductions`, one JSON file for each reproduction.

```text
unbraid reproduce --list                               # what there is, and what it costs
unbraid reproduce NAME --help                          # one of them, with options of its own
unbraid reproduce --all --quick --report status.html   # all of them, small, as one page
unbraid reproduce --all --data mnist --json results    # all of them in full, kept as JSON
unbraid reproduce --all --json results --remake --page status.md
```
"""


def status_page(outcomes: Sequence[Outcome]) -> str:
    """Return the whole page."""
    sections = [MADE_BY, OPENING, RULE, "", *_summary(outcomes), ""]
    for outcome in outcomes:
        sections += _section(outcome)
    return "\n".join(sections).rstrip("\n") + "\n"


def how_run(outcome: Outcome) -> str:
    """Say how it was run, and what that took."""
    run = outcome.run
    if run.result is None:
        return f"Not run: {run.reason.rstrip('.')}."
    took = f", {run.seconds:.0f} s of processor time" if run.seconds else ""
    told = [f"{run.mode.capitalize()} settings{took}."]
    if not outcome.parts:
        told += [*run.result.get("notes", ()), "So nothing is compared."]
    return " ".join(told)


def number(value: float | None) -> str:
    """Return a number with as many digits as it deserves, or nothing."""
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1000:
        return f"{value:.0f}"
    return f"{value:.2e}" if abs(value) < 0.01 else f"{value:.3f}"


def reason_of(part: Part) -> str:
    """Say how many numbers are nearer the truth than the paper's, and why others differ."""
    found = []
    if part.n_nearer:
        verb = "is" if part.n_nearer == 1 else "are"
        found.append(f"{part.n_nearer} {verb} further from the paper than allowed and nearer the truth than the paper.")
    if part.colour is not Colour.GREEN:
        found.append(part.reason or "No reason is recorded.")
    return " ".join(found)


def _summary(outcomes: Sequence[Outcome]) -> list[str]:
    rows = ["| | Reproduction | Table or figure | Agree | Why |", "| --- | --- | --- | --- | --- |"]
    for outcome in outcomes:
        name = f"[`{outcome.reproduction.name}`](#{outcome.reproduction.name})"
        if not outcome.parts:
            rows.append(f"| {_mark(Colour.GREY)} | {name} | all | | {how_run(outcome)} |")
        for part in outcome.parts:
            agree = f"{part.n_agree} of {len(part.checks)}"
            rows.append(f"| {_mark(part.colour)} | {name} | {part.where} | {agree} | {reason_of(part)} |")
    return rows


def _section(outcome: Outcome) -> Iterator[str]:
    about = outcome.reproduction
    yield f"## {about.name}\n"
    more = f"[What it does, its options and what differs](reproductions/{about.name}.md)"
    yield f"{about.title}. {about.paper}. {more}.\n"
    yield f"{how_run(outcome)}\n"
    for part in outcome.parts:
        yield f"### {about.name}, {part.where}\n"
        yield f"{_mark(part.colour)}: {part.n_agree} of {len(part.checks)} agree. {reason_of(part)}".rstrip() + "\n"
        yield "| | ours | paper | truth | allowed | |\n| --- | --- | --- | --- | --- | --- |"
        yield "\n".join(_row(check) for check in part.checks) + "\n"


def _row(check: Check) -> str:
    paper = check.claim or number(check.paper)
    standing = f"**{check.standing}**" if check.standing is Standing.DIFFERS else check.standing
    return f"| {check.what} | {number(check.ours)} | {paper} | {number(check.truth)} | {check.rule} | {standing} |"


def _mark(colour: Colour) -> str:
    return f"{MARKS[colour]} {colour}"
