"""What every ladder checks of its rungs."""

from collections.abc import Sequence
from itertools import pairwise

from unbraid._validation import check_at_least


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
