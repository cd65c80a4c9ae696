"""Spectrum of the codes: the variance along each of their principal directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid.evidence.association import NoOptions
from unbraid.representation.representation import Representation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spectrum:
    """Squared singular values of the codes that vary, largest first, over the number of rows.

    Attributes:
        variances: Of the codes less their mean: the variance along each principal direction; 0 beyond the rank.
        squares: Of the codes as they are: the mean square along each direction from the origin; 0 beyond the rank.
        fourth: Mean of the fourth power of the distance of a row from the mean.
        n_samples: Number of rows.
        active: Which codes vary.
    """

    variances: FloatArray
    squares: FloatArray
    fourth: float
    n_samples: int
    active: BoolArray


def code_spectrum(rep: Representation, options: NoOptions, rng: np.random.Generator) -> Spectrum:
    """Return the spectrum of the codes that vary; draws nothing, so ``rng`` is not used."""
    codes = rep.codes[:, rep.active]
    # In units of the largest value, squares neither overflow nor vanish; no score depends on the unit.
    codes = codes / np.abs(codes).max()
    centred = codes - codes.mean(axis=0)
    return Spectrum(
        variances=_squared_singular_values(centred),
        squares=_squared_singular_values(codes),
        fourth=float(np.mean((centred**2).sum(axis=1) ** 2)),
        n_samples=rep.n_samples,
        active=rep.active,
    )


def _squared_singular_values(matrix: FloatArray) -> FloatArray:
    """Squared singular values over the number of rows, from the smaller of the two Gram matrices."""
    n_rows, n_columns = matrix.shape
    gram = matrix.T @ matrix if n_columns <= n_rows else matrix @ matrix.T
    values = np.linalg.eigvalsh(gram)[::-1] / n_rows
    # What rounding leaves of directions without variance would count as many directions of little variance.
    kept: FloatArray = np.where(values > len(values) * np.finfo(float).eps * values[0], values, 0.0)
    return kept
