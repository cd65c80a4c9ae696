"""Tests of conditional independence: does a code depend on a factor, given all other factors?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid.evidence.regressors import complete_rows, make_regressor, predict
from unbraid.probes.splits import cross_fit_splits
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

Test = Literal["pcm", "gcm"]
FactorRegressor = Literal["basis", "linear", "forest"]
MIN_ROWS = 40
#: A factor of at most this many values has an indicator of each among the inputs; others have powers up to this one.
MOST_INDICATORS, HIGHEST_POWER, MOST_HARMONICS = 12, 5, 3
#: Share of the variance of a column below which a residual is taken to be rounding error.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusivityOptions:
    """The test and its regressions.

    Attributes:
        test: ``"pcm"``, the projected covariance measure, or ``"gcm"``, the generalised covariance measure.
        regressor: Least squares on a ``"basis"`` of each factor (indicators, powers, harmonics), on the factors as they
            are (``"linear"``), or a ``"forest"``.
        n_splits: Splits of the rows over which the statistic of ``"pcm"`` is averaged.
        n_trees: Trees of a forest.
        max_rows: Rows used at most, drawn at random.
    """

    test: Test = "pcm"
    regressor: FactorRegressor = "basis"
    n_splits: int = 9
    n_trees: int = 20
    max_rows: int = 10_000

    def __post_init__(self) -> None:
        check_choice("test", self.test, get_args(Test))
        check_choice("regressor", self.regressor, get_args(FactorRegressor))
        check_at_least("n_splits", self.n_splits, 1)
        check_at_least("n_trees", self.n_trees, 1)
        check_at_least("max_rows", self.max_rows, MIN_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exclusivity:
    """Tests of each code and factor, given the other factors.

    Attributes:
        p_values: ``(n_active, n_factors)``.
        statistic: Standard normal for independent columns, or for ``"gcm"`` with factors of several columns its p-value
            as one, ``(n_active, n_factors)``.
        active: Which codes vary, ``(n_codes,)``.
    """

    p_values: FloatArray
    statistic: FloatArray
    active: BoolArray


def exclusivity(rep: Representation, options: ExclusivityOptions, rng: np.random.Generator) -> Exclusivity:
    """Test every code against every factor, given the other factors."""
    choice, division, fits = rng.spawn(3)
    rows = complete_rows(rep, MIN_ROWS)
    if len(rows) > options.max_rows:
        rows = np.sort(choice.permutation(rows)[: options.max_rows])
    codes = rep.codes[np.ix_(rows, np.flatnonzero(rep.active))]
    codes = (codes - codes.mean(axis=0)) / np.maximum(codes.std(axis=0), 1e-300)
    blocks = [_inputs(factor, rows, options.regressor) for factor in rep.factors]
    if options.test == "gcm":
        found = [_gcm(codes, blocks, k, _targets(rep.factors[k], rows), options, fits) for k in range(rep.n_factors)]
        return Exclusivity(p_values=_columns(found, 0), statistic=_columns(found, 1), active=rep.active)
    statistics = []
    for child in division.spawn(options.n_splits):
        order = child.permutation(len(rows))
        first, second = np.sort(order[: len(rows) // 2]), np.sort(order[len(rows) // 2 :])
        statistics.append(_pcm(codes, blocks, first, second, options, child))
    statistic = np.mean(statistics, axis=0)
    return Exclusivity(p_values=scipy.special.ndtr(-statistic), statistic=statistic, active=rep.active)


def _columns(found: list[tuple[FloatArray, FloatArray]], place: int) -> FloatArray:
    return np.stack([one[place] for one in found], axis=1)


def _targets(factor: Factor, rows: IntArray) -> FloatArray:
    """Columns of a factor to test against; of the indicators of a category all but one."""
    targets = factor.targets(rows)
    return targets[:, 1:] if factor.kind is FactorKind.CATEGORICAL else targets


def _inputs(factor: Factor, rows: IntArray, regressor: FactorRegressor) -> FloatArray:
    """Columns of a factor to regress on."""
    targets = factor.targets(rows)
    if regressor != "basis" or factor.kind is FactorKind.CATEGORICAL:
        return targets
    if factor.labels is not None and len(factor.levels) <= MOST_INDICATORS:
        indicators: FloatArray = (factor.labels[rows][:, None] == np.arange(len(factor.levels))).astype(float)
        return indicators
    if factor.kind is FactorKind.CIRCULAR:
        angle = np.arctan2(targets[:, 1], targets[:, 0])[:, None] * np.arange(1, MOST_HARMONICS + 1)
        return np.hstack([np.cos(angle), np.sin(angle)])
    low, high = targets.min(), targets.max()
    return np.polynomial.legendre.legvander(2 * (targets[:, 0] - low) / (high - low) - 1, HIGHEST_POWER)[:, 1:]


def _gcm(
    codes: FloatArray,
    blocks: list[FloatArray],
    k: int,
    targets: FloatArray,
    options: ExclusivityOptions,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """p-values and statistics of the covariance of residuals, for all codes and one factor."""
    others = _others(blocks, k, len(codes))
    of_codes, of_factor = (_residuals(others, columns, options, rng) for columns in (codes, targets))
    p_values, statistics = np.ones(codes.shape[1]), np.zeros(codes.shape[1])
    for j, residual in enumerate(of_codes.T):
        products = residual[:, None] * of_factor
        mean, covariance = products.mean(axis=0), np.atleast_2d(np.cov(products, rowvar=False, ddof=0))
        if not residual.any() or not of_factor.any():
            continue
        if products.shape[1] == 1:
            statistics[j] = np.sqrt(len(codes)) * mean[0] / np.sqrt(covariance[0, 0])
            p_values[j] = 2 * scipy.special.ndtr(-abs(statistics[j]))
        else:
            size = len(codes) * float(mean @ np.linalg.pinv(covariance, hermitian=True) @ mean)
            p_values[j] = scipy.special.chdtrc(np.linalg.matrix_rank(covariance, hermitian=True), size)
            statistics[j] = -scipy.special.ndtri(p_values[j])
    return p_values, statistics


def _pcm(
    codes: FloatArray,
    blocks: list[FloatArray],
    first: IntArray,
    second: IntArray,
    options: ExclusivityOptions,
    rng: np.random.Generator,
) -> FloatArray:
    """Statistics of one split, ``(n_codes, n_factors)``.

    On the first rows each code is regressed on all factors, and the fit on all factors but one: what is left of the fit
    is the direction in which the code depends on that factor. On the second rows the covariance of the direction and
    the code is tested, both less their regressions on the other factors.
    """
    both = np.hstack(blocks)
    fitted = _fitted(both, codes, first, np.arange(len(codes)), options, rng)
    columns = []
    for k in range(len(blocks)):
        others = _others(blocks, k, len(codes))
        direction = fitted - _fitted(others, fitted, first, np.arange(len(codes)), options, rng)
        of_codes = _residuals(others[second], codes[second], options, rng)
        of_direction = _residuals(others[second], direction[second], options, rng)
        products = of_codes * of_direction
        spread = products.std(axis=0)
        columns.append(
            np.sqrt(len(second))
            * np.divide(products.mean(axis=0), spread, out=np.zeros_like(spread), where=spread > ROUNDING)
        )
    return np.stack(columns, axis=1)


def _others(blocks: list[FloatArray], k: int, n_rows: int) -> FloatArray:
    """Inputs of all factors but one; no column where there is no other."""
    rest = [block for place, block in enumerate(blocks) if place != k]
    return np.hstack(rest) if rest else np.zeros((n_rows, 0))


def _fitted(
    inputs: FloatArray,
    targets: FloatArray,
    train: IntArray,
    test: IntArray,
    options: ExclusivityOptions,
    rng: np.random.Generator,
) -> FloatArray:
    """Predictions on the rows ``test`` of a regression on the rows ``train``."""
    if options.regressor == "forest" and inputs.shape[1]:
        model = make_regressor("forest", n_trees=options.n_trees, min_leaf=5, seed=int(rng.integers(2**31)))
        return np.asarray(model.fit(inputs[train], targets[train]).predict(inputs[test])).reshape(len(test), -1)
    design = np.hstack([np.ones((len(inputs), 1)), inputs])
    weights = np.linalg.lstsq(design[train], targets[train], rcond=1e-10)[0]
    predicted: FloatArray = design[test] @ weights
    return predicted


def _residuals(
    inputs: FloatArray, targets: FloatArray, options: ExclusivityOptions, rng: np.random.Generator
) -> FloatArray:
    """Residuals of a regression on all rows; of a forest, on rows that it has not seen. Rounding errors are 0."""
    rows = np.arange(len(inputs))
    if options.regressor == "forest" and inputs.shape[1]:
        splits = cross_fit_splits(len(inputs), "cross_fitted", 2, rng)
        guess = predict(inputs, targets, splits, "forest", n_trees=options.n_trees, min_leaf=5, rng=rng)
    else:
        guess = _fitted(inputs, targets, rows, rows, options, rng)
    residuals = targets - guess
    sizes = (residuals**2).mean(axis=0)
    return np.where(sizes > ROUNDING * np.maximum((targets**2).mean(axis=0), ROUNDING), residuals, 0.0)
