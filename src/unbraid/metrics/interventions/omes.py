"""OMES: overlap and multiple encoding scores, from pairs of rows that differ in one factor."""

from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_choice
from unbraid._base.text import quoted
from unbraid.evidence.information import Binning
from unbraid.evidence.one_factor.traversals import PairCorrelation, PairOptions, pair_correlations
from unbraid.metrics.table.metric import AXES, KnownFailure, Metric, Property, dead_code_notes
from unbraid.metrics.table.sources import PAIRS
from unbraid.metrics.table.weaknesses import MIXES_DEPENDENT_FACTORS, OUTLIERS, UNLABELLED_VARY
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score

Pooling = Literal["best", "weighted"]
Sign = Literal["positive", "absolute"]


def omes(
    codes: Any,
    factors: Any = None,
    *,
    alpha: float = 0.5,
    pooling: Pooling = "best",
    sign: Sign = "positive",
    n_bins: int = 20,
    binning: Binning = "robust",
) -> Score:
    r"""Score whether a change of one factor alone moves one code alone, and each code moves with one factor.

    Over all pairs of rows that differ in factor k and agree in all others, :math:`\rho_{jk}` is the correlation of code
    j of one row with code j of the other, and :math:`S_{jk} = 1 - \max(0, \rho_{jk})` how far the factor moves the
    code. Overlap :math:`O_{jk}` compares the row of code j with one that has 1 for factor k and 0 elsewhere, multiple
    encoding :math:`M_{jk}` the column of factor k with one that has 1 for code j:

    .. math:: O_{jk} = 1 - \frac{1}{K} \sum_{k'} |\delta_{kk'} - S_{jk'}|, \qquad
        M_{jk} = 1 - \frac{1}{L} \sum_{j'} |\delta_{jj'} - S_{j'k}|.

    A factor scores :math:`\alpha \max_j O_{jk} S_{jk} + (1 - \alpha) \max_j M_{jk} S_{jk}`; the score is the mean.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, of which rows must agree in all but one: a grid, or many
            rows.
        alpha: Weight of overlap (modularity); the rest is the weight of multiple encoding (compactness).
        pooling: ``"best"``: the largest over codes; ``"weighted"``: the mean over codes, by :math:`S_{jk}`.
        sign: ``"absolute"``: :math:`S_{jk} = 1 - |\rho_{jk}|`, as published. Over pairs that differ, a perfect code of
            n values has the correlation :math:`-1/(n-1)`: a factor of two values could then score 0 only.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.

    Returns:
        A score in [0, 1], higher is better. ``evidence["moved"]`` is the matrix :math:`S`. A factor in which no two
        rows differ alone has no score.

    References:
        Dapueto, Noceti & Odone (2024), Transferring disentangled representations: bridging the gap between synthetic
        and real images, sec. 3. https://arxiv.org/abs/2409.18017

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(omes(factors, factors))
        1.0
    """
    rep = as_labelled(codes, factors, metric="omes")
    found = pair_correlations(rep, PairOptions(n_bins=n_bins, binning=binning), np.random.default_rng(0))
    return omes_score(found, alpha=alpha, pooling=pooling, sign=sign)


def omes_score(
    pairs: PairCorrelation, *, alpha: float = 0.5, pooling: Pooling = "best", sign: Sign = "positive"
) -> Score:
    """OMES of correlations over pairs."""
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be in [0, 1], got {alpha}.")
    check_choice("pooling", pooling, get_args(Pooling))
    check_choice("sign", sign, get_args(Sign))
    has_pairs = pairs.n_pairs > 0
    rho = pairs.matrix[:, has_pairs]
    moved: FloatArray = 1 - (np.abs(rho) if sign == "absolute" else np.maximum(rho, 0.0))
    scores = alpha * _pooled(overlap(moved), moved, pooling) + (1 - alpha) * _pooled(overlap(moved.T).T, moved, pooling)
    per_factor = np.full(len(has_pairs), np.nan)
    per_factor[has_pairs] = scores
    full = np.full((len(pairs.active), len(has_pairs)), np.nan)
    full[np.ix_(pairs.active, has_pairs)] = moved
    left_out = [name for name, there in zip(pairs.names, has_pairs, strict=True) if not there]
    notes = dead_code_notes(int((~pairs.active).sum()))
    if left_out:
        notes += (f"{quoted(left_out)}: no two rows differ in it alone, so that it has no score.",)
    return Score(
        value=float(scores.mean()),
        per_factor=per_factor,
        evidence={"moved": full, "pairs": pairs.n_pairs.astype(float)},
        notes=notes,
    )


def overlap(moved: FloatArray) -> FloatArray:
    """One minus the mean distance of each row of S from a row that has 1 in one place, for every place."""
    others = moved.sum(axis=1, keepdims=True) - moved
    found: FloatArray = 1 - (others + np.abs(1 - moved)) / moved.shape[1]
    return found


def _pooled(scores: FloatArray, moved: FloatArray, pooling: Pooling) -> FloatArray:
    """One number for each factor."""
    if pooling == "best":
        best: FloatArray = (scores * moved).max(axis=0)
        return best
    total = moved.sum(axis=0)
    mean: FloatArray = np.divide((scores * moved**2).sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    return mean


FEW_PAIRS = (
    "rows that agree in all factors but one are rarer, and in them the factor varies less, so that its code seems to "
    "move less."
)
NO_PAIRS = KnownFailure(
    cases=("composed/*", "copied/*", "tied_angles/*", "many_values/*"),
    sentence="Where a factor follows from the others, or combinations of values hardly repeat, no two rows differ in "
    "one factor alone.",
)
LESS_VARIED = KnownFailure(
    cases=("correlated/*", "hierarchical/*"),
    sentence="Where factors depend on each other, a factor varies less among rows that agree in all others, and its "
    "code seems to move less.",
)
NOISE_MOVES = KnownFailure(
    cases=("sparse/sparse_codes", "*/noise_*", "*/many_noise_codes", "*/nuisance_*", "*/jitter", "*cosines*"),
    sentence="A code of noise differs between any two rows, and counts as moved by every factor.",
)

ROWS = (
    Metric(
        name="omes",
        title="OMES (overlap and multiple encoding scores)",
        function=omes,
        source=PAIRS,
        score=omes_score,
        measures=(Property.MODULARITY, Property.COMPACTNESS),
        invariant_to=AXES,
        summary="Does a change of one factor alone move one code alone, and each code move with one factor?",
        reference="Dapueto et al. (2024), arXiv:2409.18017",
        misled_by_dependence=FEW_PAIRS,
        known_failures=(NO_PAIRS, LESS_VARIED, NOISE_MOVES, UNLABELLED_VARY, OUTLIERS, MIXES_DEPENDENT_FACTORS),
        other_names=("overlap_multiple_encoding",),
        in_default=False,
    ),
)
