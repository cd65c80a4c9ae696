"""Readers of dSprites, Shapes3D, MPI3D, Cars3D and smallNORB."""

from __future__ import annotations

import gzip
import io
import math
import re
import struct
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, ByteArray
from unbraid._base.memory import check_memory
from unbraid._base.optional import require
from unbraid._base.progress import track
from unbraid.data.array_files import (
    MOST_BYTES_CAR,
    MOST_BYTES_SMALL,
    Member,
    WrongSizeError,
    bytes_of_file,
    check_n_bytes,
    open_member,
    read_chunks,
    read_member,
    unzipped,
)
from unbraid.data.dataset import SIDE, ImageGrid, PackedGrid, grid_order, shrink
from unbraid.data.synthetic import KINDS as MPI3D_KINDS
from unbraid.data.synthetic import NAMES as MPI3D_NAMES
from unbraid.data.synthetic import SIZES as MPI3D_SIZES

DSPRITES_NAMES = ("colour", "shape", "scale", "orientation", "x", "y")
#: The last of 40 angles is a whole turn, hence the same as the first.
DSPRITES_KINDS = ("categorical", "categorical", "ordinal", "circular:{last}", "ordinal", "ordinal")

SHAPES3D_NAMES = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
SHAPES3D_KINDS = ("circular:{size}", "circular:{size}", "circular:{size}", "ordinal", "categorical", "ordinal")

#: Copies of an array while it is read: the bytes of the file or the order of the rows beside the array itself.
COPIES = 2

#: The photographs of everyday things have fewer colours and shapes.
MPI3D_COMPLEX_SIZES = (4, 4, *MPI3D_SIZES[2:])


def read_dsprites(path: Path, memory: str | int | None = None) -> PackedGrid:
    """Read dSprites' ``.npz``: the pictures and the classes, not the metadata, which is a pickle."""
    member = open_member(path, "imgs")
    labels = open_member(path, "latents_classes")
    if len(member.shape) != 3 or member.dtype != np.uint8:
        raise ValueError(f"{member.source} must be bytes of shape (n, height, width), got {_what(member)}.")
    if labels.shape != (member.shape[0], len(DSPRITES_NAMES)):
        raise ValueError(
            f"array 'latents_classes' of {str(path)!r} must be {(member.shape[0], 6)}, got {labels.shape}."
        )
    n_bytes = math.prod(member.shape) // 8 + math.prod(labels.shape) * labels.dtype.itemsize
    check_memory(member.source, COPIES * n_bytes, memory)
    classes = read_member(labels, doing="reading dsprites")
    order, sizes = grid_order(classes, f"file {str(path)!r}")
    bits = _read_bits(member)
    varying = [k for k, size in enumerate(sizes) if size > 1]  # there is one colour only
    return PackedGrid(
        bits if np.array_equal(order, np.arange(len(order))) else bits[order],
        shape=(member.shape[1], member.shape[2]),
        names=tuple(DSPRITES_NAMES[k] for k in varying),
        sizes=tuple(sizes[k] for k in varying),
        kinds=tuple(DSPRITES_KINDS[k].format(last=sizes[k] - 1) for k in varying),
    )


def read_shapes3d(path: Path, memory: str | int | None = None) -> ImageGrid:
    """Read Shapes3D's ``.h5`` into memory."""
    require("shapes3d", "h5py", extra="train")
    import h5py

    try:
        with h5py.File(path, "r") as file:
            missing = [name for name in ("images", "labels") if name not in file]
            if missing:
                raise ValueError(f"file {str(path)!r} must hold 'images' and 'labels', got {', '.join(file)}.")
            _check_types(file["images"], file["labels"])
            n_bytes = _check_shapes3d(path, file["images"], file["labels"])
            check_memory(f"array 'images' of {str(path)!r}", n_bytes, memory)
            images, labels = np.asarray(file["images"]), np.asarray(file["labels"])
    except (OSError, RuntimeError, KeyError, AttributeError) as error:  # h5py raises these for damaged files
        raise ValueError(f"file {str(path)!r} is damaged, cut short or not HDF5; fetch it again.") from error
    order, sizes = grid_order(labels, f"file {str(path)!r}")
    kinds = tuple(kind.format(size=size) for kind, size in zip(SHAPES3D_KINDS, sizes, strict=True))
    in_order = images if np.array_equal(order, np.arange(len(order))) else images[order]
    return ImageGrid(in_order, names=SHAPES3D_NAMES, sizes=sizes, kinds=kinds)


def _check_types(*arrays: Any) -> None:
    """Raise an OSError, as for other damage, where the type of an array is none that NumPy has."""
    try:
        for array in arrays:
            np.dtype(array.dtype)
    except (TypeError, ValueError) as error:
        raise OSError(str(error)) from error


