"""R² of linear regressions, cross-fitted from products that are formed once for each fold."""

import functools
from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.stats import centred_columns, scale_columns
from unbraid.evidence.association import NoOptions
from unbraid.probes.bins import MOST_EXACT
from unbraid.probes.linear import RIDGE, ridge_solver
from unbraid.probes.splits import check_enough_labels, folds, has_plenty, mean_and_scale_on
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

#: Every row is tested once, by a probe fitted to the other folds: a single hold-out set would add to the error of a
#: score the luck of which rows are held out.
N_FOLDS = 3
#: Deviation, in units of that of all rows, below which a code does not vary on the rows that are fitted.
VARIES = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearFit:
    """Held-out share of variance explained, for each factor, not floored, ``(n_factors,)``."""

    r2: FloatArray


def linear_fit(rep: Representation, options: NoOptions, rng: np.random.Generator) -> LinearFit:
    """Regress numbers on the codes, angles as cosine and sine, categories as their indicators; cross-fitted.

    Factors that share folds are regressed together, on products of codes that are formed once; with more codes than
    rows, products of rows take their place.
    """
    children, shares, groups = rng.spawn(rep.n_factors), np.empty(rep.n_factors), _sharing_folds(rep)
    few_rows = rep.n_codes > max(MOST_EXACT, rep.n_samples)
    most = max(sum(rep.factors[k].n_targets for k in group) for group in groups)
    design = rep.codes if few_rows else standardised_with_ones(rep.codes, n_more=most)
    for group in groups:
        own, child = [rep.factors[k] for k in group], children[group[0]]
        rows, fold = folds(own[0], N_FOLDS, rng=child) if len(group) == 1 else _folds_of_all(own[0], child)
        on: IntArray | slice = slice(None) if len(rows) == len(design) else rows
        targets = centred_columns(np.hstack([factor.targets(on) for factor in own]))[0]
        if few_rows:
            residual, total = _cross_regressed_by_rows(design[on], targets, fold)
        else:
            inputs_and_targets = design[on, : rep.n_codes + 1 + targets.shape[1]]
            inputs_and_targets[:, rep.n_codes + 1 :] = targets
            residual, total = _cross_regressed(inputs_and_targets, targets.shape[1], fold)
        columns = np.cumsum([0, *(factor.n_targets for factor in own)])
        for k, first, last in zip(group, columns[:-1], columns[1:], strict=True):
            whole = float(total[first:last].sum())
            shares[k] = 1 - float(residual[first:last].sum()) / whole if whole > 0 else 0.0
    return LinearFit(r2=shares)


def _sharing_folds(rep: Representation) -> list[list[int]]:
    """Positions of factors that share folds: those with plenty of rows, and of many codes all with the same rows."""
    alike: dict[object, list[int]] = {}
    for k, factor in enumerate(rep.factors):
        if has_plenty(factor, factor.labels):
            key: object = b""
        else:
            key = factor.labelled.tobytes() if rep.n_codes > MOST_EXACT else k
        alike.setdefault(key, []).append(k)
    return list(alike.values())


def _folds_of_all(factor: Factor, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Rows with a label, and folds drawn without regard to values."""
    check_enough_labels(factor)
    rows = np.flatnonzero(factor.labelled)
    return rows, rng.permutation(len(rows)) % N_FOLDS


def standardised_with_ones(codes: FloatArray, *, n_more: int = 0) -> FloatArray:
    """Codes of mean 0 and deviation 1, those that are constant 0, a column of ones, and room for more columns."""
    n_codes = codes.shape[1]
    design = np.ones((len(codes), n_codes + 1 + n_more))
    design[:, :n_codes] = codes
    _, mean, squares = centred_columns(design, out=design)
    deviation = np.sqrt(squares / len(codes))
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-12 * np.abs(mean))
    scale_columns(design, scale)
    design[:, n_codes] = 1.0
    return design


def centred_products(fitted: FloatArray, moment: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Products of codes that are standardised on the rows that are fitted, from those of a design with ones.

    Returns:
        Products of the codes with each other and with the targets, their mean, and one over their deviation: 0 for a
        code that does not vary on these rows.
    """
    n_rows, mean = fitted[-1, -1], fitted[-1, :-1] / fitted[-1, -1]
    products = fitted[:-1, :-1] - n_rows * np.outer(mean, mean)
    deviation = np.sqrt(np.maximum(np.diagonal(products), 0.0) / n_rows)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > VARIES)
    return (
        products * np.outer(scale, scale),
        scale[:, None] * (moment[:-1] - np.outer(mean, moment[-1])),
        mean,
        scale,
    )


