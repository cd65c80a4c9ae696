"""Names, numbers, counts and durations, written for sentences and tables."""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame


def listing(items: Sequence[str], most: int = 6) -> str:
    """Join words as a sentence does, cutting a long list short.

    Example:
        >>> listing(["a", "b", "c"]), listing(["a", "b", "c", "d"], most=2)
        ('a, b and c', 'a, b and 2 more')
    """
    shown = list(items[:most])
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""


def file_name(name: str) -> str:
    r"""Return the name of a file as text: bytes of no encoding, which Python keeps as half characters, become ``\xff``.

    Example:
        >>> file_name("a\udcff.npz")
        'a\\xff.npz'
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def printable(text: str) -> str:
    r"""Write control characters, line breaks and what steers the direction of text as a terminal can show them.

    Example:
        >>> printable("a\x1b[31m\n")
        'a\\x1b[31m\\n'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or unicodedata.category(c) == "Zs" else c.encode("unicode_escape").decode() for c in text
    )


#: What makes a spreadsheet take a cell for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_cell(value: object) -> object:
    """Return a value for a cell of a table; text that a spreadsheet would take for a formula after an apostrophe.

    Example:
        >>> as_cell("=1+1"), as_cell(-0.5)
        ("'=1+1", -0.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def as_csv(table: DataFrame, *, index: bool = False) -> str:
    """Write a table as CSV, without formulas: in its cells, in its index and in the names of its columns."""
    return table.map(as_cell).rename(index=as_cell, columns=as_cell).to_csv(index=index)


def quoted(names: Sequence[str], most: int = 6) -> str:
    """Join names of factors or codes, each in quotes, to set them apart from the words of the sentence.

    Example:
        >>> quoted(["x", "y"])
        '“x” and “y”'
    """
    return listing([f"“{name}”" for name in names], most)


EN_DASH, MINUS = "\u2013", "\u2212"
MISSING = EN_DASH


def number(value: float | None) -> str:
    """Write a number for a table: three decimals, fewer once it is large.

    Example:
        >>> number(0.85712), number(-0.0001), number(34.402), number(None), number(float("inf"))
        ('0.857', '0.000', '34.40', '–', '∞')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    if size >= 1e6:
        return f"{value:.3g}".replace("-", MINUS)
    text = f"{value:,.{3 if size < 10 else 2 if size < 100 else 1}f}"
    return (text.lstrip("-") if float(text.replace(",", "")) == 0 else text).replace("-", MINUS)


def short(value: float) -> str:
    """Write a number for a narrow cell: two decimals."""
    text = number(value)
    return text if not math.isfinite(value) or abs(value) >= 10 else f"{round(value, 2) + 0.0:.2f}".replace("-", MINUS)


def exact(value: float | None) -> str:
    """Write a number with all its digits, as the JSON has it; empty when there is none."""
    return "" if value is None or not math.isfinite(value) else repr(float(value))


def spoken(title: str) -> str:
    """Write a title for the middle of a sentence, where its own comma would mislead.

    Example:
        >>> spoken("DCI completeness, forest"), spoken("Z-diff (beta-VAE metric)")
        ('DCI completeness (forest)', 'Z-diff')
    """
    head, comma, tail = title.partition(", ")
    return f"{head} ({tail})" if comma else title.partition(" (")[0] if not title[-2:-1].isdigit() else title


def clip(name: str, most: int = 60) -> str:
    """Cut a long name short, for the heading of a row or column."""
    return name if len(name) <= most else name[: most - 1] + "…"


def count(n: int, noun: str) -> str:
    """Write a count and its noun, in the plural where needed."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def parse_time(time: str | float) -> float:
    """Return a length of time in seconds.

    Args:
        time: Seconds, or a text such as ``"90s"``, ``"10m"``, ``"1.5 h"``.

    Raises:
        ValueError: Not such a text, or not positive.

    Example:
        >>> parse_time("10m"), parse_time("1.5 h"), parse_time(30)
        (600.0, 5400.0, 30.0)
    """
    units = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(s|m|min|h|d|)\s*", str(time).lower())
    seconds = float(match[1]) * units[match[2]] if match else 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"time must be a length of time such as '90s', '10m' or '2h', got {time!r}.")
    return seconds


def duration(seconds: float) -> str:
    """Write a length of time, to two units where the larger is below ten.

    Example:
        >>> duration(4.6), duration(75), duration(3700), duration(80_000), duration(200_000)
        ('5 s', '1 min 15 s', '1 h 1 min', '22 h', '2 d 7 h')
    """
    whole = round(seconds)
    for size, unit, smaller, below in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= 10 * size:
            return f"{round(whole / size)} {unit}"
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{whole} s"
