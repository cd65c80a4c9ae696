"""smallNORB: fifty toys from many sides, in the binary matrix format of its authors."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from unbraid._progress import track
from unbraid._typing import AnyArray, ByteArray
from unbraid.data._images import ImageGrid, grid_order, shrink

PARTS = ("smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing")
CONTENTS = ("dat", "cat", "info")
NAMES = ("category", "instance", "elevation", "azimuth", "lighting")
#: First four bytes, as a little-endian number, and what follows. Pictures are unsigned bytes.
TYPES: dict[int, np.dtype[Any]] = {0x1E3D4C55: np.dtype("u1"), 0x1E3D4C54: np.dtype("<i4")}
CHUNK = 1000


def read_smallnorb(folder: Path) -> ImageGrid:
    """Read the left picture of each pair, as 64 × 64 pixels; one part alone is a grid of half as many instances."""
    parts = [part for part in PARTS if any(_find(folder, part, content) for content in CONTENTS)]
    if not parts:
        raise ValueError(f"data folder {str(folder)!r} has no {PARTS[0]}-dat.mat (it may end in .gz).")
    read = [_read_part(folder, part) for part in parts]
    images = np.concatenate([pictures for pictures, _ in read])
    labels = np.concatenate([classes for _, classes in read])
    order, sizes = grid_order(labels, f"smallnorb in {str(folder)!r}")
    kinds = ("categorical", "categorical", "ordinal", f"circular:{sizes[3]}", "categorical")
    return ImageGrid(images[order][..., None], names=NAMES, sizes=sizes, kinds=kinds)


def read_matrix(path: Path) -> AnyArray:
    """Read a binary matrix, compressed or not.

    A number for the type, the number of axes, their lengths (three at least, whatever the number of axes), then the
    values, the last axis fastest; all of it little-endian.

    Raises:
        ValueError: Not such a file, or too few or too many bytes for the shape it states.
    """
    data = _bytes_of(path)
    if len(data) < 20:
        raise ValueError(f"file {str(path)!r} ends within its header, after {len(data)} bytes; fetch it again.")
    kind, n_axes = struct.unpack("<Ii", data[:8])
    if kind not in TYPES or not 1 <= n_axes <= 8:
        raise ValueError(
            f"file {str(path)!r} must be a binary matrix of bytes or integers, got first bytes {data[:8].hex(' ')}."
        )
    start = 8 + 4 * max(3, n_axes)
    shape = tuple(np.frombuffer(data[8 : 8 + 4 * n_axes], dtype="<u4").tolist())
    expected = start + int(np.prod(shape, dtype=object)) * TYPES[kind].itemsize
    if len(data) != expected:
        raise ValueError(
            f"file {str(path)!r} must have {expected} bytes for an array of shape {shape}, got {len(data)}; "
            "fetch it again."
        )
    return np.frombuffer(data, dtype=TYPES[kind], offset=start).reshape(shape)


def _read_part(folder: Path, part: str) -> tuple[ByteArray, AnyArray]:
    """Return pictures ``(n, 64, 64)`` and category, instance, elevation, azimuth and lighting ``(n, 5)``."""
    matrices = []
    for content in CONTENTS:
        path = _find(folder, part, content)
        if path is None:
            raise ValueError(f"data folder {str(folder)!r} has no {part}-{content}.mat (it may end in .gz); fetch it.")
        matrices.append(read_matrix(path))
    pairs, category, info = matrices
    if pairs.ndim != 4 or category.shape != (len(pairs),) or info.shape != (len(pairs), 4):
        raise ValueError(
            f"{part} must have pictures (n, 2, height, width), categories (n,) and info (n, 4), "
            f"got {pairs.shape}, {category.shape} and {info.shape}; fetch all three again."
        )
    starts = range(0, len(pairs), CHUNK)
    with track(len(starts), None, doing="reading smallnorb") as progress:
        smaller = []
        for start in starts:
            smaller.append(shrink(pairs[start : start + CHUNK, 0]))
            progress.advance()
    return np.concatenate(smaller), np.column_stack([category, info])


def _find(folder: Path, part: str, content: str) -> Path | None:
    candidates = (folder / f"{part}-{content}.mat{ending}" for ending in ("", ".gz"))
    return next((path for path in candidates if path.is_file()), None)


def _bytes_of(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"file {str(path)!r} is compressed but cut short or damaged; fetch it again.") from error
    except OSError as error:
        raise ValueError(f"file {str(path)!r} cannot be read: {error.strerror}.") from error
