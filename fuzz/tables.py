"""Codes and factors with odd content, as ``.csv``, ``.parquet``, ``.npy`` and ``.npz``, and as arrays in Python."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fuzz.contract import GOOD, ContractError, Format, Input, Outcome
from fuzz.mutate import mutated, mutated_within
from unbraid import Representation, evaluate, load

#: Cheap, and without chance levels and intervals, which add nothing here.
QUICK = ("--metrics", "mig", "--no-intervals", "--no-nulls", "--jobs", "1")
RESULT = "result.json"
N_ROWS = (24, 24, 24, 24, 12, 60, 10, 24, 24, 9, 3, 0)
WORDS = ("red", "green", "blue")
#: Names that are words for "nothing", syntax or an attack elsewhere; here they are names.
ODD_WORDS = ("NA", "None", "null", "a,b", 'c"d', "e\nf", "ü", " g", "=1+1", "<b>", "\x1b[31m", "#h", "i;j", "\u202e")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrays:
    """What a file holds, as a user would pass it in Python.

    Attributes:
        codes: Codes, an array or columns by name.
        factors: Factors, the same.
        names: Names of factors, unless the columns have them.
        kinds: Kinds of factors, where they are declared.
        blocks: Blocks of codes, where there are any.
    """

    codes: Any
    factors: Any
    names: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    blocks: Any = None


Make = Callable[[np.random.Generator, int], Any]


def _some_lost(rng: np.random.Generator, n: int) -> Any:
    return np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 4, n))


CODES: dict[str, Make] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "whole": lambda rng, n: rng.integers(-5, 6, n),
    "wide": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-20, 20, n),
    "single": lambda rng, n: rng.normal(size=n).astype(np.float32),
    "constant": lambda rng, n: np.full(n, 0.1),
    "far": lambda rng, n: 1e12 + rng.normal(size=n),
    "tiny": lambda rng, n: 1e-12 * rng.normal(size=n),
    "huge": lambda rng, n: 1e31 * rng.normal(size=n),
    "not a number": lambda rng, n: np.where(np.arange(n) == n // 2, np.nan, rng.normal(size=n)),
    "infinite": lambda rng, n: np.where(np.arange(n) == n // 2, np.inf, rng.normal(size=n)),
    "large integers": lambda rng, n: 2**60 + rng.integers(0, 4, n),
    "truth values": lambda rng, n: rng.random(n) < 0.5,
}
FACTORS: dict[str, Make] = {
    "levels": lambda rng, n: rng.integers(0, 4, n),
    "numbers": lambda rng, n: rng.normal(size=n),
    "some lost": _some_lost,
    "words": lambda rng, n: rng.choice(WORDS, n).astype(object),
    "odd words": lambda rng, n: rng.choice([*WORDS, *ODD_WORDS], n).astype(object),
    "truth values": lambda rng, n: rng.random(n) < 0.5,
    "large integers": lambda rng, n: 2**60 + rng.integers(0, 4, n),
    "larger integers": lambda rng, n: np.array([2**70 + int(k) for k in rng.integers(0, 4, n)], dtype=object),
    "far": lambda rng, n: 1.7e9 + rng.integers(0, 10, n),
    "tiny": lambda rng, n: 1e-15 * rng.integers(0, 4, n),
    "huge": lambda rng, n: 1e16 * rng.integers(0, 4, n),
    "infinite": lambda rng, n: np.where(np.arange(n) == n // 2, np.inf, rng.integers(0, 4, n)),
    "constant": lambda rng, n: np.full(n, 3),
    "one row each": lambda rng, n: rng.permutation(n),
    "no labels": lambda rng, n: np.full(n, np.nan),
}
#: Names of columns; the first are usual and come more often.
NAMES = ("a", "b", "shape", "x y", "ü", "=1+1", "<script>", "factor_", "0", "a,b", 'c"d', "\u202e", "None")


def _columns(draw: DrawFn, makers: dict[str, Make], n_rows: int, prefix: str, most: int) -> dict[str, Any]:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    usual = next(iter(makers))
    found: dict[str, Any] = {}
    for number in range(draw(st.integers(0 if draw(st.integers(0, 9)) == 9 else 2, most))):
        kind = draw(st.sampled_from(sorted(makers))) if draw(st.integers(0, 3)) == 3 else usual
        name = draw(st.sampled_from(NAMES)) if draw(st.integers(0, 3)) == 3 else NAMES[number]
        found[f"{prefix}{name}"] = makers[kind](rng, n_rows)
    return found


@st.composite
def worlds(draw: DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return columns of codes and of factors, by their names in a table."""
    n_rows = draw(st.sampled_from(N_ROWS))
    return _columns(draw, CODES, n_rows, "code_", 4), _columns(draw, FACTORS, n_rows, "factor_", 3)


