"""Readers of MNIST, EMNIST and their IDX files, and the digits that come with scikit-learn."""

from __future__ import annotations

import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unbraid._base.arrays import ByteArray, IntArray
from unbraid._base.memory import check_memory
from unbraid.data.array_files import MOST_BYTES_SMALL, bytes_of_file, check_n_bytes, unzipped
from unbraid.data.dataset import LabelledImages

GZIP_MAGIC = b"\x1f\x8b"
UNSIGNED_BYTE, MOST_AXES = 0x08, 3
#: Names of the two files of a part, after ``train-`` or ``t10k-``, and their numbers of axes.
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
    """Read the bytes of an IDX file, compressed or not; ``name`` is its name in errors."""
    data = _uncompressed(content, name, 4 + 4 * MOST_AXES)
    if len(data) < 4 or data[:2] != b"\0\0":
        raise ValueError(
            f"file {name!r} must be in the IDX format, which begins with bytes 00 00, got {data[:4].hex(' ')!r}; "
            "give the published file, compressed or not."
        )
    if data[2] != UNSIGNED_BYTE:
        raise ValueError(f"file {name!r} must hold unsigned bytes (IDX type 08), got type {data[2]:02x}.")
    n_axes = data[3]
    if n_axes > MOST_AXES:
        raise ValueError(f"file {name!r} must have {MOST_AXES} axes at most, got {n_axes}; fetch it again.")
    start = 4 + 4 * n_axes
    if len(data) < start:
        raise ValueError(f"file {name!r} ends within its header, after {len(data)} bytes; fetch it again.")
    shape = struct.unpack(f">{n_axes}I", data[4:start])
    expected = start + check_n_bytes(f"file {name!r}", shape, 1, MOST_BYTES_SMALL)
    data = _uncompressed(content, name, expected + 1)
    if len(data) != expected:
        got = "more" if len(data) > expected else len(data)
        raise ValueError(
            f"file {name!r} must have {expected} bytes for an array of shape {shape}, got {got}; fetch it again."
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
        return bytes_of_file(path, MOST_BYTES_SMALL)
    except OSError as error:
        raise ValueError(f"file {str(path)!r} cannot be read: {error.strerror}; fetch it again.") from error


def _uncompressed(data: bytes, name: str, n_bytes: int) -> bytes:
    """Return the first bytes of a file, unpacked."""
    try:
        return unzipped(data, n_bytes) if data[:2] == GZIP_MAGIC else data[:n_bytes]
    except (OSError, EOFError, zlib.error) as error:  # gzip raises all three for damaged files
        raise ValueError(f"file {name!r} is compressed but cut short or damaged; fetch it again.") from error


#: MNIST has its digits within 20 × 20 pixels, in the middle of 28 × 28; the small set is brought to the same.
SIZE, MARGIN = 28, 4
BUNDLED_MAX = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Digits:
    """Pictures of digits, ink light on dark.

    Attributes:
        images: ``(n, height, width)``, 0 for paper to 255 for ink.
        labels: ``(n,)``, 0 to 9.
    """

    images: ByteArray
    labels: IntArray

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: IntArray) -> Digits:
        """Return some of the pictures."""
        return Digits(images=self.images[rows], labels=self.labels[rows])


