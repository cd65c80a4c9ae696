"""Loss-capacity curves: the test loss of probes of growing capacity, and the importances of the chosen probe."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
import pandas as pd

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_choice
from unbraid._base.settings import read_settings
from unbraid._base.workers import Workers
from unbraid.evidence.regressors import Groups, check_groups, code_groups
from unbraid.probes.black_box import BlackBoxImportance, black_box_importance, resolve_measure
from unbraid.probes.capacity import CapacityTask, FittedLadder, Ladder, as_ladder
from unbraid.probes.importance import as_shares
from unbraid.probes.sage import SageOptions
from unbraid.probes.splits import CAPACITY_SHARES, capacity_split, check_split_shares, standardise_by
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

Loss = Literal["error", "cross_entropy"]
#: Lower bound of predicted probabilities; it bounds the loss of a wrong prediction.
LEAST_PROBABILITY = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowLosses:
    """Losses of one factor on some rows; the loss of a probe is the ratio of two means.

    Attributes:
        each: Loss of every row on every level, ``(n_levels, n_rows)``.
        unit: Contribution of each row to the denominator, ``(n_rows,)``: its squared distance from the mean for numbers
            and angles (so that the loss is 1 - R²), 1 for categories.
    """

    each: FloatArray
    unit: FloatArray

    @property
    def values(self) -> FloatArray:
        """Loss on every level, ``(n_levels,)``."""
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
    """Compare predictions ``(n_levels, n_rows, n_outputs)`` with a factor on its labelled rows."""
    labelled = factor.labelled[rows]
    outputs, known = predicted[:, labelled], rows[labelled]
    if factor.is_numeric:
        targets = factor.targets(known)
        return RowLosses(
            each=((outputs - targets) ** 2).sum(axis=2), unit=((targets - targets.mean(axis=0)) ** 2).sum(axis=1)
        )
    assert factor.labels is not None
    truth = factor.labels[known]
    if loss == "error":
        each = (outputs.argmax(axis=2) != truth).astype(float)
    else:
        each = -np.log(np.maximum(outputs[:, np.arange(len(truth)), truth], LEAST_PROBABILITY))
    return RowLosses(each=each, unit=np.ones(len(truth)))


def baseline_loss(factor: Factor, loss: Loss) -> float:
    """Loss without codes: of the mean for numbers, of equal probabilities for categories."""
    if factor.is_numeric:
        return 1.0
    n_values = len(factor.levels)
    return (n_values - 1) / n_values if loss == "error" else float(np.log(n_values))


WhichProbe = Literal["simplest", "best"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCapacityOptions:
    """A ladder of probes for every factor.

    Attributes:
        ladder: ``"mlp"``, ``"forest"``, ``"fourier"`` or ``"linear"``, or a ladder with its own settings.
        loss: ``"error"``: 1 - R² for numbers and angles, 1 - accuracy for categories; ``"cross_entropy"``: the same
            for numbers, cross-entropy for categories.
        importance: ``"auto"``: the forest's or linear probes' own, by permutation for Fourier features, else SAGE;
            ``"sage"``, ``"permutation"``, ``"gini"`` (forest) or ``"weights"`` (linear); ``"none"`` for the curves
            alone.
        probe: Whose importances are taken: ``"simplest"``: the lowest level whose mean validation loss is within one
            standard error of the best; ``"best"``: the level with the lowest, as in the published code.
        sage: Precision of SAGE, or its settings as text, such as ``"max_rows=512"``.
        split: Shares of training and of validation rows; the rest is the test set. Text such as ``"0.285+0.015"`` means
            the same.
        groups: Columns that make up each code, as for ``dependent``; ``None`` for every column by itself.
    """

    ladder: str | Ladder = "mlp"
    loss: Loss = "error"
    importance: str = "auto"
    probe: WhichProbe = "simplest"
    sage: SageOptions | str = field(default_factory=SageOptions)
    split: tuple[float, float] | str = CAPACITY_SHARES
    groups: Groups = None

    @property
    def sage_options(self) -> SageOptions:
        """Precision of SAGE."""
        return read_settings(self.sage, SageOptions, option="sage") if isinstance(self.sage, str) else self.sage

    def __post_init__(self) -> None:
        object.__setattr__(self, "sage", self.sage_options)
        object.__setattr__(self, "split", check_split_shares(self.split))
        object.__setattr__(self, "groups", check_groups(self.groups))
        check_choice("loss", self.loss, get_args(Loss))
        check_choice("probe", self.probe, get_args(WhichProbe))
        resolve_measure(self.importance, as_ladder(self.ladder))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CapacityCurves:
    """Loss against capacity for every factor, without the losses of single rows.

    Attributes:
        axis: Unit of the capacities.
        capacities: ``(n_factors, n_levels)``; so are the next three.
        losses: On test rows.
        low: Lower end of the 95 % confidence interval over test rows.
        high: Upper end.
        baselines: Loss of a guess made without the codes, ``(n_factors,)``.
        loss: Loss of categories.
        importance: Importance of codes for factors to the chosen probe, ``(n_codes, n_factors)``; ``None`` where that
            was not measured, or was of groups of codes.
    """

    axis: str
    capacities: FloatArray
    losses: FloatArray
    low: FloatArray
    high: FloatArray
    baselines: FloatArray
    loss: Loss = "error"
    importance: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossCapacity:
    """Curves of all factors, and the importances of the chosen probe.

    Attributes:
        factor_names: Whose curves they are.
        ladder: Name of the ladder.
        axis: Unit of the capacities.
        starts_linear: Whether the first level is a linear probe of all codes.
        capacities: ``(n_factors, n_levels)``.
        rows: Test losses of each factor, row by row.
        baselines: Loss of a guess made without the codes, ``(n_factors,)``.
        in_accuracy: Which factors are measured by accuracy rather than R², ``(n_factors,)``.
        beats_baseline: Which factors the chosen probe predicts better than blindly, by two standard errors.
        chosen: The level whose importances are taken.
        importance: Importances of the probe of that level, before scaling.
        size: Factors for each code or group, dead ones counted.
        loss: Loss of categories.
        notes: Limitations of the result.
        blocks: Columns of each block of codes; none where there are no blocks.
        groups: Columns of each group, where the importances are of groups; empty where they are of codes.
        n_codes: Number of codes.
    """

    factor_names: tuple[str, ...]
    ladder: str
    axis: str
    starts_linear: bool
    capacities: FloatArray
    rows: tuple[RowLosses, ...]
    baselines: FloatArray
    in_accuracy: FloatArray
    beats_baseline: BoolArray
    chosen: int
    importance: BlackBoxImportance
    size: float
    loss: Loss = "error"
    notes: tuple[str, ...] = ()
    blocks: tuple[tuple[int, ...], ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    n_codes: int = 0

    @property
    def losses(self) -> FloatArray:
        """Test losses, ``(n_factors, n_levels)``."""
        return np.stack([rows.values for rows in self.rows])

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the test losses, over test rows."""
        return np.stack([rows.errors for rows in self.rows])

    def table(self) -> pd.DataFrame:
        """One row for each factor and level: capacity, loss and its 95 % interval over test rows."""
        curves = self.curves
        return pd.DataFrame(
            {
                "factor": np.repeat(self.factor_names, self.losses.shape[1]),
                "capacity": self.capacities.ravel(),
                "loss": curves.losses.ravel(),
                "low": curves.low.ravel(),
                "high": curves.high.ravel(),
            }
        )

    @property
    def matrix(self) -> FloatArray:
        """Importances as shares: columns sum to 1, or are 0 where the probe does not predict a factor."""
        columns = [as_shares(column) for column in self.importance.values.T]
        return np.stack(columns, axis=1) * self.beats_baseline

    @property
    def curves(self) -> CapacityCurves:
        """The curves with their confidence intervals, without single rows."""
        losses, half_width = self.losses, 1.96 * self.errors
        unknown = self.importance.measure == "none" or bool(np.isnan(self.importance.values).any() or self.groups)
        return CapacityCurves(
            axis=self.axis,
            capacities=self.capacities,
            losses=losses,
            low=np.maximum(losses - half_width, 0.0),
            high=losses + half_width,
            baselines=self.baselines,
            loss=self.loss,
            importance=None if unknown else self.matrix,
        )


