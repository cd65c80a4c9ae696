"""Linear probes: Lasso for numbers and angles, logistic regression for categories."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from unbraid._validation import check_at_least
from unbraid.evidence.importance import Importance, ProbeFit, ProbeTask, fit_importance
from unbraid.evidence.lasso import lasso_weights
from unbraid.evidence.logistic import decision, one_vs_rest
from unbraid.evidence.splits import standardise
from unbraid.representation import Representation


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearOptions:
    """A linear probe for each factor.

    Attributes:
        strength: Strength of the Lasso on standardised codes and targets; 0 chooses it on rows kept aside.
    """

    strength: float = 0.0

    def __post_init__(self) -> None:
        check_at_least("strength", self.strength, 0)


def linear_importance(rep: Representation, options: LinearOptions, rng: np.random.Generator) -> Importance:
    """Importances are absolute coefficients on standardised codes."""
    return fit_importance(rep, partial(_fit, options), rng=rng)


def _fit(options: LinearOptions, task: ProbeTask, rng: np.random.Generator) -> ProbeFit:
    factor = task.factor
    x, x_test = standardise(task.codes, task.test_codes)
    if not factor.is_numeric:
        assert factor.labels is not None
        coefficients = one_vs_rest(x, factor.labels[task.train], len(factor.levels))
        predicted = decision(x_test, coefficients).argmax(axis=1)
        return ProbeFit(weights=np.abs(coefficients[:, :-1]).sum(axis=0), predicted=predicted.astype(float))
    targets = factor.targets(task.train)
    centre, spread = targets.mean(axis=0), targets.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    weights = lasso_weights(x, (targets - centre) / spread, rng=rng, strength=options.strength)
    return ProbeFit(weights=np.abs(weights).sum(axis=1), predicted=x_test @ weights * spread + centre)
