"""Logistic regressions of wide codes on many targets, fitted at once.

A pass over wide codes takes as long for one column of coefficients as for many, and a matrix of the size of the codes
squared is formed once for all: regressions of all factors, values and folds therefore take their steps together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid.probes.splits import Split
from unbraid.representation.representation import Representation

MAX_STEPS, MAX_HALVINGS, MEMORY = 60, 6, 8
#: Distance to the least loss, as a share of the loss, at which a regression is done: areas under curves and shares of
#: entropy move by less than 0.001 beyond it.
CLOSE = 1e-4
#: The same of sparse codes, how many steps they take at most, and steps after which the curvature is measured again.
CLOSER, MOST_SPARSE_STEPS, RESCALED_AFTER = 1e-5, 100, (3, 10, 25, 60)
#: Variance of a sparse code on fitted rows, as a share of that on all rows, below which it counts as constant there,
#: and the penalty of constant codes, which keeps coefficients at 0.
LEAST_VARIANCE, CONSTANT = 1e-6, 1e12
#: Rounding error of a loss, and of a product of rows in single precision, as a share of it.
ROUNDING, PRODUCT_ROUNDING = 1e-6, 1e-5
#: Mean of a sparse code, in units of its deviation, above which single precision would lose digits of what is left.
FAR_MEAN = 100.0
#: Numbers that are converted or predicted at once, and columns of coefficients that take steps together.
CELLS, MOST_COLUMNS = 4_000_000, 256
#: Predictions of a few rows that stay in the cache of a processor while losses are taken.
CACHED = 200_000
#: Bounds of the curvature of the losses of independent values, and of values that exclude each other.
APART, TOGETHER = 0.25, 0.5

Single = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Values:
    """Regressions of the values of one factor on some rows.

    Attributes:
        labels: Value of each row; any number in rows that are not fitted, ``(n_samples,)``.
        n_levels: Number of values.
        fitted: Rows to fit on, ``(n_samples,)``.
        together: Whether probabilities of the values add up to 1 (softmax), or each value has a regression of its own.
    """

    labels: IntArray
    n_levels: int
    fitted: BoolArray
    together: bool

    @property
    def levels(self) -> IntArray:
        """Values that have a column of coefficients; of two values, which are mirror images, the second alone."""
        return np.array([1]) if self.n_levels == 2 else np.arange(self.n_levels)

    def of_all(self, odds: FloatArray) -> FloatArray:
        """Scores of all values, from those that have coefficients, ``(n_samples, n_levels)``."""
        if self.n_levels != 2:
            return odds
        return np.hstack([-odds, odds]) / (2 if self.together else 1)


class Standardised(Protocol):
    """Codes of mean 0 and deviation 1 over all rows, in single precision."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of codes."""

    def times(self, rows: slice, weights: Single) -> Single:
        """Return codes of some rows times coefficients, ``(n_rows, n_columns)``."""

    def back(self, rows: slice, values: Single) -> Single:
        """Return codes of some rows, transposed, times values of the rows, ``(n_codes, n_columns)``."""

    def of_rows(self, rows: IntArray) -> Standardised:
        """Return the codes of some rows alone."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseCodes:
    """Codes that are written out, ``(n_samples, n_codes)``."""

    z: Single

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of codes."""
        return len(self.z), self.z.shape[1]

    def times(self, rows: slice, weights: Single) -> Single:
        """Return codes of some rows times coefficients."""
        return np.asarray(self.z[rows] @ weights)

    def back(self, rows: slice, values: Single) -> Single:
        """Return codes of some rows, transposed, times values of the rows."""
        return np.asarray(self.z[rows].T @ values)

    def of_rows(self, rows: IntArray) -> DenseCodes:
        """Return the codes of some rows alone."""
        return DenseCodes(self.z[rows])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparseCodes:
    """Codes that are mostly 0, from which their means are taken off only in products.

    Attributes:
        scaled: Codes over their deviation, by rows, ``(n_samples, n_codes)``.
        means: Of these, ``(n_codes,)``.
    """

    scaled: Any
    means: FloatArray

    @classmethod
    def of(cls, codes: Any) -> SparseCodes:
        """Scale codes that are stored by rows; constant ones become 0."""
        scaled = codes.astype(np.float64)
        n_rows, n_codes = scaled.shape
        mean = np.bincount(scaled.indices, weights=scaled.data, minlength=n_codes) / n_rows
        around = np.bincount(scaled.indices, weights=(scaled.data - mean[scaled.indices]) ** 2, minlength=n_codes)
        n_zero = n_rows - np.bincount(scaled.indices, minlength=n_codes)
        deviation = np.sqrt((around + n_zero * mean**2) / n_rows)
        scale = np.divide(1.0, deviation, out=np.zeros(n_codes), where=deviation > 1e-7 * np.abs(mean))
        scaled.data *= scale[scaled.indices]
        means = np.asarray(mean * scale)
        near = np.abs(means).max(initial=0.0) < FAR_MEAN
        return cls(scaled=scaled.astype(np.float32) if near else scaled, means=means)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of codes."""
        n_rows, n_codes = self.scaled.shape
        return n_rows, n_codes

    def times(self, rows: slice, weights: Single) -> Single:
        """Return codes of some rows times coefficients."""
        return np.asarray(self.scaled[rows] @ weights - self.means @ weights, dtype=np.float32)

    def back(self, rows: slice, values: Single) -> Single:
        """Return codes of some rows, transposed, times values of the rows."""
        off = np.outer(self.means, values.sum(axis=0, dtype=np.float64))
        return np.asarray(self.scaled[rows].T @ values - off, dtype=np.float32)

    def of_rows(self, rows: IntArray) -> SparseCodes:
        """Return the codes of some rows alone."""
        return replace(self, scaled=self.scaled[rows])

    def back_squares(self, rows: slice, values: Single) -> Single:
        """Return squares of the codes of some rows, transposed, times values of the rows."""
        own = self.scaled[rows]
        off = np.outer(self.means**2, values.sum(axis=0, dtype=np.float64))
        return np.asarray(own.power(2).T @ values - 2 * self.means[:, None] * (own.T @ values) + off, dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WideCodes:
    """Standardised codes, and their mean products.

    Attributes:
        codes: ``(n_samples, n_codes)``.
        products: Mean over rows of the products of every two codes, ``(n_codes, n_codes)``; ``None`` for sparse codes.
        close: Distance to the least loss, as a share of the loss, at which a regression is done.
    """

    codes: Standardised
    products: Single | None
    close: float = CLOSE

    @classmethod
    def of(cls, rep: Representation) -> WideCodes:
        """Return those of a representation, which are made once; of more codes than rows, coordinates of the rows."""

        def made() -> WideCodes:
            z = standardised(rep.codes)
            if z.shape[1] > len(z):
                z = row_coordinates(z)
            return cls(codes=DenseCodes(z), products=z.T @ z / np.float32(len(z)))

        return rep.memo.once("wide codes", made)

    @classmethod
    def of_sparse(cls, codes: Any) -> WideCodes:
        """Return those of sparse codes, by rows."""
        return cls(codes=SparseCodes.of(codes), products=None, close=CLOSER)

    def scores(
        self, tasks: Sequence[tuple[IntArray, int, Sequence[Split]]], *, together: bool
    ) -> list[list[FloatArray]]:
        """Scores of values in test rows, of regressions on training rows.

        Args:
            tasks: For each factor its value in each row, the number of values, and splits of the rows.
            together: Whether probabilities of values add up to 1; scores are then their logarithms.

        Returns:
            For each factor and split, ``(n_test_rows, n_levels)``.
        """
        found: dict[tuple[int, int], FloatArray] = {}
        alike: dict[int, tuple[Split, list[tuple[int, int]]]] = {}
        for k, (_, _, splits) in enumerate(tasks):
            for number, split in enumerate(splits):
                alike.setdefault(id(split), (split, []))[1].append((k, number))
        apart = [(split, places[0]) for split, places in alike.values() if len(places) == 1]
        values = []
        for split, (k, _) in apart:
            labels, n_levels, _ = tasks[k]
            fitted = _at(split.train, len(labels))
            values.append(Values(labels=labels, n_levels=n_levels, fitted=fitted, together=together))
        for k, odds, _ in self._fits(values, 1.0, self.close):
            split, place = apart[k]
            found[place] = odds[split.test]
        for split, places in alike.values():
            if len(places) > 1:
                odds_of_all = self._scores_of_one_split(split, [tasks[k][:2] for k, _ in places], together)
                found |= dict(zip(places, odds_of_all, strict=True))
        if together:
            found = {place: scipy.special.log_softmax(odds, axis=1) for place, odds in found.items()}
        return [[found[k, number] for number in range(len(splits))] for k, (_, _, splits) in enumerate(tasks)]

    def _scores_of_one_split(
        self, split: Split, tasks: Sequence[tuple[IntArray, int]], together: bool
    ) -> list[FloatArray]:
        """Scores in the test rows of factors that are fitted on the same rows, which alone are gone through."""
        own, tested = replace(self, codes=self.codes.of_rows(split.train)), self.codes.of_rows(split.test)
        every = np.ones(len(split.train), dtype=bool)
        values = [
            Values(labels=labels[split.train], n_levels=n_levels, fitted=every, together=together)
            for labels, n_levels in tasks
        ]
        found: list[FloatArray] = [np.zeros(0)] * len(tasks)
        for k, _, weights in own._fits(values, 1.0, self.close):
            odds = tested.times(slice(None), weights[:, :-1].T.astype(np.float32)) + weights[:, -1]
            found[k] = values[k].of_all(odds.astype(np.float64))
        return found

    def fit(
        self, tasks: Sequence[Values], *, penalty: float = 1.0, close: float = CLOSE
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Fit ridge-penalised logistic regressions.

        Args:
            tasks: Values to fit.
            penalty: Weight of half the squared norm of the coefficients; intercepts are free.
            close: Distance to the least loss, as a share of the loss, at which a regression is done.

        Returns:
            For each task, scores of all values in all rows, ``(n_samples, n_levels)``, and the coefficients of values
            that have some, with the intercept last, ``(n_columns, n_codes + 1)``.
        """
        found = {k: (odds, weights) for k, odds, weights in self._fits(tasks, penalty, close)}
        return [found[k] for k in range(len(tasks))]

    def _fits(
        self, tasks: Sequence[Values], penalty: float, close: float
    ) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """Yield the place of each task, in any order, with its scores and coefficients."""
        for batch in _batches(tasks):
            steps = _SparseSteps if isinstance(self.codes, SparseCodes) else _Steps
            weights, odds = steps(self, [tasks[k] for k in batch], penalty, close).run()
            start = 0
            for k in batch:
                stop = start + len(tasks[k].levels)
                yield k, tasks[k].of_all(odds[:, start:stop].astype(np.float64)), weights[:, start:stop].T
                start = stop


