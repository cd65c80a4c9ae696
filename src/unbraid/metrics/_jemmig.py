"""Joint entropy minus mutual information gap."""

from typing import Any

import numpy as np

from unbraid._score import Score
from unbraid.evidence.discretise import Binning
from unbraid.evidence.information import (
    BiasCorrection,
    InformationOptions,
    InformationTable,
    information_table,
)
from unbraid.metrics._notes import binning_notes
from unbraid.representation import as_labelled


def jemmig(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "none",
) -> Score:
    r"""Score how far one code alone carries each factor and nothing else.

    MIG does not mind what else the best code holds; the joint entropy does:

    .. math::

        \mathrm{JEMMIG} = 1 - \frac{1}{K} \sum_{k=1}^{K}
            \frac{H(z_{j_k}, v_k) - I(z_{j_k}; v_k) + \max_{j \neq j_k} I(z_j; v_k)}{H(v_k) + \log B}

    with :math:`B` the number of bins of the code.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"miller_madow"`` takes off the first-order bias.

    Returns:
        A score in [0, 1], higher is better (the paper's unnormalised form is lower-is-better).
        Noise scores above 0: its codes rarely fill their bins evenly.

    References:
        Do & Tran (2020), Theory and Evaluation Metrics for Learning Disentangled
        Representations, sec. 4. https://arxiv.org/abs/1908.09961

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(jemmig(factors, factors))
        1.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    return jemmig_score(information_table(as_labelled(codes, factors, metric="jemmig"), options))


def jemmig_score(table: InformationTable) -> Score:
    """JEMMIG of a table of mutual information."""
    mi = table.mutual_information
    best = mi.argmax(axis=0)
    factor = np.arange(mi.shape[1])
    ranked = np.sort(mi, axis=0)
    excess = table.joint_entropy[best, factor] - ranked[-1] + ranked[-2]
    largest = table.factor_entropy + np.log(np.maximum(table.code_bins[best], 2))
    per_factor = 1 - excess / largest
    return Score(
        value=float(per_factor.mean()),
        per_factor=per_factor,
        evidence={"mutual_information": mi, "joint_entropy": table.joint_entropy},
        notes=binning_notes(table),
    )
