"""Animated GIF bytes: grey pictures exactly, colour pictures in 252 colours."""

from __future__ import annotations

import struct

import numpy as np

from unbraid._base.arrays import ByteArray

#: Levels of red, green and blue: 6 × 7 × 6 colours; eyes tell greens apart best.
LEVELS = (6, 7, 6)
CODE_BITS, MOST_BITS = 8, 12
CLEAR, END = 1 << CODE_BITS, (1 << CODE_BITS) + 1


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
