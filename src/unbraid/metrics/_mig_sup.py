"""MIG-sup: the gap seen from the codes."""

from typing import Any, get_args

import numpy as np

from unbraid._score import Score
from unbraid._validation import check_choice
from unbraid.evidence.discretise import Binning
from unbraid.evidence.information import (
    BiasCorrection,
    InformationOptions,
    InformationTable,
    information_table,
)
from unbraid.metrics._mig import NormaliseBy, information_gaps, share_of
from unbraid.metrics._notes import binning_notes, dead_code_notes
from unbraid.representation import as_labelled


def mig_sup(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "none",
    normalise_by: NormaliseBy = "factor",
) -> Score:
    r"""Score how far each code carries one factor alone.

    .. math::

        \text{MIG-sup} = \frac{1}{L} \sum_{j=1}^{L}
            \Bigl( \bar I(z_j; v_{k_j}) - \max_{k \neq k_j} \bar I(z_j; v_k) \Bigr),
        \qquad \bar I(z_j; v_k) = I(z_j; v_k) / H(v_k).

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"miller_madow"`` takes off the first-order bias.
        normalise_by: ``"factor"`` as in the paper, ``"code"`` as in one published library.

    Returns:
        A score in [0, 1], higher is better; constant codes are left out of the mean,
        pure-noise codes are in it and pull it down.

    References:
        Li et al. (2020), Progressive Learning and Disentanglement of Hierarchical
        Representations, app. https://arxiv.org/abs/2002.10549

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(mig_sup(factors, factors))
        1.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    table = information_table(as_labelled(codes, factors, metric="mig_sup", min_factors=2), options)
    return mig_sup_score(table, normalise_by=normalise_by)


def mig_sup_score(table: InformationTable, *, normalise_by: NormaliseBy = "factor") -> Score:
    """MIG-sup of a table of mutual information."""
    check_choice("normalise_by", normalise_by, get_args(NormaliseBy))
    normaliser = table.factor_entropy if normalise_by == "factor" else table.code_entropy
    gaps = information_gaps(share_of(table.mutual_information, normaliser).T)
    per_code = np.where(table.active, gaps, np.nan)
    return Score(
        value=float(gaps[table.active].mean()),
        per_code=per_code,
        evidence={"mutual_information": table.mutual_information},
        notes=binning_notes(table) + dead_code_notes(int((~table.active).sum())),
    )
