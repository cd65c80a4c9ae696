"""Tables read from .csv, .tsv and .parquet files, with the values that the same arrays have in Python."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.text import listing
from unbraid.representation.factor import EXACT_UP_TO, FactorKind
from unbraid.representation.formats.headers import TEXT_TABLES
from unbraid.representation.formats.hugging_face import ClassNames, class_names, with_names

LOOKED_AT = 65_536
DECIMAL_COMMA = re.compile(r"(?:^|;)\s*\"?-?\d+,\d+(?:[eE][-+]?\d+)?\"?\s*(?=;|$)", re.MULTILINE)
NUMBER = re.compile(r"\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?\s*")
WHOLE_NUMBER = re.compile(r"\s*[-+]?\d+\s*")
#: What an empty cell holds in a column of text; other words for "nothing" may be names there, such as NA for Namibia.
EMPTY = ["", "nan", "NaN"]
#: Attributes of a table: how many fields of each row, its number or name, stand before the first column; the files that
#: its rows are from; and the names of classes that whole numbers of a column stand for.
UNNAMED, FILES, CLASSES = "unnamed", "files", "class_names"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """A file of a table.

    Attributes:
        path: The file.
        n_before: Fields of each row before the first that has a name.
        names: Names of its columns, in order.
    """

    path: Path
    n_before: int
    names: tuple[str, ...]


def table_format(source: Path) -> tuple[str, str]:
    """Return what stands between columns, and what before the decimals of a number.

    Tabs in a .tsv file. Else commas, unless the first line has none and has semicolons or tabs: a table of one column
    has no use here. Numbers such as 0,5 between semicolons have a decimal comma, as spreadsheets of many countries
    write them.

    Raises:
        ValueError: The text is in UTF-16.
    """
    with source.open("rb") as file:
        start = file.read(LOOKED_AT)
    if start.startswith(UTF_16) or b"\0" in start:
        raise ValueError("it is UTF-16 or no text; save it as UTF-8, as with iconv -f utf-16 -t utf-8.")
    always = TEXT_TABLES.get(source.suffix.lower())
    if always is not None:
        return always, "."
    text = start.decode("utf-8", errors="replace").replace("\r", "\n")
    header, _, body = text.partition("\n")
    if "," in header:
        return ",", "."
    if ";" in header:
        return ";", "," if DECIMAL_COMMA.search(body) else "."
    return ("\t" if "\t" in header else ","), "."


def read_table(source: Path) -> pd.DataFrame:
    """Return the table of a file that exists.

    Raises:
        ValueError: It cannot be read, or rows do not fit the names above them.
    """
    suffix = source.suffix.lower()
    try:
        frame = _read_csv(source) if suffix in TEXT_TABLES else _read_parquet(source)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"path {str(source)!r} cannot be read as {suffix}: byte {error.object[error.start]:#x} is not UTF-8; save "
            "it as UTF-8, as with iconv -f latin1 -t utf-8."
        ) from error
    except (ValueError, OSError, csv.Error) as error:
        raise ValueError(f"path {str(source)!r} cannot be read as {suffix}: {first_line(error)}") from error
    frame.columns = pd.Index([str(name) for name in frame.columns])
    return frame


def _read_parquet(source: Path) -> pd.DataFrame:
    import pyarrow.parquet as parquet

    frame = _with_numbers(pd.read_parquet(source))
    frame.attrs[CLASSES] = class_names(parquet.read_schema(source).metadata)
    return frame


def _with_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return decimals, which pandas has for objects, as numbers."""
    for place, dtype in enumerate(frame.dtypes):
        column = frame.iloc[:, place]
        if dtype.kind == "O" and len(known := column.dropna()) and isinstance(known.iloc[0], Decimal):
            frame.isetitem(place, column.to_numpy(dtype=np.float64, na_value=np.nan))
    return frame


def _read_csv(source: Path) -> pd.DataFrame:
    sep, decimal = table_format(source)
    try:
        frame = pd.read_csv(source, low_memory=False, sep=sep, decimal=decimal)
    except pd.errors.ParserError as error:
        raise ValueError(_why_broken(source, sep)) from error
    names, first = _first_rows(source, sep)
    twice = [name for name, count in Counter(names).items() if name and count > 1 and not NUMBER.fullmatch(name)]
    if twice:  # pandas would give the second another name
        raise ValueError(f"its first line has the name {twice[0]!r} twice; give every column a name of its own.")
    # Where rows are longer than the line of names, pandas takes their first fields for the names of rows.
    if len(first) <= frame.shape[1]:
        return _without_row_names(frame) if names[0] == "" and frame.shape[1] > 1 else frame
    if frame.index.nlevels == 1 and any(frame.index.equals(pd.RangeIndex(k, len(frame) + k)) for k in (0, 1)):
        frame.attrs[UNNAMED] = 1
        return frame.reset_index(drop=True)
    if frame.iloc[:, -frame.index.nlevels :].isna().all(axis=None):  # rows may end in separators
        columns = range(frame.shape[1])
        return pd.read_csv(source, low_memory=False, sep=sep, decimal=decimal, index_col=False, usecols=columns)
    n_names = frame.shape[1]
    raise ValueError(
        f"rows have {n_names + frame.index.nlevels} fields and the first line {n_names} names, "
        f"{listing(list(map(str, frame.columns)), most=3)}; give every column a name, and put fields that hold "
        f"{sep!r} in quotes."
    )


