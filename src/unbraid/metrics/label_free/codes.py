"""Independence of the codes, without labels."""

import math
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.evidence.association import CodeCovariance, NoOptions, code_covariance
from unbraid.evidence.counting import BiasCorrection
from unbraid.evidence.information import Binning, CodeInformation, InformationOptions, code_information
from unbraid.metrics.table.metric import AXES, Invariance, KnownFailure, Metric, Preset, Property, dead_code_notes
from unbraid.metrics.table.sources import CODE_INFORMATION, COVARIANCE
from unbraid.metrics.table.weaknesses import BIN_EDGES, OUTLIERS, TOO_FEW_BINS
from unbraid.representation.representation import as_representation
from unbraid.results.score import Score


def total_correlation(codes: Any) -> Score:
    r"""Total correlation of a Gaussian with the covariance of the codes, in nats.

    .. math:: \tfrac12 \Bigl(\sum_j \log \Sigma_{jj} - \log\det \Sigma\Bigr)

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.

    Returns:
        0 for uncorrelated codes, growing without limit; lower is more independent. Sees linear dependence only.
        Infinite when a code is a linear function of the others.

    References:
        Locatello et al. (2019), Challenging Common Assumptions, sec. 5.
        https://arxiv.org/abs/1811.12359

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> round(float(total_correlation(grid)), 12)
        0.0
    """
    return total_correlation_score(code_covariance(as_representation(codes), NoOptions(), np.random.default_rng(0)))


def wasserstein_correlation(codes: Any, *, normalised: bool = True) -> Score:
    r"""Squared Wasserstein distance of the Gaussian of the codes from that of independent ones, over their variance.

    .. math:: \frac{2 \operatorname{tr} \Sigma - 2 \operatorname{tr}\bigl(D^{1/2} \Sigma D^{1/2}\bigr)^{1/2}}
        {\operatorname{tr} \Sigma}, \qquad D = \operatorname{diag} \Sigma

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        normalised: Divide by :math:`\operatorname{tr} \Sigma`, so that the scale of the codes does not matter;
            otherwise the score is in the squared unit of the codes, and so is its chance level.

    Returns:
        0 for uncorrelated codes; lower is more independent. Unlike the total correlation, codes of little
        variance matter little.

    References:
        Locatello et al. (2019), Challenging Common Assumptions, sec. 5.
        https://arxiv.org/abs/1811.12359

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> abs(round(float(wasserstein_correlation(grid)), 6))
        0.0
    """
    covariance = code_covariance(as_representation(codes), NoOptions(), np.random.default_rng(0))
    return wasserstein_correlation_score(covariance, normalised=normalised)