def _check_shapes3d(path: Path, images: Any, labels: Any) -> int:
    """Return the bytes of two arrays that are not read yet; raise unless they have the shapes of the published ones."""
    n_rows, *picture = images.shape or (0,)
    if len(picture) != 3 or images.dtype != np.uint8 or labels.shape != (n_rows, len(SHAPES3D_NAMES)):
        raise ValueError(
            f"file {str(path)!r} must hold bytes of shape (n, height, width, 3) and labels of shape (n, 6), "
            f"got {images.dtype} of shape {images.shape} and {labels.shape}."
        )
    arrays = (("images", images), ("labels", labels))
    return sum(check_n_bytes(f"array {name!r} of {str(path)!r}", one.shape, one.dtype.itemsize) for name, one in arrays)


def read_mpi3d(path: Path, sizes: tuple[int, ...] = MPI3D_SIZES, memory: str | int | None = None) -> ImageGrid:
    """Read one version of MPI3D: the file has the pictures of the whole grid in order, and nothing else."""
    member = open_member(path, "images")
    n_rows = int(np.prod(sizes))
    if len(member.shape) != 4 or member.shape[0] != n_rows or member.shape[3] != 3 or member.dtype != np.uint8:
        raise ValueError(f"{member.source} must be bytes of shape ({n_rows}, height, width, 3), got {_what(member)}.")
    if not member.is_mapped:
        check_memory(member.source, math.prod(member.shape), memory, cure="save it with numpy.savez, not compressed")
    images: ByteArray = read_member(member, doing="reading mpi3d")
    return ImageGrid(images, names=MPI3D_NAMES, sizes=sizes, kinds=MPI3D_KINDS)


