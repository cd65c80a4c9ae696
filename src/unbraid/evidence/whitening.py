"""Principal axes of the codes, scaled so that the codes along them have variance 1."""

import numpy as np

from unbraid._typing import FloatArray

EXACT_UP_TO = 2000
#: Directions with less than this share of the largest variance are taken to be rounding error.
LEAST_VARIANCE = 1e-9


def whitening_axes(codes: FloatArray, n_axes: int, *, rng: np.random.Generator) -> FloatArray:
    """Return the leading ``n_axes`` principal axes of centred codes, ``(n_codes, n_axes)`` or fewer.

    ``codes @ axes`` is uncorrelated with unit variance. Where rows and codes are both very many, the axes come from a
    random sketch.
    """
    if min(codes.shape) > EXACT_UP_TO:
        from sklearn.utils.extmath import randomized_svd

        _, singular, rows = randomized_svd(codes, n_axes, random_state=int(rng.integers(2**31)))
        values, axes = singular**2 / len(codes), rows.T
    elif codes.shape[1] <= len(codes):
        values, axes = np.linalg.eigh(codes.T @ codes / len(codes))
    else:
        values, axes = _of_few_rows(codes)
    order = np.argsort(-values)[:n_axes]
    kept = order[values[order] > LEAST_VARIANCE * values[order[0]]]
    return np.asarray(axes[:, kept] / np.sqrt(values[kept]))


def _of_few_rows(codes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvectors of the covariance by way of the smaller matrix of products of rows."""
    values, rows = np.linalg.eigh(codes @ codes.T / len(codes))
    axes = codes.T @ rows
    return values, axes / np.maximum(np.linalg.norm(axes, axis=0), 1e-300)
