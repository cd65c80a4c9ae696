"""Runs of reproductions: execution, JSON files, checks, and a status page in Markdown."""

from __future__ import annotations

import inspect
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, Literal

import msgspec
from threadpoolctl import threadpool_limits

from unbraid._base.files import write_text
from unbraid._base.progress import Show
from unbraid._base.workers import usable_cores
from unbraid.reproduce.agreement import RULE, Agreement, Check, Colour, Part, R, Reproduction
from unbraid.reproduce.result import as_json, as_text

Mode = Literal["quick", "gpu", "full", "own"]
#: Settings whose numbers count.
COUNTED: frozenset[Mode] = frozenset({"gpu", "full"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionRun(Generic[R]):
    """One reproduction, run or not.

    Attributes:
        name: Name of the reproduction.
        mode: ``"quick"`` or ``"full"``, or ``"gpu"`` for the size made for one GPU; ``"own"`` for settings chosen one
            by one.
        processor_seconds: Processor time it took.
        reason: Why it was not run; empty where it was.
        commit: Version of the source, where it is known; empty otherwise.
        machine: Processor and number of its cores; empty where that was not recorded.
        result: Numbers; ``None`` where it was not run.
    """

    name: str
    mode: Mode
    processor_seconds: float = 0.0
    reason: str = ""
    commit: str = ""
    machine: str = ""
    result: R | None = None

    def kept(self) -> Mapping[str, Any]:
        """Return the fields that are written as JSON: where and from what it was made only where that is known."""
        result = None if self.result is None else self.result.kept()
        known = {one.name: getattr(self, one.name) for one in fields(self)}
        return {key: value for key, value in known.items() if value or key not in ("commit", "machine")} | {
            "result": result
        }

    def save(self, folder: str | Path) -> Path:
        """Write ``NAME.json`` into ``folder``, all or nothing; :func:`load_run` reads it back."""
        return write_text(Path(folder) / f"{self.name}.json", as_json(self.kept()) + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A run and the tables and figures it reproduces.

    Attributes:
        reproduction: The reproduction.
        run: How, and what came out.
        parts: Tables and figures; empty where it was not run, or at a size that cannot be compared.
    """

    reproduction: Reproduction[Any]
    run: ReproductionRun[Any]
    parts: Sequence[Part]

    @property
    def colour(self) -> Colour:
        """The worst of its parts; grey where there are none, or none counts."""
        order = [Colour.RED, Colour.AMBER, Colour.GREEN]
        found = [part.colour for part in self.parts if part.colour is not Colour.GREY]
        return min(found, key=order.index) if found else Colour.GREY


def run_all(
    chosen: Iterable[Reproduction[Any]],
    *,
    quick: bool = False,
    data: str | Path | None = None,
    device: str = "cpu",
    folder: str | Path | None = None,
    progress: Show = None,
) -> Iterator[ReproductionRun[Any]]:
    """Run reproductions one after the other, and yield each as it ends.

    A reproduction that cannot run, for want of data or of an optional package, is yielded with the reason, and the next
    one starts. Everything runs on one thread, so that processor times can be compared.

    Args:
        chosen: Reproductions to run.
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


def load_run(folder: str | Path, reproduction: Reproduction[R]) -> ReproductionRun[R]:
    """Read a run that :meth:`ReproductionRun.save` wrote, its result as the type that the reproduction returns.

    A reproduction of which no result is kept counts as not run.

    Raises:
        ValueError: The file is not one of these.
    """
    path = Path(folder) / f"{reproduction.name}.json"
    if not path.exists():
        return ReproductionRun(name=reproduction.name, mode="full", reason="no result is kept")
    kind: Any = ReproductionRun[reproduction.result_type]  # type: ignore[name-defined]
    try:
        found: ReproductionRun[R] = msgspec.json.decode(path.read_bytes(), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{str(path)!r} does not hold a run of this version's `unbraid reproduce --all`: {error}; run it again."
        ) from error
    return found


def judge(reproduction: Reproduction[R], run: ReproductionRun[R]) -> Outcome:
    """Compare a run with the paper and the truth; at quick settings, or settings of one's own, nothing counts."""
    found = () if run.result is None else reproduction.checks(run.result)
    parts = tuple(replace(part, is_full=part.is_full and run.mode in COUNTED) for part in found)
    return Outcome(reproduction=reproduction, run=run, parts=parts)


def _run(
    reproduction: Reproduction[R], *, quick: bool, data: str | Path | None, device: str, progress: Show
) -> ReproductionRun[R]:
    mode: Mode = "quick" if quick else "full"
    needs = reproduction.quick_needs if quick else reproduction.needs
    if needs and data is None:
        return ReproductionRun(name=reproduction.name, mode=mode, reason=f"needs {needs}")
    # Quick settings are made for the digits that come with scikit-learn, and use those unless MNIST is needed.
    digits = data if needs or not quick else None
    given = {"data": digits, "device": device, "progress": progress}
    known = inspect.signature(reproduction.run).parameters
    own = reproduction.quick if quick else reproduction.full
    options = {key: value for key, value in given.items() if key in known} | dict(own)
    started, made_from = processor_time(), provenance(str(options.get("device", "cpu")))
    try:
        result = reproduction.run(**options)
    except ValueError as error:
        return ReproductionRun(name=reproduction.name, mode=mode, reason=str(error))
    seconds = round(processor_time() - started, 1)
    return ReproductionRun(name=reproduction.name, mode=mode, processor_seconds=seconds, result=result, **made_from)


#: Arguments that say where to run a reproduction and what to draw of it, and not what is run.
PLACES = frozenset(
    {
        "device",
        "data",
        "data_folder",
        "store",
        "yes",
        "engine",
        "workers",
        "address",
        "commit",
        "figures",
        "progress",
        "recorded",
    }
)


def mode_of(reproduction: Reproduction[Any], arguments: Mapping[str, Any]) -> Mode:
    """Return whether arguments are the full settings, those for one GPU, the quick ones, or others."""
    signature = inspect.signature(reproduction.run).parameters.values()
    usual = {one.name: one.default for one in signature if one.default is not inspect.Parameter.empty}

    def settings(given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in (usual | dict(given)).items() if name not in PLACES}

    own = settings(arguments)
    if own == settings(reproduction.full) and not (reproduction.needs and arguments.get("data") is None):
        return "full"
    if reproduction.gpu and own == settings(reproduction.gpu):
        return "gpu"
    return "quick" if own == settings(reproduction.quick) else "own"


def processor_time() -> float:
    """Return seconds of this process and of workers it has waited for."""
    return sum(os.times()[:4])


#: Names the version of the source where the source is not a checkout, such as a copy on another machine.
COMMIT_VARIABLE = "UNBRAID_COMMIT"


def provenance(device: str = "cpu") -> dict[str, str]:
    """Return the version of the source, where it is known, and the machine with its GPU, as fields of a run."""
    where = Path(__file__).parent
    asked = ["git", "-C", str(where), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=False)
        commit = told.stdout.strip() if told.returncode == 0 else ""
    except OSError:
        commit = ""
    machine = f"{platform.machine()}, {usable_cores()} cores"
    if device.startswith("cuda"):
        import torch

        machine += f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return {"commit": commit or os.environ.get(COMMIT_VARIABLE, ""), "machine": machine}


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


SETTINGS: Mapping[Mode, str] = {
    "quick": "Quick settings",
    "gpu": "The size for one GPU",
    "full": "Full settings",
    "own": "Own settings",
}


def how_run(outcome: Outcome) -> str:
    """Return how it was run, on what, and its cost."""
    run = outcome.run
    if run.result is None:
        return f"Not run: {run.reason.rstrip('.')}."
    took = f", {run.processor_seconds:.0f} s of processor time" if run.processor_seconds else ""
    where = f" on {run.machine}" if run.machine else ""
    source = f", source {run.commit}" if run.commit else ""
    sentences = [f"{SETTINGS[run.mode]}{took}{where}{source}."]
    if run.mode != "full" or not outcome.parts:
        sentences += run.result.notes
    if not outcome.parts:
        sentences.append("No number is compared.")
    return " ".join(sentences)


def reason_of(part: Part) -> str:
    """Return how many are nearer the truth or beyond what seeds explain, what does not count, why others differ."""
    found = []
    if not part.checks:
        found.append(f"Not measured. {part.reason}".rstrip())
    if part.checks and not part.n_printed:
        found.append("The paper prints no such number; ours stand beside the truth.")
    if part.compared and not part.n_attempted:
        if not part.is_full:
            found.append("Measured at other settings than the full ones.")
        if part.surrogate:
            found.append(part.surrogate)
        found.append(f"{part.n_agree} of {len(part.compared)} agree, which does not count.")
    if part.n_attempted and part.n_attempted < part.n_printed:
        found.append(f"{part.n_printed - part.n_attempted} of {part.n_printed} printed numbers were not compared.")
    if part.n_nearer:
        verb = "is" if part.n_nearer == 1 else "are"
        found.append(f"{part.n_nearer} {verb} further from the paper than allowed and nearer the truth than the paper.")
    if part.n_beyond_seeds and part.n_attempted:
        verb = "agrees within the margin and is" if part.n_beyond_seeds == 1 else "agree within the margin and are"
        found.append(f"{part.n_beyond_seeds} {verb} further from the paper than other seeds explain.")
    tuned = sum(check.tuned for check in part.checks)
    if tuned:
        found.append(f"{tuned} more, which a setting was chosen by, are shown and not counted.")
    if part.n_agree < len(part.compared) and not part.surrogate:
        found.append(part.reason or "No reason is recorded.")
    return " ".join(found)


def counts_of(part: Part) -> tuple[str, str, str]:
    """Return how many numbers are printed, were attempted and agree, as text; agreement where any was attempted."""
    return str(part.n_printed), str(part.n_attempted), str(part.n_agree) if part.n_attempted else ""


def _summary(outcomes: Sequence[Outcome]) -> list[str]:
    rows = ["| | Reproduction | Table or figure | Printed | Attempted | Agree | Why |", "| --- " * 7 + "|"]
    for outcome in outcomes:
        name = f"[`{outcome.reproduction.name}`](#{outcome.reproduction.name})"
        if not outcome.parts:
            rows.append(f"| {_mark(Colour.GREY)} | {name} | all | | 0 | | {how_run(outcome)} |")
        for part in outcome.parts:
            cells = (_mark(part.colour), name, part.where, *counts_of(part), reason_of(part))
            rows.append(f"| {' | '.join(cells)} |")
    return rows


def _section(outcome: Outcome) -> Iterator[str]:
    about = outcome.reproduction
    yield f"## {about.name}\n"
    more = f"[What it does, its options and what differs](reproductions/{about.name}.md)"
    yield f"{about.title}. {about.paper}. {more}.\n"
    yield f"{how_run(outcome)}\n"
    for part in outcome.parts:
        yield f"### {about.name}, {part.where}\n"
        yield f"{_mark(part.colour)}: {sentence_of(part)} {reason_of(part)}".rstrip() + "\n"
        if part.checks:
            yield "| | ours | paper | truth | allowed | |\n| --- | --- | --- | --- | --- | --- |"
            yield "\n".join(_row(check) for check in part.checks) + "\n"


def sentence_of(part: Part) -> str:
    """Return the counts of a table or figure as a sentence."""
    if not part.n_attempted:
        return f"{part.n_printed} printed, none attempted."
    return f"{part.n_printed} printed, {part.n_attempted} attempted, {part.n_agree} agree."


def _row(check: Check) -> str:
    paper = check.claim or as_text(check.paper)
    differs = check.agreement is Agreement.DIFFERS
    agreement = f"**{check.agreement}**" if differs else str(check.agreement)
    agreement += ", not counted" if check.tuned or not check.is_printed else ""
    return f"| {check.what} | {as_text(check.ours)} | {paper} | {as_text(check.truth)} | {check.rule} | {agreement} |"


def _mark(colour: Colour) -> str:
    return f"{MARKS[colour]} {colour}"
