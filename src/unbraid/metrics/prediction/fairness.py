"""Fairness of predictions from the codes: parity and odds between values of a sensitive factor, and its leakage."""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_choice, did_you_mean
from unbraid.evidence.fairness import FairnessOptions, GroupDistances, GroupFairness, group_fairness
from unbraid.metrics.table.metric import AXES, Cost, Invariance, KnownFailure, Metric, Property, not_one_number
from unbraid.metrics.table.sources import FAIRNESS
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score

FairnessPredictor = Literal["linear", "forest"]
REFERENCE = "Locatello et al. (2019), arXiv:1905.13662"


class Fairness(NamedTuple):
    """The four scores of one set of predictions."""

    parity: Score
    odds: Score
    leakage_linear: Score
    leakage_forest: Score

    def __float__(self) -> float:
        raise not_one_number(type(self).__name__, self._fields)


def fairness(
    codes: Any,
    factors: Any = None,
    *,
    sensitive: str | None = None,
    target: str | None = None,
    predictor: FairnessPredictor = "linear",
    n_cuts: int = 5,
    n_trees: int = 25,
    cross_fit: bool = True,
    rng: np.random.Generator | int = 0,
) -> Fairness:
    r"""Score how far predictions from the codes depend on a sensitive factor; lower is fairer.

    A predictor of the target y is fitted to all codes. With total variation distance, and s the sensitive factor,

    .. math::

        \text{parity} = \sum_s p(s)\, \mathrm{TV}\bigl(p(\hat y \mid s), p(\hat y)\bigr), \qquad
        \text{odds} = \sum_y p(y) \sum_s p(s \mid y)\, \mathrm{TV}\bigl(p(\hat y \mid y, s), p(\hat y \mid y)\bigr).

    Leakage is the share of a blind guess's errors that a linear model or a forest avoids when it predicts s itself.

    Args:
        codes: ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: ``(n_samples, n_factors)``, at least two.
        sensitive: Name of the sensitive factor, or several separated by commas; by default every factor in turn.
        target: Name of the target, or several; by default every other factor.
        predictor: Predictor of the target: ``"linear"`` (softmax regression) or ``"forest"``.
        n_cuts: Classes that numbers of more values are cut into.
        n_trees: Trees of each forest.
        cross_fit: Measure each difference with the sign that it has in other rows, so that differences of chance
            cancel; ``False`` adds up sizes, as published.
        rng: Source of chance, or its seed.

    Returns:
        Four scores in [0, 1], *lower* is better. ``evidence["matrix"]`` of parity and odds has a row for each target
        and a column for each sensitive factor, ``evidence["chance"]`` the same for a shuffled sensitive factor.

    Raises:
        ValueError: Fewer than two factors, too few rows, or a factor that is not there.

    References:
        Locatello et al. (2019), On the Fairness of Disentangled Representations, sec. 4.
        https://arxiv.org/abs/1905.13662. Hardt et al. (2016), Equality of Opportunity in Supervised Learning.
        https://arxiv.org/abs/1610.02413

    Example:
        >>> import numpy as np
        >>> v = np.random.default_rng(0).integers(0, 2, (400, 2))
        >>> found = fairness(v + 0.0, {"loan": v[:, 0], "sex": v[:, 1]}, sensitive="sex", target="loan")
        >>> found.odds.value, found.leakage_linear.value  # decisions do not depend on what the codes could tell
        (0.0, 1.0)
    """
    rep = as_labelled(codes, factors, metric="fairness", min_factors=2)
    found = group_fairness(
        rep, FairnessOptions(n_cuts=n_cuts, n_trees=n_trees, cross_fit=cross_fit), np.random.default_rng(rng)
    )
    return Fairness(
        parity_score(found, sensitive=sensitive, target=target, predictor=predictor),
        odds_score(found, sensitive=sensitive, target=target, predictor=predictor),
        linear_leakage(found, sensitive=sensitive),
        forest_leakage(found, sensitive=sensitive),
    )


def parity_score(
    found: GroupFairness,
    sensitive: str | None = None,
    target: str | None = None,
    predictor: FairnessPredictor = "linear",
) -> Score:
    """Demographic parity, averaged over targets and sensitive factors."""
    chosen = _predicted(found, predictor)
    return _over_pairs(found, chosen.parity, chosen.parity_chance, sensitive, target)


def odds_score(
    found: GroupFairness,
    sensitive: str | None = None,
    target: str | None = None,
    predictor: FairnessPredictor = "linear",
) -> Score:
    """Equalised odds, averaged over targets and sensitive factors."""
    chosen = _predicted(found, predictor)
    return _over_pairs(found, chosen.odds, chosen.odds_chance, sensitive, target)


def linear_leakage(found: GroupFairness, sensitive: str | None = None) -> Score:
    """Share of a blind guess's errors that a linear predictor of the sensitive factor avoids."""
    return _leakage(found, found.linear, sensitive)


