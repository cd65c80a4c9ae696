"""MNIST and EMNIST as data sets of one factor."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from unbraid._typing import ByteArray
from unbraid.data._digits import mnist_digits
from unbraid.data._idx import CONTENTS, idx_names, parse_idx, read_part
from unbraid.data._images import LabelledImages

EMNIST_ARCHIVE = "gzip.zip"


def read_mnist(folder: Path) -> LabelledImages:
    """Return the digits to learn from; :func:`mnist_digits` returns those held out too."""
    digits, _ = mnist_digits(folder)
    return LabelledImages(digits.images, digits.labels, name="digit")


def read_emnist(place: Path, split: str) -> LabelledImages:
    """Read the training part of one split, from the archive or from a folder it was unpacked to.

    Pictures are stored on their side, rows for columns; they are put upright.
    """
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
    return LabelledImages(np.ascontiguousarray(images.transpose(0, 2, 1)), from_zero, name="character")


def _in_archive(path: Path, part: str) -> tuple[ByteArray, ByteArray]:
    """Read images and labels where they are: nothing of the archive is written anywhere."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = {Path(name).name.removesuffix(".gz"): name for name in archive.namelist()}
            names = [found.get(idx_names(part, content)[0]) for content in CONTENTS]
            if None in names:
                raise ValueError(f"file {str(path)!r} has no {part} images and labels; fetch it again.")
            images, labels = (parse_idx(archive.read(name), f"{path}/{name}") for name in names if name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"file {str(path)!r} is damaged, cut short or not a .zip; fetch it again.") from error
    except OSError as error:
        raise ValueError(f"file {str(path)!r} cannot be read: {error.strerror or error}.") from error
    return images, labels
