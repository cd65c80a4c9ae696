"""Losses of probes on held-out rows, row by row, so that they can be averaged, compared and resampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unbraid._typing import FloatArray, IntArray
from unbraid.factor import Factor

Loss = Literal["error", "cross_entropy"]
#: The least probability that a probe is taken to give to a value; it bounds the loss of being wrong for certain.
LEAST_PROBABILITY = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowLosses:
    """Losses of one factor on some rows; the loss of a probe is the ratio of two means.

    Attributes:
        each: Loss of every row on every rung, ``(n_rungs, n_rows)``.
        unit: What each row adds to the denominator, ``(n_rows,)``: its squared distance from the mean for numbers
            and angles (so that the loss is 1 - R²), 1 for categories.
    """

    each: FloatArray
    unit: FloatArray

    @property
    def values(self) -> FloatArray:
        """Loss on every rung, ``(n_rungs,)``."""
        return np.asarray(self.each.mean(axis=1) / max(float(self.unit.mean()), 1e-300))

    @property
    def errors(self) -> FloatArray:
        """Standard errors of :attr:`values`, by linearising the ratio."""
        unit = max(float(self.unit.mean()), 1e-300)
        spread = (self.each - self.values[:, None] * self.unit) / unit
        return np.asarray(spread.std(axis=1) / np.sqrt(spread.shape[1]))

    def resampled(self, rng: np.random.Generator) -> RowLosses:
        """The same losses on rows drawn with replacement."""
        rows = rng.integers(len(self.unit), size=len(self.unit))
        return RowLosses(each=self.each[:, rows], unit=self.unit[rows])


def row_losses(factor: Factor, rows: IntArray, predicted: FloatArray, loss: Loss) -> RowLosses:
    """Compare predictions ``(n_rungs, n_rows, n_outputs)`` with a factor on its labelled rows."""
    labelled = factor.labelled[rows]
    said, known = predicted[:, labelled], rows[labelled]
    if factor.is_numeric:
        targets = factor.targets(known)
        return RowLosses(
            each=((said - targets) ** 2).sum(axis=2), unit=((targets - targets.mean(axis=0)) ** 2).sum(axis=1)
        )
    assert factor.labels is not None
    truth = factor.labels[known]
    if loss == "error":
        each = (said.argmax(axis=2) != truth).astype(float)
    else:
        each = -np.log(np.maximum(said[:, np.arange(len(truth)), truth], LEAST_PROBABILITY))
    return RowLosses(each=each, unit=np.ones(len(truth)))


def baseline_loss(factor: Factor, loss: Loss) -> float:
    """Loss without looking at the codes: the mean for numbers, a fair die for categories."""
    if factor.is_numeric:
        return 1.0
    n_values = len(factor.levels)
    return (n_values - 1) / n_values if loss == "error" else float(np.log(n_values))
