"""Linear probes of one factor: least squares for numbers and angles, softmax regression for categories."""

import numpy as np
import scipy

from unbraid._typing import FloatArray, IntArray
from unbraid.evidence.separability import multinomial
from unbraid.factor import Factor

RIDGE = 1e-6


def fit_linear(codes: FloatArray, factor: Factor, rows: IntArray) -> FloatArray:
    """Fit on standardised ``codes`` of the labelled ``rows`` of ``factor``.

    Returns:
        Coefficients with the intercept last, ``(n_codes + 1, n_outputs)``.
    """
    if not factor.is_numeric:
        assert factor.labels is not None
        labels = factor.labels[rows]
        if len(np.unique(labels)) == 1:
            blind = np.zeros((codes.shape[1] + 1, len(factor.levels)))
            blind[-1] = np.where(np.arange(len(factor.levels)) == labels[0], 0.0, -1e9)
            return blind
        return multinomial(codes, labels, len(factor.levels)).T
    targets = factor.targets(rows)
    centre, middle = targets.mean(axis=0), codes.mean(axis=0)
    centred = codes - middle
    gram = centred.T @ centred + RIDGE * len(codes) * np.eye(codes.shape[1])
    weights = np.linalg.solve(gram, centred.T @ (targets - centre))
    return np.vstack([weights, centre - middle @ weights])


def predict_linear(codes: FloatArray, coefficients: FloatArray, factor: Factor) -> FloatArray:
    """Targets of a numeric factor, probabilities of the values of a categorical one."""
    scores = codes @ coefficients[:-1] + coefficients[-1]
    return np.asarray(scores if factor.is_numeric else scipy.special.softmax(scores, axis=1))
