"""Factors to represent: independent, dependent in three ways, and awkward ones."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from unbraid._typing import AnyArray, IntArray

N_ROWS = 2000
FEW_ROWS = 100
CORRELATION = 0.7
SIZES = (4, 5, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """One way in which factors may be distributed.

    Attributes:
        name: First half of the names of its cases.
        says: What it is, to go on "Factors ...".
        draw: ``(rng, n_rows) -> factors``, ``(n_rows, n_factors)``.
        most_rows: Rows, where the point is that there are few.
        n_labelled: How many of the factors have labels, where not all.
    """

    name: str
    says: str
    draw: Callable[[np.random.Generator, int], AnyArray]
    most_rows: int | None = None
    n_labelled: int | None = None


def _independent(rng: np.random.Generator, n_rows: int) -> IntArray:
    return rng.integers(SIZES, size=(n_rows, len(SIZES)))


def _correlated(rng: np.random.Generator, n_rows: int) -> IntArray:
    """Cut correlated normal variables at their quantiles."""
    size = len(SIZES)
    covariance = np.full((size, size), CORRELATION) + (1 - CORRELATION) * np.eye(size)
    normal = rng.standard_normal((n_rows, size)) @ np.linalg.cholesky(covariance).T
    return np.floor(scipy.special.ndtr(normal) * SIZES).astype(np.int64)


def _copied(rng: np.random.Generator, n_rows: int) -> IntArray:
    first, second = rng.integers((4, 6), size=(n_rows, 2)).T
    return np.column_stack([first, second, second // 2])


def _composed(rng: np.random.Generator, n_rows: int) -> IntArray:
    first, second = rng.integers((4, 5), size=(n_rows, 2)).T
    return np.column_stack([first, second, first + second])


def _many_values(rng: np.random.Generator, n_rows: int) -> IntArray:
    return rng.integers(100, size=(n_rows, 3))


def _uneven(rng: np.random.Generator, n_rows: int) -> IntArray:
    rare = rng.choice(3, size=n_rows, p=(0.9, 0.06, 0.04))
    return np.column_stack([rare, rng.integers((5, 6), size=(n_rows, 2))])


def _continuous(rng: np.random.Generator, n_rows: int) -> AnyArray:
    return rng.random((n_rows, 3))


def _angles(rng: np.random.Generator, n_rows: int) -> AnyArray:
    return np.pi * rng.random((n_rows, 3))


def _tied_angles(rng: np.random.Generator, n_rows: int) -> AnyArray:
    first, second = np.pi * rng.random((2, n_rows))
    return np.column_stack([first, second, (first + second) / 2])


def shuffled(structure: Structure) -> Structure:
    """Break the tie between the factors and keep each as it is: what a dependent structure is compared with."""

    def draw(rng: np.random.Generator, n_rows: int) -> AnyArray:
        return rng.permuted(structure.draw(rng, n_rows), axis=0)

    says = f"as in {structure.name}, each shuffled on its own, so that they are independent"
    return Structure(name=f"{structure.name}_shuffled", says=says, draw=draw)


INDEPENDENT = Structure(
    name="independent", says="that are independent, with 4, 5 and 6 evenly likely values", draw=_independent
)
CORRELATED = Structure(name="correlated", says=f"that correlate by {CORRELATION} with each other", draw=_correlated)
COPIED = Structure(name="copied", says="of which the third is a function of the second, half its value", draw=_copied)
COMPOSED = Structure(name="composed", says="of which the third is the sum of the first two", draw=_composed)
CONTINUOUS = Structure(
    name="continuous", says="that are independent and continuous, evenly spread over an interval", draw=_continuous
)
FEW = Structure(
    name="few_rows", says=f"as in independent, but only {FEW_ROWS} rows", draw=_independent, most_rows=FEW_ROWS
)
MANY_VALUES = Structure(name="many_values", says="that are independent, each with 100 values", draw=_many_values)
UNEVEN = Structure(
    name="uneven", says="that are independent, the first of which has one value in 90 % of the rows", draw=_uneven
)
ONE_LABELLED = Structure(
    name="one_labelled", says="as in independent, of which only the first is labelled", draw=_independent, n_labelled=1
)
ANGLES = Structure(name="angles", says="that are independent angles between 0 and π", draw=_angles)
TIED_ANGLES = Structure(
    name="tied_angles", says="that are angles, the third of which is the mean of the first two", draw=_tied_angles
)
