"""Sizes of files, from their headers, before anything is read."""

from __future__ import annotations

import json
import math
import re
import struct
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from unbraid._base.arrays import parsing_headers
from unbraid.representation.formats.zarr_module import load_zarr

#: Arrays of an ``.npz`` file that are read.
NPZ_KEYS = ("codes", "factors", "factor_names", "factor_kinds", "code_names", "blocks")
#: Arrays of a sparse matrix in an ``.npz`` file.
SPARSE_PARTS = ("data", "indices", "indptr", "row", "col", "offsets")
#: Copies of an array while it becomes a representation, as read and as floats; and of a table, which has columns too.
COPIES, TABLE_COPIES = 2, 3
#: Copies of a text table while it is read, of numbers and of letters; and bytes at its start that tell the rows.
CSV_COPIES, CSV_TEXT_COPIES, CSV_START = 5, 6, 2**16
#: What may stand between two fields of a text table, and in words.
SEPARATORS, LETTERS = (b",", b";", b"\t"), re.compile(rb"[A-Za-z\x80-\xff]")
#: Bytes of a number of codes at least, as a float.
FLOAT = 8
#: Tables of text, with the separator that each always has, if any.
TEXT_TABLES: Mapping[str, str | None] = {".csv": None, ".tsv": "\t"}
#: Files whose columns are read one by one.
TABLES = (".parquet", ".arrow")


def file_bytes(source: Path, codes: str | None = None) -> int:
    """Estimate the memory of reading a file from its header; 0 where there is none, which reading it tells better.

    Args:
        source: The file, or the folder of a zarr group.
        codes: Which of several arrays holds the codes.
    """
    suffix = source.suffix.lower()
    if not source.is_file() and not (suffix == ".zarr" and source.is_dir()):
        return 0
    if suffix in TEXT_TABLES:
        return _csv_bytes(source)
    stated = STATED.get(suffix)
    if stated is None:
        return 0
    try:
        with parsing_headers():
            return (TABLE_COPIES if suffix in TABLES else COPIES) * stated(source, codes)
    except Exception:  # whatever a damaged header leads to: reading the file says it better
        return 0


def _csv_bytes(source: Path) -> int:
    """Estimate from the first rows: short and long numbers take the same memory, and words what their letters take."""
    with source.open("rb") as file:
        start = file.read(CSV_START)
    rows = start.split(b"\n")[1:-1] or [start]
    n_fields = sum(1 + max(row.count(separator) for separator in SEPARATORS) for row in rows)
    n_letters = sum(len(LETTERS.findall(row)) for row in rows)
    times = source.stat().st_size / max(1, sum(len(row) + 1 for row in rows))
    return math.ceil(times * (CSV_COPIES * FLOAT * n_fields + CSV_TEXT_COPIES * n_letters))


def _table_bytes(source: Path, codes: str | None) -> int:
    import pyarrow.parquet as parquet

    about = parquet.read_metadata(source)
    stored = sum(about.row_group(part).total_byte_size for part in range(about.num_row_groups))
    return max(FLOAT * int(about.num_rows * about.num_columns), int(stored))


def _arrow_bytes(source: Path, codes: str | None) -> int:
    return source.stat().st_size


def _npy_bytes(source: Path, codes: str | None) -> int:
    with source.open("rb") as file:
        return _stated_bytes(file)


def _npz_bytes(source: Path, codes: str | None) -> int:
    """Return the bytes that the headers of NumPy's arrays state, eight at least for each number."""
    with zipfile.ZipFile(source) as archive:
        keys = {name.removesuffix(".npy"): name for name in archive.namelist()}
        wanted = NPZ_KEYS if "codes" in keys else SPARSE_PARTS
        return sum(_stated_bytes(archive.open(keys[key])) for key in wanted if key in keys)


def _stated_bytes(file: IO[bytes]) -> int:
    shape, dtype = npy_header(file)
    return array_bytes(shape, dtype.itemsize)


def array_bytes(shape: Iterable[int], itemsize: int = FLOAT) -> int:
    """Return the bytes of an array of numbers, as floats where these are larger."""
    return math.prod(int(size) for size in shape) * max(FLOAT, itemsize)


def _tensor_bytes(source: Path, codes: str | None) -> int:
    with source.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(min(length, source.stat().st_size)))
    wanted = (codes or "codes", "factors", "locations", "activations")
    return sum(array_bytes(header[name]["shape"]) for name in wanted if name in header)


def _torch_bytes(source: Path, codes: str | None) -> int:
    return source.stat().st_size


def place_in_anndata(codes: str | None) -> str:
    """Return where an array stands among the groups of AnnData, as in ``"obsm/X_pca"`` for ``"obsm:X_pca"``."""
    return (codes or "X").replace(":", "/", 1)


def is_anndata_zarr(source: Path) -> bool:
    """Whether a zarr folder holds AnnData; anything that cannot be opened does not."""
    try:
        with parsing_headers():
            found: Any = load_zarr().open(str(source), mode="r")
            return hasattr(found, "keys") and "obs" in found and "codes" not in found
    except Exception:  # whatever a damaged folder leads to: reading it says it better
        return False


def _zarr_bytes(source: Path, codes: str | None) -> int:
    zarr = load_zarr()
    found: Any = zarr.open(str(source), mode="r")
    if isinstance(found, zarr.Array):
        return array_bytes(found.shape, found.dtype.itemsize)
    if is_anndata_zarr(source):
        return _bytes_of(found[place_in_anndata(codes)])
    arrays = dict(found.arrays())
    wanted = (codes or "codes", "factors")
    return sum(array_bytes(arrays[name].shape, arrays[name].dtype.itemsize) for name in wanted if name in arrays)


def _h5ad_bytes(source: Path, codes: str | None) -> int:
    import h5py

    with h5py.File(source, "r") as file:
        return _bytes_of(file[place_in_anndata(codes)])


def _bytes_of(item: Any) -> int:
    """Return the bytes that an array states, or those of the arrays of a group."""
    parts = [item[name] for name in item] if hasattr(item, "keys") else [item]
    return sum(array_bytes(part.shape, part.dtype.itemsize) for part in parts if hasattr(part, "shape"))


#: Bytes of the arrays that are read of a file, by how its name ends.
STATED: Mapping[str, Callable[[Path, str | None], int]] = {
    ".parquet": _table_bytes,
    ".arrow": _arrow_bytes,
    ".npy": _npy_bytes,
    ".npz": _npz_bytes,
    ".safetensors": _tensor_bytes,
    ".pt": _torch_bytes,
    ".zarr": _zarr_bytes,
    ".h5ad": _h5ad_bytes,
}


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of the array that an open ``.npy`` file holds."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return tuple(shape), dtype
