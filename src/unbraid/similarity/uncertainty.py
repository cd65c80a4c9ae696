"""Confidence interval and chance level of a similarity, from its value on other rows and on shuffled rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.stats import student_quantile
from unbraid.representation.representation import as_representation
from unbraid.results.score import Score

N_HALVES, N_SHUFFLES = 12, 12
CONFIDENCE = 0.95
#: Fewest rows from which a half still says something.
FEWEST_ROWS = 8

#: From rows of the first representation and the corresponding rows of the second to their similarity.
Statistic = Callable[[IntArray, IntArray], float]


def paired_codes(a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
    """Return the codes of two representations of the same rows; raise where their numbers of rows differ."""
    first, second = as_representation(a).codes, as_representation(b).codes
    if len(first) != len(second):
        raise ValueError(
            f"b must have the rows of a, got {len(second)} rows for {len(first)}; encode the same observations in the "
            "same order."
        )
    if len(first) < FEWEST_ROWS:
        raise ValueError(f"a must have at least {FEWEST_ROWS} rows, got {len(first)}.")
    return first, second


def with_uncertainty(
    statistic: Statistic,
    n_rows: int,
    *,
    bounds: tuple[float, float],
    interval: bool,
    chance: bool,
    rng: np.random.Generator | int,
    value: float | None = None,
    n_shuffles: int = N_SHUFFLES,
    **about: Any,
) -> Score:
    """Return the similarity on all rows, with an interval from random halves and a chance level from shuffled rows.

    Args:
        statistic: The similarity, as a function of rows.
        n_rows: Number of rows.
        bounds: Lowest and highest possible value.
        interval: Whether to compute the interval.
        chance: Whether to compute the chance level.
        rng: Draws halves and shuffles, or its seed.
        value: The similarity on all rows, where it is known.
        n_shuffles: Shuffles over which the chance level is averaged.
        about: Further fields of the score.
    """
    halves, shuffles = np.random.default_rng(rng).spawn(2)
    every = np.arange(n_rows)
    value = float(np.clip(statistic(every, every) if value is None else value, *bounds))
    low = high = null = beats_chance = replicates = None
    half_width = 0.0
    if interval:
        parts = [np.sort(halves.permutation(n_rows)[: n_rows // 2]) for _ in range(N_HALVES)]
        replicates = np.array([statistic(rows, rows) for rows in parts])
        # The deviation over halves drawn without replacement is the standard error of the value of all rows.
        half_width = float(student_quantile(0.5 + CONFIDENCE / 2, N_HALVES - 1) * replicates.std(ddof=1))
        low, high = (float(np.clip(end, *bounds)) for end in (value - half_width, value + half_width))
    if chance:
        by_chance = np.array([statistic(every, shuffles.permutation(n_rows)) for _ in range(n_shuffles)])
        null = float(by_chance.mean())
        if interval:
            spread = float(student_quantile(0.5 + CONFIDENCE / 2, n_shuffles - 1) * by_chance.std(ddof=1))
            beats_chance = bool(value - null > max(half_width, spread))
    return Score(value=value, low=low, high=high, null=null, beats_chance=beats_chance, replicates=replicates, **about)
