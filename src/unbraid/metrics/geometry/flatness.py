"""Shape of traversals: flatness, linearity and axis alignment, and whether distances of codes follow the factors."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_choice
from unbraid._base.stats import average_ranks
from unbraid._base.text import quoted
from unbraid.evidence.one_factor.traversals import FactorTraversals, TraversalOptions, Traversals, traversals
from unbraid.metrics.table.metric import Invariance, KnownFailure, Metric, Property, dead_code_notes, not_one_number
from unbraid.metrics.table.sources import TRAVERSALS
from unbraid.metrics.table.weaknesses import OUTLIERS, UNLABELLED_VARY
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score

Norm = Literal["mixed", "l1", "l2"]
DistanceNorm = Literal["l1", "l2"]
#: Cells of the distances of a part of the traversals that are computed at once.
CHUNK_CELLS = 4_000_000


def flatness(
    codes: Any,
    factors: Any = None,
    *,
    norm: Norm = "mixed",
    n_traversals: int = 1024,
    n_cuts: int = 5,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score whether codes move straight along one axis while a factor takes its values in turn.

    A traversal of a factor is a set of rows that agree in all other factors, one row for each value. Its width is the
    largest distance between two of its codes, its length the sum of the steps from value to value around the circle,
    without the largest step. The score of a factor is the mean width over the mean length.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, of which rows must contain traversals: a grid, or many
            rows.
        norm: ``"mixed"``: width in the Euclidean norm over length in the sum of absolute differences, which is 1 for a
            straight line along an axis and :math:`1/\sqrt{d}` for one at equal angles to d axes; ``"l1"`` or ``"l2"``:
            both in one norm.
        n_traversals: Traversals of each factor at most.
        n_cuts: Parts of equally many rows that a continuous factor is cut into.
        rng: Source of chance, or its seed: the choice of rows where combinations repeat.

    Returns:
        A score in [0, 1], higher is better. A factor that moves no code scores 0; one without traversals has no score.

    References:
        Michlo (2021), disent 0.8, ``metric_flatness``. https://github.com/nmichlo/disent

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> float(flatness(grid, grid))
        1.0
    """
    rep = as_labelled(codes, factors, metric="flatness")
    options = TraversalOptions(n_traversals=n_traversals, n_cuts=n_cuts)
    return flatness_score(traversals(rep, options, np.random.default_rng(rng)), norm=norm)


class Linearity(NamedTuple):
    """Shape of traversals by their variance, :func:`linearity`."""

    linear_ratio: Score
    axis_ratio: Score
    axis_alignment: Score

    def __float__(self) -> float:
        raise not_one_number(type(self).__name__, self._fields)


def linearity(
    codes: Any,
    factors: Any = None,
    *,
    n_traversals: int = 1024,
    n_cuts: int = 5,
    rng: np.random.Generator | int = 0,
) -> Linearity:
    r"""Score how much of the variance of a traversal lies along one line, and along one axis.

    With :math:`\lambda` the eigenvalues of the covariance of a traversal and :math:`s` the variances of its L codes,
    the linear ratio is :math:`\lambda_{\max} / \sum \lambda`, the axis ratio :math:`s_{\max} / \sum s`, both rescaled
    so that 1/L is 0, and the axis alignment the second over the first. Each is averaged over traversals; the score
    is the geometric mean over factors.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, as for :func:`flatness`.
        n_traversals: Traversals of each factor at most.
        n_cuts: Parts of equally many rows that a continuous factor is cut into.
        rng: Source of chance, or its seed.

    Returns:
        Scores in [0, 1], higher is better, by name. A factor that moves no code scores 0, and so does the mean.

    References:
        disent 0.8, ``metric_linearity``. https://github.com/nmichlo/disent

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> round(float(linearity(grid, grid).axis_alignment), 12)
        1.0
    """
    rep = as_labelled(codes, factors, metric="linearity")
    options = TraversalOptions(n_traversals=n_traversals, n_cuts=n_cuts)
    found = traversals(rep, options, np.random.default_rng(rng))
    return Linearity(linear_ratio_score(found), axis_ratio_score(found), axis_alignment_score(found))


class Distances(NamedTuple):
    """Agreement of distances of codes and of factor values, :func:`distances`."""

    rank: Score
    linear: Score
    order: Score

    def __float__(self) -> float:
        raise not_one_number(type(self).__name__, self._fields)


