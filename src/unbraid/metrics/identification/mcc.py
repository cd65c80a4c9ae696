"""Mean correlation coefficient."""

from typing import Any, Literal, get_args

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_choice
from unbraid._base.text import quoted
from unbraid.evidence.association import Association, Correlation, CorrelationOptions, correlations
from unbraid.metrics.table.metric import AXES, KnownFailure, Metric, Preset, Property
from unbraid.metrics.table.sources import CORRELATION
from unbraid.metrics.table.weaknesses import LINEAR_RELATIONS_ONLY, OUTLIERS, SUBSTITUTE_CODE
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score

Normalisation = Literal["covering", "matched"]


def mcc(
    codes: Any,
    factors: Any = None,
    *,
    correlation: Correlation = "pearson",
    normalisation: Normalisation = "covering",
    cross_fit: bool = False,
    n_folds: int = 5,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how well codes and factors correlate when matched one to one.

    Codes are assigned to factors so that the sum of absolute correlations is largest; the score is their mean.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``. A categorical factor counts by its correlation ratio,
            a circular one by the multiple correlation with its cosine and sine.
        correlation: ``"pearson"`` for straight lines, ``"spearman"`` for monotone maps, ``"rdc"`` for any function,
            by the randomized dependence coefficient.
        normalisation: ``"covering"``: the mean over factors, of which those without a code count 0; ``"matched"``: the
            mean over the factors that have a code.
        cross_fit: Match codes, and find signs, on all folds but one, and correlate on that one; noise then scores 0,
            however many codes there are.
        n_folds: Folds of ``cross_fit``.
        rng: Draws the folds, or its seed.

    Returns:
        A score in [0, 1], higher is better. A factor left without a code counts 0. Noise scores above 0
        on few rows, unless cross-fitted: about the largest of n_codes chance correlations.

    References:
        Hyvärinen & Morioka (2016), Unsupervised Feature Extraction by Time-Contrastive
        Learning and Nonlinear ICA, sec. 5. https://arxiv.org/abs/1605.06336
        Lopez-Paz et al. (2013), The Randomized Dependence Coefficient. https://arxiv.org/abs/1304.7717

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> round(float(mcc(1 - 2 * factors, factors)), 12)
        1.0
    """
    rep = as_labelled(codes, factors, metric="mcc")
    options = CorrelationOptions(correlation=correlation, cross_fit=cross_fit, n_folds=n_folds)
    return mcc_score(correlations(rep, options, np.random.default_rng(rng)), normalisation=normalisation)


def mcc_score(association: Association, *, normalisation: Normalisation = "covering") -> Score:
    """MCC of a matrix of absolute correlations, or of those of each fold."""
    check_choice("normalisation", normalisation, get_args(Normalisation))
    matrix = association.matrix
    n_matched = min(matrix.shape)
    per_factor = _held_out(association) if association.folds is not None else _matched(matrix, matrix)
    left_over = matrix.shape[1] - n_matched
    said = "count 0" if normalisation == "covering" else "are left out"
    notes = [f"Fewer codes than factors: those left over {said}."] if left_over else []
    if association.angles:
        notes.append(
            f"{quoted(association.angles)}: an angle is correlated through its cosine and sine together, so that one "
            "code on its circle is enough for 1, though that code does not determine the angle."
        )
    whole = n_matched if normalisation == "matched" else matrix.shape[1]
    return Score(
        value=max(0.0, float(per_factor.sum()) / whole),
        per_factor=per_factor,
        evidence={"correlation": matrix},
        notes=tuple(notes),
    )


def _matched(chosen: FloatArray, read: FloatArray) -> FloatArray:
    """Entry of each factor's code, matched by one matrix and read from another; 0 for a factor without a code."""
    code, factor = scipy.optimize.linear_sum_assignment(chosen, maximize=True)
    per_factor = np.zeros(chosen.shape[1])
    per_factor[factor] = read[code, factor]
    return per_factor


def _held_out(association: Association) -> FloatArray:
    """Mean over folds, by their rows, of what the codes matched on the other rows have on them."""
    assert association.folds is not None
    assert association.tested is not None
    pairs = zip(association.folds, association.tested, strict=True)
    found = [_matched(chosen, tested) for chosen, tested in pairs]
    return np.asarray(np.average(found, axis=0, weights=association.sizes), dtype=np.float64)


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
        presets=frozenset({Preset.IDENTIFIABILITY}),
    ),
)
