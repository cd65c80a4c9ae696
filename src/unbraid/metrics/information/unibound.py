"""UniBound: unique, redundant and synergistic information of codes about factors."""

from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.evidence.information import Binning
from unbraid.evidence.joint_information import JointEstimator, JointInformation, JointOptions, joint_information
from unbraid.metrics.table.metric import AXES, Cost, Invariance, KnownFailure, Metric, Property, dead_code_notes
from unbraid.metrics.table.sources import JOINT_INFORMATION
from unbraid.metrics.table.weaknesses import INDIRECT_INFORMATION
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


def unibound(
    codes: Any,
    factors: Any = None,
    *,
    estimator: JointEstimator = "forest",
    n_trees: int = 10,
    min_leaf: int = 5,
    max_rows: int = 3000,
    n_bins: int = 20,
    binning: Binning = "robust",
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how much of each factor one code has information about that all other codes together lack.

    The information of all codes about a factor divides, for each code, into what the code alone has (unique), what the
    code and the others both have (redundant), what only the others have, and what only all have together
    (synergistic). Whatever the exact definition of the parts, the unique part is at least the information of the code
    less that of all others:

    .. math:: \mathrm{UniBound} = \frac{1}{K} \sum_k \frac{1}{H(v_k)}
        \max_j \bigl[ I(v_k; z_j) - I(v_k; z_{\setminus j}) \bigr]_+ .

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``.
        estimator: ``"forest"``: entropy less the cross-entropy of a forest on rows that it has not seen; ``"counts"``:
            counts of all combinations of bins, for few codes of few values.
        n_trees: Trees of a forest.
        min_leaf: Fewest rows in a leaf.
        max_rows: Rows used at most, drawn at random.
        n_bins: Bins for factors that are continuous, and for codes that are counted.
        binning: Binning method.
        rng: Source of chance, or its seed.

    Returns:
        A score in [0, 1], higher is better. ``evidence`` has lower and upper bounds of the parts, as shares of the
        entropy of the factor, ``(n_codes, n_factors)``: ``"unique"``, ``"redundant"`` and ``"synergistic"``, each with
        ``"_at_most"``.

    References:
        Tokui & Sato (2022), Disentanglement Analysis with Partial Information Decomposition, sec. 3.
        https://arxiv.org/abs/2108.13753

    Example:
        >>> import numpy as np
        >>> factors = np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2).repeat(2, axis=0)
        >>> round(float(unibound(factors, factors, estimator="counts")), 12)
        1.0
    """
    rep = as_labelled(codes, factors, metric="unibound")
    options = JointOptions(
        estimator=estimator, n_trees=n_trees, min_leaf=min_leaf, max_rows=max_rows, n_bins=n_bins, binning=binning
    )
    return unibound_score(joint_information(rep, options, np.random.default_rng(rng)))


def unibound_score(information: JointInformation) -> Score:
    """UniBound of the information of one code, of the others and of all."""
    bounds = partial_information(information)
    per_factor = bounds["unique"].max(axis=0)

    def full(matrix: FloatArray) -> FloatArray:
        spread = np.zeros((len(information.active), matrix.shape[1]))
        spread[information.active] = matrix
        return spread

    return Score(
        value=float(per_factor.mean()),
        per_factor=per_factor,
        evidence={name: full(matrix) for name, matrix in bounds.items()},
        notes=dead_code_notes(int((~information.active).sum())),
    )


def partial_information(information: JointInformation) -> dict[str, FloatArray]:
    """Lower and upper bounds of unique, redundant and synergistic information, as shares of the factor's entropy."""
    alone, others = information.alone, information.others
    together = np.maximum(information.together, np.maximum(alone, others))  # more codes do not know less
    shared = alone + others - together
    given_others, given_code = together - others, together - alone
    parts = {
        "unique": np.maximum(alone - others, 0.0),
        "unique_at_most": np.minimum(alone, given_others),
        "redundant": np.maximum(shared, 0.0),
        "redundant_at_most": np.minimum(alone, others),
        "synergistic": np.maximum(-shared, 0.0),
        "synergistic_at_most": np.minimum(given_others, given_code),
    }
    return {name: matrix / information.factor_entropy for name, matrix in parts.items()}


ROWS = (
    Metric(
        name="unibound",
        title="UniBound (lower bound of unique information)",
        function=unibound,
        source=JOINT_INFORMATION,
        score=unibound_score,
        measures=(Property.COMPACTNESS, Property.EXPLICITNESS),
        invariant_to=AXES | {Invariance.WARPING},
        tolerance=0.01,
        cost=Cost.MINUTE,
        summary="How much of each factor does one code have information about that all other codes together lack?",
        reference="Tokui & Sato (2022), arXiv:2108.13753",
        misled_by_dependence=INDIRECT_INFORMATION,
        known_failures=(
            KnownFailure(
                cases=("correlated/*", "copied/*", "composed/*", "tied_angles/*"),
                sentence="Codes of other factors have information about a factor that depends on these factors, so "
                "that the information of its own code is not unique.",
            ),
            KnownFailure(
                cases=("many_values/*", "continuous/*", "few_rows/*", "angles/*", "uneven/*"),
                sentence="A forest on half of the rows cannot tell a hundred values or neighbouring bins apart.",
            ),
        ),
        other_names=("uni_bound", "unique_information", "partial_information_decomposition", "pid"),
        in_default=False,
    ),
)
