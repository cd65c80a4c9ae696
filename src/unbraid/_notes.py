"""What a reader should know before trusting the numbers."""

import numpy as np

from unbraid._angles import angle_kind, period_text
from unbraid._few_rows import few_rows_note
from unbraid._one_hot import one_hot_notes
from unbraid._score import Score
from unbraid._standing import Standing, standing
from unbraid.factor import MAX_LEVELS, Factor, FactorKind
from unbraid.metrics import Metric
from unbraid.representation import Representation

FEW_ROWS_A_VALUE = 10
HIGH_NULL = 0.1
FEW_TURNS, MANY_TURNS = 0.25, 1.5


def representation_notes(rep: Representation, n_bins: int = 20) -> tuple[str, ...]:
    """Notes about the representation as a whole, whose continuous numbers are cut into ``n_bins``."""
    about_rows = (*few_rows_note(rep, n_bins), *_unlabelled(rep), *_thin_factors(rep))
    return (*_swapped(rep), *_dead_codes(rep), *about_rows, *one_hot_notes(rep), *_kinds(rep))


def score_notes(metric: Metric, score: Score, spread_error: str | None) -> tuple[str, ...]:
    """Notes about one score beside its interval and null."""
    notes = []
    if score.low is None and spread_error is not None:
        notes.append(f"No interval: {spread_error}")
    where = Standing.UNKNOWN if metric.source.label_free or score.null is None else standing(metric, score)
    if where is Standing.SAME:
        notes.append(f"Cannot be told from chance: shuffled factors score {score.null:.3f}.")
    elif where is Standing.WORSE:
        notes.append(f"Worse than chance: shuffled factors score {score.null:.3f}.")
    elif score.null is not None and metric.higher_is_better and score.null > HIGH_NULL:
        notes.append(f"Chance alone scores {score.null:.2f}; read the value against that, not against 0.")
    return tuple(notes)


def _dead_codes(rep: Representation) -> list[str]:
    dead = [name for name, active in zip(rep.code_names, rep.active, strict=True) if not active]
    if not dead:
        return []
    return [f"{len(dead)} of {rep.n_codes} codes never change and carry nothing: {_some(dead)}."]


def _unlabelled(rep: Representation) -> list[str]:
    missing = [(factor.name, int((~factor.labelled).sum())) for factor in rep.factors]
    parts = [f"{name} ({count} of {rep.n_samples} rows without a label)" for name, count in missing if count]
    return [f"Not labelled everywhere, so scored on the rows that are: {_some(parts)}."] if parts else []


def _thin_factors(rep: Representation) -> list[str]:
    thin = []
    for factor in rep.factors:
        if factor.labels is not None:
            smallest = int(np.bincount(factor.labels[factor.labels >= 0], minlength=len(factor.levels)).min())
            if smallest < FEW_ROWS_A_VALUE:
                thin.append(f"{factor.name} (a value has {smallest})")
    if not thin:
        return []
    return [f"Fewer than {FEW_ROWS_A_VALUE} rows for some value, so estimates are noisy and biased: {_some(thin)}."]


def _kinds(rep: Representation) -> list[str]:
    if not rep.factors:
        return ["No factors were given: only label-free metrics apply, and they cannot tell what the codes mean."]
    kinds = [f"{factor.name} {factor.kind}{_period(factor)}" for factor in rep.factors]
    return [f"Factors were read as: {_some(kinds, most=20)}.", *_periods(rep), *_undeclared(rep)]


def _period(factor: Factor) -> str:
    return "" if factor.period is None else f" (period {period_text(factor.period)})"


def _periods(rep: Representation) -> list[str]:
    """Ask about periods that the values fill several times over, or hardly at all."""
    doubtful = []
    for factor in rep.factors:
        if factor.period is not None and factor.labelled.any():
            turns = float(np.ptp(factor.numbers[factor.labelled])) / factor.period
            if not FEW_TURNS <= turns <= MANY_TURNS:
                doubtful.append(f"{factor.name} ({turns:.2g} of {period_text(factor.period)})")
    if not doubtful:
        return []
    return [f"Values span far more or less than a period; is it the right one: {_some(doubtful)}?"]


def _undeclared(rep: Representation) -> list[str]:
    """Say which numbers may be names or angles, where nobody said what they are."""
    names: dict[str, str] = {}
    angles: dict[str, str] = {}
    for factor in rep.factors:
        if factor.inferred and factor.is_numeric and factor.labelled.any():
            values = factor.numbers[factor.labelled]
            kind = angle_kind(factor.name, values, repeats=factor.labels is not None)
            if kind is not None:
                angles[factor.name] = kind
            elif factor.kind is FactorKind.ORDINAL and (values == np.round(values)).all():
                names[factor.name] = "categorical"
    notes = []
    if names:
        notes.append(f"Whole numbers were read as ordered: {_some(list(names))}. If some are names, {_declare(names)}.")
    if angles:
        notes.append(f"Angles are never guessed, but may be here: {_some(list(angles))}. If so, {_declare(angles)}.")
    return notes


def _declare(kinds: dict[str, str]) -> str:
    """Say how, by the example of the first."""
    name, kind = next(iter(kinds.items()))
    return f"say so: --kinds {name}={kind} (in Python, kinds={ {name: kind}!r})"


def _swapped(rep: Representation) -> list[str]:
    """Ask whether codes and factors changed places: few whole numbers on one side, continuous numbers on the other."""
    continuous = [factor.inferred and factor.kind is FactorKind.CONTINUOUS for factor in rep.factors]
    if not continuous or not all(continuous) or (rep.codes != np.round(rep.codes)).any():
        return []
    if max(len(np.unique(column)) for column in rep.codes.T) > MAX_LEVELS:
        return []
    return ["Every code holds whole numbers and every factor is continuous: were codes and factors swapped?"]


def _some(items: list[str], most: int = 8) -> str:
    rest = len(items) - most
    return ", ".join(items[:most]) + (f" and {rest} more" if rest > 0 else "")
