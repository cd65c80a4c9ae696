"""RMIG, WSEPIN and WINDIN, for encoders that give a variance."""

from typing import Any, NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.stats import student_quantile
from unbraid.evidence.information import Binning, check_binning
from unbraid.evidence.posterior_information import (
    DrawnRows,
    PosteriorInformation,
    PosteriorSamples,
    PosteriorSeparation,
    check_code_variances,
    posterior_information_of_draws,
    posterior_separation,
)
from unbraid.metrics.information.bottleneck import saturation_notes
from unbraid.metrics.table.metric import BesideThePanel, not_one_number
from unbraid.representation.representation import as_labelled, as_representation
from unbraid.results.score import Score

#: Random halves of the rows that a confidence interval is made from, and shuffles of the factors of a chance level.
N_HALVES, N_SHUFFLES = 8, 3
CONFIDENCE = 0.95
#: Fewest rows from which a half still says something.
FEWEST_ROWS = 20


def rmig(
    codes: Any,
    factors: Any = None,
    *,
    code_variances: Any,
    n_bins: int = 20,
    binning: Binning = "robust",
    interval: bool = True,
    chance: bool = True,
    rng: np.random.Generator | int = 0,
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
        interval: Whether to compute a confidence interval, from random halves of the rows. The value is then
            extrapolated to many rows, as its bias falls as one over their number; ``plain`` is that of these rows.
        chance: Whether to compute the chance level, from shuffled factors.
        rng: Draws halves and shuffles, or its seed.

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
    rep = as_labelled(codes, factors, metric="rmig")
    check_binning(n_bins, binning)
    variances = check_code_variances(code_variances, rep)
    halving, shuffling = np.random.default_rng(rng).spawn(2)

    halves = _halves(rep.n_samples, halving) if interval and rep.n_samples >= FEWEST_ROWS else []
    shuffled = [rep.with_shuffled_factors(shuffling) for _ in range(N_SHUFFLES if chance else 0)]
    every = np.arange(rep.n_samples)
    draws = [(rep, every), *((rep.take(half), half) for half in halves), *((one, every) for one in shuffled)]
    found, *others = posterior_information_of_draws(
        rep.codes, variances, [DrawnRows.of(one, rows, n_bins=n_bins, binning=binning) for one, rows in draws]
    )
    gaps, gaps_of_others = _gaps(found), np.array([_gaps(one) for one in others])
    value, plain, low, high = float(gaps.mean()), None, None, None
    if halves:
        of_halves = gaps_of_others[: len(halves)]
        # Mixtures of fewer posteriors are narrower, so that a code seems to know less, by one over the rows.
        gaps, plain = np.clip(2 * gaps - of_halves.mean(axis=0), 0.0, 1.0), value
        value = float(gaps.mean())
        half_width = float(_half_widths(of_halves.mean(axis=1)) * np.sqrt(1 + 1 / N_HALVES))
        low, high = value - half_width, value + half_width
    null = float(gaps_of_others[len(halves) :].mean()) if shuffled else None
    return Score(
        value=value,
        plain=plain,
        low=None if low is None else max(low, 0.0),
        high=None if high is None else min(high, 1.0),
        null=null,
        per_factor=gaps,
        evidence={"mutual_information": found.with_factors},
        notes=saturation_notes(found),
    )


def _gaps(found: PosteriorInformation) -> FloatArray:
    """Gap of the best and the second code of each factor, over the entropy of the factor."""
    ranked = np.sort(found.with_factors, axis=0)
    return np.asarray(np.clip((ranked[-1] - ranked[-2]) / found.factor_entropy, 0.0, 1.0))


def _halves(n_rows: int, rng: np.random.Generator) -> list[IntArray]:
    """Random halves of the rows."""
    return [np.sort(rng.permutation(n_rows)[: n_rows // 2]) for _ in range(N_HALVES)]


def _half_widths(values: FloatArray) -> FloatArray:
    """Half-width of the confidence interval of all rows, from the values of halves."""
    # The deviation over halves drawn without replacement is the standard error of the value of all rows.
    quantile = student_quantile(0.5 + CONFIDENCE / 2, N_HALVES - 1)
    return np.asarray(quantile * np.std(values, axis=0, ddof=1))


class SEPIN(NamedTuple):
    """Separability and independence of codes, :func:`sepin`."""

    wsepin: Score
    windin: Score

    def __float__(self) -> float:
        raise not_one_number(type(self).__name__, self._fields)


def sepin(
    codes: Any,
    *,
    code_variances: Any,
    n_samples: int = 2000,
    interval: bool = True,
    rng: np.random.Generator | int = 0,
) -> SEPIN:
    r"""Score how much each code knows of the data that the other codes do not, in nats; no labels needed.

    .. math:: \mathrm{WSEPIN} = \sum_i \rho_i \bigl( I(x; z) - I(x; z_{\ne i}) \bigr), \qquad
        \mathrm{WINDIN} = \sum_i \rho_i \bigl( I(x; z_i) - I(z_i; z_{\ne i}) \bigr), \qquad
        \rho_i \propto I(x; z_i)

    With posteriors of independent codes the two are the same number; they differ by what is clipped at 0.

    Args:
        codes: Posterior means, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        code_variances: Posterior variances, in the shape of the codes, all above 0.
        n_samples: Samples of the posteriors, of all rows in turn; more reduce the error of sampling.
        interval: Whether to compute confidence intervals, from random halves of the rows and samples. Values are then
            extrapolated to many rows, as for :func:`rmig`; ``plain`` is that of these rows.
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
        >>> bool(abs(sepin(corners, code_variances=np.ones((200, 2))).wsepin.plain - np.log(2)) < 1e-9)
        True
    """
    check_at_least("n_samples", n_samples, 1)
    rep = as_representation(codes)
    variances = check_code_variances(code_variances, rep)
    sampling, halving = np.random.default_rng(rng).spawn(2)
    samples = PosteriorSamples.draw(rep.codes, variances, n_samples=n_samples, rng=sampling)
    halved = interval and min(rep.n_samples, n_samples) >= FEWEST_ROWS
    # The same samples for halves as for all rows: what differs is the mixture, and not the luck of other samples.
    parts = [np.arange(rep.n_samples), *(_halves(rep.n_samples, halving) if halved else [])]
    found, *of_halves = posterior_separation(rep.codes, variances, samples, parts)
    values, per_code = _separated(found)
    plain: list[float | None] = [None, None]
    ends: list[tuple[float | None, float | None]] = [(None, None)] * 2
    if of_halves:
        halves = np.array([[*both, *terms.ravel()] for both, terms in map(_separated, of_halves)])
        widths = _half_widths(halves[:, :2]) * np.sqrt(1 + 1 / N_HALVES)
        plain, means = values.tolist(), halves.mean(axis=0)
        # Fewer rows hide from a code what its others know already: information of all codes ends at their logarithm.
        values, per_code = 2 * values - means[:2], 2 * per_code - means[2:].reshape(per_code.shape)
        values[0], per_code[0] = max(values[0], 0.0), np.maximum(per_code[0], 0.0)
        ends = [(value - width, value + width) for value, width in zip(values, widths, strict=True)]
    evidence = {"information_with_data": found.alone, "information_of_others": found.others}
    notes: tuple[str, ...] = ()
    if found.together > NEAR_CEILING * found.ceiling:
        notes = (
            f"All codes together have {found.together:.2f} nats about the data, near the {found.ceiling:.2f} that so "
            "many rows can show: give more rows, or the scores are too low.",
        )
    return SEPIN(
        *(
            Score(
                value=float(value), plain=before, low=low, high=high, per_code=of_codes, evidence=evidence, notes=notes
            )
            for value, before, (low, high), of_codes in zip(values, plain, ends, per_code, strict=True)
        )
    )


def _separated(found: PosteriorSeparation) -> tuple[FloatArray, FloatArray]:
    """WSEPIN and WINDIN, and the terms of each code in both, ``(2, n_codes)``."""
    n_codes = len(found.alone)
    weights = found.alone / found.alone.sum() if found.alone.sum() > 0 else np.full(n_codes, 1 / n_codes)
    separate = np.maximum(found.together - found.others, 0.0)
    shared = np.maximum(found.alone + found.others - found.together, 0.0)
    terms = np.stack([separate, found.alone - shared])
    return terms @ weights, terms


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
