"""Explicitness of Ridgeway and Mozer."""

from typing import Any

import numpy as np

from unbraid.evidence.information import Binning
from unbraid.evidence.linear.classifiers import Classifier, ClassifierOptions, SeparateOn, Separation, linear_separation
from unbraid.metrics.table.metric import (
    AXES,
    CeilingRule,
    Cost,
    Invariance,
    KnownFailure,
    Metric,
    OneFactor,
    Preset,
    Property,
)
from unbraid.metrics.table.sources import SEPARATION
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


def explicitness(
    codes: Any,
    factors: Any = None,
    *,
    classifier: Classifier = "one_vs_rest",
    normalised: bool = False,
    evaluate_on: SeparateOn = "held_out",
    n_bins: int = 20,
    binning: Binning = "robust",
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how well a linear classifier separates the values of each factor.

    For every value of a factor, the area under the ROC curve of a logistic regression that picks the value out;
    averaged over values, then over factors. Chance is 0.5.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; continuous ones are binned.
        classifier: ``"one_vs_rest"`` as in the paper; ``"multinomial"`` fits all values together, as
            disentanglement_lib does, and finds middle values that one line cannot cut out;
            ``"one_vs_rest_shares"``, as another published library does: codes scaled to [0, 1], the value and the rest
            weighted alike, and probabilities divided by their sum over the values.
        normalised: Rescale so that chance is 0: :math:`(\mathrm{AUC} - 1/2) / (1/2)`.
        evaluate_on: ``"held_out"`` rows, the ``"fitted"`` ones (70 %), or ``"all"`` rows, fitted and tested on.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.
        rng: Chooses the held-out rows, or its seed.

    Returns:
        A score in [0, 1], higher is better. A value missing from the held-out rows is left out of the mean.

    References:
        Ridgeway & Mozer (2018), Learning Deep Disentangled Embeddings with the
        F-Statistic Loss, sec. 3. https://arxiv.org/abs/1802.05312

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 2, (500, 2))
        >>> float(explicitness(factors + 0.0, factors))
        1.0
    """
    rep = as_labelled(codes, factors, metric="explicitness")
    options = ClassifierOptions(classifier=classifier, evaluate_on=evaluate_on, n_bins=n_bins, binning=binning)
    return explicitness_score(linear_separation(rep, options, np.random.default_rng(rng)), normalised=normalised)


def explicitness_score(separation: Separation, *, normalised: bool = False) -> Score:
    """Explicitness of the separation of values."""
    per_factor = separation.auc
    if normalised:
        per_factor = np.maximum(0.0, 2 * per_factor - 1)
    return Score(value=float(per_factor.mean()), per_factor=per_factor, evidence={"auc": separation.auc})


def _ceiling(factor: OneFactor) -> float:
    """On one code, the i-th of n values is separated at best from the larger of the values before and after it."""
    if factor.kind == "circular" or factor.options.get("classifier", "one_vs_rest") != "one_vs_rest":
        return 1.0
    n = factor.levels or int(factor.options.get("n_bins", 20))
    area = sum(max(i, n - 1 - i) for i in range(n)) / (n * (n - 1)) if n > 1 else 1.0
    return 2 * area - 1 if factor.options.get("normalised") else area


ROWS = (
    Metric(
        name="explicitness",
        title="Explicitness",
        function=explicitness,
        source=SEPARATION,
        score=explicitness_score,
        measures=(Property.EXPLICITNESS,),
        invariant_to=AXES | {Invariance.ROTATION},
        tolerance=0.01,
        cost=Cost.QUICK,
        summary="Can a linear classifier separate the values of each factor? Chance is 0.5.",
        reference="Ridgeway & Mozer (2018), arXiv:1802.05312",
        presets=frozenset({Preset.VAE, Preset.EMBEDDINGS, Preset.SINGLE_CELL}),
        ceiling=CeilingRule(
            of=_ceiling, why="no linear classifier separates a value that lies between others on one code"
        ),
        known_failures=(
            KnownFailure(
                cases=("*/noise_*",),
                sentence="It is an area under the ROC curve, for which chance is 0.5; normalised=True moves chance to "
                "0.",
            ),
            KnownFailure(
                cases=("*/identity",),
                sentence="One linear classifier for each value cannot separate a value that lies between others, and "
                "how many values do depends on the number of values.",
            ),
        ),
        other_names=("modularity_explicitness",),
    ),
)
