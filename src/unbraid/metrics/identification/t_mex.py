"""T-MEX: test-based measurement exclusivity."""

from typing import Any

import numpy as np
import scipy

from unbraid._base.arrays import BoolArray
from unbraid._base.stats import Correction, corrected
from unbraid.evidence.exclusivity import Exclusivity, ExclusivityOptions, FactorRegressor, Test, exclusivity
from unbraid.metrics.table.metric import Cost, Invariance, KnownFailure, Metric, Preset, Property, dead_code_notes
from unbraid.metrics.table.sources import EXCLUSIVITY
from unbraid.metrics.table.weaknesses import ALMUDEVAR
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


def t_mex(
    codes: Any,
    factors: Any = None,
    *,
    alpha: float = 0.05,
    correct: Correction = "holm",
    test: Test = "pcm",
    regressor: FactorRegressor = "basis",
    n_splits: int = 9,
    n_trees: int = 20,
    max_rows: int = 10_000,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Count the codes and factors that depend on each other though they should not, or do not though they should.

    For every code j and factor k, a test asks whether the code depends on the factor given all other factors:
    :math:`\hat W_{jk} = 1` where :math:`z_j \perp v_k \mid v_{-k}` is rejected. Codes should measure one factor each:
    codes are matched to factors one to one so that :math:`\hat W` comes nearest to the matrix W of the matching, and
    the score is the number of entries in which the two differ. Given the other factors, a code of one factor depends on
    no other factor, however much the factors depend on each other.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``. Rows must be labelled in every factor.
        alpha: Level of the tests.
        correct: Correction of the p-values for the number of tests; ``"none"`` as published.
        test: ``"pcm"``, the projected covariance measure, or ``"gcm"``, the generalised covariance measure, which is
            cheaper and misses dependence without covariance.
        regressor: Regression of codes and factors on the other factors: least squares on a ``"basis"`` of each factor,
            on the factors as they are (``"linear"``), or a ``"forest"``, which sees factors that act together.
        n_splits: Splits of the rows over which the statistic of ``"pcm"`` is averaged.
        n_trees: Trees of a forest.
        max_rows: Rows used at most, drawn at random.
        rng: Source of chance, or its seed.

    Returns:
        The number of mismatches, lower is better. ``evidence`` has ``"p_values"`` (corrected), ``"depends"``
        (:math:`\hat W`) and ``"expected"`` (W), each ``(n_codes, n_factors)``.

    References:
        Yao et al. (2025), The third pillar of causal analysis? A measurement perspective on causal representations,
        sec. 4. https://arxiv.org/abs/2505.17708

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).normal(size=(300, 3))
        >>> float(t_mex(factors[:, ::-1], factors))
        0.0
    """
    rep = as_labelled(codes, factors, metric="t_mex")
    options = ExclusivityOptions(test=test, regressor=regressor, n_splits=n_splits, n_trees=n_trees, max_rows=max_rows)
    return t_mex_score(exclusivity(rep, options, np.random.default_rng(rng)), alpha=alpha, correct=correct)


def t_mex_score(tests: Exclusivity, *, alpha: float = 0.05, correct: Correction = "holm") -> Score:
    """T-MEX of tests of all codes and factors."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be in (0, 1), got {alpha}.")
    p_values = corrected(tests.p_values, correct)
    depends = p_values < alpha
    expected = matched(depends, tests.statistic)
    wrong = depends != expected
    n_codes, n_factors = len(tests.active), depends.shape[1]
    full = {"p_values": np.ones((n_codes, n_factors))}
    full |= {name: np.zeros((n_codes, n_factors)) for name in ("depends", "expected")}
    for name, matrix in (("p_values", p_values), ("depends", depends), ("expected", expected)):
        full[name][tests.active] = matrix
    missing = np.maximum(0, 1 - expected.sum(axis=0)) if len(depends) < n_factors else np.zeros(n_factors)
    per_code = np.full(n_codes, np.nan)
    per_code[tests.active] = wrong.sum(axis=1)
    return Score(
        value=float(wrong.sum() + missing.sum()),
        per_factor=wrong.sum(axis=0) + missing,
        per_code=per_code,
        evidence=full,
        notes=dead_code_notes(int((~tests.active).sum())),
    )


def matched(depends: BoolArray, statistic: Any) -> BoolArray:
    """Return the one-to-one matrix that differs least from ``depends``; among equals, of the largest statistics."""
    scale = np.abs(statistic).max() * depends.size + 1.0
    code, factor = scipy.optimize.linear_sum_assignment(depends + statistic / scale, maximize=True)
    expected = np.zeros(depends.shape, dtype=bool)
    expected[code, factor] = True
    return expected


ROWS = (
    Metric(
        name="t_mex",
        title="T-MEX (test-based measurement exclusivity)",
        function=t_mex,
        source=EXCLUSIVITY,
        score=t_mex_score,
        measures=(Property.MODULARITY, Property.COMPACTNESS),
        bounds=(0.0, np.inf),
        higher_is_better=False,
        invariant_to=frozenset({Invariance.PERMUTATION, Invariance.SCALING, Invariance.WARPING}),
        cost=Cost.SECONDS,
        summary="How many codes and factors depend on each other, given the other factors, and should not?",
        reference="Yao et al. (2025), arXiv:2505.17708",
        misled_by_dependence="a factor that nearly follows from the others adds nothing given them, so that no code is "
        "seen to depend on it.",
        known_failures=(
            KnownFailure(
                cases=("copied/*", "composed/*", "tied_angles/*"),
                sentence="A factor that follows from the others adds nothing given them, so no code can be seen to "
                "depend on it.",
                source=ALMUDEVAR,
            ),
            KnownFailure(
                cases=("*/noise_*", "*/dropped", "*/nuisance_mixed"),
                sentence="A factor without a code is one mismatch only, so that noise scores better than mixtures.",
            ),
            KnownFailure(
                cases=("*/bent_copy", "*/two_factors_per_code", "*/outlier", "few_rows/*"),
                sentence="A test has power only against what its regressions can fit in as many rows.",
            ),
        ),
        other_names=("tmex", "measurement_exclusivity"),
        in_default=False,
        presets=frozenset({Preset.IDENTIFIABILITY}),
    ),
)
