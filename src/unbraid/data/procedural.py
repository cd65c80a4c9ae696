"""Sprites drawn on request, and their variants: in colour, on noise, on a texture, with a square."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from unbraid._base.arrays import BoolArray, ByteArray, FloatArray, IntArray
from unbraid.data.dataset import FactorGrid, check_rows

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
        # a rotation onto itself is drawn with exactly the same angle, so that rounding makes no difference
        turns = np.arange(n_orientations) % (n_orientations / symmetry)
        for scale in scales:
            for angle in 2 * np.pi * turns / n_orientations:
                along, across = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
                drawn.append(outline(along / (scale * reach), across / (scale * reach)))
    return np.array(drawn, dtype=np.uint8)


GOLDEN, FIRST, SECOND = (np.uint64(value) for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def uniform_by_row(seed: int, index: IntArray, n_numbers: int) -> NDArray[np.float32]:
    """Return ``(n, n_numbers)`` even numbers from 0 up to 1, a function of seed and row.

    Each is a quarter, 16 bits, of a number of SplitMix64 (Steele et al. 2014); a row has its own stretch of the
    stream of a seed.
    """
    n_words = -(-n_numbers // 4)
    start = _mixed(np.array([seed], dtype=np.int64).astype(np.uint64) + GOLDEN)
    rows = np.asarray(index).astype(np.uint64)[:, None]
    positions = rows * np.uint64(n_words) + np.arange(n_words, dtype=np.uint64)
    steps = np.multiply(positions, GOLDEN, dtype=np.uint64)
    quarters = _mixed(start + steps).astype("<u8").view("<u2")[:, :n_numbers]
    numbers: NDArray[np.float32] = np.multiply(quarters, np.float32(2.0**-16), dtype=np.float32)
    return numbers


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all others; arrays wrap round at 2⁶⁴ without a warning."""
    values = (values ^ (values >> np.uint64(30))) * FIRST
    values = (values ^ (values >> np.uint64(27))) * SECOND
    return values ^ (values >> np.uint64(31))


#: Pictures painted at a time: few enough to stay in the processor's cache.
CHUNK = 32
#: Sides of grey squares, in pixels of a picture of 64: from, to.
SQUARE_SIDES = (4, 16)
GREY = 0.5
#: Height and width of the texture, of which a background is a piece.
TEXTURE = (274, 350)


class Paint(Protocol):
    """A way to paint sprites: from where they are and which rows they are, to ``(n, channels, height, width)``."""

    def __call__(self, inside: BoolArray, index: IntArray, seed: int, /) -> NDArray[np.float32]:
        """Paint; ``inside`` is ``(n, height, width)``."""
        ...