def standardised(codes: FloatArray) -> Single:
    """Codes of mean 0 and deviation 1, constant ones 0, in single precision."""
    n_rows, n_codes = codes.shape
    mean = np.mean(codes, axis=0, dtype=np.float64)
    squares = np.zeros(n_codes)
    for rows in _parts(n_rows, n_codes):
        squares += ((codes[rows] - mean) ** 2).sum(axis=0)
    deviation = np.sqrt(squares / n_rows)
    scale = np.divide(1.0, deviation, out=np.zeros(n_codes), where=deviation > 1e-12 * np.abs(mean))
    z = np.empty(codes.shape, dtype=np.float32)
    for rows in _parts(n_rows, n_codes):
        z[rows] = (codes[rows] - mean) * scale
    return z


def row_coordinates(z: Single) -> Single:
    """Return as many coordinates as there are rows, in which the products of every two rows are what they are in ``z``.

    Predictions of regressions with a penalty depend on the codes by these products alone, whatever the basis.
    """
    products = (z @ z.T).astype(np.float64)
    diagonal = np.diag_indices(len(products))
    products[diagonal] += PRODUCT_ROUNDING * products[diagonal].mean()
    return np.asarray(np.linalg.cholesky(products), dtype=np.float32)


def _at(rows: IntArray, n_rows: int) -> BoolArray:
    found = np.zeros(n_rows, dtype=bool)
    found[rows] = True
    return found


