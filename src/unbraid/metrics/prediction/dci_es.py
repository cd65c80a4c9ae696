"""DCI-ES: disentanglement, completeness and informativeness of any probe, explicitness and size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import to_array
from unbraid.evidence.loss_capacity import (
    CapacityCurves,
    Loss,
    LossCapacity,
    LossCapacityOptions,
    WhichProbe,
    loss_capacity_curves,
)
from unbraid.evidence.regressors import check_groups
from unbraid.metrics.identification.identifiability import identifiability
from unbraid.metrics.prediction.dci import (
    ONE_COPY_SUFFICES,
    SPLIT_IMPORTANCE,
    UNUSED_CODES_UNSEEN,
    completeness,
    disentanglement,
)
from unbraid.metrics.table.metric import (
    AXES,
    BesideThePanel,
    Cost,
    Invariance,
    KnownFailure,
    Metric,
    Property,
    not_one_number,
)
from unbraid.metrics.table.sources import LOSS_CAPACITY
from unbraid.probes.capacity import Ladder
from unbraid.probes.capacity.base import check_increasing
from unbraid.probes.importance import Importance
from unbraid.probes.sage import SageOptions
from unbraid.probes.splits import CAPACITY_SHARES
from unbraid.representation.blocks import parts_of_codes
from unbraid.representation.representation import Representation, as_labelled
from unbraid.results.score import Score

LEAST_GAIN = 0.05


class DCIES(NamedTuple):
    """The five scores of one ladder."""

    disentanglement: Score
    completeness: Score
    informativeness: Score
    explicitness: Score
    size: Score

    def __float__(self) -> float:
        raise not_one_number(type(self).__name__, self._fields)


def dci_es(
    codes: Any,
    factors: Any = None,
    *,
    ladder: str | Ladder = "mlp",
    loss: Loss = "error",
    importance: str = "auto",
    probe: WhichProbe = "simplest",
    sage: SageOptions | str | None = None,
    split: tuple[float, float] | str = CAPACITY_SHARES,
    groups: Sequence[Sequence[int]] | str | None = None,
    blocks: bool = False,
    rng: np.random.Generator | int = 0,
) -> DCIES:
    r"""Score disentanglement, completeness, informativeness, explicitness and size with probes of growing capacity.

    Probes of growing capacity are fitted for every factor and tested on held-out rows. The lowest loss gives
    informativeness, the area under the curve of loss against capacity explicitness, and the importances of the chosen
    probe disentanglement and completeness.

    Args:
        codes: ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: ``(n_samples, n_factors)``, at least two; for a single label see :func:`task_explicitness`.
        ladder: ``"mlp"`` (linear, then networks of growing width; needs torch), ``"forest"`` (growing depth),
            ``"fourier"`` (growing number of random features), ``"linear"`` (growing number of principal directions),
            or a ladder with its own settings from :mod:`unbraid.probes.capacity`. Text such as
            ``"mlp:widths=2+8+32,n_steps=500,capacity=parameters"`` means the same.
        loss: ``"error"``: 1 - R² for numbers and angles, 1 - accuracy for categories; ``"cross_entropy"`` for
            categories by cross-entropy.
        importance: ``"auto"``: Gini importances of a forest, weights of linear probes, the rise of the loss when a
            code is shuffled for Fourier features, else SAGE; or ``"sage"``,
            ``"permutation"``, ``"gini"``, ``"weights"``.
        probe: Whose importances are taken: ``"simplest"``, the lowest level whose mean validation loss is within one
            standard error of the best, or ``"best"``.
        sage: Precision of SAGE; or text such as ``"max_rows=512,n_background=16"``.
        split: Shares of training and of validation rows; the rest is the test set. The paper has (0.285, 0.015).
        groups: Columns that make up each code, such as ``[[0, 1], [2]]``, ``"0+1,2"`` or ``"blocks"``; by default every
            column is a code. Importances are of whole groups: SAGE reveals a group at once, and pixels can be groups.
            Columns left out are not looked at.
        blocks: Take the blocks of the representation for codes: importances of a block's codes are added, for
            disentanglement, completeness and size. Informativeness and explicitness are of all codes together, and
            the same either way.
        rng: Source of chance, or its seed.

    Returns:
        Five scores: see :func:`explicitness_of_curve` for explicitness, in [-1, 1]; size is the number of factors for
        each code; the others are in [0, 1].

    Raises:
        ValueError: Fewer than two factors, too few rows, an unknown ladder, or capacities that do not increase.

    Note:
        Unchanged by reordering codes, up to the scatter of the fits. Explicitness depends on the ladder: a rotation
        is nothing to a linear probe and much to a tree.

    References:
        Eastwood et al. (2023), On the DCI Framework for Evaluating Disentangled Representations, sec. 2 and 4.
        https://arxiv.org/abs/2210.00364

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 5, (400, 2))
        >>> scores = dci_es(factors + 0.0, factors, ladder="linear")
        >>> round(float(scores.disentanglement), 2), float(scores.size)
        (1.0, 1.0)
    """
    rep = as_labelled(codes, factors, metric="dci_es", min_factors=2)
    options = LossCapacityOptions(
        ladder=ladder,
        loss=loss,
        importance=importance,
        probe=probe,
        sage=sage or SageOptions(),
        split=split,
        groups=check_groups(groups),
    )
    curves = loss_capacity_curves(rep, options, np.random.default_rng(rng))
    return DCIES(
        es_disentanglement(curves, blocks=blocks),
        es_completeness(curves, blocks=blocks),
        es_informativeness(curves),
        es_explicitness(curves),
        es_size(curves, blocks=blocks),
    )


def loss_capacity(
    codes: Any,
    labels: Any = None,
    *,
    ladder: str | Ladder = "mlp",
    loss: Loss = "error",
    rng: np.random.Generator | int = 0,
) -> LossCapacity:
    """Draw loss–capacity curves: the held-out loss of probes of growing capacity, for factors or any other labels.

    Args:
        codes: ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        labels: ``(n_samples,)`` or ``(n_samples, n_labels)``: factors, or the labels of a task.
        ladder: As for :func:`dci_es`.
        loss: As for :func:`dci_es`.
        rng: Source of chance, or its seed.

    Returns:
        Curves with standard errors; ``table()`` gives them as a data frame.

    Example:
        >>> import numpy as np
        >>> angle = np.random.default_rng(0).uniform(-2, 2, 600)
        >>> codes = np.stack([angle, angle**2], axis=1)
        >>> curves = loss_capacity(codes, angle**2 > 1, ladder="forest")
        >>> bool(curves.losses[0, 0] < 0.05)
        True
    """
    rep = _labelled(codes, labels, metric="loss_capacity")
    options = LossCapacityOptions(ladder=ladder, loss=loss, importance="none")
    return loss_capacity_curves(rep, options, np.random.default_rng(rng))


def task_explicitness(
    codes: Any, labels: Any, *, ladder: str | Ladder = "mlp", loss: Loss = "error", rng: np.random.Generator | int = 0
) -> Score:
    """Score how little capacity a probe needs to predict labels from the codes, factors or any others.

    Args:
        codes: ``(n_samples, n_codes)``.
        labels: Of the task, ``(n_samples,)``, or of several, ``(n_samples, n_tasks)``.
        ladder: As for :func:`dci_es`.
        loss: As for :func:`dci_es`.
        rng: Source of chance, or its seed.

    Returns:
        Explicitness in [-1, 1], the mean over tasks; ``evidence`` holds the curves: ``capacities``, ``losses``,
        ``loss_low``, ``loss_high`` and ``baselines``.

    References:
        Eastwood et al. (2023), sec. 4.2 and 7. https://arxiv.org/abs/2210.00364

    Example:
        >>> import numpy as np
        >>> codes = np.random.default_rng(0).normal(size=(600, 2))
        >>> float(task_explicitness(codes, codes[:, 0] > 0, ladder="forest")) > 0.95
        True
    """
    return es_explicitness(loss_capacity(codes, labels, ladder=ladder, loss=loss, rng=rng))


def es_disentanglement(curves: LossCapacity, blocks: bool = False) -> Score:
    """Score whether each code, or block, matters for one factor only, by the importances of the chosen probe.

    Raises:
        ValueError: Curves without importances, or no blocks.
    """
    found = _as_importance(curves)
    if not blocks and not curves.groups:
        return _with_notes(disentanglement(found), curves)
    parts = list(curves.groups) or _parts(curves)
    score = disentanglement(found if curves.groups else _by_block(found, parts))
    per_code = None if score.per_code is None else np.full(curves.n_codes, np.nan)
    if per_code is not None and score.per_code is not None:
        for part, value in zip(parts, score.per_code, strict=True):
            per_code[list(part)] = value
    return _with_notes(replace(score, per_code=per_code), curves)


def es_completeness(curves: LossCapacity, blocks: bool = False) -> Score:
    """Score whether each factor needs one code, or block, only, by the importances of the chosen probe.

    Raises:
        ValueError: Curves without importances, or no blocks.
    """
    found = _as_importance(curves)
    by_block = blocks and not curves.groups
    return _with_notes(completeness(_by_block(found, _parts(curves)) if by_block else found), curves)


def _parts(curves: LossCapacity) -> list[tuple[int, ...]]:
    return parts_of_codes(curves.blocks, curves.n_codes, option="blocks=True")


def _by_block(found: Importance, parts: list[tuple[int, ...]]) -> Importance:
    """Add the importances of the codes of each block."""
    return replace(found, matrix=np.stack([found.matrix[list(part)].sum(axis=0) for part in parts]))


def es_informativeness(curves: LossCapacity) -> Score:
    """Score how well the factors can be predicted with any capacity: 1 - the lowest loss, not below 0.

    A cross-entropy has no largest value, so that it counts as a share of that of a blind guess.
    """
    per_factor = curve_informativeness(curves)
    return Score(
        value=float(per_factor.mean()), per_factor=per_factor, evidence=_curve_evidence(curves), axis=curves.axis
    )


def es_explicitness(curves: LossCapacity) -> Score:
    """Score how little capacity it takes to reach the lowest loss, averaged over factors."""
    per_factor = curve_explicitness(curves)
    gained = (curves.baselines - curves.losses.min(axis=1)) / curves.baselines
    unpredicted = int((gained < LEAST_GAIN).sum())
    notes: tuple[str, ...] = ()
    if unpredicted:
        notes = (
            f"For {unpredicted} factor(s) no probe gets far below a blind guess: their explicitness is near 1 because "
            "no probe predicts them, not because a simple one does. Look at informativeness first.",
        )
    value = float(per_factor.mean())
    return Score(
        value=value,
        per_factor=per_factor,
        evidence=_curve_evidence(curves),
        notes=notes,
        axis=curves.axis,
        sentence=_identified(curves, value),
    )


def curve_informativeness(curves: LossCapacity | CapacityCurves) -> FloatArray:
    """Informativeness of each factor's curve, ``(n_factors,)``."""
    lowest = np.minimum(curves.losses.min(axis=1), curves.baselines)
    per_factor: FloatArray = 1 - (lowest / curves.baselines if curves.loss == "cross_entropy" else lowest)
    return per_factor


