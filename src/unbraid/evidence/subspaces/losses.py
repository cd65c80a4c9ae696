"""Held-out losses of nested sets of axes: the first axis, the first two, and so on."""

from __future__ import annotations

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.evidence.subspaces.axes import Basis, additive_turn, cross_fitted, make_basis, ridge_fit
from unbraid.evidence.subspaces.options import USUAL_RANK
from unbraid.probes.linear import decision, multinomial
from unbraid.representation.factor import Factor, FactorKind

MAX_TERMS = 500
MANY_AXES_TERMS = 200
ROWS_A_TERM = 15
ALONE_DEGREE = 8
N_FOLDS = 5
BEYOND_LUCK = 3  # standard errors, since up to ten axes are tried
N_ALTERNATIONS = 6
N_RUNS = 100
LINK_RIDGE = 1e-6


def nested_losses(
    w: FloatArray,
    factor: Factor,
    rows: IntArray,
    loss: str,
    rng: np.random.Generator,
    *,
    given_rank: int | None = None,
) -> tuple[FloatArray, int, float]:
    """Evaluate nested sets of axes.

    Args:
        w: Codes along the axes, most important first, ``(n_rows, n_axes)``.
        factor: Factor to predict.
        rows: The rows of the factor that ``w`` belongs to.
        loss: For a categorical factor, ``"likelihood"`` or ``"zero_one"``.
        rng: Deals rows into folds.
        given_rank: Number of axes, where it is known.

    Returns:
        Loss with 0, 1, 2, ... axes; how many axes lower it by more than three standard errors; and the loss that
        rounding of the factor makes unavoidable.
    """
    order = rng.permutation(len(w))
    w, rows = w[order], rows[order]
    targets = factor.targets(rows)
    by_row = [_blind_errors(factor, rows, loss)]
    for n_axes in range(1, w.shape[1] + 1):
        terms = _head_basis(n_axes, len(w)).values(w[:, :n_axes])
        predicted = cross_fitted(terms, targets, n_folds=N_FOLDS, held_to_range=n_axes == w.shape[1])
        by_row.append(_errors(predicted, factor, rows, loss))
    rank = _significant_rank(by_row) if given_rank is None else given_rank
    losses = np.array([errors.mean() for errors in by_row])
    if factor.is_numeric:
        # With one axis fewer as well: what no polynomial reaches is not to the credit of the last axis.
        for n_axes in range(max(1, rank - 1), rank + 1):
            losses[n_axes] = min(losses[n_axes], _attainable_loss(w[:, :n_axes], targets))
    return losses, rank, rounding_floor(factor, rows)


def _head_basis(n_axes: int, n_rows: int) -> Basis:
    """Basis of a head, with as many terms as the number of rows allows, and fewer where there are many heads."""
    most = MAX_TERMS if n_axes <= USUAL_RANK else MANY_AXES_TERMS
    return make_basis(n_axes, min(most, n_rows // ROWS_A_TERM), alone_degree=ALONE_DEGREE)


def _attainable_loss(w: FloatArray, targets: FloatArray) -> float:
    """Estimate the loss of the best possible prediction from ``w``, which no fixed family of functions may reach.

    Axes are turned so that terms of single axes, which reach the highest degree, explain most. A polynomial is fitted
    to a transformation of the target that makes it fit best (alternating conditional expectations), and read back
    through the mean target at each fitted value. What that leaves is compared between nearest rows: half the mean
    squared difference is the part that does not depend on ``w``.
    """
    basis = _head_basis(w.shape[1], len(w))
    if w.shape[1] > 1:
        w = w @ additive_turn(w, targets, basis)
    terms = basis.values(w)
    if targets.shape[1] == 1:
        target = targets[:, 0]
        transformed, fit = target, ridge_fit(terms, LINK_RIDGE)
        for _ in range(N_ALTERNATIONS):
            transformed = _mean_along(terms @ fit(transformed), target)
        fitted = cross_fitted(terms, transformed[:, None], n_folds=N_FOLDS, held_to_range=True)[:, 0]
        left = (target - _mean_along(target, fitted))[:, None]
    else:
        left = targets - cross_fitted(terms, targets, n_folds=N_FOLDS, held_to_range=True)
    nearest = np.asarray(scipy.spatial.cKDTree(w).query(w, k=2)[1])[:, 1]
    between = 0.5 * float(((left - left[nearest]) ** 2).sum(axis=1).mean())
    return min(between, float((left**2).sum(axis=1).mean()))


def _mean_along(values: FloatArray, along: FloatArray) -> FloatArray:
    """Mean of ``values`` in runs of rows that are alike in ``along``, joined by lines."""
    order = np.argsort(along, kind="stable")
    n_runs = max(2, min(N_RUNS, len(order) // 20))
    edges = np.linspace(0, len(order), n_runs + 1).astype(int)[:-1]
    sizes = np.diff(edges, append=len(order))
    x, y = (np.add.reduceat(column[order], edges) / sizes for column in (along, values))
    return np.interp(along, x, y)


def _significant_rank(by_row: list[FloatArray]) -> int:
    """Last axis with a significant gain over the smaller sets; 0 if none has."""
    rank, reference = 0, by_row[0]
    for n_axes, errors in enumerate(by_row[1:], start=1):
        gain = reference - errors
        if gain.mean() > BEYOND_LUCK * gain.std() / np.sqrt(len(gain)):
            rank, reference = n_axes, errors
    return rank


def _blind_errors(factor: Factor, rows: IntArray, loss: str) -> FloatArray:
    """Errors of the best guess without codes; of probabilities, the shares of the values."""
    targets = factor.targets(rows)
    if not factor.is_numeric and loss != "zero_one":
        assert factor.labels is not None
        truth = factor.labels[rows]
        shares = np.bincount(truth, minlength=len(factor.levels)) / len(truth)
        surprise: FloatArray = -np.log(shares[truth])
        return surprise
    return _errors(np.broadcast_to(targets.mean(axis=0), targets.shape), factor, rows, loss)


def _errors(predicted: FloatArray, factor: Factor, rows: IntArray, loss: str) -> FloatArray:
    """Loss of each row."""
    if factor.is_numeric:
        squared: FloatArray = ((factor.targets(rows) - predicted) ** 2).sum(axis=1)
        return squared
    assert factor.labels is not None
    truth = factor.labels[rows]
    if loss == "zero_one":
        wrong: FloatArray = (predicted.argmax(axis=1) != truth).astype(float)
        return wrong
    # Regressed indicators separate the classes; a softmax on top turns them into probabilities.
    coefficients = multinomial(predicted, truth, len(factor.levels))
    log_p = scipy.special.log_softmax(decision(predicted, coefficients), axis=1)
    surprise: FloatArray = -log_p[np.arange(len(truth)), truth]
    return surprise


def rounding_floor(factor: Factor, rows: IntArray) -> float:
    """Variance that rounding to evenly spaced levels leaves, where a factor has many of them."""
    if factor.kind is not FactorKind.ORDINAL or len(factor.levels) < 10:
        return 0.0
    steps = np.diff(np.unique(factor.numbers[rows]))
    return float((np.median(steps) / factor.unit) ** 2 / 12)
