"""Z-min variance: the FactorVAE metric."""

from typing import Any

import numpy as np

from unbraid._score import Score
from unbraid.evidence.discretise import Binning
from unbraid.evidence.interventions import GroupOptions, Groups, Sampler, group_variances
from unbraid.metrics._z_diff import score_of_votes
from unbraid.representation import as_labelled


def z_min_var(
    codes: Any,
    factors: Any = None,
    *,
    n_votes: int = 800,
    group_size: int = 200,
    n_bins: int = 20,
    binning: Binning = "robust",
    sampler: Sampler | None = None,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score whether the code that varies least gives away which factor is held fixed.

    Each group of rows shares one value of one factor and votes with the code whose variance, over its
    variance in the data, is smallest. A majority vote from code to factor is learned on ``n_votes`` groups
    and judged on as many others; accuracy is rescaled so that guessing is 0.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_votes: Groups to fit on, and as many to judge on.
        group_size: Rows in a group.
        n_bins: Bins for factors that are continuous.
        binning: How those are cut.
        sampler: Draws groups of fresh observations in place of rows; see
            :class:`~unbraid.evidence.interventions.Sampler`.
        rng: Source of chance, or its seed.

    Returns:
        A score in [0, 1], higher is better; constant codes do not vote.

    References:
        Kim & Mnih (2018), Disentangling by Factorising, sec. 4. https://arxiv.org/abs/1802.05983

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 5, (500, 2))
        >>> float(z_min_var(factors + 0.0, factors))
        1.0
    """
    rep = as_labelled(codes, factors, metric="z_min_var", min_factors=2)
    options = GroupOptions(n_votes=n_votes, group_size=group_size, n_bins=n_bins, binning=binning, sampler=sampler)
    return z_min_var_score(group_variances(rep, options, np.random.default_rng(rng)))


def z_min_var_score(groups: Groups) -> Score:
    """Z-min variance of groups summarised by variances."""
    half = len(groups.fixed_factor) // 2
    vote = groups.summary.argmin(axis=1)
    table = np.zeros((groups.summary.shape[1], groups.n_factors))
    np.add.at(table, (vote[:half], groups.fixed_factor[:half]), 1)
    guess, truth = table.argmax(axis=1)[vote[half:]], groups.fixed_factor[half:]
    return score_of_votes(guess == truth, truth, groups.n_factors)
