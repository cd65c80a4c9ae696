"""Protocol of ladders, which are probes of one kind ordered by capacity; their task and checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.workers import Workers
from unbraid.probes.sage import WeightedSums
from unbraid.probes.splits import Split
from unbraid.representation.factor import Factor


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CapacityTask:
    """Data that the probes of every capacity are fitted to.

    Attributes:
        codes: Codes scaled by the rows fitted on, ``(n_samples, n_codes)``.
        factors: Factors to predict.
        split: Rows by purpose.
        workers: Threads that may be used; all usable cores by default.
    """

    codes: FloatArray
    factors: tuple[Factor, ...]
    split: Split
    workers: Workers = field(default_factory=Workers)

    def labelled(self, factor: Factor, rows: IntArray) -> IntArray:
        """The subset of ``rows`` on which ``factor`` is labelled."""
        return rows[factor.labelled[rows]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Probe:
    """One level: probes of the same capacity for all factors.

    Attributes:
        predict: From scaled codes to a prediction for each factor, ``(n_rows, n_outputs)``: targets of a numeric
            factor, probabilities of the values of a categorical one.
        weights: Its own importances of codes, ``(n_codes, n_factors)``, or ``None`` where it has none.
        weights_error: Their standard errors, where known.
        by_sums: Makes the same probe as a function of weighted sums of the codes, or ``None`` where it is none.
    """

    predict: Callable[[FloatArray], list[FloatArray]]
    weights: FloatArray | None = None
    weights_error: FloatArray | None = None
    by_sums: Callable[[], WeightedSums] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedLadder:
    """The fitted probes of every capacity, and their predictions.

    Attributes:
        capacities: Of each factor's probe on each level, increasing, ``(n_factors, n_levels)``.
        validation: For each factor, predictions on the validation rows, ``(n_levels, n_rows, n_outputs)``.
        test: The same on the test rows.
        probe: The probe of a level.
    """

    capacities: FloatArray
    validation: list[FloatArray]
    test: list[FloatArray]
    probe: Callable[[int], Probe]


@runtime_checkable
class Ladder(Protocol):
    """Probes of one kind, ordered by capacity."""

    @property
    def name(self) -> str:
        """Short name, for tables."""

    @property
    def axis(self) -> str:
        """Unit of its capacities, for the axis of a plot."""

    @property
    def starts_linear(self) -> bool:
        """Whether the first level is a linear probe of all codes."""

    @property
    def usual_importance(self) -> str:
        """Default measure of the importances of its probes."""

    def fit(self, task: CapacityTask, *, rng: np.random.Generator) -> FittedLadder:
        """Fit every level for every factor."""


def check_increasing(argument: str, capacities: Sequence[float]) -> None:
    """Raise unless there are at least two levels, each with more capacity than the one before."""
    if len(capacities) < 2:
        raise ValueError(
            f"{argument} must hold at least two capacities, got {len(capacities)}: one point makes no curve."
        )
    for before, after in pairwise(capacities):
        if not before < after:
            raise ValueError(f"{argument} must increase from level to level, got {after:g} after {before:g}.")


def check_sizes(argument: str, sizes: Sequence[int], lowest: int) -> None:
    """Raise unless ``sizes`` is a tuple of numbers that increase from at least ``lowest``."""
    if not isinstance(sizes, tuple):
        raise TypeError(f"{argument} must be a tuple such as (2, 4, 8), got {sizes!r}.")
    check_increasing(argument, sizes)
    check_at_least(argument, min(sizes), lowest)
