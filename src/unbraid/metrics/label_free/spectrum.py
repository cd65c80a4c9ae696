"""Number of directions that the codes use, without labels: RankMe, effective rank, stable rank, and others."""

import math
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid.evidence.association import NoOptions
from unbraid.evidence.spectrum import Spectrum, code_spectrum
from unbraid.metrics.table.metric import Invariance, KnownFailure, Metric, Preset, Property, dead_code_notes
from unbraid.metrics.table.sources import SPECTRUM
from unbraid.metrics.table.weaknesses import OUTLIERS
from unbraid.representation.representation import as_representation
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score

Amount = Literal["deviations", "variances"]
#: Rows for each code below which the spectrum of the rows is clearly steeper than that of the distribution.
ENOUGH_ROWS_A_CODE = 10


def rankme(codes: Any, *, centred: bool = False) -> Score:
    r"""Score along how many directions the codes vary: the exponential of the entropy of their singular values.

    .. math::

        \mathrm{RankMe} = \exp\Bigl(-\sum_i p_i \log p_i\Bigr), \qquad p_i = \frac{\sigma_i}{\sum_j \sigma_j}

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        centred: Subtract the mean of each code first. As published, the mean counts as a direction.

    Returns:
        From 1 for codes on one line to the number of codes; higher means more directions. No labels needed.

    References:
        Garrido et al. (2023), RankMe, sec. 3. https://arxiv.org/abs/2210.02885

    Example:
        >>> import numpy as np
        >>> codes = np.diag([1.0, 1.0, 1.0, 0.0])[:, :3]
        >>> round(float(rankme(codes)), 9)
        3.0
    """
    return rankme_score(_spectrum(codes), centred=centred)


def effective_rank(codes: Any, *, of: Amount = "deviations") -> Score:
    r"""Score along how many directions the codes vary: the effective rank of the codes less their mean.

    .. math:: \exp\Bigl(-\sum_i p_i \log p_i\Bigr), \qquad p_i = \frac{\sigma_i}{\sum_j \sigma_j}

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        of: ``"deviations"``: :math:`\sigma_i` is the standard deviation along a principal direction, as in the paper;
            ``"variances"``: the variance, which is the effective rank of the covariance matrix.

    Returns:
        From 1 to the number of codes; higher means more directions. No labels needed.

    References:
        Roy & Vetterli (2007), The effective rank: a measure of effective dimensionality, EUSIPCO, definition 1.

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> round(float(effective_rank(grid)), 9)
        2.0
    """
    return effective_rank_score(_spectrum(codes), of=of)


def stable_rank(codes: Any, *, centred: bool = True) -> Score:
    r"""Score how many times the largest variance goes into the whole variance of the codes.

    .. math:: \frac{\sum_i \lambda_i}{\lambda_1}

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        centred: Subtract the mean of each code first; otherwise :math:`\lambda` are mean squares.

    Returns:
        From 1 to the number of codes; higher means more directions. No labels needed.

    References:
        Rudelson & Vershynin (2007), Sampling from large matrices, J. ACM 54(4), sec. 1. As "NESum": He & Ozay (2022),
        Exploring the Gap between Collapsed & Whitened Features in Self-Supervised Learning, ICML.

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> round(float(stable_rank(grid)), 9)
        2.0
    """
    return stable_rank_score(_spectrum(codes), centred=centred)


def participation_ratio(codes: Any, *, debiased: bool = False) -> Score:
    r"""Score along how many directions the variance of the codes is spread.

    .. math:: \frac{\bigl(\sum_i \lambda_i\bigr)^2}{\sum_i \lambda_i^2}
        = \frac{(\operatorname{tr} \Sigma)^2}{\operatorname{tr} \Sigma^2}

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        debiased: Divide unbiased estimates of numerator and denominator, which few rows of wide codes need. The plain
            ratio is in ``plain``.

    Returns:
        From 1 to the number of codes; higher means more directions. No labels needed.

    References:
        Gao et al. (2017), A theory of multineuronal dimensionality, dynamics and measurement, sec. 2.
        https://doi.org/10.1101/214262

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> round(float(participation_ratio(grid)), 9)
        2.0
    """
    return participation_ratio_score(_spectrum(codes), debiased=debiased)