def loss_capacity_curves(
    rep: Representation, options: LossCapacityOptions, rng: np.random.Generator, workers: Workers | None = None
) -> LossCapacity:
    """Fit every capacity for all factors on one split of the rows, and test on held-out rows.

    Args:
        rep: Codes and factors.
        options: The series of probes, the loss and the importances.
        rng: Source of chance.
        workers: Threads to fit in; all usable cores by default.
    """
    ladder = as_ladder(options.ladder)
    measure = resolve_measure(options.importance, ladder)
    split_rng, fit_rng, importance_rng = rng.spawn(3)
    split = capacity_split(rep.factors, rep.n_samples, rng=split_rng, shares=check_split_shares(options.split))
    members = code_groups(rep, options.groups)
    live = [[j for j in group if rep.active[j]] for group in members]
    kept = [group for group in live if group]
    columns = [j for group in kept for j in group]
    codes = rep.codes if len(columns) == rep.n_codes and columns == sorted(columns) else rep.codes[:, columns]
    task = CapacityTask(
        codes=standardise_by(codes, split.train), factors=tuple(rep.factors), split=split, workers=workers or Workers()
    )
    fitted = ladder.fit(task, rng=fit_rng)
    chosen = _choose(fitted, task, options)
    importance = black_box_importance(
        fitted.probe(chosen),
        measure,
        task,
        sage=options.sage_options,
        groups=None if options.groups is None else _places(kept),
        rng=importance_rng,
    )
    rows = tuple(row_losses(f, split.test, fitted.test[k], options.loss) for k, f in enumerate(task.factors))
    baselines = np.array([baseline_loss(factor, options.loss) for factor in task.factors])
    return LossCapacity(
        factor_names=rep.factor_names,
        ladder=ladder.name,
        axis=ladder.axis,
        starts_linear=ladder.starts_linear,
        capacities=fitted.capacities,
        rows=rows,
        baselines=baselines,
        in_accuracy=np.array([float(not factor.is_numeric) for factor in task.factors]),
        beats_baseline=_beats_blind_guess(rows, chosen, task, options.loss),
        chosen=chosen,
        importance=_with_dead_codes(importance, np.array([bool(group) for group in live])),
        size=rep.n_factors / len(members),
        loss=options.loss,
        notes=importance.notes,
        blocks=tuple(rep.blocks.values()),
        groups=() if options.groups is None else tuple(tuple(group) for group in members),
        n_codes=rep.n_codes,
    )


