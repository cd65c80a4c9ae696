"""Linear predictability of the factors."""

from typing import Any

import numpy as np

from unbraid.evidence.association import NoOptions
from unbraid.evidence.linear.regression import LinearFit, linear_fit
from unbraid.metrics.table.metric import AXES, CeilingRule, Invariance, Metric, OneFactor, Preset, Property
from unbraid.metrics.table.sources import REGRESSION
from unbraid.metrics.table.weaknesses import OUTLIERS
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


def r2(codes: Any, factors: Any = None, *, rng: np.random.Generator | int = 0) -> Score:
    r"""Score how much of each factor's variance a linear map of the codes explains.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``. A categorical factor is regressed as indicators of
            its values, a circular one as cosine and sine, their variances pooled.
        rng: Chooses the held-out rows, or its seed.

    Returns:
        Held-out R², not below 0, averaged over factors; higher is better.

    Note:
        Unchanged by any invertible linear map of the codes: it says nothing about alignment with the axes.

    References:
        The coefficient of determination; used for identifiability up to linear maps, as in
        Khemakhem et al. (2020), ICE-BeeM, sec. 5. https://arxiv.org/abs/2002.11537

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).normal(size=(500, 2))
        >>> round(float(r2(factors @ [[1, 2], [3, 4]], factors)), 4)
        1.0
    """
    rep = as_labelled(codes, factors, metric="r2")
    return r2_score(linear_fit(rep, NoOptions(), np.random.default_rng(rng)))


def r2_score(fit: LinearFit) -> Score:
    """Mean of R² over factors, each floored at 0."""
    per_factor = np.maximum(fit.r2, 0.0)
    return Score(value=float(per_factor.mean()), per_factor=per_factor, evidence={"unfloored": fit.r2})


def _ceiling(factor: OneFactor) -> float:
    """The indicators of n values span n - 1 directions, and one code is a single one of them."""
    levels = factor.levels
    return 1 / (levels - 1) if factor.kind == "categorical" and levels and levels > 2 else 1.0


ROWS = (
    Metric(
        name="r2",
        title="Linear R²",
        function=r2,
        source=REGRESSION,
        score=r2_score,
        measures=(Property.EXPLICITNESS,),
        invariant_to=AXES | {Invariance.ROTATION},
        tolerance=1e-4,
        summary="How much of the factors does a linear map of the codes explain?",
        reference="Khemakhem et al. (2020), arXiv:2002.11537",
        presets=frozenset({Preset.IDENTIFIABILITY, Preset.EMBEDDINGS}),
        ceiling=CeilingRule(
            of=_ceiling, why="one code is a single line through the several directions that a category has"
        ),
        known_failures=(OUTLIERS,),
    ),
)