def alpha_req(codes: Any, *, first: int = 11, last: int = 100) -> Score:
    r"""Score how fast the variance falls from one principal direction to the next: the exponent of a power law.

    The slope of :math:`-\log \lambda_i` against :math:`\log i`, by least squares with weights :math:`1/i`.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        first: First direction of the fit, counted from 1. Where there are fewer than twice as many directions, the fit
            starts at the first of all, and a note says so.
        last: Last direction of the fit, at most; directions without variance are left out.

    Returns:
        0 where all directions have the same variance; lower means more directions. The paper finds representations best
        near 1. No labels needed.

    References:
        Agrawal et al. (2022), α-ReQ: Assessing Representation Quality in Self-Supervised Learning by measuring
        eigenspectrum decay, NeurIPS, sec. 3. https://arxiv.org/abs/2202.05808

    Example:
        >>> import numpy as np
        >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
        >>> round(float(alpha_req(grid * [2.0, 1.0])), 9)
        2.0
    """
    return alpha_req_score(_spectrum(codes), first=first, last=last)


def _spectrum(codes: Any) -> Spectrum:
    return code_spectrum(as_representation(codes), NoOptions(), np.random.default_rng(0))


def rankme_score(spectrum: Spectrum, *, centred: bool = False) -> Score:
    """RankMe of a spectrum."""
    return _counted(entropy_rank(np.sqrt(spectrum.variances if centred else spectrum.squares)), spectrum)


def effective_rank_score(spectrum: Spectrum, *, of: Amount = "deviations") -> Score:
    """Effective rank of a spectrum."""
    check_choice("of", of, get_args(Amount))
    return _counted(entropy_rank(np.sqrt(spectrum.variances) if of == "deviations" else spectrum.variances), spectrum)


def stable_rank_score(spectrum: Spectrum, *, centred: bool = True) -> Score:
    """Stable rank of a spectrum."""
    values = spectrum.variances if centred else spectrum.squares
    return _counted(float(values.sum() / values[0]), spectrum)


def participation_ratio_score(spectrum: Spectrum, *, debiased: bool = False) -> Score:
    """Participation ratio of a spectrum."""
    plain = float(spectrum.variances.sum() ** 2 / (spectrum.variances**2).sum())
    if not debiased:
        return _counted(plain, spectrum)
    return _counted(min(unbiased_ratio(spectrum), float(spectrum.active.sum())), spectrum, plain=plain)


def alpha_req_score(spectrum: Spectrum, *, first: int = 11, last: int = 100) -> Score:
    """Exponent of the power law of a spectrum."""
    check_at_least("first", first, 1)
    check_at_least("last", last, first + 1)
    values = spectrum.variances[spectrum.variances > 0]
    notes: tuple[str, ...] = ()
    if len(values) < 2 * first and first > 1:
        template = "The fit starts at the first direction: the codes have {} directions, too few to leave out {}."
        notes = (Note.of(NoteKind.METRIC, template, len(values), first - 1),)
        first = 1
    return _counted(power_law_exponent(values, first, last), spectrum, notes=notes)


def entropy_rank(amounts: FloatArray) -> float:
    """Exponential of the entropy of non-negative amounts, each as a share of their sum."""
    share = amounts[amounts > 0] / amounts.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def unbiased_ratio(spectrum: Spectrum) -> float:
    r"""Ratio of unbiased estimates of :math:`(\operatorname{tr} \Sigma)^2` and :math:`\operatorname{tr} \Sigma^2`.

    Both are averages over four different rows: of :math:`|z_1 - z_2|^2 |z_3 - z_4|^2 / 4` and of
    :math:`((z_1 - z_2) \cdot (z_3 - z_4))^2 / 4`.
    """
    n = spectrum.n_samples
    if n < 4:
        raise ValueError(f"codes must have at least 4 rows for an unbiased ratio, got {n}.")
    trace, square = n * float(spectrum.variances.sum()), n**2 * float((spectrum.variances**2).sum())
    fourth = n * spectrum.fourth
    squared_trace = ((n**2 - 3 * n + 1) * trace**2 - n * (n - 1) * fourth + 2 * square) / ((n - 1) * (n - 2))
    trace_of_square = square - fourth + trace**2 / ((n - 1) * (n - 2)) - 2 * fourth / (n - 2)
    return max(1.0, squared_trace / trace_of_square) if trace_of_square > 0 else math.inf


