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
    """Rows grouped by the values of each factor.

    Attributes:
        codes: The active codes, centred, ``(n_samples, n_active)``.
        labels: For each factor, the value of each row, -1 where not labelled.
        n_levels: For each factor, how many values it takes.
        active: Which codes vary.
    """

    codes: FloatArray
    labels: tuple[IntArray, ...]
    n_levels: tuple[int, ...]
    active: BoolArray


def conditional_spread(rep: Representation, options: ConditionalOptions, rng: np.random.Generator) -> ConditionalSpread:
    """Group all rows by the values of each factor; draws nothing, so ``rng`` is not used."""
    codes = rep.codes[:, rep.active]
    groups = [factor_labels(factor, options.n_bins, options.binning) for factor in rep.factors]
    for factor, (labels, n_levels) in zip(rep.factors, groups, strict=True):
        if np.bincount(labels[labels >= 0], minlength=n_levels).max() < 2:
            raise ValueError(f"factor {factor.name!r} has no value shared by two rows; use fewer bins or more rows.")
    return ConditionalSpread(
        codes=codes - codes.mean(axis=0),
        labels=tuple(labels for labels, _ in groups),
        n_levels=tuple(n_levels for _, n_levels in groups),
        active=rep.active,
    )


def relative_variances(spread: ConditionalSpread) -> list[tuple[FloatArray, FloatArray]]:
    """For each factor: variance of each code at each value over that in the data, and the share of rows of each value.

    Values seen once are left out.
    """
    total = spread.codes.var(axis=0, ddof=1)
    found = []
    for labels, n_levels in zip(spread.labels, spread.n_levels, strict=True):
        within, counts = variance_by_label(spread.codes, labels, n_levels)
        repeated = counts >= 2
        found.append((within[repeated] / total, counts[repeated] / counts[repeated].sum()))
    return found


def variance_by_label(codes: FloatArray, labels: IntArray, n_levels: int) -> tuple[FloatArray, IntArray]:
    """Unbiased variance of centred codes at each label (0 for a label of one row), and rows of each label."""
    order, starts, present = sort_by_label(labels)
    counts = np.bincount(labels[order], minlength=n_levels)
    ordered = codes[order]
    means, squares = np.zeros((n_levels, codes.shape[1])), np.zeros((n_levels, codes.shape[1]))
    means[present] = np.add.reduceat(ordered, starts, axis=0) / counts[present, None]
    squares[present] = np.add.reduceat(ordered**2, starts, axis=0)
    within = np.maximum(squares - counts[:, None] * means**2, 0.0)
    return within / np.maximum(counts - 1, 1)[:, None], counts


def sort_by_label(labels: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return labelled rows in order of label, where each label starts among them, and which labels there are."""
    order = np.argsort(labels.astype(np.int16), kind="stable")[int((labels < 0).sum()) :]
    ordered = labels[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return order, starts, ordered[starts]
