"""Scores of mutual information counted in bins: mig, mig_sup, jemmig, dcimig and modularity."""

import math
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid._base.checks import check_choice
from unbraid.evidence.counting import BiasCorrection
from unbraid.evidence.information import Binning, InformationOptions, InformationTable, information_table
from unbraid.evidence.posterior_information import check_code_variances, posterior_information
from unbraid.metrics.table.metric import (
    AXES,
    CeilingRule,
    KnownFailure,
    Metric,
    OneFactor,
    Preset,
    Property,
    binning_notes,
    dead_code_notes,
)
from unbraid.metrics.table.sources import INFORMATION
from unbraid.metrics.table.weaknesses import (
    BIN_EDGES,
    COUNTS_UNUSED_CODES,
    INDIRECT_INFORMATION,
    MISSES_LOST_FACTORS,
    ONE_PAIR_AT_A_TIME,
    TOO_FEW_BINS,
    ZAIDI,
)
from unbraid.representation.representation import Representation, as_labelled
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score

NormaliseBy = Literal["factor", "code"]
#: Total information, in entropies of a factor, from which a code or factor has its full weight in a mean of ratios.
ENOUGH = 0.1
TIED = 1e-12


def mig(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "auto",
    normalise_by: NormaliseBy = "factor",
    code_variances: Any = None,
) -> Score:
    r"""Score how far one code alone encodes each factor.

    For every factor, take the mutual information of the best code minus that
    of the runner-up, as a share of the factor's entropy; then average:

    .. math::

        \mathrm{MIG} = \frac{1}{K} \sum_{k=1}^{K} \frac{1}{H(v_k)}
            \Bigl( I(z_{j_k}; v_k) - \max_{j \neq j_k} I(z_j; v_k) \Bigr),
        \qquad j_k = \arg\max_j I(z_j; v_k).

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; continuous ones are binned like the codes.
        n_bins: Bins for each code. More see finer structure, and
            bias the mutual information upwards on small samples.
        binning: ``"robust"``, ``"uniform"`` (as published code does) or ``"quantile"``.
        bias_correction: ``"none"`` for plug-in estimates, ``"miller_madow"`` or ``"schurmann"``; ``"auto"`` is
            ``"none"`` for uniform bins, as published, and ``"schurmann"`` for others.
        normalise_by: ``"factor"`` as in the paper; ``"code"`` divides each mutual information
            by the entropy of its code, as one published library does.
        code_variances: Variances of the encoder's posteriors, whose means are the codes, shaped like the codes: the
            mutual information is then that of codes drawn from the posteriors, without bins, as the paper defines it.

    Returns:
        A score in [0, 1], higher is better. ``evidence["mutual_information"]``
        is the matrix :math:`I(z_j; v_k)` in nats, ``(n_codes, n_factors)``.

    Note:
        Unchanged by reordering codes, factors or samples and by increasing
        affine maps of a code. *Not* unchanged by rotating the codes.

    References:
        Chen et al. (2018), Isolating Sources of Disentanglement in VAEs,
        sec. 4. https://arxiv.org/abs/1802.04942

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(mig(factors, factors))
        1.0
    """
    rep = as_labelled(codes, factors, metric="mig")
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    if code_variances is not None:
        return _posterior_mig(rep, code_variances, options, normalise_by)
    return mig_score(information_table(rep, options), normalise_by=normalise_by)


def _posterior_mig(
    rep: Representation, code_variances: Any, options: InformationOptions, normalise_by: NormaliseBy
) -> Score:
    """MIG of codes that are drawn from Gaussian posteriors."""
    if normalise_by != "factor":
        raise ValueError(
            f"normalise_by must be 'factor' with code_variances, as entropies of continuous codes are no bound, "
            f"got {normalise_by!r}."
        )
    variances = check_code_variances(code_variances, rep)
    found = posterior_information(rep, variances, n_bins=options.n_bins, binning=options.binning)
    gaps = information_gaps(share_of(found.with_factors, found.factor_entropy))
    return Score(value=float(gaps.mean()), per_factor=gaps, evidence={"mutual_information": found.with_factors})


def mig_score(table: InformationTable, *, normalise_by: NormaliseBy = "factor") -> Score:
    """MIG of a table of mutual information."""
    check_choice("normalise_by", normalise_by, get_args(NormaliseBy))
    normaliser = table.factor_entropy if normalise_by == "factor" else table.code_entropy
    gaps = information_gaps(share_of(table.information, normaliser))
    return Score(
        value=float(gaps.mean()),
        per_factor=gaps,
        evidence={"mutual_information": table.mutual_information},
        notes=binning_notes(table),
    )


def share_of(mi: FloatArray, entropy: FloatArray) -> FloatArray:
    """Mutual information as a share of an entropy; 0 where the entropy is 0 (a dead code)."""
    share: FloatArray = np.divide(mi, entropy, out=np.zeros_like(mi), where=np.broadcast_to(entropy, mi.shape) > 0)
    return share


