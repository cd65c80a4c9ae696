"""Importances of codes for factors: sizes of coefficients of linear probes."""

import functools
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid.evidence.linear.regression import centred_products, standardised_with_ones
from unbraid.probes.importance import (
    Columns,
    Importance,
    ProbeFit,
    ProbeTask,
    fit_importance,
    in_errors,
    on_held_out_rows,
    performance,
)
from unbraid.probes.linear import (
    LEAST_ROWS_A_CODE,
    MAX_NEWTON_CODES,
    coefficients_with_errors,
    decision,
    exact_lasso,
    lasso_weights,
    one_vs_rest,
    one_vs_rest_errors,
    pseudo_inverse,
)
from unbraid.probes.published_lasso import published_lasso
from unbraid.probes.ridge import LEAST_RATIO, MOST_FITTED, fit_ridges
from unbraid.probes.splits import folds, holdout, standardise
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

#: Folds of rows whose predictions are fitted on the other folds; fewer of categories, whose fits take longer.
N_FOLDS_OF_NUMBERS, N_FOLDS_OF_CATEGORIES = 5, 3

ChosenStrength = Literal["cross_validated", "published"]
Strength = float | ChosenStrength


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearOptions:
    """A linear probe for each factor.

    Attributes:
        strength: Strength of a Lasso on standardised codes and targets, as published code uses it; 0 for least squares,
            ``"cross_validated"`` for a Lasso whose strength is chosen on rows kept aside, ``"published"`` for the Lasso
            of one published library: see :func:`published_lasso`.
        columns: Importances for a factor as ``"shares"`` of their sum, or ``"raw"``.
    """

    strength: Strength = 0.0
    columns: Columns = "shares"

    def __post_init__(self) -> None:
        check_choice("columns", self.columns, get_args(Columns))
        if isinstance(self.strength, str):
            check_choice("strength", self.strength, get_args(ChosenStrength))
        else:
            check_at_least("strength", self.strength, 0)

    @property
    def given_strength(self) -> float:
        """Strength of the Lasso; 0 where it is chosen."""
        return 0.0 if isinstance(self.strength, str) else self.strength


def linear_importance(rep: Representation, options: LinearOptions, rng: np.random.Generator) -> Importance:
    """Importances are absolute coefficients on standardised codes."""
    if options.strength == "published":
        return published_lasso(rep, columns=options.columns)
    if rep.n_codes > MOST_FITTED and options.given_strength == 0 and options.strength != "cross_validated":
        fits = fit_ridges(rep, rng)
        return fit_importance(rep, lambda factor, _: fits[factor.name], rng=rng, columns=options.columns)

    @functools.cache
    def prepared() -> tuple[FloatArray, FloatArray]:
        design = standardised_with_ones(rep.codes)
        return design, design.T @ design

    def fit(factor: Factor, rng: np.random.Generator) -> ProbeFit:
        n_rows, n_codes = int(factor.labelled.sum()), rep.codes.shape[1]
        few_codes = n_rows >= LEAST_ROWS_A_CODE * n_codes
        if options.given_strength > 0 and factor.is_numeric:
            return _lasso(*prepared(), factor, options.given_strength, rng)
        if options.strength == "cross_validated" or options.given_strength > 0 or not few_codes:
            return on_held_out_rows(partial(_fit_penalised, options), rep)(factor, rng)
        if factor.is_numeric:
            return _regress(rep, factor, rng)
        return _classify(rep, factor, rng) if n_codes <= MAX_NEWTON_CODES else _classify_wide(rep, factor, rng)

    return fit_importance(rep, fit, rng=rng, columns=options.columns)


