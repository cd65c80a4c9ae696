"""Rows in several files, rows that are read in blocks, and groups of codes that are called blocks."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fuzz.contract import ContractError, Format, Input
from fuzz.documents import ODD_VALUES
from fuzz.foreign import NAMED, arrow_bytes, drawn_pair, listed, safetensors_bytes, zarr_folders
from fuzz.mutate import mutated, mutated_within
from fuzz.tables import (
    NAMES,
    Arrays,
    Dialect,
    csv_bytes,
    is_plain,
    npy_bytes,
    parquet_bytes,
    same_arrays,
    same_numbers,
    scored,
    worlds,
)
from unbraid import Report, evaluate, load
from unbraid.panel.rows import scan

PLAIN = Dialect(separator=",", decimal=".", line_end="\n", start="", quote_all=False, row_numbers=False, trailing=False)


def _cut(draw: DrawFn, n_rows: int) -> list[tuple[int, int]]:
    """Return the first row of two or three files and the row after the last; a file may have none."""
    ends = sorted(draw(st.lists(st.integers(0, n_rows), min_size=1, max_size=2)))
    return list(zip([0, *ends], [*ends, n_rows], strict=True))


def _shard(columns: dict[str, Any], kind: str, stream: bool) -> bytes:
    if kind == "csv":
        return csv_bytes(columns, PLAIN)
    table = {name: pa.array(values) for name, values in columns.items()}
    return arrow_bytes(table, stream=stream) if kind == "arrow" else parquet_bytes(table)


def _other_shard(draw: DrawFn, columns: dict[str, Any]) -> dict[str, Any]:
    """Return a table whose columns are in another order, fewer, more, or of other types."""
    names = list(columns)
    change = draw(st.integers(0, 4))
    if not names or change == 0:
        return dict(reversed(columns.items()))
    chosen = draw(st.sampled_from(names))
    if change == 1:
        return {name: columns[name] for name in names if name != chosen}
    if change == 2:
        return {**columns, "more": columns[chosen]}
    if change == 3:
        return {**columns, chosen: np.array([f"w{k % 3}" for k in range(len(columns[chosen]))], dtype=object)}
    return {**columns, chosen: np.full(len(columns[chosen]), np.nan)}


def _is_uniform(values: Any) -> bool:
    """Tell columns that every file of a table has as the same type, whichever rows it has."""
    return bool(values.dtype != object)


@st.composite
def _shard_inputs(draw: DrawFn) -> Input:
    if draw(st.integers(0, 4)) == 4:
        return draw(_tensor_shard_inputs())
    codes, factors = draw(worlds())
    columns = {**codes, **factors}
    kind = draw(st.sampled_from(["csv", "parquet", "arrow"]))
    n_rows = len(next(iter(columns.values()), ()))
    parts = [{name: one[first:last] for name, one in columns.items()} for first, last in _cut(draw, n_rows)]
    arrays = same_arrays(codes, factors) if all(map(_is_uniform, columns.values())) and kind != "csv" else None
    if draw(st.integers(0, 4)) == 4:
        at = draw(st.integers(0, len(parts) - 1))
        parts[at], arrays = _other_shard(draw, parts[at]), None
    try:
        files = {f"in/{k}.{kind}": _shard(part, kind, draw(st.booleans())) for k, part in enumerate(parts)}
    except (pa.ArrowException, OverflowError):  # integers beyond 64 bits have no column
        files, arrays = {f"in/0.{kind}": b""}, None
    return _with_damage(draw, files, arrays, f"in/*.{kind}")


@st.composite
def _tensor_shard_inputs(draw: DrawFn) -> Input:
    codes, factors = drawn_pair(draw)
    arrays: Arrays | None = Arrays(codes=codes, factors=factors)
    is_plain_pair = {codes.dtype, factors.dtype} <= set(NAMED) and codes.shape[:1] == factors.shape[:1] != ()
    if not is_plain_pair:
        codes, factors, arrays = np.zeros((24, 2)), np.zeros((24, 1)), None
    files = {
        f"in/{k}.safetensors": safetensors_bytes({"codes": codes[first:last], "factors": factors[first:last]})
        for k, (first, last) in enumerate(_cut(draw, len(codes)))
    }
    return _with_damage(draw, files, arrays, "in/*.safetensors")


def _with_damage(draw: DrawFn, files: dict[str, bytes], arrays: Arrays | None, pattern: str) -> Input:
    chance = draw(st.integers(0, 9))
    if chance < 4:
        chosen = draw(st.sampled_from(sorted(files)))
        files[chosen], arrays = draw(mutated(files[chosen], list(files.values()))), None
    elif chance == 4:
        other = draw(st.sampled_from(["in/x.csv", "in/x.txt", "in/x.parquet"]))
        files[other], arrays = b"x\n1\n", None
    return scored(draw(st.sampled_from([pattern, "in"])), files, arrays)


@st.composite
def row_inputs(draw: DrawFn) -> Input:
    """Return a file that is read in blocks; the command is its path and that of its factors."""
    kind = draw(st.sampled_from(["parquet", "arrow", "npy", "zarr"]))
    if kind in ("npy", "zarr"):
        codes, factors = drawn_pair(draw)
        if kind == "zarr":
            if not {codes.dtype, factors.dtype} <= set(NAMED) or not codes.ndim or not factors.ndim:
                codes, factors = np.zeros((24, 2)), np.arange(24)[:, None]
            inner, _ = draw(zarr_folders(codes, factors))
            return Input(files={f"a.zarr/{name}": one for name, one in inner.items()}, command=("a.zarr", ""))
        files = {"a.npy": npy_bytes(codes), "b.npy": npy_bytes(factors)}
    else:
        table, labels = draw(worlds())
        columns: dict[str, Any] = {**table, **labels}
        if table and draw(st.integers(0, 3)) == 3:
            columns = {"code_emb": listed(draw, table)[0], **labels}
        try:
            arrow = {name: pa.array(values) for name, values in columns.items()}
            content = arrow_bytes(arrow, stream=False) if kind == "arrow" else parquet_bytes(arrow, row_group_size=10)
        except (pa.ArrowException, OverflowError):
            content = b"x"
        files = {f"a.{kind}": content}
    if draw(st.booleans()):
        chosen = draw(st.sampled_from(sorted(files)))
        files[chosen] = draw(mutated(files[chosen], list(files.values())))
    return Input(files=files, command=(f"a.{kind}", "b.npy" if kind == "npy" else ""))


def _scored_in_blocks(one: Input, folder: Path) -> None:
    """Score a file that is read in blocks; where it can be read as a whole too, the number is the same."""
    path, factors = one.command
    in_blocks = _mig(scan(path, factors or None, binning="uniform"))
    whole = _mig(load(path, factors or None))
    if in_blocks != whole:
        raise ContractError(f"in blocks it scores {in_blocks}, as a whole {whole}")


def _mig(rep: Any) -> float | None:
    found: Report = evaluate(
        rep, metrics="mig", intervals=False, nulls=False, n_jobs=1, progress=False, binning="uniform"
    )
    if not found.scores:
        raise ValueError(next(iter(found.failures.values())))
    return round(found["mig"].value, 12)


#: Blocks of codes as text of the command line.
TEXTS = (
    *("a=0,b=1", "a=0,b=1", "a=0-1", "a=0", "a=code_0,b=code_1", "a=code_*", "z y=0,ü=1", "<b>=0,=1+1=1", "a=0,1"),
    *("a=0,b=0", "=0", "a=", "a", "", ",", "=", "a=9", "a=1-0", "a=0-99999999999", "a=-1", "a=0,a=1", "\x1b[31m=0"),
    *("a=0.5", "a=0,,b=1", "a=1e0", "a=" + "9" * 5000, "a=0-" + "9" * 5000, "a=٣", "a=[", "a=code_9", "a=0-0,b=1-1"),
    "\u202ea=0",
)
#: Blocks of codes as parts of a file.
OBJECTS: tuple[Any, ...] = ({"a": [0], "b": [1]}, {"a": [0, 1]}, {"a": ["code_0"], "b": ["code_1"]}, {"a": []}, {})


@st.composite
def _objects(draw: DrawFn) -> Any:
    found = dict(draw(st.sampled_from(OBJECTS)))
    if draw(st.booleans()):
        name = draw(st.sampled_from(NAMES) | st.sampled_from(["", " "]))
        odd = st.sampled_from([one for one in ODD_VALUES if not isinstance(one, dict)])
        found[name] = draw(st.lists(st.integers(-1, 4) | odd, max_size=3) | odd)
    return found


@st.composite
def _blocks_inputs(draw: DrawFn) -> Input:
    codes, factors = drawn_pair(draw)
    content = {"codes": codes, "factors": factors}
    more: tuple[str, ...] = ()
    known: Any = None
    if draw(st.booleans()):
        known = draw(st.sampled_from(TEXTS))
        more = (f"--blocks={known}",)
    else:
        known = draw(_objects())
        text = json.dumps(known)
        content["blocks"] = np.array(text if draw(st.integers(0, 5)) else text.encode())
        if not all(isinstance(columns, list) for columns in known.values()):
            known = None  # lists are all that a file may hold; in Python there is more
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **content)
    file = out.getvalue()
    has_arrays = known is not None and is_plain(codes, factors) and not (more and not known)
    arrays = Arrays(codes=codes, factors=factors, blocks=known) if has_arrays else None
    if draw(st.integers(0, 2)) == 2:
        file, arrays = draw(mutated(file) | mutated_within(file)), None
    return scored("codes.npz", {"codes.npz": file}, arrays, *more)


FORMATS = (
    Format(name="shards", inputs=_shard_inputs(), check=same_numbers),
    Format(name="rows", inputs=row_inputs(), call=_scored_in_blocks),
    Format(name="blocks", inputs=_blocks_inputs(), check=same_numbers),
)