def information_gaps(share: FloatArray) -> FloatArray:
    """Best minus second-best code for each factor."""
    ranked = np.partition(share, -2, axis=0)
    gaps: FloatArray = ranked[-1] - ranked[-2]
    return gaps


def mig_sup(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "auto",
    normalise_by: NormaliseBy = "factor",
) -> Score:
    r"""Score how far each code encodes one factor alone.

    .. math::

        \text{MIG-sup} = \frac{1}{L} \sum_{j=1}^{L}
            \Bigl( \bar I(z_j; v_{k_j}) - \max_{k \neq k_j} \bar I(z_j; v_k) \Bigr),
        \qquad \bar I(z_j; v_k) = I(z_j; v_k) / H(v_k).

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"none"`` for plug-in estimates, ``"miller_madow"`` or ``"schurmann"``; ``"auto"`` is
            ``"none"`` for uniform bins, as published, and ``"schurmann"`` for others.
        normalise_by: ``"factor"`` as in the paper, ``"code"`` as in one published library.

    Returns:
        A score in [0, 1], higher is better; constant codes are left out of the mean,
        pure-noise codes are in it and pull it down.

    References:
        Li et al. (2020), Progressive Learning and Disentanglement of Hierarchical
        Representations, app. https://arxiv.org/abs/2002.10549

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(mig_sup(factors, factors))
        1.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    table = information_table(as_labelled(codes, factors, metric="mig_sup", min_factors=2), options)
    return mig_sup_score(table, normalise_by=normalise_by)


def mig_sup_score(table: InformationTable, *, normalise_by: NormaliseBy = "factor") -> Score:
    """MIG-sup of a table of mutual information."""
    check_choice("normalise_by", normalise_by, get_args(NormaliseBy))
    normaliser = table.factor_entropy if normalise_by == "factor" else table.code_entropy
    gaps = information_gaps(share_of(table.information, normaliser).T)
    per_code = np.where(table.active, gaps, np.nan)
    return Score(
        value=float(gaps[table.active].mean()),
        per_code=per_code,
        evidence={"mutual_information": table.mutual_information},
        notes=binning_notes(table) + dead_code_notes(int((~table.active).sum())),
    )


def jemmig(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "auto",
) -> Score:
    r"""Score how far one code alone encodes each factor and nothing else.

    MIG does not mind what else the best code holds; the joint entropy does:

    .. math::

        \mathrm{JEMMIG} = 1 - \frac{1}{K} \sum_{k=1}^{K}
            \frac{H(z_{j_k}, v_k) - I(z_{j_k}; v_k) + \max_{j \neq j_k} I(z_j; v_k)}{H(v_k) + \log B}

    with :math:`B` the number of bins of the code.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"none"`` for plug-in estimates, ``"miller_madow"`` or ``"schurmann"``; ``"auto"`` is
            ``"none"`` for uniform bins, as published, and ``"schurmann"`` for others.

    Returns:
        A score in [0, 1], higher is better (the paper's unnormalised form is lower-is-better).
        Noise scores above 0: its codes rarely fill their bins evenly.

    References:
        Do & Tran (2020), Theory and Evaluation Metrics for Learning Disentangled
        Representations, sec. 4. https://arxiv.org/abs/1908.09961

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(jemmig(factors, factors))
        1.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    return jemmig_score(information_table(as_labelled(codes, factors, metric="jemmig"), options))


def jemmig_score(table: InformationTable) -> Score:
    """JEMMIG of a table of mutual information."""
    mi = table.information
    best = (mi >= mi.max(axis=0) - TIED).argmax(axis=0)  # the first of copies, whatever the rounding
    factor = np.arange(mi.shape[1])
    ranked = np.partition(mi, -2, axis=0)
    excess = table.joint_entropy[best, factor] - ranked[-1] + ranked[-2]
    largest = table.factor_entropy + np.log(np.maximum(table.code_bins[best], 2))
    per_factor = 1 - excess / largest
    return Score(
        value=float(per_factor.mean()),
        per_factor=per_factor,
        evidence={"mutual_information": table.mutual_information, "joint_entropy": table.joint_entropy},
        notes=binning_notes(table),
    )


def dcimig(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "auto",
) -> Score:
    r"""Score how much of the factors' entropy is in codes that encode one factor alone.

    Each code gives its gap :math:`I(z_j; v_{k_j}) - \max_{k \neq k_j} I(z_j; v_k)` to its best
    factor :math:`k_j`; each factor keeps the largest gap given to it:

    .. math::

        \mathrm{DCIMIG} = \frac{\sum_k \max_{j : k_j = k} \mathrm{gap}_j}{\sum_k H(v_k)}.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"none"`` for plug-in estimates, ``"miller_madow"`` or ``"schurmann"``; ``"auto"`` is
            ``"none"`` for uniform bins, as published, and ``"schurmann"`` for others.

    Returns:
        A score in [0, 1], higher is better. Blind to a factor spread over several pure codes.

    References:
        Sepliarskaia et al. (2019), How to Not Measure Disentanglement, sec. 4.
        https://arxiv.org/abs/1910.05587

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(dcimig(factors, factors))
        1.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    return dcimig_score(information_table(as_labelled(codes, factors, metric="dcimig", min_factors=2), options))


def dcimig_score(table: InformationTable) -> Score:
    """DCIMIG of a table of mutual information."""
    gaps = gaps_by_best_factor(table.information)
    kept = gaps.max(axis=0)
    entropy = table.factor_entropy  # 0 where half of a few rows leaves a factor a single value
    return Score(
        value=float(share_of(kept.sum(), entropy.sum())),
        per_factor=share_of(kept, entropy),
        per_code=share_of(gaps, entropy).max(axis=1),
        evidence={"mutual_information": table.mutual_information},
        notes=binning_notes(table),
    )


def gaps_by_best_factor(mi: FloatArray) -> FloatArray:
    """Each code's gap at its best factor, 0 elsewhere, ``(n_codes, n_factors)``."""
    ranked = np.sort(mi, axis=1)
    gaps = np.zeros_like(mi)
    gaps[np.arange(len(mi)), mi.argmax(axis=1)] = ranked[:, -1] - ranked[:, -2]
    return gaps


def modularity(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "auto",
) -> Score:
    r"""Score how close each code is to encoding a single factor.

    .. math::

        \frac{1}{\max(1, \sum_j w_j)} \sum_{j=1}^{L} w_j \Bigl( 1 - \frac{1}{K-1} \sum_{k \neq k_j}
            \frac{I(z_j; v_k)^2}{I(z_j; v_{k_j})^2} \Bigr),
        \qquad k_j = \arg\max_k I(z_j; v_k), \quad
        w_j = \min\Bigl(1, 10 \sum_k \frac{I(z_j; v_k)}{H(v_k)}\Bigr)^2.

    The weight is 1 for every code that knows a tenth of a factor, and nearly 0 for noise. It is always 1 for plug-in
    estimates: the mean over codes, as published.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, at least two.
        n_bins: Bins for each code.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"none"`` for plug-in estimates, ``"miller_madow"`` or ``"schurmann"``; ``"auto"`` is
            ``"none"`` for uniform bins, as published, and ``"schurmann"`` for others.

    Returns:
        A score in [0, 1], higher is better. Pure noise scores about 0; its plug-in estimates score 0.3 to 0.7, the
        more the more unequal the factors' sizes, because small numbers are divided by the largest of them.
        Constant codes are left out.

    References:
        Ridgeway & Mozer (2018), Learning Deep Disentangled Embeddings with the
        F-Statistic Loss, sec. 3. https://arxiv.org/abs/1802.05312

    Example:
        >>> import numpy as np
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> float(modularity(factors, factors))
        1.0
    """
    options = InformationOptions(n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    return modularity_score(information_table(as_labelled(codes, factors, metric="modularity", min_factors=2), options))


def modularity_score(table: InformationTable) -> Score:
    """Modularity of a table of mutual information."""
    per_code = deviation_from_one_factor(table.information)
    return mean_over_codes(per_code, table)


def mean_over_codes(per_code: FloatArray, table: InformationTable) -> Score:
    """Mean over informative codes, each by its weight; the plain mean, as published, of plug-in information."""
    informative = table.active & ~np.isnan(per_code)
    weight = np.where(informative, information_weights(table, axis=1), 0.0)
    total = float((weight * np.where(informative, per_code, 0.0)).sum())
    return Score(
        value=total / max(float(weight.sum()), 1.0),
        per_code=np.where(informative, per_code, np.nan),
        evidence={"mutual_information": table.mutual_information},
        notes=binning_notes(table) + dead_code_notes(int((~table.active).sum())) + _weight_notes(weight, informative),
    )


def information_weights(table: InformationTable, *, axis: int) -> FloatArray:
    """Weight of each code (axis 1) or factor (axis 0): 1, but less for one with hardly any information.

    Ratios of information mean nothing where there is none. A code counts in full from a total information of a tenth of
    a factor's entropy, and below by the square of its total, so that a code of noise counts next to nothing, whatever
    its ratio. No threshold depends on the number of rows.
    """
    total = share_of(table.mutual_information, table.factor_entropy).sum(axis=axis)
    weight: FloatArray = np.clip(total / ENOUGH, 0.0, 1.0) ** 2 if table.corrected else 1.0 * (total > 0)
    return weight


def _weight_notes(weight: FloatArray, informative: BoolArray) -> tuple[str, ...]:
    n_slight = int((weight[informative] < 1).sum())
    if not n_slight:
        return ()
    template = (
        "{} codes have little information about any factor, and count little."
        if n_slight > 1
        else "{} code has little information about any factor, and counts little."
    )
    return (Note.of(NoteKind.METRIC, template, n_slight),)


def deviation_from_one_factor(mi: FloatArray) -> FloatArray:
    """Return one minus the mean squared share of the other factors for each code; NaN for a code without one."""
    largest = mi.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        squared = (mi / largest) ** 2
    per_code: FloatArray = 1 - (squared.sum(axis=1) - 1) / (mi.shape[1] - 1)
    return per_code


def _ceiling(factor: OneFactor) -> float:
    """A code cut into b bins has at most log b of the log n nats that a factor of n values has."""
    n_bins = int(factor.options.get("n_bins", 20))
    levels = factor.levels
    if not levels or levels <= n_bins or factor.options.get("normalise_by", "factor") != "factor":
        return 1.0
    return math.log(n_bins) / math.log(levels)


#: Of every score made of counts in bins.
BINNED = (ONE_PAIR_AT_A_TIME, TOO_FEW_BINS, BIN_EDGES)

ROWS = (
    Metric(
        name="mig",
        title="Mutual information gap",
        function=mig,
        source=INFORMATION,
        score=mig_score,
        measures=(Property.COMPACTNESS, Property.EXPLICITNESS),
        invariant_to=AXES,
        summary="Does one code alone encode each factor?",
        reference="Chen et al. (2018), arXiv:1802.04942",
        presets=frozenset({Preset.VAE, Preset.SPARSE, Preset.SINGLE_CELL}),
        misled_by_dependence=INDIRECT_INFORMATION,
        ceiling=CeilingRule(of=_ceiling, why="a code is cut into fewer bins than a factor has values"),
        known_failures=BINNED,
    ),
    Metric(
        name="mig_sup",
        title="MIG-sup",
        function=mig_sup,
        source=INFORMATION,
        score=mig_sup_score,
        measures=(Property.MODULARITY, Property.EXPLICITNESS),
        invariant_to=AXES,
        min_factors=2,
        summary="Does each code encode one factor alone?",
        reference="Li et al. (2020), arXiv:2002.10549",
        presets=frozenset({Preset.VAE}),
        misled_by_dependence=INDIRECT_INFORMATION,
        known_failures=(COUNTS_UNUSED_CODES, *BINNED, MISSES_LOST_FACTORS),
    ),
    Metric(
        name="jemmig",
        title="JEMMIG",
        function=jemmig,
        source=INFORMATION,
        score=jemmig_score,
        measures=(Property.MODULARITY, Property.COMPACTNESS, Property.EXPLICITNESS),
        invariant_to=AXES,
        summary="Does one code alone encode each factor, and nothing else?",
        extrapolates=False,  # the joint entropy, which is most of it, has no bias that chance in the counts adds
        reference="Do & Tran (2020), arXiv:1908.09961",
        presets=frozenset({Preset.VAE}),
        misled_by_dependence=INDIRECT_INFORMATION,
        known_failures=BINNED,
    ),
    Metric(
        name="dcimig",
        title="DCIMIG",
        function=dcimig,
        source=INFORMATION,
        score=dcimig_score,
        measures=(Property.MODULARITY, Property.EXPLICITNESS),
        invariant_to=AXES,
        min_factors=2,
        summary="How much of the information about the factors is in codes that encode one factor alone?",
        reference="Sepliarskaia et al. (2019), arXiv:1910.05587",
        presets=frozenset({Preset.VAE}),
        misled_by_dependence=INDIRECT_INFORMATION,
        known_failures=BINNED,
    ),
    Metric(
        name="modularity",
        title="Modularity",
        function=modularity,
        source=INFORMATION,
        score=modularity_score,
        measures=(Property.MODULARITY,),
        invariant_to=AXES,
        min_factors=2,
        summary="Does each code encode a single factor?",
        extrapolates=False,  # which of two factors a code tells most of decides too much of the difference of halves
        reference="Ridgeway & Mozer (2018), arXiv:1802.05312",
        presets=frozenset({Preset.VAE}),
        misled_by_dependence=INDIRECT_INFORMATION,
        known_failures=(
            KnownFailure(
                cases=("few_rows/noise_*",),
                sentence="It divides by the largest mutual information of each code, so for noise and few rows the "
                "largest error of estimation looks like a preference for one factor.",
                source=ZAIDI,
            ),
            KnownFailure(
                cases=("*/cosines_pair",),
                sentence="It squares the mutual information of a code with its other factors, which makes a weaker "
                "second factor count little.",
                source=ZAIDI,
            ),
            *BINNED,
        ),
        other_names=("modularity_explicitness",),
    ),
)
