"""The same sprites in colour, on noise, on a texture, or with a grey square that was never seen in training."""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unbraid._typing import BoolArray, IntArray
from unbraid.data._counter import uniform_by_row
from unbraid.data._dataset import FactorGrid, check_rows
from unbraid.data._sprites import sprites

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
    """Sprites painted over: same factors, and what is added is drawn by chance for each row, once and for all.

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

    The colour is no factor: it is one more thing that a code may carry or leave out.

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

    Tests whether codes learned without the square stay useful with it. ``squares(index)`` says where it is: for
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
