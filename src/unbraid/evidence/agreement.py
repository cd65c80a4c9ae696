"""Similarity of the codes of several models, code by code, from one table of products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_choice
from unbraid._base.stats import average_ranks
from unbraid.probes.linear import lasso_on_gram
from unbraid.probes.splits import standardise

Method = Literal["lasso", "spearman"]
Regressors = Literal["all", "one"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementOptions:
    """Options for comparing the codes of two models.

    Attributes:
        method: ``"lasso"`` or ``"spearman"`` rank correlation.
        regressors: ``"all"``: one Lasso for each code on all codes of the other model, compared by its absolute
            weights; ``"one"``: a Lasso for every two codes, compared by the share of variance it explains.
        strength: Weight of the Lasso's absolute coefficients, on standardised codes.
        undo_shrinkage: Divide the weights by 1 - ``strength``, so that of a copy is 1.
    """

    method: Method = "lasso"
    regressors: Regressors = "all"
    strength: float = 0.1
    undo_shrinkage: bool = True

    def __post_init__(self) -> None:
        check_choice("method", self.method, get_args(Method))
        check_choice("regressors", self.regressors, get_args(Regressors))
        if not 0 <= self.strength < 1:
            raise ValueError(f"strength must be in [0, 1), got {self.strength}.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelSimilarity:
    """Similarities of the informative codes of all models.

    Attributes:
        similarity: From 0, unlike; ``[i, j]`` is how well code i predicts code j, ``(n_codes, n_codes)`` over the
            informative codes of all models, one model after the other.
        counts: Informative codes of each model, ``(n_models,)``.
    """

    similarity: FloatArray
    counts: IntArray


def agreement(
    codes_of_models: Sequence[FloatArray], informative: Sequence[BoolArray], options: AgreementOptions
) -> ModelSimilarity:
    """Compare the codes of all models with each other.

    Codes are standardised (or ranked) once, and all their products are taken at once: 50 models of ten codes are one
    product of 500 columns. Every Lasso is solved on a piece of that table, those of one model for all others together.

    Args:
        codes_of_models: Codes of the same rows, ``(n_samples, n_codes)`` each.
        informative: Informative codes of each model.
        options: Options of the comparison.
    """
    kept = [codes[:, which] for codes, which in zip(codes_of_models, informative, strict=True)]
    counts = np.array([part.shape[1] for part in kept])
    if options.method == "spearman":
        kept = [average_ranks(part) for part in kept]
    stacked = np.hstack([standardise(part)[0] for part in kept])
    products = stacked.T @ stacked / len(stacked)
    if options.method == "spearman":
        return ModelSimilarity(similarity=np.abs(products), counts=counts)
    if options.regressors == "one":
        return ModelSimilarity(similarity=explained_by_one(products, options.strength), counts=counts)
    return ModelSimilarity(similarity=_lasso_weights(products, counts, options), counts=counts)


def explained_by_one(correlations: FloatArray, strength: float) -> FloatArray:
    """Share of variance that a Lasso on a single standardised code explains: r² less the square of its strength."""
    return np.maximum(correlations**2 - strength**2, 0.0)


def _lasso_weights(products: FloatArray, counts: IntArray, options: AgreementOptions) -> FloatArray:
    """Absolute weights of every model's codes for all codes."""
    weights = np.zeros_like(products)
    ends = np.cumsum(counts)
    for start, end in zip(ends - counts, ends, strict=True):
        own = slice(start, end)
        weights[own] = np.abs(lasso_on_gram(products[own, own], products[own], strength=options.strength))
    return weights / (1 - options.strength) if options.undo_shrinkage else weights
