"""Mean correlation coefficient."""

from typing import Any

import numpy as np
import scipy

from unbraid._base.text import quoted
from unbraid.evidence.association import Association, Correlation, CorrelationOptions, correlations
from unbraid.metrics.table.metric import AXES, KnownFailure, Metric, Property
from unbraid.metrics.table.sources import CORRELATION
from unbraid.metrics.table.weaknesses import LINEAR_RELATIONS_ONLY, OUTLIERS, SUBSTITUTE_CODE
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


def mcc(codes: Any, factors: Any = None, *, correlation: Correlation = "pearson") -> Score:
    r"""Score how well codes and factors correlate when matched one to one.

    Codes are assigned to factors so that the sum of absolute correlations is largest; the score is their mean.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``. A categorical factor counts by its correlation ratio,
            a circular one by the multiple correlation with its cosine and sine.
        correlation: ``"pearson"`` for straight lines, ``"spearman"`` for monotone maps.

    Returns:
        A score in [0, 1], higher is better. A factor left without a code counts 0. Noise scores above 0
        on few rows: about the largest of n_codes chance correlations.

    References:
        Hyvärinen & Morioka (2016), Unsupervised Feature Extraction by Time-Contrastive
        Learning and Nonlinear ICA, sec. 5. https://arxiv.org/abs/1605.06336

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> round(float(mcc(1 - 2 * factors, factors)), 12)
        1.0
    """
    rep = as_labelled(codes, factors, metric="mcc")
    return mcc_score(correlations(rep, CorrelationOptions(correlation=correlation), np.random.default_rng(0)))


def mcc_score(association: Association) -> Score:
    """MCC of a matrix of absolute correlations."""
    matrix = association.matrix
    code, factor = scipy.optimize.linear_sum_assignment(matrix, maximize=True)
    per_factor = np.zeros(matrix.shape[1])
    per_factor[factor] = matrix[code, factor]
    notes = [] if len(factor) == matrix.shape[1] else ["Fewer codes than factors: those left over count 0."]
    if association.angles:
        notes.append(
            f"{quoted(association.angles)}: an angle is correlated through its cosine and sine together, so that one "
            "code on its circle is enough for 1, though that code does not determine the angle."
        )
    return Score(
        value=float(per_factor.mean()), per_factor=per_factor, evidence={"correlation": matrix}, notes=tuple(notes)
    )


ROWS = (
    Metric(
        name="mcc",
        title="Mean correlation coefficient",
        function=mcc,
        source=CORRELATION,
        score=mcc_score,
        measures=(Property.COMPACTNESS, Property.EXPLICITNESS),
        invariant_to=AXES,
        summary="Matched one to one, how well do codes and factors correlate?",
        reference="Hyvärinen & Morioka (2016), arXiv:1605.06336",
        misled_by_dependence=SUBSTITUTE_CODE,
        known_failures=(
            LINEAR_RELATIONS_ONLY,
            KnownFailure(
                cases=("*/duplicated", "*/several_views"),
                sentence="It matches one code to each factor and ignores the codes that are left over.",
            ),
            KnownFailure(
                cases=("tied_angles/cosines_pair*",),
                sentence="A code that mixes factors which depend on each other still correlates with each of them.",
            ),
            OUTLIERS,
        ),
    ),
)
