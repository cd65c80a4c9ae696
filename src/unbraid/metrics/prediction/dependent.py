"""Modularity, compactness, explicitness, minimality and sufficiency, valid for dependent factors."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.evidence.cross_prediction import CrossPrediction, CrossPredictionOptions, cross_prediction
from unbraid.evidence.regressors import (
    ErrorKind,
    RegressorName,
    Scaling,
    check_given,
    check_groups,
    check_vectors,
)
from unbraid.metrics.table.metric import AXES, Cost, Invariance, KnownFailure, Metric, Preset, Property, not_one_number
from unbraid.metrics.table.sources import CROSS_PREDICTION
from unbraid.metrics.table.weaknesses import ALMUDEVAR
from unbraid.probes.splits import Predictions
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


class Dependent(NamedTuple):
    """The five scores of one set of fits."""

    modularity: Score
    compactness: Score
    explicitness: Score
    minimality: Score
    sufficiency: Score

    def __float__(self) -> float:
        raise not_one_number(type(self).__name__, self._fields)


def dependent(
    codes: Any,
    factors: Any = None,
    *,
    regressor: RegressorName | Any = "forest",
    error: ErrorKind = "absolute",
    predictions: Predictions = "cross_fitted",
    scaling: Scaling = "spread",
    groups: Sequence[Sequence[int]] | str | None = None,
    vectors: Sequence[Sequence[str]] | str | None = None,
    given: Mapping[str, Sequence[str]] | str | None = None,
    n_folds: int = 2,
    n_trees: int = 30,
    min_leaf: int = 5,
    max_rows: int = 20_000,
    rng: np.random.Generator | int = 0,
) -> Dependent:
    r"""Score a representation by conditional statements, which remain valid for dependent factors.

    A code is modular if, its main factor known, the other factors say nothing more about it:
    :math:`p(z_j \mid y_i) = p(z_j \mid y)`. Regressions predict :math:`z_j` from :math:`y_i` and from all of
    :math:`y`; modularity is how closely the two predictions agree. Compactness is the same with codes and factors
    exchanged. Minimality and sufficiency compare with the truth in place of the second prediction; explicitness asks
    how well all codes together predict a factor. Every error is divided by what the same regression makes of noise.
    See :func:`dependent_modularity` and its neighbours for the formulas.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`y`, shape ``(n_samples, n_factors)``, at least two; only rows with all labels are used.
        regressor: ``"forest"`` (random forest), ``"extra"`` (extremely randomised trees), ``"linear"``, or any
            scikit-learn regressor.
        error: ``"absolute"`` (the paper's) or ``"squared"``.
        predictions: ``"cross_fitted"``, ``"held_out"`` (a fifth of the rows) or ``"in_sample"``.
        scaling: ``"spread"``: each error as a share of a blind guess's error, so that what cannot be predicted scores 0
            whatever its distribution; ``"range"``: variables scaled to [0, 1] only, as in the paper.
        groups: Columns that make up each code, such as ``[[0, 1], [2]]``; by default every column is a code. Columns
            left out are not looked at. Text such as ``"0+1,2"`` means the same, and ``"blocks"`` the blocks of the
            representation.
        vectors: Names of factors that make up one vector-valued factor, such as ``[["x", "y"]]`` or ``"x+y"``: the
            vector is known and predicted as a whole, with the mean error of its factors.
        given: Factors that are known beside a factor, such as its causes: ``{"size": ["shape"]}`` or ``"size:shape"``.
            Modularity then asks whether any other factor adds to the two; minimality whether the two explain the code.
        n_folds: Parts for cross-fitting.
        n_trees: Trees of each forest.
        min_leaf: Fewest rows in a leaf.
        max_rows: Rows used at most, drawn at random.
        rng: Source of chance, or its seed.

    Returns:
        Five scores in [0, 1], higher is better. Matrices of codes (or groups) by factors are in ``evidence``.

    Raises:
        ValueError: Fewer than two factors, fewer than 20 rows with all labels, or an option out of range.

    Note:
        Unchanged by the order and scale of codes; all but modularity and minimality also by increasing curves on them.
        Codes that never change are left out.

    References:
        Almudévar et al. (2024), Defining and Measuring Disentanglement for non-Independent Factors of Variation,
        Algorithms 1 to 4, with ``max`` for the printed ``min``. https://arxiv.org/abs/2408.07016

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> y = rng.normal(size=(2000, 2)) @ [[1, 0.8], [0, 0.6]]
        >>> scores = dependent(y**3, y)  # curved, but each code is one factor
        >>> scores.modularity.value > 0.95, scores.sufficiency.value > 0.95
        (True, True)
    """
    rep = as_labelled(codes, factors, metric="dependent", min_factors=2)
    options = CrossPredictionOptions(
        regressor=regressor,
        error=error,
        predictions=predictions,
        scaling=scaling,
        groups=check_groups(groups),
        vectors=check_vectors(vectors),
        given=check_given(given),
        n_folds=n_folds,
        n_trees=n_trees,
        min_leaf=min_leaf,
        max_rows=max_rows,
    )
    found = cross_prediction(rep, options, np.random.default_rng(rng))
    return Dependent(
        dependent_modularity(found),
        dependent_compactness(found),
        dependent_explicitness(found),
        dependent_minimality(found),
        dependent_sufficiency(found),
    )


def dependent_modularity(found: CrossPrediction) -> Score:
    r"""Score whether each code is explained by one factor as well as by all of them (Algorithm 1).

    .. math:: \bar m = \sum_j \bar\alpha_j \max_i m_{ij}, \quad
        m_{ij} = \max\Bigl(0, 1 - \frac{E(g_{ij}(y_i), f_j(y))}{E(g^*_i(y_i), \epsilon)}\Bigr), \quad
        \alpha_j = \max\Bigl(0, 1 - \frac{E(f_j(y), z_j)}{E(f^*(y), \epsilon)}\Bigr)

    with :math:`f_j` and :math:`g_{ij}` fitted to predict code :math:`z_j` from all factors and from factor
    :math:`y_i`, and :math:`f^*`, :math:`g^*_i` to predict noise :math:`\epsilon`. A code that the factors do not
    predict better than its mean has no weight. Per factor: the most modular code among those with weight.
    """
    weights = _weights(found)
    matrix = _shares(found.of_codes.gap)
    return _over_codes(found, "modularity", np.where(weights[:, None] > 0, matrix, np.nan), matrix, weights)


def dependent_minimality(found: CrossPrediction) -> Score:
    r"""Score whether each code encodes one factor and nothing else: no other factor, no nuisance (Algorithm 3).

    .. math:: \bar m = \sum_j \bar\alpha_j \max_i m_{ij}, \quad
        m_{ij} = \max\Bigl(0, 1 - \frac{E(g_{ij}(y_i), z_j)}{E(g^*_i(y_i), \epsilon)}\Bigr)

    with weights as for modularity; for single codes read ``per_code``, where a code full of nuisance has 0.
    """
    matrix = _shares(found.of_codes.alone)
    return _over_codes(found, "minimality", matrix, matrix, _weights(found))


def dependent_compactness(found: CrossPrediction) -> Score:
    r"""Score whether each factor is predicted from one code as well as from all of them (Algorithm 2).

    .. math:: \bar c = \frac1K \sum_i \max_j c_{ij}, \quad
        c_{ij} = \max\Bigl(0, 1 - \frac{E(g_{ij}(z_j), f_i(z))}{E(g^*_j(z_j), \epsilon)}\Bigr)

    A factor that no code predicts has two blind predictions that agree by chance: a note names it.
    """
    matrix = _shares(found.of_factors.gap).T
    lost = [name for name, beats in zip(found.factor_names, found.of_factors.beats_blind, strict=True) if not beats]
    notes = [
        f"Factor {name!r} cannot be predicted from the codes; its compactness only compares two blind guesses. "
        "Read sufficiency."
        for name in lost
    ]
    per_code = np.where(found.of_factors.beats_blind > 0, matrix, np.nan)
    return _over_factors(found, "compactness", matrix, per_code, notes)


def dependent_sufficiency(found: CrossPrediction) -> Score:
    r"""Score whether one code alone predicts each factor (Algorithm 4).

    .. math:: \bar s = \frac1K \sum_i \max_j s_{ij}, \quad
        s_{ij} = \max\Bigl(0, 1 - \frac{E(g_{ij}(z_j), y_i)}{E(g^*_j(z_j), \epsilon)}\Bigr)
    """
    matrix = _shares(found.of_factors.alone).T
    return _over_factors(found, "sufficiency", matrix, matrix, [])


def dependent_explicitness(found: CrossPrediction) -> Score:
    r"""Score how well all codes together predict each factor (Algorithm 2).

    .. math:: \bar e = \frac1K \sum_i e_i, \quad
        e_i = \max\Bigl(0, 1 - \frac{E(f_i(z), y_i)}{E(f^*(z), \epsilon)}\Bigr)
    """
    shares = _shares(found.of_factors.together)
    return Score(value=float(shares.mean()), per_factor=_by_factor(found, shares))


NO_WEIGHT = "The factors do not predict any code better than a blind guess, so no code has weight: defined as 0."
ONE_CODE = "There is one code (or group) that changes, so it is as good as all of them by itself."


def _shares(errors: FloatArray) -> FloatArray:
    """Turn errors as a share of noise into scores; rounding must not lift one above 1."""
    return np.clip(1 - errors, 0.0, 1.0)


def _weights(found: CrossPrediction) -> FloatArray:
    """Alpha of each active code, before it is scaled to sum 1."""
    return _shares(found.of_codes.together) * found.of_codes.beats_blind


def _over_codes(
    found: CrossPrediction, name: str, by_factor: FloatArray, matrix: FloatArray, weights: FloatArray
) -> Score:
    best, total = matrix.max(axis=1), weights.sum()
    evidence = {name: _placed(found, matrix), "code_weights": _placed(found, weights)}
    return Score(
        value=float(weights @ best / total) if total > 0 else 0.0,
        per_code=_by_column(found, best),
        per_factor=_by_factor(found, _best(by_factor, axis=0)),
        evidence=evidence,
        notes=() if total > 0 else (NO_WEIGHT,),
    )


def _over_factors(
    found: CrossPrediction, name: str, matrix: FloatArray, per_code: FloatArray, notes: list[str]
) -> Score:
    best = matrix.max(axis=0)
    if len(found.live) == 1:
        notes = [*notes, ONE_CODE]
    return Score(
        value=float(best.mean()),
        per_factor=_by_factor(found, best),
        per_code=_by_column(found, _best(per_code, axis=1)),
        evidence={name: _placed(found, matrix)},
        notes=tuple(notes),
    )


def _best(matrix: FloatArray, *, axis: int) -> FloatArray:
    """Largest entry that is a number; NaN where there is none."""
    largest: FloatArray = np.where(np.isnan(matrix), -np.inf, matrix).max(axis=axis)
    return np.where(np.isfinite(largest), largest, np.nan)


def _placed(found: CrossPrediction, live: FloatArray) -> FloatArray:
    """Put rows of active codes at their place among all codes; NaN for constant codes."""
    placed = np.full((found.n_groups, *live.shape[1:]), np.nan)
    placed[found.live] = live
    return placed


def _by_factor(found: CrossPrediction, values: FloatArray) -> FloatArray:
    """Give every column of factors the value of its factor."""
    if not found.factor_members:
        return values
    columns = np.full(found.n_factors, np.nan)
    for members, value in zip(found.factor_members, values, strict=True):
        columns[list(members)] = value
    return columns


def _by_column(found: CrossPrediction, live: FloatArray) -> FloatArray:
    """Give every column the value of its code; NaN for columns of no active code."""
    columns = np.full(found.n_codes, np.nan)
    for members, value in zip(found.members, _placed(found, live), strict=True):
        columns[list(members)] = value
    return columns


def _row(headline: str, **own: Any) -> Metric:
    """Return one row of the family; its evidence is costly, so the default panel leaves it out."""
    return Metric(
        name=f"dependent.{headline}",
        title=f"{headline.capitalize()}, dependent factors",
        function=dependent,
        source=CROSS_PREDICTION,
        reference=ALMUDEVAR,
        tolerance=0.03,
        cost=Cost.SECONDS,
        in_default=False,
        presets=frozenset({Preset.IDENTIFIABILITY}),
        **own,
    )


ROWS = (
    _row(
        "modularity",
        score=dependent_modularity,
        measures=(Property.MODULARITY,),
        summary="Does one factor explain each code as well as all factors do?",
        invariant_to=AXES,
        min_factors=2,
        replaces_under_dependence=(Property.MODULARITY, Property.ORTHOGONALITY),
    ),
    _row(
        "compactness",
        score=dependent_compactness,
        measures=(Property.COMPACTNESS,),
        summary="Does one code predict each factor as well as all codes do?",
        invariant_to=AXES | {Invariance.WARPING},
        replaces_under_dependence=(Property.COMPACTNESS,),
        known_failures=(
            KnownFailure(
                cases=("*/noise_*", "*_shuffled/*"),
                sentence="It compares the predictions of one code with those of all codes. Where no code predicts the "
                "factor, both are blind guesses, which differ only by how far the forests overfit.",
                source=ALMUDEVAR,
            ),
        ),
    ),
    _row(
        "explicitness",
        score=dependent_explicitness,
        measures=(Property.EXPLICITNESS,),
        summary="Do all codes together predict each factor?",
        invariant_to=AXES | {Invariance.WARPING},
        replaces_under_dependence=(Property.EXPLICITNESS,),
    ),
    _row(
        "minimality",
        score=dependent_minimality,
        measures=(Property.MODULARITY,),
        summary="Does each code encode one factor and nothing else, no nuisance either?",
        invariant_to=AXES,
        replaces_under_dependence=(Property.MODULARITY,),
    ),
    _row(
        "sufficiency",
        score=dependent_sufficiency,
        measures=(Property.COMPACTNESS, Property.EXPLICITNESS),
        summary="Does one code alone predict each factor?",
        invariant_to=AXES | {Invariance.WARPING},
        replaces_under_dependence=(Property.COMPACTNESS,),
    ),
)
