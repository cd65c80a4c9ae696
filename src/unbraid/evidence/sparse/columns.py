"""Columns of a sparse matrix in order: sorted values, bins with one for zero, ranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from unbraid.evidence.information import ROUNDING, TAIL, Binning, InformationOptions, discretise, robust_ends
from unbraid.representation.sparse import SparseRepresentation


@dataclass(frozen=True, kw_only=True, eq=False)
class SortedColumns:
    """The stored values of every column in increasing order.

    Attributes:
        starts: Where each column begins among the stored values, and the end of the last, ``(n_codes + 1,)``.
        order: Places of the stored values in increasing order, column by column.
        values: The stored values in that order.
        n_rows: Rows of the matrix.
    """

    starts: IntArray
    order: IntArray
    values: FloatArray
    n_rows: int

    @staticmethod
    def of(by_column: Any) -> SortedColumns:
        """Sort the columns of a matrix."""
        starts = by_column.indptr.astype(np.intp)
        order = np.lexsort((by_column.data, column_of(starts)))
        values = by_column.data[order].astype(np.float64)
        return SortedColumns(starts=starts, order=order, values=values, n_rows=by_column.shape[0])

    @property
    def sizes(self) -> IntArray:
        """Stored values of each column."""
        return np.diff(self.starts)

    @cached_property
    def column(self) -> IntArray:
        """Column of each value."""
        return column_of(self.starts)

    @cached_property
    def is_new(self) -> BoolArray:
        """Whether a value differs from the one before it in its column."""
        new = np.ones(len(self.values), dtype=bool)
        new[1:] = (self.values[1:] != self.values[:-1]) | (self.column[1:] != self.column[:-1])
        return new

    def at(self, places: IntArray) -> FloatArray:
        """Value at a place of every column that has values, 0 for a column without."""
        inside = np.minimum(self.starts[:-1] + np.minimum(places, np.maximum(self.sizes - 1, 0)), len(self.values) - 1)
        return np.asarray(np.where(self.sizes > 0, self.values[inside], 0.0))


def column_of(starts: IntArray) -> IntArray:
    """Column of each stored value."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def sorted_columns(rep: SparseRepresentation) -> SortedColumns:
    """Return the sorted columns of a representation, sorted once for all evidence."""
    return rep.memo.once("sorted_columns", lambda: SortedColumns.of(rep.by_column))


def sparse_bins(rep: SparseRepresentation, options: InformationOptions) -> tuple[AnyArray, IntArray]:
    """Return the bin of every stored value by columns, and the number of bins of every code.

    Zero is a bin of its own, number 0, which is not stored; the other values of a column are cut into ``n_bins - 1``
    bins as :func:`~unbraid.evidence.information.discretise` cuts them.
    """
    key = ("sparse bins", options.n_bins, options.binning)
    return rep.memo.once(key, lambda: _bins(sorted_columns(rep), options.n_bins - 1, options.binning))


def _bins(columns: SortedColumns, n_bins: int, binning: Binning) -> tuple[AnyArray, IntArray]:
    sizes = columns.sizes
    bins = np.zeros(len(columns.values), dtype=np.int16)
    used = np.where(sizes > 0, n_bins, 0)
    one_by_one = np.zeros(len(sizes), dtype=bool)
    if binning == "quantile":
        one_by_one = sizes > 0
    elif len(columns.values):
        n_distinct = np.diff(np.append(0, np.cumsum(columns.is_new))[columns.starts])
        few = (n_distinct <= n_bins) & (binning == "robust")
        nearly_few = (binning == "robust") & ~few & (n_distinct - n_bins <= 2 * TAIL * sizes)
        if binning == "robust":
            low, high, shared = _robust_ends(columns)
            one_by_one = (nearly_few | (shared & ~few)) & (sizes > 0)
        else:
            low, high = columns.at(np.zeros_like(sizes)), columns.at(sizes - 1)
        width = np.divide(n_bins, high - low, out=np.zeros(len(low)), where=high > low)
        scaled = (columns.values - low[columns.column]) * width[columns.column] + ROUNDING * (binning == "robust")
        bins = np.clip(scaled, 0, n_bins - 1).astype(np.int16)
        level = np.cumsum(columns.is_new) - 1
        level -= level[np.minimum(columns.starts[:-1], len(level) - 1)][columns.column]
        bins = np.where(few[columns.column], level, bins).astype(np.int16)
        used = np.where(few, n_distinct, used)
    for j in np.flatnonzero(one_by_one):
        own = slice(columns.starts[j], columns.starts[j + 1])
        bins[own], used[j] = discretise(columns.values[own], n_bins, binning)
    placed = np.empty_like(bins)
    placed[columns.order] = bins + 1
    return placed, used + (sizes < columns.n_rows)


def _robust_ends(columns: SortedColumns) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Ends of the robust bins of every column, and where half of the values are equal, which needs more care."""
    sizes = columns.sizes
    tail, quarter = (np.clip(np.round(share * (sizes + 1)).astype(np.intp) - 1, 0, None) for share in (TAIL, 0.25))
    tail, quarter = np.minimum(tail, np.maximum(sizes - 1, 0)), np.minimum(quarter, np.maximum(sizes - 1, 0))
    low, first, middle = columns.at(tail), columns.at(quarter), columns.at(sizes // 2)
    last, high = columns.at(np.maximum(sizes - 1 - quarter, 0)), columns.at(np.maximum(sizes - 1 - tail, 0))
    return *robust_ends(low, first, middle, last, high), first == last


def rank_differences(by_column: Any) -> Any:
    """Return the rank of every stored value less the rank that the zeros of its column share, as a matrix.

    A column less a constant has the same correlations, so that ranks stay as sparse as the values.
    """
    columns = SortedColumns.of(by_column)
    n_zero = columns.n_rows - columns.sizes
    if not len(columns.values):
        return by_column.astype(np.float64)
    place = np.arange(len(columns.values)) - columns.starts[:-1][columns.column]
    begins = np.flatnonzero(columns.is_new)
    lengths = np.diff(np.append(begins, len(place)))
    mean_place = np.repeat(place[begins] + (lengths - 1) / 2, lengths)
    n_below = np.bincount(columns.column, weights=columns.values < 0, minlength=len(n_zero))
    of_zero = n_below + (n_zero + 1) / 2
    rank = mean_place + 1 + n_zero[columns.column] * (columns.values > 0) - of_zero[columns.column]
    ranks = by_column.astype(np.float64)
    ranks.data[columns.order] = rank
    return ranks
