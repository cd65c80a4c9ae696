"""Unsupervised disentanglement ranking: agreement between models trained alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice, check_codes
from unbraid.evidence.agreement import AgreementOptions, Method, ModelSimilarity, agreement
from unbraid.metrics.table.metric import BesideThePanel
from unbraid.representation.representation import Representation

Variant = Literal["published", "thesis"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UDR:
    """Agreement of models, code by code.

    Attributes:
        per_model: Median over the other models, in [0, 1], higher is better, ``(n_models,)``.
        pairs: ``[m, u]`` is the agreement of model m with model u, whose codes predict those of m; NaN on the diagonal,
            ``(n_models, n_models)``. Symmetric for Spearman, nearly so for Lasso.
        n_informative: Codes of each model that counted, ``(n_models,)``.
        notes: Limitations of the result.
    """

    per_model: FloatArray
    pairs: FloatArray
    n_informative: IntArray
    notes: tuple[str, ...]


def udr(
    codes_of_models: Sequence[Any],
    *,
    rates: Sequence[Any] | None = None,
    active: Sequence[Any] | None = None,
    method: Method = "lasso",
    variant: Variant = "published",
    threshold: float = 0.01,
    strength: float = 0.1,
    undo_shrinkage: bool = True,
) -> UDR:
    r"""Score each of several models by how far the others find the same codes, up to order and sign.

    Codes that disentangle tend to be found again by a model trained alike from another seed; codes that do not, come
    out turned another way each time. With :math:`R_{ab} \ge 0` the similarity of code a of one model and code b of
    another, and only informative codes, a of :math:`A` and b of :math:`B`:

    .. math::

        \mathrm{UDR}_{mu} = \frac{1}{A + B} \Bigl[ \sum_b \frac{\max_a R_{ab}^2}{\sum_a R_{ab}}
            + \sum_a \frac{\max_b R_{ab}^2}{\sum_b R_{ab}} \Bigr]

    and a model's score is the median over the other models. A code that resembles none counts 0.

    Args:
        codes_of_models: Codes of the same rows by models of one setting, at least two: arrays
            ``(n_samples, n_codes)`` or :class:`~unbraid.Representation`.
        rates: For each model, the mean KL divergence from the prior of each of its codes, in nats; those above
            ``threshold`` are informative, as published.
        active: For each model, which codes are informative, if you know better. Without ``rates`` and ``active``, codes
            whose variance is above ``threshold`` times the model's largest.
        method: ``"lasso"``: weights of a Lasso; ``"spearman"``: absolute rank correlations.
        variant: ``"published"``: as above, one Lasso for each code on all codes of the other model;
            ``"thesis"``: :math:`\max R / \sum R`, and a Lasso for every two codes, compared by the share of
            variance it explains.
        threshold: Above which a code is informative.
        strength: Of the Lasso, on standardised codes.
        undo_shrinkage: Divide the weights by 1 - ``strength``, so that a copy scores 1 and not 0.9.

    Returns:
        Scores in [0, 1], higher is better, of each model and of every two. Copies that differ by the order and
        the sign of their codes score 1, noise about 0. The thesis' variant has no zero: it gives codes that are all
        equally alike 1 over their number.

    Raises:
        ValueError: Fewer than two models, rows that differ in number, codes that are not finite, or rates or
            masks that do not fit the codes.

    Note:
        Unchanged by order, sign and scale of codes (with ``rates`` or ``active``); changed by rotation.

    References:
        Duan et al. (2020), Unsupervised Model Selection for Variational Disentangled Representation Learning, sec. 4.
        https://arxiv.org/abs/1905.12614

    Example:
        >>> import numpy as np
        >>> codes = np.random.default_rng(0).normal(size=(5000, 3))
        >>> turned = codes[:, [2, 0, 1]] * [1, -1, 1]
        >>> udr([codes, turned, codes]).per_model.round(2).tolist()
        [1.0, 1.0, 1.0]
    """
    check_choice("variant", variant, get_args(Variant))
    check_at_least("threshold", threshold, 0)
    regressors: Any = "all" if variant == "published" else "one"
    options = AgreementOptions(method=method, regressors=regressors, strength=strength, undo_shrinkage=undo_shrinkage)
    codes = _check_models(codes_of_models)
    informative = _informative(codes, rates, active, threshold)

    found = agreement(codes, informative, options)
    pairs = agreement_of_pairs(found, squared=variant == "published")
    return UDR(
        per_model=np.nanmedian(pairs, axis=1), pairs=pairs, n_informative=found.counts, notes=_notes(found.counts)
    )


def agreement_of_pairs(found: ModelSimilarity, *, squared: bool) -> FloatArray:
    """Score of every two models, all at once; NaN on the diagonal, 0 with a model that has no informative code."""
    n_models, some = len(found.counts), np.flatnonzero(found.counts)
    pairs = np.zeros((n_models, n_models))
    if len(some):
        starts = (np.cumsum(found.counts) - found.counts)[some]
        by_target = np.add.reduceat(_strongest(found.similarity, starts, squared=squared), starts, axis=1)
        by_source = np.add.reduceat(_strongest(found.similarity.T, starts, squared=squared), starts, axis=1)
        counts = found.counts[some]
        pairs[np.ix_(some, some)] = (by_target.T + by_source) / (counts[:, None] + counts)
    np.fill_diagonal(pairs, np.nan)
    return pairs


def _strongest(similarity: FloatArray, starts: IntArray, *, squared: bool) -> FloatArray:
    """Similarity of each code (columns) to a single code of each model, ``(n_models, n_codes)``."""
    best, total = (reduce.reduceat(similarity, starts, axis=0) for reduce in (np.maximum, np.add))
    share: FloatArray = np.divide(best**2 if squared else best, total, out=np.zeros_like(total), where=total > 0)
    # weights above 1 are those of nearly collinear codes
    return np.minimum(share, 1.0)


def _check_models(codes_of_models: Sequence[Any]) -> list[FloatArray]:
    if len(codes_of_models) < 2:
        raise ValueError(f"codes_of_models must hold at least two models to compare, got {len(codes_of_models)}.")
    checked: list[FloatArray] = []
    for m, given in enumerate(codes_of_models):
        try:
            checked.append(given.codes if isinstance(given, Representation) else check_codes(given))
        except ValueError as error:
            raise ValueError(f"codes_of_models[{m}]: {error}") from error
        if len(checked[m]) != len(checked[0]):
            raise ValueError(
                "codes_of_models must hold codes of the same rows, "
                f"got {len(checked[0])} rows in the first and {len(checked[m])} in codes_of_models[{m}]."
            )
    return checked


def _informative(
    codes: list[FloatArray], rates: Sequence[Any] | None, active: Sequence[Any] | None, threshold: float
) -> list[BoolArray]:
    if rates is not None and active is not None:
        raise ValueError("rates and active both define the informative codes; give one of them.")
    if rates is not None:
        return [rate > threshold for rate in _fitting("rates", rates, codes, np.float64)]
    if active is not None:
        return _fitting("active", active, codes, np.bool_)
    variances = [part.var(axis=0) for part in codes]
    return [variance > threshold * variance.max() for variance in variances]


def _fitting(argument: str, given: Sequence[Any], codes: list[FloatArray], kind: Any) -> list[Any]:
    """Return one value for each code of each model, or raise where lengths differ."""
    if len(given) != len(codes):
        raise ValueError(f"{argument} must have an entry for each of the {len(codes)} models, got {len(given)}.")
    checked = [np.asarray(one, dtype=kind) for one in given]
    for m, (one, part) in enumerate(zip(checked, codes, strict=True)):
        if one.shape != (part.shape[1],) or np.isnan(one).any():
            raise ValueError(
                f"{argument}[{m}] must have a value for each of the {part.shape[1]} codes, got shape {one.shape}"
                f"{' with NaN' if np.isnan(one).any() else ''}."
            )
    return checked


def _notes(counts: IntArray) -> tuple[str, ...]:
    empty = np.flatnonzero(counts == 0).tolist()
    if not empty:
        return ()
    return (f"Models {empty} have no informative code: they agree with none, and score 0.",)


BESIDE_THE_PANEL = (
    BesideThePanel(
        name="udr",
        summary="Do models trained alike find the same codes? No labels needed.",
        needs="the codes of two or more models for the same rows",
        call="unbraid.metrics.udr([codes_1, codes_2, ...])",
        also="a study with `agreement` in its file measures it for every model",
    ),
)
