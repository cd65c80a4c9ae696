"""Mutual information gap."""

from typing import Any, Literal, get_args

import numpy as np

from unbraid._score import Score
from unbraid._typing import FloatArray
from unbraid._validation import check_choice
from unbraid.evidence.discretise import Binning
from unbraid.evidence.information import (
    BiasCorrection,
    InformationOptions,
    InformationTable,
    information_table,
)
from unbraid.metrics._notes import binning_notes
from unbraid.representation import as_labelled

NormaliseBy = Literal["factor", "code"]


def mig(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "none",
    normalise_by: NormaliseBy = "factor",
) -> Score:
    r"""Score how far one code alone carries each factor.

    For every factor, take the mutual information of the best code minus that
    of the runner-up, as a share of the factor's entropy; then average:

    .. math::

        \mathrm{MIG} = \frac{1}{K} \sum_{k=1}^{K} \frac{1}{H(v_k)}
            \Bigl( I(z_{j_k}; v_k) - \max_{j \neq j_k} I(z_j; v_k) \Bigr),
        \qquad j_k = \arg\max_j I(z_j; v_k).

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; continuous ones are binned like the codes.
        n_bins: Bins for each code. More see finer structure, and
            bias the mutual information upwards on small samples.
        binning: ``"robust"``, ``"uniform"`` (as published code does) or ``"quantile"``.
        bias_correction: ``"miller_madow"`` takes off the first-order bias.
        normalise_by: ``"factor"`` as in the paper; ``"code"`` divides each mutual information
            by the entropy of its code, as one published library does.

    Returns:
        A score in [0, 1], higher is better. ``evidence["mutual_information"]``
        is the matrix :math:`I(z_j; v_k)` in nats, ``(n_codes, n_factors)``.

    Note:
        Unchanged by reordering codes, factors or samples and by increasing
        affine maps of a code. *Not* unchanged by rotating the codes.

    References:
        Chen et al. (2018), Isolating Sources of Disentanglement in VAEs,
        sec. 4. https://arxiv.org/abs/1802.04942

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(mig(factors, factors))
        1.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    table = information_table(as_labelled(codes, factors, metric="mig"), options)
    return mig_score(table, normalise_by=normalise_by)


def mig_score(table: InformationTable, *, normalise_by: NormaliseBy = "factor") -> Score:
    """MIG of a table of mutual information."""
    check_choice("normalise_by", normalise_by, get_args(NormaliseBy))
    normaliser = table.factor_entropy if normalise_by == "factor" else table.code_entropy
    gaps = information_gaps(share_of(table.mutual_information, normaliser))
    return Score(
        value=float(gaps.mean()),
        per_factor=gaps,
        evidence={"mutual_information": table.mutual_information},
        notes=binning_notes(table),
    )


def share_of(mi: FloatArray, entropy: FloatArray) -> FloatArray:
    """Mutual information as a share of an entropy; 0 where the entropy is 0 (a dead code)."""
    share: FloatArray = np.divide(mi, entropy, out=np.zeros_like(mi), where=np.broadcast_to(entropy, mi.shape) > 0)
    return share


def information_gaps(share: FloatArray) -> FloatArray:
    """Best minus second-best code for each factor."""
    ranked = np.sort(share, axis=0)
    gaps: FloatArray = ranked[-1] - ranked[-2]
    return gaps
