"""Tables in several files: a pattern of names, a folder of shards, a Hugging Face data set on disk."""

from __future__ import annotations

from collections.abc import Sequence
from glob import has_magic, iglob
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.text import listing
from unbraid.representation.formats.headers import TEXT_TABLES
from unbraid.representation.formats.hugging_face import check_same_classes, class_names
from unbraid.representation.formats.parts import readable
from unbraid.representation.tables import CLASSES, FILES, UNNAMED, TableFile, read_table

TABLES = (".parquet", ".arrow", *TEXT_TABLES)
#: Files that may be shards of one representation.
SHARDS = (*TABLES, ".safetensors")


def shard_files(path: str | Path) -> list[Path] | None:
    """Return the files that a pattern or folder stands for, in the order of their names; ``None`` for anything else.

    Raises:
        ValueError: A pattern stands for none, or the files are of different kinds.
    """
    place = Path(path)
    if place.is_dir() and place.suffix.lower() != ".zarr":
        found = sorted(file for file in place.iterdir() if file.suffix.lower() in SHARDS)
        if not found:
            return None
    elif has_magic(str(path)) and not place.exists():
        found = sorted(Path(name) for name in iglob(str(path)) if Path(name).is_file())
    else:
        return None
    if not found:
        raise ValueError(f"path {str(path)!r} stands for no file; shards are {', '.join(SHARDS)} files.")
    kinds = sorted({file.suffix.lower() for file in found})
    if len(kinds) > 1 or kinds[0] not in SHARDS:
        raise ValueError(
            f"path {str(path)!r} must stand for files of one kind ({', '.join(SHARDS)}), got {', '.join(kinds)}."
        )
    return found


def read_shards(files: Sequence[Path]) -> pd.DataFrame:
    """Return the rows of all files below each other; raise on one whose columns are others."""
    frames = [read_one(file) for file in files]
    names = list(frames[0].columns)
    for file, frame in zip(files, frames, strict=True):
        if set(frame.columns) != set(names):
            other = sorted(set(frame.columns) ^ set(names))
            raise ValueError(
                f"path {str(file)!r} must have the columns of {str(files[0])!r}, got a difference in "
                f"{listing(other, most=3)}; give shards of one table."
            )
    _check_kinds(files, frames)
    first = frames[0].attrs.get(CLASSES, {})
    for file, frame in zip(files, frames, strict=True):
        check_same_classes(file, frame.attrs.get(CLASSES, {}), files[0], first)
    whole = pd.concat([frame[names] for frame in frames], ignore_index=True)
    whole.attrs[FILES] = [
        TableFile(path=file, n_before=frame.attrs.get(UNNAMED, 0), names=tuple(frame.columns))
        for file, frame in zip(files, frames, strict=True)
    ]
    whole.attrs[CLASSES] = first
    return whole


def _check_kinds(files: Sequence[Path], frames: Sequence[pd.DataFrame]) -> None:
    """Raise where a column holds numbers in one file and text or lists in another."""
    for name in frames[0].columns:
        kinds = [_kind(frame[name]) for frame in frames]
        known = [kind for kind in kinds if kind]
        for file, kind in zip(files, kinds, strict=True):
            if kind and kind != known[0]:
                first = files[kinds.index(known[0])]
                raise ValueError(
                    f"path {str(file)!r} must have columns of the types of {str(first)!r}, got {kind} in place of "
                    f"{known[0]} in {name!r}; write all shards with one schema."
                )


def _kind(column: pd.Series[Any]) -> str:
    """What a column holds, in a word; nothing where all of it is missing."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return "numbers"
    known = column.dropna()
    if not len(known):
        return ""
    return "lists" if isinstance(known.iloc[0], list | tuple | np.ndarray) else "text"


def read_one(source: Path) -> pd.DataFrame:
    """Return the table of one file."""
    if source.suffix.lower() != ".arrow":
        return read_table(source)
    import pyarrow as pa

    with readable(source, "an Arrow file"), pa.memory_map(str(source)) as mapped:
        try:
            table = pa.ipc.open_stream(mapped).read_all()
        except pa.ArrowInvalid:  # the layout with an index at its end
            table = pa.ipc.open_file(mapped).read_all()
        table.validate(full=True)  # Arrow trusts its files: places of text outside of them would end the process
        frame: pd.DataFrame = table.to_pandas()
    frame.attrs[CLASSES] = class_names(table.schema.metadata)
    frame.columns = pd.Index([str(name) for name in frame.columns])
    return frame
