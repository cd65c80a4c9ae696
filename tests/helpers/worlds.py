"""Small worlds whose right answers are known, shared by the tests."""

import numpy as np

DSPRITES_SIZES = (3, 6, 40, 32, 32)


def full_grid(*sizes: int) -> np.ndarray:
    """Every combination of factor values once, ``(prod(sizes), len(sizes))``."""
    return np.stack(np.meshgrid(*[np.arange(size) for size in sizes], indexing="ij"), axis=-1).reshape(-1, len(sizes))


def random_factors(*sizes: int, n_samples: int = 2000, seed: int = 0) -> np.ndarray:
    """Independent uniform factors."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(size, size=n_samples) for size in sizes], axis=1)


def random_rotation(size: int, rng: np.random.Generator) -> np.ndarray:
    """An orthogonal matrix drawn evenly."""
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    return q * np.sign(np.diagonal(r))


def standardised(values: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and deviation 1."""
    return (values - values.mean(axis=0)) / values.std(axis=0)
