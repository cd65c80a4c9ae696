"""D_LSBD: whether codes turn with circular factors."""

from typing import Any

import numpy as np

from unbraid._base.arrays import BoolArray
from unbraid._base.text import quoted
from unbraid.evidence.information import Binning
from unbraid.evidence.one_factor.traversals import CircleFit, PairOptions, circle_fit
from unbraid.metrics.table.metric import Invariance, KnownFailure, Metric, Property, dead_code_notes
from unbraid.metrics.table.sources import CIRCLES
from unbraid.metrics.table.weaknesses import OUTLIERS
from unbraid.representation.factor import FactorKind
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score


def d_lsbd(
    codes: Any,
    factors: Any = None,
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how far codes are from turning round a circle of their own with each circular factor.

    For each circular factor, take the codes less their mean over rows that agree in all other factors, and the two
    directions in which they vary most, scaled to the same variance. As a complex number :math:`p` of mean square 1,

    .. math:: D_k = 1 - \max_{\omega} \bigl| \mathbb{E}[p\, e^{-i \omega \theta_k}] \bigr|^2,
        \qquad \omega \in \{-10, \dots, 10\},

    is the spread of the points turned back by :math:`\omega` times the angle. The score is the mean over the circular
    factors.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``, of which at least one is declared circular; the others say
            which rows agree in all else.
        n_bins: Bins for the other factors, where they are continuous.
        binning: Binning method.
        rng: Source of chance, or its seed: which row counts where combinations repeat.

    Returns:
        A score in [0, 1], lower is better. A factor that is no angle has no value. ``evidence["turns"]`` is the number
        of turns of the codes for one turn of each factor.

    References:
        Tonnaer et al. (2022), Quantifying and Learning Linear Symmetry-Based Disentanglement, sec. 4.
        https://arxiv.org/abs/2011.06070

    Example:
        >>> import numpy as np
        >>> import unbraid as ub
        >>> turn = np.repeat(np.arange(0, 360, 30), 2)
        >>> circle = np.stack([np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))], axis=1)
        >>> rep = ub.Representation(circle, turn[:, None], kinds=["circular:360"])
        >>> abs(round(float(d_lsbd(rep)), 12))
        0.0
    """
    rep = as_labelled(codes, factors, metric="d_lsbd")
    return d_lsbd_score(circle_fit(rep, PairOptions(n_bins=n_bins, binning=binning), np.random.default_rng(rng)))


def d_lsbd_score(circles: CircleFit) -> Score:
    """D_LSBD of the codes turned back."""
    known: BoolArray = np.asarray(np.isfinite(circles.coefficient).all(axis=1))
    per_factor = np.full(len(known), np.nan)
    per_factor[known] = 1 - circles.coefficient[known].max(axis=1)
    # Of n values, several numbers of turns look alike: the fewest are reported.
    places = np.arange(circles.coefficient.shape[1]) - circles.coefficient.shape[1] // 2
    order = np.argsort(np.abs(places), kind="stable")
    turns = np.full(len(known), np.nan)
    turns[known] = places[order][np.round(circles.coefficient[known][:, order], 9).argmax(axis=1)]
    notes = dead_code_notes(int((~circles.active).sum()))
    left_out = [name for name, there in zip(circles.names, known, strict=True) if not there]
    if left_out:
        notes += (f"{quoted(left_out)}: no circular factor with rows that differ in it alone, and so no score.",)
    return Score(value=float(per_factor[known].mean()), per_factor=per_factor, evidence={"turns": turns}, notes=notes)


ROWS = (
    Metric(
        name="d_lsbd",
        title="D_LSBD (linear symmetry-based disentanglement)",
        function=d_lsbd,
        source=CIRCLES,
        score=d_lsbd_score,
        measures=(Property.EXPLICITNESS,),
        higher_is_better=False,
        invariant_to=frozenset({Invariance.PERMUTATION, Invariance.ROTATION}),
        factor_kind=FactorKind.CIRCULAR,
        summary="Do codes turn round a circle of their own with each circular factor?",
        reference="Tonnaer et al. (2022), arXiv:2011.06070",
        known_failures=(
            OUTLIERS,
            KnownFailure(
                cases=("*/scaled", "*/warped", "*/noise_code", "*/many_noise_codes", "*/jitter"),
                sentence="It takes the two directions of most variance, which a code of large scale or noise decides.",
            ),
        ),
        other_names=("dlsbd", "lsbd"),
        in_default=False,
    ),
)
