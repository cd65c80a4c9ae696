"""Modularity of Ridgeway and Mozer."""

from typing import Any

import numpy as np

from unbraid._score import Score
from unbraid._typing import FloatArray
from unbraid.evidence.discretise import Binning
from unbraid.evidence.information import (
    BiasCorrection,
    InformationOptions,
    InformationTable,
    information_table,
)
from unbraid.metrics._notes import binning_notes, dead_code_notes
from unbraid.representation import as_labelled


def modularity(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "none",
) -> Score:
    r"""Score how close each code is to telling about a single factor.

    .. math::

        \frac{1}{L} \sum_{j=1}^{L} \Bigl( 1 - \frac{1}{K-1} \sum_{k \neq k_j}
            \frac{I(z_j; v_k)^2}{I(z_j; v_{k_j})^2} \Bigr),
        \qquad k_j = \arg\max_k I(z_j; v_k).

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"miller_madow"`` takes off the first-order bias.

    Returns:
        A score in [0, 1], higher is better. Pure noise scores 0.3 to 0.7, the more the more unequal the
        factors' sizes, because small numbers are divided by the largest of them: read it beside its null.
        Constant codes are left out.

    References:
        Ridgeway & Mozer (2018), Learning Deep Disentangled Embeddings with the
        F-Statistic Loss, sec. 3. https://arxiv.org/abs/1802.05312

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(modularity(factors, factors))
        1.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    return modularity_score(information_table(as_labelled(codes, factors, metric="modularity", min_factors=2), options))


def modularity_score(table: InformationTable) -> Score:
    """Modularity of a table of mutual information."""
    per_code = deviation_from_one_factor(table.mutual_information)
    informative = table.active & ~np.isnan(per_code)
    return Score(
        value=float(per_code[informative].mean()) if informative.any() else 0.0,
        per_code=np.where(informative, per_code, np.nan),
        evidence={"mutual_information": table.mutual_information},
        notes=binning_notes(table) + dead_code_notes(int((~informative).sum())),
    )


def deviation_from_one_factor(mi: FloatArray) -> FloatArray:
    """Return one minus the mean squared share of the other factors for each code; NaN where a code tells nothing."""
    largest = mi.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        squared = (mi / largest) ** 2
    per_code: FloatArray = 1 - (squared.sum(axis=1) - 1) / (mi.shape[1] - 1)
    return per_code
