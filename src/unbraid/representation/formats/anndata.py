"""AnnData in .h5ad files and .zarr folders: codes from ``X``, ``layers``, ``obsm`` or ``raw``, factors from ``obs``.

h5py and zarr read them; both give groups and arrays with attributes, so that one reader serves.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from unbraid._base.arrays import AnyArray
from unbraid._base.memory import check_memory
from unbraid._base.optional import require
from unbraid._base.text import listing
from unbraid.representation.formats.headers import COPIES, array_bytes, is_anndata_zarr, place_in_anndata
from unbraid.representation.formats.parts import MOST_NAMES, Parts, UnreadableError, missing_key, readable
from unbraid.representation.formats.zarr_module import load_zarr

OBS = "obs:"
#: Groups of arrays with a row for each cell.
GROUPS = ("layers", "obsm")


def read_anndata(source: Path, *, codes: str | None, factors: str | None) -> Parts:
    """Return codes and labels of an AnnData file, or of a zarr folder that has the same.

    Args:
        source: The file or folder.
        codes: ``"X"`` (the default), ``"raw:X"``, or ``"obsm:KEY"`` or ``"layers:KEY"`` for one of their arrays.
        factors: ``"obs:NAME,NAME"``, columns of ``obs``; ``None`` for none.

    Raises:
        ValueError: It is damaged, or has no such array or column.
    """
    if source.suffix.lower() == ".zarr":
        zarr = load_zarr()
        with readable(source, "AnnData in a zarr folder"):
            return _read(zarr.open_group(str(source), mode="r"), codes, factors, source)
    require("Reading .h5ad", "h5py", extra="files")
    import h5py

    with readable(source, "an AnnData file"), h5py.File(source, "r") as file:
        return _read(file, codes, factors, source)


def has_anndata(source: Path, suffix: str) -> bool:
    """Tell AnnData from other files by how the name ends, and from other zarr folders by what they hold."""
    return suffix == ".h5ad" or (suffix == ".zarr" and is_anndata_zarr(source))


def _read(file: Any, codes: str | None, factors: str | None, source: Path) -> Parts:
    if "obs" not in file or not hasattr(file["obs"], "keys"):
        raise UnreadableError(f"path {str(source)!r} is no AnnData file of a known layout: it has no group 'obs'.")
    array, names = _codes(file, codes or "X", source)
    columns = _columns(file["obs"])
    if factors is None:
        there = listing(columns, most=MOST_NAMES) or "none"
        note = f"No factors were named; name columns of obs, as in --factors obs:NAME, among {there}."
        return Parts(codes=array, code_names=names, notes=(note,))
    return Parts(codes=array, factors=_factors(file["obs"], columns, factors, source), code_names=names)


def _codes(file: Any, codes: str, source: Path) -> tuple[Any, list[str] | None]:
    """Return an array and the names of its columns, where the file has them."""
    found = _arrays(file)
    place = place_in_anndata(codes)
    if place not in found:
        raise missing_key("codes", codes, list(found.values()), source, what="the arrays")
    item = file[place]
    if place.startswith("obsm/"):
        return _array(item, source), _columns(item) if _kind(item) == "dataframe" else None
    var = "raw/var" if place.startswith("raw/") else "var"
    return _array(item, source), _index(file[var]) if var in file else None


def _arrays(file: Any) -> dict[str, str]:
    """Return what may hold codes: its place in the file, and how it is asked for."""
    single = {"X": "X", "raw/X": "raw:X"}
    several = {f"{group}/{name}": f"{group}:{name}" for group in GROUPS for name in file.get(group, ())}
    return {place: name for place, name in single.items() if place in file} | several


def _kind(item: Any) -> str:
    """Return how the file says that something is stored."""
    return str(item.attrs.get("encoding-type", item.attrs.get("h5sparse_format", "")))


def _array(item: Any, source: Path) -> Any:
    """Return an array, from a data set or the group of a table, or the matrix of a group of a sparse matrix."""
    kind = _kind(item)
    if not hasattr(item, "keys"):
        return np.asarray(item[()])
    if kind.startswith(("csr", "csc")):
        make: Any = scipy.sparse.csr_matrix if kind.startswith("csr") else scipy.sparse.csc_matrix
        shape = tuple(int(size) for size in item.attrs["shape" if "shape" in item.attrs else "h5sparse_shape"])
        with readable(source, "an AnnData file"):
            matrix = make((item["data"][()], item["indices"][()], item["indptr"][()]), shape=shape)
            matrix.check_format(full_check=True)
        return matrix
    if kind == "dataframe":
        _check_size(item)
        return np.stack([np.asarray(item[name][()]) for name in _columns(item)], axis=1)
    raise UnreadableError(
        f"path {str(source)!r} holds codes as {kind or 'a group'!r}; save them as an array or CSR matrix."
    )


def _columns(frame: Any) -> list[str]:
    """Return the names of the columns of a table, in their order."""
    hidden = {_text(frame.attrs.get("_index", "_index")), "__categories"}
    order = [_text(name) for name in frame.attrs.get("column-order", ())]
    return order or [name for name in frame if name not in hidden]


def _index(frame: Any) -> list[str] | None:
    name = _text(frame.attrs.get("_index", "_index"))
    if name in frame:
        _check_size(frame[name])
    return [_text(value) for value in frame[name][()]] if name in frame else None


def _factors(frame: Any, columns: Sequence[str], factors: str, source: Path) -> dict[str, Any]:
    if not factors.startswith(OBS):
        raise UnreadableError(f"factors must be obs:NAME,NAME for an .h5ad file, got {factors!r}.")
    names = [part.strip() for part in factors.removeprefix(OBS).split(",")]
    for name in names:
        if name not in columns:
            raise missing_key("factors", name, columns, source, what="obs")
    return {name: _column(frame, name, source) for name in names}


def _column(frame: Any, name: str, source: Path) -> Any:
    """Return one column: numbers, or text with ``None`` where there is no label."""
    item = frame[name]
    _check_size(item)
    if not hasattr(item, "keys"):
        values = item[()]
        if "categories" in item.attrs:  # files of anndata before 0.7
            return _named(values, frame[item.attrs["categories"]][()])
        return (
            values
            if values.dtype.kind in "biuf"
            else pd.Series([_text(value) or None for value in values], dtype=object)
        )
    if "categories" in item:
        return _named(item["codes"][()], item["categories"][()])
    if "mask" in item:
        values = item["values"][()]
        return pd.Series(values if values.dtype.kind in "biuf" else [_text(v) for v in values]).mask(item["mask"][()])
    raise UnreadableError(
        f"factors {name!r} of {str(source)!r} is stored in a way that is not known: {', '.join(item)}."
    )


def _check_size(item: Any) -> None:
    """Raise where a column would not fit into memory: a file states sizes that it need not hold."""
    parts = [item[name] for name in item] if hasattr(item, "keys") else [item]
    needed = COPIES * sum(array_bytes(part.shape, part.dtype.itemsize) for part in parts)
    check_memory(f"reading {item.name!r}", needed, None, cure="give fewer rows")


def _named(codes: AnyArray, categories: AnyArray) -> Any:
    """Return category names by their codes, -1 for no label; numbers stay numbers."""
    if codes.size and not (codes.min() >= -1 and codes.max() < len(categories)):
        raise ValueError(f"it has categories {codes.min()} to {codes.max()}, of {len(categories)}")
    if categories.dtype.kind in "biuf":
        return pd.Series(categories[codes]).mask(codes < 0)
    names = np.array([*(_text(value) for value in categories), None], dtype=object)
    return pd.Series(names[codes], dtype=object)


def _text(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
