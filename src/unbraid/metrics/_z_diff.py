"""Z-diff: the beta-VAE metric."""

from typing import Any

import numpy as np

from unbraid._score import Score
from unbraid._typing import FloatArray
from unbraid.evidence.discretise import Binning
from unbraid.evidence.interventions import GroupOptions, Groups, Sampler, group_differences
from unbraid.evidence.logistic import decision
from unbraid.evidence.separability import multinomial
from unbraid.evidence.splits import standardise
from unbraid.representation import as_labelled


def z_diff(
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
    r"""Score whether a linear classifier can tell which factor two observations share.

    A group holds pairs of rows that agree in one factor; its features are the mean absolute
    differences of the codes over the pairs. A linear classifier learns the factor from the features of
    ``n_votes`` groups and is judged on as many others. The accuracy is rescaled so that guessing is 0:
    :math:`(a - 1/K) / (1 - 1/K)`, not below 0.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_votes: Groups to fit on, and as many to judge on.
        group_size: Pairs in a group.
        n_bins: Bins for factors that are continuous.
        binning: How those are cut.
        sampler: Draws groups of fresh observations in place of rows; see
            :class:`~unbraid.evidence.interventions.Sampler`.
        rng: Source of chance, or its seed.

    Returns:
        A score in [0, 1], higher is better; ``evidence["accuracy"]`` is the raw accuracy for each factor.
        It is 1 already when all but one of the factors are separated.

    References:
        Higgins et al. (2017), beta-VAE: Learning Basic Visual Concepts with a Constrained
        Variational Framework, sec. 3. https://openreview.net/forum?id=Sy2fzU9gl

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 5, (500, 2))
        >>> float(z_diff(factors + 0.0, factors))
        1.0
    """
    rep = as_labelled(codes, factors, metric="z_diff", min_factors=2)
    options = GroupOptions(n_votes=n_votes, group_size=group_size, n_bins=n_bins, binning=binning, sampler=sampler)
    return z_diff_score(group_differences(rep, options, np.random.default_rng(rng)))


def z_diff_score(groups: Groups) -> Score:
    """Z-diff of groups summarised by differences."""
    half = len(groups.fixed_factor) // 2
    x, x_judged = standardise(groups.summary[:half], groups.summary[half:])
    fitted, truth = groups.fixed_factor[:half], groups.fixed_factor[half:]
    guess = decision(x_judged, multinomial(x, fitted, groups.n_factors)).argmax(axis=1)
    return score_of_votes(guess == truth, truth, groups.n_factors)


def score_of_votes(correct: Any, truth: Any, n_factors: int) -> Score:
    """Accuracy over all votes rescaled by chance, and raw by factor."""
    accuracy = float(np.mean(correct))
    chance = 1 / n_factors
    with np.errstate(invalid="ignore"):
        per_factor: FloatArray = np.bincount(truth, weights=correct, minlength=n_factors) / np.bincount(
            truth, minlength=n_factors
        )
    return Score(
        value=max(0.0, (accuracy - chance) / (1 - chance)),
        per_factor=np.maximum(0.0, (per_factor - chance) / (1 - chance)),
        evidence={"accuracy": per_factor, "overall_accuracy": np.array([accuracy])},
    )
