"""Prediction of each factor from each block of codes by itself: linear and kernel probes, tested on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import active_codes, check_at_least
from unbraid.probes.linear import fit_linear, predict_linear, ridge_solver, whitening_axes
from unbraid.probes.splits import MIN_ROWS, check_enough_labels
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

#: Every row is tested once, by probes fitted to the other folds.
N_FOLDS = 3
#: Landmarks of the kernel: for each column of a block, and at most.
LANDMARKS_A_COLUMN, MOST_LANDMARKS = 32, 160
#: Widths of the kernel on whitened codes, over the root of their number, and strengths of its ridge; both are chosen
#: on training rows kept aside.
WIDTHS, STRENGTHS = (0.35, 1.0), (1e-6, 1e-4, 1e-2, 1.0)
ASIDE_SHARE = 0.25
#: Penalty of the linear part of a kernel probe, as a share of that of the kernel: next to none.
LINEAR_SHARE = 1e-3
#: Sums over rows from which shares and their errors are computed.
N_MOMENTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockOptions:
    """Rows of the probes of blocks.

    Attributes:
        max_train: Rows that a probe is fitted to at most, drawn at random; all other rows are tested.
    """

    max_train: int = 5000

    def __post_init__(self) -> None:
        check_at_least("max_train", self.max_train, MIN_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """Held-out performance of one kind of probe, from 0 for a blind guess to 1; below 0 where it is worse.

    Attributes:
        share: Share of a blind guess's error that the probe removes, ``(n_factors, n_blocks)``.
        error: Standard error of each share, over rows.
        chance: The same shares for a factor whose rows are shuffled.
    """

    share: FloatArray
    error: FloatArray
    chance: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockReading:
    """What each block knows of each factor.

    Attributes:
        blocks: Names of the blocks.
        factors: Names of the factors.
        linear: Of least squares, and of softmax regression for categories.
        kernel: Of ridge regression on a Gaussian kernel and the codes themselves.
        in_accuracy: 1 for factors whose shares are of errors of classification, 0 for those of variance.
        is_single: Whether there were no blocks, and every code was taken for one.
    """

    blocks: tuple[str, ...]
    factors: tuple[str, ...]
    linear: Reading
    kernel: Reading
    in_accuracy: FloatArray
    is_single: bool = False

    @property
    def by_probe(self) -> dict[str, Reading]:
        """What each kind of probe reads."""
        return {"kernel": self.kernel, "linear": self.linear}


def block_reading(rep: Representation, options: BlockOptions, rng: np.random.Generator) -> BlockReading:
    """Read every factor, and every factor shuffled, from every block by itself.

    Codes of a block are whitened first, so that any invertible linear map within the block changes nothing. Without
    blocks, every code is a block of its own.

    Args:
        rep: Codes, factors and blocks.
        options: Rows of the probes.
        rng: Source of chance.

    Raises:
        ValueError: A factor with fewer than ten labelled rows.
    """
    for factor in rep.factors:
        check_enough_labels(factor)
    blocks = rep.blocks or {name: (j,) for j, name in enumerate(rep.code_names)}
    folding, shuffling, fitting = rng.spawn(3)
    seeds = fitting.integers(2**31, size=N_FOLDS)  # the same for every block, so that their order changes nothing
    fold = folding.permutation(rep.n_samples) % N_FOLDS
    factors = [*rep.factors, *(_shuffled(factor, shuffling) for factor in rep.factors)]
    blind = [_blind_losses(factor, fold) for factor in factors]
    sums = np.zeros((2, len(factors), len(blocks), N_MOMENTS))
    for b, columns in enumerate(blocks.values()):
        codes = rep.codes[:, list(columns)]
        codes = codes[:, active_codes(codes)]
        for k, child in enumerate(map(np.random.default_rng, seeds)):
            test, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            train = np.sort(child.permutation(others)[: options.max_train])
            predicted = _Predicted(codes, factors, train, test, child)
            for p, found in enumerate((predicted.linear(), predicted.kernel())):
                for f, factor in enumerate(factors):
                    sums[p, f, b] += _moments(_losses(factor, test, found[f]), blind[f][test])
    linear, kernel = map(_reading, sums)
    return BlockReading(
        blocks=tuple(blocks),
        factors=rep.factor_names,
        linear=linear,
        kernel=kernel,
        in_accuracy=np.array([float(not factor.is_numeric) for factor in rep.factors]),
        is_single=not rep.blocks,
    )


def _shuffled(factor: Factor, rng: np.random.Generator) -> Factor:
    """Shuffle the labels of a factor over its labelled rows."""
    rows = np.arange(len(factor.numbers))
    known = np.flatnonzero(factor.labelled)
    rows[known] = rng.permutation(known)
    return factor.take(rows)


def _moments(losses: FloatArray, blind: FloatArray) -> FloatArray:
    """Sums over labelled rows of the probe's and the blind guess's losses, their squares and their product."""
    known = np.isfinite(losses)
    own, guess = losses[known], blind[known]
    return np.array([own.sum(), guess.sum(), own @ own, guess @ guess, own @ guess])


def _reading(sums: FloatArray) -> Reading:
    """Turn sums, ``(2 n_factors, n_blocks, n_moments)`` with shuffled factors last, into shares of a blind guess."""
    own, guess, own_squared, guess_squared, product = np.moveaxis(sums, -1, 0)
    ratio = own / np.where(guess > 0, guess, 1.0)
    # The share is one less a ratio of means; its error is that of the mean of own - ratio * guess.
    scatter = np.maximum(own_squared - 2 * ratio * product + ratio**2 * guess_squared, 0.0)
    error = np.sqrt(scatter) / np.where(guess > 0, guess, 1.0)
    share = np.where(guess > 0, 1 - ratio, 0.0)
    n_factors = len(sums) // 2
    return Reading(share=share[:n_factors], error=error[:n_factors], chance=share[n_factors:])


def _losses(factor: Factor, rows: IntArray, predicted: FloatArray) -> FloatArray:
    """Squared error of predicted targets, or 1 for a wrong category; NaN in rows without a label."""
    found = np.full(len(rows), np.nan)
    known = factor.labelled[rows]
    if factor.is_numeric:
        found[known] = ((factor.targets(rows[known]) - predicted[known]) ** 2).sum(axis=1)
    else:
        found[known] = predicted[known].argmax(axis=1) != factor.numbers[rows[known]]
    return found


def _blind_losses(factor: Factor, fold: IntArray) -> FloatArray:
    """Losses of the mean, or of the commonest category, of the rows of the other folds."""
    found = np.full(len(fold), np.nan)
    for k in range(N_FOLDS):
        rows, seen = np.flatnonzero(fold == k), np.flatnonzero((fold != k) & factor.labelled)
        if len(seen):
            guess = factor.targets(seen).mean(axis=0)
            found[rows] = _losses(factor, rows, np.broadcast_to(guess, (len(rows), len(guess))))
    return found


class _Predicted:
    """Predictions of the test rows of one fold from one block: of each factor, targets or shares of categories."""

    def __init__(
        self, codes: FloatArray, factors: list[Factor], train: IntArray, test: IntArray, rng: np.random.Generator
    ) -> None:
        self.factors, self.train, self.test = factors, train, test
        order = rng.permutation(len(train))
        self.landmarks = order[: min(MOST_LANDMARKS, LANDMARKS_A_COLUMN * codes.shape[1])]
        self.aside = rng.random(len(train)) < ASIDE_SHARE
        centre = codes[train].mean(axis=0) if len(train) else 0.0
        inside, outside = codes[train] - centre, codes[test] - centre
        varies = inside.size > 0 and bool(np.ptp(inside, axis=0).max() > 0)
        axes = whitening_axes(inside, codes.shape[1]) if varies else np.zeros((codes.shape[1], 0))
        self.x, self.x_test = inside @ axes, outside @ axes

    def linear(self) -> list[FloatArray]:
        """Least squares, and softmax regression for categories."""
        return [self._blind(factor) if self._is_blind(factor) else self._linear(factor) for factor in self.factors]

    def _linear(self, factor: Factor) -> FloatArray:
        known = factor.labelled[self.train]
        coefficients = fit_linear(self.x[known], factor, self.train[known])
        return predict_linear(self.x_test, coefficients, factor)

    def kernel(self) -> list[FloatArray]:
        """Ridge regression on the codes and on Gaussian bumps at landmarks; of categories, on their indicators."""
        found = [self._blind(factor) for factor in self.factors]
        for alike in self._labelled_alike():
            factors = [self.factors[f] for f in alike]
            for f, predicted in zip(alike, self._kernel(factors), strict=True):
                found[f] = predicted
        return found

    def _kernel(self, factors: list[Factor]) -> list[FloatArray]:
        """Predict factors that are labelled in the same rows, each with the width and strength of least error aside."""
        known = factors[0].labelled[self.train]
        rows, aside = self.train[known], self.aside[known]
        if not (aside.any() and (~aside).any()):
            aside = np.arange(len(rows)) % 4 == 0
        targets = [factor.targets(rows) for factor in factors]
        ends = np.cumsum([part.shape[1] for part in targets])[:-1]
        wanted = np.hstack(targets)
        best, lowest = [self._blind(factor) for factor in factors], np.full(len(factors), np.inf)
        for width in WIDTHS:
            features = self._features(self.x, width)[known]
            fitted, tried = features[~aside], features[aside]
            gram, moment = fitted.T @ fitted, fitted.T @ wanted[~aside]
            whole, both = gram + tried.T @ tried, moment + tried.T @ wanted[aside]
            outside = self._features(self.x_test, width)
            for strength in STRENGTHS:
                residual = tried @ self._solve(gram, moment, strength) - wanted[aside]
                errors = np.array([float((part**2).sum()) for part in np.split(residual, ends, axis=1)])
                better = np.flatnonzero(errors < lowest)
                if len(better):
                    weights = np.split(self._solve(whole, both, strength), ends, axis=1)
                for f in better:
                    lowest[f], best[f] = errors[f], outside @ weights[f]
        return best

    def _features(self, x: FloatArray, width: float) -> FloatArray:
        """Return a constant, the codes, and bumps at the landmarks."""
        centres = self.x[self.landmarks]
        squared = (x**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * x @ centres.T
        bumps = np.exp(-np.maximum(squared, 0.0) / (2 * width**2 * x.shape[1]))
        return np.hstack([np.ones((len(x), 1)), x, bumps])

    def _solve(self, gram: FloatArray, moment: FloatArray, strength: float) -> FloatArray:
        n_rows = float(gram[0, 0])  # of the constant with itself
        penalty = np.full(len(gram), strength * n_rows)
        penalty[: 1 + self.x.shape[1]] *= LINEAR_SHARE
        return ridge_solver(gram, penalty + 1e-9 * n_rows)(moment)

    def _labelled_alike(self) -> list[list[int]]:
        """Return the numbers of factors by the training rows that they are labelled in, less those read blindly."""
        alike: dict[bytes, list[int]] = {}
        for f, factor in enumerate(self.factors):
            if not self._is_blind(factor):
                alike.setdefault(factor.labelled[self.train].tobytes(), []).append(f)
        return list(alike.values())

    def _is_blind(self, factor: Factor) -> bool:
        """Tell whether there is nothing to fit: no code that varies, or hardly a label."""
        return self.x.shape[1] == 0 or int(factor.labelled[self.train].sum()) < MIN_ROWS // 2

    def _blind(self, factor: Factor) -> FloatArray:
        rows = self.train[factor.labelled[self.train]]
        if not len(rows):
            rows = np.flatnonzero(factor.labelled)
        guess = factor.targets(rows).mean(axis=0)
        return np.broadcast_to(guess, (len(self.test), len(guess)))
