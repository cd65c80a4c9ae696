"""Association of every code with every factor, and covariance of the codes."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid._base.checks import check_choice
from unbraid._base.stats import average_ranks
from unbraid.probes.splits import Split, holdout
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

Correlation = Literal["pearson", "spearman"]
#: Share of the squares of a column below which what is left beside the mean is taken to be rounding error.
ROUNDING = 1e-18


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationOptions:
    """Straight-line (``"pearson"``) or monotone (``"spearman"``) correlation."""

    correlation: Correlation = "pearson"

    def __post_init__(self) -> None:
        check_choice("correlation", self.correlation, get_args(Correlation))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOptions:
    """Options of evidence that has none."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Association:
    """One number in [0, 1] for each code and factor.

    Attributes:
        matrix: ``(n_codes, n_factors)``; 0 for a dead code.
        active: Which codes vary.
        angles: Names of the factors that are circular.
    """

    matrix: FloatArray
    active: BoolArray
    angles: tuple[str, ...] = ()


def correlations(rep: Representation, options: CorrelationOptions, rng: np.random.Generator) -> Association:
    """Absolute correlation of every code with every factor; draws nothing, so ``rng`` is not used.

    For an angle it is the multiple correlation with cosine and sine, for a category the correlation
    ratio: each is the absolute correlation with the best function of the factor of its kind.
    """
    ready = _Ready()
    columns = [
        np.sqrt(_explained(rep.codes, factor, options.correlation, ready)) * rep.active for factor in rep.factors
    ]
    angles = tuple(factor.name for factor in rep.factors if factor.kind is FactorKind.CIRCULAR)
    return Association(matrix=np.stack(columns, axis=1), active=rep.active, angles=angles)


def predictability(rep: Representation, options: NoOptions, rng: np.random.Generator) -> Association:
    """How well one code alone predicts each factor: R² of a line, or balanced accuracy of thresholds.

    A category is predicted by the class whose mean is nearest, thresholds halfway between neighbouring
    means, tested on held-out rows; so nothing depends on the scale of the code.
    """
    columns, ready = [], _Ready()
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        if factor.is_numeric:
            columns.append(_explained(rep.codes, factor, "pearson", ready))
        else:
            columns.append(_threshold_accuracy(rep.codes, factor, holdout(factor, rng=child)) * rep.active)
    return Association(matrix=np.stack(columns, axis=1), active=rep.active)


#: Centred codes, their sums of squares, and which of them vary, by the rows that a factor is labelled on.
_Ready = dict[bytes, tuple[FloatArray, FloatArray, BoolArray]]


def _explained(codes: FloatArray, factor: Factor, correlation: Correlation, ready: _Ready) -> FloatArray:
    """Share of each code's variance accounted for by the factor's targets, ``(n_codes,)``.

    Codes are made ready once for all factors that are labelled on the same rows.
    """
    key, rows = factor.labelled.tobytes(), np.flatnonzero(factor.labelled)
    if key not in ready:
        ready[key] = _centred(codes if len(rows) == len(codes) else codes[rows], correlation)
    centred, total, varies = ready[key]
    targets = factor.targets(rows)
    if correlation == "spearman" and targets.shape[1] == 1:
        targets = average_ranks(targets)
    left, values, _ = np.linalg.svd(targets - targets.mean(axis=0), full_matrices=False)
    left = left[:, values > 1e-9 * values[0]]
    kept = ((left.T @ centred) ** 2).sum(axis=0)
    share = np.divide(kept, total, out=np.zeros_like(total), where=varies)
    clipped: FloatArray = np.clip(share, 0.0, 1.0)
    return clipped


def _centred(codes: FloatArray, correlation: Correlation) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Centred codes or ranks, the sum of squares of each, and whether that is more than rounding error."""
    x = average_ranks(codes) if correlation == "spearman" else codes
    # In units of the largest value of a column, squares neither overflow nor vanish.
    largest = np.maximum(x.max(axis=0), -x.min(axis=0))
    x = x / np.where(largest > 0, largest, 1.0)
    mean = x.mean(axis=0)
    centred = x - mean
    total = np.einsum("ij,ij->j", centred, centred)
    return centred, total, total > ROUNDING * (total + len(x) * mean**2)


def _threshold_accuracy(codes: FloatArray, factor: Factor, split: Split) -> FloatArray:
    """Balanced accuracy of the nearest class mean, for each code on its own."""
    assert factor.labels is not None
    labels, truth, n_levels = factor.labels[split.train], factor.labels[split.test], len(factor.levels)
    seen = np.flatnonzero(np.bincount(labels, minlength=n_levels))
    tested = np.bincount(truth, minlength=n_levels)
    accuracy = np.zeros(codes.shape[1])
    for j, column in enumerate(codes.T):
        means = np.bincount(labels, weights=column[split.train], minlength=n_levels)[seen] / np.bincount(labels)[seen]
        order = np.argsort(means, kind="stable")
        thresholds = (means[order][1:] + means[order][:-1]) / 2
        predicted = seen[order][np.searchsorted(thresholds, column[split.test])]
        hits = np.bincount(truth, weights=predicted == truth, minlength=n_levels)
        accuracy[j] = (hits[tested > 0] / tested[tested > 0]).mean()
    return accuracy


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeCovariance:
    """Covariance of the active codes.

    Attributes:
        matrix: ``(n_active, n_active)``.
        active: Which codes vary.
    """

    matrix: FloatArray
    active: BoolArray

    @property
    def correlation(self) -> FloatArray:
        """Of the codes that vary."""
        deviation = np.sqrt(np.diagonal(self.matrix))
        correlation: FloatArray = self.matrix / np.outer(deviation, deviation)
        return correlation


def code_covariance(rep: Representation, options: NoOptions, rng: np.random.Generator) -> CodeCovariance:
    """Unbiased covariance of the codes that vary; draws nothing, so ``rng`` is not used."""
    matrix = np.atleast_2d(np.cov(rep.codes[:, rep.active], rowvar=False))
    return CodeCovariance(matrix=matrix, active=rep.active)
