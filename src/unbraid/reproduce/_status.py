"""The status page in Markdown: which tables and figures agree with the papers, and every number behind that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unbraid.reproduce._agreement import RULE, Check, Colour, Part, Standing
from unbraid.reproduce._run_all import Outcome

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
