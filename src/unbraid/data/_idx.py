"""Reading MNIST folders: the IDX format, compressed or not, with errors that say what is wrong with which file."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np

from unbraid._typing import ByteArray

GZIP_MAGIC = b"\x1f\x8b"
UNSIGNED_BYTE = 0x08
#: What each of the two files of a part is called, after ``train-`` or ``t10k-``, and how many axes it has.
CONTENTS = {"images": 3, "labels": 1}


def read_idx(path: str | Path) -> ByteArray:
    """Read an IDX file of unsigned bytes, as MNIST and its kin are published in; gzip is recognised by its first bytes.

    Args:
        path: The file.

    Returns:
        The array, with the axes that the file states.

    Raises:
        ValueError: Not a readable file, damaged compression, another format or number type, or too few or too many
            bytes for the size stated.
    """
    return parse_idx(_bytes_of(Path(path)), str(path))


def parse_idx(content: bytes, name: str) -> ByteArray:
    """Read the bytes of an IDX file, compressed or not; ``name`` is what errors call it."""
    data = _uncompressed(content, name)
    if len(data) < 4 or data[:2] != b"\0\0":
        raise ValueError(
            f"file {name!r} must be in the IDX format, which begins with bytes 00 00, got {data[:4].hex(' ')!r}; "
            "give the published file, compressed or not."
        )
    if data[2] != UNSIGNED_BYTE:
        raise ValueError(f"file {name!r} must hold unsigned bytes (IDX type 08), got type {data[2]:02x}.")
    n_axes = data[3]
    start = 4 + 4 * n_axes
    if len(data) < start:
        raise ValueError(f"file {name!r} ends within its header, after {len(data)} bytes; fetch it again.")
    shape = struct.unpack(f">{n_axes}I", data[4:start])
    expected = start + int(np.prod(shape, dtype=object))
    if len(data) != expected:
        raise ValueError(
            f"file {name!r} must have {expected} bytes for an array of shape {shape}, got {len(data)}; fetch it again."
        )
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def read_part(folder: str | Path, part: str) -> tuple[ByteArray, ByteArray] | None:
    """Read images and labels of one part of an MNIST folder.

    Args:
        folder: Where the files are.
        part: What the names begin with: ``"train"`` or ``"t10k"``, and for EMNIST such as ``"emnist-digits-train"``.

    Returns:
        Images ``(n, height, width)`` and labels ``(n,)``, or ``None`` if the folder has neither file of this part.

    Raises:
        ValueError: One file without the other, a malformed file, or numbers of rows that differ.
    """
    place = Path(folder)
    if not place.is_dir():
        raise ValueError(f"data must be a folder, got {str(folder)!r}; it should hold {expected_files('t10k')}.")
    found = {content: _find(place, part, content) for content in CONTENTS}
    if not any(found.values()):
        return None
    images, labels = (_read_content(place, part, content, path) for content, path in found.items())
    if len(images) != len(labels):
        raise ValueError(
            f"data folder {str(folder)!r} has {len(images)} {part} images and {len(labels)} labels; "
            "they must be as many: fetch both again."
        )
    return images, labels


def expected_files(part: str) -> str:
    """Name the two files of a part, to go in a sentence."""
    return " and ".join(idx_names(part, content)[0] for content in CONTENTS) + " (each may end in .gz)"


def idx_names(part: str, content: str) -> list[str]:
    """Both spellings in use; archives unpacked by some tools have a dot for the second hyphen."""
    return [f"{part}-{content}{mark}idx{CONTENTS[content]}-ubyte" for mark in "-."]


def _find(folder: Path, part: str, content: str) -> Path | None:
    candidates = [folder / f"{name}{ending}" for name in idx_names(part, content) for ending in ("", ".gz")]
    return next((path for path in candidates if path.is_file()), None)


def _read_content(folder: Path, part: str, content: str, path: Path | None) -> ByteArray:
    if path is None:
        raise ValueError(
            f"data folder {str(folder)!r} has no {idx_names(part, content)[0]}; it must hold {expected_files(part)}."
        )
    array = read_idx(path)
    if array.ndim != CONTENTS[content]:
        raise ValueError(f"file {str(path)!r} must have {CONTENTS[content]} axes to be {content}, got {array.ndim}.")
    return array


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"file {str(path)!r} cannot be read: {error.strerror}; fetch it again.") from error


def _uncompressed(data: bytes, name: str) -> bytes:
    try:
        return gzip.decompress(data) if data[:2] == GZIP_MAGIC else data
    except (OSError, EOFError, zlib.error) as error:  # gzip has all three for what it cannot read
        raise ValueError(f"file {name!r} is compressed but cut short or damaged; fetch it again.") from error
