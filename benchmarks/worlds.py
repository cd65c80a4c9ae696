"""Inputs to measure on: codes that carry the factors, partly mixed, with noise."""

import numpy as np

DSPRITES_SIZES = (3, 6, 40, 32, 32)


def dsprites_like(n_samples: int, n_codes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Five factors of dSprites' sizes; half of the codes mix them, half are noise."""
    return mixed(n_samples, n_codes, DSPRITES_SIZES)


def many_factors(n_samples: int, n_codes: int, n_factors: int) -> tuple[np.ndarray, np.ndarray]:
    """Any number of factors of ten values."""
    return mixed(n_samples, n_codes, (10,) * n_factors)


def mixed(n_samples: int, n_codes: int, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Codes are mixed factors, then noise."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(size, size=n_samples) for size in sizes], axis=1)
    s = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    n_signal = min(len(sizes), n_codes // 2)
    mix = np.linalg.qr(rng.standard_normal((len(sizes), len(sizes))))[0][:, :n_signal]
    noise = rng.standard_normal((n_samples, n_codes - n_signal))
    return np.concatenate([s @ mix, noise], axis=1), factors
