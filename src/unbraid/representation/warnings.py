"""Warnings about an input: few rows, one-hot factors, swapped codes and factors, undeclared kinds."""

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import LEAST_SPREAD
from unbraid._base.text import listing, quoted
from unbraid.representation.factor import MAX_LEVELS, Factor, FactorKind, angle_kind, period_text
from unbraid.representation.representation import Representation

#: Held-out probes refuse fewer rows than the first; below the second, scores are meaningless; below the third, all
#: scores are noisy, whatever the codes and factors.
FEWEST_ROWS, MEANINGLESS_BELOW, FEW_BELOW = 10, 50, 100
ROWS_A_CODE = ROWS_A_BIN = 10


def check_rows(rep: Representation) -> None:
    """Raise where there are too few rows for intervals and probes of any kind."""
    if rep.n_samples < FEWEST_ROWS:
        raise ValueError(
            f"codes must have at least {FEWEST_ROWS} rows to be evaluated, got {rep.n_samples}: most scores cannot be "
            f"computed on fewer, and none means much on fewer than {MEANINGLESS_BELOW}; give hundreds."
        )


def few_rows_note(rep: Representation, n_bins: int) -> list[str]:
    """Return a note on fewer rows than a hundred, or than ten for each code or each bin of a continuous factor."""
    binned = any(factor.kind is FactorKind.CONTINUOUS for factor in rep.factors)
    wanted = max(ROWS_A_CODE * rep.n_codes, ROWS_A_BIN * n_bins if binned else 0, FEW_BELOW)
    labelled = {factor.name: int(factor.labelled.sum()) for factor in rep.factors}
    rows = min((rep.n_samples, *labelled.values()))
    scarce = next((name for name, count in labelled.items() if count == rows), "")
    where = f" with a label for {scarce}" if rows < rep.n_samples else ""
    if rows >= wanted:
        return []
    if rows < MEANINGLESS_BELOW:
        return [f"Only {rows} rows{where}: scores, intervals and findings mean little here. Give at least {wanted}."]
    return [
        f"Few rows ({rows}{where}): scores are noisy, and even perfect codes may score far from the best. "
        f"Give at least {wanted}: ten for each code and each bin of a continuous factor, at least {FEW_BELOW}."
    ]


FEWEST_COLUMNS = 2
INDICATORS = (("0", "1"), ("False", "True"))


def one_hot_notes(rep: Representation) -> list[str]:
    """Ask whether neighbouring 0/1 factors, of which always exactly one is 1, are one factor."""
    return [
        f"{quoted(names)} are 0 or 1, and exactly one of them is 1 in every row: are they one-hot labels of one "
        "categorical factor? As several, each depends on the others, which misleads most scores. If so, give one "
        "column instead (in Python, columns.argmax(axis=1)), and declare it categorical."
        for names in one_hot_groups(rep.factors)
    ]


def one_hot_groups(factors: tuple[Factor, ...]) -> list[list[str]]:
    """Return the names in each run of neighbouring factors of 0 and 1 that sum to one in every row.

    Runs do not overlap; the first that begins at a factor is taken.
    """
    groups: list[list[str]] = []
    start = 0
    while start < len(factors):
        length = _run_length(factors[start:])
        if length >= FEWEST_COLUMNS:
            groups.append([factor.name for factor in factors[start : start + length]])
        start += max(length, 1)
    return groups


def _run_length(factors: tuple[Factor, ...]) -> int:
    """Return the number of leading factors that sum to one in every row; 0 where none do."""
    total: FloatArray = np.zeros(len(factors[0].numbers))
    for count, factor in enumerate(factors, start=1):
        if factor.levels not in INDICATORS:
            return 0
        total = total + factor.numbers
        if (total == 1).all():
            return count
        if not (total <= 1).all():  # further factors only add to the sum; NaN of an unlabelled row stays NaN
            return 0
    return 0


FEW_ROWS_A_VALUE = 10
#: Probes that compare variances with their rounding error lose codes of a smaller spread beside others.
NARROW = LEAST_SPREAD
FEW_TURNS, MANY_TURNS = 0.25, 1.5


