"""Limits on arrays in data files: sizes are read from headers, and refused before anything is unpacked."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Sequence
from pathlib import Path

GIB = 2**30
#: Bytes of an array in memory: MPI3D, the largest set, has 12 GiB.
MOST_BYTES = 16 * GIB
#: Bytes of an array of MNIST, EMNIST or smallNORB, whose largest has 0.6 GiB.
MOST_BYTES_SMALL = 2 * GIB
#: Bytes of the pictures of one car, which has 5 MB.
MOST_BYTES_CAR = GIB // 4


class WrongSizeError(ValueError):
    """An array is empty, or larger than any of its kind."""


def check_n_bytes(source: str, shape: Sequence[int], itemsize: int, most: int = MOST_BYTES) -> int:
    """Return the bytes of an array, from its header.

    Args:
        source: The array in a sentence.
        shape: Lengths of its axes.
        itemsize: Bytes of a value.
        most: Bytes that are read at most.

    Raises:
        WrongSizeError: More bytes than an array of this kind has, or an axis without any.
    """
    n_bytes = math.prod(shape) * itemsize
    if 0 in shape:
        raise WrongSizeError(f"{source} must not be empty, got the shape {tuple(shape)}; fetch the published file.")
    if min(shape, default=1) < 0 or n_bytes > most:
        raise WrongSizeError(
            f"{source} must have at most {most / GIB:g} GiB, got the shape {tuple(shape)}; fetch the published file."
        )
    return n_bytes


def bytes_of_file(path: Path, most: int) -> bytes:
    """Return what a file holds.

    Raises:
        WrongSizeError: It is longer than ``most``; nothing was read.
        OSError: It cannot be read.
    """
    check_n_bytes(f"file {str(path)!r}", (max(1, path.stat().st_size),), 1, most)
    return path.read_bytes()


def unzipped(content: bytes, n_bytes: int) -> bytes:
    """Return the first bytes of what is compressed with gzip, and unpack no more."""
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        return file.read(n_bytes)
