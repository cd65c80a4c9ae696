"""Pictures as PNG files, without an imaging library."""

import struct
import zlib

from unbraid._typing import ByteArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
EIGHT_BITS, COLOUR, NO_FILTER = 8, 2, b"\0"


def png(pixels: ByteArray) -> bytes:
    """Return a PNG of ``pixels``: red, green and blue from 0 to 255, ``(height, width, 3)``."""
    height, width, _ = pixels.shape
    lines = b"".join(NO_FILTER + line.tobytes() for line in pixels)
    header = struct.pack(">IIBBBBB", width, height, EIGHT_BITS, COLOUR, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