def power_law_exponent(values: FloatArray, first: int, last: int) -> float:
    """Slope of the logarithms of values against those of their ranks, with weights of one over the rank; 0 for one."""
    rank = np.arange(first, min(last, len(values)) + 1)
    if len(rank) < 2:
        return 0.0
    x, y = np.log(rank), -np.log(values[rank - 1])
    x = x - np.average(x, weights=1 / rank)
    return max(0.0, float((x * y / rank).sum() / (x**2 / rank).sum()))


def _counted(value: float, spectrum: Spectrum, *, plain: float | None = None, notes: tuple[str, ...] = ()) -> Score:
    """Return a score with the spectrum beside it, and notes on what was left out and on few rows."""
    n_codes = int(spectrum.active.sum())
    if spectrum.n_samples < ENOUGH_ROWS_A_CODE * n_codes:
        template = "{} rows for {} codes: the spectrum of few rows is steeper than that of many rows."
        notes = (*notes, Note.of(NoteKind.METRIC, template, spectrum.n_samples, n_codes))
    return Score(
        value=value,
        plain=plain,
        evidence={"variance_share": spectrum.variances / spectrum.variances.sum()},
        notes=dead_code_notes(int((~spectrum.active).sum())) + notes,
    )


SHARED: Any = {
    "source": SPECTRUM,
    "measures": (Property.DIMENSION,),
    "min_factors": 0,
    "invariant_to": frozenset({Invariance.PERMUTATION, Invariance.ROTATION}),
    "misled_by_dependence": "codes that follow dependent factors share directions, so many directions are no goal.",
    "in_default": False,
    "presets": frozenset({Preset.EMBEDDINGS}),
}
FLAT_ENOUGH = KnownFailure(
    cases=("*/dropped",),
    sentence="It is the slope of the spectrum: fewer directions of the same variance are as flat as many.",
)

ROWS = (
    Metric(
        name="rankme",
        title="RankMe",
        function=rankme,
        score=rankme_score,
        bounds=(1.0, math.inf),
        summary="Along how many directions do the codes vary, the mean counted as one? No labels needed.",
        reference="Garrido et al. (2023), arXiv:2210.02885",
        known_failures=(OUTLIERS,),
        **SHARED,
    ),
    Metric(
        name="effective_rank",
        title="Effective rank",
        function=effective_rank,
        score=effective_rank_score,
        bounds=(1.0, math.inf),
        summary="Along how many directions do the codes vary about their mean? No labels needed.",
        reference="Roy & Vetterli (2007), EUSIPCO",
        known_failures=(OUTLIERS,),
        **SHARED,
    ),
    Metric(
        name="stable_rank",
        title="Stable rank",
        function=stable_rank,
        score=stable_rank_score,
        bounds=(1.0, math.inf),
        summary="How many times does the largest variance go into the whole variance of the codes? No labels needed.",
        reference="Rudelson & Vershynin (2007), J. ACM 54(4)",
        known_failures=(OUTLIERS,),
        other_names=("nesum", "numerical_rank"),
        **SHARED,
    ),
    Metric(
        name="participation_ratio",
        title="Participation ratio",
        function=participation_ratio,
        score=participation_ratio_score,
        bounds=(1.0, math.inf),
        summary="Over how many directions is the variance of the codes spread? No labels needed.",
        reference="Gao et al. (2017), doi:10.1101/214262",
        known_failures=(OUTLIERS,),
        other_names=("effective_dimension",),
        **SHARED,
    ),
    Metric(
        name="alpha_req",
        title="Exponent of the spectrum (alpha-ReQ)",
        function=alpha_req,
        score=alpha_req_score,
        bounds=(0.0, math.inf),
        higher_is_better=False,
        summary="How fast does the variance fall from one principal direction to the next? No labels needed.",
        reference="Agrawal et al. (2022), arXiv:2202.05808",
        known_failures=(OUTLIERS, FLAT_ENOUGH),
        **SHARED,
    ),
)