def _read_bits(member: Member) -> ByteArray:
    """Read pictures of 0 and 1 at eight pixels to a byte, ``(n, n_bytes)``."""
    n_rows, height, width = member.shape
    bits = np.empty((n_rows, -(-height * width // 8)), dtype=np.uint8)
    start = 0
    for pictures in read_chunks(member, doing="reading dsprites"):
        if pictures.max(initial=0) > 1:
            raise ValueError(f"{member.source} must be 0 or 1 everywhere, got {pictures.max()}.")
        bits[start : start + len(pictures)] = np.packbits(pictures.reshape(len(pictures), -1), axis=1)
        start += len(pictures)
    return bits


def _what(member: Member) -> str:
    return f"{member.dtype} of shape {member.shape}"


ARCHIVE = "nips2015-analogy-data.tar.gz"
#: Where the cars are, once unpacked, as seen from the data folder.
FOLDERS = ("cars", "data/cars")
CAR = re.compile(r"(?:^|/)cars/([^/.][^/]*\.mat)$")
N_CARS = 183
#: Bytes of all cars once they are small.
CARS_BYTES = N_CARS * 96 * SIDE * SIDE * 3
#: Bytes of a value by MATLAB's name of its type; of other types 8 at most.
MATLAB_BYTES = {"uint8": 1, "int8": 1, "logical": 1, "char": 1, "uint16": 2, "int16": 2}
#: What scipy raises for a damaged MATLAB file; some of it by accident, as where it ends too soon.
UNREADABLE = (
    *(ValueError, TypeError, LookupError, ArithmeticError, NameError, NotImplementedError, EOFError, OSError),
    *(zlib.error, struct.error),
)


def read_cars3d(place: Path, memory: str | int | None = None) -> ImageGrid:
    """Read the archive, or a folder of cars, as 64 × 64 pixels.

    Nothing of the archive is written anywhere: cars are read where they are.
    """
    check_memory(f"cars in {str(place)!r}", COPIES * CARS_BYTES, memory)
    files = _in_folder(place) if place.is_dir() else _in_archive(place)
    cars: dict[str, ByteArray] = {}
    with track(N_CARS, None, doing="reading cars3d") as progress:
        for name, content in files:
            cars[name] = _car(content, name)
            progress.advance()
    if not cars:
        raise ValueError(f"{str(place)!r} has no cars/*.mat in it; fetch it again.")
    shapes = {car.shape for car in cars.values()}
    if len(shapes) > 1:
        raise ValueError(f"cars in {str(place)!r} must all have as many sides and heights, got {sorted(shapes)}.")
    images = np.stack([cars[name] for name in sorted(cars)], axis=2)  # (elevation, azimuth, car, ...)
    sizes = images.shape[:3]
    return ImageGrid(
        images.reshape(-1, *images.shape[3:]),
        names=("elevation", "azimuth", "car"),
        sizes=(sizes[0], sizes[1], sizes[2]),
        kinds=("ordinal", f"circular:{sizes[1]}", "categorical"),
    )


def _in_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.glob("*.mat")):
        yield path.name, bytes_of_file(path, MOST_BYTES_CAR)


def _in_archive(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                match = CAR.search(member.name)
                file = archive.extractfile(member) if match and member.isfile() else None
                if match and file is not None:
                    check_n_bytes(f"car {match[1]!r}", (member.size,), 1, MOST_BYTES_CAR)
                    yield match[1], file.read()
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise ValueError(f"file {str(path)!r} is damaged, cut short or not a .tar.gz; fetch it again.") from error
    except OSError as error:
        raise ValueError(f"file {str(path)!r} cannot be read: {error.strerror or error}; fetch it again.") from error


def _car(content: bytes, name: str) -> ByteArray:
    """Return the pictures of one car, ``(elevation, azimuth, side, side, 3)``."""
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import MatReadError

    file: Any = io.BytesIO(content)  # read as well as a path, though its stubs do not say so
    try:
        found = [(shape, kind) for key, shape, kind in whosmat(file) if key == "im"]
        for shape, kind in found:
            check_n_bytes(f"car {name!r}", shape, MATLAB_BYTES.get(kind, 8), MOST_BYTES_CAR)
        file.seek(0)
        pictures = loadmat(file, variable_names=["im"]).get("im") if found else None
    except WrongSizeError:
        raise
    except (MatReadError, *UNREADABLE) as error:
        raise ValueError(f"car {name!r} is damaged or not a MATLAB file; fetch cars3d again.") from error
    if pictures is None or pictures.ndim != 5 or pictures.shape[2] != 3 or pictures.dtype != np.uint8:
        got = "no 'im'" if pictures is None else f"{pictures.dtype} of shape {pictures.shape}"
        raise ValueError(
            f"car {name!r} must hold bytes 'im' of shape (height, width, 3, azimuth, elevation), got {got}."
        )
    by_angle = pictures.transpose(4, 3, 0, 1, 2)
    smaller = shrink(by_angle.reshape(-1, *by_angle.shape[2:]))
    return smaller.reshape(*by_angle.shape[:2], *smaller.shape[1:])


PARTS = ("smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing")
CONTENTS = ("dat", "cat", "info")
NAMES = ("category", "instance", "elevation", "azimuth", "lighting")
#: First four bytes, as a little-endian number, and what follows. Pictures are unsigned bytes.
TYPES: dict[int, np.dtype[Any]] = {0x1E3D4C55: np.dtype("u1"), 0x1E3D4C54: np.dtype("<i4")}
CHUNK = 1000
MOST_AXES = 8
#: Bytes of the pictures of one part, two cameras.
NORB_PART_BYTES = 24_300 * 2 * 96 * 96


def read_smallnorb(folder: Path, memory: str | int | None = None) -> ImageGrid:
    """Read the left picture of each pair, as 64 × 64 pixels; one part alone is a grid of half as many instances."""
    parts = [part for part in PARTS if any(_find(folder, part, content) for content in CONTENTS)]
    if not parts:
        raise ValueError(f"data folder {str(folder)!r} has no {PARTS[0]}-dat.mat (it may end in .gz).")
    check_memory(f"smallnorb in {str(folder)!r}", len(parts) * COPIES * NORB_PART_BYTES, memory)
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
    data = _bytes_of(path, 8 + 4 * MOST_AXES)
    if len(data) < 20:
        raise ValueError(f"file {str(path)!r} ends within its header, after {len(data)} bytes; fetch it again.")
    kind, n_axes = struct.unpack("<Ii", data[:8])
    if kind not in TYPES or not 1 <= n_axes <= MOST_AXES:
        raise ValueError(
            f"file {str(path)!r} must be a binary matrix of bytes or integers, got first bytes {data[:8].hex(' ')}."
        )
    start = 8 + 4 * max(3, n_axes)
    if len(data) < start:
        raise ValueError(f"file {str(path)!r} ends within its header, after {len(data)} bytes; fetch it again.")
    shape = tuple(np.frombuffer(data[8 : 8 + 4 * n_axes], dtype="<u4").tolist())
    expected = start + check_n_bytes(f"file {str(path)!r}", shape, TYPES[kind].itemsize, MOST_BYTES_SMALL)
    data = _bytes_of(path, expected + 1)
    if len(data) != expected:
        got = "more" if len(data) > expected else len(data)
        raise ValueError(
            f"file {str(path)!r} must have {expected} bytes for an array of shape {shape}, got {got}; fetch it again."
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


def _bytes_of(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file, unpacked."""
    try:
        with path.open("rb") as file:
            is_zipped = path.suffix == ".gz"
            return unzipped(bytes_of_file(path, MOST_BYTES_SMALL), n_bytes) if is_zipped else file.read(n_bytes)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"file {str(path)!r} is compressed but cut short or damaged; fetch it again.") from error
    except OSError as error:
        raise ValueError(f"file {str(path)!r} cannot be read: {error.strerror}.") from error
