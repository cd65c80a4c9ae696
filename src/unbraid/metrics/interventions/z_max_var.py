"""Z-max variance: the code that varies most while one factor varies."""

from dataclasses import replace
from typing import Any

import numpy as np

from unbraid.evidence.interventions import Groups
from unbraid.evidence.one_factor.all_but_one import AllButOneOptions, varied_groups
from unbraid.metrics.interventions.z_scores import z_min_var_score
from unbraid.metrics.table.metric import AXES, Cost, KnownFailure, Metric, Preset, Property
from unbraid.metrics.table.sources import ALL_BUT_ONE
from unbraid.metrics.table.weaknesses import OUTLIERS
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


def z_max_var(
    codes: Any,
    factors: Any = None,
    *,
    n_votes: int = 2000,
    group_size: int = 8,
    n_cuts: int = 3,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score whether the code that varies most identifies the factor that varies, while all others are held fixed.

    Each group of rows agrees in all factors but one and votes with the code whose variance, over its variance in the
    data, is largest. A majority vote from code to factor is learned on ``n_votes`` groups and tested on as many others,
    and the other way round; accuracy is rescaled so that guessing is 0: :math:`(a - 1/K) / (1 - 1/K)`.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two. Combinations of their values must repeat.
        n_votes: Groups to learn the vote on, and as many to test it on.
        group_size: Rows in a group, at most; 200 as published. In larger groups a code whose variance exceeds that of
            another by a little wins more votes, and fewer combinations have as many rows.
        n_cuts: Parts that a continuous factor is cut into.
        rng: Source of chance, or its seed.

    Returns:
        A score in [0, 1], higher is better; ``evidence["accuracy"]`` is the raw accuracy for each factor.

    Raises:
        ValueError: No two rows agree in all factors but one.

    References:
        Kim et al. (2019), Relevance Factor VAE, sec. 4. https://arxiv.org/abs/1902.01568

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 4, (500, 2))
        >>> float(z_max_var(factors + 0.0, factors))
        1.0
    """
    rep = as_labelled(codes, factors, metric="z_max_var", min_factors=2)
    options = AllButOneOptions(n_votes=n_votes, group_size=group_size, n_cuts=n_cuts)
    return z_max_var_score(varied_groups(rep, options, np.random.default_rng(rng)))


def z_max_var_score(groups: Groups) -> Score:
    """Z-max variance of groups summarised by variances: the vote of the smallest of the variances turned round."""
    score = z_min_var_score(replace(groups, summary=-groups.summary))
    return replace(score, value=max(0.0, score.value))


ROWS = (
    Metric(
        name="z_max_var",
        title="Z-max variance",
        function=z_max_var,
        source=ALL_BUT_ONE,
        score=z_max_var_score,
        measures=(Property.MODULARITY,),
        invariant_to=AXES,
        min_factors=2,
        cost=Cost.QUICK,
        summary="Does the code with the largest variance identify the factor that varies while all others are fixed?",
        reference="Kim et al. (2019), arXiv:1902.01568",
        misled_by_dependence="combinations of values that never occur are never tried, and those that occur are few.",
        known_failures=(
            KnownFailure(
                cases=("*/noise_code", "*/many_noise_codes", "*/nuisance_*", "*/cosines*"),
                sentence="A code of noise varies in every group as much as in the data, and wins the vote of every "
                "factor.",
            ),
            KnownFailure(
                cases=("*/mixed", "*/mixed_wide", "*/leaky"),
                sentence="The vote asks which code moves most, relative to its own variance, and not by how much the "
                "other codes move.",
            ),
            KnownFailure(
                cases=("copied/*", "composed/*", "tied_angles/*"),
                sentence="A factor that is a function of the others cannot vary while they are held fixed; the score "
                "is refused, or rests on the few groups in which it does.",
            ),
            KnownFailure(
                cases=("continuous/warped",),
                sentence="In a group of few rows, the variance of a bent code rests on its few largest values.",
            ),
            OUTLIERS,
        ),
        in_default=False,
        other_names=("rf_vae", "relevance_factor_vae"),
        presets=frozenset({Preset.VAE}),
    ),
)
