"""``python -m fuzz``: inputs of every format against the contract of the command line, and a table at the end."""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Flaky, FlakyStrategyDefinition

from fuzz.contract import GOOD, ContractError, Format, Input, Outcome, run
from fuzz.formats import FORMATS
from fuzz.speed import quick

#: Inputs of one run of Hypothesis, which remembers what it tried; a violation ends the run, and the next one begins.
BATCH = 200
#: Violations of a format after which it is given up.
MOST_VIOLATIONS = 20
#: Letters of a violation that are printed.
MOST_SHOWN = 3000
#: Where files are made and removed without a disk, if the system has it.
IN_MEMORY = Path("/dev/shm")
#: Memory that this process may ask for beyond what it has: a guard for the machine, far above the contract.
GUARD = 16 * 2**30


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of the inputs of one format.

    Attributes:
        name: Name of the format.
        outcomes: Number of inputs by exit code.
        violations: What broke the contract, in words, with the smallest input that does.
        seconds: Seconds on the clock.
    """

    name: str
    outcomes: Counter[int] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def row(self) -> list[str]:
        """Return the cells of the table."""
        n_inputs = self.outcomes.total()
        counts = (n_inputs, self.outcomes[GOOD], n_inputs - self.outcomes[GOOD], len(self.violations))
        return [self.name, *map(str, counts), f"{self.seconds:.0f}"]


HEADINGS = ["format", "inputs", "accepted", "refused", "violations", "seconds"]


def fuzz(kind: Format, *, n_inputs: int, start: int = 0, place: Path, n_real: int = 0, shrink: bool = True) -> Tally:
    """Run inputs of one format.

    Args:
        kind: The format.
        n_inputs: How many inputs.
        start: Seed; the same seed and number give the same inputs.
        place: Folder to use.
        n_real: How many of them to run again in a process of their own.
        shrink: Look for a smaller input that breaks the contract, which takes some seconds.
    """
    tally = Tally(name=kind.name)
    started = time.monotonic()
    every = max(1, n_inputs // n_real) if n_real and kind.call is None else 0
    number = 0
    with quick():
        while (left := n_inputs - tally.outcomes.total()) > 0 and len(tally.violations) < MOST_VIOLATIONS:
            _batch(kind, min(BATCH, left), start * 1_000_003 + number, place, tally, every, shrink)
            number += 1
    tally.seconds = time.monotonic() - started
    return tally


def _batch(kind: Format, n_inputs: int, start: int, place: Path, tally: Tally, every: int, shrink: bool) -> None:
    @seed(start)
    @settings(
        max_examples=n_inputs,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @given(kind.inputs)
    def check(one: Input) -> None:
        try:
            outcome = run(one, kind, place)
            tally.outcomes[outcome.code] += 1
            if every and tally.outcomes.total() % every == 0:
                _check_same(outcome, run(one, kind, place, in_process=False))
        except ContractError as error:
            error.add_note(repr(one))
            raise

    try:
        check()
    except FlakyStrategyDefinition:  # the generator was at odds with itself; the next run goes on
        pass
    except (ContractError, Flaky) as error:  # flaky: it broke the contract once, and not again
        found: list[BaseException] = [error]
        while isinstance(found[0], BaseExceptionGroup):
            found = [*found[0].exceptions, *found[1:]]
        notes = "\n".join(note for one in (*found, error) for note in getattr(one, "__notes__", ()))
        said = f"{'once, and not again: ' if isinstance(error, Flaky) else ''}{found[0]}"
        tally.violations.append(f"{kind.name}, seed {start}: {said[:MOST_SHOWN]}\n{notes[:MOST_SHOWN]}")
        print(tally.violations[-1], file=sys.stderr, flush=True)


def _check_same(here: Outcome, apart: Outcome) -> None:
    """Raise unless a process of its own ends as the same command does in this process."""
    if (here.code, here.sentence) != (apart.code, apart.sentence):
        raise ContractError(
            f"alone it ended with {apart.code}, {apart.sentence!r}; here with {here.code}, {here.sentence!r}"
        )


def _table(tallies: Sequence[Tally]) -> str:
    rows = [HEADINGS, *(tally.row() for tally in tallies)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADINGS))]
    lines = [
        "  ".join(
            cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the harness; returns 1 if there was a violation."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=300, help="inputs for each format (300, some minutes in all)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same inputs")
    parser.add_argument("--format", action="append", choices=sorted(FORMATS), help="only this format; may be repeated")
    parser.add_argument("--real", type=int, default=3, help="inputs of each format that are run again as real commands")
    parser.add_argument("--no-shrink", action="store_true", help="show violations as they are found, not made smaller")
    options = parser.parse_args(arguments)
    tallies = []
    above = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="unbraid-fuzz-", dir=above) as place:
        for name in options.format or FORMATS:
            kind = FORMATS[name]
            how = {"n_inputs": options.inputs, "start": options.seed, "n_real": options.real}
            tallies.append(fuzz(kind, place=Path(place) / "input", shrink=not options.no_shrink, **how))
            print(_table(tallies[-1:]).splitlines()[1], file=sys.stderr, flush=True)
    print(_table(tallies))
    return int(any(tally.violations for tally in tallies))


def _guard_memory() -> None:
    if Path("/proc/self/statm").exists():
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + GUARD, resource.RLIM_INFINITY))


if __name__ == "__main__":
    _guard_memory()
    sys.exit(main())
