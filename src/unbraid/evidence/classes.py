"""Association of every code with every value of a factor, the value against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_choice
from unbraid._base.stats import average_ranks
from unbraid.evidence.counting import information_of
from unbraid.evidence.information import InformationOptions, bin_codes, factor_labels, joint_counts
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

By = Literal["information", "spearman", "neighbours"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOptions(InformationOptions):
    """How codes and values are associated, and the bins of ``"information"``.

    Attributes:
        by: ``"information"``: mutual information over the entropy of "this value or not"; ``"spearman"``: absolute rank
            correlation; ``"neighbours"``: share of rows of the value whose next row along the code is of the value too,
            less its frequency.
    """

    by: By = "information"

    def __post_init__(self) -> None:
        InformationOptions.__post_init__(self)
        check_choice("by", self.by, get_args(By))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassAssociation:
    """One number in [0, 1] for each code and value.

    Attributes:
        matrix: ``(n_codes, n_values)``, the values of all factors side by side; 0 for a dead code.
        values: Names of the values.
        factor: Position of the factor of each value, ``(n_values,)``.
        n_factors: Number of factors.
        active: Which codes vary.
    """

    matrix: FloatArray
    values: tuple[str, ...]
    factor: IntArray
    n_factors: int
    active: BoolArray


def class_association(rep: Representation, options: ClassOptions, rng: np.random.Generator) -> ClassAssociation:
    """Associate every code with every value; of a factor of two values with the second, which says the same."""
    matrices, names, owner = [], [], []
    for k, (factor, child) in enumerate(zip(rep.factors, rng.spawn(rep.n_factors), strict=True)):
        labels, levels, texts = associated_values(factor, options)
        matrices.append(_associated(rep, labels, levels, options, child) * rep.active[:, None])
        names += texts
        owner += [k] * len(levels)
    return ClassAssociation(
        matrix=np.concatenate(matrices, axis=1),
        values=tuple(names),
        factor=np.array(owner, dtype=np.intp),
        n_factors=rep.n_factors,
        active=rep.active,
    )


def associated_values(factor: Factor, options: ClassOptions) -> tuple[IntArray, list[int], list[str]]:
    """Return the label of each row, and the values that codes are associated with, by label and by name."""
    labels, n_levels = factor_labels(factor, options.n_bins, options.binning)
    rows = labels >= 0
    counts = np.bincount(labels[rows], minlength=n_levels)
    there = [level for level in range(n_levels) if 1 < counts[level] < rows.sum()]
    there = there[1:] if len(there) == 2 == n_levels else there
    return labels, there, [f"{factor.name} = {_text(factor, level, n_levels)}" for level in there]


def _text(factor: Factor, level: int, n_levels: int) -> str:
    return factor.levels[level] if len(factor.levels) == n_levels else f"bin {level + 1}"


def _associated(
    rep: Representation, labels: IntArray, levels: list[int], options: ClassOptions, rng: np.random.Generator
) -> FloatArray:
    """Association with some values of one factor, ``(n_codes, n_values)``."""
    if options.by == "information":
        return _information(rep, labels, levels, options)
    rows = np.flatnonzero(labels >= 0)
    members = labels[rows][:, None] == np.array(levels)
    codes = rep.codes if len(rows) == rep.n_samples else rep.codes[rows]
    return _rank_correlation(codes, members) if options.by == "spearman" else _neighbours(codes, members, rng)


def _information(rep: Representation, labels: IntArray, levels: list[int], options: ClassOptions) -> FloatArray:
    """Mutual information of each code with "this value or not", over the entropy of the latter."""
    bins, code_bins = bin_codes(rep, options)
    counts = joint_counts(bins, int(code_bins.max()), labels, int(labels.max()) + 1)
    whole = counts.sum(axis=2)
    columns = []
    for level in levels:
        found = information_of(
            np.stack([whole - counts[..., level], counts[..., level]], axis=2), code_bins, options.estimator
        )
        columns.append(np.maximum(found.mutual_information, 0.0) / found.factor_entropy)
    return np.stack(columns, axis=1)


def _rank_correlation(codes: FloatArray, members: BoolArray) -> FloatArray:
    """Absolute Spearman correlation of each code with each value; 0 for a code without variance."""
    ranks, inside = average_ranks(codes), members.astype(float)
    ranks, inside = ranks - ranks.mean(axis=0), inside - inside.mean(axis=0)
    scale = np.sqrt((ranks**2).sum(axis=0)[:, None] * (inside**2).sum(axis=0))
    product = ranks.T @ inside
    found: FloatArray = np.abs(np.divide(product, scale, out=np.zeros_like(product), where=scale > 0))
    return found


def _neighbours(codes: FloatArray, members: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Share of the rows of a value that are followed by another of the value along a code, from chance (0) to all (1).

    Rows with the same code are in random order.
    """
    n_rows, inside = len(codes), members.sum(axis=0)
    share = inside / n_rows
    found = np.zeros((codes.shape[1], members.shape[1]))
    for j, column in enumerate(codes.T):
        ordered = members[np.lexsort((rng.random(n_rows), column))]
        followed = (ordered[:-1] & ordered[1:]).sum(axis=0) / (inside - 1)
        found[j] = np.clip(followed - share, 0.0, None) / (1 - share)
    return found
