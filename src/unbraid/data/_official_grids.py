"""dSprites, Shapes3D and MPI3D, from the files they are published in."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unbraid._install import pip_install
from unbraid._typing import ByteArray
from unbraid.data._images import ImageGrid, PackedGrid, grid_order
from unbraid.data._mpi3d_labels import KINDS as MPI3D_KINDS
from unbraid.data._mpi3d_labels import NAMES as MPI3D_NAMES
from unbraid.data._mpi3d_labels import SIZES as MPI3D_SIZES
from unbraid.data._npz import Member, open_member, read_chunks, read_member

DSPRITES_NAMES = ("colour", "shape", "scale", "orientation", "x", "y")
#: The last of 40 angles is a whole turn, hence the same as the first.
DSPRITES_KINDS = ("categorical", "categorical", "ordinal", "circular:{last}", "ordinal", "ordinal")

SHAPES3D_NAMES = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
SHAPES3D_KINDS = ("circular:{size}", "circular:{size}", "circular:{size}", "ordinal", "categorical", "ordinal")

#: The photographs of everyday things have fewer colours and shapes.
MPI3D_COMPLEX_SIZES = (4, 4, *MPI3D_SIZES[2:])


def read_dsprites(path: Path) -> PackedGrid:
    """Read dSprites' ``.npz``: the pictures and the classes, not the metadata, which is a pickle."""
    member = open_member(path, "imgs")
    classes = read_member(open_member(path, "latents_classes"), doing="reading dsprites")
    if len(member.shape) != 3 or member.dtype != np.uint8:
        raise ValueError(f"{member.source} must be bytes of shape (n, height, width), got {_what(member)}.")
    if classes.ndim != 2 or classes.shape != (member.shape[0], len(DSPRITES_NAMES)):
        raise ValueError(
            f"array 'latents_classes' of {str(path)!r} must be {(member.shape[0], 6)}, got {classes.shape}."
        )
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


def read_shapes3d(path: Path) -> ImageGrid:
    """Read Shapes3D's ``.h5`` into memory."""
    try:
        import h5py
    except ImportError as error:
        raise ValueError(f"shapes3d needs h5py, which is not installed; run {pip_install('train')}.") from error
    try:
        with h5py.File(path, "r") as file:
            missing = [name for name in ("images", "labels") if name not in file]
            if missing:
                raise ValueError(f"file {str(path)!r} must hold 'images' and 'labels', got {', '.join(file)}.")
            images, labels = np.asarray(file["images"]), np.asarray(file["labels"])
    except (OSError, RuntimeError, KeyError) as error:  # h5py has all three for what it cannot read
        raise ValueError(f"file {str(path)!r} is damaged, cut short or not HDF5; fetch it again.") from error
    if images.ndim != 4 or images.dtype != np.uint8 or labels.shape != (len(images), len(SHAPES3D_NAMES)):
        raise ValueError(
            f"file {str(path)!r} must hold bytes of shape (n, height, width, 3) and labels of shape (n, 6), "
            f"got {images.dtype} of shape {images.shape} and {labels.shape}."
        )
    order, sizes = grid_order(labels, f"file {str(path)!r}")
    kinds = tuple(kind.format(size=size) for kind, size in zip(SHAPES3D_KINDS, sizes, strict=True))
    in_order = images if np.array_equal(order, np.arange(len(order))) else images[order]
    return ImageGrid(in_order, names=SHAPES3D_NAMES, sizes=sizes, kinds=kinds)


def read_mpi3d(path: Path, sizes: tuple[int, ...] = MPI3D_SIZES) -> ImageGrid:
    """Read one version of MPI3D: the file has the pictures of the whole grid in order, and nothing else."""
    member = open_member(path, "images")
    n_rows = int(np.prod(sizes))
    if len(member.shape) != 4 or member.shape[0] != n_rows or member.shape[3] != 3 or member.dtype != np.uint8:
        raise ValueError(f"{member.source} must be bytes of shape ({n_rows}, height, width, 3), got {_what(member)}.")
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
