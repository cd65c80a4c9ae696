"""PNG bytes and data URIs."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from unbraid._base.arrays import ByteArray, FloatArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
EIGHT_BITS, NO_FILTER = 8, b"\0"
COLOUR_TYPES = {1: 0, 3: 2}


def png(pixels: ByteArray) -> bytes:
    """Return a PNG of ``pixels`` from 0 to 255: ``(height, width, 1)`` grey, or ``(height, width, 3)`` colour."""
    height, width, channels = pixels.shape
    lines = b"".join(NO_FILTER + line.tobytes() for line in pixels)
    header = struct.pack(">IIBBBBB", width, height, EIGHT_BITS, COLOUR_TYPES[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_address(pixels: NDArray[np.uint8]) -> str:
    """Return an image as an address that an ``img`` can show.

    Args:
        pixels: ``(height, width, 1)`` grey or ``(height, width, 3)`` colour.

    Example:
        >>> png_address(np.zeros((1, 1, 1), dtype=np.uint8))[:22]
        'data:image/png;base64,'
    """
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode()


def to_pixels(image: FloatArray, low: float, high: float) -> NDArray[np.uint8]:
    """Map numbers from ``low`` to ``high`` to pixels from dark to light."""
    share = (image - low) / (high - low) if high > low else np.zeros_like(image)
    return np.round(255 * np.clip(share, 0.0, 1.0)).astype(np.uint8)


def to_signed_pixels(image: FloatArray) -> NDArray[np.uint8]:
    """Map numbers of one channel to blue below 0, white at 0 and brown above; of three channels around grey."""
    top = float(np.abs(image).max()) or 1.0
    if image.shape[2] == 3:
        return to_pixels(image, -top, top)
    share = np.clip(image / top, -1.0, 1.0)
    blue, brown, white = np.array([0, 54, 111]), np.array([179, 73, 0]), 255.0
    mixed = np.where(share < 0, white + share * (white - blue), white - share * (white - brown))
    return np.round(mixed).astype(np.uint8)


def shrink(image: FloatArray, most: int) -> FloatArray:
    """Return every few rows and columns averaged, so that neither side is longer than ``most``."""
    step = -(-max(image.shape[0], image.shape[1]) // most)
    if step == 1:
        return image
    height, width = (image.shape[0] // step * step, image.shape[1] // step * step)
    blocks = image[:height, :width].reshape(height // step, step, width // step, step, -1)
    shrunk: FloatArray = blocks.mean(axis=(1, 3))
    return shrunk
