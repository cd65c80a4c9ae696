"""InfoMEC: modularity, compactness and explicitness in terms of information."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.evidence.counting import BiasCorrection
from unbraid.evidence.information import Binning, InformationOptions, InformationTable, information_table
from unbraid.evidence.linear.classifiers import (
    EvaluateOn,
    PredictiveInformation,
    PredictiveOptions,
    predictive_information,
)
from unbraid.metrics.information.gaps import BINNED, information_weights, mean_over_codes, share_of
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
    Trait,
    binning_notes,
    dead_code_notes,
    not_one_number,
)
from unbraid.metrics.table.sources import INFORMATION, PREDICTIVE
from unbraid.metrics.table.weaknesses import INDIRECT_INFORMATION, OUTLIERS
from unbraid.probes.splits import TEST_SHARE
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


class InfoMEC(NamedTuple):
    """The three scores."""

    modularity: Score
    compactness: Score
    explicitness: Score

    def __float__(self) -> float:
        raise not_one_number(type(self).__name__, self._fields)


def infomec(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "auto",
    evaluate_on: EvaluateOn = "held_out",
    rng: np.random.Generator | int = 0,
) -> InfoMEC:
    r"""Score modularity, compactness and explicitness from shares of information.

    With :math:`m_{jk} = I(z_j; v_k) / H(v_k)`, over codes that vary:

    .. math::

        \mathrm{InfoM} = \frac{\frac1L \sum_j (\max_k m_{jk} / \sum_k m_{jk}) - 1/K}{1 - 1/K}, \qquad
        \mathrm{InfoC} = \frac{\frac1K \sum_k (\max_j m_{jk} / \sum_j m_{jk}) - 1/L}{1 - 1/L},

    and InfoE the share of each factor's entropy that a linear probe removes. Codes (in InfoM) and factors (in InfoC)
    with less than a tenth of an entropy in total count less, by the square of their total; not for plug-in estimates,
    as published.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"none"`` for plug-in estimates, ``"miller_madow"`` or ``"schurmann"``; ``"auto"`` is
            ``"none"`` for uniform bins, as published, and ``"schurmann"`` for others.
        evaluate_on: InfoE on ``"held_out"`` rows, or on the ``"fitted"`` ones as the published code does.
        rng: Chooses the held-out rows, or its seed.

    Returns:
        Three scores in [0, 1], higher is better.

    References:
        Hsu et al. (2023), Disentanglement via Latent Quantization, sec. 5. https://arxiv.org/abs/2305.18378

    Example:
        >>> import numpy as np
        >>> factors = np.stack(np.meshgrid(np.arange(9), np.arange(9)), axis=-1).reshape(-1, 2)
        >>> round(float(infomec(factors, factors).modularity), 6)
        1.0
    """
    rep = as_labelled(codes, factors, metric="infomec", min_factors=2)
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    table = information_table(rep, options)
    predicted = predictive_information(rep, PredictiveOptions(evaluate_on=evaluate_on), np.random.default_rng(rng))
    return InfoMEC(infom_score(table), infoc_score(table), infoe_score(predicted))


def infom_score(table: InformationTable) -> Score:
    """InfoM of a table of mutual information."""
    share = share_of(table.mutual_information, table.factor_entropy)
    per_code = np.full(len(share), np.nan)
    informative = share.sum(axis=1) > 0
    per_code[informative] = rescaled_largest_share(share[informative])
    return mean_over_codes(per_code, table)


def infoc_score(table: InformationTable) -> Score:
    """InfoC of a table of mutual information."""
    share = share_of(table.mutual_information, table.factor_entropy)[table.active]
    if len(share) == 1:
        raise ValueError("codes must have at least two columns that vary for infomec.compactness, got 1.")
    found = share.sum(axis=0) > 0
    per_factor = np.zeros(share.shape[1])
    per_factor[found] = rescaled_largest_share(share.T[found])
    per_factor *= information_weights(table, axis=0)
    return Score(
        value=float(per_factor.mean()),
        per_factor=per_factor,
        evidence={"mutual_information": table.mutual_information},
        notes=binning_notes(table) + dead_code_notes(int((~table.active).sum())),
    )


def infoe_score(predicted: PredictiveInformation) -> Score:
    """InfoE of the share of entropy removed."""
    return Score(value=float(predicted.share.mean()), per_factor=predicted.share)


def rescaled_largest_share(rows: FloatArray) -> FloatArray:
    """Largest entry of each row as a share of its sum, rescaled so that an even row is 0.

    Estimates of entries that are 0 scatter around 0, so that the largest can exceed the sum: its share is then 1.
    """
    even = 1 / rows.shape[1]
    rescaled: FloatArray = np.clip((rows.max(axis=1) / rows.sum(axis=1) - even) / (1 - even), 0.0, 1.0)
    return rescaled


def _infoe_ceiling(factor: OneFactor) -> float:
    """The weights of the probe are regularised, so it stays uncertain between neighbouring values on one code."""
    if not factor.levels or factor.levels <= 2 or not factor.n_rows:
        return 1.0
    return _most_predicted(factor.kind == "circular", factor.levels, factor.n_rows)


@lru_cache(maxsize=64)
def _most_predicted(circular: bool, levels: int, n_rows: int) -> float:
    """Fit the probe of InfoE to perfect codes: rows of each value, weighted by its share of the training rows."""
    from sklearn.linear_model import LogisticRegression

    places = np.repeat(np.arange(levels), 2)  # twice, as one row for each value would look like a regression
    angles = 2 * np.pi * places / levels
    codes = np.stack([np.cos(angles), np.sin(angles)], axis=1) if circular else places[:, None].astype(np.float64)
    codes = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    weights = np.full(len(places), (1 - TEST_SHARE) * n_rows / len(places))
    probe = LogisticRegression(max_iter=5000, tol=1e-3).fit(codes, places, sample_weight=weights)
    sure = probe.predict_log_proba(codes)[np.arange(len(places)), places]
    return float(1 + sure.mean() / math.log(levels))


REFERENCE = "Hsu et al. (2023), arXiv:2305.18378"

ROWS = (
    Metric(
        name="infomec.modularity",
        title="InfoM",
        function=infomec,
        source=INFORMATION,
        extrapolates=False,  # ratios, of which resampled counts overstate the bias
        score=infom_score,
        measures=(Property.MODULARITY,),
        invariant_to=AXES,
        min_factors=2,
        summary="How much of a code's information is about its main factor?",
        reference=REFERENCE,
        presets=frozenset({Preset.IDENTIFIABILITY, Preset.SINGLE_CELL}),
        misled_by_dependence=INDIRECT_INFORMATION,
        known_failures=BINNED,
    ),
    Metric(
        name="infomec.compactness",
        title="InfoC",
        function=infomec,
        source=INFORMATION,
        extrapolates=False,  # ratios, of which resampled counts overstate the bias
        score=infoc_score,
        measures=(Property.COMPACTNESS,),
        invariant_to=AXES,
        summary="How much of the information about a factor is in its main code?",
        reference=REFERENCE,
        presets=frozenset({Preset.IDENTIFIABILITY, Preset.SINGLE_CELL}),
        misled_by_dependence=INDIRECT_INFORMATION,
        known_failures=BINNED,
        traits=frozenset({Trait.SUMS_OVER_CODES}),
    ),
    Metric(
        name="infomec.explicitness",
        title="InfoE",
        function=infomec,
        source=PREDICTIVE,
        score=infoe_score,
        measures=(Property.EXPLICITNESS,),
        invariant_to=AXES | {Invariance.ROTATION},
        tolerance=0.02,
        cost=Cost.QUICK,
        summary="How much of a factor's entropy does a linear probe remove?",
        reference=REFERENCE,
        presets=frozenset({Preset.IDENTIFIABILITY, Preset.EMBEDDINGS, Preset.SINGLE_CELL}),
        ceiling=CeilingRule(
            of=_infoe_ceiling, why="its regularised probe stays uncertain about values that lie between others"
        ),
        known_failures=(
            KnownFailure(
                cases=("*/identity", "*/mixed*"),
                sentence="A linear classifier separates values that lie between others only with steep slopes, which "
                "take many rows, and mixed codes need steeper slopes.",
            ),
            OUTLIERS,
        ),
    ),
)
