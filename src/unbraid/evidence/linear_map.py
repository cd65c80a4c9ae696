"""The linear map from factors to codes: how much of each code every factor moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid.evidence.association import NoOptions
from unbraid.evidence.regressors import complete_rows
from unbraid.probes.linear import pseudo_inverse
from unbraid.probes.splits import standardise
from unbraid.representation.representation import Representation

MIN_ROWS = 10
#: Share of the entries that are 0, and of the codes that no factor moves, which chance puts into the map.
BY_CHANCE = 0.001
#: Share of a code's variance that is taken to be rounding error.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearMap:
    """Least squares of standardised codes on all factors together.

    Attributes:
        matrix: Standard deviation of the part of each code that each factor moves, ``(n_codes, n_factors)``, less what
            chance adds; 0 where it is no more than chance, and for a code that the factors do not move.
        moved: Which codes the factors move, beyond chance.
    """

    matrix: FloatArray
    moved: BoolArray


def linear_map(rep: Representation, options: NoOptions, rng: np.random.Generator) -> LinearMap:
    """Regress every code on all factors; draws nothing, so ``rng`` is not used.

    A number is itself, an angle its cosine and sine, a category its indicators. Rows with all labels are used. What a
    factor moves by chance is taken from the residuals of the rows, as their size may depend on the factor: those of a
    square of a factor are largest where the factor is.
    """
    rows = complete_rows(rep, MIN_ROWS)
    parts = [factor.targets(rows) for factor in rep.factors]
    parts = [part - part.mean(axis=0) for part in parts]
    inputs, codes = np.hstack(parts), standardise(rep.codes[rows])[0]
    inverse = pseudo_inverse(inputs.T @ inputs)
    weights = inverse @ (inputs.T @ codes)
    rank = round(float(np.trace(inverse @ (inputs.T @ inputs))))
    squares = (codes - inputs @ weights) ** 2 * (len(rows) / max(len(rows) - rank - 1, 1))
    columns = []
    for part, own in zip(parts, np.split(np.arange(inputs.shape[1]), _ends(parts)), strict=True):
        moved, is_clear = _beyond_chance(part, weights[own], inputs @ inverse[:, own], squares)
        columns.append(np.sqrt(np.maximum(moved, 0.0)) * is_clear.any())
    is_moved = rep.active & _beyond_chance(inputs, weights, inputs @ inverse, squares)[1]
    return LinearMap(matrix=np.stack(columns, axis=1) * is_moved[:, None], moved=is_moved)


def _beyond_chance(
    part: FloatArray, weights: FloatArray, influence: FloatArray, squares: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Variance of each code that the inputs of a part move, less what chance adds, and whether it is clearly more."""
    gram = part.T @ part / len(part)
    moved = np.einsum("aj,ab,bj->j", weights, gram, weights)
    by_chance = np.einsum("ia,ab,ib->i", influence, gram, influence) @ squares
    # Of inputs of equal weight this is a chi-squared variable over its degrees of freedom, times its mean.
    clearly = float(scipy.stats.chi2.isf(BY_CHANCE, part.shape[1])) / part.shape[1]
    return moved - by_chance, moved > clearly * by_chance + ROUNDING


def _ends(parts: list[FloatArray]) -> list[int]:
    return list(np.cumsum([part.shape[1] for part in parts])[:-1])
