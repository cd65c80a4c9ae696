"""DCIMIG: gaps between factors, kept by their best code."""

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
from unbraid.metrics._mig import share_of
from unbraid.metrics._notes import binning_notes
from unbraid.representation import as_labelled


def dcimig(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "none",
) -> Score:
    r"""Score how much of the factors' entropy sits in codes that carry one factor alone.

    Each code gives its gap :math:`I(z_j; v_{k_j}) - \max_{k \neq k_j} I(z_j; v_k)` to its best
    factor :math:`k_j`; each factor keeps the largest gap given to it:

    .. math::

        \mathrm{DCIMIG} = \frac{\sum_k \max_{j : k_j = k} \mathrm{gap}_j}{\sum_k H(v_k)}.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"miller_madow"`` takes off the first-order bias.

    Returns:
        A score in [0, 1], higher is better. Blind to a factor spread over several pure codes.

    References:
        Sepliarskaia et al. (2019), How to Not Measure Disentanglement, sec. 4.
        https://arxiv.org/abs/1910.05587

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(dcimig(factors, factors))
        1.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    return dcimig_score(information_table(as_labelled(codes, factors, metric="dcimig", min_factors=2), options))


def dcimig_score(table: InformationTable) -> Score:
    """DCIMIG of a table of mutual information."""
    gaps = gaps_by_best_factor(table.mutual_information)
    kept = gaps.max(axis=0)
    entropy = table.factor_entropy  # 0 where few rows, drawn again, leave a factor a single value
    return Score(
        value=float(share_of(kept.sum(), entropy.sum())),
        per_factor=share_of(kept, entropy),
        per_code=share_of(gaps, entropy).max(axis=1),
        evidence={"mutual_information": table.mutual_information},
        notes=binning_notes(table),
    )


def gaps_by_best_factor(mi: FloatArray) -> FloatArray:
    """Each code's gap at its best factor, 0 elsewhere, ``(n_codes, n_factors)``."""
    ranked = np.sort(mi, axis=1)
    gaps = np.zeros_like(mi)
    gaps[np.arange(len(mi)), mi.argmax(axis=1)] = ranked[:, -1] - ranked[:, -2]
    return gaps
