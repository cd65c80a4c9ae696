"""Separated attribute predictability."""

from typing import Any

import numpy as np

from unbraid.evidence.association import Association, NoOptions, predictability
from unbraid.metrics.information.gaps import information_gaps
from unbraid.metrics.table.metric import AXES, CeilingRule, Metric, OneFactor, Preset, Property
from unbraid.metrics.table.sources import PREDICTABILITY
from unbraid.metrics.table.weaknesses import INDIRECT_INFORMATION, LINEAR_RELATIONS_ONLY, ONE_PAIR_AT_A_TIME, OUTLIERS
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


def sap(codes: Any, factors: Any = None, *, rng: np.random.Generator | int = 0) -> Score:
    r"""Score how much better the best single code predicts each factor than the second best.

    The score of code j for factor k is R² of a straight line for ordinal, continuous and circular factors
    (an angle is predicted through its cosine and sine), and held-out balanced accuracy of thresholds on the code for
    categorical ones. SAP is the gap between the two best codes, averaged over factors.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``.
        rng: Chooses the held-out rows, or its seed.

    Returns:
        A score in [0, 1], higher is better; ``evidence["predictability"]`` is the matrix of scores.

    Note:
        Unchanged by shifting and scaling any code, which a support-vector version is not.

    References:
        Kumar et al. (2018), Variational Inference of Disentangled Latent Concepts from
        Unlabeled Observations, sec. 3. https://arxiv.org/abs/1711.00848

    Example:
        >>> import numpy as np
        >>> factors = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> round(float(sap(factors, factors)), 6)
        1.0
    """
    rep = as_labelled(codes, factors, metric="sap")
    return sap_score(predictability(rep, NoOptions(), np.random.default_rng(rng)))


def sap_score(association: Association) -> Score:
    """SAP of single-code predictability."""
    gaps = information_gaps(association.matrix)
    return Score(value=float(gaps.mean()), per_factor=gaps, evidence={"predictability": association.matrix})


def _ceiling(factor: OneFactor) -> float:
    """A second code without information still predicts one of the values right."""
    return 1 - 1 / factor.levels if factor.kind == "categorical" and factor.levels else 1.0


ROWS = (
    Metric(
        name="sap",
        title="Separated attribute predictability",
        function=sap,
        source=PREDICTABILITY,
        score=sap_score,
        measures=(Property.COMPACTNESS, Property.EXPLICITNESS),
        invariant_to=AXES,
        summary="How much better does the best code predict a factor than the second best?",
        reference="Kumar et al. (2018), arXiv:1711.00848",
        presets=frozenset({Preset.VAE}),
        misled_by_dependence=INDIRECT_INFORMATION,
        ceiling=CeilingRule(
            of=_ceiling, why="a code without information about a category still guesses some of its values right"
        ),
        known_failures=(LINEAR_RELATIONS_ONLY, ONE_PAIR_AT_A_TIME, OUTLIERS),
    ),
)
