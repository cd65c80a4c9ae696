"""Linear probes by capacity: the leading principal directions of the codes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.probes.capacity.base import CapacityTask, FittedLadder, Probe, check_sizes
from unbraid.probes.linear import fit_linear, predict_linear, whitening_axes
from unbraid.representation.factor import Factor

MOST_DIRECTIONS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearLadder:
    """Linear probes of the first 1, 2, 4, ... principal directions of the standardised codes.

    Least squares for numbers and angles, softmax regression for categories.

    Attributes:
        n_directions: Directions on each level, increasing; empty for powers of 2 up to all codes, at most 512. Those
            beyond the number of codes are left out.
    """

    name: ClassVar[str] = "linear"
    axis: ClassVar[str] = "log of the principal directions read"
    starts_linear: ClassVar[bool] = False  # the first level uses one direction only
    usual_importance: ClassVar[str] = "weights"
    n_directions: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.n_directions:
            check_sizes("n_directions", self.n_directions, 1)

    def fit(self, task: CapacityTask, *, rng: np.random.Generator) -> FittedLadder:
        """Fit every factor on the first directions of one decomposition."""
        codes = task.codes
        most = min(*codes.shape, max(self.n_directions, default=MOST_DIRECTIONS))
        axes = whitening_axes(codes[task.split.train], most, rng=rng)
        sizes = self._sizes(axes.shape[1])
        scores = codes @ axes
        fits = [[_fit(scores[:, :size], factor, task) for size in sizes] for factor in task.factors]

        def predict(rows: FloatArray, level: int) -> list[FloatArray]:
            return [
                predict_linear(rows[:, : sizes[level]], fit[level], factor)
                for fit, factor in zip(fits, task.factors, strict=True)
            ]

        def everywhere(rows: FloatArray) -> list[FloatArray]:
            return [np.stack(column) for column in zip(*(predict(rows, t) for t in range(len(sizes))), strict=True)]

        def probe(level: int) -> Probe:
            weights = [np.abs(axes[:, : sizes[level]] @ fit[level][:-1]).sum(axis=1) for fit in fits]
            return Probe(predict=lambda new: predict(new @ axes, level), weights=np.stack(weights, axis=1))

        return FittedLadder(
            capacities=np.tile(np.log(sizes), (len(task.factors), 1)),
            validation=everywhere(scores[task.split.validation]),
            test=everywhere(scores[task.split.test]),
            probe=probe,
        )

    def _sizes(self, most: int) -> list[int]:
        if not self.n_directions:
            sizes = [2**power for power in range(most.bit_length()) if 2**power < most] + [most]
        else:
            sizes = [size for size in self.n_directions if size <= most]
        if len(sizes) < 2:
            raise ValueError(
                f"the linear ladder needs at least two levels, but {most} direction(s) leave {len(sizes)}; "
                "choose another ladder, or other n_directions."
            )
        return sizes


def _fit(scores: FloatArray, factor: Factor, task: CapacityTask) -> FloatArray:
    rows = task.labelled(factor, task.split.train)
    return fit_linear(scores[rows], factor, rows)
