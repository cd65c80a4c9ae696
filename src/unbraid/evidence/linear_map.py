"""The linear map from factors to codes: how much of each code every factor moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid.evidence.association import NoOptions
from unbraid.evidence.regressors import complete_rows
from unbraid.probes.linear import pseudo_inverse
from unbraid.probes.splits import standardise
from unbraid.representation.representation import Representation

MIN_ROWS = 10
#: Codes and entries of which factors explain less than this many times what they explain by chance are not in the map.
CLEARLY = 3.0
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

    A number is itself, an angle its cosine and sine, a category its indicators. Rows with all labels are used.
    """
    rows = complete_rows(rep, MIN_ROWS)
    parts = [factor.targets(rows) for factor in rep.factors]
    parts = [part - part.mean(axis=0) for part in parts]
    inputs, codes = np.hstack(parts), standardise(rep.codes[rows])[0]
    inverse = pseudo_inverse(inputs.T @ inputs)
    weights = inverse @ (inputs.T @ codes)
    rank = round(float(np.trace(inverse @ (inputs.T @ inputs))))
    residual = ((codes - inputs @ weights) ** 2).sum(axis=0) / max(len(rows) - rank - 1, 1)
    columns = []
    for part, own in zip(parts, np.split(np.arange(inputs.shape[1]), _ends(parts)), strict=True):
        gram = part.T @ part / len(rows)
        moved = np.einsum("aj,ab,bj->j", weights[own], gram, weights[own])
        by_chance = residual * float(np.trace(gram @ inverse[np.ix_(own, own)]))
        beyond = moved > CLEARLY * by_chance + ROUNDING
        columns.append(np.sqrt(np.where(beyond, moved - by_chance, 0.0)))
    explained = 1 - residual
    is_moved = rep.active & (explained > CLEARLY * rank / len(rows))
    return LinearMap(matrix=np.stack(columns, axis=1) * is_moved[:, None], moved=is_moved)


def _ends(parts: list[FloatArray]) -> list[int]:
    return list(np.cumsum([part.shape[1] for part in parts])[:-1])
