"""Conditionally coloured digits: three factors of which two depend on the third."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.data.mnist import Digits

#: Probability of a black background, and of a red digit, for the digits 0, 1, 2 and 3 (Table 5).
BLACK_BACKGROUND = (0.8, 0.8, 0.2, 0.2)
RED_DIGIT = (0.8, 0.2, 0.8, 0.2)

DIGIT_COLOURS: dict[str, tuple[float, float, float]] = {"red": (1.0, 0.0, 0.0), "green": (0.0, 1.0, 0.0)}
BACKGROUND_COLOURS: dict[str, tuple[float, float, float]] = {"black": (0.0, 0.0, 0.0), "white": (1.0, 1.0, 1.0)}


class ColouredDigits:
    """Digits in red or green on black or white, and the factors digit, digit colour and background colour.

    Colours are drawn once, when the set is made; pictures are painted when asked for: ink of full strength has the
    colour of the digit, paper that of the background, and what lies between is mixed in proportion.

    Attributes:
        factor_names: Digit, colour of the digit, colour of the background.
        factor_sizes: Values each can take.
        factor_kinds: All are categories.
        observation_shape: Channels, height, width.
        digits: The grey pictures, of the digits kept.
    """

    factor_names = ("digit", "digit_colour", "background_colour")
    factor_kinds = ("categorical", "categorical", "categorical")

    def __init__(self, digits: Digits, factors: IntArray, *, n_digits: int) -> None:
        self.digits, self._factors = digits, factors
        self.factor_sizes = (n_digits, len(DIGIT_COLOURS), len(BACKGROUND_COLOURS))
        self.observation_shape = (3, *digits.images.shape[1:])

    def __len__(self) -> int:
        return len(self.digits)

    def factors(self, index: IntArray) -> IntArray:
        """Return factor values of some rows, ``(n, 3)``, counted from 0 in the order of the names above."""
        return self._factors[index]

    def observations(self, index: IntArray) -> FloatArray:
        """Paint some rows: red, green and blue from 0 to 1, ``(n, 3, height, width)``."""
        ink = self.digits.images[index][:, None] / 255.0
        foreground = np.array(list(DIGIT_COLOURS.values()))[self._factors[index, 1], :, None, None]
        background = np.array(list(BACKGROUND_COLOURS.values()))[self._factors[index, 2], :, None, None]
        pictures: FloatArray = background + ink * (foreground - background)
        return pictures


def coloured_digits(
    digits: Digits,
    *,
    black_background: Sequence[float] = BLACK_BACKGROUND,
    red_digit: Sequence[float] = RED_DIGIT,
    rng: np.random.Generator | int = 0,
) -> ColouredDigits:
    """Colour digits and backgrounds with probabilities that depend on the digit.

    Args:
        digits: Grey pictures. Digits for which no probability is given are left out.
        black_background: Probability of a black background, rather than a white one, for the digits 0, 1, ...
        red_digit: Probability that the digit is red, rather than green, for the same digits.
        rng: Source of chance, or its seed: same seed, same colours.

    Returns:
        The coloured set. Given the digit, the two colours are independent of each other.

    Raises:
        ValueError: Probabilities outside [0, 1], two lists that differ in length, or a digit that has no picture.

    References:
        Almudévar et al. (2024), Defining and Measuring Disentanglement for non-Independent Factors of Variation,
        sec. 6 and Table 5. https://arxiv.org/abs/2408.07016

    Example:
        >>> from unbraid.data import bundled_digits
        >>> data = coloured_digits(bundled_digits())
        >>> len(data), data.factor_sizes, data.observations(np.arange(2)).shape
        (720, (4, 2, 2), (2, 3, 28, 28))
    """
    n_digits = len(red_digit)
    if len(black_background) != n_digits:
        raise ValueError(
            "red_digit and black_background must have one probability for each digit, "
            f"got {n_digits} and {len(black_background)}."
        )
    chances = np.array([_chances("red_digit", red_digit), _chances("black_background", black_background)])
    kept = digits.take(np.flatnonzero(digits.labels < n_digits))
    missing = sorted(set(range(n_digits)) - set(kept.labels.tolist()))
    if missing:
        raise ValueError(f"digits must have pictures of 0 to {n_digits - 1}, got none of {missing[0]}.")
    drawn = np.random.default_rng(rng).random((2, len(kept)))
    colours = (drawn >= chances[:, kept.labels]).astype(np.intp)
    return ColouredDigits(kept, np.stack([kept.labels, *colours], axis=1), n_digits=n_digits)


def _chances(name: str, values: Sequence[float]) -> list[float]:
    chances = [float(value) for value in values]
    check_at_least(f"number of values of {name}", len(chances), 2)
    if not all(0 <= value <= 1 for value in chances):
        raise ValueError(f"{name} must be probabilities between 0 and 1, got {chances}.")
    return chances
