"""Protocol and checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.workers import Workers
from unbraid.representation.factor import Factor

TRAIN_SHARE, VALIDATION_SHARE = 0.6, 0.15
MIN_ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Rows to fit on, to choose by, and to judge on; the same for every factor and rung."""

    train: IntArray
    validation: IntArray
    test: IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """What a ladder climbs on.

    Attributes:
        codes: Codes scaled by the rows fitted on, ``(n_samples, n_codes)``.
        factors: What to predict.
        split: Rows by purpose.
        workers: Threads that may be used; all usable cores by default.
    """

    codes: FloatArray
    factors: tuple[Factor, ...]
    split: Split
    workers: Workers = field(default_factory=Workers)

    def labelled(self, factor: Factor, rows: IntArray) -> IntArray:
        """Those of ``rows`` on which ``factor`` is known."""
        return rows[factor.labelled[rows]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Probe:
    """One rung: probes of the same capacity for all factors.

    Attributes:
        predict: From scaled codes to a prediction for each factor, ``(n_rows, n_outputs)``: targets of a numeric
            factor, probabilities of the values of a categorical one.
        weights: Its own importances of codes, ``(n_codes, n_factors)``, or ``None`` where it has none.
        weights_error: Their standard errors, where known.
    """

    predict: Callable[[FloatArray], list[FloatArray]]
    weights: FloatArray | None = None
    weights_error: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Climb:
    """A ladder climbed.

    Attributes:
        capacities: Of each factor's probe on each rung, increasing, ``(n_factors, n_rungs)``.
        validation: For each factor, predictions on the validation rows, ``(n_rungs, n_rows, n_outputs)``.
        test: The same on the test rows.
        probe: The probe of a rung.
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
        """What its capacities count, for the axis of a plot."""

    @property
    def starts_linear(self) -> bool:
        """Whether the first rung is a linear probe of all codes."""

    @property
    def usual_importance(self) -> str:
        """How importances of its probes are measured unless told otherwise."""

    def climb(self, task: Task, *, rng: np.random.Generator) -> Climb:
        """Fit every rung for every factor."""


def split_rows(factors: Sequence[Factor], n_samples: int, *, rng: np.random.Generator) -> Split:
    """Draw the rows to fit on (60 %), to choose by (15 %) and to judge on (25 %).

    Raises:
        ValueError: Too few labelled rows, or fewer rows to fit on than a factor has values.
    """
    order = rng.permutation(n_samples)
    first, second = int(TRAIN_SHARE * n_samples), int((TRAIN_SHARE + VALIDATION_SHARE) * n_samples)
    split = Split(train=np.sort(order[:first]), validation=np.sort(order[first:second]), test=np.sort(order[second:]))
    for factor in factors:
        n_labelled = int(factor.labelled.sum())
        n_fitted = int(factor.labelled[split.train].sum())
        if n_labelled < MIN_ROWS or not all(
            factor.labelled[rows].any() for rows in (split.train, split.validation, split.test)
        ):
            raise ValueError(
                f"factor {factor.name!r} has {n_labelled} labelled rows; a loss-capacity curve needs at least "
                f"{MIN_ROWS}, in every part of the data."
            )
        if not factor.is_numeric and n_fitted < len(factor.levels):
            raise ValueError(
                f"factor {factor.name!r} takes {len(factor.levels)} values but only {n_fitted} rows are left to fit "
                "on; give more rows, or group its values."
            )
    return split


def check_increasing(argument: str, capacities: Sequence[float]) -> None:
    """Raise unless there are at least two rungs, each with more capacity than the one before."""
    if len(capacities) < 2:
        raise ValueError(
            f"{argument} must hold at least two capacities, got {len(capacities)}: one point makes no curve."
        )
    for before, after in pairwise(capacities):
        if not before < after:
            raise ValueError(f"{argument} must increase from rung to rung, got {after:g} after {before:g}.")


def check_sizes(argument: str, sizes: Sequence[int], lowest: int) -> None:
    """Raise unless ``sizes`` is a tuple of numbers that increase from at least ``lowest``."""
    if not isinstance(sizes, tuple):
        raise TypeError(f"{argument} must be a tuple such as (2, 4, 8), got {sizes!r}.")
    check_increasing(argument, sizes)
    check_at_least(argument, min(sizes), lowest)
