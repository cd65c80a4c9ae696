"""Spread of the codes among rows that share the value of a factor, over all rows and without sampling."""

from dataclasses import dataclass

import numpy as np

from unbraid._typing import BoolArray, FloatArray, IntArray
from unbraid.evidence.discretise import Binning, check_binning, factor_labels
from unbraid.representation import Representation


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalOptions:
    """How continuous factors are cut into values that rows can share."""

    n_bins: int = 20
    binning: Binning = "robust"

    def __post_init__(self) -> None:
        check_binning(self.n_bins, self.binning)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConditionalSpread:
    """For each factor, what its values do to the codes.

    Attributes:
        variances: For each factor, variance of each active code at each value over its variance in the data,
            ``(n_values, n_active)``; values seen once are left out.
        shares: For each factor, share of rows of each of those values.
        labels: For each factor, the value of each row, -1 where not labelled.
        codes: The active codes, ``(n_samples, n_active)``.
        active: Which codes vary.
    """

    variances: tuple[FloatArray, ...]
    shares: tuple[FloatArray, ...]
    labels: tuple[IntArray, ...]
    codes: FloatArray
    active: BoolArray


def conditional_spread(rep: Representation, options: ConditionalOptions, rng: np.random.Generator) -> ConditionalSpread:
    """Group all rows by the values of each factor; draws nothing, so ``rng`` is not used."""
    codes = rep.codes[:, rep.active]
    centred = codes - codes.mean(axis=0)
    total = centred.var(axis=0, ddof=1)
    variances, shares, all_labels = [], [], []
    for factor in rep.factors:
        labels, n_levels = factor_labels(factor, options.n_bins, options.binning)
        within, counts = variance_by_label(centred, labels, n_levels)
        repeated = counts >= 2
        if not repeated.any():
            raise ValueError(f"factor {factor.name!r} has no value shared by two rows; use fewer bins or more rows.")
        variances.append(within[repeated] / total)
        shares.append(counts[repeated] / counts[repeated].sum())
        all_labels.append(labels)
    return ConditionalSpread(
        variances=tuple(variances), shares=tuple(shares), labels=tuple(all_labels), codes=codes, active=rep.active
    )


def variance_by_label(codes: FloatArray, labels: IntArray, n_levels: int) -> tuple[FloatArray, IntArray]:
    """Unbiased variance of each code at each label (0 for a label of one row), and rows of each label."""
    rows = labels >= 0
    counts = np.bincount(labels[rows], minlength=n_levels)
    means = _sum_by_label(codes[rows], labels[rows], n_levels) / np.maximum(counts, 1)[:, None]
    squares = _sum_by_label((codes[rows] - means[labels[rows]]) ** 2, labels[rows], n_levels)
    return squares / np.maximum(counts - 1, 1)[:, None], counts


def _sum_by_label(values: FloatArray, labels: IntArray, n_levels: int) -> FloatArray:
    return np.stack([np.bincount(labels, weights=column, minlength=n_levels) for column in values.T], axis=1)
