"""Lasso by coordinate descent on the Gram matrix, its strength chosen on rows kept aside."""

import numpy as np

from unbraid._typing import FloatArray

N_STRENGTHS = 20
WEAKEST = 1e-3
MAX_SWEEPS = 200


def lasso_weights(codes: FloatArray, targets: FloatArray, *, rng: np.random.Generator) -> FloatArray:
    """Fit one Lasso for each target column, all with the strength that predicts held-aside rows best.

    Args:
        codes: Standardised, ``(n_samples, n_codes)``.
        targets: Centred, ``(n_samples, n_targets)``.
        rng: Chooses the rows kept aside.

    Returns:
        Coefficients, ``(n_codes, n_targets)``.
    """
    aside = rng.permutation(len(codes)) < max(2, len(codes) // 5)
    strengths = _strengths(codes, targets)
    path = _path(codes[~aside], targets[~aside], strengths)
    errors = [float(((targets[aside] - codes[aside] @ weights) ** 2).sum()) for weights in path]
    return _path(codes, targets, strengths[: int(np.argmin(errors)) + 1])[-1]


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
        if largest < 1e-7:
            break
    return weights