def distances(
    codes: Any,
    factors: Any = None,
    *,
    norm: DistanceNorm = "l2",
    n_traversals: int = 1024,
    n_cuts: int = 5,
    rng: np.random.Generator | int = 0,
) -> Distances:
    """Score whether codes of one traversal are as far apart as the values of the factor.

    Over pairs of rows of a traversal, the distance of the codes is held against the number of steps between the values:
    by Spearman's correlation (``rank``), by Pearson's (``linear``), and by the share of triplets in which the nearer of
    two values to a third is the nearer one in the codes too (``order``). Pairs of all traversals of a factor count
    together; the score is the mean over factors.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, as for :func:`flatness`. Along an angle the shorter way
            round counts; between values of a category all distances are 1, so that a category has no score.
        norm: Norm of the distance of codes.
        n_traversals: Traversals of each factor at most.
        n_cuts: Parts of equally many rows that a continuous factor is cut into.
        rng: Source of chance, or its seed.

    Returns:
        Scores by name, higher is better: correlations in [-1, 1], a share in [0, 1].

    References:
        disent 0.8, ``metric_distances``. https://github.com/nmichlo/disent

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> [round(float(score), 12) for score in distances(grid, grid)]
        [1.0, 1.0, 1.0]
    """
    rep = as_labelled(codes, factors, metric="distances")
    options = TraversalOptions(n_traversals=n_traversals, n_cuts=n_cuts)
    found = traversals(rep, options, np.random.default_rng(rng))
    scores = (distance_rank_score, distance_linear_score, distance_order_score)
    return Distances(*(score(found, norm=norm) for score in scores))


def flatness_score(found: Traversals, *, norm: Norm = "mixed") -> Score:
    """Flatness of traversals."""
    check_choice("norm", norm, get_args(Norm))
    of_width, of_length = {"mixed": (2, 1), "l1": (1, 1), "l2": (2, 2)}[norm]

    def one(factor: FactorTraversals) -> float:
        width = length = 0.0
        for codes, _ in _chunks(factor):
            width += _distances(codes, of_width).max(axis=(1, 2)).sum()
            steps = np.linalg.norm(np.roll(codes, -1, axis=1) - codes, ord=of_length, axis=2)
            length += (steps.sum(axis=1) - steps.max(axis=1)).sum()
        return width / length if length > 0 else 0.0

    return _score(found, one)


def linear_ratio_score(found: Traversals) -> Score:
    """Share of the variance of traversals along one line."""
    return _score(found, lambda factor: _mean_ratio(factor, _line_share), geometric=True)


def axis_ratio_score(found: Traversals) -> Score:
    """Share of the variance of traversals along one axis."""
    return _score(found, lambda factor: _mean_ratio(factor, _axis_share), geometric=True)


def axis_alignment_score(found: Traversals) -> Score:
    """Share along one axis over share along one line."""

    def aligned(codes: FloatArray) -> FloatArray:
        line = _line_share(codes)
        return np.divide(_axis_share(codes), line, out=np.zeros_like(line), where=line > 0)

    return _score(found, lambda factor: _mean_ratio(factor, aligned), geometric=True)


def distance_rank_score(found: Traversals, *, norm: DistanceNorm = "l2") -> Score:
    """Spearman's correlation of distances."""
    return _score(found, lambda factor: _correlation(*map(_ranks, _pairs(factor, norm))))


def distance_linear_score(found: Traversals, *, norm: DistanceNorm = "l2") -> Score:
    """Pearson's correlation of distances."""
    return _score(found, lambda factor: _correlation(*_pairs(factor, norm)))


def distance_order_score(found: Traversals, *, norm: DistanceNorm = "l2") -> Score:
    """Share of triplets in the same order; a triplet of two equal distances of values is none."""
    check_choice("norm", norm, get_args(DistanceNorm))

    def one(factor: FactorTraversals) -> float:
        same = total = 0
        for codes, values in _chunks(factor):
            of_codes, of_values = _distances(codes, int(norm[1])), factor.distances(values)
            # From row a, pairs of other rows b: (n_traversals, a, b, b'). A row is nearest to itself in any codes.
            other = ~np.eye(of_values.shape[1], dtype=bool)
            others = other[:, :, None] & other[:, None, :]
            by_values = np.sign(of_values[:, :, :, None] - of_values[:, :, None, :])
            by_codes = np.sign(of_codes[:, :, :, None] - of_codes[:, :, None, :])
            told = (by_values != 0) & others
            same, total = same + int((by_values == by_codes)[told].sum()), total + int(told.sum())
        return same / total if total else np.nan

    return _score(found, one)