def _cross_regressed(inputs_and_targets: FloatArray, n_targets: int, fold: IntArray) -> tuple[FloatArray, FloatArray]:
    """Cross-fitted least squares, from products that are formed once for each fold.

    Codes are standardised on the rows that are fitted, as the penalty is one of standardised codes.

    Args:
        inputs_and_targets: Codes near mean 0 and deviation 1, ones, and targets of mean 0, so that little is lost
            where sums of squares are subtracted, ``(n_rows, n_codes + 1 + n_targets)``.
        n_targets: Number of targets.
        fold: Fold of each row; -1 for a row that is fitted on and never tested.

    Returns:
        Sums over the tested rows of squared errors, and of squared differences from the mean, ``(n_targets,)``.
    """
    whole = inputs_and_targets.T @ inputs_and_targets
    parts = [_products(inputs_and_targets, np.flatnonzero(fold == k)) for k in range(N_FOLDS - 1)]
    alone = np.flatnonzero(fold < 0)
    tested = whole - _products(inputs_and_targets, alone) if len(alone) else whole
    parts.append(functools.reduce(np.subtract, parts, tested))
    residual, n_inputs = np.zeros(n_targets), len(whole) - n_targets
    for part in parts:
        left = whole - part
        fitted, moment = left[:n_inputs, :n_inputs], left[:n_inputs, n_inputs:]
        products, shared, mean, scale = centred_products(fitted, moment)
        n_rows, level = fitted[-1, -1], moment[-1] / fitted[-1, -1]
        slopes = scale[:, None] * ridge_solver(products, RIDGE * n_rows)(shared)
        weights = np.vstack([slopes, level - mean @ slopes])
        own_gram, own_moment = part[:n_inputs, :n_inputs], part[:n_inputs, n_inputs:]
        residual += _squares(part, n_inputs) + ((own_gram @ weights - 2 * own_moment) * weights).sum(axis=0)
    total = _squares(tested, n_inputs) - tested[n_inputs - 1, n_inputs:] ** 2 / tested[n_inputs - 1, n_inputs - 1]
    return np.maximum(residual, 0.0), total


def _products(columns: FloatArray, rows: IntArray) -> FloatArray:
    """Products of columns with each other, over some rows."""
    own = columns[rows]
    return own.T @ own


def _squares(products: FloatArray, n_inputs: int) -> FloatArray:
    """Sums of squares of the targets, which come after the inputs."""
    return np.diagonal(products)[n_inputs:]


def _cross_regressed_by_rows(codes: FloatArray, targets: FloatArray, fold: IntArray) -> tuple[FloatArray, FloatArray]:
    """The same from products of rows, which are fewer than the codes; ``codes`` as they are."""
    residual = np.zeros(targets.shape[1])
    for k in range(N_FOLDS):
        fitted, tested = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        mean, scale = mean_and_scale_on(codes, fitted)
        z = codes.take(np.concatenate([fitted, tested]), axis=0)
        z -= mean
        z *= scale
        products = z @ z[: len(fitted)].T
        level = targets[fitted].mean(axis=0)
        dual = ridge_solver(products[: len(fitted)], RIDGE * len(fitted))(targets[fitted] - level)
        residual += ((targets[tested] - level - products[len(fitted) :] @ dual) ** 2).sum(axis=0)
    of_tested = targets[fold >= 0]
    return residual, ((of_tested - of_tested.mean(axis=0)) ** 2).sum(axis=0)