def code_mutual_information(
    codes: Any, *, n_bins: int = 20, binning: Binning = "robust", bias_correction: BiasCorrection = "auto"
) -> Score:
    r"""Mean mutual information between pairs of different codes, in nats.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"none"`` for plug-in estimates, ``"miller_madow"`` or ``"schurmann"``; ``"auto"`` is
            ``"none"`` for uniform bins, as published, and ``"schurmann"`` for others.

    Returns:
        0 for pairwise independent codes; lower is more independent. Plug-in estimates are up to about
        :math:`(B-1)^2 / 2N` even then. Of more than 128 codes, the mean is over the pairs of 128 that are drawn at
        random, the others have NaN in ``per_code``, and a note says so.

    References:
        Locatello et al. (2019), Challenging Common Assumptions, sec. 5.
        https://arxiv.org/abs/1811.12359

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> round(float(code_mutual_information(grid)), 12)
        0.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    return code_mutual_information_score(code_information(as_representation(codes), options, np.random.default_rng(0)))


def total_correlation_score(covariance: CodeCovariance) -> Score:
    """Total correlation of a covariance matrix."""
    correlation = covariance.correlation
    values = np.linalg.eigvalsh(correlation)
    singular = values[0] < 1e-12 * len(values)
    notes = dead_code_notes(int((~covariance.active).sum()))
    if singular:
        notes += ("A code is a linear function of the others: the total correlation is infinite.",)
    value = np.inf if singular else -0.5 * float(np.log(values).sum())
    return Score(value=max(0.0, value), evidence={"correlation": correlation}, notes=notes)


def wasserstein_correlation_score(covariance: CodeCovariance, *, normalised: bool = True) -> Score:
    """Wasserstein correlation of a covariance matrix."""
    sigma = covariance.matrix
    deviation = np.sqrt(np.diagonal(sigma))
    values = np.linalg.eigvalsh(sigma * np.outer(deviation, deviation))
    distance = 2 * float(np.trace(sigma)) - 2 * float(np.sqrt(np.maximum(values, 0.0)).sum())
    scale = float(np.trace(sigma)) if normalised else 1.0
    return Score(
        value=max(0.0, distance) / scale,
        evidence={"covariance": sigma},
        notes=dead_code_notes(int((~covariance.active).sum())),
    )


def code_mutual_information_score(information: CodeInformation) -> Score:
    """Mean of the off-diagonal mutual information."""
    matrix = information.matrix
    per_code = off_diagonal_mean(matrix)
    n_active, n_dead = int(information.active.sum()), int((~information.active).sum())
    drawn = (f"Mean over the pairs of {len(matrix)} codes, drawn at random of {n_active}.",)
    return Score(
        value=max(0.0, float(per_code.mean())),
        per_code=information.spread(np.maximum(per_code, 0.0)),
        evidence={"code_mutual_information": matrix},
        notes=(*dead_code_notes(n_dead), *(drawn if len(matrix) < n_active else ())),
    )


def off_diagonal_mean(matrix: FloatArray) -> FloatArray:
    """Mean of each row without its diagonal entry; 0 where there is no other."""
    others = max(1, len(matrix) - 1)
    means: FloatArray = (matrix.sum(axis=1) - np.diagonal(matrix)) / others
    return means


SHARED: Any = {
    "measures": (Property.INDEPENDENCE,),
    "bounds": (0.0, math.inf),
    "higher_is_better": False,
    "min_factors": 0,
    "presets": frozenset({Preset.VAE, Preset.EMBEDDINGS}),
    "reference": "Locatello et al. (2019), arXiv:1811.12359",
    "misled_by_dependence": "codes that follow dependent factors depend on each other as well, so a low score is no "
    "goal.",
}
COVARIANCES_ONLY = KnownFailure(
    cases=("*/circles", "*/rotated", "*/bent_copy"),
    sentence="It depends on covariances only, so it misses dependence that is not linear.",
)
ABOVE_ZERO = KnownFailure(
    cases=("*/many_noise_codes", "*/nuisance_mixed"),
    sentence="Its estimate for independent codes is above 0, and grows with the number of bins or codes.",
)

ROWS = (
    Metric(
        name="total_correlation",
        title="Gaussian total correlation",
        function=total_correlation,
        source=COVARIANCE,
        score=total_correlation_score,
        invariant_to=AXES,
        summary="How far are the codes from uncorrelated, in nats? No labels needed.",
        known_failures=(OUTLIERS, COVARIANCES_ONLY, ABOVE_ZERO),
        **SHARED,
    ),
    Metric(
        name="wasserstein_correlation",
        title="Gaussian Wasserstein correlation",
        function=wasserstein_correlation,
        source=COVARIANCE,
        score=wasserstein_correlation_score,
        invariant_to=frozenset({Invariance.PERMUTATION}),
        summary="How far are the codes from uncorrelated, weighted by their variance? No labels needed.",
        known_failures=(OUTLIERS, COVARIANCES_ONLY),
        **SHARED,
    ),
    Metric(
        name="code_mutual_information",
        title="Mutual information between codes",
        function=code_mutual_information,
        source=CODE_INFORMATION,
        score=code_mutual_information_score,
        invariant_to=AXES,
        summary="How much information do codes share with each other, in nats? No labels needed.",
        known_failures=(TOO_FEW_BINS, BIN_EDGES),
        **SHARED,
    ),
)
