"""Tensors: .safetensors (dense, or locations and activations), .pt, sparse .npz and .zarr."""

from __future__ import annotations

import json
import math
import re
import struct
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from unbraid._base.arrays import AnyArray
from unbraid._base.memory import check_memory
from unbraid._base.optional import require
from unbraid.representation.formats.headers import COPIES, array_bytes
from unbraid.representation.formats.parts import Parts, UnreadableError, missing_key, readable
from unbraid.representation.formats.zarr_module import load_zarr
from unbraid.representation.sparse import check_filled

LONGEST_HEADER = 100 * 2**20
DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "u1",
    "BOOL": "?",
}
#: Name of a shard by its range of codes.
RANGE = re.compile(r"(?:.*\D)?(\d+)_(\d+)")
#: Arrays of a sparse matrix as ``scipy.sparse.save_npz`` writes them.
SPARSE_KEYS = {"format", "shape", "data"}


def read_safetensors(source: Path, *, codes: str | None) -> Parts:
    """Return ``codes`` and ``factors`` of a file, or the matrix of ``locations`` and ``activations``.

    Args:
        source: The file.
        codes: Name of the tensor of codes; ``"codes"`` by default.

    Raises:
        ValueError: It is damaged, or has no such tensor.
    """
    with readable(source, "a safetensors file"):
        header, start = _header(source)
        names = [name for name in header if name != "__metadata__"]
        if codes is None and {"locations", "activations"} <= set(names):
            return Parts(codes=_located(source, header, start).tocsr())
        wanted = codes or "codes"
        if wanted not in names:
            raise missing_key("codes", wanted, names, source, what="the tensors")
        factors = _tensor(source, header, start, "factors") if "factors" in names else None
        return Parts(codes=_tensor(source, header, start, wanted), factors=factors)


def _header(source: Path) -> tuple[dict[str, Any], int]:
    """Return what a file says of its tensors, and where their bytes begin."""
    size = source.stat().st_size
    with source.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if not 2 <= length <= min(size - 8, LONGEST_HEADER):
            raise UnreadableError(
                f"path {str(source)!r} is damaged or not a safetensors file: its header has {length} bytes."
            )
        try:
            header = json.loads(file.read(length))
        except (json.JSONDecodeError, RecursionError) as error:
            raise UnreadableError(
                f"path {str(source)!r} is damaged or not a safetensors file: no JSON header."
            ) from error
    if not isinstance(header, dict):
        raise UnreadableError(
            f"path {str(source)!r} is damaged or not a safetensors file: its header names no tensors."
        )
    return header, 8 + length


def _tensor(source: Path, header: Mapping[str, Any], start: int, name: str) -> AnyArray:
    """Return one tensor, after its size was held against that of the file."""
    about = header[name]
    shape, (first, last) = tuple(int(size) for size in about["shape"]), (int(place) for place in about["data_offsets"])
    if about["dtype"] not in DTYPES:
        raise UnreadableError(f"path {str(source)!r} holds {name!r} as {about['dtype']}; save it as F32.")
    dtype = np.dtype(DTYPES[about["dtype"]])
    n_bytes = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or first < 0 or last - first != n_bytes or start + last > source.stat().st_size:
        raise UnreadableError(
            f"path {str(source)!r} is damaged: {name!r} of shape {shape} does not fit into its bytes."
        )
    values = np.memmap(source, dtype=dtype, mode="r", offset=start + first, shape=shape) if n_bytes else np.empty(shape)
    if about["dtype"] == "BF16":  # the upper half of a float32
        return (np.asarray(values).astype(np.uint32) << 16).view(np.float32)
    return np.asarray(values)


def read_safetensors_shards(files: Sequence[Path]) -> Parts:
    """Return codes of several files: rows below each other, or the ranges of codes of locations and activations.

    A file of locations that is named after its range of codes, as in ``0_1023.safetensors``, counts codes from the
    first of its range; all such files have the same rows.

    Raises:
        ValueError: A file is damaged, or some have locations and others not.
    """
    headers = [_checked_header(file) for file in files]
    has_places = [{"locations", "activations"} <= set(header) for header, _ in headers]
    if not any(has_places):
        return _rows_below(files)
    if not all(has_places):
        odd = files[has_places.index(not has_places[0])]
        raise UnreadableError(
            f"path {str(odd)!r} must hold locations and activations as {str(files[0])!r} does, or neither."
        )
    ranges = [RANGE.fullmatch(file.stem) for file in files]
    parts = [_located(file, *header) for file, header in zip(files, headers, strict=True)]
    if not all(ranges):
        widest = max(part.shape[1] for part in parts)
        wide = [_resized(part, part.shape[0], widest) for part in parts]
        return Parts(codes=scipy.sparse.vstack(wide, format="csr"))
    n_rows = max(part.shape[0] for part in parts)
    n_codes = 1 + max(int(found[2]) for found in ranges if found is not None)
    places: list[AnyArray] = []
    for file, part, found in zip(files, parts, ranges, strict=True):
        assert found is not None
        first, last = int(found[1]), int(found[2])
        top = int(part.col.max(initial=-1))
        if top > last:
            raise UnreadableError(
                f"path {str(file)!r} must hold codes {first} to {last}, as its name says, got code {top}."
            )
        places.append(part.col + (first if top <= last - first else 0))
    rows, values = np.concatenate([part.row for part in parts]), np.concatenate([part.data for part in parts])
    matrix = scipy.sparse.coo_matrix((values, (rows, np.concatenate(places))), shape=(n_rows, n_codes))
    return Parts(codes=matrix.tocsr())