class PaintedSprites(FactorGrid):
    """Sprites painted over: the same factors, with additions drawn at random for each row, the same at every call.

    Attributes:
        base: The black and white grid that is painted.
        seed: Same seed, same pictures.
    """

    def __init__(self, base: FactorGrid, paint: Paint, *, n_channels: int, seed: int) -> None:
        super().__init__(
            names=base.factor_names,
            sizes=base.factor_sizes,
            kinds=base.factor_kinds,
            observation_shape=(n_channels, *base.observation_shape[1:]),
        )
        self.base, self.seed, self._paint = base, seed, paint

    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Paint some rows, ``(n, channels, height, width)``, 0 to 1."""
        rows = check_rows(index, len(self))
        painted = np.empty((len(rows), *self.observation_shape), dtype=np.float32)
        for start in range(0, len(rows), CHUNK):
            some = rows[start : start + CHUNK]
            painted[start : start + CHUNK] = self._paint(self.base.observations(some)[:, 0] > 0.5, some, self.seed)
        return painted


class SquaredSprites(PaintedSprites):
    """Sprites with a grey square somewhere."""

    def squares(self, index: IntArray) -> IntArray:
        """Return left edge, top edge and side of the squares of some rows, in pixels, ``(n, 3)``."""
        return _squares(check_rows(index, len(self)), self.seed, self.observation_shape[1])


def sprites_colour(base: FactorGrid | None = None, *, seed: int = 0) -> PaintedSprites:
    """Give every sprite a colour: red, green and blue each drawn evenly from 0.5 to 1.

    The colour is no factor: it is a nuisance that a code may encode or not.

    Args:
        base: A grid of black and white pictures; :func:`sprites` if none is given.
        seed: Same seed, same colours.

    References:
        Locatello et al. (2019), Challenging Common Assumptions, app. H. https://arxiv.org/abs/1811.12359

    Example:
        >>> sprites_colour().observations(np.arange(2)).shape
        (2, 3, 64, 64)
    """
    return PaintedSprites(_grid(base), _paint_colour, n_channels=3, seed=seed)


def sprites_noisy(base: FactorGrid | None = None, *, seed: int = 0) -> PaintedSprites:
    """Put white sprites on a background of even noise, from 0 to 1 in each pixel and channel.

    Args, reference and example as for :func:`sprites_colour`.
    """
    return PaintedSprites(_grid(base), _paint_noise, n_channels=3, seed=seed)


def sprites_scream(base: FactorGrid | None = None, *, seed: int = 0) -> PaintedSprites:
    """Put sprites on a piece of a texture, as its negative.

    Stands in for the sprites on Munch's painting, without the painting: the background is a piece, drawn for each row,
    of one texture with structure at all scales, averaged with a random colour; the sprite inverts what is under it.

    Args, reference and example as for :func:`sprites_colour`.
    """
    return PaintedSprites(_grid(base), _paint_texture, n_channels=3, seed=seed)


def sprites_square(base: FactorGrid | None = None, *, seed: int = 0) -> SquaredSprites:
    """Add a grey square of random place and size, over the sprite where they meet.

    Tests whether codes learned without the square stay useful with it. ``squares(index)`` is its place: for
    pictures of 64 pixels its side is 4 to 16, and all of it is in the picture.

    Args, and an example, as for :func:`sprites_colour`.
    """
    return SquaredSprites(_grid(base), _paint_square, n_channels=1, seed=seed)


def _grid(base: FactorGrid | None) -> FactorGrid:
    grid = sprites() if base is None else base
    if grid.observation_shape[0] != 1:
        raise ValueError(f"base must have pictures of one channel, got {grid.observation_shape[0]}.")
    return grid


def _paint_colour(inside: BoolArray, index: IntArray, seed: int) -> NDArray[np.float32]:
    colours = 0.5 + uniform_by_row(seed, index, 3) / 2
    return np.where(inside[:, None], colours[:, :, None, None], np.float32(0))


def _paint_noise(inside: BoolArray, index: IntArray, seed: int) -> NDArray[np.float32]:
    n, height, width = inside.shape
    noise = uniform_by_row(seed, index, 3 * height * width).reshape(n, 3, height, width)
    return np.where(inside[:, None], np.float32(1), noise)


def _paint_texture(inside: BoolArray, index: IntArray, seed: int) -> NDArray[np.float32]:
    height, width = inside.shape[1:]
    drawn = uniform_by_row(seed, index, 5)
    texture = _texture(seed, max(TEXTURE[0], 2 * height), max(TEXTURE[1], 2 * width))
    room = np.array([texture.shape[1] - height, texture.shape[2] - width])
    top, left = (drawn[:, 3:] * (room + 1)).astype(np.intp).T
    pieces = np.lib.stride_tricks.sliding_window_view(texture, (height, width), axis=(1, 2))[:, top, left]
    ground = (pieces.transpose(1, 0, 2, 3) + drawn[:, :3, None, None]) / 2
    return np.where(inside[:, None], 1 - ground, ground)


def _paint_square(inside: BoolArray, index: IntArray, seed: int) -> NDArray[np.float32]:
    left, top, side = _squares(index, seed, inside.shape[1])[:, :, None].transpose(1, 0, 2)
    places: NDArray[Any] = np.arange(inside.shape[1])
    rows, columns = (places >= top) & (places < top + side), (places >= left) & (places < left + side)
    painted = np.where(rows[:, :, None] & columns[:, None, :], np.float32(GREY), inside)
    return painted[:, None].astype(np.float32)


def _squares(index: IntArray, seed: int, size: int) -> IntArray:
    low, high = (max(1, round(side * size / 64)) for side in SQUARE_SIDES)
    drawn = uniform_by_row(seed, index, 3)
    sides = low + (drawn[:, 2] * (high - low + 1)).astype(np.intp)
    corners = (drawn[:, :2] * (size - sides[:, None] + 1)).astype(np.intp)
    return np.column_stack([corners, sides])


@cache
def _texture(seed: int, height: int, width: int) -> NDArray[np.float32]:
    """Return three channels of noise whose waves are the stronger the longer they are, spread evenly over 0 to 1."""
    noise = np.random.default_rng([seed, 1]).standard_normal((3, height, width))
    waves = np.hypot(*np.meshgrid(np.fft.fftfreq(height), np.fft.rfftfreq(width), indexing="ij"))
    waves[0, 0] = np.inf
    smooth = np.fft.irfft2(np.fft.rfft2(noise) / waves**1.5, s=(height, width))
    ranks = smooth.reshape(3, -1).argsort(axis=1).argsort(axis=1)
    return (ranks / (height * width - 1)).reshape(3, height, width).astype(np.float32)
