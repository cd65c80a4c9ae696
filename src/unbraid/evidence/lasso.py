"""Lasso by coordinate descent on the Gram matrix, its strength chosen on rows kept aside."""

import numpy as np

from unbraid._typing import FloatArray

N_STRENGTHS = 20
WEAKEST = 1e-3
MAX_SWEEPS = 200
TOLERANCE = 1e-5


def lasso_weights(
    codes: FloatArray, targets: FloatArray, *, rng: np.random.Generator, strength: float = 0.0
) -> FloatArray:
    """Fit one Lasso for each target column, all with one strength, by default chosen on held-aside rows.

    It is the strongest whose error is within one standard error of the smallest, which keeps codes that
    hardly help at exactly zero.

    Args:
        codes: Standardised, ``(n_samples, n_codes)``.
        targets: Centred, ``(n_samples, n_targets)``.
        rng: Chooses the rows kept aside.
        strength: Weight of the absolute coefficients; 0 to choose it.

    Returns:
        Coefficients, ``(n_codes, n_targets)``.
    """
    if strength > 0:
        stronger = _strengths(codes, targets)
        return _path(codes, targets, np.append(stronger[stronger > strength], strength))[-1]
    aside = rng.permutation(len(codes)) < max(2, len(codes) // 5)
    strengths = _strengths(codes, targets)
    path = _path(codes[~aside], targets[~aside], strengths)
    errors = np.stack([((targets[aside] - codes[aside] @ weights) ** 2).sum(axis=1) for weights in path])
    best = int(errors.mean(axis=1).argmin())
    allowed = errors[best].mean() + errors[best].std() / np.sqrt(aside.sum())
    chosen = int(np.flatnonzero(errors.mean(axis=1) <= allowed)[0])
    return _path(codes, targets, strengths[: chosen + 1])[-1]


def lasso_on_gram(gram: FloatArray, moment: FloatArray, *, strength: float) -> FloatArray:
    """Fit one Lasso for each target from averages of products alone, so that they can serve many fits.

    Args:
        gram: Of the centred codes with each other, divided by the rows, ``(n_codes, n_codes)``.
        moment: Of the codes with the targets, ``(n_codes, n_targets)``.
        strength: Weight of the absolute coefficients.

    Returns:
        Coefficients, ``(n_codes, n_targets)``.
    """
    return _descend(gram, moment, np.zeros_like(moment), strength)


def _strengths(codes: FloatArray, targets: FloatArray) -> FloatArray:
    """Return strengths from the one that silences every code down to a thousandth of it."""
    strongest = float(np.abs(codes.T @ targets).max()) / len(codes)
    return np.geomspace(max(strongest, 1e-12), max(strongest, 1e-12) * WEAKEST, N_STRENGTHS)


def _path(codes: FloatArray, targets: FloatArray, strengths: FloatArray) -> list[FloatArray]:
    """Return solutions for each strength, each started from the one before."""
    gram, moment = codes.T @ codes / len(codes), codes.T @ targets / len(codes)
    weights = np.zeros_like(moment)
    path = []
    for strength in strengths:
        weights = _descend(gram, moment, weights.copy(), float(strength))
        path.append(weights)
    return path


def _descend(gram: FloatArray, moment: FloatArray, weights: FloatArray, strength: float) -> FloatArray:
    diagonal = np.diagonal(gram)
    residual = moment - gram @ weights
    active = np.flatnonzero(diagonal > 1e-12)
    for _ in range(MAX_SWEEPS):
        largest = 0.0
        for j in active:
            old = weights[j].copy()
            pull = residual[j] + diagonal[j] * old
            weights[j] = np.sign(pull) * np.maximum(np.abs(pull) - strength, 0.0) / diagonal[j]
            change = weights[j] - old
            if change.any():
                residual -= np.outer(gram[j], change)
                largest = max(largest, float(np.abs(change).max()))
        if largest < TOLERANCE:
            break
    return weights
