"""Metrics that hold a factor fixed: z_diff, z_min_var, z1 and z2."""

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_choice
from unbraid.evidence.information import Binning
from unbraid.evidence.interventions import (
    ConditionalOptions,
    ConditionalSpread,
    GroupOptions,
    Groups,
    RowGroupOptions,
    Sampler,
    conditional_spread,
    group_differences,
    group_variances,
    relative_variances,
    remaining_variance,
)
from unbraid.metrics.table.metric import AXES, Cost, KnownFailure, Metric, Preset, Property, dead_code_notes
from unbraid.metrics.table.sources import CONDITIONAL, DIFFERENCES, VARIANCES
from unbraid.metrics.table.weaknesses import (
    MIXES_DEPENDENT_FACTORS,
    ONE_PAIR_AT_A_TIME,
    OUTLIERS,
    SEPLIARSKAIA,
    SUBSTITUTE_CODE,
    ZAIDI,
)
from unbraid.probes.linear import decision, multinomial
from unbraid.probes.splits import standardise
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


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
    r"""Score whether a linear classifier predicts which factor two observations share.

    A group holds pairs of rows that agree in one factor; its features are the mean absolute
    differences of the codes over the pairs. A linear classifier learns the factor from the features of
    ``n_votes`` groups and is tested on as many others. The accuracy is rescaled so that guessing is 0:
    :math:`(a - 1/K) / (1 - 1/K)`, not below 0.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_votes: Groups to fit on, and as many to judge on.
        group_size: Pairs in a group.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.
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
    x, x_tested = standardise(groups.summary[:half], groups.summary[half:])
    fitted, truth = groups.fixed_factor[:half], groups.fixed_factor[half:]
    guess = decision(x_tested, multinomial(x, fitted, groups.n_factors)).argmax(axis=1)
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


def z_min_var(
    codes: Any,
    factors: Any = None,
    *,
    n_votes: int = 2000,
    group_size: int = 50,
    n_bins: int = 20,
    binning: Binning = "robust",
    sampler: Sampler | None = None,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score whether the code that varies least identifies the factor that is held fixed.

    Each group of rows shares one value of one factor and votes with the code whose variance, over its
    variance in the data, is smallest. A majority vote from code to factor is learned on ``n_votes`` groups
    and judged on as many others, made of other rows, and the other way round; accuracy is rescaled so that
    guessing is 0. Rows of a group are drawn without replacement, values by their frequency: a group then
    scatters as one of new observations, and the score does not depend on the number of rows, as long as
    values have more than twice ``group_size`` rows.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_votes: Groups to fit on, and as many to judge on.
        group_size: Rows in a group, or half the rows of the value where these are fewer. The paper draws 200 new
            observations for each group.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.
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
    options = RowGroupOptions(n_votes=n_votes, group_size=group_size, n_bins=n_bins, binning=binning, sampler=sampler)
    score = z_min_var_score(group_variances(rep, options, np.random.default_rng(rng)))
    return replace(score, value=max(0.0, score.value))


def z_min_var_score(groups: Groups) -> Score:
    """Z-min variance of groups summarised by variances; by chance below 0, as the scatter of replicates shows."""
    half = len(groups.fixed_factor) // 2
    vote, truth = groups.summary.argmin(axis=1), groups.fixed_factor
    first, second = slice(half), slice(half, None)
    guess = np.empty_like(truth)
    for learned, judged in ((first, second), (second, first)):
        table = np.zeros((groups.summary.shape[1], groups.n_factors))
        np.add.at(table, (vote[learned], truth[learned]), 1)
        guess[judged] = table.argmax(axis=1)[vote[judged]]
    score = score_of_votes(guess == truth, truth, groups.n_factors)
    accuracy, chance = float(score.evidence["overall_accuracy"][0]), 1 / groups.n_factors
    return replace(score, value=(accuracy - chance) / (1 - chance))


Variant = Literal["pooled", "thesis"]


def z1(
    codes: Any, factors: Any = None, *, variant: Variant = "pooled", n_bins: int = 20, binning: Binning = "robust"
) -> Score:
    r"""Score whether, for each factor, some code is constant while the factor is held fixed.

    With :math:`c_j` the mean variance of code j among rows that share a value of the factor, over its variance in
    the data, the score is :math:`1 - \min_j c_j`, averaged over factors.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; one is enough.
        variant: ``"pooled"``: one code for each factor, by its mean over values; ``"thesis"``: the code of smallest
            variance at each value, each clipped to [0, 1], as published. Of variances estimated from few rows the
            smallest is too small, and the score of few rows too high.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.

    Returns:
        A score in [0, 1], higher is better; ``evidence["remaining_variance"]`` is the matrix of :math:`c_j`, for
        active codes. Where the published algorithm samples rows of a value, this uses all of them: no chance is
        involved.

    References:
        The importance of disentanglement when learning representations (thesis), sec. 5.2.1.

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(z1(factors, factors))
        1.0
    """
    rep = as_labelled(codes, factors, metric="z1")
    options = ConditionalOptions(n_bins=n_bins, binning=binning)
    return z1_score(conditional_spread(rep, options, np.random.default_rng(0)), variant=variant)


def z2(
    codes: Any, factors: Any = None, *, variant: Variant = "pooled", n_bins: int = 20, binning: Binning = "robust"
) -> Score:
    r"""Score whether each code is either constant while a factor is held fixed, or unaffected by the factor.

    Adds to :func:`z1` a penalty on the other codes, whose :math:`c_j` should be 0 or 1:

    .. math:: 1 - \bigl(\bar c_{\min} + 4 \bar c^* (1 - \bar c_{\min})\bigr), \qquad
        c^* = \frac{1}{L-1} \sum_{j \neq j_{\min}} c_j (1 - c_j).

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; one is enough.
        variant: As for :func:`z1`. At each value by itself, few rows make :math:`c_j` noisy, the clip at 1 turns noise
            into penalty, and the score of few rows is too low.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.

    Returns:
        A score in [0, 1], higher is better; ``evidence["remaining_variance"]`` is as for :func:`z1`.

    References:
        The importance of disentanglement when learning representations (thesis), Algorithm 10.

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(40), np.arange(40)), axis=-1).reshape(-1, 2)
        >>> round(float(z2(grid, grid)), 2)
        1.0
    """
    rep = as_labelled(codes, factors, metric="z2")
    options = ConditionalOptions(n_bins=n_bins, binning=binning)
    return z2_score(conditional_spread(rep, options, np.random.default_rng(0)), variant=variant)


def z1_score(spread: ConditionalSpread, *, variant: Variant = "pooled") -> Score:
    """Z (1) of conditional variances."""
    smallest, _, evidence = _smallest_and_undecided(spread, variant)
    return Score(
        value=float(1 - smallest.mean()),
        per_factor=1 - smallest,
        evidence=evidence,
        notes=dead_code_notes(int((~spread.active).sum())),
    )


def z2_score(spread: ConditionalSpread, *, variant: Variant = "pooled") -> Score:
    """Z (2) of conditional variances."""
    smallest, undecided, evidence = _smallest_and_undecided(spread, variant)
    per_factor = 1 - (smallest + 4 * undecided * (1 - smallest))
    value = 1 - (smallest.mean() + 4 * undecided.mean() * (1 - smallest.mean()))
    return Score(
        value=float(value),
        per_factor=per_factor,
        evidence=evidence,
        notes=dead_code_notes(int((~spread.active).sum())),
    )


def _smallest_and_undecided(
    spread: ConditionalSpread, variant: Variant
) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
    """For each factor, the smallest share of variance that remains, and the indecision of the other codes."""
    check_choice("variant", variant, get_args(Variant))
    matrix = np.minimum(remaining_variance(spread), 1.0)
    evidence = {"remaining_variance": matrix}
    if variant == "pooled":
        return matrix.min(axis=0), indecision_of_others(matrix.T), evidence
    pairs = [(np.clip(relative, 0.0, 1.0), shares) for relative, shares in relative_variances(spread)]
    smallest = np.array([shares @ clipped.min(axis=1) for clipped, shares in pairs])
    undecided = np.array([shares @ indecision_of_others(clipped) for clipped, shares in pairs])
    return smallest, undecided, evidence


def indecision_of_others(c: FloatArray) -> FloatArray:
    """Mean of c (1 - c) over all codes but the one with the smallest variance; 0 for a single code.

    Args:
        c: Share of the variance of each code, ``(n_cases, n_codes)``.
    """
    others = np.sort(c, axis=1)[:, 1:]
    indecision: FloatArray = (others * (1 - others)).sum(axis=1) / max(1, others.shape[1])
    return indecision


FIXED_TOGETHER = (
    "fixing one factor also narrows the range of factors that depend on it, so codes of all of them vary less and the "
    "fixed factor cannot be identified."
)
PATTERN_SUFFICES = KnownFailure(
    cases=("*/mixed", "*/mixed_wide", "*/leaky", "*/rotated", "*/two_factors_per_code", "*/cosines_pair*"),
    sentence="The fixed factor can be identified although every code depends on several factors, as long as the "
    "pattern of variation over codes differs from factor to factor.",
    source=f"{SEPLIARSKAIA}; {ZAIDI}",
)
ROWS = (
    Metric(
        name="z_diff",
        title="Z-diff (beta-VAE metric)",
        function=z_diff,
        source=DIFFERENCES,
        score=z_diff_score,
        measures=(Property.MODULARITY,),
        invariant_to=AXES,
        tolerance=0.005,
        min_factors=2,
        cost=Cost.QUICK,
        summary="Can a linear classifier identify the factor that two observations share?",
        reference="Higgins et al. (2017), openreview Sy2fzU9gl",
        presets=frozenset({Preset.VAE}),
        misled_by_dependence=FIXED_TOGETHER,
        known_failures=(
            PATTERN_SUFFICES,
            KnownFailure(
                cases=("few_rows/noise_*",),
                sentence="With few rows, the classifier is trained and tested on pairs made of the same rows.",
            ),
        ),
    ),
    Metric(
        name="z_min_var",
        title="Z-min variance (FactorVAE metric)",
        function=z_min_var,
        source=VARIANCES,
        score=z_min_var_score,
        measures=(Property.MODULARITY,),
        invariant_to=AXES,
        min_factors=2,
        cost=Cost.QUICK,
        summary="Does the code with the smallest variance identify the factor that is held fixed?",
        reference="Kim & Mnih (2018), arXiv:1802.05983",
        presets=frozenset({Preset.VAE}),
        misled_by_dependence=FIXED_TOGETHER,
        known_failures=(
            PATTERN_SUFFICES,
            ONE_PAIR_AT_A_TIME,
            KnownFailure(
                cases=("copied/*", "composed/*"),
                sentence="Fixing one factor nearly fixes another that depends on it, so votes go to the wrong factor.",
            ),
        ),
    ),
    Metric(
        name="z1",
        title="Z (1)",
        function=z1,
        source=CONDITIONAL,
        score=z1_score,
        measures=(Property.MODULARITY,),
        invariant_to=AXES,
        summary="Is some code constant while a factor is held fixed?",
        reference="The importance of disentanglement (thesis), sec. 5.2.1",
        extrapolates=False,  # variances within groups are unbiased
        misled_by_dependence=SUBSTITUTE_CODE,
        known_failures=(OUTLIERS, MIXES_DEPENDENT_FACTORS),
    ),
    Metric(
        name="z2",
        title="Z (2)",
        function=z2,
        source=CONDITIONAL,
        score=z2_score,
        measures=(Property.MODULARITY,),
        invariant_to=AXES,
        summary="Is each code either constant while a factor is held fixed, or unaffected by the factor?",
        reference="The importance of disentanglement (thesis), Algorithm 10",
        misled_by_dependence=FIXED_TOGETHER,
        known_failures=(
            ONE_PAIR_AT_A_TIME,
            OUTLIERS,
            KnownFailure(
                cases=("correlated/*", "composed/*", "tied_angles/*"),
                sentence="It penalises a code for every factor that affects it; where factors depend on each other, a "
                "faithful code is affected by several, and bent or weaker codes are penalised less.",
            ),
        ),
    ),
)
