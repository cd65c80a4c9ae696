"""Grey handwritten digits: an MNIST folder, or the small set that comes with scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unbraid._typing import ByteArray, IntArray
from unbraid.data._idx import expected_files, read_part

#: MNIST has its digits within 20 × 20 pixels, in the middle of 28 × 28; the small set is brought to the same.
SIZE, MARGIN = 28, 4
BUNDLED_MAX = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Digits:
    """Pictures of digits, ink light on dark.

    Attributes:
        images: ``(n, height, width)``, 0 for paper to 255 for ink.
        labels: ``(n,)``, 0 to 9.
    """

    images: ByteArray
    labels: IntArray

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: IntArray) -> Digits:
        """Return some of the pictures."""
        return Digits(images=self.images[rows], labels=self.labels[rows])


def bundled_digits() -> Digits:
    """Return scikit-learn's 1797 digits of 8 × 8 pixels, drawn out smoothly to 20 × 20 and framed to 28 × 28."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    small, labels = load_digits(return_X_y=True)
    inner = SIZE - 2 * MARGIN
    large = zoom(small.reshape(-1, 8, 8) / BUNDLED_MAX, (1, inner / 8, inner / 8), order=1)
    framed = np.pad(large, ((0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN)))
    return Digits(images=np.round(255 * framed).astype(np.uint8), labels=labels.astype(np.intp))


def mnist_digits(folder: str | Path) -> tuple[Digits, Digits | None]:
    """Read an MNIST folder in IDX format, compressed or not.

    Args:
        folder: Holds ``train-images-idx3-ubyte`` and ``train-labels-idx1-ubyte``, or the same with ``t10k``, or all
            four; each may end in ``.gz``.

    Returns:
        The digits to learn from, and those held out; ``None`` for the latter if the folder has one part only.

    Raises:
        ValueError: No such folder or files, or files that are damaged or do not fit each other.
    """
    train, test = read_part(folder, "train"), read_part(folder, "t10k")
    parts = [_digits(*part) for part in (train, test) if part is not None]
    if not parts:
        raise ValueError(
            f"data folder {str(folder)!r} has no digits; it must hold {expected_files('train')}, "
            f"or {expected_files('t10k')}, or all four."
        )
    return parts[0], parts[1] if len(parts) > 1 else None


def _digits(images: ByteArray, labels: ByteArray) -> Digits:
    return Digits(images=images, labels=labels.astype(np.intp))
