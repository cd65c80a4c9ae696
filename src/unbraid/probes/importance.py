"""Importances of codes for the probes of factors: their part beyond chance, test performance, and permutation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid.probes.splits import holdout
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

#: Importances for a factor as shares of their sum, or as the probe gives them.
Columns = Literal["shares", "raw"]
N_SHUFFLES = 3
#: A factor is predicted if predictions covary with it by more than the first, in standard errors, and absent below the
#: second: by luck alone one factor in a thousand is predicted, one in two hundred is not absent.
PREDICTED, ABSENT = 3.1, 2.6
MIXTURE_STEPS = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProbeTask:
    """Task of one probe: a factor, training rows, and test rows.

    Attributes:
        factor: Factor to predict.
        train: Rows to fit on.
        test: Held-out rows.
        codes: Codes of ``train``.
        test_codes: Codes of ``test``.
    """

    factor: Factor
    train: IntArray
    test: IntArray
    codes: FloatArray
    test_codes: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProbeFit:
    """One probe for one factor.

    Attributes:
        sizes: Importance of each code before any is set to 0, one column for each output of the probe, not below 0,
            ``(n_codes, n_outputs)``.
        errors: Standard errors of ``sizes``, ``(n_codes, n_outputs)``; ``None`` where unknown.
        rows: Test rows.
        fold: Fold of each test row, ``(n_rows,)``.
        predicted: Predictions of the test rows from other rows: targets, or shares of values of a categorical factor,
            ``(n_rows, n_outputs)``.
        informativeness: Accuracy (categorical factors) or R², not below 0, on the test rows.
        by_line: Coefficients of a linear probe over their standard errors, ``(n_codes, n_outputs)``, where trees may
            miss a small effect that a line shows.
    """

    sizes: FloatArray
    errors: FloatArray | None
    rows: IntArray
    fold: IntArray
    predicted: FloatArray
    informativeness: float
    by_line: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Importance:
    """Importances and performances of the probes of all factors, from which DCI is computed.

    Attributes:
        matrix: Importance of codes for factors, ``(n_codes, n_factors)``. Columns sum to 1 unless they are raw; the
            column of a factor that the probe does not predict, or predicts by codes that cannot be told, is 0.
        informativeness: Held-out accuracy (categorical factors) or R², floored at 0 (others), ``(n_factors,)``.
        in_accuracy: Which factors report accuracy rather than R², ``(n_factors,)``.
        undecided: For which factors the predictions are better than chance, but not clearly, or by codes that cannot be
            told, ``(n_factors,)``; empty where that is not known.
        rows_a_tree: Number of rows that each tree was grown on, where there are more; else 0.
        leaves_a_tree: Number of leaves at which the growth of trees was stopped; else 0.
        counts_all: Whether disentanglement counts factors for which no code matters, as published code does.
    """

    matrix: FloatArray
    informativeness: FloatArray
    in_accuracy: FloatArray
    undecided: FloatArray = field(default_factory=lambda: np.zeros(0))
    rows_a_tree: int = 0
    leaves_a_tree: int = 0
    counts_all: bool = False


def fit_importance(
    rep: Representation,
    fit: Callable[[Factor, np.random.Generator], ProbeFit],
    *,
    rng: np.random.Generator,
    columns: Columns = "shares",
) -> Importance:
    """Fit one probe for each factor, and keep the importances that cannot be due to chance.

    A factor is predicted if its predictions covary with it by 3.1 standard errors. Of the factors that are predicted,
    importances below what chance gives are set to 0; see :func:`beyond_chance`.
    """
    fits = [fit(factor, child) for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True)]
    strength = np.array([covariance_in_errors(factor, one) for factor, one in zip(rep.factors, fits, strict=True)])
    predicted = strength > PREDICTED
    read = [one for one, yes in zip(fits, predicted, strict=True) if yes]
    kept = {id(one): keep for one, keep in zip(read, _kept(read), strict=True)}
    sizes = [(one.sizes * kept.get(id(one), 0.0)).sum(axis=1) for one in fits]
    matrix = np.stack([as_shares(one) if columns == "shares" else one for one in sizes], axis=1)
    return Importance(
        matrix=matrix,
        informativeness=np.array([one.informativeness for one in fits]),
        in_accuracy=np.array([float(not factor.is_numeric) for factor in rep.factors]),
        undecided=((strength > ABSENT) & (matrix.sum(axis=0) == 0)).astype(float),
    )


def _kept(fits: Sequence[ProbeFit]) -> list[BoolArray]:
    """Tell which importances to keep: by their own errors or by a line; all, where neither is known."""
    own = beyond_chance([None if one.errors is None else in_errors(one.sizes, one.errors) for one in fits])
    line = beyond_chance([one.by_line for one in fits])
    return [
        np.ones(one.sizes.shape, dtype=bool) if a is None else a if b is None else a | b
        for one, a, b in zip(fits, own, line, strict=True)
    ]


def on_held_out_rows(
    fit: Callable[[ProbeTask, np.random.Generator], tuple[FloatArray, FloatArray]], rep: Representation
) -> Callable[[Factor, np.random.Generator], ProbeFit]:
    """Return a fit on 70 % of the rows of a factor, tested on the rest, from one of weights and predictions."""

    def fitted(factor: Factor, rng: np.random.Generator) -> ProbeFit:
        split = holdout(factor, rng=rng)
        codes, test_codes = rep.codes[split.train], rep.codes[split.test]
        task = ProbeTask(factor=factor, train=split.train, test=split.test, codes=codes, test_codes=test_codes)
        weights, predicted = fit(task, rng)
        return ProbeFit(
            sizes=weights[:, None],
            errors=None,
            rows=split.test,
            fold=np.zeros(len(split.test), dtype=np.intp),
            predicted=predicted if factor.is_numeric else as_indicators(factor, predicted),
            informativeness=held_out_performance(factor, split.test, predicted),
        )

    return fitted


def as_indicators(factor: Factor, predicted: FloatArray) -> FloatArray:
    """Indicators of predicted values of a categorical factor, ``(n_rows, n_levels)``."""
    return np.asarray(predicted[:, None] == np.arange(len(factor.levels)), dtype=np.float64)


def performance(factor: Factor, rows: IntArray, predicted: FloatArray) -> float:
    """Accuracy of the value of the largest share, or R² (not below 0) of predicted targets."""
    labels = predicted if factor.is_numeric else predicted.argmax(axis=1).astype(float)
    return held_out_performance(factor, rows, labels)


def covariance_in_errors(factor: Factor, fit: ProbeFit) -> float:
    """Covariance of test predictions with the factor, over its standard error.

    It is more powerful than a comparison of errors with those of a blind guess, which a probe that fits noise beside
    the signal can lose. Under independence it is about standard normal: where every row is tested by a fit on the
    others, each pair of rows counts twice, hence the root of two.
    """
    targets, predicted = factor.targets(fit.rows), fit.predicted
    together = (centred(targets, fit.fold) * centred(predicted, fit.fold)).sum(axis=1)
    error = float(np.sqrt((together**2).sum()))
    twice = np.sqrt(2.0) if fit.fold.any() else 1.0
    return float(together.sum()) / (error * twice) if error > 0 else 0.0


def centred(columns: FloatArray, fold: IntArray) -> FloatArray:
    """Take the mean of its fold off each row."""
    size = np.maximum(np.bincount(fold), 1)
    means = np.stack([np.bincount(fold, weights=column) / size for column in columns.T], axis=1)
    return np.asarray(columns - means[fold])


def in_errors(sizes: FloatArray, errors: FloatArray) -> FloatArray:
    """Sizes over their standard errors, which are at least a billionth of the largest size."""
    return np.asarray(sizes / np.maximum(errors, max(1e-9 * float(sizes.max(initial=0.0)), 1e-300)))


def beyond_chance(ratios: Sequence[FloatArray | None]) -> list[BoolArray | None]:
    """Tell which sizes are more likely real than noise, by a mixture fitted to all of them.

    Ratios of sizes to their standard errors are taken for a mixture of standard normal noise and of noise beside normal
    effects of several scales, each twice the one before. Shares of the mixture are fitted by expectation-maximisation,
    with one noise entry added (adaptive shrinkage, Stephens 2017): where most codes matter, an entry of one standard
    error counts; where few do, one of three is dropped.

    Args:
        ratios: Sizes over standard errors, of each factor; ``None`` where unknown, which stays ``None``.
    """
    known = [ratio.ravel() for ratio in ratios if ratio is not None]
    if not known:
        return [None] * len(ratios)
    pooled = np.concatenate(known)
    largest = max(2.0, float(pooled.max()))
    variances = 1 + np.concatenate([[0.0], np.geomspace(1, largest, 2 + int(np.log2(largest))) ** 2])
    shares = np.full(len(variances), 1 / len(variances))
    for _ in range(MIXTURE_STEPS):
        found = _posterior(pooled, variances, shares).sum(axis=0)
        found[0] += 1.0
        shares = found / found.sum()
    return [
        None if ratio is None else _posterior(ratio.ravel(), variances, shares)[:, 0].reshape(ratio.shape) < 0.5
        for ratio in ratios
    ]


def _posterior(ratios: FloatArray, variances: FloatArray, shares: FloatArray) -> FloatArray:
    """Probability of each component of a mixture of normal distributions, ``(n_entries, n_components)``."""
    log_density = np.log(np.maximum(shares, 1e-300)) - 0.5 * np.log(variances) - ratios[:, None] ** 2 / 2 / variances
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return np.asarray(density / density.sum(axis=1, keepdims=True))


def held_out_performance(factor: Factor, rows: IntArray, predicted: FloatArray) -> float:
    """Accuracy for a categorical factor, R² (not below 0) for any other."""
    if not factor.is_numeric:
        return float((predicted == factor.numbers[rows]).mean())
    return max(0.0, r_squared(factor.targets(rows), predicted))


def r_squared(targets: FloatArray, predicted: FloatArray) -> float:
    """Share of the targets' variance that the prediction explains, over all target columns together."""
    residual = float(((targets - predicted) ** 2).sum())
    total = float(((targets - targets.mean(axis=0)) ** 2).sum())
    return 1 - residual / total if total > 0 else 0.0


def permutation_changes(
    measure: Callable[[FloatArray], FloatArray],
    codes: FloatArray,
    *,
    groups: Sequence[Sequence[int]] | None = None,
    rng: np.random.Generator,
) -> Iterator[FloatArray]:
    """Yield, for each code or group in turn, how a measure changes when it is shuffled between rows.

    Args:
        measure: From codes to a performance or to losses, of any shape.
        codes: Held-out rows, ``(n_rows, n_codes)``.
        groups: Columns that are shuffled together; every column by itself by default.
        rng: Shuffles; each change is a mean over a few.
    """
    before = measure(codes)
    for members in groups or [[code] for code in range(codes.shape[1])]:
        change = np.zeros_like(before)
        for _ in range(N_SHUFFLES):
            shuffled = codes.copy()
            shuffled[:, list(members)] = rng.permutation(shuffled[:, list(members)], axis=0)
            change += (measure(shuffled) - before) / N_SHUFFLES
        yield change


def as_shares(weights: FloatArray) -> FloatArray:
    """Scale to sum 1; all zeros stay zeros."""
    total = weights.sum()
    return weights / total if total > 0 else np.zeros_like(weights)
