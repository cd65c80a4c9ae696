"""Logistic probes: all one-versus-rest classifiers of a factor in one batched Newton iteration."""

import numpy as np
import scipy

from unbraid._typing import FloatArray, IntArray

MAX_STEPS = 50
MAX_HALVINGS = 20
TOLERANCE = 1e-5
MAX_NEWTON_CODES = 64
CHUNK_CELLS = 100_000  # so that a chunk stays in cache


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
    """Take Newton steps for all levels at once, halving a level's step while its own loss rises."""
    ridge = _ridge(design.shape[1], penalty)
    products = _products(design)
    coefficients = start
    loss, gradient, hessian = _evaluate(design, products, labels, coefficients, ridge)
    for _ in range(MAX_STEPS):
        step = np.asarray(np.linalg.solve(hessian, gradient[..., None])[..., 0], dtype=np.float64)
        before = loss
        for _ in range(MAX_HALVINGS):
            loss, gradient, hessian = _evaluate(design, products, labels, coefficients - step, ridge)
            worse = loss > before + 1e-9 * np.abs(before)
            if not worse.any():
                break
            step[worse] /= 2
        coefficients = coefficients - step
        if np.abs(before - loss).max() < TOLERANCE * (1 + np.abs(loss).max()):
            break
    return coefficients


def _quasi_newton(design: FloatArray, labels: IntArray, start: FloatArray, penalty: float) -> FloatArray:
    """Fit all levels by one L-BFGS run, for codes too many to form Hessians of."""
    ridge = _ridge(design.shape[1], penalty)

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        coefficients = flat.reshape(start.shape)
        loss, gradient = 0.5 * float((coefficients**2 * ridge).sum()), coefficients * ridge
        for rows in _chunks(len(design), len(start)):
            part, p = _loss_and_probability(design[rows] @ coefficients.T, labels[rows])
            loss += float(part.sum())
            p[np.arange(len(p)), labels[rows]] -= 1
            gradient += p.T @ design[rows]
        return loss, gradient.ravel()

    found = scipy.optimize.minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    fitted: FloatArray = found.x.reshape(start.shape)
    return fitted


def _chunks(n_rows: int, n_levels: int) -> list[slice]:
    size = max(1, CHUNK_CELLS // n_levels)
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def _ridge(width: int, penalty: float) -> FloatArray:
    """Penalty of each coefficient; the intercept, last, is all but free."""
    ridge = np.full(width, penalty)
    ridge[-1] = 1e-6
    return ridge


def _loss_and_probability(odds: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Log loss of each level over some rows, and the probability of each level in each row."""
    tail = np.exp(-np.abs(odds))
    loss = (np.maximum(odds, 0.0) + np.log(1 + tail)).sum(axis=0)
    loss -= np.bincount(labels, weights=odds[np.arange(len(odds)), labels], minlength=odds.shape[1])
    p: FloatArray = np.where(odds >= 0, 1.0, tail) / (1 + tail)
    return loss, p


def _products(design: FloatArray) -> FloatArray:
    """Products of every pair of columns, ``(n_pairs, n_rows)``, so that a Hessian is one matrix product."""
    columns = np.ascontiguousarray(design.T)
    first, second = np.triu_indices(design.shape[1])
    products = np.empty((len(first), len(design)))
    for pair, (a, b) in enumerate(zip(first, second, strict=True)):
        np.multiply(columns[a], columns[b], out=products[pair])
    return products


def _evaluate(
    design: FloatArray, products: FloatArray, labels: IntArray, coefficients: FloatArray, ridge: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Penalised loss, its gradient and its Hessian, for each level, in one pass over the rows."""
    n_levels, width = coefficients.shape
    loss = 0.5 * (coefficients**2 * ridge).sum(axis=1)
    gradient = coefficients * ridge
    packed = np.zeros((n_levels, len(products)))
    for rows in _chunks(len(design), n_levels):
        part, p = _loss_and_probability(design[rows] @ coefficients.T, labels[rows])
        loss += part
        packed += (p * (1 - p)).T @ products[:, rows].T
        p[np.arange(len(p)), labels[rows]] -= 1
        gradient += p.T @ design[rows]
    upper = np.triu_indices(width)
    hessian = np.zeros((n_levels, width, width))
    hessian[:, upper[0], upper[1]] = packed
    hessian[:, upper[1], upper[0]] = packed
    return loss, gradient, hessian + np.diag(ridge)
