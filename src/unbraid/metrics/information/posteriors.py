"""RMIG, WSEPIN and WINDIN, for encoders that give a variance."""

from typing import Any, NamedTuple

import numpy as np

from unbraid._base.checks import check_at_least
from unbraid.evidence.information import Binning
from unbraid.evidence.posterior_information import check_code_variances, posterior_separation
from unbraid.metrics.information.bottleneck import gather_posteriors, saturation_notes
from unbraid.metrics.table.metric import BesideThePanel, not_one_number
from unbraid.representation.representation import as_representation
from unbraid.results.score import Score


def rmig(
    codes: Any, factors: Any = None, *, code_variances: Any, n_bins: int = 20, binning: Binning = "robust"
) -> Score:
    r"""Score the gap of information between the best and the second code of each factor, from posteriors.

    It is the mutual information gap with :math:`I(z_j; v_k)` computed from the posterior
    :math:`q(z_j \mid x) = N(\mu_j(x), \sigma_j^2(x))` of every row, in place of bins of the means, over the entropy of
    the factor. A code that is noise around a mean that hardly moves then has hardly any information.

    Args:
        codes: Posterior means, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``.
        code_variances: Posterior variances, in the shape of the codes, all above 0.
        n_bins: Bins of a continuous factor.
        binning: Binning method: ``"robust"``, ``"uniform"`` or ``"quantile"``.

    Returns:
        A score in [0, 1], higher is better; ``evidence["mutual_information"]`` is in nats, codes by factors.

    Raises:
        ValueError: Variances of another shape, or not all positive and finite.

    References:
        Do & Tran (2020), Theory and Evaluation Metrics for Learning Disentangled Representations.
        https://arxiv.org/abs/1908.09961

    Example:
        >>> import numpy as np
        >>> y = np.random.default_rng(0).integers(0, 4, (800, 2))
        >>> round(float(rmig(y * 10.0, y, code_variances=np.ones((800, 2)))), 2)
        1.0
    """
    found = gather_posteriors("rmig", codes, factors, code_variances, n_bins, binning)
    ranked = np.sort(found.with_factors, axis=0)
    gaps = np.clip((ranked[-1] - ranked[-2]) / found.factor_entropy, 0.0, 1.0)
    return Score(
        value=float(gaps.mean()),
        per_factor=gaps,
        evidence={"mutual_information": found.with_factors},
        notes=saturation_notes(found),
    )


class SEPIN(NamedTuple):
    """Separability and independence of codes, :func:`sepin`."""

    wsepin: Score
    windin: Score

    def __float__(self) -> float:
        raise not_one_number(type(self).__name__, self._fields)


def sepin(codes: Any, *, code_variances: Any, n_samples: int = 2000, rng: np.random.Generator | int = 0) -> SEPIN:
    r"""Score how much each code knows of the data that the other codes do not, in nats; no labels needed.

    .. math:: \mathrm{WSEPIN} = \sum_i \rho_i \bigl( I(x; z) - I(x; z_{\ne i}) \bigr), \qquad
        \mathrm{WINDIN} = \sum_i \rho_i \bigl( I(x; z_i) - I(z_i; z_{\ne i}) \bigr), \qquad
        \rho_i \propto I(x; z_i)

    With posteriors of independent codes the two are the same number; they differ by what is clipped at 0.

    Args:
        codes: Posterior means, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        code_variances: Posterior variances, in the shape of the codes, all above 0.
        n_samples: Samples of the posteriors; more reduce the error of sampling.
        rng: Source of chance, or its seed.

    Returns:
        ``wsepin`` and ``windin``, higher is better, with ``per_code``. With many narrow codes the information of all
        codes reaches the logarithm of the number of rows, and both fall to 0 for want of rows; a note says so.

    Raises:
        ValueError: Variances of another shape, or not all positive and finite.

    References:
        Do & Tran (2020), Theory and Evaluation Metrics for Learning Disentangled Representations.
        https://arxiv.org/abs/1908.09961

    Example:
        >>> import numpy as np
        >>> corners = np.stack(np.meshgrid([0.0, 100.0], [0.0, 100.0]), axis=-1).reshape(-1, 2).repeat(50, axis=0)
        >>> bool(abs(float(sepin(corners, code_variances=np.ones((200, 2))).wsepin) - np.log(2)) < 1e-9)
        True
    """
    check_at_least("n_samples", n_samples, 1)
    rep = as_representation(codes)
    variances = check_code_variances(code_variances, rep)
    found = posterior_separation(rep.codes, variances, n_samples=n_samples, rng=np.random.default_rng(rng))
    weights = found.alone / found.alone.sum() if found.alone.sum() > 0 else np.full(rep.n_codes, 1 / rep.n_codes)
    separate = np.maximum(found.together - found.others, 0.0)
    shared = np.maximum(found.alone + found.others - found.together, 0.0)
    evidence = {"information_with_data": found.alone, "information_of_others": found.others}
    notes: tuple[str, ...] = ()
    if found.together > NEAR_CEILING * found.ceiling:
        notes = (
            f"All codes together have {found.together:.2f} nats about the data, near the {found.ceiling:.2f} that so "
            "many rows can show: give more rows, or the scores are too low.",
        )

    def score(per_code: Any) -> Score:
        return Score(value=float(weights @ per_code), per_code=per_code, evidence=evidence, notes=notes)

    return SEPIN(score(separate), score(found.alone - shared))


#: Share of the most information that so many rows can show, above which the scores are biased.
NEAR_CEILING = 0.8
BESIDE_THE_PANEL = (
    BesideThePanel(
        name="rmig",
        summary="How much more does the best code know of each factor than the second, by the posteriors?",
        needs="posterior variances",
        call="unbraid.metrics.rmig(means, factors, code_variances=...)",
        also="the mig of the means is in every report",
    ),
    BesideThePanel(
        name="sepin",
        summary="How much does each code know of the data that the other codes do not?",
        needs="posterior variances",
        call="unbraid.metrics.sepin(means, code_variances=...)",
        also="without posteriors, see unibound",
    ),
)