def representation_notes(rep: Representation, n_bins: int = 20) -> tuple[str, ...]:
    """Notes about the representation as a whole, whose continuous numbers are cut into ``n_bins``."""
    about_rows = (*few_rows_note(rep, n_bins), *_unlabelled(rep), *_thin_factors(rep))
    return (
        *rep.notes,
        *_swapped(rep),
        *_dead_codes(rep),
        *_narrow_codes(rep),
        *about_rows,
        *one_hot_notes(rep),
        *_kinds(rep),
    )


def _dead_codes(rep: Representation) -> list[str]:
    dead = [name for name, active in zip(rep.code_names, rep.active, strict=True) if not active]
    if not dead:
        return []
    return [f"{len(dead)} of {rep.n_codes} codes are constant and encode nothing: {listing(dead)}."]


def _narrow_codes(rep: Representation) -> list[str]:
    """Return a note on codes that vary by so little that probes may take them for constant."""
    spreads = rep.code_spreads()
    narrow = [
        f"{name} ({spread:.2g})" for name, spread in zip(rep.code_names, spreads, strict=True) if 0 < spread < NARROW
    ]
    if not narrow:
        return []
    return [
        f"Codes that spread over less than {NARROW:g} may count as constant in some scores: {listing(narrow)}. "
        "Multiply them by a constant if they mean something, or drop them."
    ]


def _unlabelled(rep: Representation) -> list[str]:
    missing = [(factor.name, int((~factor.labelled).sum())) for factor in rep.factors]
    parts = [f"{name} ({count} of {rep.n_samples} rows without a label)" for name, count in missing if count]
    return [f"Not labelled everywhere, so scored on the rows that are: {listing(parts)}."] if parts else []


def _thin_factors(rep: Representation) -> list[str]:
    thin = []
    for factor in rep.factors:
        if factor.labels is not None:
            smallest = int(np.bincount(factor.labels[factor.labels >= 0], minlength=len(factor.levels)).min())
            if smallest < FEW_ROWS_A_VALUE:
                thin.append(f"{factor.name} (a value has {smallest})")
    if not thin:
        return []
    return [f"Fewer than {FEW_ROWS_A_VALUE} rows for some value, so estimates are noisy and biased: {listing(thin)}."]


def _kinds(rep: Representation) -> list[str]:
    if not rep.factors:
        return ["No factors were given: only label-free metrics apply, which do not measure what the codes encode."]
    kinds = [f"{factor.name} {factor.kind}{_period(factor)}" for factor in rep.factors]
    return [f"Factors were read as: {listing(kinds, most=20)}.", *_periods(rep), *_undeclared(rep)]


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
    return [f"Values span far more or less than a period; is it the right one: {listing(doubtful)}?"]


def _undeclared(rep: Representation) -> list[str]:
    """Return notes on undeclared numbers that may be categories or angles."""
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
        notes.append(
            f"Whole numbers were read as ordered: {listing(list(names))}. If some are names, {_declare(names)}."
        )
    if angles:
        notes.append(f"Angles are never guessed, but may be here: {listing(list(angles))}. If so, {_declare(angles)}.")
    return notes


def _declare(kinds: dict[str, str]) -> str:
    """Return how to declare kinds, with the first factor as an example."""
    name, kind = next(iter(kinds.items()))
    return f"say so: --kinds {name}={kind} (in Python, kinds={ {name: kind}!r})"


def _swapped(rep: Representation) -> list[str]:
    """Ask whether codes and factors changed places: few whole numbers on one side, continuous numbers on the other."""
    continuous = [factor.inferred and factor.kind is FactorKind.CONTINUOUS for factor in rep.factors]
    if not continuous or not all(continuous):
        return []
    n_values = rep.most_whole_numbers()
    if n_values is None or n_values > MAX_LEVELS:
        return []
    return ["Every code holds whole numbers and every factor is continuous: were codes and factors swapped?"]
