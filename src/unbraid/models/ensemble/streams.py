"""Random numbers that are a function of seed, purpose, step and place, and of nothing else.

A generator with a state gives other numbers when more models draw from it, and its state must be saved to go on after
a break. Here each number is a hash of where it is used, so that a member of an ensemble draws what it would draw alone,
and a run goes on from its step number.
"""

from __future__ import annotations

import math
from enum import IntEnum

import torch
from torch import Tensor

# The finaliser of SplitMix64 (Steele, Lea & Flood 2014), in signed arithmetic that wraps round.
_STEP = 0x9E3779B97F4A7C15 - 2**64
_FIRST, _SECOND = 0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64
# With half a unit added, as many as a float32 holds exactly: nothing is rounded to 0 or 1.
_FRACTION_BITS = 23


class Purpose(IntEnum):
    """Purpose of random numbers; numbers of different purposes are independent."""

    WEIGHTS = 0
    ROWS = 1
    CODES = 2
    SHUFFLE = 3
    ENCODING = 4
    KIND = 5
    PLACES = 6


def random_rows(seeds: Tensor, step: int, n_rows: int | Tensor, count: int) -> Tensor:
    """Return ``count`` row numbers below ``n_rows`` for each seed, drawn with replacement, ``(n_seeds, count)``.

    Args:
        seeds: One for each model.
        step: Steps made before.
        n_rows: Rows of the data set, or of each model's part of it, ``(n_seeds, 1)``.
        count: Rows of each model.
    """
    return _shift(_bits(seeds, Purpose.ROWS, step, count), 2) % n_rows


def uniform(seeds: Tensor, purpose: Purpose, step: int, shape: tuple[int, ...]) -> Tensor:
    """Return numbers strictly between 0 and 1, ``(n_seeds, *shape)``."""
    bits = _bits(seeds, purpose, step, math.prod(shape))
    return _fraction(_shift(bits, 64 - _FRACTION_BITS)).reshape(-1, *shape)


def normal(seeds: Tensor, purpose: Purpose, step: int, shape: tuple[int, ...]) -> Tensor:
    """Return standard normal numbers, ``(n_seeds, *shape)``, by the transform of Box and Muller."""
    bits = _bits(seeds, purpose, step, math.prod(shape))
    radius = (-2 * _fraction(_shift(bits, 64 - _FRACTION_BITS)).log()).sqrt()
    angle = 2 * math.pi * _fraction(_shift(bits, 16) & (2**_FRACTION_BITS - 1))
    return (radius * angle.cos()).reshape(-1, *shape)


def _bits(seeds: Tensor, purpose: Purpose, step: int, count: int) -> Tensor:
    keys = _mix(_mix(seeds) + (purpose * 2**48 + step))
    places = torch.arange(1, count + 1, device=seeds.device) * _STEP
    return _mix(keys[:, None] + places)


def _mix(x: Tensor) -> Tensor:
    x = (x ^ _shift(x, 30)) * _FIRST
    x = (x ^ _shift(x, 27)) * _SECOND
    mixed: Tensor = x ^ _shift(x, 31)
    return mixed


def _shift(x: Tensor, n_bits: int) -> Tensor:
    """Shift right and fill with zeros; torch would fill with the sign."""
    shifted: Tensor = (x >> n_bits) & (2 ** (64 - n_bits) - 1)
    return shifted


def _fraction(bits: Tensor) -> Tensor:
    fraction: Tensor = (bits.float() + 0.5) / 2**_FRACTION_BITS
    return fraction
