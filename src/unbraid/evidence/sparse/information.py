"""Information tables of sparse codes, from the cells that are not empty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid.evidence.counting import (
    HARDLY_BIASED,
    INDEPENDENT,
    Estimator,
    cell_terms,
    sparse_table_bias,
    unexplained_variance,
    without_residual,
)
from unbraid.evidence.information import Halves, InformationOptions, InformationTable, factor_labels
from unbraid.evidence.sparse.columns import column_of, sparse_bins
from unbraid.representation.sparse import SparseRepresentation

#: Stored values of the codes that are counted at once.
AT_ONCE = 2_000_000
#: Cells are counted in an array where there are at most this many to a value, and by sorting where there are more.
CELLS_A_VALUE = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Rows in the cells of the tables of some codes with one factor; the cells of bin 0 follow from the totals.

    Attributes:
        code: Code of each cell, from 0 for the first of these codes.
        count: Rows in each cell of the bins but 0.
        pair_code: Code of each pair of a code and a level with rows beside bin 0.
        pair_level: Level of each pair.
        pair_count: Rows of each pair beside bin 0.
        bin_code: Code of each bin with rows, but 0.
        bin_count: Rows of each bin.
        by_level: Rows of each level, ``(n_levels,)``.
        n_codes: Number of these codes.
    """

    code: IntArray
    count: IntArray
    pair_code: IntArray
    pair_level: IntArray
    pair_count: IntArray
    bin_code: IntArray
    bin_count: IntArray
    by_level: IntArray
    n_codes: int

    @property
    def n_rows(self) -> int:
        """Rows with a label."""
        return int(self.by_level.sum())

    @property
    def beside_zero(self) -> IntArray:
        """Rows of each code that are not 0, ``(n_codes,)``."""
        return np.bincount(self.bin_code, weights=self.bin_count, minlength=self.n_codes).astype(np.intp)

    def sum_of(self, code: IntArray, terms: FloatArray) -> FloatArray:
        """Add up terms code by code, ``(n_codes,)``."""
        return np.asarray(np.bincount(code, weights=terms, minlength=self.n_codes), dtype=np.float64)

    def over_cells(self, term: Any) -> FloatArray:
        """Add up a function of the counts over the cells of every code, bin 0 included."""
        own = self.by_level[self.pair_level]
        zero = term(own - self.pair_count) - term(own)
        total = float(term(self.by_level).sum())
        return total + self.sum_of(self.code, term(self.count)) + self.sum_of(self.pair_code, zero)

    def over_bins(self, term: Any) -> FloatArray:
        """Add up a function of the counts over the bins of every code, bin 0 included."""
        of_zero = np.asarray(term(self.n_rows - self.beside_zero), dtype=np.float64)
        return self.sum_of(self.bin_code, term(self.bin_count)) + of_zero