def curve_explicitness(curves: LossCapacity | CapacityCurves) -> FloatArray:
    """Explicitness of each factor's curve, ``(n_factors,)``."""
    columns = zip(curves.capacities, curves.losses, curves.baselines, strict=True)
    return np.array([explicitness_of_curve(k, losses, baseline=float(guess)) for k, losses, guess in columns])


def es_size(curves: LossCapacity, blocks: bool = False) -> Score:
    """Number of factors for each code, or block: 1 for as many codes as factors, less for more codes."""
    by_block = blocks and not curves.groups
    return Score(value=len(curves.factor_names) / len(_parts(curves)) if by_block else curves.size)


def explicitness_of_curve(capacities: FloatArray, losses: FloatArray, *, baseline: float, lowest: float = 0.0) -> float:
    r"""Turn one loss–capacity curve into explicitness.

    .. math:: E = 1 - \frac{\mathrm{AULCC}}{\frac12 (\kappa_T - \kappa_1)(\ell^b - \ell^*)}

    1 when the first level is already the best; 0 when the loss falls along a straight line from the baseline
    to the lowest possible; down to -1 when it falls at the last level only.

    Args:
        capacities: Increasing, ``(n_levels,)``, at least two.
        losses: On held-out rows, ``(n_levels,)``; a level worse than the baseline counts as the baseline.
        baseline: Loss of a guess made without the codes.
        lowest: Lowest possible loss.

    Raises:
        ValueError: Fewer than two capacities, capacities that do not increase, or a baseline that is not above the
            lowest loss.

    Example:
        >>> explicitness_of_curve(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.5, 0.0]), baseline=1.0)
        0.0
    """
    check_increasing("capacities", list(capacities))
    if not baseline > lowest:
        raise ValueError(f"baseline must be above the lowest loss, got {baseline:g} and {lowest:g}.")
    area = area_under_curve(capacities, np.minimum(losses, baseline))
    return 1 - area / (0.5 * float(capacities[-1] - capacities[0]) * (baseline - lowest))


