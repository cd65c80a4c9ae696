"""Pictures as PNG files, without an imaging library."""

import struct
import zlib

from unbraid._typing import ByteArray

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
