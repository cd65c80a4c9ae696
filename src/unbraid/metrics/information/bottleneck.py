"""Minimality and sufficiency by mutual information, of posteriors and of codes without a variance."""

from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.evidence.information import (
    Binning,
    InformationOptions,
    InformationTable,
    check_binning,
    information_table,
)
from unbraid.evidence.posterior_information import (
    PosteriorInformation,
    check_code_variances,
    posterior_information,
)
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


def information_minimality(
    codes: Any, factors: Any = None, *, code_variances: Any = None, n_bins: int = 20, binning: Binning = "robust"
) -> Score:
    r"""Score the largest share of a code's information about the data that is about one factor.

    .. math:: \bar m = \sum_j w_j \max_i \frac{I(z_j; y_i)}{I(z_j; x)}, \qquad w_j \propto \max_i I(z_j; y_i)

    The encoder's posterior is :math:`q(z_j \mid x) = N(\mu_j(x), \sigma_j^2(x))`. It is 1 for a code that encodes one
    factor and nothing else, and falls with every other factor and every nuisance in the code.

    Codes without a variance are functions of the data, and :math:`I(z_j; x) = H(z_j)`. Their score is that of the
    authors' published code, counted in bins: the mean over codes that vary of :math:`\max_i I(z_j; y_i) / H(z_j)`.

    Args:
        codes: Posterior means :math:`\mu`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`y`, shape ``(n_samples, n_factors)``.
        code_variances: Posterior variances :math:`\sigma^2`, in the shape of the codes, all above 0; ``None`` for codes
            that are functions of the data.
        n_bins: Bins of a continuous factor, and of codes without a variance; the authors' code has 15 even ones.
        binning: Binning method: ``"robust"``, ``"uniform"`` or ``"quantile"``.

    Returns:
        A score in [0, 1], higher is better; ``evidence`` has ``minimality`` (codes by factors),
        ``information_with_data`` (without variances ``code_entropy``) and ``mutual_information``, in nats.

    Raises:
        ValueError: Variances of another shape, or not all positive and finite.

    Note:
        Unchanged by the order of codes, and by scaling a code together with its deviation.

    References:
        Almudévar et al. (2024), sec. 3.3. https://arxiv.org/abs/2408.07016

    Example:
        >>> import numpy as np
        >>> y = np.random.default_rng(0).integers(0, 4, (800, 2))
        >>> round(float(information_minimality(y * 10.0, y, code_variances=np.ones((800, 2)))), 2)
        1.0
    """
    if code_variances is None:
        return _binned_minimality(_binned("information_minimality", codes, factors, n_bins, binning))
    found = gather_posteriors("information_minimality", codes, factors, code_variances, n_bins, binning)
    shares = _ratio(found.with_factors, found.with_data[:, None])
    per_code, weights = shares.max(axis=1), found.with_factors.max(axis=1)
    known = weights.sum() > 0
    notes = saturation_notes(found)
    if not known:
        notes = ("No code has information about any factor: defined as 0.", *notes)
    return Score(
        value=float(np.average(per_code, weights=weights)) if known else 0.0,
        per_code=per_code,
        per_factor=shares.max(axis=0),
        evidence={
            "minimality": shares,
            "information_with_data": found.with_data,
            "mutual_information": found.with_factors,
        },
        notes=notes,
    )


def _binned(metric: str, codes: Any, factors: Any, n_bins: int, binning: Binning) -> InformationTable:
    """Return the information of codes that are functions of the data, counted in bins."""
    rep = as_labelled(codes, factors, metric=metric)
    return information_table(rep, InformationOptions(n_bins=n_bins, binning=binning))


def _binned_minimality(table: InformationTable) -> Score:
    shares = _ratio(table.information, table.code_entropy)
    per_code = np.where(table.active, shares.max(axis=1), np.nan)
    return Score(
        value=float(per_code[table.active].mean()) if table.active.any() else 0.0,
        per_code=per_code,
        per_factor=shares.max(axis=0),
        evidence={
            "minimality": shares,
            "code_entropy": table.code_entropy,
            "mutual_information": table.mutual_information,
        },
        notes=() if table.active.any() else ("No code varies: defined as 0.",),
    )


def information_sufficiency(
    codes: Any, factors: Any = None, *, code_variances: Any = None, n_bins: int = 20, binning: Binning = "robust"
) -> Score:
    r"""Score the largest share of each factor's entropy that one code explains.

    .. math:: \bar s = \frac1K \sum_i \max_j \frac{I(z_j; y_i)}{H(y_i)}

    with the posterior of :func:`information_minimality`, or without variances from bins of the codes. The entropy of a
    continuous factor is that of its bins, so its sufficiency measures how many of ``n_bins`` values
    can be distinguished.

    Args:
        codes: Posterior means, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`y`, shape ``(n_samples, n_factors)``.
        code_variances: Posterior variances, in the shape of the codes, all above 0; ``None`` for codes that are
            functions of the data.
        n_bins: Bins of a continuous factor, and of codes without a variance.
        binning: Binning method: ``"robust"``, ``"uniform"`` or ``"quantile"``.

    Returns:
        A score in [0, 1], higher is better; ``evidence["sufficiency"]`` is the matrix of codes by factors.

    Raises:
        ValueError: Variances of another shape, or not all positive and finite.

    References:
        Almudévar et al. (2024), sec. 3.3. https://arxiv.org/abs/2408.07016

    Example:
        >>> import numpy as np
        >>> y = np.random.default_rng(0).integers(0, 4, (800, 2))
        >>> round(float(information_sufficiency(y * 10.0, y, code_variances=np.ones((800, 2)))), 2)
        1.0
    """
    notes: tuple[str, ...] = ()
    if code_variances is None:
        table = _binned("information_sufficiency", codes, factors, n_bins, binning)
        information, entropy = table.information, table.factor_entropy
    else:
        found = gather_posteriors("information_sufficiency", codes, factors, code_variances, n_bins, binning)
        information, entropy, notes = found.with_factors, found.factor_entropy, saturation_notes(found)
    shares = _ratio(information, entropy[None, :])
    return Score(
        value=float(shares.max(axis=0).mean()),
        per_factor=shares.max(axis=0),
        per_code=shares.max(axis=1),
        evidence={"sufficiency": shares, "mutual_information": information},
        notes=notes,
    )


def gather_posteriors(
    metric: str, codes: Any, factors: Any, variances: Any, n_bins: int, binning: Binning
) -> PosteriorInformation:
    """Return the information in the posteriors of codes and variances, once checked."""
    rep = as_labelled(codes, factors, metric=metric)
    check_binning(n_bins, binning)
    return posterior_information(rep, check_code_variances(variances, rep), n_bins=n_bins, binning=binning)


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    shape = np.broadcast_shapes(part.shape, whole.shape)
    return np.clip(np.divide(part, whole, out=np.zeros(shape), where=whole > 1e-9), 0.0, 1.0)


def saturation_notes(found: PosteriorInformation) -> tuple[str, ...]:
    """Return a note on posteriors that are too narrow for the number of rows."""
    n_narrow = int(found.saturated.sum())
    if not n_narrow:
        return ()
    return (
        f"{n_narrow} code(s) have posteriors so narrow that the rows are too few to measure their information: "
        "it is near the logarithm of the number of rows, and the score is biased.",
    )