def _score(found: Traversals, one: Callable[[FactorTraversals], float], *, geometric: bool = False) -> Score:
    """Mean over the factors that have traversals and a value, with notes on the others."""
    per_factor = np.array([one(factor) if factor.parts else np.nan for factor in found.by_factor])
    known = per_factor[np.isfinite(per_factor)]
    if not len(known):
        raise ValueError("no factor has traversals of which the score is defined, which needs a factor with an order.")
    mean = float(np.exp(np.log(np.maximum(known, 1e-300)).mean())) if geometric else float(known.mean())
    value = 0.0 if geometric and known.min() <= 0 else mean
    counts = np.array([[factor.n_traversals, factor.n_values] for factor in found.by_factor], dtype=float)
    notes = dead_code_notes(int((~found.active).sum()))
    without = [factor.name for factor in found.by_factor if not factor.parts]
    if without:
        notes += (f"{quoted(without)}: no rows agree in all other factors, so that it has no score.",)
    partly = [factor for factor in found.by_factor if 0 < factor.n_values < factor.n_levels]
    if partly:
        names = quoted([factor.name for factor in partly])
        notes += (f"{names}: traversals lack values; with fewer values a bent path looks straighter.",)
    return Score(value=value, per_factor=per_factor, evidence={"traversals": counts}, notes=notes)


def _chunks(factor: FactorTraversals) -> list[tuple[FloatArray, Any]]:
    """Parts of the traversals, few enough at once for distances of all pairs of rows."""
    found = []
    for codes, values in factor.parts:
        n_values, n_codes = codes.shape[1:]
        step = max(1, CHUNK_CELLS // (n_values**2 * max(n_codes, n_values)))
        found += [(codes[start : start + step], values[start : start + step]) for start in range(0, len(codes), step)]
    return found


def _distances(codes: FloatArray, order: int) -> FloatArray:
    """Distances of all pairs of rows of each traversal, ``(n_traversals, n_values, n_values)``."""
    found: FloatArray = np.linalg.norm(codes[:, :, None, :] - codes[:, None, :, :], ord=order, axis=3)
    return found


def _mean_ratio(factor: FactorTraversals, share: Callable[[FloatArray], FloatArray]) -> float:
    return float(np.concatenate([share(codes) for codes, _ in factor.parts]).mean())


def _line_share(codes: FloatArray) -> FloatArray:
    """Largest eigenvalue of the covariance of each traversal over their sum, rescaled."""
    centred = codes - codes.mean(axis=1, keepdims=True)
    n_values, n_codes = codes.shape[1:]
    flipped = centred.swapaxes(1, 2)
    gram = centred @ flipped if n_values <= n_codes else flipped @ centred
    return _rescaled(np.linalg.eigvalsh(gram)[:, -1], np.trace(gram, axis1=1, axis2=2), n_codes)


def _axis_share(codes: FloatArray) -> FloatArray:
    """Largest variance of a code of each traversal over their sum, rescaled."""
    variances = codes.var(axis=1)
    return _rescaled(variances.max(axis=1), variances.sum(axis=1), codes.shape[2])


def _rescaled(largest: FloatArray, total: FloatArray, n_codes: int) -> FloatArray:
    """Share of the largest of n, so that equal parts are 0; 0 where nothing moves."""
    share = np.divide(largest, total, out=np.full_like(total, 1 / n_codes), where=total > 0)
    return np.clip((share - 1 / n_codes) / (1 - 1 / n_codes), 0.0, 1.0) if n_codes > 1 else np.sign(total)


def _pairs(factor: FactorTraversals, norm: DistanceNorm) -> tuple[FloatArray, FloatArray]:
    """Distances of values and of codes over all pairs of rows of all traversals of a factor."""
    check_choice("norm", norm, get_args(DistanceNorm))
    of_values, of_codes = [], []
    for codes, values in _chunks(factor):
        first, second = np.triu_indices(values.shape[1], 1)
        of_values.append(factor.distances(values)[:, first, second].ravel())
        of_codes.append(_distances(codes, int(norm[1]))[:, first, second].ravel())
    return np.concatenate(of_values).astype(float), np.concatenate(of_codes)


def _ranks(values: FloatArray) -> FloatArray:
    return average_ranks(np.round(values, 9)[:, None])[:, 0]


def _correlation(first: FloatArray, second: FloatArray) -> float:
    """Pearson's correlation; NaN where the values of the factor are all equally far apart, 0 where codes are."""
    first, second = first - first.mean(), second - second.mean()
    if not first.any():
        return np.nan
    size = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / size) if size > 0 else 0.0


