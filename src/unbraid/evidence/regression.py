"""Ordinary linear regression of all factors on all codes, judged on held-out rows."""

from dataclasses import dataclass

import numpy as np

from unbraid._typing import FloatArray
from unbraid.evidence.importance import r_squared
from unbraid.evidence.splits import holdout, standardise
from unbraid.representation import Representation

RIDGE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionOptions:
    """Linear regression has nothing to set."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearFit:
    """Held-out share of variance explained, for each factor, not floored, ``(n_factors,)``."""

    r2: FloatArray


def linear_fit(rep: Representation, options: RegressionOptions, rng: np.random.Generator) -> LinearFit:
    """Regress numbers on the codes, angles as cosine and sine, categories as their indicators."""
    shares = []
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        train, test = holdout(factor, rng=child)
        x, x_test = standardise(rep.codes[train], rep.codes[test])
        targets = factor.targets(train)
        centre = targets.mean(axis=0)
        gram = x.T @ x + RIDGE * len(x) * np.eye(x.shape[1])
        weights = np.linalg.solve(gram, x.T @ (targets - centre))
        shares.append(r_squared(factor.targets(test), x_test @ weights + centre))
    return LinearFit(r2=np.array(shares))
