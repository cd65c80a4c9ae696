"""Concepts and values of factors, against sparse codes: ranks as sparse as the codes, and counts of values."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid.evidence.association import CorrelationOptions
from unbraid.evidence.classes import ClassAssociation, ClassOptions, associated_values
from unbraid.evidence.concepts import (
    ConceptOptions,
    ConceptProbes,
    RankedCodes,
    SparseProbeOptions,
    rank_leads,
    single_codes_of,
    sparse_probes_of,
)
from unbraid.evidence.sparse.association import sparse_correlations
from unbraid.evidence.sparse.columns import rank_differences
from unbraid.evidence.sparse.information import sparse_information_table
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.sparse import SparseRepresentation


class SparseRankedCodes(RankedCodes):
    """Sparse codes by columns, and ranks less the rank that the zeros of a code share, by rows.

    A lead is a difference of mean ranks, so that the rank of zero makes no difference.
    """

    __slots__ = ()

    @staticmethod
    def of(codes: Any) -> SparseRankedCodes:
        """Rank the rows of each code of a matrix by columns."""
        return SparseRankedCodes(codes, rank_differences(codes).tocsr())

    def take(self, rows: IntArray) -> SparseRankedCodes:
        """Return some rows, ranked among themselves."""
        return SparseRankedCodes.of(self.codes.tocsr()[rows].tocsc())

    def leads(self, members: BoolArray, rows: IntArray | None = None) -> FloatArray:
        """Mean rank of the rows of a concept less that of the others, ``(n_codes, n_concepts)``; 0 where one is empty.

        Args:
            members: Which of all rows belong to each concept, ``(n_concepts, n_rows)``.
            rows: The rows to average over; all by default.
        """
        ranks, chosen = (self.ranks, members) if rows is None else (self.ranks[rows], members[:, rows])
        sums = np.asarray(ranks.T @ chosen.T.astype(np.float64))
        return rank_leads(sums, np.asarray(ranks.sum(axis=0)).ravel(), chosen)

    def columns(self, places: IntArray) -> FloatArray:
        """Return the codes at some places, ``(n_rows, *places.shape)``."""
        seen, where = np.unique(places, return_inverse=True)
        written = self.codes[:, seen].toarray().astype(np.float64)
        found: FloatArray = written[:, where.reshape(places.shape)]
        return found


def sparse_single_codes(rep: SparseRepresentation, options: ConceptOptions, rng: np.random.Generator) -> ConceptProbes:
    """Choose the best code for every concept on some rows, and measure it on the others."""
    return single_codes_of(rep, _ranked(rep), options, rng)


def sparse_codes_probes(
    rep: SparseRepresentation, options: SparseProbeOptions, rng: np.random.Generator
) -> ConceptProbes:
    """Choose the best k codes for every concept, fit a logistic regression to them, and measure it on other rows."""
    return sparse_probes_of(rep, _ranked(rep), options, rng)


def _ranked(rep: SparseRepresentation) -> SparseRankedCodes:
    return SparseRankedCodes.of(rep.by_column[:, np.flatnonzero(rep.active)])


def sparse_class_association(
    rep: SparseRepresentation, options: ClassOptions, rng: np.random.Generator
) -> ClassAssociation:
    """Associate every code with every value, each value as a factor "this value or not"; draws nothing.

    Raises:
        ValueError: Neighbours along a code, most rows of which are equal.
    """
    if options.by == "neighbours":
        raise ValueError(
            "by must be 'information' or 'spearman' for sparse codes, got 'neighbours': most rows of a code are 0 and "
            "have no order."
        )
    factors, names, owner = [], [], []
    for k, factor in enumerate(rep.factors):
        labels, levels, texts = associated_values(factor, options)
        names += texts
        owner += [k] * len(levels)
        factors += [_this_or_not(labels, level, text) for level, text in zip(levels, texts, strict=True)]
    values = rep.with_factors(tuple(factors))
    if options.by == "spearman":
        matrix = sparse_correlations(values, CorrelationOptions(correlation="spearman"), rng).matrix
    else:
        table = sparse_information_table(values, options, rng)
        matrix = table.information / table.factor_entropy * rep.active[:, None]
    return ClassAssociation(
        matrix=matrix,
        values=tuple(names),
        factor=np.array(owner, dtype=np.intp),
        n_factors=rep.n_factors,
        active=rep.active,
    )


def _this_or_not(labels: IntArray, level: int, name: str) -> Factor:
    """Return the factor of two values that says whether a row has this value."""
    own = np.where(labels < 0, -1, labels == level).astype(np.intp)
    numbers = np.where(own < 0, np.nan, own).astype(np.float64)
    return Factor(name=name, kind=FactorKind.CATEGORICAL, numbers=numbers, labels=own, levels=("no", "yes"))