def same_arrays(codes: dict[str, Any], factors: dict[str, Any]) -> Arrays:
    """Return columns of a table as they are passed in Python."""
    short = [name.removeprefix("factor_") or name for name in factors]
    names = short if len(set(short)) == len(short) else list(factors)
    frame = pd.DataFrame(codes)
    return Arrays(codes=frame, factors=dict(zip(names, factors.values(), strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a table is written as text."""

    separator: str
    decimal: str
    line_end: str
    start: str
    quote_all: bool
    row_numbers: bool
    trailing: bool


@st.composite
def _dialects(draw: DrawFn) -> Dialect:
    separator = draw(st.sampled_from([",", ",", ";", "\t"]))
    row_numbers = draw(st.integers(0, 9)) == 9
    return Dialect(
        separator=separator,
        decimal="," if separator == ";" and draw(st.booleans()) else ".",
        line_end=draw(st.sampled_from(["\n", "\n", "\r\n"])),
        start=draw(st.sampled_from(["", "", "", "\ufeff"])),
        quote_all=draw(st.integers(0, 9)) == 9,
        row_numbers=row_numbers,
        trailing=not row_numbers and draw(st.integers(0, 9)) == 9,
    )


def _cell(value: Any, decimal: str) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else repr(float(value)).replace(".", decimal)
    return str(value)


def csv_bytes(columns: dict[str, Any], how: Dialect) -> bytes:
    """Return a table as text."""
    text = io.StringIO()
    quoting: Any = csv.QUOTE_ALL if how.quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=how.separator, lineterminator=how.line_end, quoting=quoting)
    writer.writerow(columns)
    for number, row in enumerate(zip(*columns.values(), strict=True)):
        cells = [_cell(value, how.decimal) for value in row]
        writer.writerow([*([str(number)] if how.row_numbers else []), *cells, *([""] if how.trailing else [])])
    return (how.start + text.getvalue()).encode()


def scored(name: str, files: dict[str, bytes], arrays: Arrays | None, *more: str) -> Input:
    """Return the command that scores a file, with its files and the same arrays."""
    return Input(
        files=files, command=("score", name, *more, *QUICK, "--json", RESULT), outputs=(RESULT,), arrays=arrays
    )


def _is_certain(columns: dict[str, Any], how: Dialect) -> bool:
    """Tell whether the text of a table has one reading: names that stay apart, and a separator that is seen."""
    header = "".join(columns)
    clear = how.separator == "," or "," not in header
    return clear and len(columns) > 1 and not (how.separator == "\t" and ";" in header)


@st.composite
def _csv_inputs(draw: DrawFn) -> Input:
    codes, factors = draw(worlds())
    how = draw(_dialects())
    columns = {**codes, **factors}
    content = csv_bytes(columns, how)
    arrays = same_arrays(codes, factors) if _is_certain(columns, how) else None
    if draw(st.booleans()):
        content, arrays = draw(mutated(content)), None
    return scored("table.csv", {"table.csv": content}, arrays)


#: Types of Parquet columns that NumPy has no name for: no number is expected of them.
EXOTIC: dict[str, Callable[[int], Any]] = {
    "decimals": lambda n: pa.array([k % 3 for k in range(n)]).cast(pa.decimal128(30, 3)),
    "dates": lambda n: pa.array([k % 3 for k in range(n)], pa.int32()).cast(pa.date32()),
    "moments": lambda n: pa.array([k % 3 for k in range(n)], pa.timestamp("us", "UTC")),
    "durations": lambda n: pa.array([k % 3 for k in range(n)], pa.duration("s")),
    "times": lambda n: pa.array([k % 3 for k in range(n)], pa.time64("us")),
    "lists": lambda n: pa.array([[k % 3] for k in range(n)]),
    "structures": lambda n: pa.array([{"a": k % 3} for k in range(n)]),
    "maps": lambda n: pa.array([[("a", k % 3)] for k in range(n)], pa.map_(pa.string(), pa.int64())),
    "nothing": lambda n: pa.nulls(n),
    "dictionary": lambda n: pa.array([WORDS[k % 3] for k in range(n)]).dictionary_encode(),
    "bytes": lambda n: pa.array([b"\xff\x00"[: k % 3] for k in range(n)]),
    "halves": lambda n: pa.array(np.arange(n, dtype=np.float16) % 3),
    "unsigned": lambda n: pa.array(np.arange(n, dtype=np.uint64) % 3 + 2**63),
    "holes": lambda n: pa.array([None if k % 5 == 0 else k % 3 for k in range(n)]),
    "true, false or nothing": lambda n: pa.array([(None, True, False)[k % 3] for k in range(n)]),
}


def parquet_bytes(columns: dict[str, Any], **options: Any) -> bytes:
    """Return a table as Parquet."""
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


@st.composite
def _parquet_inputs(draw: DrawFn) -> Input:
    codes, factors = draw(worlds())
    arrays: Arrays | None = same_arrays(codes, factors)
    columns: dict[str, Any] = {name: pa.array(values) for name, values in codes.items()}
    for name, values in factors.items():
        large = isinstance(values[0] if len(values) else 0, int) and values.dtype == object
        columns[name] = pa.array(map(float, values) if large else values)
        arrays = None if large else arrays
    if draw(st.integers(0, 4)) == 4:
        n_rows = len(next(iter(columns.values()), ()))
        prefix = draw(st.sampled_from(["code_", "factor_"]))
        columns[f"{prefix}z"] = EXOTIC[draw(st.sampled_from(sorted(EXOTIC)))](n_rows)
        arrays = None
    content = parquet_bytes(columns, compression=draw(st.sampled_from(["none", "snappy", "zstd", "gzip"])))
    if draw(st.booleans()):
        content, arrays = draw(mutated(content)), None
    return scored("table.parquet", {"table.parquet": content}, arrays)


TYPES = (
    *("f8", "f8", "f8", "f4", "f2", "g", ">f8", "i8", "i1", "u8", ">i4", "b1", "c16", "U5", "S5", "M8[s]", "m8[s]"),
    *("V4", "i4,f8", "3i4"),
)


def drawn_array(draw: DrawFn, *, n_rows: int, is_codes: bool) -> Any:
    """Return an array that is mostly a matrix of one row for each sample."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n_columns = draw(st.integers(0 if draw(st.integers(0, 9)) == 9 else 2, 4))
    shapes = [(n_rows, n_columns)] * 20 + [(n_rows,), (), (n_rows, n_columns, 1), (n_columns, n_rows), (0, n_columns)]
    shape = draw(st.sampled_from(shapes))
    kinds = CODES if is_codes else {name: one for name, one in FACTORS.items() if "words" not in name}
    kind = draw(st.sampled_from(sorted(kinds))) if draw(st.integers(0, 3)) == 3 else next(iter(kinds))
    values = kinds[kind](rng, int(np.prod(shape)))
    if values.dtype == object:  # integers beyond 64 bits
        return values.astype(str).reshape(shape)
    dtype = np.dtype(draw(st.sampled_from(TYPES)) if draw(st.integers(0, 3)) == 3 else values.dtype)
    with np.errstate(all="ignore"):
        if dtype.kind == "V":
            array: Any = np.zeros(shape, dtype)
        elif dtype.kind in "mM":
            array = rng.integers(0, 4, shape).astype(dtype)
        else:
            array = values.astype(dtype).reshape(shape)
    return np.asfortranarray(array) if draw(st.integers(0, 9)) == 9 else array


def npy_bytes(array: Any) -> bytes:
    """Return an array as NumPy writes it."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def is_plain(*arrays: Any) -> bool:
    """Tell arrays that mean the same in a file and in Python; labels of text may be numbers in a file."""
    return all(array.dtype.kind not in "USV" for array in arrays)


@st.composite
def _npy_inputs(draw: DrawFn) -> Input:
    n_rows = draw(st.sampled_from(N_ROWS))
    codes, factors = drawn_array(draw, n_rows=n_rows, is_codes=True), drawn_array(draw, n_rows=n_rows, is_codes=False)
    arrays = Arrays(codes=codes, factors=factors) if is_plain(codes, factors) else None
    files = {"codes.npy": npy_bytes(codes), "labels.npy": npy_bytes(factors)}
    if draw(st.booleans()):
        chosen = draw(st.sampled_from(sorted(files)))
        files[chosen], arrays = draw(mutated(files[chosen], list(files.values()))), None
    return scored("codes.npy", files, arrays, "--factors", "labels.npy")


KINDS = ("", "", "", "categorical", "ordinal", "continuous", "circular:4", "circular", "circular:0", "odd")


@st.composite
def _npz_inputs(draw: DrawFn) -> Input:
    n_rows = draw(st.sampled_from(N_ROWS))
    codes, factors = drawn_array(draw, n_rows=n_rows, is_codes=True), drawn_array(draw, n_rows=n_rows, is_codes=False)
    arrays = Arrays(codes=codes, factors=factors)
    content: dict[str, Any] = {"codes": codes, "factors": factors}
    n_factors = factors.shape[1] if factors.ndim == 2 else 1
    if draw(st.booleans()):
        names = draw(st.lists(st.sampled_from(NAMES), min_size=n_factors, max_size=n_factors))
        kinds = draw(st.lists(st.sampled_from(KINDS), min_size=n_factors, max_size=n_factors))
        content |= {"factor_names": np.array(names, dtype="U20"), "factor_kinds": np.array(kinds, dtype="U20")}
        arrays = Arrays(codes=codes, factors=factors, names=tuple(names), kinds=tuple(kinds))
    if draw(st.integers(0, 9)) == 9:
        content |= {draw(st.sampled_from(["codes", "code_names", "x", "a/b"])): np.zeros(3)}
    out = io.BytesIO()
    (np.savez if draw(st.booleans()) else np.savez_compressed)(out, allow_pickle=False, **content)
    file = out.getvalue()
    known = arrays if content["codes"] is codes and "code_names" not in content and is_plain(codes, factors) else None
    if draw(st.booleans()):
        file, known = draw(mutated(file) | mutated_within(file)), None
    return scored("codes.npz", {"codes.npz": file}, known)


def same_numbers(one: Input, outcome: Outcome, place: Path) -> None:
    """Raise unless the file scores what the same arrays score in Python, or both are refused."""
    if one.arrays is None:
        return
    given: Arrays = one.arrays
    try:
        report = evaluate(
            given.codes,
            given.factors,
            names=given.names,
            kinds=None if given.kinds is None else [kind or None for kind in given.kinds],
            blocks=given.blocks,
            metrics="mig",
            intervals=False,
            nulls=False,
            n_jobs=1,
            progress=False,
        )
    except (ValueError, TypeError) as error:
        if outcome.code == GOOD:
            raise ContractError(f"the file is scored, and its arrays are refused: {error}") from error
        return
    if not report.scores:
        if outcome.code == GOOD:
            raise ContractError("the file is scored, and its arrays have no score")
        return
    if outcome.code != GOOD:
        raise ContractError("the file is refused, and its arrays are scored")
    wanted, found = json.loads(report.to_json()), json.loads((place / RESULT).read_text())
    for key in ("value", "per_factor"):
        if wanted["scores"]["mig"][key] != found["scores"]["mig"][key]:
            raise ContractError(
                f"{key} of the file is {found['scores']['mig'][key]}, of the arrays {wanted['scores']['mig'][key]}"
            )
    if wanted["meta"]["rows_key"] != found["meta"]["rows_key"]:
        raise ContractError("factors of the file are not those of the arrays")
    if wanted["meta"]["blocks"] != found["meta"]["blocks"]:
        raise ContractError("blocks of the file are not those of the arrays")
    same = Representation(given.codes).codes if one.command[1].endswith(".csv") else None
    if same is not None and not np.array_equal(load(place / one.command[1]).codes, same):
        raise ContractError("codes of the file are not those of the arrays")


def _format(name: str, inputs: SearchStrategy[Input]) -> Format:
    return Format(name=name, inputs=inputs, check=same_numbers)


FORMATS = (
    _format("csv", _csv_inputs()),
    _format("parquet", _parquet_inputs()),
    _format("npy", _npy_inputs()),
    _format("npz", _npz_inputs()),
)
