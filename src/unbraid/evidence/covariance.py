"""Covariance of the codes, for label-free metrics."""

from dataclasses import dataclass

import numpy as np

from unbraid._typing import BoolArray, FloatArray
from unbraid.representation import Representation


@dataclass(frozen=True, slots=True, kw_only=True)
class CovarianceOptions:
    """The covariance has nothing to set."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeCovariance:
    """Covariance of the active codes.

    Attributes:
        matrix: ``(n_active, n_active)``.
        active: Which codes vary.
    """

    matrix: FloatArray
    active: BoolArray


def code_covariance(rep: Representation, options: CovarianceOptions, rng: np.random.Generator) -> CodeCovariance:
    """Unbiased covariance of the codes that vary; draws nothing, so ``rng`` is not used."""
    matrix = np.atleast_2d(np.cov(rep.codes[:, rep.active], rowvar=False))
    return CodeCovariance(matrix=matrix, active=rep.active)
