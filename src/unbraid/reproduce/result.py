"""Typed results of reproductions: numbers, tables to print, and JSON that reads back into the same types."""

from __future__ import annotations

import math
import platform
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from unbraid._base.files import write_text
from unbraid._base.workers import usable_cores
from unbraid._version import __version__


@cache
def source_commit() -> str:
    """Return the commit of the clone that this source is in, ``+`` where files were changed; empty outside a clone."""
    where = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--exclude=*", "--dirty=+"],
            cwd=where,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


@cache
def this_machine() -> str:
    """Return the processor and the number of cores that may be used."""
    names = [platform.machine()]
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")] or names
    return f"{names[0]}, {usable_cores()} cores"


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Versions of the programs that made a result, and the machine.

    Attributes:
        unbraid: Version of this package.
        numpy: Version of NumPy.
        python: Version of Python.
        commit: Commit of the source, where it is a clone; empty where it was not recorded.
        machine: Processor, and the number of its cores; empty where it was not recorded.
    """

    unbraid: str = __version__
    numpy: str = np.__version__
    python: str = field(default_factory=platform.python_version)
    commit: str = ""
    machine: str = ""

    @classmethod
    def here(cls) -> Self:
        """Return the versions that run now, and the machine that they run on."""
        return cls(commit=source_commit(), machine=this_machine())


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One number of ours beside the paper's and the truth.

    Attributes:
        ours: Our number, a mean where there are several seeds; ``None`` where it is not finite or was not measured.
        paper: The paper's number; ``None`` where it prints none.
        claim: Statement of the paper in words, where it prints no number.
        truth: The right number, where it is known.
        spread: Standard deviation over seeds; ``None`` for fewer than two.
        seeds: Our number for each seed, where there are several or may be.

    Example:
        >>> Number.over_seeds((0.9, 1.0), paper=0.97).ours
        0.95
    """

    ours: float | None
    paper: float | None = None
    claim: str = ""
    truth: float | None = None
    spread: float | None = None
    seeds: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        # JSON has no NaN: a number that is not finite is None before it is written, and so the same when read back.
        object.__setattr__(self, "ours", finite(self.ours))

    @classmethod
    def over_seeds(cls, values: Sequence[float], *, paper: float | None = None, truth: float | None = None) -> Self:
        """Return the mean and standard deviation over seeds; no number where there are no values."""
        return cls(
            ours=float(np.mean(values)) if len(values) else None,
            paper=paper,
            truth=truth,
            spread=finite(float(np.std(values, ddof=1))) if len(values) > 1 else None,
            seeds=finite_tuple(values),
        )

    @property
    def published(self) -> str:
        """Published number or statement, as text."""
        return self.claim or ("" if self.paper is None else f"{self.paper:g}")


def finite(value: float | None) -> float | None:
    """Return a number, or ``None`` where it is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def difference(a: float | None, b: float | None) -> float | None:
    """Return ``a - b``, or ``None`` where either is."""
    return None if a is None or b is None else a - b


def ratio(a: float | None, b: float | None) -> float | None:
    """Return ``a / b``, or ``None`` where either is, or ``b`` is zero."""
    return None if a is None or not b else a / b


def finite_tuple(values: Iterable[float]) -> tuple[float | None, ...]:
    """Return numbers as a tuple, with ``None`` for those that are not finite."""
    return tuple(finite(float(value)) for value in values)


def as_text(value: float | None) -> str:
    """Return a number with three decimals, or two digits where it is small; whole numbers without decimals."""
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1000:
        return f"{value:.0f}"
    return f"{value:.2e}" if abs(value) < 0.01 else f"{value:.3f}"


Row = Sequence[str | Number]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table to print, with our numbers beside the published ones and the truth.

    Attributes:
        header: Names of the columns.
        rows: Cells: text, or numbers.
        title: Stands above the table.
        compact: Whether the paper's numbers stand in brackets behind ours, and not in columns of their own.
        wrap: Columns whose text may be broken.
    """

    header: Sequence[str]
    rows: Sequence[Row]
    title: str = ""
    compact: bool = False
    wrap: Sequence[str] = ()

    @property
    def text(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows as text; columns for the paper and the truth where any number has them."""
        columns: list[tuple[str, list[str]]] = []
        for name, *cells in zip(self.header, *self.rows, strict=True):
            numbers = [cell if isinstance(cell, Number) else None for cell in cells]
            columns.append((name, [cell if isinstance(cell, str) else self._ours(cell) for cell in cells]))
            for other, texts in (("paper", _published(numbers)), ("truth", _truths(numbers))):
                if not self.compact and any(texts):
                    columns.append((other, texts))
        return [name for name, _ in columns], [list(row) for row in zip(*(texts for _, texts in columns), strict=True)]

    def _ours(self, number: Number) -> str:
        ours = "-" if number.ours is None else as_text(number.ours)
        form = ".2e" if 0 < abs(number.ours or 0) < 0.01 else ".3f"
        spread = "" if number.spread is None else f" ± {number.spread:{form}}"
        return ours + spread + (f" ({number.published})" if self.compact and number.published else "")


def _published(numbers: Sequence[Number | None]) -> list[str]:
    return ["" if number is None else number.published for number in numbers]


def _truths(numbers: Sequence[Number | None]) -> list[str]:
    return ["" if number is None else as_text(number.truth) for number in numbers]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(ABC):
    """Numbers of one run of a reproduction.

    Attributes:
        made_with: Versions of the programs; ``None`` where they were not recorded.
    """

    made_with: Versions | None = field(default_factory=Versions.here)

    @property
    def notes(self) -> Sequence[str]:
        """Deviations from the published setup."""
        return ()

    @abstractmethod
    def tables(self) -> Sequence[Table]:
        """Return the tables to print."""

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the result as JSON, and write it to ``path`` if given; :meth:`from_json` reads it back."""
        text = as_json(self.kept())
        if path is not None:
            write_text(path, text + "\n")
        return text

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a result from the JSON of :meth:`to_json`.

        Raises:
            ValueError: The text is not JSON, or not of this type.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise ValueError(f"text must be the JSON of a {cls.__name__}: {error}") from error

    def kept(self) -> Mapping[str, Any]:
        """Return the fields that are written as JSON; of the versions, those that were recorded."""
        found = {one.name: getattr(self, one.name) for one in fields(self) if one.metadata.get("kept", True)}
        if self.made_with is not None:
            found["made_with"] = {name: value for name, value in asdict(self.made_with).items() if value}
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnResult(Result):
    """A result with a figure.

    Attributes:
        drawing: What only the figure needs (charts, a picture, reports), too large to keep; ``None`` when read back.
    """

    # Any, since msgspec would look for a way to read any other type from JSON.
    drawing: Any = field(default=None, compare=False, repr=False, metadata={"kept": False})

    @abstractmethod
    def draw(self, path: str | Path) -> Path:
        """Write the figure to a file."""

    def needed_drawing(self) -> Any:
        """Return the data that only the figure needs.

        Raises:
            ValueError: The result was read back from JSON, which does not keep it.
        """
        if self.drawing is None:
            raise ValueError("the figure cannot be drawn from a result read from JSON: run the reproduction again.")
        return self.drawing


def as_json(value: Any) -> str:
    """Return JSON with one key to a line."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
