"""What a reader of the numbers should know first."""

from __future__ import annotations

import numpy as np

from unbraid._typing import IntArray
from unbraid.evidence.gram_statistics import GramStatistics

NEAR_PARALLEL = 7.5
MOST_NAMED = 10


def make_notes(found: GramStatistics, total_correlation: float) -> tuple[str, ...]:
    """Return one sentence for each thing that limits the numbers."""
    n_samples = len(found.log_volumes)
    notes = []
    dead = np.flatnonzero(found.flat_counts == n_samples)
    partly = np.flatnonzero((found.flat_counts > 0) & (found.flat_counts < n_samples))
    if len(dead):
        notes.append(f"Inactive, moving the data nowhere: {_latents(dead)}. Everything else is about the others.")
    if len(partly):
        notes.append(
            f"Counted as inactive, standing still in some samples: {_latents(partly)}. The logarithm of nothing has "
            "no mean."
        )
    if np.nanmax(found.pair_information, initial=0.0) > NEAR_PARALLEL:
        notes.append(
            "Some latents move the data in the same direction; their mutual information is infinite, and shown as "
            "far as the precision can tell (18 nats in float64, 8 in float32)."
        )
    if total_correlation < 0:
        notes.append(
            f"The total correlation is {total_correlation:.3g}, but cannot be negative: log_abs_det disagrees with the "
            "Jacobian, or float32 is too coarse; leave it out, or use dtype='float64'."
        )
    return tuple(notes)


def _latents(positions: IntArray) -> str:
    names = [f"z{i}" for i in positions[:MOST_NAMED]]
    rest = len(positions) - len(names)
    return ", ".join(names) + (f" and {rest} more" if rest else "")
