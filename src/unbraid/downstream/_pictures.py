"""What is known of the pictures behind the codes, beyond their factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid._typing import BoolArray, FloatArray

CHUNK = 1024


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pictures:
    """What some tasks ask about the pictures, row by row.

    Attributes:
        masks: Where the object is, ``(n, height, width)``; ``None`` if that is not known.
        squares: Left edge, top edge and side of a grey square, in pixels, ``(n, 3)``; ``None`` without one.
    """

    masks: BoolArray | None = None
    squares: FloatArray | None = None


def pictures_of(dataset: Any, index: ArrayLike) -> Pictures:
    """Look at some rows of a data set.

    A mask is the picture itself where pictures are black and white, as of sprites; of sprites painted over, it is that
    of the sprite beneath. Other pictures have none.

    Args:
        dataset: With ``observations`` by row, ``base`` if it is painted over another, ``squares`` if it has them.
        index: Rows, in the order of the codes.

    Example:
        >>> from unbraid.data import sprites_mini, sprites_square
        >>> pictures = pictures_of(sprites_square(sprites_mini()), [0, 5])
        >>> pictures.masks.shape, pictures.squares.shape
        ((2, 32, 32), (2, 3))
    """
    rows = np.asarray(index, dtype=np.intp)
    squares = np.asarray(dataset.squares(rows), dtype=np.float64) if hasattr(dataset, "squares") else None
    return Pictures(masks=_masks(getattr(dataset, "base", dataset), rows), squares=squares)


def _masks(dataset: Any, rows: Any) -> BoolArray | None:
    n_channels, *sides = dataset.observation_shape
    if n_channels != 1:
        return None
    masks = np.empty((len(rows), *sides), dtype=bool)
    for start in range(0, len(rows), CHUNK):
        seen = np.asarray(dataset.observations(rows[start : start + CHUNK]))[:, 0]
        masks[start : start + CHUNK] = seen > 0
        if (seen[masks[start : start + CHUNK]] != 1).any():
            return None
    return masks
