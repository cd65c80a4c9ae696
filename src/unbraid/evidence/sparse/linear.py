"""Linear probes of sparse codes: R², AUC and predictive information, from codes that are scaled but not centred.

The intercept of every probe is free, so that codes around their mean have the same coefficients as codes around 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.evidence.association import NoOptions
from unbraid.evidence.information import factor_labels
from unbraid.evidence.linear import (
    N_FOLDS,
    ClassifierOptions,
    LinearFit,
    PredictiveInformation,
    PredictiveOptions,
    Separation,
    separation_splits,
)
from unbraid.probes.importance import r_squared
from unbraid.probes.linear import RIDGE, auc_by_level, decision, multinomial, ridge_solver
from unbraid.probes.splits import Split, cross_fit_factor
from unbraid.representation.factor import Factor
from unbraid.representation.sparse import SparseRepresentation

#: Steps of a fit of classifiers, and the relative change of the loss that ends it: areas hardly change any more.
MAX_STEPS, TOLERANCE = 200, 1e-7


def sparse_linear_fit(rep: SparseRepresentation, options: NoOptions, rng: np.random.Generator) -> LinearFit:
    """Regress numbers on the codes, angles as cosine and sine, categories as their indicators; cross-fitted."""
    shares = []
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        splits = cross_fit_factor(factor, n_folds=N_FOLDS, rng=child)
        shares.append(_pooled_r_squared(rep, factor, splits))
    return LinearFit(r2=np.array(shares))


def sparse_separation(rep: SparseRepresentation, options: ClassifierOptions, rng: np.random.Generator) -> Separation:
    """Fit a linear classifier for the values of each factor and take the AUC of each value, averaged over folds."""
    if options.classifier == "one_vs_rest_shares":
        raise ValueError(
            "classifier must be 'one_vs_rest' or 'multinomial' for sparse codes, got 'one_vs_rest_shares', which "
            "scales codes to [0, 1] and makes them dense."
        )
    areas = []
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        binning = "quantile" if options.binning == "robust" else options.binning
        labels, n_levels = factor_labels(factor, options.n_bins, binning)
        found = np.stack(
            [
                _areas(rep, labels, n_levels, split, options)
                for split in separation_splits(factor, options.evaluate_on, child)
            ]
        )
        known = np.isfinite(found)
        seen = known.any(axis=0)
        by_value = np.where(known, found, 0.0).sum(axis=0)[seen] / known.sum(axis=0)[seen]
        areas.append(float(by_value.mean()))
    return Separation(auc=np.array(areas))


def sparse_predictive_information(
    rep: SparseRepresentation, options: PredictiveOptions, rng: np.random.Generator
) -> PredictiveInformation:
    """Compare a linear probe of each factor with the best guess without codes."""
    shares = []
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        splits = separation_splits(factor, options.evaluate_on, child)
        if factor.labels is None:
            shares.append(_pooled_r_squared(rep, factor, splits))
        else:
            surprise = [_surprise(rep, factor.labels, len(factor.levels), split) for split in splits]
            removed, blind = np.sum(surprise, axis=0)
            shares.append(1 - float(removed / blind))
    return PredictiveInformation(share=np.clip(shares, 0.0, 1.0))


def _scaled(rep: SparseRepresentation, split: Split) -> tuple[Any, Any]:
    """Codes of training and test rows over their deviation on the training rows; constant codes become 0."""
    train, test = (rep.by_row[rows].astype(np.float64) for rows in (split.train, split.test))
    n_rows = len(split.train)
    mean = np.asarray(train.sum(axis=0)).ravel() / n_rows
    squares = np.asarray(train.multiply(train).sum(axis=0)).ravel() / n_rows
    deviation = np.sqrt(np.maximum(squares - mean**2, 0.0))
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-7 * np.abs(mean))
    for part in (train, test):
        part.data *= scale[part.indices]
    return train, test


def _pooled_r_squared(rep: SparseRepresentation, factor: Factor, splits: list[Split]) -> float:
    """R² of the targets and predictions of all folds together, by least squares with a small ridge."""
    targets, predicted = [], []
    for split in splits:
        x, x_test = _scaled(rep, split)
        y = factor.targets(split.train)
        mean, centre = np.asarray(x.mean(axis=0)).ravel(), y.mean(axis=0)
        gram = (x.T @ x).toarray() - len(y) * np.outer(mean, mean)
        weights = ridge_solver(gram, RIDGE * len(y))(np.asarray(x.T @ (y - centre)))
        targets.append(factor.targets(split.test))
        predicted.append(x_test @ weights + (centre - mean @ weights))
    return r_squared(np.concatenate(targets), np.concatenate(predicted))


def _areas(
    rep: SparseRepresentation, labels: IntArray, n_levels: int, split: Split, options: ClassifierOptions
) -> FloatArray:
    """AUC of each value on the test rows, NaN where they lack it."""
    x, x_test = _scaled(rep, split)
    if options.classifier == "one_vs_rest":
        scores = decision(x_test, sparse_one_vs_rest(x, labels[split.train], n_levels))
    else:
        scores = decision(x_test, multinomial(x, labels[split.train], n_levels))
        scores = scipy.special.log_softmax(scores, axis=1)
    return auc_by_level(scores, labels[split.test])


def _surprise(rep: SparseRepresentation, labels: IntArray, n_levels: int, split: Split) -> tuple[float, float]:
    """Sum over test rows of the surprise of the probe, and of a guess by the frequencies of the training rows."""
    x, x_test = _scaled(rep, split)
    seen = np.bincount(labels[split.train], minlength=n_levels)
    log_prior = np.log(np.maximum(seen, 1e-9) / seen.sum())
    log_p = scipy.special.log_softmax(decision(x_test, multinomial(x, labels[split.train], n_levels)), axis=1)
    truth = labels[split.test]
    return -float(log_p[np.arange(len(truth)), truth].sum()), -float(log_prior[truth].sum())


def sparse_one_vs_rest(codes: Any, labels: IntArray, n_levels: int, *, penalty: float = 1.0) -> FloatArray:
    """Fit one ridge-penalised logistic regression for each level, all by one run of L-BFGS.

    Args:
        codes: Scaled, by rows, ``(n_samples, n_codes)``.
        labels: Level of each row.
        n_levels: Number of levels.
        penalty: Weight of half the squared norm of the coefficients; the intercept is almost free.

    Returns:
        Coefficients with the intercept last, ``(n_levels, n_codes + 1)``.
    """
    n_rows, n_codes = codes.shape
    by_code = codes.T.tocsr()
    start = np.zeros((n_levels, n_codes + 1))
    share = np.clip(np.bincount(labels, minlength=n_levels) / n_rows, 1e-6, 1 - 1e-6)
    start[:, -1] = np.log(share / (1 - share))
    ridge = np.append(np.full(n_codes, penalty), 1e-6)
    rows = np.arange(n_rows)

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        own = flat.reshape(start.shape)
        odds = np.asarray(codes @ own[:, :-1].T) + own[:, -1]
        tail = np.exp(-np.abs(odds))
        loss = 0.5 * float((own**2 * ridge).sum()) + float((np.maximum(odds, 0.0) + np.log1p(tail)).sum())
        loss -= float(odds[rows, labels].sum())
        p = np.where(odds >= 0, 1.0, tail) / (1 + tail)
        p[rows, labels] -= 1
        gradient = own * ridge
        gradient[:, :-1] += np.asarray(by_code @ p).T
        gradient[:, -1] += p.sum(axis=0)
        return loss, gradient.ravel()

    found = scipy.optimize.minimize(
        objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS, "ftol": TOLERANCE}
    )
    fitted: FloatArray = found.x.reshape(start.shape)
    return fitted