def area_under_curve(capacities: FloatArray, losses: FloatArray) -> float:
    """Area between the curve, made to fall only, and its lowest loss, by the trapezoidal rule."""
    best = np.minimum.accumulate(losses)
    above = best - best[-1]
    return float((0.5 * (above[1:] + above[:-1]) * np.diff(capacities)).sum())


def _identified(curves: LossCapacity, explicitness: float) -> str:
    """Class of identifiability that the scores support; ``None`` for a single factor, or without importances."""
    unknown = curves.importance.measure == "none" or np.isnan(curves.importance.values).any()
    if len(curves.rows) < 2 or unknown:
        return ""
    return identifiability(
        disentanglement=es_disentanglement(curves).value,
        completeness=es_completeness(curves).value,
        informativeness=es_informativeness(curves).value,
        explicitness=explicitness,
        size=curves.size,
        importance=curves.importance.measure,
        starts_linear=curves.starts_linear,
    ).sentence


def _labelled(codes: Any, labels: Any, *, metric: str) -> Representation:
    if isinstance(labels, pd.Series):
        labels = labels.to_frame(labels.name or "label")
    elif labels is not None:
        array = to_array(labels)
        labels = array[:, None] if array.ndim == 1 else labels
    return as_labelled(codes, labels, metric=metric, min_factors=1)


