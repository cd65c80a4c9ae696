"""Sizes of files, from their headers, before anything is read."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from unbraid._base.arrays import UNREADABLE, parsing_headers

#: Arrays of an ``.npz`` file that are read.
NPZ_KEYS = ("codes", "factors", "factor_names", "factor_kinds", "code_names", "blocks")
#: Copies of a table or array while it becomes a representation: as read, as floats, and as columns of factors.
COPIES = 3
#: Copies of a text table beside its own bytes while it is read.
CSV_COPIES = 6


def file_bytes(source: Path) -> int:
    """Estimate the memory of reading a file from its header; 0 where there is none, which reading it tells better."""
    suffix = source.suffix.lower()
    if not source.is_file():
        return 0
    if suffix == ".csv":
        return CSV_COPIES * source.stat().st_size
    try:
        if suffix == ".parquet":
            import pyarrow.parquet as parquet

            about = parquet.read_metadata(source)
            stored = sum(about.row_group(part).total_byte_size for part in range(about.num_row_groups))
            return COPIES * max(8 * int(about.num_rows * about.num_columns), int(stored))
        with parsing_headers():
            return COPIES * _array_bytes(source)
    except (OSError, ValueError, KeyError, RuntimeError, *UNREADABLE):
        return 0


def _array_bytes(source: Path) -> int:
    """Return the bytes that the headers of NumPy's arrays state, eight at least for each number."""
    with source.open("rb") as file:
        if source.suffix.lower() == ".npy":
            return _stated_bytes(file)
        with zipfile.ZipFile(file) as archive:
            wanted = [name for name in archive.namelist() if name.removesuffix(".npy") in NPZ_KEYS]
            return sum(_stated_bytes(archive.open(name)) for name in wanted)


def _stated_bytes(file: IO[bytes]) -> int:
    shape, dtype = npy_header(file)
    return math.prod(shape) * max(8, dtype.itemsize)


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of the array that an open ``.npy`` file holds."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return tuple(shape), dtype
