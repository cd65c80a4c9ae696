"""Pictures kept as bytes: a grid of them, or any number with a label each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid._typing import AnyArray, ByteArray, IntArray
from unbraid.data._dataset import FactorGrid, check_rows

#: What models of 64 × 64 pixels are given, whatever the size of the files.
SIDE = 64


class ImageGrid(FactorGrid):
    """A grid of stored pictures.

    Attributes:
        images: ``(n, height, width, channels)``, bytes, in memory or in a file.
    """

    def __init__(
        self, images: ByteArray, *, names: tuple[str, ...], sizes: tuple[int, ...], kinds: tuple[str, ...]
    ) -> None:
        height, width, channels = images.shape[1:]
        super().__init__(names=names, sizes=sizes, kinds=kinds, observation_shape=(channels, height, width))
        self.images = images

    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Return some pictures, ``(n, channels, height, width)``, 0 to 1."""
        picked = self.images[check_rows(index, len(self))].transpose(0, 3, 1, 2)
        return np.ascontiguousarray(picked, dtype=np.float32) / np.float32(255)


class PackedGrid(FactorGrid):
    """A grid of stored pictures of one channel, 0 or 1, eight pixels to a byte."""

    def __init__(
        self,
        bits: ByteArray,
        *,
        shape: tuple[int, int],
        names: tuple[str, ...],
        sizes: tuple[int, ...],
        kinds: tuple[str, ...],
    ) -> None:
        super().__init__(names=names, sizes=sizes, kinds=kinds, observation_shape=(1, *shape))
        self._bits = bits

    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Return some pictures, ``(n, 1, height, width)``, 0 or 1."""
        rows = check_rows(index, len(self))
        n_pixels = int(np.prod(self.observation_shape))
        pixels = np.unpackbits(self._bits[rows], axis=1, count=n_pixels)
        return pixels.reshape(len(rows), *self.observation_shape).astype(np.float32)


class LabelledImages:
    """Grey pictures with one label each, any number of pictures to a label.

    Attributes:
        images: ``(n, height, width)``, 0 for paper to 255 for ink.
        labels: ``(n,)``, counted from 0.
        factor_names, factor_sizes, factor_kinds: Of the one factor.
        observation_shape: Channels, height, width.
    """

    factor_kinds = ("categorical",)

    def __init__(self, images: ByteArray, labels: IntArray, *, name: str) -> None:
        self.images, self.labels = images, labels
        self.factor_names, self.factor_sizes = (name,), (int(labels.max()) + 1,)
        self.observation_shape = (1, images.shape[1], images.shape[2])

    def __len__(self) -> int:
        return len(self.labels)

    def factors(self, index: IntArray) -> IntArray:
        """Return labels of some rows, ``(n, 1)``."""
        return self.labels[check_rows(index, len(self))][:, None]

    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Return some pictures, ``(n, 1, height, width)``, 0 to 1."""
        return self.images[check_rows(index, len(self))][:, None].astype(np.float32) / np.float32(255)


def grid_order(classes: NDArray[Any], source: str) -> tuple[IntArray, tuple[int, ...]]:
    """Find the rows in the order of their grid.

    Args:
        classes: Factor values of each row, ``(n, n_factors)``, any numbers.
        source: What an error calls the data.

    Returns:
        Row numbers in the order of the grid, and how many values each factor takes.

    Raises:
        ValueError: A combination of values that is missing or there twice.
    """
    found = [np.unique(column, return_inverse=True) for column in classes.T]
    sizes = tuple(len(values) for values, _ in found)
    n_cells = int(np.prod(sizes, dtype=object))
    if n_cells == len(classes):
        cells = np.ravel_multi_index(tuple(inverse for _, inverse in found), sizes)
        order = np.argsort(cells, kind="stable")
        if np.array_equal(cells[order], np.arange(n_cells)):
            return order, sizes
    raise ValueError(
        f"{source} must have each of the {n_cells} combinations of factor values once, got {len(classes)} rows; "
        "fetch it again."
    )


def shrink(images: AnyArray, side: int = SIDE) -> ByteArray:
    """Bring pictures ``(n, height, width, ...)`` to ``side`` × ``side``, each new pixel the mean of what it covers."""
    heights, widths = (_cover(size, side) for size in images.shape[1:3])
    smaller = np.einsum("ih,nhw...->niw...", heights, images.astype(np.float32), optimize=True)
    smaller = np.einsum("jw,niw...->nij...", widths, smaller, optimize=True)
    rounded: ByteArray = np.rint(smaller).astype(np.uint8)
    return rounded


def _cover(size: int, side: int) -> NDArray[np.float32]:
    """Return how much of each of ``size`` pixels each of ``side`` new ones covers, rows adding up to 1."""
    edges = np.arange(side + 1) * size / side
    starts = np.arange(size)
    overlap = np.minimum(edges[1:, None], starts + 1) - np.maximum(edges[:-1, None], starts)
    shares: NDArray[np.float32] = (np.clip(overlap, 0, None) * side / size).astype(np.float32)
    return shares
