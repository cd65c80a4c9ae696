"""What a reader should know before trusting the numbers."""

import numpy as np

from unbraid._score import Score
from unbraid.metrics import Metric
from unbraid.representation import Representation

FEW_ROWS_A_VALUE = 10
HIGH_NULL = 0.1


def representation_notes(rep: Representation) -> tuple[str, ...]:
    """Notes about the representation as a whole."""
    return (*_dead_codes(rep), *_unlabelled(rep), *_thin_factors(rep), *_kinds(rep))


def score_notes(metric: Metric, score: Score, spread_error: str | None) -> tuple[str, ...]:
    """Notes about one score beside its interval and null."""
    notes = []
    if score.low is None and spread_error is not None:
        notes.append(f"No interval: {spread_error}")
    if score.null is not None and metric.higher_is_better:
        if score.beats_chance is False:
            notes.append(f"No better than chance: shuffled factors score {score.null:.3f}.")
        elif score.null > HIGH_NULL:
            notes.append(f"Chance alone scores {score.null:.2f}; read the value against that, not against 0.")
    return tuple(notes)


def _dead_codes(rep: Representation) -> list[str]:
    dead = [name for name, active in zip(rep.code_names, rep.active, strict=True) if not active]
    if not dead:
        return []
    return [f"{len(dead)} of {rep.n_codes} codes never change and carry nothing: {_some(dead)}."]


def _unlabelled(rep: Representation) -> list[str]:
    missing = [(factor.name, int((~factor.labelled).sum())) for factor in rep.factors]
    parts = [f"{name} ({count} rows)" for name, count in missing if count]
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
    kinds = ", ".join(f"{factor.name} {factor.kind}" for factor in rep.factors[:20])
    return [f"Factors were read as: {kinds}. Angles are never guessed: declare them circular."]


def _some(items: list[str], most: int = 8) -> str:
    rest = len(items) - most
    return ", ".join(items[:most]) + (f" and {rest} more" if rest > 0 else "")
