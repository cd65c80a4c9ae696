"""Cars3D: 183 cars from 24 sides and 4 heights, one MATLAB file to a car, in an archive or unpacked."""

from __future__ import annotations

import io
import re
import struct
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unbraid._progress import track
from unbraid._typing import ByteArray
from unbraid.data._images import ImageGrid, shrink

ARCHIVE = "nips2015-analogy-data.tar.gz"
#: Where the cars are, once unpacked, as seen from the data folder.
FOLDERS = ("cars", "data/cars")
CAR = re.compile(r"(?:^|/)cars/([^/.][^/]*\.mat)$")
N_CARS = 183


def read_cars3d(place: Path) -> ImageGrid:
    """Read the archive, or a folder of cars, as 64 × 64 pixels.

    Nothing of the archive is written anywhere: cars are read where they are.
    """
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
        yield path.name, path.read_bytes()


def _in_archive(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                match = CAR.search(member.name)
                file = archive.extractfile(member) if match and member.isfile() else None
                if match and file is not None:
                    yield match[1], file.read()
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise ValueError(f"file {str(path)!r} is damaged, cut short or not a .tar.gz; fetch it again.") from error
    except OSError as error:
        raise ValueError(f"file {str(path)!r} cannot be read: {error.strerror or error}; fetch it again.") from error


def _car(content: bytes, name: str) -> ByteArray:
    """Return the pictures of one car, ``(elevation, azimuth, side, side, 3)``."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    file: Any = io.BytesIO(content)  # read as well as a path, though its stubs do not say so
    try:
        pictures = loadmat(file, variable_names=["im"]).get("im")
    except (MatReadError, ValueError, TypeError, NotImplementedError, OSError, zlib.error, struct.error) as error:
        raise ValueError(f"car {name!r} is damaged or not a MATLAB file; fetch cars3d again.") from error
    if pictures is None or pictures.ndim != 5 or pictures.shape[2] != 3 or pictures.dtype != np.uint8:
        got = "no 'im'" if pictures is None else f"{pictures.dtype} of shape {pictures.shape}"
        raise ValueError(
            f"car {name!r} must hold bytes 'im' of shape (height, width, 3, azimuth, elevation), got {got}."
        )
    by_angle = pictures.transpose(4, 3, 0, 1, 2)
    smaller = shrink(by_angle.reshape(-1, *by_angle.shape[2:]))
    return smaller.reshape(*by_angle.shape[:2], *smaller.shape[1:])