def _places(groups: list[list[int]]) -> list[list[int]]:
    """Columns of each group, where the columns of all groups stand side by side."""
    starts = np.cumsum([0, *(len(group) for group in groups)])
    return [list(range(start, start + len(group))) for start, group in zip(starts, groups, strict=False)]


def resampled_curves(curves: LossCapacity, *, n_resamples: int, rng: np.random.Generator) -> list[LossCapacity]:
    """Draw test rows with replacement, and importances within their standard errors; without fitting again."""
    return [_resampled(curves, child) for child in rng.spawn(n_resamples)]


def _resampled(curves: LossCapacity, rng: np.random.Generator) -> LossCapacity:
    # Rows are drawn first, so that two representations are tested on the same rows whatever their number of codes.
    rows = tuple(rows.resampled(rng) for rows in curves.rows)
    shaken = rng.normal(curves.importance.values, curves.importance.errors)
    return replace(curves, rows=rows, importance=replace(curves.importance, values=np.abs(shaken)))


def _choose(fitted: FittedLadder, task: CapacityTask, options: LossCapacityOptions) -> int:
    """The level with the lowest mean validation loss, or the lowest level within one standard error of it."""
    loss = options.loss
    losses = [row_losses(f, task.split.validation, fitted.validation[k], loss) for k, f in enumerate(task.factors)]
    scale = np.array([baseline_loss(factor, loss) for factor in task.factors])[:, None]
    mean = (np.stack([rows.values for rows in losses]) / scale).mean(axis=0)
    error = np.sqrt(((np.stack([rows.errors for rows in losses]) / scale) ** 2).sum(axis=0)) / len(losses)
    best = int(mean.argmin())
    if options.probe == "best":
        return best
    return int(np.flatnonzero(mean <= mean[best] + error[best])[0])


def _beats_blind_guess(rows: tuple[RowLosses, ...], chosen: int, task: CapacityTask, loss: Loss) -> BoolArray:
    """Whether the chosen probe of each factor predicts better than a blind guess from its training rows."""
    better = []
    for factor, losses in zip(task.factors, rows, strict=True):
        gain = _blind_losses(factor, losses, task, loss) - losses.each[chosen]
        better.append(bool(gain.mean() > 2 * gain.std() / np.sqrt(len(gain))))
    return np.array(better)


def _blind_losses(factor: Factor, losses: RowLosses, task: CapacityTask, loss: Loss) -> FloatArray:
    """Loss of each test row without codes: of the mean, or the commonest value."""
    if factor.is_numeric:
        return losses.unit
    assert factor.labels is not None
    truth = factor.labels[task.labelled(factor, task.split.test)]
    counts = np.bincount(factor.labels[task.labelled(factor, task.split.train)], minlength=len(factor.levels))
    if loss == "error":
        return np.asarray(truth != counts.argmax(), dtype=float)
    return np.asarray(-np.log(np.maximum(counts / counts.sum(), LEAST_PROBABILITY))[truth])


def _with_dead_codes(importance: BlackBoxImportance, active: BoolArray) -> BlackBoxImportance:
    """Insert an importance of 0 for constant codes, or groups of them."""
    values, errors = np.zeros((2, len(active), importance.values.shape[1]))
    values[active], errors[active] = importance.values, importance.errors
    return replace(importance, values=values, errors=errors)
