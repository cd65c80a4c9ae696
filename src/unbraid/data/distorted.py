"""Pictures drawn anew with small random turns, stretches and shifts, for want of more data."""

from __future__ import annotations

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least

#: Most degrees, most stretch along each axis as a share, and most pixels of shift along each axis, either way.
MOST_DEGREES, MOST_STRETCH, MOST_SHIFT = 10.0, 0.1, 1.0


def distorted(images: FloatArray, n_copies: int, *, seed: int = 0) -> FloatArray:
    """Return copies of pictures, each turned, stretched and shifted a little about its middle; between pixels linearly.

    Args:
        images: Pictures ``(n, height, width)``.
        n_copies: Copies of each; with 0 the pictures are returned as they are.
        seed: Of the distortions.

    Returns:
        ``(n * n_copies, height, width)``, the copies of a picture one after the other.
    """
    from scipy.ndimage import affine_transform

    check_at_least("n_copies", n_copies, 0)
    if not n_copies:
        return images
    rng = np.random.default_rng(seed)
    middle = (np.array(images.shape[1:]) - 1) / 2
    found = np.empty((len(images), n_copies, *images.shape[1:]))
    for row, image in enumerate(images):
        for copy in range(n_copies):
            angle = np.deg2rad(rng.uniform(-MOST_DEGREES, MOST_DEGREES))
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            matrix = turn @ np.diag(1 + rng.uniform(-MOST_STRETCH, MOST_STRETCH, size=2))
            start = middle - matrix @ (middle + rng.uniform(-MOST_SHIFT, MOST_SHIFT, size=2))
            found[row, copy] = affine_transform(image, matrix, offset=start, order=1)
    return found.reshape(-1, *images.shape[1:])
