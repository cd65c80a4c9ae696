"""Random Fourier features by their number, with a ridge regression on top."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.probes.capacity.base import CapacityTask, FittedLadder, Probe, check_sizes
from unbraid.probes.linear import ridge_solver
from unbraid.representation.factor import Factor

SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048)
STRENGTHS = (1e-7, 1e-5, 1e-3, 1e-1)
ROWS_AT_ONCE = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class FourierLadder:
    """Ridge regressions on 16, 32, ... random cosines of the codes, after Rahimi and Recht.

    Features are nested (a level has those of the level below), so that one matrix of products serves all levels. The
    strength of the ridge is chosen on the validation rows, for each level and factor. Categories are regressed as
    indicators; negative shares count as 0.

    Attributes:
        n_features: Features on each level, increasing.
        width: Standard deviation of the frequencies on standardised codes, times the root of the number of codes.
    """

    name: ClassVar[str] = "fourier"
    axis: ClassVar[str] = "log of the number of features"
    starts_linear: ClassVar[bool] = False
    usual_importance: ClassVar[str] = "permutation"  # SAGE needs very many predictions, each of thousands of cosines
    n_features: tuple[int, ...] = SIZES
    width: float = 1.0

    def __post_init__(self) -> None:
        check_sizes("n_features", self.n_features, 1)
        check_at_least("width", self.width, 1e-6)

    def fit(self, task: CapacityTask, *, rng: np.random.Generator) -> FittedLadder:
        """Fit every factor on nested features."""
        features = _Features(task.codes.shape[1], self.n_features[-1], self.width, rng)
        validation, test = (features(task.codes[rows]) for rows in (task.split.validation, task.split.test))
        kept: list[list[FloatArray]] = [[] for _ in task.factors]
        for alike in _labelled_alike(task):
            factors = [task.factors[k] for k in alike]
            gram, moments = _moments(features, task, factors)
            for size in self.n_features:
                ridges = _best_ridges(gram, moments, size, validation, factors, task.split.validation)
                for k, weights in zip(alike, ridges, strict=True):
                    kept[k].append(weights)

        def everywhere(mapped: FloatArray) -> list[FloatArray]:
            return [
                np.stack([_predict(mapped, weights, factor) for weights in column])
                for column, factor in zip(kept, task.factors, strict=True)
            ]

        def probe(level: int) -> Probe:
            def predict(new: FloatArray) -> list[FloatArray]:
                mapped = features(new)
                return [_predict(mapped, kept[k][level], factor) for k, factor in enumerate(task.factors)]

            return Probe(predict=predict)

        return FittedLadder(
            capacities=np.tile(np.log(self.n_features), (len(task.factors), 1)),
            validation=everywhere(validation),
            test=everywhere(test),
            probe=probe,
        )


class _Features:
    """Cosines of random projections; a constant comes first, so that nested blocks all have an intercept."""

    def __init__(self, n_codes: int, n_features: int, width: float, rng: np.random.Generator) -> None:
        self.frequencies = rng.normal(size=(n_codes, n_features)) * width / np.sqrt(n_codes)
        self.phases = rng.uniform(0, 2 * np.pi, n_features)

    def __call__(self, codes: FloatArray) -> FloatArray:
        cosines = np.sqrt(2.0) * np.cos(codes @ self.frequencies + self.phases)
        return np.hstack([np.ones((len(codes), 1)), cosines])


def _labelled_alike(task: CapacityTask) -> list[list[int]]:
    """Indices of the factors, grouped by their labelled rows; one Gram matrix serves a group."""
    alike: dict[bytes, list[int]] = {}
    for k, factor in enumerate(task.factors):
        alike.setdefault(factor.labelled[task.split.train].tobytes(), []).append(k)
    return list(alike.values())


def _moments(features: _Features, task: CapacityTask, factors: list[Factor]) -> tuple[FloatArray, list[FloatArray]]:
    """Products of features with each other and with the targets, over the rows to fit on that are labelled."""
    rows, n_features = task.labelled(factors[0], task.split.train), len(features.phases) + 1
    gram = np.zeros((n_features, n_features))
    moments = [np.zeros((n_features, factor.targets(rows[:1]).shape[1])) for factor in factors]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        mapped = features(task.codes[part])
        gram += mapped.T @ mapped
        for factor, moment in zip(factors, moments, strict=True):
            moment += mapped.T @ factor.targets(part)
    return gram, moments


def _best_ridges(
    gram: FloatArray,
    moments: list[FloatArray],
    size: int,
    validation: FloatArray,
    factors: list[Factor],
    rows: IntArray,
) -> list[FloatArray]:
    """Coefficients of the first ``size`` features for each factor, at the strength of lowest validation loss."""
    block, right = gram[: size + 1, : size + 1], np.hstack([moment[: size + 1] for moment in moments])
    ends = np.cumsum([moment.shape[1] for moment in moments])[:-1]
    penalty = np.full(size + 1, block[0, 0])
    penalty[0] = 0.0
    best, lowest = [right[:, :0]] * len(moments), np.full(len(moments), np.inf)
    for strength in STRENGTHS:
        solved = ridge_solver(block, strength * penalty + 1e-10 * block[0, 0])(right)
        for k, weights in enumerate(np.split(solved, ends, axis=1)):
            loss = _squared_error(validation[:, : size + 1] @ weights, factors[k], rows)
            if loss < lowest[k]:
                best[k], lowest[k] = weights, loss
    return best


def _squared_error(predicted: FloatArray, factor: Factor, rows: IntArray) -> float:
    labelled = factor.labelled[rows]
    return float(((predicted[labelled] - factor.targets(rows[labelled])) ** 2).sum())


def _predict(mapped: FloatArray, weights: FloatArray, factor: Factor) -> FloatArray:
    values = mapped[:, : len(weights)] @ weights
    if factor.is_numeric:
        return np.asarray(values)
    shares = np.maximum(values, 1e-6)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
