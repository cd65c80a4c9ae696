"""Tables in several files: a pattern of names, a folder of shards, a Hugging Face data set on disk."""

from __future__ import annotations

from collections.abc import Sequence
from glob import has_magic, iglob
from pathlib import Path

import pandas as pd

from unbraid._base.text import listing
from unbraid.representation.formats.parts import readable
from unbraid.representation.tables import read_table

TABLES = (".parquet", ".arrow", ".csv")


def shard_files(path: str | Path) -> list[Path] | None:
    """Return the files that a pattern or folder stands for, in the order of their names; ``None`` for anything else.

    Raises:
        ValueError: A pattern stands for none, or the files are of different kinds.
    """
    place = Path(path)
    if place.is_dir() and place.suffix.lower() != ".zarr":
        found = sorted(file for file in place.iterdir() if file.suffix.lower() in TABLES)
        if not found:
            return None
    elif has_magic(str(path)) and not place.exists():
        found = sorted(Path(name) for name in iglob(str(path)) if Path(name).is_file())
    else:
        return None
    if not found:
        raise ValueError(f"path {str(path)!r} stands for no file; shards are {', '.join(TABLES)} tables.")
    kinds = sorted({file.suffix.lower() for file in found})
    if len(kinds) > 1 or kinds[0] not in TABLES:
        raise ValueError(
            f"path {str(path)!r} must stand for tables of one kind ({', '.join(TABLES)}), got {', '.join(kinds)}."
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
    return pd.concat([frame[names] for frame in frames], ignore_index=True)


def read_one(source: Path) -> pd.DataFrame:
    """Return the table of one file."""
    if source.suffix.lower() != ".arrow":
        return read_table(source)
    import pyarrow as pa

    with readable(source, "an Arrow file", pa.ArrowException, OSError), pa.memory_map(str(source)) as mapped:
        try:
            table = pa.ipc.open_stream(mapped).read_all()
        except pa.ArrowInvalid:  # the layout with an index at its end
            table = pa.ipc.open_file(mapped).read_all()
        frame: pd.DataFrame = table.to_pandas()
    frame.columns = pd.Index([str(name) for name in frame.columns])
    return frame