def forest_leakage(found: GroupFairness, sensitive: str | None = None) -> Score:
    """Share of a blind guess's errors that a forest that predicts the sensitive factor avoids."""
    return _leakage(found, found.forest, sensitive)


def _predicted(found: GroupFairness, predictor: FairnessPredictor) -> GroupDistances:
    check_choice("predictor", predictor, get_args(FairnessPredictor))
    return found.linear if predictor == "linear" else found.forest


def _leakage(found: GroupFairness, read: GroupDistances, sensitive: str | None) -> Score:
    places = _places("sensitive", sensitive, found.factors)
    per_factor = np.full(len(found.factors), np.nan)
    per_factor[places] = np.maximum(read.reading[places], 0.0)
    return Score(value=float(per_factor[places].mean()), per_factor=per_factor, evidence={"unfloored": read.reading})


def _over_pairs(
    found: GroupFairness, matrix: FloatArray, chance: FloatArray, sensitive: str | None, target: str | None
) -> Score:
    """Mean over pairs; one value for each sensitive factor."""
    columns, rows = _places("sensitive", sensitive, found.factors), _places("target", target, found.factors)
    wanted = np.full(matrix.shape, np.nan)
    wanted[np.ix_(rows, columns)] = matrix[np.ix_(rows, columns)]
    known = np.isfinite(wanted)
    if not known.any():
        names = found.factors[columns[0]]
        raise ValueError(f"sensitive and target must be different factors, got {names!r} for both; name another.")
    counted = known.sum(axis=0)
    sums = np.where(known, wanted, 0.0).sum(axis=0)
    per_factor = np.where(counted > 0, sums / np.maximum(counted, 1), np.nan)
    return Score(
        value=max(0.0, float(wanted[known].mean())),
        per_factor=per_factor,
        evidence={"matrix": wanted, "chance": np.where(known, chance, np.nan)},
    )


def _places(argument: str, wanted: str | None, names: tuple[str, ...]) -> IntArray:
    """Return the numbers of the factors named, all by default."""
    if wanted is None:
        return np.arange(len(names))
    chosen = [wanted] if wanted in names else [part.strip() for part in str(wanted).split(",")]
    for name in chosen:
        if name not in names:
            raise ValueError(
                f"{argument} must name factors, of {', '.join(names)}, got {name!r}{did_you_mean(name, names)}."
            )
    return np.array([names.index(name) for name in chosen], dtype=np.intp)


TIED = KnownFailure(
    cases=("*",),
    sentence="It is low where the codes tell nothing of a factor, and a code for each factor makes each of them easy "
    "to read: fairness is not separation.",
)
TIED_GROUPS = "predictions of a factor differ between values of the factors that depend on it, however fair the codes."


def _row(headline: str, **own: Any) -> Metric:
    return Metric(
        name=f"fairness.{headline}",
        function=fairness,
        source=FAIRNESS,
        reference=REFERENCE,
        higher_is_better=False,
        has_null=False,
        cost=Cost.SECONDS,
        in_default=False,
        known_failures=(TIED,),
        **own,
    )


ROWS = (
    _row(
        "parity",
        title="Unfairness, demographic parity",
        score=parity_score,
        measures=(Property.MODULARITY,),
        summary="How far do predictions of a target differ between the values of a sensitive factor?",
        drawn_fit=True,
        min_factors=2,
        invariant_to=AXES | {Invariance.ROTATION},
        tolerance=0.02,
        misled_by_dependence=TIED_GROUPS,
        other_names=("demographic_parity", "unfairness"),
    ),
    _row(
        "odds",
        title="Unfairness, equalised odds",
        score=odds_score,
        measures=(Property.MODULARITY,),
        summary="How far do predictions differ between the values of a sensitive factor, given the truth?",
        drawn_fit=True,
        min_factors=2,
        invariant_to=AXES | {Invariance.ROTATION},
        tolerance=0.02,
        other_names=("equalized_odds", "equalised_odds"),
    ),
    _row(
        "leakage_linear",
        title="Sensitive factor read by a linear model",
        score=linear_leakage,
        measures=(Property.EXPLICITNESS,),
        summary="How well does a linear model read a sensitive factor from all codes? Lower is fairer.",
        invariant_to=AXES | {Invariance.ROTATION},
        tolerance=0.02,
        misled_by_dependence=TIED_GROUPS,
    ),
    _row(
        "leakage_forest",
        title="Sensitive factor read by a forest",
        score=forest_leakage,
        measures=(Property.EXPLICITNESS,),
        summary="How well does a forest read a sensitive factor from all codes? Lower is fairer.",
        invariant_to=AXES | {Invariance.WARPING},
        tolerance=0.03,
    ),
)
