"""Sheets of pictures: a grid with thin gaps."""

from __future__ import annotations

import numpy as np

from unbraid._base.arrays import ByteArray

GAP, GREY = 2, 128


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
