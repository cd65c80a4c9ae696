"""Rotated digits: every picture at every angle, the angle being the domain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unbraid._base.arrays import ByteArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.memory import check_memory
from unbraid.data.dataset import check_rows
from unbraid.data.mnist import MOST_PICTURE_BYTES, Digits, bundled_digits, mnist_digits

#: Degrees, counter-clockwise, of the published experiment.
ANGLES = (0.0, 15.0, 30.0, 45.0, 60.0, 75.0)
#: Pictures of each digit in the published experiment.
N_PER_DIGIT = 100


class RotatedDigits:
    """Digits turned by each of some angles, and the factors digit and angle.

    The rows of an angle follow each other; within an angle pictures keep their order.

    Attributes:
        factor_names: Digit, angle.
        factor_sizes: Values each can take.
        factor_kinds: A category, and an ordered number.
        observation_shape: Channels, height, width.
        angles: In degrees, counter-clockwise.
        digits: The upright pictures.
    """

    factor_names = ("digit", "angle")
    factor_kinds = ("categorical", "ordinal")

    def __init__(self, digits: Digits, angles: Sequence[float]) -> None:
        self.digits, self.angles = digits, tuple(float(angle) for angle in angles)
        self.factor_sizes = (int(digits.labels.max()) + 1, len(self.angles))
        self.observation_shape = (1, digits.images.shape[1], digits.images.shape[2])
        self._turned = np.concatenate([turned(digits.images, angle) for angle in self.angles])

    def __len__(self) -> int:
        return len(self._turned)

    def factors(self, index: IntArray) -> IntArray:
        """Return digit and number of the angle of some rows, ``(n, 2)``, counted from 0."""
        angle, picture = np.divmod(check_rows(index, len(self)), len(self.digits))
        return np.stack([self.digits.labels[picture], angle], axis=1)

    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Return some pictures, ``(n, 1, height, width)``, 0 to 1."""
        return self._turned[check_rows(index, len(self))][:, None].astype(np.float32) / np.float32(255)


def turned(images: ByteArray, angle: float) -> ByteArray:
    """Turn pictures ``(n, height, width)`` counter-clockwise about their middle; between pixels linearly."""
    from scipy.ndimage import rotate

    if angle == 0:
        return images
    found = rotate(images.astype(np.float32), angle, axes=(2, 1), reshape=False, order=1)
    rounded: ByteArray = np.round(np.clip(found, 0, 255)).astype(np.uint8)
    return rounded


def rotated_digits(
    digits: Digits | None = None,
    *,
    angles: Sequence[float] = ANGLES,
    n_per_digit: int | None = N_PER_DIGIT,
    rng: np.random.Generator | int = 0,
) -> RotatedDigits:
    """Turn some pictures of each digit by each of some angles.

    Args:
        digits: Grey pictures; scikit-learn's by default, drawn out to 28 by 28.
        angles: In degrees, counter-clockwise: the domains.
        n_per_digit: Pictures of each digit, drawn without replacement; ``None`` takes all.
        rng: Source of chance, or its seed: same seed, same pictures.

    Raises:
        ValueError: No angle, an angle twice, or fewer pictures of a digit than asked for.

    References:
        Ilse et al. (2020), DIVA: Domain Invariant Variational Autoencoders, sec. 4.1.
        https://arxiv.org/abs/1905.10427

    Example:
        >>> data = rotated_digits(n_per_digit=2, angles=(0, 45))
        >>> len(data), data.factor_sizes, data.factors(np.array([0, 20])).tolist()
        (40, (10, 2), [[6, 0], [6, 1]])
    """
    check_at_least("number of angles", len(angles), 1)
    if len(set(angles)) < len(angles):
        raise ValueError(f"angles must differ, got {list(angles)}.")
    given = bundled_digits() if digits is None else digits
    return RotatedDigits(given if n_per_digit is None else some_of_each(given, n_per_digit, rng), angles)


def some_of_each(digits: Digits, n_per_digit: int, rng: np.random.Generator | int) -> Digits:
    """Return so many pictures of each digit, in the order they have.

    Raises:
        ValueError: Fewer pictures of a digit.
    """
    check_at_least("n_per_digit", n_per_digit, 1)
    order = np.random.default_rng(rng).permutation(len(digits))
    chosen = []
    for label in np.unique(digits.labels):
        rows = order[digits.labels[order] == label]
        if len(rows) < n_per_digit:
            raise ValueError(f"n_per_digit must be at most {len(rows)}, the pictures of {label}, got {n_per_digit}.")
        chosen.append(rows[:n_per_digit])
    return digits.take(np.sort(np.concatenate(chosen)))


def read_rotated_mnist(folder: Path, memory: str | int | None = None) -> RotatedDigits:
    """Read MNIST and turn 100 training pictures of each digit by the published angles."""
    check_memory(f"digits in {str(folder)!r}", MOST_PICTURE_BYTES, memory)
    return rotated_digits(mnist_digits(folder)[0])
