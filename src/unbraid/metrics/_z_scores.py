"""Z (1) and Z (2): modularity from conditional variances, without a predictor."""

from typing import Any

import numpy as np

from unbraid._score import Score
from unbraid._typing import FloatArray
from unbraid.evidence.conditional import ConditionalOptions, ConditionalSpread, conditional_spread, relative_variances
from unbraid.evidence.discretise import Binning
from unbraid.metrics._notes import dead_code_notes
from unbraid.representation import as_labelled


def z1(codes: Any, factors: Any = None, *, n_bins: int = 20, binning: Binning = "robust") -> Score:
    r"""Score whether, for each factor, some code stands still when the factor does.

    With :math:`c_j` the variance of code j among rows that share a value of the factor, over its variance
    in the data and clipped to [0, 1], the score is :math:`1 - \mathbb{E}[\min_j c_j]`, averaged over the
    rows of each factor and then over factors.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; one is enough.
        n_bins: Bins for factors that are continuous.
        binning: How those are cut.

    Returns:
        A score in [0, 1], higher is better. Where the published algorithm samples rows of a value, this
        uses all of them: no chance is involved.

    References:
        The importance of disentanglement when learning representations (thesis), sec. 5.2.1.

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(z1(factors, factors))
        1.0
    """
    rep = as_labelled(codes, factors, metric="z1")
    return z1_score(
        conditional_spread(rep, ConditionalOptions(n_bins=n_bins, binning=binning), np.random.default_rng(0))
    )


def z2(codes: Any, factors: Any = None, *, n_bins: int = 20, binning: Binning = "robust") -> Score:
    r"""Score whether each code either stands still with a factor or does not notice it.

    Adds to :func:`z1` a penalty on the other codes, whose :math:`c_j` should be 0 or 1:

    .. math:: 1 - \bigl(\bar c_{\min} + 4 \bar c^* (1 - \bar c_{\min})\bigr), \qquad
        c^* = \frac{1}{L-1} \sum_{j \neq j_{\min}} c_j (1 - c_j).

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; one is enough.
        n_bins: Bins for factors that are continuous.
        binning: How those are cut.

    Returns:
        A score in [0, 1], higher is better. Few rows for a value make :math:`c_j` noisy and the score lower.

    References:
        The importance of disentanglement when learning representations (thesis), Algorithm 10.

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(40), np.arange(40)), axis=-1).reshape(-1, 2)
        >>> round(float(z2(grid, grid)), 2)
        1.0
    """
    rep = as_labelled(codes, factors, metric="z2")
    return z2_score(
        conditional_spread(rep, ConditionalOptions(n_bins=n_bins, binning=binning), np.random.default_rng(0))
    )


def z1_score(spread: ConditionalSpread) -> Score:
    """Z (1) of conditional variances."""
    smallest = np.array([share @ smallest_variance(c) for c, share in relative_variances(spread)])
    return Score(
        value=float(1 - smallest.mean()),
        per_factor=1 - smallest,
        notes=dead_code_notes(int((~spread.active).sum())),
    )


def z2_score(spread: ConditionalSpread) -> Score:
    """Z (2) of conditional variances."""
    pairs = relative_variances(spread)
    smallest = np.array([share @ smallest_variance(c) for c, share in pairs])
    undecided = np.array([share @ indecision_of_others(c) for c, share in pairs])
    per_factor = 1 - (smallest + 4 * undecided * (1 - smallest))
    value = 1 - (smallest.mean() + 4 * undecided.mean() * (1 - smallest.mean()))
    return Score(value=float(value), per_factor=per_factor, notes=dead_code_notes(int((~spread.active).sum())))


def smallest_variance(c: FloatArray) -> FloatArray:
    """Smallest relative variance over codes, clipped to [0, 1], for each value."""
    smallest: FloatArray = np.clip(c, 0.0, 1.0).min(axis=1)
    return smallest


def indecision_of_others(c: FloatArray) -> FloatArray:
    """Mean of c (1 - c) over all codes but the stillest; 0 when there is no other."""
    clipped = np.sort(np.clip(c, 0.0, 1.0), axis=1)[:, 1:]
    indecision: FloatArray = (clipped * (1 - clipped)).sum(axis=1) / max(1, clipped.shape[1])
    return indecision