def _without_row_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out a first column without a name that numbers the rows, or has text of its own in each: an index."""
    column = frame.iloc[:, 0]
    numbers = pd.api.types.is_numeric_dtype(column.dtype)
    counts = numbers and any(np.array_equal(column, np.arange(k, len(frame) + k)) for k in (0, 1))
    if not counts and (numbers or column.isna().any() or not column.is_unique):
        return frame
    left = frame.iloc[:, 1:].copy()
    left.attrs[UNNAMED] = 1
    return left


def _first_rows(source: Path, sep: str) -> tuple[list[str], list[str]]:
    """Return the fields of the line of names, and of the first row."""
    with source.open(encoding="utf-8-sig", newline="") as file:
        rows = (row for row in csv.reader(file, delimiter=sep) if row)
        return next(rows, []), next(rows, [])


def _why_broken(source: Path, sep: str) -> str:
    """Return in a sentence where the rows of a text are not rows of a table."""
    with source.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(file, delimiter=sep, strict=True)
        widths: list[int] = []
        line = 1
        try:
            for row in rows:
                if len(widths) > 1 and len(row) > max(widths):
                    return (
                        f"line {line} has {len(row)} fields and those before have {max(widths)}; put fields that hold "
                        f"{sep!r} in quotes."
                    )
                widths += [len(row)] if row and len(widths) < 2 else []
                line = rows.line_num + 1
        except csv.Error:
            return f"a quotation mark in line {line} has no second one; close it, or write it twice within a field."
    return "its rows cannot be told from each other; save it again as a table."


def labels_of(
    frame: pd.DataFrame, columns: Sequence[str], kinds: Sequence[str | None]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return columns of labels by name, and notes.

    Numbers of classes that have names become the names, unless the column is declared to be of another kind. Columns of
    a table of text that pandas may misread are read as text: a column of text, whose words NA, None and null are names;
    a column declared categorical, where 01 and 1 are two names; and whole numbers that a float cannot hold.

    Args:
        frame: The table, with its files.
        columns: Names of the columns.
        kinds: The kind declared for each, or ``None``.
    """
    found: dict[str, Any] = {name: frame[name] for name in columns}
    classes: ClassNames = frame.attrs.get(CLASSES, {})
    for name, kind in zip(columns, kinds, strict=True):
        if name in classes and kind in (None, FactorKind.CATEGORICAL):
            found[name] = with_names(frame[name], classes[name])
    files: Sequence[TableFile] = frame.attrs.get(FILES, ())
    if not files or files[0].path.suffix.lower() not in TEXT_TABLES:
        return found, ()
    declared = {name for name, kind in zip(columns, kinds, strict=True) if kind == "categorical"}
    doubtful = [name for name in frame.columns if name in found and (name in declared or _may_be_misread(frame[name]))]
    if not doubtful:
        return found, ()
    text = pd.concat([_as_text(file, doubtful) for file in files], ignore_index=True)
    words: dict[str, int] = {}
    for name in doubtful:
        found[name] = _resolved(frame[name], text[name].astype(object), is_declared=name in declared)
        n_words = int((frame[name].isna() & found[name].notna()).sum())
        if n_words:
            words[name] = n_words
    if not words:
        return found, ()
    parts = listing([f"{name} ({count} rows)" for name, count in words.items()])
    return found, (f"Words such as NA, None and null were read as names, not as unlabelled, in: {parts}.",)


def _as_text(file: TableFile, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns of a table of text as text."""
    places = [file.n_before + file.names.index(name) for name in columns]
    text = pd.read_csv(
        file.path,
        sep=table_format(file.path)[0],
        header=0,
        names=range(file.n_before + len(file.names)),
        index_col=False,
        usecols=places,
        dtype=str,
        keep_default_na=False,
        na_values=EMPTY,
    )
    return text[places].set_axis(list(columns), axis=1)


def _may_be_misread(column: pd.Series[Any]) -> bool:
    """Tell whether words for "nothing" may have been names, or whole numbers lost their last digits."""
    if column.isna().any() or not pd.api.types.is_numeric_dtype(column.dtype):
        return True
    return bool(pd.api.types.is_float_dtype(column.dtype) and column.abs().max() >= EXACT_UP_TO)


def _resolved(read: pd.Series[Any], text: pd.Series[Any], *, is_declared: bool) -> pd.Series[Any]:
    """Return what pandas read where it is numbers or truth values, else the text."""
    known = read.dropna()
    if not len(known) or (
        not pd.api.types.is_numeric_dtype(read.dtype) and any(isinstance(value, str) for value in known)
    ):
        return text
    labels = text.where(read.notna(), None)
    numbers = exact_numbers(labels, read)
    if is_declared and labels.str.strip().nunique() > numbers.nunique():  # 01 and 1 are one number and two names
        return labels
    return numbers


def exact_numbers(text: pd.Series[Any], numbers: pd.Series[Any]) -> pd.Series[Any]:
    """Return ``numbers``, or the whole numbers written in ``text`` where floats cannot hold them."""
    if not pd.api.types.is_float_dtype(numbers.dtype) or not numbers.abs().max() >= EXACT_UP_TO:
        return numbers
    if not text.dropna().map(lambda value: WHOLE_NUMBER.fullmatch(value) is not None).all():
        return numbers
    return pd.Series([None if pd.isna(value) else int(value) for value in text], index=text.index, dtype=object)


def kinds_of(kinds: Sequence[str | None] | Mapping[str, str] | None, names: Sequence[str]) -> list[str | None]:
    """Return the kind declared for each name, ``None`` where there is none."""
    if isinstance(kinds, Mapping):
        return [kinds.get(name) for name in names]
    given = [] if kinds is None else list(kinds)
    return [*given, *[None] * len(names)][: len(names)]


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, as a sentence ends."""
    lines = str(error).splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".") + "."
