"""Files of more rows than memory holds: a plan of blocks of rows, and the reading of one block."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.arrays import AnyArray, FloatArray
from unbraid._base.memory import memory_limit
from unbraid._base.text import listing
from unbraid.representation.factor import FactorKind
from unbraid.representation.files import pick_columns, short_names
from unbraid.representation.formats.headers import is_anndata_zarr, npy_header
from unbraid.representation.formats.hugging_face import ClassNames, check_same_classes, class_names, with_names
from unbraid.representation.formats.parts import UnreadableError, missing_key, readable, stacked
from unbraid.representation.formats.shards import shard_files
from unbraid.representation.formats.zarr_module import load_zarr

#: Rows of a block, about: parts of a file that are read as a whole are put together up to here.
BLOCK_ROWS = 500_000
#: Codes of a block, about, over all its rows.
BLOCK_CELLS = 2**25
#: Bytes of the plan of one column or block, about; a header may state more columns and rows than the file holds.
PLAN_BYTES = 256
#: Code columns and factor columns by default, as for files that are read as a whole.
CODE_COLUMNS, FACTOR_COLUMNS = "code_*", "factor_*"


class BlockFormat(StrEnum):
    """Formats that are read in blocks."""

    PARQUET = "parquet"
    ARROW = "arrow"
    NPY = "npy"
    ZARR = "zarr"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Consecutive rows of one file.

    Attributes:
        index: Position among all blocks, in which evidence is merged.
        path: The file.
        parts: Row groups or record batches; of an array, the first row and the row after the last.
        first_row: Number of the first row among those of all files.
        n_rows: Number of rows.
    """

    index: int
    path: str
    parts: tuple[int, ...]
    first_row: int
    n_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTable:
    """Where codes and factors stand in every block.

    Attributes:
        format: Format of the files.
        code_columns: Columns of the codes, or the one column of lists; of an array, its name.
        n_codes: Number of codes.
        factor_columns: Columns of the factors; of arrays, none.
        factors_path: File of the labels of an ``.npy`` file; empty for others.
        code_names: Names of the codes.
        factor_names: Names of the factors.
        class_names: Names of the classes that numbers of a factor stand for, none where they are numbers; empty for
            arrays.
    """

    format: BlockFormat
    code_columns: tuple[str, ...]
    n_codes: int
    factor_columns: tuple[str, ...]
    factors_path: str
    code_names: tuple[str, ...]
    factor_names: tuple[str, ...]
    class_names: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPlan:
    """All blocks of a representation, and what changes with its files.

    Attributes:
        table: Where codes and factors stand.
        blocks: In the order of files and rows.
        stamps: Path, size and time of change of every file.
    """

    table: BlockTable
    blocks: tuple[Block, ...]
    stamps: tuple[tuple[str, int, int], ...]

    @property
    def n_rows(self) -> int:
        """Number of rows of all blocks."""
        return sum(block.n_rows for block in self.blocks)

    def digest(self, **more: Any) -> str:
        """Key that changes with the files, the columns and whatever else is given."""
        text = json.dumps([asdict(self.table), self.stamps, more], sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def can_be_blocks(path: str | Path) -> bool:
    """Tell whether files are of a format that is read in blocks."""
    files = shard_files(path) or [Path(path)]
    kind = files[0].suffix.lower().removeprefix(".")
    return kind in [str(one) for one in BlockFormat] and not (kind == BlockFormat.ZARR and is_anndata_zarr(files[0]))


def plan_blocks(
    path: str | Path,
    factors: str | Path | None = None,
    *,
    codes: str | None = None,
    code_columns: str | Sequence[str] = CODE_COLUMNS,
    factor_columns: str | Sequence[str] = FACTOR_COLUMNS,
    kinds: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
) -> BlockPlan:
    """Plan the blocks of files from their headers, without reading rows.

    Args:
        path: ``.parquet``, ``.arrow``, ``.npy`` or ``.zarr``, or a pattern or folder of the first two.
        factors: Labels of an ``.npy`` file, as a second ``.npy`` file.
        codes: Name of the array of codes in a ``.zarr`` group.
        code_columns: Which columns of a table are codes, as for :func:`~unbraid.load`.
        factor_columns: Which are factors.
        kinds: Factor kinds by name; numbers of classes with names stay numbers where they are declared to be such.
        only: Names of the factors to keep.

    Raises:
        ValueError: A file is missing or damaged, has other columns than the first, or other types in them.
    """
    files = shard_files(path) or [Path(path)]
    for file in files:
        if not file.exists():
            raise ValueError(f"path {str(file)!r} is not a file.")
    kind = BlockFormat(files[0].suffix.lower().removeprefix("."))
    if kind in (BlockFormat.NPY, BlockFormat.ZARR):
        table, parts = _plan_array(files[0], kind, factors, codes)
        found = [(files[0], parts)]
    else:
        if factors is not None:
            raise ValueError(
                f"factors must be columns of the tables where rows are read in blocks, got {str(factors)!r}; name them "
                "with --factor-columns (factor_columns)."
            )
        table, found = _plan_tables(files, kind, code_columns, factor_columns)
        _check_rows(Path(path), sum(sum(sizes) for _, sizes in found))
    table = _kept(_without_names(table, kinds or {}), only)
    stamps = [*files, *([Path(table.factors_path)] if table.factors_path else [])]
    blocks = _blocks(found, kind, _most_rows(table.n_codes))
    return BlockPlan(table=table, blocks=blocks, stamps=tuple(_stamp(file) for file in stamps))


def _most_rows(n_codes: int) -> int:
    """Return the rows of a block at most."""
    return max(1, min(BLOCK_ROWS, BLOCK_CELLS // max(n_codes, 1)))


def _stamp(file: Path) -> tuple[str, int, int]:
    about = file.stat()
    return str(file), about.st_size, about.st_mtime_ns


def _without_names(table: BlockTable, kinds: Mapping[str, str]) -> BlockTable:
    """Forget the names of classes of factors that are declared to be of another kind than categorical."""
    kept = [
        names if kinds.get(factor, FactorKind.CATEGORICAL) == FactorKind.CATEGORICAL else ()
        for factor, names in zip(table.factor_names, table.class_names, strict=False)
    ]
    return replace(table, class_names=tuple(kept))


def _kept(table: BlockTable, only: Sequence[str] | None) -> BlockTable:
    if only is None:
        return table
    for name in only:
        if name not in table.factor_names:
            raise ValueError(f"factor {name!r} is not one of {', '.join(table.factor_names)}.")
    if not table.factor_columns:
        raise ValueError("only must be left out for arrays that are read in blocks; give the columns that are wanted.")
    places = [table.factor_names.index(name) for name in only]
    return replace(
        table,
        factor_names=tuple(only),
        factor_columns=tuple(table.factor_columns[k] for k in places),
        class_names=tuple(table.class_names[k] for k in places),
    )


def _blocks(files: Sequence[tuple[Path, Sequence[int]]], kind: BlockFormat, most: int) -> tuple[Block, ...]:
    """Put row groups and batches together up to the rows of a block; cut arrays into blocks."""
    blocks: list[Block] = []

    def add(file: Path, parts: tuple[int, ...], n_rows: int) -> None:
        first = blocks[-1].first_row + blocks[-1].n_rows if blocks else 0
        blocks.append(Block(index=len(blocks), path=str(file), parts=parts, first_row=first, n_rows=n_rows))

    for file, sizes in files:
        if kind in (BlockFormat.NPY, BlockFormat.ZARR):
            for start in range(0, sizes[0], most):
                stop = min(start + most, sizes[0])
                add(file, (start, stop), stop - start)
            continue
        held: list[int] = []
        for part, size in enumerate(sizes):
            if held and sum(sizes[one] for one in held) + size > most:
                add(file, tuple(held), sum(sizes[one] for one in held))
                held = []
            held.append(part)
        if held and sum(sizes[one] for one in held):
            add(file, tuple(held), sum(sizes[one] for one in held))
    return tuple(blocks)


def _plan_array(
    source: Path, kind: BlockFormat, factors: str | Path | None, codes: str | None
) -> tuple[BlockTable, list[int]]:
    if kind is BlockFormat.NPY:
        if factors is None or Path(factors).suffix.lower() != ".npy":
            raise ValueError(
                f"factors must be a second .npy file where {source.name!r} is read in blocks, got {factors!r}."
            )
        shapes = [_npy_shape(source), _npy_shape(Path(factors))]
        name, second = "", str(factors)
    else:
        name, second = codes or "codes", ""
        shapes = _zarr_shapes(source, name)
    (n_rows, n_codes), labels = shapes[0] if len(shapes[0]) == 2 else (0, 0), (*shapes[1], 1)[:2]
    if not n_codes:
        raise ValueError(f"codes must have shape (n_samples, n_codes), got {shapes[0]} in {str(source)!r}.")
    if len(shapes[1]) > 2:
        raise ValueError(f"factors must have shape (n_samples, n_factors), got {shapes[1]}.")
    if labels[0] != n_rows:
        raise ValueError(f"codes and factors must have the same number of rows, got {n_rows} and {labels[0]}.")
    _check_rows(source, n_rows)
    if PLAN_BYTES * (n_codes + labels[1] + n_rows // _most_rows(n_codes)) > memory_limit(None):
        raise ValueError(
            f"path {str(source)!r} must have as many rows and columns as can be counted in memory, got codes of shape "
            f"{shapes[0]} and factors of shape {shapes[1]}; if the file is not damaged, give fewer columns."
        )
    table = BlockTable(
        format=kind,
        code_columns=(name,),
        n_codes=n_codes,
        factor_columns=(),
        factors_path=second,
        code_names=tuple(f"code_{j}" for j in range(n_codes)),
        factor_names=tuple(f"factor_{k}" for k in range(labels[1])),
    )
    return table, [n_rows]


def _check_rows(path: Path, n_rows: int) -> None:
    if not n_rows:
        raise ValueError(f"path {str(path)!r} has no rows.")


def _npy_shape(source: Path) -> tuple[int, ...]:
    with readable(source, "a NumPy file"):
        with source.open("rb") as file:
            shape, dtype = npy_header(file)
            begins = file.tell()
        if dtype.hasobject:
            raise ValueError("Python objects (pickles) are never loaded")
        _check_numbers(dtype, source)
        if source.stat().st_size < begins + math.prod(shape) * dtype.itemsize:  # in Python, where nothing overflows
            raise ValueError(f"it ends before its {shape[0] if shape else 0} rows do")
    return shape


def _check_numbers(dtype: Any, source: Path) -> None:
    if dtype.kind not in "fiub":
        raise UnreadableError(
            f"path {str(source)!r} must hold numbers where rows are read in blocks, got {dtype}; save text as columns "
            "of a .parquet file."
        )


def _zarr_shapes(source: Path, codes: str) -> list[tuple[int, ...]]:
    """Return the shapes of codes and factors of a zarr group."""
    group = _zarr(source)
    with readable(source, "a zarr folder"):
        arrays = dict(group.arrays())
        if codes not in arrays:
            raise missing_key("codes", codes, list(arrays), source, what="the arrays")
        wanted = [arrays[name] for name in (codes, "factors") if name in arrays]
        for one in wanted:
            _check_numbers(one.dtype, source)
        return [*(tuple(one.shape) for one in wanted), (0, 0)][:2]


def _zarr(source: Path) -> Any:
    zarr = load_zarr()
    with readable(source, "a zarr folder"):
        return zarr.open_group(str(source), mode="r")


def _plan_tables(
    files: Sequence[Path], kind: BlockFormat, code_columns: str | Sequence[str], factor_columns: str | Sequence[str]
) -> tuple[BlockTable, list[tuple[Path, list[int]]]]:
    schemas = [_schema(file, kind) for file in files]
    first, classes = schemas[0].kinds, schemas[0].classes
    empty = pd.DataFrame(columns=list(first))
    codes, factors = pick_columns(empty, files[0], codes=code_columns, factors=factor_columns)
    for file, schema in zip(files, schemas, strict=True):
        types = schema.kinds
        lacking = [name for name in (*codes, *factors) if name not in types]
        if lacking or set(types) != set(first):
            other = lacking or sorted(set(types) ^ set(first))
            raise ValueError(
                f"path {str(file)!r} must have the columns of {str(files[0])!r}, got a difference in "
                f"{listing(other, most=3)}; give shards of one table."
            )
        for name in (*codes, *factors):
            if types[name] != first[name]:
                raise ValueError(
                    f"path {str(file)!r} must have columns of the types of {str(files[0])!r}, got {types[name]} in "
                    f"place of {first[name]} in {name!r}; write all shards with one schema."
                )
        check_same_classes(file, schema.classes, files[0], classes)
    is_list = len(codes) == 1 and first[codes[0]] == "lists"
    bad = [name for name in codes if first[name] != "numbers" and not is_list]
    if bad:
        raise ValueError(
            f"codes must be numbers, got {first[bad[0]]} in column {bad[0]!r} of {str(files[0])!r}; leave it out of "
            "code_columns (--code-columns)."
        )
    n_codes = _list_width(files, kind, codes[0]) if is_list else len(codes)
    names = [f"{codes[0]}_{j}" for j in range(n_codes)] if is_list else codes
    table = BlockTable(
        format=kind,
        code_columns=tuple(codes),
        n_codes=n_codes,
        factor_columns=tuple(factors),
        factors_path="",
        code_names=tuple(names),
        factor_names=tuple(short_names(factors)),
        class_names=tuple(tuple(classes.get(name, ())) for name in factors),
    )
    return table, [(file, schema.sizes) for file, schema in zip(files, schemas, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Schema:
    """What a table says before its rows: the kind of every column, names of classes, and the rows of every part."""

    kinds: Mapping[str, str]
    classes: ClassNames
    sizes: list[int]


def _schema(source: Path, kind: BlockFormat) -> _Schema:
    import pyarrow.parquet as pq

    with readable(source, f"a file of {kind}"):
        if kind is BlockFormat.PARQUET:
            with pq.ParquetFile(source) as file:
                schema = file.schema_arrow
                sizes = [file.metadata.row_group(part).num_rows for part in range(file.metadata.num_row_groups)]
        else:
            table = _arrow(source)
            schema, sizes = table.schema, [len(batch) for batch in table.to_batches()]
        kinds = {field.name: _kind_of(field.type) for field in schema}
        return _Schema(kinds=kinds, classes=class_names(schema.metadata), sizes=sizes)


def _kind_of(kind: Any) -> str:
    import pyarrow.types as types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = _kind_of(kind.value_type)
        return "lists" if inner == "numbers" else f"lists of {inner}"
    if types.is_boolean(kind):
        return "truth values"
    return "numbers" if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) else "text"


def _arrow(source: Path) -> Any:
    """Return the table of an Arrow file, mapped into memory rather than read."""
    import pyarrow as pa

    mapped = pa.memory_map(str(source))
    try:
        return pa.ipc.open_stream(mapped).read_all()
    except pa.ArrowInvalid:  # the layout with an index at its end
        return pa.ipc.open_file(mapped).read_all()


def _list_width(files: Sequence[Path], kind: BlockFormat, column: str) -> int:
    """Length of the first list of a column."""
    for file in files:
        for part, size in enumerate(_schema(file, kind).sizes):
            if size:
                first = _rows_of(file, kind, (part,), [column]).column(column).slice(0, 1).to_pylist()[0]
                return len(first or ())
    return 0


def _rows_of(source: Path, kind: BlockFormat, parts: Sequence[int], columns: Sequence[str]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with readable(source, f"a file of {kind}"):
        if kind is BlockFormat.PARQUET:
            with pq.ParquetFile(source) as file:
                return file.read_row_groups(list(parts), columns=list(columns), use_threads=False)
        batches = _arrow(source).to_batches()
        table = pa.Table.from_batches([batches[part] for part in parts]).select(list(columns))
        table.validate(full=True)  # Arrow trusts its files: places of text outside of them would end the process
        return table


def read_block(table: BlockTable, block: Block) -> tuple[AnyArray, list[Any]]:
    """Return codes as they are stored, ``(n_rows, n_codes)``, and the columns of labels.

    Raises:
        ValueError: The file is damaged, or a list of codes has another length.
    """
    source = Path(block.path)
    if table.format is BlockFormat.NPY:
        start, stop = block.parts
        with readable(source, "a NumPy file"):
            codes = np.load(source, mmap_mode="r", allow_pickle=False)[start:stop]
            labels = np.load(table.factors_path, mmap_mode="r", allow_pickle=False)[start:stop]
        return np.asarray(codes), list(np.asarray(labels).reshape(stop - start, -1).T)
    if table.format is BlockFormat.ZARR:
        start, stop = block.parts
        group = _zarr(source)
        with readable(source, "a zarr folder"):
            codes = np.asarray(group[table.code_columns[0]][start:stop])
            labels = np.asarray(group["factors"][start:stop]).reshape(stop - start, -1)
        return codes, list(labels.T)
    columns = [*table.code_columns, *table.factor_columns]
    found = _rows_of(source, table.format, block.parts, columns)
    if len(table.code_columns) == 1 and _kind_of(found.schema.field(table.code_columns[0]).type) == "lists":
        codes = _matrix(found.column(table.code_columns[0]), table, source)
    else:
        codes = np.stack([found.column(name).to_numpy() for name in table.code_columns], axis=1)
    labels = [found.column(name).to_pandas().rename(name) for name in table.factor_columns]
    pairs = zip(labels, table.class_names, strict=True)
    return codes, [with_names(column, names) if names else column for column, names in pairs]


def _matrix(column: Any, table: BlockTable, source: Path) -> AnyArray:
    """Return a column of lists as a matrix, without a Python object for each number."""
    values = column.combine_chunks().flatten()
    if column.null_count == 0 and len(values) == len(column) * table.n_codes:
        lengths = column.combine_chunks().value_lengths().to_numpy(zero_copy_only=False)
        if (lengths == table.n_codes).all():
            return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(column), table.n_codes)
    series = column.to_pandas().rename(table.code_columns[0])
    matrix = stacked(series, source)
    if matrix.shape[1] != table.n_codes:
        raise ValueError(
            f"codes must have as many numbers in every row, got lists of {matrix.shape[1]} and {table.n_codes} in "
            f"column {table.code_columns[0]!r} of {str(source)!r}."
        )
    return matrix


def as_floats(codes: AnyArray, block: Block, names: Sequence[str]) -> FloatArray:
    """Return codes as floats; raise where some are not finite, with the file and the code."""
    with np.errstate(invalid="ignore", over="ignore"):  # signalling NaN; numbers beyond 64 bits
        values = np.asarray(codes, dtype=np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        wrong = [repr(names[int(j)]) for j in np.flatnonzero(~finite.all(axis=0))]
        n_rows = int((~finite).any(axis=1).sum())
        raise ValueError(
            f"codes must be finite, got NaN or inf in {n_rows} rows of {block.path!r}, in {listing(wrong)}; drop those "
            "rows or codes."
        )
    return values