def _as_importance(curves: LossCapacity) -> Importance:
    if curves.importance.measure == "none":
        raise ValueError("disentanglement and completeness need importances, but importance is 'none'.")
    if np.isnan(curves.importance.values).any():  # without known errors there is nothing to draw
        raise ValueError(f"{curves.importance.measure} come without standard errors.")
    return Importance(
        matrix=curves.matrix, informativeness=1 - curves.losses.min(axis=1), in_accuracy=curves.in_accuracy
    )


def _with_notes(score: Score, curves: LossCapacity) -> Score:
    return replace(score, notes=(*score.notes, *curves.notes))


def _curve_evidence(curves: LossCapacity) -> dict[str, FloatArray]:
    """Arrays for a plot of the curves."""
    found = curves.curves
    return {
        "capacities": found.capacities,
        "losses": found.losses,
        "loss_low": found.low,
        "loss_high": found.high,
        "baselines": found.baselines,
    }


def _row(headline: str, **own: Any) -> Metric:
    """Return one row of the family; its evidence is costly, so the default panel leaves it out."""
    return Metric(
        name=f"dci_es.{headline}",
        title=f"DCI-ES {headline}",
        function=dci_es,
        source=LOSS_CAPACITY,
        reference="Eastwood et al. (2023), arXiv:2210.00364",
        tolerance=0.03,
        cost=Cost.MINUTE,
        in_default=False,
        **own,
    )


ROWS = (
    _row(
        "disentanglement",
        score=es_disentanglement,
        measures=(Property.MODULARITY,),
        summary="Does each code matter for one factor only, to the simplest probe that does well?",
        invariant_to=AXES,
        misled_by_dependence=SPLIT_IMPORTANCE,
        min_factors=2,
        known_failures=(UNUSED_CODES_UNSEEN,),
    ),
    _row(
        "completeness",
        score=es_completeness,
        measures=(Property.COMPACTNESS,),
        summary="Does each factor need one code only, to the simplest probe that does well?",
        invariant_to=AXES,
        misled_by_dependence=SPLIT_IMPORTANCE,
        known_failures=(ONE_COPY_SUFFICES,),
    ),
    _row(
        "informativeness",
        score=es_informativeness,
        measures=(Property.EXPLICITNESS,),
        summary="Can the factors be predicted from the codes with any capacity?",
        invariant_to=AXES | {Invariance.ROTATION},
    ),
    _row(
        "explicitness",
        score=es_explicitness,
        measures=(Property.EXPLICITNESS,),
        summary="How little capacity does a probe need to predict the factors?",
        bounds=(-1.0, 1.0),
        invariant_to=AXES | {Invariance.ROTATION},
        has_null=False,
        known_failures=(
            KnownFailure(
                cases=("*/noise_*", "*_shuffled/*", "*/dropped"),
                sentence="The loss curve of a factor that no capacity predicts is flat, and a flat curve scores 1. "
                "Read explicitness beside informativeness.",
            ),
        ),
    ),
    _row(
        "size",
        score=es_size,
        measures=(Property.COMPACTNESS,),
        summary="How many factors are there for each code?",
        bounds=(0.0, math.inf),
        invariant_to=frozenset(Invariance),
        has_null=False,
        known_failures=(
            KnownFailure(cases=("*",), sentence="It counts codes and factors, whatever the codes encode."),
        ),
    ),
)
BESIDE_THE_PANEL = (
    BesideThePanel(
        name="task_explicitness",
        summary="How little capacity does a probe need to solve a task from the codes?",
        needs="codes and the labels of a task",
        call="unbraid.metrics.task_explicitness(codes, labels)",
        also="`dci_es.explicitness` of the panel measures it for the factors",
    ),
    BesideThePanel(
        name="loss_capacity",
        summary="How does the loss of probes fall with their capacity? Curves, not a score.",
        needs="codes and factors, or the labels of a task",
        call="unbraid.metrics.loss_capacity(codes, labels)",
        also="the report on `dci_es` draws the curves",
    ),
)
