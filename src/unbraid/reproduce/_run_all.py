"""Every reproduction in turn, each kept as a file of its own, so that pages can be made again without running."""

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

from unbraid._files import write_text
from unbraid._validation import check_choice
from unbraid.reproduce._agreement import Colour, Part
from unbraid.reproduce._reproduction import Reproduction
from unbraid.result import finite

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
