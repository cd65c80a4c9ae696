"""Linear probes of sparse codes: R², AUC and predictive information, from codes that are scaled but not centred.

The intercept of every probe is free, so that codes around their mean have the same coefficients as codes around 0.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unbraid.evidence.association import NoOptions
from unbraid.evidence.linear.classifiers import (
    ClassifierOptions,
    PredictiveInformation,
    PredictiveOptions,
    Separation,
    information_of_probes,
    separation_of_wide_codes,
)
from unbraid.evidence.linear.regression import N_FOLDS, LinearFit
from unbraid.probes.importance import r_squared
from unbraid.probes.linear import RIDGE, ridge_solver
from unbraid.probes.splits import Split, cross_fit_factor
from unbraid.probes.wide import WideCodes
from unbraid.representation.factor import Factor
from unbraid.representation.sparse import SparseRepresentation


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
    return separation_of_wide_codes(rep, WideCodes.of_sparse(rep.by_row), options, rng)


def sparse_predictive_information(
    rep: SparseRepresentation, options: PredictiveOptions, rng: np.random.Generator
) -> PredictiveInformation:
    """Compare a linear probe of each factor with the best guess without codes."""
    wide, removed_share = partial(WideCodes.of_sparse, rep.by_row), partial(_pooled_r_squared, rep)
    return information_of_probes(rep, options, rng, wide=wide, removed_share=removed_share)


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
