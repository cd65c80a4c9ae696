"""Arrays in data files: sizes are checked in headers before anything is unpacked; ``.npz`` is read without pickle."""

from __future__ import annotations

import gzip
import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from unbraid._base.arrays import UNREADABLE, AnyArray, parsing_headers
from unbraid._base.progress import track

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


CHUNK_BYTES = 32 * 2**20
LOCAL_HEADER = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One array of an archive: its name, type and shape, before it is read."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    header: int
    info: zipfile.ZipInfo

    @property
    def source(self) -> str:
        """Name of the file in error messages."""
        return f"array {self.name!r} of {str(self.path)!r}"

    @property
    def is_mapped(self) -> bool:
        """Whether it is read from the file as it is needed, since it is not compressed."""
        return self.info.compress_type == zipfile.ZIP_STORED


def open_member(path: Path, name: str) -> Member:
    """Read the header of an array.

    Raises:
        ValueError: No such file or array, a damaged archive, Python objects, or columns stored one after the other.
    """
    with _reading(path), zipfile.ZipFile(path) as archive:
        names = [entry.removesuffix(".npy") for entry in archive.namelist()]
        if name not in names:
            raise ValueError(f"file {str(path)!r} must hold an array {name!r}, got {', '.join(sorted(names))}.")
        with archive.open(f"{name}.npy") as file:
            shape, fortran_order, dtype = _header(file)
            member = Member(
                path=path, name=name, shape=shape, dtype=dtype, header=file.tell(), info=archive.getinfo(f"{name}.npy")
            )
    n_bytes = check_n_bytes(member.source, shape, dtype.itemsize)
    if dtype.hasobject:
        raise ValueError(f"{member.source} holds Python objects (a pickle), which are never loaded.")
    if fortran_order and len(shape) > 1:
        raise ValueError(f"{member.source} must be stored row by row (C order); save it again.")
    _check_whole(member, n_bytes)
    return member


def _check_whole(member: Member, n_bytes: int) -> None:
    """Raise where the archive has fewer or more bytes than the header of the array states."""
    if member.header + n_bytes != member.info.file_size:
        with _reading(member.path):
            raise EOFError


def read_chunks(member: Member, *, doing: str) -> Iterator[AnyArray]:
    """Read an array some rows at a time."""
    row_bytes = int(np.prod(member.shape[1:], dtype=object)) * member.dtype.itemsize
    step = max(1, CHUNK_BYTES // max(1, row_bytes))
    starts = range(0, member.shape[0], step)
    with (
        _reading(member.path),
        zipfile.ZipFile(member.path) as archive,
        archive.open(f"{member.name}.npy") as file,
        track(len(starts), None, doing=doing) as progress,
    ):
        file.read(member.header)
        for start in starts:
            n_rows = min(step, member.shape[0] - start)
            data = file.read(n_rows * row_bytes)
            if len(data) < n_rows * row_bytes:
                raise EOFError
            yield np.frombuffer(data, dtype=member.dtype).reshape(n_rows, *member.shape[1:])
            progress.advance()


def read_member(member: Member, *, doing: str) -> AnyArray:
    """Return an array: from the file as it is needed if it is stored as it is, in memory if it is compressed."""
    if member.is_mapped:
        return _mapped(member)
    whole = np.empty(member.shape, dtype=member.dtype)
    start = 0
    for chunk in read_chunks(member, doing=doing):
        whole[start : start + len(chunk)] = chunk
        start += len(chunk)
    return whole


def _mapped(member: Member) -> AnyArray:
    with _reading(member.path), member.path.open("rb") as file:
        file.seek(member.info.header_offset)
        local = file.read(LOCAL_HEADER)
        # lengths of name and extra field stand in the local header; the central one may have others
        lengths = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
        offset = member.info.header_offset + LOCAL_HEADER + lengths + member.header
        return np.memmap(member.path, dtype=member.dtype, mode="r", offset=offset, shape=member.shape)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        with parsing_headers():
            shape, fortran_order, dtype = read(file)
    except (*UNREADABLE, ValueError) as error:
        raise EOFError from error  # as any other damage
    return tuple(shape), bool(fortran_order), dtype


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors of a damaged archive into one sentence."""
    try:
        yield
    except (*UNREADABLE, RuntimeError) as error:
        raise ValueError(f"file {str(path)!r} is damaged, cut short or not an .npz archive; fetch it again.") from error
    except OSError as error:
        raise ValueError(f"file {str(path)!r} cannot be read: {error.strerror or error}.") from error
