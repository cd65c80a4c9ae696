"""Blocks of codes: names for groups of columns, from columns, slices, names of codes or text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from unbraid._base.checks import did_you_mean
from unbraid._base.text import listing

#: Columns of each block, by the name of the block.
Blocks = dict[str, tuple[int, ...]]
EXAMPLE = 'such as {"z_y": [0, 1], "z_d": slice(2, 4)}, or "z_y=0-1,z_d=2-3"'
#: Digits of the number of a column: Python refuses to read thousands of them.
MOST_DIGITS = 18
SPAN = re.compile(rf"(\d{{1,{MOST_DIGITS}}})-(\d{{1,{MOST_DIGITS}}})")


def check_blocks(blocks: Any, code_names: Sequence[str]) -> Blocks:
    """Return the columns of each block, or raise with the reason.

    Args:
        blocks: From the name of a block to its columns: numbers, names of codes, a slice or a range; text such as
            ``"z_y=0-1,z_d=2-3"``; ``None`` for no blocks.
        code_names: Names of the codes, in order.

    Raises:
        ValueError: A column that is not there, a block without columns, two blocks with a column in common.
        TypeError: Neither a mapping nor text.

    Example:
        >>> check_blocks({"z_y": [0, 1], "z_d": slice(2, 4)}, ["a", "b", "c", "d"])
        {'z_y': (0, 1), 'z_d': (2, 3)}
        >>> check_blocks("z_y=0-1,z_d=c,d", ["a", "b", "c", "d"])
        {'z_y': (0, 1), 'z_d': (2, 3)}
    """
    if blocks is None:
        return {}
    if isinstance(blocks, str):
        blocks = _read(blocks)
    if not isinstance(blocks, Mapping):
        raise TypeError(f"blocks must be a mapping from name to columns, {EXAMPLE}, got {blocks!r}.")
    found: Blocks = {}
    for name, columns in blocks.items():
        if not str(name).strip():
            raise ValueError(f"blocks must have names, got an empty one for {columns!r}; give each a name, {EXAMPLE}.")
        found[str(name)] = _columns(str(name), columns, code_names)
    _check_apart(found, code_names)
    return found


def _columns(name: str, columns: Any, code_names: Sequence[str]) -> tuple[int, ...]:
    """Return the columns of one block, each once, in the order given."""
    if isinstance(columns, slice):
        listed: Iterable[Any] = range(*columns.indices(len(code_names)))
    elif isinstance(columns, str | int | np.integer) or not isinstance(columns, Iterable):
        listed = [columns]
    else:
        listed = columns
    found = [j for column in listed for j in _places(name, column, code_names)]
    if not found:
        raise ValueError(f"blocks must have at least one column each, got none for {name!r}; name its columns.")
    if len(set(found)) != len(found):
        twice = next(j for j in found if found.count(j) > 1)
        raise ValueError(f"blocks must name a column once, got {code_names[twice]!r} twice in {name!r}; drop one.")
    return tuple(found)


def _places(name: str, column: Any, code_names: Sequence[str]) -> list[int]:
    """Return the place of a column by number, or of the codes that a name or pattern matches."""
    if isinstance(column, str):
        matched = [j for j, code in enumerate(code_names) if code == column]
        matched = matched or [j for j, code in enumerate(code_names) if fnmatchcase(code, column)]
        if matched:
            return matched
        if not column.isdecimal() or len(column) > MOST_DIGITS:
            raise ValueError(
                f"blocks names {column!r} in {name!r}, which is no code: codes are {listing(list(code_names), most=8)}"
                f"{did_you_mean(column, code_names)}; name codes that are there, or give their numbers."
            )
        column = int(column)
    if isinstance(column, bool) or not isinstance(column, int | np.integer):
        raise ValueError(f"blocks must have columns that are whole numbers or names, got {column!r} in {name!r}.")
    if not 0 <= column < len(code_names):
        raise ValueError(
            f"blocks must have columns from 0 to {len(code_names) - 1}, got {column} in {name!r}; there are "
            f"{len(code_names)} codes."
        )
    return [int(column)]


def _check_apart(blocks: Blocks, code_names: Sequence[str]) -> None:
    owner: dict[int, str] = {}
    for name, columns in blocks.items():
        for j in columns:
            if j in owner:
                raise ValueError(
                    f"blocks must not overlap, got {code_names[j]!r} (column {j}) in both {owner[j]!r} and {name!r}; "
                    "give it to one of them."
                )
            owner[j] = name


def _read(text: str) -> dict[str, list[Any]]:
    """Read ``z_y=0-1,z_d=2,3``; a part without a name belongs to the block before it."""
    found: dict[str, list[Any]] = {}
    name = None
    for part in text.split(","):
        start, equals, rest = part.partition("=")
        if equals:
            name = start.strip()
            if name in found:
                raise ValueError(f"blocks must differ in their names, got {name!r} twice; give each a name of its own.")
            found[name] = []
        elif name is None:
            raise ValueError(f"blocks must be name=columns separated by commas, {EXAMPLE}, got {text!r}.")
        found[str(name)] += _span((rest if equals else part).strip())
    return found


def _span(text: str) -> list[Any]:
    """Return the columns from the first to the last of ``2-5``, or the text itself, which names a code."""
    if not text:
        return []
    ends = SPAN.fullmatch(text)
    if ends is None:
        return [text]
    first, last = int(ends[1]), int(ends[2])
    if last < first:
        raise ValueError(f"blocks must have columns from low to high, got {text!r}; write {last}-{first}.")
    return [first, last] if last - first > 10**6 else list(range(first, last + 1))


def blocks_to_json(blocks: Blocks) -> str:
    """Return blocks as the text that files hold."""
    return json.dumps({name: list(columns) for name, columns in blocks.items()})


def blocks_from_json(text: str) -> dict[str, Any]:
    """Return blocks from the text that files hold.

    Raises:
        ValueError: It is no JSON object of columns by name.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"blocks of the file must be JSON, got {text[:80]!r}; write it with unbraid.save.") from error
    if not isinstance(found, dict) or not all(isinstance(columns, list) for columns in found.values()):
        raise ValueError(f"blocks of the file must be an object of columns by name, got {text[:80]!r}.")
    return found


def parts_of_codes(blocks: Sequence[Sequence[int]], n_codes: int, *, option: str) -> list[tuple[int, ...]]:
    """Return the columns of each block, and last those of no block together, where there are any.

    Args:
        blocks: Columns of each block.
        n_codes: Number of codes.
        option: What asked for blocks, for messages.

    Raises:
        ValueError: There are no blocks, or one that has all codes.
    """
    parts = [tuple(columns) for columns in blocks]
    taken = {j for columns in parts for j in columns}
    rest = tuple(j for j in range(n_codes) if j not in taken)
    parts += [rest] if rest and parts else []
    if len(parts) < 2:
        raise ValueError(
            f"codes must be in at least two blocks for {option}, got {len(parts)}; name them, {EXAMPLE}, or --blocks "
            "in the shell."
        )
    return parts
