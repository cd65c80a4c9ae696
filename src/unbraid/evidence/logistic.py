"""Logistic probes: all one-versus-rest classifiers of a factor in one batched Newton iteration."""

import numpy as np
from scipy.optimize import minimize

from unbraid._typing import FloatArray, IntArray

MAX_STEPS = 50
MAX_NEWTON_CODES = 64
CHUNK_CELLS = 4_000_000


def one_vs_rest(codes: FloatArray, labels: IntArray, n_levels: int, *, penalty: float = 1.0) -> FloatArray:
    """Fit one ridge-penalised logistic regression for each level.

    Args:
        codes: Standardised, ``(n_samples, n_codes)``.
        labels: Level of each row.
        n_levels: Number of levels.
        penalty: Weight of half the squared norm of the coefficients; the intercept is free.

    Returns:
        Coefficients with the intercept last, ``(n_levels, n_codes + 1)``.
    """
    design = np.hstack([codes, np.ones((len(codes), 1))])
    coefficients = np.zeros((n_levels, design.shape[1]))
    share = np.clip(np.bincount(labels, minlength=n_levels) / len(labels), 1e-6, 1 - 1e-6)
    coefficients[:, -1] = np.log(share / (1 - share))
    if codes.shape[1] > MAX_NEWTON_CODES:
        return _quasi_newton(design, labels, coefficients, penalty)
    if len(codes) > 20_000:
        # A fit on some rows is a start from which few steps over all rows are left.
        few = np.linspace(0, len(codes) - 1, 10_000).astype(int)
        coefficients = _newton(design[few], labels[few], coefficients, penalty)
    return _newton(design, labels, coefficients, penalty)


def decision(codes: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Log-odds of each level, ``(n_samples, n_levels)``."""
    log_odds: FloatArray = codes @ coefficients[:, :-1].T + coefficients[:, -1]
    return log_odds


def _newton(design: FloatArray, labels: IntArray, start: FloatArray, penalty: float) -> FloatArray:
    ridge = np.full(design.shape[1], penalty)
    ridge[-1] = 1e-6
    products = _products(design)
    coefficients, loss = start, _loss(design, labels, start, ridge)
    for _ in range(MAX_STEPS):
        gradient, hessian = _derivatives(design, products, labels, coefficients)
        gradient += coefficients * ridge
        hessian += np.diag(ridge)
        step = np.asarray(np.linalg.solve(hessian, gradient[..., None])[..., 0], dtype=np.float64)
        coefficients, loss, moved = _line_search(design, labels, coefficients, step, loss, ridge)
        if moved < 1e-5 * (1 + np.abs(loss).max()):
            break
    return coefficients


def _quasi_newton(design: FloatArray, labels: IntArray, start: FloatArray, penalty: float) -> FloatArray:
    """Fit all levels by one L-BFGS run, for codes too many to form Hessians of."""
    ridge = np.full(design.shape[1], penalty)
    ridge[-1] = 1e-6

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        coefficients = flat.reshape(start.shape)
        gradient = coefficients * ridge
        for rows in _chunks(len(design), len(start)):
            p = _probability(design[rows] @ coefficients.T)
            p[np.arange(len(p)), labels[rows]] -= 1
            gradient += p.T @ design[rows]
        return float(_loss(design, labels, coefficients, ridge).sum()), gradient.ravel()

    found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    fitted: FloatArray = found.x.reshape(start.shape)
    return fitted


def _line_search(
    design: FloatArray,
    labels: IntArray,
    coefficients: FloatArray,
    step: FloatArray,
    loss: FloatArray,
    ridge: FloatArray,
) -> tuple[FloatArray, FloatArray, float]:
    """Halve each level's step until its own loss does not rise."""
    length = np.ones((len(step), 1))
    for _ in range(20):
        candidate = coefficients - length * step
        new = _loss(design, labels, candidate, ridge)
        worse = new > loss + 1e-9 * np.abs(loss)
        if not worse.any():
            break
        length[worse] /= 2
    return candidate, new, float(np.abs(loss - new).max())


def _chunks(n_rows: int, n_levels: int) -> list[slice]:
    size = max(1, CHUNK_CELLS // n_levels)
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def _loss(design: FloatArray, labels: IntArray, coefficients: FloatArray, ridge: FloatArray) -> FloatArray:
    total: FloatArray = 0.5 * (coefficients**2 * ridge).sum(axis=1)
    for rows in _chunks(len(design), len(coefficients)):
        odds = design[rows] @ coefficients.T
        total += (np.maximum(odds, 0.0) + np.log(1 + np.exp(-np.abs(odds)))).sum(axis=0)
        total -= np.bincount(labels[rows], weights=odds[np.arange(len(odds)), labels[rows]], minlength=len(total))
    return total


def _probability(odds: FloatArray) -> FloatArray:
    p: FloatArray = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
    return p


def _products(design: FloatArray) -> FloatArray:
    """Return products of every pair of columns, so that a Hessian is one matrix product."""
    upper = np.triu_indices(design.shape[1])
    products: FloatArray = design[:, upper[0]] * design[:, upper[1]]
    return products


def _derivatives(
    design: FloatArray, products: FloatArray, labels: IntArray, coefficients: FloatArray
) -> tuple[FloatArray, FloatArray]:
    n_levels, width = coefficients.shape
    gradient = np.zeros((n_levels, width))
    packed = np.zeros((n_levels, products.shape[1]))
    for rows in _chunks(len(design), n_levels):
        p = _probability(design[rows] @ coefficients.T)
        packed += (p * (1 - p)).T @ products[rows]
        p[np.arange(len(p)), labels[rows]] -= 1
        gradient += p.T @ design[rows]
    upper = np.triu_indices(width)
    hessian = np.zeros((n_levels, width, width))
    hessian[:, upper[0], upper[1]] = packed
    hessian[:, upper[1], upper[0]] = packed
    return gradient, hessian
