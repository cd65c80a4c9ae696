"""Which columns of a table are codes and which are factors."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from unbraid._validation import did_you_mean

PREFIX = "factor_"
MOST_NAMES = 20


def pick_columns(
    frame: pd.DataFrame, source: Path, *, codes: str | Sequence[str], factors: str | Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the names of the code columns and of the factor columns, none where ``factors`` is ``None``.

    Args:
        frame: The table.
        source: Where it came from, for messages.
        codes: Names and shell patterns, separated by commas or as a sequence. What they match in common with
            ``factors`` is a code, unless it is a factor by name and a code by a pattern only.
        factors: The same, for the factors.

    Raises:
        ValueError: A name or pattern matches nothing.
    """
    names = list(frame.columns)
    wanted = _parts(codes, names)
    labels = [] if factors is None else _parts(factors, names)
    taken = [name for name in labels if name in names and name not in wanted]
    found = _matches(wanted, [name for name in names if name not in taken], names, source, "code_columns")
    left = [name for name in names if name not in found]
    return found, _matches(labels, left, names, source, "factor_columns")


def short_names(columns: Sequence[str]) -> list[str]:
    """Return column names without the prefix ``factor_``, or as they are where two would become one."""
    short = [name.removeprefix(PREFIX) or name for name in columns]
    return short if len(set(short)) == len(short) else list(columns)


def _parts(wanted: str | Sequence[str], names: Sequence[str]) -> list[str]:
    """Take a list at its commas; a column whose own name has one is meant where it is given whole."""
    if not isinstance(wanted, str):
        return [str(part) for part in wanted]
    return [wanted] if wanted in names else [part.strip() for part in wanted.split(",")]


def _matches(parts: Sequence[str], left: Sequence[str], names: Sequence[str], source: Path, argument: str) -> list[str]:
    found: dict[str, None] = {}
    for part in parts:
        matched = [part] if part in left else [name for name in left if fnmatchcase(name, part)]
        if not matched:
            raise ValueError(_no_match(part, left, names, source, argument))
        found.update(dict.fromkeys(matched))
    return list(found)


def _no_match(part: str, left: Sequence[str], names: Sequence[str], source: Path, argument: str) -> str:
    if source.suffix.lower() == ".csv" and _are_numbers(names):
        return (
            f"path {str(source)!r} seems to have no header, as its first line holds {_some(names, most=3)}; "
            "put a line of column names above it, such as code_0,code_1,factor_size."
        )
    taken = [name for name in names if name not in left and fnmatchcase(name, part)]
    if taken and left:
        taken_as, by = ("codes", "code_columns") if argument == "factor_columns" else ("factors", "factor_columns")
        return (
            f"{argument} {part!r} matches only columns of {str(source)!r} taken as {taken_as} already, by {by}: "
            f"{_some(taken, most=3)}; name each column in one of the two."
        )
    return (
        f"{argument} {part!r} matches no column of {str(source)!r}, which has {_some(names, most=MOST_NAMES)}"
        f"{did_you_mean(part, left)}; {_cure(argument, left)}."
    )


def _cure(argument: str, left: Sequence[str]) -> str:
    if not left:
        return "all of them are codes: add columns of labels, or give labels as .npy with --factors"
    example = ",".join(left[:2] if argument == "code_columns" else left[-1:])
    option = argument.replace("_", "-")
    return f"name those to take, as in --{option} {example} in the shell or {argument}={example!r} in Python"


def _are_numbers(names: Sequence[str]) -> bool:
    """Tell whether most names are numbers; 0, 1, 2, ... in order are what pandas writes for a table without names."""
    if list(names) == [str(k) for k in range(len(names))]:
        return False
    numbers = pd.to_numeric(
        pd.Series(names, dtype=object).str.replace(r"(\.\d+)\.\d+$", r"\1", regex=True), errors="coerce"
    )
    return bool(numbers.notna().mean() > 0.5)


def _some(names: Sequence[str], *, most: int) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