def _checked_header(source: Path) -> tuple[dict[str, Any], int]:
    with readable(source, "a safetensors file"):
        return _header(source)


def _rows_below(files: Sequence[Path]) -> Parts:
    """Rows of tensors of the same names below each other."""
    parts = [read_safetensors(file, codes=None) for file in files]
    for file, part in zip(files, parts, strict=True):
        if part.codes.shape[1:] != parts[0].codes.shape[1:] or (part.factors is None) != (parts[0].factors is None):
            raise UnreadableError(
                f"path {str(file)!r} must have codes and factors as {str(files[0])!r} has, got codes of shape "
                f"{part.codes.shape} and {parts[0].codes.shape}."
            )
    factors = None if parts[0].factors is None else np.concatenate([np.asarray(part.factors) for part in parts])
    return Parts(codes=np.concatenate([part.codes for part in parts]), factors=factors)


def _resized(part: Any, n_rows: int, n_codes: int) -> Any:
    return scipy.sparse.coo_matrix((part.data, (part.row, part.col)), shape=(n_rows, n_codes))


def _located(source: Path, header: Mapping[str, Any], start: int) -> Any:
    """Return activations at their places: row, or row and position in it, then code."""
    places = _tensor(source, header, start, "locations").astype(np.int64)
    values = _tensor(source, header, start, "activations").astype(np.float32).ravel()
    if places.ndim != 2 or places.shape[1] not in (2, 3) or len(places) != len(values):
        raise UnreadableError(
            f"path {str(source)!r} must hold locations of shape (n, 2) or (n, 3) and n activations, got {places.shape} "
            f"and {values.shape}."
        )
    if places.size and places.min() < 0:
        raise UnreadableError(f"path {str(source)!r} is damaged: it has the negative location {places.min()}.")
    rows, n_rows = places[:, 0], int(places[:, 0].max(initial=-1)) + 1
    if places.shape[1] == 3:
        tokens = header.get("tokens")
        length = int(tokens["shape"][1]) if tokens else int(places[:, 1].max(initial=-1)) + 1
        n_rows = int(tokens["shape"][0]) * length if tokens else n_rows * length
        rows = rows * length + places[:, 1]
    shape = (n_rows, int(places[:, -1].max(initial=-1)) + 1)
    check_filled(*shape, len(values))
    with readable(source, "a safetensors file"):
        return scipy.sparse.coo_matrix((values, (rows, places[:, -1])), shape=shape)


def read_sparse_npz(source: Path) -> Parts:
    """Return the codes of a matrix that ``scipy.sparse.save_npz`` wrote; never a pickle."""
    with readable(source, "a sparse matrix"):
        matrix = scipy.sparse.load_npz(source)
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    return Parts(codes=matrix)


def read_torch(source: Path, *, codes: str | None) -> Parts:
    """Return the tensors of a ``.pt`` file of plain tensors; nothing in it is run."""
    require("Reading .pt", "torch", extra="torch")
    import torch

    with readable(source, "a file of plain tensors"):
        with warnings.catch_warnings(action="ignore"):  # of a damaged file, with a file and line
            found = torch.load(source, map_location="cpu", weights_only=True)
        if isinstance(found, torch.Tensor):
            return Parts(codes=_plain(found))
        if not isinstance(found, dict):
            raise UnreadableError(
                f"path {str(source)!r} must hold a tensor or a dictionary of tensors, got {type(found).__name__}."
            )
        tensors = {str(name): value for name, value in found.items() if isinstance(value, torch.Tensor)}
        wanted = codes or "codes"
        if wanted not in tensors:
            raise missing_key("codes", wanted, list(tensors), source, what="the tensors")
        factors = _plain(tensors["factors"]) if "factors" in tensors else None
        return Parts(codes=_plain(tensors[wanted]), factors=factors)


def _plain(tensor: Any) -> Any:
    """Return an array, or a sparse matrix of a sparse tensor; a tensor may be larger than the file it is in."""
    import torch

    if tensor.layout == torch.strided or tensor.ndim != 2:
        check_memory("reading a tensor", COPIES * array_bytes(tensor.shape), None, cure="save fewer rows")
    if tensor.layout != torch.strided and tensor.ndim == 2:
        found = tensor.detach().to_sparse_coo().coalesce()
        values, places = _plain(found.values()), found.indices().numpy()
        try:
            check_filled(found.shape[0], found.shape[1], len(values))
        except ValueError as error:
            raise UnreadableError(str(error)) from error
        return scipy.sparse.coo_matrix((values, places), shape=tuple(found.shape)).tocsr()
    whole = (tensor.to_dense() if tensor.layout != torch.strided else tensor).detach()
    return np.asarray((whole.float() if whole.dtype == torch.bfloat16 else whole).numpy())


def read_zarr(source: Path, *, codes: str | None) -> Parts:
    """Return an array of a zarr folder: the array itself, or that called ``codes`` in a group."""
    zarr = load_zarr()
    with readable(source, "a zarr folder"):
        found: Any = zarr.open(str(source), mode="r")
        if isinstance(found, zarr.Array):
            return Parts(codes=np.asarray(found[...]))
        names = list(found.array_keys())
    wanted = codes or "codes"
    if wanted not in names:
        raise missing_key("codes", wanted, names, source, what="the arrays")
    with readable(source, "a zarr folder"):
        factors = np.asarray(found["factors"][...]) if "factors" in names else None
        return Parts(codes=np.asarray(found[wanted][...]), factors=factors)