SHARED: Any = {
    "source": TRAVERSALS,
    "reference": "Michlo (2021), disent 0.8, github.com/nmichlo/disent",
    "in_default": False,
}
NO_TRAVERSALS = KnownFailure(
    cases=("composed/*", "copied/*", "tied_angles/*", "many_values/*"),
    sentence="Where a factor follows from the others, or combinations of values hardly repeat, rows contain no "
    "traversal.",
)
FEW_VALUES = KnownFailure(
    cases=("*/noise_*", "*/nuisance_mixed", "few_rows/*"),
    sentence="A path through few points of noise is not long, so that noise scores far above 0.",
)
TWO_VALUES = KnownFailure(
    cases=("sparse/*", "hierarchical*/*"),
    sentence="The values of a factor of two values are all equally far apart.",
)
ADDS_NOISE = KnownFailure(
    cases=(
        "sparse/sparse_codes",
        "*/noise_code",
        "*/many_noise_codes",
        "*/nuisance_code",
        "*/jitter",
        "continuous/*",
        "*cosines*",
    ),
    sentence="Codes of noise, and other factors that vary within a bin, move along every traversal.",
)
SCALE_DECIDES = KnownFailure(
    cases=("*/several_views", "*/bent_copy", "*/duplicated", "*/circles"),
    sentence="It adds up distances over codes, so that a copy of small scale hardly counts.",
)
GROUPED = "rows that agree in all factors but one are rarer, and have other values of the factor."
ONLY_PERMUTED = frozenset({Invariance.PERMUTATION})
TURNED = frozenset({Invariance.PERMUTATION, Invariance.ROTATION})
FAILURES = (NO_TRAVERSALS, FEW_VALUES, ADDS_NOISE, SCALE_DECIDES, UNLABELLED_VARY, OUTLIERS)

ROWS = (
    Metric(
        name="flatness",
        title="Flatness",
        function=flatness,
        score=flatness_score,
        measures=(Property.COMPACTNESS,),
        invariant_to=ONLY_PERMUTED,
        summary="Do codes move straight along one axis while a factor takes its values in turn?",
        misled_by_dependence=GROUPED,
        known_failures=FAILURES,
        **SHARED,
    ),
    Metric(
        name="linearity.linear_ratio",
        title="Linear ratio of traversals",
        function=linearity,
        score=linear_ratio_score,
        measures=(Property.COMPACTNESS,),
        invariant_to=TURNED,
        summary="How much of the variance of a traversal lies along one line?",
        misled_by_dependence=GROUPED,
        known_failures=FAILURES,
        **SHARED,
    ),
    Metric(
        name="linearity.axis_ratio",
        title="Axis ratio of traversals",
        function=linearity,
        score=axis_ratio_score,
        measures=(Property.COMPACTNESS,),
        invariant_to=ONLY_PERMUTED,
        summary="How much of the variance of a traversal lies along one axis?",
        misled_by_dependence=GROUPED,
        known_failures=FAILURES,
        **SHARED,
    ),
    Metric(
        name="linearity.axis_alignment",
        title="Axis alignment of traversals",
        function=linearity,
        score=axis_alignment_score,
        measures=(Property.COMPACTNESS,),
        invariant_to=ONLY_PERMUTED,
        summary="Is the line along which a traversal varies one of the axes?",
        misled_by_dependence=GROUPED,
        known_failures=FAILURES,
        **SHARED,
    ),
    Metric(
        name="distances.rank",
        title="Rank correlation of distances",
        function=distances,
        score=distance_rank_score,
        measures=(Property.EXPLICITNESS,),
        bounds=(-1.0, 1.0),
        invariant_to=TURNED,
        summary="Are codes the farther apart, the farther apart the values of a factor are?",
        misled_by_dependence=GROUPED,
        known_failures=(TWO_VALUES, *FAILURES),
        **SHARED,
    ),
    Metric(
        name="distances.linear",
        title="Linear correlation of distances",
        function=distances,
        score=distance_linear_score,
        measures=(Property.EXPLICITNESS,),
        bounds=(-1.0, 1.0),
        invariant_to=TURNED,
        summary="Are codes as far apart as the values of a factor?",
        misled_by_dependence=GROUPED,
        known_failures=(TWO_VALUES, *FAILURES),
        **SHARED,
    ),
    Metric(
        name="distances.order",
        title="Order of distances",
        function=distances,
        score=distance_order_score,
        measures=(Property.EXPLICITNESS,),
        invariant_to=TURNED,
        summary="Is the nearer of two values of a factor the nearer one in the codes?",
        misled_by_dependence=GROUPED,
        known_failures=(TWO_VALUES, *FAILURES),
        **SHARED,
    ),
)