def _parts(n_rows: int, width: int, n_cells: int = CELLS) -> list[slice]:
    size = max(1, n_cells // width)
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def _batches(tasks: Sequence[Values]) -> Iterator[list[int]]:
    """Yield places of tasks that take steps together: of one kind, within a number of columns."""
    for together in (False, True):
        batch: list[int] = []
        n_columns = 0
        for k in (k for k, task in enumerate(tasks) if (task.together and task.n_levels > 2) == together):
            if batch and n_columns + len(tasks[k].levels) > MOST_COLUMNS:
                yield batch
                batch, n_columns = [], 0
            batch.append(k)
            n_columns += len(tasks[k].levels)
        if batch:
            yield batch


def _chances_and_losses(odds: Single, truth: Single, counted: Single) -> tuple[Single, Single]:
    """Probability of each value, and the loss of a logistic regression, from one exponential that cannot overflow.

    Args:
        odds: Log-odds, written over, ``(n_rows, n_columns)``.
        truth: 1 where a row that counts has the value, otherwise 0.
        counted: 1 where a row counts, otherwise 0.
    """
    small = np.abs(odds)
    np.exp(np.negative(small, out=small), out=small)
    one_more = small + np.float32(1)
    p = np.where(odds >= 0, np.float32(1), small)
    p /= one_more
    lost = np.log(one_more, out=one_more)
    lost += np.maximum(odds, 0, out=small)
    lost *= counted
    odds *= truth
    lost -= odds
    return p, lost


def _softmax(odds: Single, first: IntArray, counted: Single | None = None) -> tuple[Single, Single]:
    """Probabilities within groups of columns, and the logarithm of what they were divided by, ``(n_rows, n_groups)``.

    Args:
        odds: Less the largest of the group afterwards, ``(n_rows, n_columns)``.
        first: First column of each group.
        counted: What the probabilities of each group are multiplied by, ``(n_rows, n_groups)``; 1 by default.
    """
    sizes = np.diff(first, append=odds.shape[1])
    odds -= np.repeat(np.maximum.reduceat(odds, first, axis=1), sizes, axis=1)
    p = np.exp(odds)
    total = np.add.reduceat(p, first, axis=1)
    p *= np.repeat((1 if counted is None else counted) / total, sizes, axis=1)
    return p, np.log(total)


class _Steps:
    """Limited-memory quasi-Newton steps of many regressions, in coordinates in which curvature is about even.

    The Hessian of a logistic loss is at most a quarter of the products of the codes (Böhning 1992), half of them for a
    softmax, so that the Cholesky factor of this bound with the penalty makes a good scale. Columns of one softmax are a
    group, and take steps of the same length; each other column is a group by itself.
    """

    most_steps = MAX_STEPS

    def __init__(self, codes: WideCodes, tasks: Sequence[Values], penalty: float, close: float) -> None:
        self.codes, self.penalty, self.close = codes.codes, np.float32(penalty), close
        self.together = tasks[0].together and tasks[0].n_levels > 2
        widths = [len(task.levels) for task in tasks]
        sizes = widths if self.together else [1] * sum(widths)
        self.group = np.repeat(np.arange(len(sizes)), sizes)
        self.fitted = np.repeat(np.stack([task.fitted for task in tasks], axis=1), widths, axis=1)
        #: Which of the fitted rows have the value of a column.
        self.truth = np.hstack([task.labels[:, None] == task.levels for task in tasks]) & self.fitted
        self._last = np.arange(0), self.truth, self.fitted
        n_fitted = float(np.mean([task.fitted.sum() for task in tasks]))
        curvature = TOGETHER if self.together else APART
        self.level_scale = np.float32(np.sqrt(curvature * n_fitted))
        self._begin(codes, curvature * n_fitted)

    def _begin(self, codes: WideCodes, curvature: float) -> None:
        """Make the scale of the coordinates, from the largest curvature of all rows together."""
        assert codes.products is not None
        bound = codes.products * np.float32(curvature)
        bound[np.diag_indices(len(bound))] += self.penalty + np.float32(1e-6 * curvature)
        self.root = np.linalg.cholesky(bound)

    def run(self) -> tuple[FloatArray, Single]:
        """Return coefficients with the intercept last, ``(n_codes + 1, n_columns)``, and log-odds of all rows."""
        n_columns = len(self.group)
        share = np.clip(self.truth.sum(axis=0) / np.maximum(self.fitted.sum(axis=0), 1), 1e-6, 1 - 1e-6)
        start = np.log(share) if self.together else np.log(share / (1 - share))
        u = np.zeros((self.codes.shape[1] + 1, n_columns), dtype=np.float32)
        u[-1] = start * self.level_scale
        active = np.arange(n_columns)
        loss, gradient = self._evaluate(u, active)
        history: list[tuple[Single, Single, FloatArray]] = []
        for n_steps in range(self.most_steps):
            if self._rescale(n_steps, u, active):
                loss, gradient = self._evaluate(u[:, active], active)
                history = []
            moving = self._products(gradient, gradient, active) > 2 * self.close * loss
            if not moving.any():
                break
            if not moving.all():
                kept = moving[self._places(active)]
                active, loss, gradient = active[kept], loss[moving], gradient[:, kept]
                history = [(s[:, kept], y[:, kept], rho[moving]) for s, y, rho in history]
            step = self._direction(gradient, history, active)
            slope = self._products(gradient, step, active)
            uphill = slope >= 0
            if uphill.any():
                step = np.where(uphill[self._places(active)], -gradient, step)
                slope = self._products(gradient, step, active)
            length = np.ones(len(loss), dtype=np.float32)
            before, old = u[:, active], loss
            u[:, active] = before + step
            loss, new_gradient = self._evaluate(u[:, active], active)
            for _ in range(MAX_HALVINGS):
                worse = loss > old + 1e-4 * length * slope + ROUNDING * old
                if not worse.any():
                    break
                length[worse] /= 2
                again = np.flatnonzero(worse[self._places(active)])
                u[:, active[again]] = before[:, again] + length[self._places(active)][again] * step[:, again]
                loss[worse], new_gradient[:, again] = self._evaluate(u[:, active[again]], active[again])
            change, turn = u[:, active] - before, new_gradient - gradient
            along = self._products(change, turn, active)
            rho = np.divide(1.0, along, out=np.zeros_like(along), where=along > 1e-12)
            history = [*history[-MEMORY + 1 :], (change, turn, rho)]
            gradient = new_gradient
        weights = self._weights(u, np.arange(n_columns))
        parts = [self.codes.times(rows, weights[:-1]) for rows in _parts(*self.codes.shape)]
        odds = np.concatenate(parts) + weights[-1]
        return weights.astype(np.float64), odds

    def _penalties(self, active: IntArray) -> Any:
        """Weight of half the square of each coefficient of some columns."""
        return self.penalty

    def _weights(self, u: Single, active: IntArray) -> Single:
        """Coefficients of some columns, from scaled coordinates."""
        return np.vstack([solve_triangular(self.root, u[:-1], lower=True, trans="T"), u[-1:] / self.level_scale])

    def _scaled(self, gradient: Single, level: FloatArray, active: IntArray) -> Single:
        """Gradient of some columns in scaled coordinates, from those of coefficients and of intercepts."""
        return np.vstack(
            [solve_triangular(self.root, gradient, lower=True), (level / self.level_scale).astype(np.float32)]
        )

    def _rescale(self, n_steps: int, u: Single, active: IntArray) -> bool:
        """Change the coordinates, in place, where that pays; return whether they are others now."""
        return False

    def _places(self, active: IntArray) -> IntArray:
        """Number of the group of each column, among those that still move."""
        found: IntArray = np.unique(self.group[active], return_inverse=True)[1]
        return found

    def _products(self, first: Single, second: Single, active: IntArray) -> FloatArray:
        """Inner product over the coefficients and columns of each group."""
        by_column = np.einsum("ij,ij->j", first, second)
        return np.asarray(np.bincount(self._places(active), weights=by_column), dtype=np.float64)

    def _evaluate(self, u: Single, active: IntArray) -> tuple[FloatArray, Single]:
        """Loss of each group, and the gradient in the scaled coordinates."""
        weights = self._weights(u, active)
        own = weights[:-1]
        gradient, level = self._penalties(active) * own, np.zeros(len(active))
        loss = 0.5 * (gradient * own).sum(axis=0, dtype=np.float64)
        places = self._places(active)
        first = np.flatnonzero(np.diff(places, prepend=-1))
        all_truth, all_fitted = self._targets(active)
        for rows in _parts(self.codes.shape[0], len(active), CACHED):
            odds = self.codes.times(rows, own)
            odds += weights[-1]
            truth = all_truth[rows].astype(np.float32)
            if self.together:
                # Rows that count are the same in all columns of a group.
                counted = all_fitted[rows][:, first].astype(np.float32)
                wrong, lost = _softmax(odds, first, counted)
                lost *= counted
                loss[first] += lost.sum(axis=0, dtype=np.float64)
                odds *= truth
                loss -= odds.sum(axis=0, dtype=np.float64)
            else:
                counted = all_fitted[rows].astype(np.float32)
                wrong, lost = _chances_and_losses(odds, truth, counted)
                loss += lost.sum(axis=0, dtype=np.float64)
                wrong *= counted
            wrong -= truth
            gradient += self.codes.back(rows, wrong)
            level += wrong.sum(axis=0, dtype=np.float64)
        scaled = self._scaled(gradient, level, active)
        return np.asarray(np.bincount(places, weights=loss), dtype=np.float64), scaled

    def _targets(self, active: IntArray) -> tuple[BoolArray, BoolArray]:
        """Truth and fitted rows of some columns, the last ones again where they are the same."""
        if len(active) == self.truth.shape[1]:
            return self.truth, self.fitted
        if not np.array_equal(self._last[0], active):
            self._last = active, self.truth[:, active], self.fitted[:, active]
        return self._last[1], self._last[2]

    def _direction(
        self, gradient: Single, history: list[tuple[Single, Single, FloatArray]], active: IntArray
    ) -> Single:
        """Two-loop recursion (Nocedal 1980), each group with products of its own."""
        places = self._places(active)
        q, factors = gradient.copy(), []
        for change, turn, rho in reversed(history):
            alpha = rho * self._products(change, q, active)
            factors.append(alpha)
            q -= alpha[places].astype(np.float32) * turn
        if history:
            change, turn, rho = history[-1]
            size = self._products(turn, turn, active) * rho
            scale = np.divide(1.0, size, out=np.ones_like(size), where=size > 1e-12)
            q *= scale[places].astype(np.float32)
        for (change, turn, rho), alpha in zip(history, reversed(factors), strict=True):
            beta = rho * self._products(turn, q, active)
            q += (alpha - beta)[places].astype(np.float32) * change
        return -q


class _SparseSteps(_Steps):
    """The same for sparse codes, which hardly overlap: each coefficient has a scale of its own.

    Products of the codes that are active are cheap, so that steps may be many; the curvature is measured again after
    some of them, since it is far below its bound where a code tells a value without doubt.
    """

    most_steps = MOST_SPARSE_STEPS

    def _begin(self, codes: WideCodes, curvature: float) -> None:
        assert isinstance(codes.codes, SparseCodes)
        self.sparse = codes.codes
        # The penalty is one of codes of unit deviation on the rows that are fitted, which differs among rare codes.
        total, squares = np.zeros((2, self.codes.shape[1], len(self.group)), dtype=np.float32)
        for rows in _parts(self.codes.shape[0], len(self.group), CACHED):
            own = self.fitted[rows].astype(np.float32)
            total += self.codes.back(rows, own)
            squares += self.sparse.back_squares(rows, own)
        n_rows = np.maximum(self.fitted.sum(axis=0), 1)
        variance = squares / n_rows - (total / n_rows) ** 2
        self.penalties = self.penalty * np.where(variance > LEAST_VARIANCE, variance, CONSTANT).astype(np.float32)
        self.scale = np.full((self.codes.shape[1] + 1, len(self.group)), self.level_scale)
        self.scale[:-1] = np.sqrt(np.float32(curvature) + self.penalties)

    def _penalties(self, active: IntArray) -> Any:
        return self.penalties[:, active]

    def _weights(self, u: Single, active: IntArray) -> Single:
        return np.asarray(u / self.scale[:, active])

    def _scaled(self, gradient: Single, level: FloatArray, active: IntArray) -> Single:
        return np.asarray(np.vstack([gradient, level.astype(np.float32)]) / self.scale[:, active])

    def _rescale(self, n_steps: int, u: Single, active: IntArray) -> bool:
        if n_steps not in RESCALED_AFTER:
            return False
        weights = self._weights(u[:, active], active)
        bend, level = self._penalties(active).copy(), np.zeros(len(active))
        places = self._places(active)
        first = np.flatnonzero(np.diff(places, prepend=-1))
        for rows in _parts(self.codes.shape[0], len(active), CACHED):
            odds = self.codes.times(rows, weights[:-1])
            odds += weights[-1]
            p = _softmax(odds, first)[0] if self.together else scipy.special.expit(odds)
            p *= (1 - p) * self.fitted[rows][:, active]
            bend += self.sparse.back_squares(rows, p)
            level += p.sum(axis=0, dtype=np.float64)
        self.scale[:-1, active] = np.sqrt(np.maximum(bend, self._penalties(active)))
        self.scale[-1, active] = np.sqrt(np.maximum(level, 1.0))
        u[:, active] = weights * self.scale[:, active]
        return True