def _fit_penalised(options: LinearOptions, task: ProbeTask, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Lasso, or logistic regressions of categories, on 70 % of the rows: weights, and predictions of the rest."""
    factor = task.factor
    x, x_test = standardise(task.codes, task.test_codes)
    if not factor.is_numeric:
        assert factor.labels is not None
        coefficients = one_vs_rest(x, factor.labels[task.train], len(factor.levels))
        predicted = decision(x_test, coefficients).argmax(axis=1)
        return np.abs(coefficients[:, :-1]).sum(axis=0), predicted.astype(float)
    targets = factor.targets(task.train)
    centre, spread = targets.mean(axis=0), targets.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    weights = lasso_weights(x, (targets - centre) / spread, rng=rng, strength=options.given_strength)
    return np.abs(weights).sum(axis=1), x_test @ weights * spread + centre


def _lasso(design: FloatArray, gram: FloatArray, factor: Factor, strength: float, rng: np.random.Generator) -> ProbeFit:
    """Lasso on 70 % of the rows, from products of all rows less those of the test rows.

    Args:
        design: Codes near mean 0 and deviation 1, and ones.
        gram: Products of the design with itself.
        factor: A numeric factor.
        strength: Weight of the absolute coefficients of standardised codes for a standardised target.
        rng: Chooses the test rows.
    """
    split = holdout(factor, rng=rng)
    tested, targets = design.take(split.test, axis=0), factor.targets(split.train)
    centre, spread = targets.mean(axis=0), targets.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    if factor.is_complete:
        y, y_test = factor.targets(slice(None)) - centre, factor.targets(split.test) - centre
        fitted, moment = gram - tested.T @ tested, design.T @ y - tested.T @ y_test
    else:
        own = design[split.train]
        fitted, moment = own.T @ own, own.T @ (targets - centre)
    products, shared, mean, scale = centred_products(fitted, moment)
    n_rows = fitted[-1, -1]
    weights = exact_lasso(products / n_rows, shared / (n_rows * spread), strength=strength)
    slopes = scale[:, None] * weights * spread
    predicted = tested[:, :-1] @ slopes + (centre - mean @ slopes)
    return ProbeFit(
        sizes=np.abs(weights).sum(axis=1, keepdims=True),
        errors=None,
        rows=split.test,
        fold=np.zeros(len(split.test), dtype=np.intp),
        predicted=predicted,
        informativeness=performance(factor, split.test, predicted),
    )


def _regress(rep: Representation, factor: Factor, rng: np.random.Generator) -> ProbeFit:
    """Least squares: coefficients on all rows, and predictions of each fold by the rows of the others."""
    rows, fold = folds(factor, N_FOLDS_OF_NUMBERS, rng=rng)
    x, targets = standardise(rep.codes[rows])[0], factor.targets(rows)
    y = standardise(targets)[0]
    weights, errors = coefficients_with_errors(x, y)
    design, tested = np.hstack([x, np.ones((len(x), 1))]), fold >= 0
    gram, moment, predicted = design.T @ design, design.T @ targets, np.zeros_like(targets)
    for k in range(N_FOLDS_OF_NUMBERS):
        own = design[fold == k]
        inverse = pseudo_inverse(gram - own.T @ own)
        predicted[fold == k] = own @ (inverse @ (moment - own.T @ targets[fold == k]))
    return ProbeFit(
        sizes=np.abs(weights),
        errors=errors,
        rows=rows[tested],
        fold=fold[tested],
        predicted=predicted[tested],
        informativeness=performance(factor, rows[tested], predicted[tested]),
    )


def _classify(rep: Representation, factor: Factor, rng: np.random.Generator) -> ProbeFit:
    """Logistic regressions: coefficients on all rows, and predictions of each fold by the rows of the others."""
    assert factor.labels is not None
    rows, fold = folds(factor, N_FOLDS_OF_CATEGORIES, rng=rng)
    x, labels, n_levels = standardise(rep.codes[rows])[0], factor.labels[rows], len(factor.levels)
    coefficients = one_vs_rest(x, labels, n_levels)
    errors = one_vs_rest_errors(x, labels, coefficients)
    shares, tested = np.zeros((len(rows), n_levels)), fold >= 0
    for k in range(N_FOLDS_OF_CATEGORIES):
        own = one_vs_rest(x[fold != k], labels[fold != k], n_levels)
        shares[fold == k] = scipy.special.expit(decision(x[fold == k], own))
    return ProbeFit(
        sizes=np.abs(coefficients[:, :-1]).T,
        errors=errors.T,
        rows=rows[tested],
        fold=fold[tested],
        predicted=shares[tested],
        informativeness=performance(factor, rows[tested], shares[tested]),
    )


def _classify_wide(rep: Representation, factor: Factor, rng: np.random.Generator) -> ProbeFit:
    """Logistic regressions of many codes on 70 % of the rows: coefficients, and predictions of the rest.

    Coefficients over their standard errors are about those of a linear regression of the indicators of the values,
    which takes one inverse for all values where logistic regressions take one for each.
    """
    assert factor.labels is not None
    split = holdout(factor, rng=rng)
    x, x_test = standardise(rep.codes[split.train], rep.codes[split.test])
    labels, n_levels = factor.labels[split.train], len(factor.levels)
    coefficients = one_vs_rest(x, labels, n_levels)
    slopes, errors = coefficients_with_errors(x, standardise(factor.targets(split.train))[0])
    sizes = np.abs(coefficients[:, :-1]).T
    shares = scipy.special.expit(decision(x_test, coefficients))
    return ProbeFit(
        sizes=sizes,
        errors=sizes / np.maximum(in_errors(np.abs(slopes), errors), LEAST_RATIO),
        rows=split.test,
        fold=np.zeros(len(split.test), dtype=np.intp),
        predicted=shares,
        informativeness=performance(factor, split.test, shares),
    )
