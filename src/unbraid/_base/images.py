"""Pictures as bytes: PNG, data URIs, animated GIF, and sheets of many pictures."""

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
#: Levels of red, green and blue: 6 × 7 × 6 colours; eyes tell greens apart best.
LEVELS = (6, 7, 6)
CODE_BITS, MOST_BITS = 8, 12
CLEAR, END = 1 << CODE_BITS, (1 << CODE_BITS) + 1
GAP, GREY = 2, 128


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


def gif(frames: ByteArray, *, seconds: float = 0.12) -> bytes:
    """Return an animation that goes through frames again and again.

    Args:
        frames: From 0 to 255, ``(n, height, width, 1)`` grey or ``(n, height, width, 3)`` colour.
        seconds: Time that each is shown.

    Example:
        >>> gif(np.zeros((2, 3, 4, 1), dtype=np.uint8))[:6]
        b'GIF89a'
    """
    _, height, width, channels = frames.shape
    palette, indices = _palette(channels), _indices(frames)
    parts = [
        b"GIF89a",
        struct.pack("<HHBBB", width, height, 0xF7, 0, 0),
        palette.tobytes(),
        b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00",
    ]
    for frame in indices:
        parts.append(b"\x21\xf9\x04\x04" + struct.pack("<H", round(100 * seconds)) + b"\x00\x00")
        parts.append(b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + bytes([CODE_BITS]))
        packed = _compress(frame.tobytes())
        blocks = [packed[at : at + 255] for at in range(0, len(packed), 255)]
        parts += [bytes([len(block)]) + block for block in blocks]
        parts.append(b"\x00")
    return b"".join([*parts, b"\x3b"])


def _palette(channels: int) -> ByteArray:
    if channels == 1:
        return np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)
    steps = np.stack(np.meshgrid(*(np.arange(n) for n in LEVELS), indexing="ij"), axis=-1).reshape(-1, 3)
    colours = np.round(255 * steps / (np.array(LEVELS) - 1)).astype(np.uint8)
    return np.concatenate([colours, np.zeros((256 - len(colours), 3), dtype=np.uint8)])


def _indices(frames: ByteArray) -> ByteArray:
    if frames.shape[3] == 1:
        return frames[..., 0]
    _, green, blue = LEVELS
    steps = np.round(frames / 255 * (np.array(LEVELS) - 1)).astype(np.uint8)
    indices: ByteArray = ((steps[..., 0] * green + steps[..., 1]) * blue + steps[..., 2]).astype(np.uint8)
    return indices


def _compress(data: bytes) -> bytes:
    """Return codes of growing length for runs of bytes seen before (LZW), as GIF packs them: lowest bits first."""
    table: dict[tuple[int, int], int] = {}
    out, held, n_held, bits = bytearray(), 0, 0, CODE_BITS + 1

    def emit(code: int) -> None:
        nonlocal held, n_held
        held |= code << n_held
        n_held += bits
        while n_held >= 8:
            out.append(held & 255)
            held >>= 8
            n_held -= 8

    emit(CLEAR)
    known = data[0]
    for byte in data[1:]:
        longer = table.get((known, byte))
        if longer is not None:
            known = longer
            continue
        emit(known)
        following = END + 1 + len(table)
        if following < 1 << MOST_BITS:
            table[known, byte] = following
            if following == 1 << bits and bits < MOST_BITS:
                bits += 1
        else:
            emit(CLEAR)
            table.clear()
            bits = CODE_BITS + 1
        known = byte
    emit(known)
    emit(END)
    if n_held:
        out.append(held & 255)
    return bytes(out)


def sheet(pictures: ByteArray, columns: int) -> ByteArray:
    """Lay out ``(n, height, width, channels)`` in rows of ``columns``, with grey gaps.

    Example:
        >>> sheet(np.zeros((3, 4, 4, 1), dtype=np.uint8), 2).shape
        (10, 10, 1)
    """
    n, height, width, channels = pictures.shape
    rows = -(-n // columns)
    laid = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, channels), GREY, dtype=np.uint8)
    for place, picture in enumerate(pictures):
        top, left = (place // columns) * (height + GAP), (place % columns) * (width + GAP)
        laid[top : top + height, left : left + width] = picture
    return laid
