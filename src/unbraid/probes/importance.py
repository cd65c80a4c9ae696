"""Importances of codes for the probes of factors, performance on held-out rows, and permutation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.probes.splits import holdout
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

N_SHUFFLES = 3


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
        weights: Importance of each code, not negative, ``(n_codes,)``.
        predicted: Predictions on the held-out rows: labels for a categorical factor, else targets.
    """

    weights: FloatArray
    predicted: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Importance:
    """Importances and performances of the probes of all factors, from which DCI is computed.

    Attributes:
        matrix: Importance of codes for factors, ``(n_codes, n_factors)``. Columns sum to 1; that of a factor whose
            probe does not beat a blind guess is 0, since its importances are meaningless.
        informativeness: Held-out accuracy (categorical factors) or R², floored at 0 (others), ``(n_factors,)``.
        in_accuracy: Which factors report accuracy rather than R², ``(n_factors,)``.
    """

    matrix: FloatArray
    informativeness: FloatArray
    in_accuracy: FloatArray


def fit_importance(
    rep: Representation, fit: Callable[[ProbeTask, np.random.Generator], ProbeFit], *, rng: np.random.Generator
) -> Importance:
    """Fit one probe for each factor on 70 % of its rows and test it on the rest."""
    columns, informativeness = [], []
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        split = holdout(factor, rng=child)
        task = ProbeTask(
            factor=factor,
            train=split.train,
            test=split.test,
            codes=rep.codes[split.train],
            test_codes=rep.codes[split.test],
        )
        probe = fit(task, child)
        columns.append(as_shares(probe.weights) * beats_blind_guess(task, probe.predicted))
        informativeness.append(held_out_performance(factor, task.test, probe.predicted))
    return Importance(
        matrix=np.stack(columns, axis=1),
        informativeness=np.array(informativeness),
        in_accuracy=np.array([float(not factor.is_numeric) for factor in rep.factors]),
    )


def held_out_performance(factor: Factor, rows: IntArray, predicted: FloatArray) -> float:
    """Accuracy for a categorical factor, R² (not below 0) for any other."""
    if not factor.is_numeric:
        return float((predicted == factor.numbers[rows]).mean())
    return max(0.0, r_squared(factor.targets(rows), predicted))


def beats_blind_guess(task: ProbeTask, predicted: FloatArray) -> bool:
    """Whether held-out rows are predicted better than by the mean, or the commonest value, of the training rows.

    Better by more than two standard errors, so that luck rarely counts.
    """
    factor = task.factor
    if factor.is_numeric:
        targets = factor.targets(task.test)
        blind = factor.targets(task.train).mean(axis=0)
        gain = ((targets - blind) ** 2).sum(axis=1) - ((targets - predicted) ** 2).sum(axis=1)
    else:
        assert factor.labels is not None
        truth = factor.labels[task.test]
        gain = (predicted == truth).astype(float) - (truth == np.bincount(factor.labels[task.train]).argmax())
    return bool(gain.mean() > 2 * gain.std() / np.sqrt(len(gain)))


def r_squared(targets: FloatArray, predicted: FloatArray) -> float:
    """Share of the targets' variance that the prediction explains, over all target columns together."""
    residual = float(((targets - predicted) ** 2).sum())
    total = float(((targets - targets.mean(axis=0)) ** 2).sum())
    return 1 - residual / total if total > 0 else 0.0


def permutation_changes(
    measure: Callable[[FloatArray], FloatArray], codes: FloatArray, *, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield, for each code in turn, how a measure changes when the code is shuffled between rows.

    Args:
        measure: From codes to a performance or to losses, of any shape.
        codes: Held-out rows, ``(n_rows, n_codes)``.
        rng: Shuffles; each change is a mean over a few.
    """
    before = measure(codes)
    for code in range(codes.shape[1]):
        change = np.zeros_like(before)
        for _ in range(N_SHUFFLES):
            shuffled = codes.copy()
            shuffled[:, code] = rng.permutation(shuffled[:, code])
            change += (measure(shuffled) - before) / N_SHUFFLES
        yield change


def as_shares(weights: FloatArray) -> FloatArray:
    """Scale to sum 1; all zeros stay zeros."""
    total = weights.sum()
    return weights / total if total > 0 else np.zeros_like(weights)