def bundled_digits() -> Digits:
    """Return scikit-learn's 1797 digits of 8 × 8 pixels, drawn out smoothly to 20 × 20 and framed to 28 × 28."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    small, labels = load_digits(return_X_y=True)
    inner = SIZE - 2 * MARGIN
    large = zoom(small.reshape(-1, 8, 8) / BUNDLED_MAX, (1, inner / 8, inner / 8), order=1)
    framed = np.pad(large, ((0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN)))
    return Digits(images=np.round(255 * framed).astype(np.uint8), labels=labels.astype(np.intp))


def mnist_digits(folder: str | Path) -> tuple[Digits, Digits | None]:
    """Read an MNIST folder in IDX format, compressed or not, or one with the digits of EMNIST.

    Args:
        folder: Holds ``train-images-idx3-ubyte`` and ``train-labels-idx1-ubyte``, or the same with ``t10k``, or all
            four; each may end in ``.gz``. In their place it may hold ``emnist-digits-train-images-idx3-ubyte`` and
            labels, and the same with ``test``.

    Returns:
        The digits to learn from, and those held out; ``None`` for the latter if the folder has one part only.

    Raises:
        ValueError: No such folder or files, or files that are damaged or do not fit each other.
    """
    parts = [_digits(*part) for part in (read_part(folder, "train"), read_part(folder, "t10k")) if part is not None]
    if not parts:
        read = [read_part(folder, f"emnist-digits-{part}") for part in ("train", "test")]
        parts = [_digits(_upright(images), labels) for images, labels in (part for part in read if part is not None)]
    if not parts:
        raise ValueError(
            f"data folder {str(folder)!r} has no digits; it must hold {expected_files('train')}, "
            f"or {expected_files('t10k')}, or all four."
        )
    return parts[0], parts[1] if len(parts) > 1 else None


def _upright(images: ByteArray) -> ByteArray:
    """Return pictures of EMNIST, which are stored on their side, rows for columns, upright."""
    return np.ascontiguousarray(images.transpose(0, 2, 1))


def _digits(images: ByteArray, labels: ByteArray) -> Digits:
    return Digits(images=images, labels=labels.astype(np.intp))


EMNIST_ARCHIVE = "gzip.zip"


#: Bytes of the largest split of MNIST and EMNIST, which is small beside what reading it takes.
MOST_PICTURE_BYTES = 240_000 * 28 * 28


def read_mnist(folder: Path, memory: str | int | None = None) -> LabelledImages:
    """Return the training digits; :func:`mnist_digits` returns the test digits as well."""
    check_memory(f"digits in {str(folder)!r}", MOST_PICTURE_BYTES, memory)
    digits, _ = mnist_digits(folder)
    return LabelledImages(digits.images, digits.labels, name="digit")


def read_emnist(place: Path, split: str, memory: str | int | None = None) -> LabelledImages:
    """Read the training part of one split, from the archive or from a folder it was unpacked to.

    Pictures are stored on their side, rows for columns; they are put upright.
    """
    check_memory(f"digits and letters in {str(place)!r}", 3 * MOST_PICTURE_BYTES, memory)
    part = f"emnist-{split}-train"
    read = read_part(place, part) if place.is_dir() else _in_archive(place, part)
    if read is None:
        raise ValueError(f"data folder {str(place)!r} has no {idx_names(part, 'images')[0]} (it may end in .gz).")
    images, labels = read
    if images.ndim != 3 or labels.shape != (len(images),) or not len(images):
        raise ValueError(
            f"{part} in {str(place)!r} must be pictures with a label each, got {images.shape}, {labels.shape}."
        )
    from_zero = np.unique(labels, return_inverse=True)[1]  # letters count from 1
    return LabelledImages(_upright(images), from_zero, name="character")


def _in_archive(path: Path, part: str) -> tuple[ByteArray, ByteArray]:
    """Read images and labels where they are: nothing of the archive is written anywhere."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = {Path(name).name.removesuffix(".gz"): name for name in archive.namelist()}
            names = [found.get(idx_names(part, content)[0]) for content in CONTENTS]
            if None in names:
                raise ValueError(f"file {str(path)!r} has no {part} images and labels; fetch it again.")
            for name in names:
                check_n_bytes(
                    f"{name!r} of {str(path)!r}", (archive.getinfo(name or "").file_size,), 1, MOST_BYTES_SMALL
                )
            images, labels = (parse_idx(archive.read(name), f"{path}/{name}") for name in names if name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError) as error:
        raise ValueError(f"file {str(path)!r} is damaged, cut short or not a .zip; fetch it again.") from error
    except OSError as error:
        raise ValueError(f"file {str(path)!r} cannot be read: {error.strerror or error}.") from error
    return images, labels