def count_cells(
    codes: slice, starts: IntArray, rows: AnyArray, places: AnyArray, labels: IntArray, n_bins: int, n_levels: int
) -> Cells:
    """Count the bins of some codes against the labels of a factor.

    Args:
        codes: Which codes.
        starts: Where each column begins among the stored values.
        rows: Row of each stored value.
        places: Number of the code of each stored value times ``n_bins``, and its bin, from 1.
        labels: Label of each row, -1 for none.
        n_bins: Number of bins with that of zero.
        n_levels: Number of levels of the factor.
    """
    begins = starts[codes.start : codes.stop + 1]
    own = slice(begins[0], begins[-1])
    n_codes, levels = len(begins) - 1, labels[rows[own]]
    key = places[own] - codes.start * n_bins
    key *= n_levels
    key += levels
    known = key if labels.min(initial=0) >= 0 else key[levels >= 0]
    key, count = counted(known, n_codes * n_bins * n_levels)
    code, level = key // (n_bins * n_levels), key % n_levels
    pair, pair_count = counted(code * n_levels + level, n_codes * n_levels, weights=count)
    found, bin_count = _runs(key // n_levels, count)
    return Cells(
        code=code,
        count=count,
        pair_code=pair // n_levels,
        pair_level=pair % n_levels,
        pair_count=pair_count,
        bin_code=found // n_bins,
        bin_count=bin_count,
        by_level=np.bincount(labels[labels >= 0], minlength=n_levels),
        n_codes=n_codes,
    )


def counted(key: IntArray, size: int, *, weights: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Return keys that occur and how often, or the sum of their weights; keys are below ``size``."""
    if size <= CELLS_A_VALUE * max(len(key), 1024):
        total = np.bincount(key, weights=weights, minlength=size)
        present = np.flatnonzero(total)
        return present, total[present].astype(np.intp)
    if weights is None:
        present, count = np.unique(key, return_counts=True)
        return present, count
    present, place = np.unique(key, return_inverse=True)
    return present, np.bincount(place, weights=weights, minlength=len(present)).astype(np.intp)


def _runs(key: IntArray, weights: IntArray) -> tuple[IntArray, IntArray]:
    """Return keys that are in order, each once, and the sums of their weights."""
    if not len(key):
        return key, weights
    begins = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    return key[begins], np.add.reduceat(weights, begins)


def blocks_of(starts: IntArray) -> Iterator[slice]:
    """Yield runs of codes, each of about as many stored values as are counted at once."""
    first, n_codes = 0, len(starts) - 1
    while first < n_codes:
        last = int(np.searchsorted(starts, starts[first] + AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), first + AT_ONCE, n_codes)
        yield slice(first, last)
        first = last


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """Information of all codes about one factor, each ``(n_codes,)``; and the entropy of the factor."""

    mutual_information: FloatArray
    code_entropy: FloatArray
    plug_in: FloatArray
    chance: FloatArray
    factor_entropy: float
    n_levels: int


def _column(
    rep: SparseRepresentation, k: int, options: InformationOptions, *, shares: tuple[float, ...] = (), rough: bool
) -> _Column:
    """Count one factor against all codes; ``shares`` of the rows are those whose chance variance is wanted."""
    places, code_bins = _places(rep, options), sparse_bins(rep, options)[1]
    labels, n_levels = factor_labels(rep.factors[k], options.n_bins, options.binning)
    matrix, parts = rep.by_column, []
    for codes in blocks_of(matrix.indptr):
        cells = count_cells(codes, matrix.indptr, matrix.indices, places, labels, options.n_bins, n_levels)
        parts.append(_information(cells, code_bins[codes], options.estimator, shares, rough=rough))
    return replace(
        parts[0],
        mutual_information=np.concatenate([part.mutual_information for part in parts]),
        code_entropy=np.concatenate([part.code_entropy for part in parts]),
        plug_in=np.concatenate([part.plug_in for part in parts]),
        chance=np.concatenate([part.chance for part in parts], axis=-1),
    )


def _places(rep: SparseRepresentation, options: InformationOptions) -> IntArray:
    """Where each stored value is counted, without its level; the same for all factors."""
    key = ("sparse places", options.n_bins, options.binning)
    return rep.memo.once(key, lambda: column_of(rep.by_column.indptr) * options.n_bins + sparse_bins(rep, options)[0])


def _information(
    cells: Cells, code_bins: IntArray, estimator: Estimator, shares: tuple[float, ...], *, rough: bool
) -> _Column:
    """The same estimates as :func:`~unbraid.evidence.counting.information_of` makes of full tables."""
    mi, h_code, h_factor = _estimates(cells, code_bins, estimator)
    plug_in = mi if rough or estimator == "none" else _estimates(cells, code_bins, "none")[0]
    if estimator == "schurmann" and not rough:
        mi = without_residual(mi, _residual(cells), np.minimum(h_code, h_factor))
    if estimator != "none" and not rough:
        mi = np.where(plug_in <= INDEPENDENT, 0.0, mi)
    chance = np.stack([_chance_variance(cells, estimator, share) for share in shares]) if shares else np.zeros((0, 0))
    return _Column(
        mutual_information=mi,
        code_entropy=h_code,
        plug_in=plug_in,
        chance=chance,
        factor_entropy=h_factor,
        n_levels=len(cells.by_level),
    )


def _estimates(cells: Cells, code_bins: IntArray, estimator: Estimator) -> tuple[FloatArray, FloatArray, float]:
    told, scale = cell_terms(cells.n_rows, estimator), max(cells.n_rows, 1)
    all_rows, factor = float(told(np.array(cells.n_rows))), float(told(cells.by_level).sum())
    code = cells.over_bins(told)
    mi = (all_rows + cells.over_cells(told) - code - factor) / scale
    h_code, h_factor = (all_rows - code) / scale, (all_rows - factor) / scale
    if estimator == "none":
        return np.maximum(mi, 0.0), h_code, h_factor
    h_code = np.minimum(h_code, np.log(np.maximum(code_bins, 1)))
    h_factor = min(h_factor, float(np.log(len(cells.by_level))))
    return np.minimum(mi, np.minimum(h_code, h_factor)), h_code, h_factor


def _residual(cells: Cells) -> FloatArray:
    """Bias of sparse tables; it depends on a bin by its number of rows alone."""
    n_rows = max(cells.n_rows, 1)
    shares = cells.by_level / n_rows

    least = float(shares[shares > 0].min(initial=1.0))
    limit = min(n_rows + 1, int(HARDLY_BIASED / least) + 1)  # bins of more rows have no bias
    table = np.append(sparse_table_bias(np.arange(limit)[:, None] * shares).sum(axis=1), 0.0)

    def bias(counts: IntArray) -> FloatArray:
        return table[np.minimum(counts, limit)]

    return cells.over_bins(bias) / n_rows


def _chance_variance(cells: Cells, estimator: Estimator, share: float) -> FloatArray:
    """The same variance as :func:`~unbraid.evidence.counting.chance_variance` has."""
    n_rows = max(cells.n_rows, 1)
    variance = cells.over_cells(lambda counts: unexplained_variance(share * counts, estimator))
    n_used = cells.over_bins(lambda counts: (counts > 0).astype(float))
    one = float(unexplained_variance(np.array(np.inf), estimator))
    totals = one * (n_used + int((cells.by_level > 0).sum()) - 1)
    return np.asarray(np.maximum(variance - totals, 0.0) / (share * n_rows) ** 2)


def sparse_information_table(
    rep: SparseRepresentation, options: InformationOptions, rng: np.random.Generator
) -> InformationTable:
    """Count every code against every factor, once; draws nothing, so ``rng`` is not used."""
    parts = [_column(rep, k, options, rough=False) for k in range(rep.n_factors)]
    return _table(rep, options, parts)


def _table(rep: SparseRepresentation, options: InformationOptions, parts: list[_Column]) -> InformationTable:
    return InformationTable(
        mutual_information=np.stack([part.mutual_information for part in parts], axis=1),
        code_entropy=np.stack([part.code_entropy for part in parts], axis=1),
        factor_entropy=np.array([part.factor_entropy for part in parts]),
        code_bins=sparse_bins(rep, options)[1],
        factor_levels=np.array([part.n_levels for part in parts], dtype=np.intp),
        active=rep.active,
        corrected=options.estimator != "none",
        plug_in=np.stack([part.plug_in for part in parts], axis=1),
    )


def resampled_sparse_tables(
    rep: SparseRepresentation, options: InformationOptions, *, n_resamples: int, rng: np.random.Generator
) -> Iterator[InformationTable]:
    """Yield tables that scatter around that of all rows as tables of as many fresh rows would, one at a time."""
    halves = Halves(n_rows=rep.n_samples)
    shares = 1.0, halves.size / halves.n_rows
    parts = [_column(rep, k, options, shares=shares, rough=False) for k in range(rep.n_factors)]
    point = _table(rep, options, parts)
    mi, h_code, h_factor = _drawn(rep, options, halves, n_resamples, rng)
    for k, part in enumerate(parts):  # in place: these are the largest arrays of all
        mi[k] = halves.deviations(mi[k], part.chance)
    for k in range(len(h_code)):
        h_code[k] = halves.deviations(h_code[k])
    h_factor = halves.deviations(h_factor)
    for r in range(n_resamples):
        own_factor = np.maximum(point.factor_entropy + h_factor[r], 0.0)
        own_code = np.maximum(point.code_entropy + h_code[:, r].T, 0.0)
        own = np.minimum(point.mutual_information + mi[:, r].T, np.minimum(own_code, own_factor))
        if not point.corrected:
            own = np.maximum(own, 0.0)
        yield replace(point, mutual_information=own, code_entropy=own_code, factor_entropy=own_factor, plug_in=None)


def _drawn(
    rep: SparseRepresentation, options: InformationOptions, halves: Halves, n_resamples: int, rng: np.random.Generator
) -> tuple[AnyArray, AnyArray, FloatArray]:
    """Rough estimates on random halves: mutual information and entropies of codes and of factors.

    The first two are in single precision, ``(n_factors, n_halves, n_codes)``; the entropies of codes are there once
    where all factors are labelled on the same rows. A code that is 0 in all rows of a half has no entropy there, and is
    not counted.
    """
    labelled_alike = all(factor.labelled.all() for factor in rep.factors)
    mi = np.zeros((rep.n_factors, n_resamples, rep.n_codes), dtype=np.float32)
    h_code = np.zeros((1 if labelled_alike else rep.n_factors, n_resamples, rep.n_codes), dtype=np.float32)
    h_factor = np.zeros((n_resamples, rep.n_factors))
    for r, rows in enumerate(halves.draw(n_resamples, rng)):
        half = rep.take(rows)
        used = np.flatnonzero(np.diff(half.by_column.indptr))
        few = half.select_codes(used)
        for k in range(few.n_factors):
            part = _column(few, k, options, rough=True)
            mi[k, r, used] = part.mutual_information
            h_code[0 if labelled_alike else k, r, used] = part.code_entropy
            h_factor[r, k] = part.factor_entropy
    return mi, h_code, h_factor
