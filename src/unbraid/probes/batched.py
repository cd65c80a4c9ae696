"""Logistic regressions of many targets, each on columns of its own, fitted at once."""

import numpy as np
import scipy

from unbraid._base.arrays import BoolArray, FloatArray

MAX_STEPS, MAX_HALVINGS, TOLERANCE = 30, 8, 1e-7
#: Least share of either class in the starting value of an intercept.
LEAST_SHARE = 1e-3


def fit_logistic(columns: FloatArray, members: BoolArray, *, penalty: float = 1.0) -> FloatArray:
    """Fit one ridge-penalised logistic regression for each target, by Newton's method.

    Args:
        columns: Standardised columns of each target, ``(n_targets, n_rows, n_columns)``.
        members: Whether a row belongs to a target, ``(n_targets, n_rows)``.
        penalty: Weight of half the squared norm of the coefficients; the intercept is free.

    Returns:
        Coefficients with the intercept last, ``(n_targets, n_columns + 1)``.
    """
    design = np.concatenate([columns, np.ones((*columns.shape[:2], 1))], axis=2)
    ridge = np.append(np.full(columns.shape[2], penalty), 0.0)
    share = np.clip(members.mean(axis=1), LEAST_SHARE, 1 - LEAST_SHARE)
    weights = np.zeros((len(design), design.shape[2]))
    weights[:, -1] = np.log(share / (1 - share))
    loss = _loss(design, members, weights, ridge)
    for _ in range(MAX_STEPS):
        p = scipy.special.expit(_odds(design, weights))
        gradient = np.einsum("cn,cnk->ck", p - members, design) + ridge * weights
        curved = (design * (p * (1 - p))[..., None]).swapaxes(1, 2) @ design
        # A little more than the ridge, so that an intercept without curvature does not end the fit.
        hessian = curved + np.diag(ridge + 1e-9)
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        before = loss
        for _ in range(MAX_HALVINGS):
            loss = _loss(design, members, weights - step, ridge)
            worse = loss > before + 1e-9 * np.abs(before)
            if not worse.any():
                break
            step[worse] /= 2
        weights = weights - step
        if np.abs(before - loss).max() < TOLERANCE * (1 + np.abs(loss).max()):
            break
    return weights


def log_odds(columns: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the log-odds of each target in each row, ``(n_targets, n_rows)``."""
    odds: FloatArray = np.einsum("cnk,ck->cn", columns, weights[:, :-1]) + weights[:, -1:]
    return odds


def _odds(design: FloatArray, weights: FloatArray) -> FloatArray:
    odds: FloatArray = np.einsum("cnk,ck->cn", design, weights)
    return odds


def _loss(design: FloatArray, members: BoolArray, weights: FloatArray, ridge: FloatArray) -> FloatArray:
    odds = _odds(design, weights)
    fit = (np.logaddexp(0.0, odds) - members * odds).sum(axis=1)
    total: FloatArray = fit + 0.5 * (ridge * weights**2).sum(axis=1)
    return total
