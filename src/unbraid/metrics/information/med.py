"""MED: disentanglement of the matrix of mutual information."""

from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.evidence.counting import BiasCorrection
from unbraid.evidence.information import Binning, InformationOptions, InformationTable, information_table
from unbraid.metrics.information.gaps import BINNED, information_weights
from unbraid.metrics.table.metric import AXES, KnownFailure, Metric, Preset, Property, binning_notes, dead_code_notes
from unbraid.metrics.table.sources import INFORMATION
from unbraid.metrics.table.weaknesses import INDIRECT_INFORMATION, MISSES_LOST_FACTORS
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


def med(
    codes: Any,
    factors: Any = None,
    *,
    top_k: int = 0,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "auto",
) -> Score:
    r"""Score how close each code is to informing about a single factor, by the entropy of its information.

    .. math::

        R_{jk} = w_k \frac{I(z_j; v_k)}{\sum_i I(z_i; v_k)}, \qquad
        \mathrm{MED} = \min\Bigl(1, \sum_k w_k\Bigr) \sum_j \frac{\sum_k R_{jk}}{\sum_{ik} R_{ik}}
            \bigl(1 - H_K(R_{j\cdot})\bigr)

    with :math:`H_K` the entropy of a row as shares, in base K. It is the disentanglement of DCI, of an importance
    matrix that needs no probe. The weight :math:`w_k` is 1 for a factor that the codes inform about, and nearly 0 for
    others; it is always 1 for plug-in estimates, as published.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        top_k: Keep for each factor the k codes nearest to informing about it alone, of those that inform about it most;
            0 keeps all codes.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"none"`` for plug-in estimates, ``"miller_madow"`` or ``"schurmann"``; ``"auto"`` is
            ``"none"`` for uniform bins, as published, and ``"schurmann"`` for others.

    Returns:
        A score in [0, 1], higher is better.

    References:
        Cao et al. (2022), An Empirical Study on Disentanglement of Negative-free Contrastive Learning, NeurIPS,
        sec. 3. https://arxiv.org/abs/2206.04756

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(med(factors, factors))
        1.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    return med_score(information_table(as_labelled(codes, factors, metric="med", min_factors=2), options), top_k=top_k)


def med_score(table: InformationTable, *, top_k: int = 0) -> Score:
    """MED of a table of mutual information."""
    check_at_least("top_k", top_k, 0)
    total = table.mutual_information.sum(axis=0)
    share = np.divide(table.mutual_information, total, out=np.zeros_like(table.mutual_information), where=total > 0)
    factor_weight = np.where(total > 0, information_weights(table, axis=0), 0.0)
    importance = share * factor_weight
    per_code = purity(importance)
    kept = np.arange(len(importance))
    if top_k:
        kept = most_exclusive(importance, per_code * information_weights(table, axis=1), top_k)
    # Next to no information about any factor is none, whatever its ratios.
    known = min(1.0, float(factor_weight.sum()))
    counted = np.full(len(importance), np.nan)
    counted[kept] = np.where(table.active[kept], per_code[kept], np.nan)
    return Score(
        value=known * _mean_purity(importance[kept]) if known > 0 else 0.0,
        per_code=counted,
        evidence={"importance": importance, "mutual_information": table.mutual_information},
        notes=binning_notes(table) + dead_code_notes(int((~table.active).sum())),
    )


def purity(importance: FloatArray) -> FloatArray:
    """One minus the entropy of each row as shares, in base of its length; NaN for a row without importance."""
    weight = importance.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        pure = np.clip(1 - _weighted_entropy(importance) / weight, 0.0, 1.0)
    return np.where(weight > 0, pure, np.nan)


def _mean_purity(importance: FloatArray) -> float:
    """Mean of the purity of all rows, each weighted by its importance; 0 without importance."""
    weight = float(importance.sum())
    return float(np.clip(1 - _weighted_entropy(importance).sum() / weight, 0.0, 1.0)) if weight > 0 else 0.0


def _weighted_entropy(importance: FloatArray) -> FloatArray:
    """Entropy of each row as shares, in base of its length, times the sum of the row.

    An estimate of no information scatters around 0. With -x log|x| for values below 0 too, such values cancel in the
    mean; counted as 0, they would leave the values above 0, and an entropy that falls with the number of rows.
    """
    total = importance.sum(axis=1)
    entropy: FloatArray = (_minus_x_log_x(importance).sum(axis=1) - _minus_x_log_x(total)) / np.log(importance.shape[1])
    return entropy


def _minus_x_log_x(x: FloatArray) -> FloatArray:
    """-x log|x|, 0 at 0; an odd function."""
    return -x * np.log(np.abs(np.where(x == 0, 1.0, x)))


def most_exclusive(importance: FloatArray, exclusivity: FloatArray, top_k: int) -> IntArray:
    """For each factor, the k codes of largest exclusivity among those whose most important factor it is."""
    order = np.argsort(-np.nan_to_num(exclusivity), kind="stable")
    factor = importance.argmax(axis=1)
    chosen = [
        order[(factor[order] == k) & (importance[order].sum(axis=1) > 0)][:top_k] for k in range(importance.shape[1])
    ]
    return np.sort(np.concatenate(chosen))


ROWS = (
    Metric(
        name="med",
        title="Disentanglement by mutual information (MED)",
        function=med,
        source=INFORMATION,
        extrapolates=False,  # a ratio, of which resampled counts overstate the bias
        score=med_score,
        measures=(Property.MODULARITY,),
        invariant_to=AXES,
        min_factors=2,
        summary="Does each code inform about one factor only, by the entropy of its information?",
        reference="Cao et al. (2022), arXiv:2206.04756",
        misled_by_dependence=INDIRECT_INFORMATION,
        known_failures=(
            *BINNED,
            MISSES_LOST_FACTORS,
            KnownFailure(
                cases=("*/cosines_pair",),
                sentence="Codes count by their share of the information about each factor, so that one code in three "
                "that mixes two factors costs little.",
            ),
        ),
        in_default=False,
        presets=frozenset({Preset.EMBEDDINGS, Preset.SPARSE, Preset.VAE}),
    ),
)
