"""Procedural sprites: dSprites' grid of five factors, drawn when asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from unbraid._typing import BoolArray, ByteArray, FloatArray, IntArray
from unbraid.data._dataset import FactorGrid, check_rows

Outline = Callable[[FloatArray, FloatArray], BoolArray]

#: Half the side of the square, and half axes of the ellipse, as shares of the reach; areas are alike.
HALF_SIDE, HALF_AXES = 0.6875, (0.96875, 0.625)
#: The heart (x² + y² - 1)³ = x² y³: how it is scaled to the same area, and the height of its centroid.
HEART_SCALE, HEART_CENTROID = 0.7185, 0.2935


def _square(x: FloatArray, y: FloatArray) -> BoolArray:
    inside: BoolArray = np.maximum(np.abs(x), np.abs(y)) <= HALF_SIDE
    return inside


def _ellipse(x: FloatArray, y: FloatArray) -> BoolArray:
    inside: BoolArray = (x / HALF_AXES[0]) ** 2 + (y / HALF_AXES[1]) ** 2 <= 1
    return inside


def _heart(x: FloatArray, y: FloatArray) -> BoolArray:
    u, v = x / HEART_SCALE, HEART_CENTROID - y / HEART_SCALE  # rows count downwards, and the tip points down
    inside: BoolArray = (u**2 + v**2 - 1) ** 3 <= u**2 * v**3
    return inside


#: Each shape, and how many turns of it in a circle look the same.
SHAPES: dict[str, tuple[Outline, int]] = {"square": (_square, 4), "ellipse": (_ellipse, 2), "heart": (_heart, 1)}


class Sprites(FactorGrid):
    """White shapes on black, hard edged: shape, scale, orientation, x and y; build it with :func:`sprites`.

    Attributes:
        side: Pixels of a picture, in height and in width.
        templates: Each shape, scale and orientation, cut out, ``(n, reach, reach)``, 0 or 1.
    """

    def __init__(self, *, side: int, n_scales: int, n_orientations: int, n_positions: int, step: int) -> None:
        super().__init__(
            names=("shape", "scale", "orientation", "x", "y"),
            sizes=(len(SHAPES), n_scales, n_orientations, n_positions, n_positions),
            kinds=("categorical", "ordinal", f"circular:{n_orientations}", "ordinal", "ordinal"),
            observation_shape=(1, side, side),
        )
        self.side, self._step = side, step
        reach = (side - step * (n_positions - 1) - 1) // 2
        self.templates = _templates(reach, n_scales, n_orientations)

    def masks(self, index: IntArray) -> ByteArray:
        """Return some sprites, ``(n, side, side)``, 1 within and 0 without."""
        shape, scale, orientation, x, y = self.factors(index).T
        which = np.ravel_multi_index((shape, scale, orientation), self.factor_sizes[:3])
        pictures = np.zeros((len(which), self.side, self.side), dtype=np.uint8)
        windows = sliding_window_view(pictures, self.templates.shape[1:], axis=(1, 2), writeable=True)
        windows[np.arange(len(which)), self._step * y, self._step * x] = self.templates[which]
        return pictures

    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Draw some sprites, ``(n, 1, side, side)``, 0 or 1."""
        return self.masks(check_rows(index, len(self)))[:, None].astype(np.float32)


def sprites() -> Sprites:
    """Return 737 280 pictures of 64 × 64 pixels: 3 shapes, 6 scales, 40 orientations, 32 × 32 positions.

    The grid is that of dSprites: square, ellipse or heart; scales from 0.5 to 1; turned about its centroid; x to the
    right and y downwards. A step of position is one pixel, and the sprite is never cut off. Nothing is smoothed: each
    pixel is 0 or 1, by whether its centre lies within the outline. Nothing is stored but 720 cut-outs.

    Unlike in dSprites, where the first and the last of 40 angles are the same, orientations are 9 degrees apart
    all round. Turns that leave a shape as it is leave the picture as it is: every 10th for the square, every 20th
    for the ellipse.

    References:
        Matthey et al. (2017), dSprites. https://github.com/google-deepmind/dsprites-dataset

    Example:
        >>> data = sprites()
        >>> len(data), data.factor_sizes
        (737280, (3, 6, 40, 32, 32))
        >>> data.observations(np.arange(2)).shape
        (2, 1, 64, 64)
    """
    return Sprites(side=64, n_scales=6, n_orientations=40, n_positions=32, step=1)


def sprites_mini() -> Sprites:
    """Return 4608 pictures of 32 × 32 pixels, for tests and demos: 3 shapes, 3 scales, 8 orientations, 8 × 8 positions.

    As :func:`sprites`, with steps of two pixels.

    Example:
        >>> data = sprites_mini()
        >>> len(data), data.observation_shape
        (4608, (1, 32, 32))
    """
    return Sprites(side=32, n_scales=3, n_orientations=8, n_positions=8, step=2)


def _templates(reach: int, n_scales: int, n_orientations: int) -> ByteArray:
    """Draw every shape at every scale and turn, on pixels from ``-reach`` to ``reach`` about its centroid."""
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.float64)
    scales = np.linspace(0.5, 1, n_scales)
    drawn = []
    for outline, symmetry in SHAPES.values():
        # a turn that changes nothing is drawn with the very same angle, so that rounding cannot tell them apart
        turns = np.arange(n_orientations) % (n_orientations / symmetry)
        for scale in scales:
            for angle in 2 * np.pi * turns / n_orientations:
                along, across = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
                drawn.append(outline(along / (scale * reach), across / (scale * reach)))
    return np.array(drawn, dtype=np.uint8)
