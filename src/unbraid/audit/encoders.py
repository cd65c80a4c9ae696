"""Encoders of the audit's cases: codes made from factors."""

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray

#: No column comes near a single factor, not even where one factor is the sum of two others.
MIXING = np.array([[1.0, -0.6, -0.7], [-0.7, 1.0, -0.6], [-0.6, -0.7, 1.0]])
MORE_MIXING = np.array([[1.0, -1.0, -0.4], [-0.4, 1.0, -1.0], [-1.0, -0.4, 1.0]])
ROTATION = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3
LEAK = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.5, 0.0, 1.0]])
#: Reorderings of 4, 5 and 6 values that leave (almost) no straight line.
SCRAMBLES = {4: (1, 3, 0, 2), 5: (1, 4, 2, 0, 3), 6: (2, 4, 0, 5, 1, 3)}
MANY_CODES = 20
JITTER = 0.1
OUTLIER = 1000.0
SPARSE_CODES, SPARSE_SHARE = 60, 0.01


def identity(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give each factor as it is, with mean 0 and deviation 1."""
    values: FloatArray = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    return values


def permuted(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give the factors in another order."""
    return identity(factors, rng)[:, ::-1]


def scaled(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give the factors in another order, scaled and shifted, one of them turned round."""
    scale, shift = np.array([3.0, -1.0, 0.5]), np.array([1.0, 0.0, -2.0])
    codes: FloatArray = permuted(factors, rng) * scale + shift
    return codes


def warped(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Bend each factor, always upwards: an exponential, a cube, a step with soft edges."""
    first, second, third = _unit_interval(factors).T
    return np.column_stack([np.exp(5 * first), second**3, np.tanh(6 * (third - 0.4))])


def rotated(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Turn the factors round the diagonal."""
    return _times(identity(factors, rng), ROTATION)


def mixed(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Mix all factors into every code, at angles that are not right."""
    return _times(identity(factors, rng), MIXING)


def mixed_wide(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Mix three factors into six codes."""
    return _times(identity(factors, rng), np.hstack([MIXING, MORE_MIXING]))


def dropped(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Leave the first factor out."""
    return identity(factors, rng)[:, 1:]


def duplicated(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give each factor twice, the second time turned round and scaled."""
    codes = identity(factors, rng)
    return np.hstack([codes, -2 * codes])


def several_views(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give each factor as it is, cubed and as an exponential."""
    unit = _unit_interval(factors)
    return np.hstack([identity(factors, rng), unit**3, np.exp(2 * unit)])


def circles(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Wind each factor three quarters round a circle of its own: a sine and a cosine."""
    angle = 1.5 * np.pi * _unit_interval(factors)
    return np.hstack([np.sin(angle), np.cos(angle)])


def noise_normal(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Ignore the factors: normal noise."""
    return rng.standard_normal(factors.shape)


def noise_uniform(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Ignore the factors: uniform noise."""
    return rng.random(factors.shape)


def two_factors_per_code(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Pack the first two factors into one code, from which both can be told exactly."""
    n_values = factors[:, 1].max() + 1
    return np.column_stack([factors[:, 0] * n_values + factors[:, 1], factors[:, 2]]).astype(np.float64)


def two_codes_per_factor(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Write each factor with two digits, neither of which suffices."""
    return np.hstack([factors // 2, factors % 2]).astype(np.float64)


def leaky(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give each code a factor of its own, and half as much of the next one's."""
    return _times(identity(factors, rng), LEAK)


def bent_copy(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give each factor as it is, and again with its values reordered, so that no line sees it."""
    orders = [np.array(SCRAMBLES[int(column.max()) + 1]) for column in factors.T]
    copies = np.column_stack([order[column] for order, column in zip(orders, factors.T, strict=True)])
    return np.hstack([identity(factors, rng), identity(copies, rng)])


def dead_code(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Add a code that never changes."""
    return np.hstack([np.full((len(factors), 1), 7.0), identity(factors, rng)])


def noise_code(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Add a code of noise."""
    return np.hstack([identity(factors, rng), rng.standard_normal((len(factors), 1))])


def many_noise_codes(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Add twenty codes of noise."""
    return np.hstack([identity(factors, rng), rng.standard_normal((len(factors), MANY_CODES))])


def nuisance_code(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Add a code for something that varies and has no label."""
    return np.hstack([identity(factors, rng), identity(rng.integers(5, size=(len(factors), 1)), rng)])


def nuisance_mixed(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Mix into each code, in equal parts, something of its own that has no label."""
    return identity(factors, rng) + rng.standard_normal(factors.shape)


def outlier(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Put one row a thousand deviations away."""
    codes = identity(factors, rng)
    codes[0] = OUTLIER
    return codes


def jitter(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Add noise with a tenth of each code's deviation."""
    return identity(factors, rng) + JITTER * rng.standard_normal(factors.shape)


def all_copies(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give the first factor five times, scaled, and no other."""
    return _times(identity(factors, rng)[:, :1], np.array([[1.0, -2.0, 0.5, 3.0, -1.0]]))


def untrained(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Put the factors through a network of random weights, to twelve codes."""
    weights = np.random.default_rng(0)
    hidden = np.maximum(
        identity(factors, rng) @ weights.normal(size=(factors.shape[1], 24)) + weights.normal(size=24), 0
    )
    return _times(hidden, weights.normal(size=(24, 12)))


def sparse_codes(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give each concept a code of random strength, beside sixty codes that are active in one row in a hundred."""
    strength = rng.uniform(0.5, 1.5, factors.shape)
    others = (rng.random((len(factors), SPARSE_CODES)) < SPARSE_SHARE) * rng.uniform(0.5, 1.5, SPARSE_CODES)
    return np.hstack([factors * strength, others])


def split_feature(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Divide the rows of each concept between two codes at random."""
    first = rng.random(factors.shape) < 0.5
    return np.hstack([factors * first, factors * ~first]).astype(np.float64)


def absorbed(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Let the code of the second concept absorb the first, whose own code is silent where the second is there."""
    parent, child, other = factors.T
    return np.column_stack([parent & ~child, child, other]).astype(np.float64)


def wheels(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give each of two angles a whole circle of its own, and the third factor as it is."""
    angles = 2 * np.pi * factors[:, :2] / (factors[:, :2].max(axis=0) + 1)
    return np.hstack([np.cos(angles), np.sin(angles), identity(factors, rng)[:, 2:]])


def wheels_rotated(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Turn the space of the circles."""
    codes = wheels(factors, rng)
    return _times(codes, np.linalg.qr(np.random.default_rng(1).normal(size=(codes.shape[1], codes.shape[1])))[0])


def cosines(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give the cosine of each angle, and a code of noise."""
    return _with_noise(np.cos(factors), rng)


def cosines_pair(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Replace the third cosine by that of a mean of the first two angles."""
    first, second, _ = factors.T
    return _with_noise(np.cos(np.column_stack([first, second, (3 * first + second) / 4])), rng)


def cosines_pairs(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Give the cosine of the mean of every two angles, and a code of noise."""
    first, second, third = factors.T
    return _with_noise(np.cos(np.column_stack([first + second, first + third, second + third]) / 2), rng)


def cosines_nuisance(factors: AnyArray, rng: np.random.Generator) -> FloatArray:
    """Average the third angle with one that has no label."""
    first, second, third = factors.T
    nuisance = np.pi * rng.random(len(factors))
    return _with_noise(np.cos(np.column_stack([first, second, (third + nuisance) / 2])), rng)


def _times(codes: FloatArray, matrix: FloatArray) -> FloatArray:
    product: FloatArray = codes @ matrix
    return product


def _with_noise(codes: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.hstack([codes, rng.random((len(codes), 1))])


def _unit_interval(factors: AnyArray) -> FloatArray:
    low, high = factors.min(axis=0), factors.max(axis=0)
    values: FloatArray = (factors - low) / (high - low)
    return values
