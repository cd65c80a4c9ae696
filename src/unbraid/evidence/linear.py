"""Linear probes: Lasso for numbers and angles, logistic regression for categories."""

from dataclasses import dataclass

import numpy as np

from unbraid._typing import FloatArray, IntArray
from unbraid.evidence.importance import Importance, ProbeFit, fit_importance
from unbraid.evidence.lasso import lasso_weights
from unbraid.evidence.logistic import decision, one_vs_rest
from unbraid.evidence.splits import standardise
from unbraid.factor import Factor
from unbraid.representation import Representation


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearOptions:
    """Linear probes have nothing to set: the Lasso's strength is chosen on rows kept aside."""


def linear_importance(rep: Representation, options: LinearOptions, rng: np.random.Generator) -> Importance:
    """Importances are absolute coefficients on standardised codes."""
    return fit_importance(rep, _fit, rng=rng)


def _fit(
    train_codes: FloatArray,
    test_codes: FloatArray,
    factor: Factor,
    train: IntArray,
    test: IntArray,
    rng: np.random.Generator,
) -> ProbeFit:
    x, x_test = standardise(train_codes, test_codes)
    if not factor.is_numeric:
        assert factor.labels is not None
        coefficients = one_vs_rest(x, factor.labels[train], len(factor.levels))
        predicted = decision(x_test, coefficients).argmax(axis=1)
        return ProbeFit(weights=np.abs(coefficients[:, :-1]).sum(axis=0), predicted=predicted.astype(float))
    targets = factor.targets(train)
    centre, spread = targets.mean(axis=0), targets.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    weights = lasso_weights(x, (targets - centre) / spread, rng=rng)
    return ProbeFit(weights=np.abs(weights).sum(axis=1), predicted=x_test @ weights * spread + centre)
