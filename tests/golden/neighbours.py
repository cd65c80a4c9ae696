"""Random codes and classes on which values of other packages were recorded, made again from their seed."""

import numpy as np


def wide_codes() -> np.ndarray:
    """300 rows of 120 codes, mixed, with a mean that is not 0."""
    rng = np.random.default_rng(77)
    return rng.normal(size=(300, 120)) @ (np.diag(np.arange(1, 121) ** -0.6) + 0.02 * rng.normal(size=(120, 120))) + 0.1


def codes_and_classes() -> tuple[np.ndarray, np.ndarray]:
    """1200 rows of 8 codes and one column of five classes of unequal size, two of which share a code."""
    rng = np.random.default_rng(78)
    classes = rng.choice(5, size=1200, p=(0.4, 0.25, 0.2, 0.1, 0.05))
    codes = rng.normal(size=(1200, 8))
    codes[:, 0] += 3 * (classes == 0)
    codes[:, 1] -= 2 * (classes == 1)
    codes[:, 2] += 2 * (classes == 2) - 2 * (classes == 3)
    codes[:, 3] += 1.0 * (classes == 4)
    codes[:, 4] = codes[:, 0] + 0.5 * rng.normal(size=1200)
    return codes, classes


def factors_and_many_codes() -> tuple[np.ndarray, np.ndarray]:
    """240 rows of three numbers and forty codes, three of which mix the numbers."""
    rng = np.random.default_rng(79)
    factors = rng.normal(size=(240, 3))
    mixed = factors @ np.array([[1.0, 0.4, 0.0], [0.0, -1.0, 0.3], [0.2, 0.0, 1.0]]) + 0.5 * rng.normal(size=(240, 3))
    return factors, np.hstack([rng.normal(size=(240, 37)), mixed])


def mixed_codes_and_factors() -> tuple[np.ndarray, np.ndarray]:
    """2000 rows of six codes and three factors of 3, 5 and 8 values."""
    rng = np.random.default_rng(80)
    factors = np.stack([rng.integers(0, size, 2000) for size in (3, 5, 8)], axis=1)
    s = factors / [3, 5, 8]
    codes = np.column_stack([s, s[:, 0] + s[:, 1], s[:, 2] - 0.3 * s[:, 0], rng.normal(size=2000)])
    return codes + 0.1 * rng.normal(size=codes.shape), factors
