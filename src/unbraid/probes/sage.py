"""SAGE values: Shapley values of the codes for the loss of a black box, estimated from random orders of codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least

#: From codes ``(n_rows, n_codes)`` to one prediction for each task, ``(n_rows, n_outputs)``.
Predict = Callable[[FloatArray], list[FloatArray]]
#: From predictions of some rows and the numbers of these rows to the loss of each, ``(n_tasks, n_rows)``.
Losses = Callable[[list[FloatArray], IntArray], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedSums:
    """A black box whose predictions depend on codes by weighted sums alone, as those of a network do.

    Revealing a code adds to the sums, which takes no longer with many codes than with few.

    Attributes:
        weights: ``(n_codes, n_sums)``.
        predict: From sums, ``(n_rows, n_sums)``, to predictions.
    """

    weights: FloatArray
    predict: Predict


@dataclass(frozen=True, slots=True, kw_only=True)
class SageOptions:
    """Precision of the SAGE estimates.

    Attributes:
        n_background: Rows that stand in for codes which are withheld.
        batch_size: Rows of a step; each comes with an order of the codes and the reverse of it.
        tolerance: Stop when the largest standard error of a task is below this share of the range of its values.
        max_rows: Stop after this many rows in any case.
    """

    n_background: int = 32
    batch_size: int = 64
    tolerance: float = 0.05
    max_rows: int = 4096

    def __post_init__(self) -> None:
        check_at_least("n_background", self.n_background, 1)
        check_at_least("batch_size", self.batch_size, 1)
        check_at_least("max_rows", self.max_rows, 2)
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance must be in (0, 1), got {self.tolerance}.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SageValues:
    """SAGE values and their standard errors.

    Attributes:
        values: Mean drop of the loss that each code brings to each task, ``(n_codes, n_tasks)``. For a task they add
            up to the loss without any code minus the loss with all.
        errors: Standard errors of ``values``.
        converged: Which tasks met the tolerance, ``(n_tasks,)``.
        n_rows: Rows used.
    """

    values: FloatArray
    errors: FloatArray
    converged: BoolArray
    n_rows: int

    @property
    def low(self) -> FloatArray:
        """Lower ends of 95 % confidence intervals."""
        return self.values - 1.96 * self.errors

    @property
    def high(self) -> FloatArray:
        """Upper ends of 95 % confidence intervals."""
        return self.values + 1.96 * self.errors


def sage_values(
    box: Predict | WeightedSums,
    losses: Losses,
    codes: FloatArray,
    *,
    background: FloatArray,
    options: SageOptions | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    rng: np.random.Generator,
) -> SageValues:
    r"""Estimate SAGE values of every code, or group of codes, for several tasks that one call predicts.

    Codes are revealed one at a time in a random order; while a code is withheld, the prediction is averaged
    over its values in ``background`` (marginal imputation). What the loss drops by when a code is revealed is credited
    to it; the mean over rows and orders is its Shapley value in the game :math:`v(S) = -E[\ell(E[f(x) | x_S], y)]`.

    Args:
        box: The black box: a function of codes, or one of weighted sums of them, of which the values are the same.
        losses: Losses of its predictions.
        codes: Rows to explain, ``(n_rows, n_codes)``; numbered as in ``losses``.
        background: Rows that stand in for withheld codes; ``n_background`` of them are drawn.
        options: Precision of the estimates.
        groups: Columns that are revealed together; every column by itself by default.
        rng: Source of chance.

    Returns:
        Values with standard errors, of codes or of groups.

    References:
        Covert, Lundberg & Lee (2020), Understanding Global Feature Contributions With Additive Importance Measures,
        sec. 4. https://arxiv.org/abs/2004.00668
    """
    options = options or SageOptions()
    players = [np.array([j]) for j in range(codes.shape[1])] if groups is None else [np.array(g) for g in groups]
    stand_in = background[rng.permutation(len(background))[: options.n_background]]
    found = _Moments()
    passes = -(-options.max_rows // len(codes))
    order = np.concatenate([rng.permutation(len(codes)) for _ in range(passes)])[: options.max_rows]
    for start in range(0, len(order), options.batch_size):
        rows = order[start : start + options.batch_size]
        sequence = rng.permuted(np.tile(np.arange(len(players)), (len(rows), 1)), axis=1)
        gains = _gains(box, losses, codes, rows, sequence, stand_in, players)
        gains += _gains(box, losses, codes, rows, sequence[:, ::-1], stand_in, players)
        gains /= 2
        found.add(gains)
        if start > 0 and _converged(found.mean, found.errors, options.tolerance).all():
            break
    return SageValues(
        values=found.mean,
        errors=found.errors,
        converged=_converged(found.mean, found.errors, options.tolerance),
        n_rows=found.n_rows,
    )


class _Moments:
    """Mean of the gains of all rows so far, and its standard error."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.mean = self.squares = np.zeros(())

    def add(self, gains: FloatArray) -> None:
        """Add rows, ``(n_rows, n_players, n_tasks)``."""
        n_new, mean = len(gains), gains.mean(axis=0)
        n_rows = self.n_rows + n_new
        away = mean - self.mean
        within = gains.var(axis=0) * n_new
        self.squares = self.squares + within + away**2 * (self.n_rows * n_new / n_rows)
        self.mean = self.mean + away * (n_new / n_rows)
        self.n_rows = n_rows

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the means."""
        return np.asarray(np.sqrt(self.squares) / self.n_rows)


def _gains(
    box: Predict | WeightedSums,
    losses: Losses,
    codes: FloatArray,
    rows: IntArray,
    sequence: IntArray,
    stand_in: FloatArray,
    players: Sequence[IntArray],
) -> FloatArray:
    """Decrease of the loss as the players of each row are revealed in its order, ``(n_rows, n_players, n_tasks)``."""
    n_rows, n_players = sequence.shape
    each = np.arange(n_rows)
    # Columns of a smaller group are repeated, so that all groups are filled in one assignment.
    largest = max(len(player) for player in players)
    padded = np.stack([np.resize(player, largest) for player in players])
    order = padded[sequence.T]
    if isinstance(box, WeightedSums):
        counted = np.arange(largest) < np.array([len(player) for player in players])[:, None]
        blind = box.predict(stand_in @ box.weights)
        steps = _by_sums(box, codes[rows], stand_in, order, counted[sequence.T])
    else:
        blind = box(stand_in)
        steps = _by_rows(box, codes[rows], stand_in, order)
    # With nothing revealed every row looks the same, so one is enough.
    before = losses([np.repeat(part.mean(axis=0, keepdims=True), n_rows, axis=0) for part in blind], rows)
    gains = np.empty((n_rows, n_players, len(before)))
    for revealed, predicted in zip(sequence.T, steps, strict=True):
        after = losses([part.reshape(n_rows, len(stand_in), -1).mean(axis=1) for part in predicted], rows)
        gains[each, revealed] = (before - after).T
        before = after
    return gains


def _by_rows(predict: Predict, codes: FloatArray, stand_in: FloatArray, order: IntArray) -> Iterator[list[FloatArray]]:
    """Yield predictions of every row before every stand-in, as columns are revealed.

    Args:
        predict: The black box.
        codes: Rows to explain, ``(n_rows, n_codes)``.
        stand_in: Rows that stand in for withheld codes.
        order: Columns of each step and row, ``(n_steps, n_rows, n_columns)``.
    """
    each = np.arange(len(codes))[:, None]
    mixed = np.tile(stand_in, (len(codes), 1, 1))
    for columns in order:
        mixed[each, :, columns] = codes[each, columns][:, :, None]
        yield predict(mixed.reshape(-1, codes.shape[1]))


def _by_sums(
    box: WeightedSums, codes: FloatArray, stand_in: FloatArray, order: IntArray, counted: BoolArray
) -> Iterator[list[FloatArray]]:
    """Yield the same from sums, to which the columns that count are added; others repeat one of their group."""
    each = np.arange(len(codes))[:, None]
    sums = np.tile(stand_in @ box.weights, (len(codes), 1, 1))
    for columns, own in zip(order, counted, strict=True):
        moved = (codes[each, columns][:, None] - stand_in[:, columns].transpose(1, 0, 2)) * own[:, None]
        sums += moved @ box.weights[columns]
        yield box.predict(sums.reshape(-1, sums.shape[2]))


def _converged(values: FloatArray, errors: FloatArray, tolerance: float) -> BoolArray:
    spread = np.maximum(values.max(axis=0) - values.min(axis=0), 1e-12)
    return np.asarray(errors.max(axis=0) <= tolerance * spread)
