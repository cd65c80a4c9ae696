"""Strips of decoded pictures along the axes of the factors, and along the codes that DCI takes for them."""

from __future__ import annotations

from dataclasses import dataclass

from unbraid._base.arrays import ByteArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorStrips:
    """Traversals of a decoder.

    Attributes:
        labels: What moves along each strip.
        pictures: From 0 to 255, ``(n_strips, n_steps, height, width, channels)``, one or three channels.
    """

    labels: tuple[str, ...]
    pictures: ByteArray
