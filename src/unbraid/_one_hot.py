"""Factors that are the columns of one-hot labels: one categorical factor, taken apart."""

import numpy as np

from unbraid._typing import FloatArray
from unbraid._words import quoted
from unbraid.factor import Factor
from unbraid.representation import Representation

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
    """Return how many of the leading factors it takes to sum to one everywhere; 0 where none do."""
    total: FloatArray = np.zeros(len(factors[0].numbers))
    for count, factor in enumerate(factors, start=1):
        if factor.levels not in INDICATORS:
            return 0
        total = total + factor.numbers
        if (total == 1).all():
            return count
        if not (total <= 1).all():  # more factors can only add to it; a row that is not labelled stays so
            return 0
    return 0
