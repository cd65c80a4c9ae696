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


def ordinal(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three factors of 4, 7 and 16 values; four codes that mix them with little noise, and a code of noise."""
    rng = np.random.default_rng(seed)
    sizes = np.array([4, 7, 16])
    factors = np.stack([rng.integers(0, size, n_samples) for size in sizes], axis=1)
    mix = np.array([[1, 0.3, 0], [0, 1, 0.2], [0.1, 0, 1.0], [0.5, 0.5, 0]])
    codes = (factors - sizes / 2) / sizes @ mix.T + 0.1 * rng.normal(size=(n_samples, 4))
    return np.column_stack([codes, rng.normal(size=n_samples)]), factors


def continuous(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three normal factors; codes with noise, bent and mixed, folded, and of noise."""
    rng = np.random.default_rng(seed)
    g, noise = rng.normal(size=(n_samples, 3)), rng.normal(size=(n_samples, 3))
    bent, folded = np.tanh(g[:, 1]) + 0.3 * g[:, 0], 0.3 * g[:, 2] ** 2 + 0.2 * noise[:, 1]
    return np.column_stack([g[:, 0] + 0.3 * noise[:, 0], bent, folded, noise[:, 2]]), g


def categorical(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three categories of 3, 5 and 8 values without order; each value has its place on a code, the third on two."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, size, n_samples) for size in (3, 5, 8)], axis=1)
    places = [np.random.default_rng(column).permutation(size) for column, size in enumerate((3, 5, 8, 8))]
    drawn = [places[column][factors[:, min(column, 2)]] for column in range(4)]
    codes = np.stack(drawn, axis=1) + 0.5 * rng.normal(size=(n_samples, 4))
    codes[:, 1] += 0.5 * codes[:, 0]
    return codes, factors.astype(str)


def dependent(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three normal factors with correlations of 0.5; one code for each with noise, and one of two factors."""
    rng = np.random.default_rng(seed)
    g = (rng.normal(size=(n_samples, 3)) + rng.normal(size=(n_samples, 1))) / np.sqrt(2)
    codes = g + 0.4 * rng.normal(size=(n_samples, 3))
    return np.column_stack([codes, g[:, 0] - g[:, 1] + 0.4 * rng.normal(size=n_samples)]), g


def weak(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Five factors of ten values, rotated, under three times as much noise."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, 10, (n_samples, 5))
    return 0.3 * (factors - 4.5) / 2.87 @ _turn_of_weak() + rng.normal(size=(n_samples, 5)), factors


def weak_on_paper() -> dict[str, float]:
    """Disentanglement and completeness of :func:`weak` for linear probes of infinitely many rows.

    Its codes are uncorrelated and of one variance, so that coefficients are those of the rotation.
    """
    shares = np.abs(_turn_of_weak())
    shares /= shares.sum(axis=1, keepdims=True)
    of_code = shares / shares.sum(axis=0)
    disentangled = 1 + (of_code * np.log(of_code)).sum(axis=0) / np.log(5)
    complete = 1 + (shares * np.log(shares)).sum(axis=1) / np.log(5)
    return {
        "dci_linear.disentanglement": float(disentangled @ shares.sum(axis=0) / 5),
        "dci_linear.completeness": float(complete.mean()),
    }


def _turn_of_weak() -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(7).normal(size=(5, 5)))[0]


def wide(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The factors and codes of :func:`ordinal` among 35 codes of noise."""
    codes, factors = ordinal(n_samples, seed)
    noise = np.random.default_rng([seed, 1]).normal(size=(n_samples, 35))
    return np.column_stack([codes, noise]), factors


def circular(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Angles of 8 and 12 steps, and a factor of 4 values; circles with noise, one flattened, and a mixed code."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, size, n_samples) for size in (8, 12, 4)], axis=1)
    first, second = 2 * np.pi * factors[:, 0] / 8, 2 * np.pi * factors[:, 1] / 12
    codes = [np.cos(first), np.sin(first), np.cos(second), 0.3 * np.sin(second), factors[:, 2] + np.cos(first)]
    return np.stack(codes, axis=1) + 0.2 * rng.normal(size=(n_samples, 5)), factors


#: Kinds of factors that worlds declare.
KINDS = {"circular": ["circular:8", "circular:12", None]}
#: Worlds whose scores of few rows are held against their scores of many.
CALIBRATION = {
    "ordinal": ordinal,
    "continuous": continuous,
    "categorical": categorical,
    "dependent": dependent,
    "weak": weak,
    "wide": wide,
    "circular": circular,
}
