"""Importances of codes for any fitted probe: its own, by permutation, or by SAGE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_choice
from unbraid.probes.capacity.base import CapacityTask, Ladder, Probe
from unbraid.probes.importance import permutation_changes
from unbraid.probes.sage import SageOptions, sage_values
from unbraid.representation.factor import Factor

ImportanceMeasure = Literal["auto", "sage", "permutation", "gini", "weights", "none"]
#: Measures that are 0 only for a code that the probe does not use, as Corollary 3.5 of DCI-ES requires.
NECESSARY = ("gini", "weights")
MAX_PERMUTATION_ROWS = 5000
#: With more codes than this, a probe predicts from sums to which revealed codes are added, where it can.
MOST_WHOLE = 64
#: Columns of each group whose importance is asked for; ``None`` for every column by itself.
Players = Sequence[Sequence[int]] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlackBoxImportance:
    """Importances before they are scaled to shares.

    Attributes:
        measure: Measure of importance.
        values: ``(n_codes, n_factors)``, or ``(n_groups, n_factors)``, not below 0.
        errors: Standard errors, NaN where unknown.
        notes: Limitations of the result.
    """

    measure: str
    values: FloatArray
    errors: FloatArray
    notes: tuple[str, ...] = ()


def resolve_measure(measure: str, ladder: Ladder) -> str:
    """Return the measure of importance, with ``"auto"`` resolved for a ladder.

    Raises:
        ValueError: A measure that the probes of the ladder do not have.
    """
    check_choice("importance", measure, get_args(ImportanceMeasure))
    usual = ladder.usual_importance
    if measure == "auto":
        return usual
    if measure in NECESSARY and measure != usual:
        own = f"{usual!r}, " if usual in NECESSARY else ""
        raise ValueError(
            f"importance must be {own}'sage' or 'permutation' for the {ladder.name} ladder, got {measure!r}."
        )
    return measure


def black_box_importance(
    probe: Probe,
    measure: str,
    task: CapacityTask,
    *,
    sage: SageOptions,
    groups: Players = None,
    rng: np.random.Generator,
) -> BlackBoxImportance:
    """Measure the importance of each code, or of each group of codes, for the probe, on the test rows."""
    if measure in ("gini", "weights"):
        return _own_weights(probe, measure, groups)
    if measure == "none":
        nothing = np.zeros((task.codes.shape[1] if groups is None else len(groups), len(task.factors)))
        return BlackBoxImportance(measure=measure, values=nothing, errors=nothing)
    if measure == "permutation":
        return _permutation(probe, task, groups, rng)
    return _sage(probe, task, sage, groups, rng)


def _own_weights(probe: Probe, measure: str, groups: Players) -> BlackBoxImportance:
    """Importances of the probe itself, added up over the codes of a group."""
    assert probe.weights is not None
    values = probe.weights
    errors = np.full_like(values, np.nan) if probe.weights_error is None else probe.weights_error
    if groups is not None:
        values = np.stack([values[list(group)].sum(axis=0) for group in groups])
        errors = np.stack([np.sqrt((errors[list(group)] ** 2).sum(axis=0)) for group in groups])
    return BlackBoxImportance(measure=measure, values=values, errors=errors)


def _sage(
    probe: Probe, task: CapacityTask, options: SageOptions, groups: Players, rng: np.random.Generator
) -> BlackBoxImportance:
    """Absolute SAGE values: a code that raises the loss on average is used all the same."""
    rows = _rows_labelled_everywhere(task)
    is_wide = task.codes.shape[1] > MOST_WHOLE
    found = sage_values(
        probe.by_sums() if is_wide and probe.by_sums is not None else probe.predict,
        lambda predicted, few: _losses(predicted, task.factors, rows[few]),
        task.codes[rows],
        background=task.codes[task.split.train],
        options=options,
        groups=groups,
        rng=rng,
    )
    slow = [factor.name for factor, done in zip(task.factors, found.converged, strict=True) if not done]
    notes: tuple[str, ...] = ()
    if slow:
        notes = (
            f"SAGE stopped after {found.n_rows} rows before its standard error fell below {options.tolerance:g} of the "
            f"range for: {', '.join(slow)}.",
        )
    return BlackBoxImportance(measure="sage", values=np.abs(found.values), errors=found.errors, notes=notes)


def _permutation(probe: Probe, task: CapacityTask, groups: Players, rng: np.random.Generator) -> BlackBoxImportance:
    """Increase of the loss when one code is shuffled between rows, averaged over a few shuffles."""
    rows = rng.permutation(_rows_labelled_everywhere(task))[:MAX_PERMUTATION_ROWS]
    codes = task.codes[rows]
    values, errors = np.empty((2, codes.shape[1] if groups is None else len(groups), len(task.factors)))
    rises = permutation_changes(
        lambda some: _losses(probe.predict(some), task.factors, rows), codes, groups=groups, rng=rng
    )
    for code, rise in enumerate(rises):
        values[code], errors[code] = rise.mean(axis=1), rise.std(axis=1) / np.sqrt(len(rows))
    return BlackBoxImportance(measure="permutation", values=np.maximum(values, 0.0), errors=errors)


def _rows_labelled_everywhere(task: CapacityTask) -> IntArray:
    test = task.split.test
    known = np.all([factor.labelled[test] for factor in task.factors], axis=0)
    if known.sum() < 2:
        raise ValueError(
            "importances need test rows on which every factor is labelled, and there are none; "
            "score the factors one at a time with only=."
        )
    return np.asarray(test[known])


def _losses(predicted: list[FloatArray], factors: tuple[Factor, ...], rows: IntArray) -> FloatArray:
    """Squared error of numbers and angles, cross-entropy of categories, ``(n_factors, n_rows)``."""
    found = []
    for values, factor in zip(predicted, factors, strict=True):
        if factor.is_numeric:
            found.append(((values - factor.targets(rows)) ** 2).sum(axis=1))
        else:
            assert factor.labels is not None
            found.append(-np.log(np.maximum(values[np.arange(len(rows)), factor.labels[rows]], 1e-7)))
    return np.stack(found)
