"""Writing IDX files, to test that they are read."""

import gzip
import struct

import numpy as np


def idx_bytes(array, *, kind=0x08):
    array = np.asarray(array, dtype=np.uint8)
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, kind, array.ndim, *array.shape) + array.tobytes()


def write_part(folder, part, images, labels, *, compress=False, mark="-"):
    """Write the two files of one part of an MNIST folder."""
    for content, array in (("images", images), ("labels", labels)):
        data = idx_bytes(array)
        name = f"{part}-{content}{mark}idx{np.ndim(array)}-ubyte"
        (folder / (f"{name}.gz" if compress else name)).write_bytes(gzip.compress(data) if compress else data)
    return folder


def random_digits(n_samples, *, side=8, seed=0):
    """Return noise images and labels that go round 0 to 9."""
    images = np.random.default_rng(seed).integers(256, size=(n_samples, side, side), dtype=np.uint8)
    return images, np.arange(n_samples, dtype=np.uint8) % 10
