"""A small calibration: scores of few rows against scores of many, and intervals neither too short nor too wide.

``benchmarks/calibration.py`` has all scores, worlds and numbers of rows.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import unbraid as ub
from unbraid import Representation

MANY = 30_000


def weak(n_rows: int, seed: int) -> Representation:
    """Three factors in directions that are oblique, under three times as much noise."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, 8, (n_rows, 3))
    mixed = (factors - 3.5) / 2.29 @ [[0.8, 0.6, 0.0], [0.0, 0.8, 0.6], [0.6, 0.0, 0.8]]
    return Representation(0.33 * mixed + rng.normal(size=(n_rows, 3)), factors)


def bent(n_rows: int, seed: int) -> Representation:
    """Three continuous factors with a code each, and codes of two."""
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(n_rows, 3))
    codes = np.column_stack([v[:, 0], np.tanh(v[:, 1]), v[:, 2], v[:, 0] + v[:, 1]])
    return Representation(codes + 0.35 * rng.normal(size=codes.shape), v)


def placed(n_rows: int, seed: int) -> Representation:
    """Two categories, with places of their own on two codes."""
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(0, 4, n_rows), rng.integers(0, 6, n_rows)], axis=1)
    codes = np.stack([np.array([2, 0, 3, 1])[values[:, 0]], np.array([1, 4, 0, 5, 3, 2])[values[:, 1]]], axis=1)
    mixed = codes @ [[1.0, 0.6], [0.0, 1.0]] + 0.5 * rng.normal(size=(n_rows, 2))
    return Representation(mixed, values, kinds=["categorical", "categorical"])


def among_noise(n_rows: int, seed: int) -> Representation:
    """Two factors of five and nine values in two codes, among 30 codes of noise."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, 5, n_rows), rng.integers(0, 9, n_rows)], axis=1)
    codes = factors / [1.4, 2.6] + 0.5 * rng.normal(size=(n_rows, 2))
    return Representation(np.hstack([codes, rng.normal(size=(n_rows, 30))]), factors)


class Cell(NamedTuple):
    """Scores of a world, drawn so often with so many rows; and how far from many rows their mean may be."""

    world: Callable[[int, int], Representation]
    n_rows: int
    draws: int
    most_bias: float
    names: tuple[str, ...]


CELLS = {
    "weak signal": Cell(weak, 2000, 16, 0.012, ("iwo", "orthogonality")),
    "ten rows a bin": Cell(bent, 200, 40, 0.016, ("mig", "mig_sup", "jemmig", "dcimig")),
    "categories": Cell(placed, 600, 40, 0.01, ("sap", "irs", "z1", "z2")),
    "many codes of noise": Cell(among_noise, 1000, 30, 0.001, ("irs",)),
    "twelve rows a code": Cell(among_noise, 400, 40, 0.006, ("r2",)),
}


@cache
def of_many_rows(cell: str) -> dict[str, float]:
    world, names = CELLS[cell].world, list(CELLS[cell].names)
    draws = [ub.evaluate(world(MANY, seed), metrics=names, nulls=False, n_jobs=1).scores for seed in (900, 901)]
    return {name: float(np.mean([draw[name].value for draw in draws])) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_few_rows_say_what_many_do(cell):
    world, n_rows, n_draws, most_bias, names = CELLS[cell]
    draws = [
        ub.evaluate(world(n_rows, seed), metrics=list(names), seed=seed, nulls=False, n_jobs=1).scores
        for seed in range(n_draws)
    ]
    for name, large in of_many_rows(cell).items():
        values, low, high = np.array([(draw[name].value, draw[name].low, draw[name].high) for draw in draws]).T
        assert abs(values.mean() - large) <= most_bias, (name, values.mean(), large)
        assert ((low <= large) & (large <= high)).mean() >= 0.8, name
        # About four standard deviations of the scores; intervals of few halves scatter, and an end may be cut off.
        assert 1.8 <= (high - low).mean() / values.std(ddof=1) <= 7, name
