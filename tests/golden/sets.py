"""The five representations on which other libraries' values were recorded, made again from their seeds."""

import numpy as np

SIZES = np.array([3, 6, 40, 32, 32])
SEEDS = {"perm": 101, "rotated": 102, "dup": 104, "nonmodular": 105, "noise": 106}


def make_set(name: str, n_samples: int = 10_000) -> tuple[np.ndarray, np.ndarray]:
    """Codes and factors of one set; the order of draws is part of its definition."""
    rng = np.random.default_rng(SEEDS[name])
    factors = np.stack([rng.integers(0, size, n_samples) for size in SIZES], axis=1)
    s = (factors - (SIZES - 1) / 2) / np.sqrt((SIZES**2 - 1) / 12)
    codes = {"perm": _permuted, "rotated": _rotated, "dup": _doubled, "nonmodular": _pairwise_means, "noise": _noise}
    return codes[name](s, rng), factors


def _permuted(s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    order = np.random.default_rng(9001).permutation(5)
    signal = s[:, order] + 0.01 * rng.standard_normal(s.shape)
    return np.concatenate([signal, rng.standard_normal(s.shape)], axis=1)


def _rotated(s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    mix = np.linalg.qr(np.random.default_rng(9002).standard_normal((5, 5)))[0]
    return np.concatenate([s @ mix, rng.standard_normal(s.shape)], axis=1)


def _doubled(s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    pairs = np.concatenate([s, -(s**3) / 3], axis=1)[:, [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]]
    return pairs + 0.01 * rng.standard_normal(pairs.shape)


def _pairwise_means(s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    means = (s + np.roll(s, -1, axis=1)) / 2
    return means + 0.01 * rng.standard_normal(s.shape)


def _noise(s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((len(s), 10))
