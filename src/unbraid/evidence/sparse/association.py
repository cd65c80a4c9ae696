"""Correlation of every sparse code with every factor, and predictions from single codes, by group statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.stats import average_ranks
from unbraid.evidence.association import (
    ROUNDING,
    THRESHOLD_FOLDS,
    Association,
    Correlation,
    CorrelationOptions,
    NoOptions,
    ThresholdFolds,
)
from unbraid.evidence.sparse.columns import column_of, rank_differences
from unbraid.evidence.sparse.information import blocks_of
from unbraid.probes.splits import Split, cross_fit_factor
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.sparse import SparseRepresentation


def sparse_correlations(
    rep: SparseRepresentation, options: CorrelationOptions, rng: np.random.Generator
) -> Association:
    """Absolute correlation of every code with every factor; draws nothing, so ``rng`` is not used."""
    columns = [np.sqrt(_explained(rep, factor, options.correlation)) * rep.active for factor in rep.factors]
    angles = tuple(factor.name for factor in rep.factors if factor.kind is FactorKind.CIRCULAR)
    return Association(matrix=np.stack(columns, axis=1), active=rep.active, angles=angles)


def sparse_predictability(rep: SparseRepresentation, options: NoOptions, rng: np.random.Generator) -> Association:
    """How well one code alone predicts each factor: R² of a line, or cross-fitted accuracy of thresholds."""
    columns = []
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        if factor.is_numeric:
            columns.append(_explained(rep, factor, "pearson"))
        else:
            splits = cross_fit_factor(factor, n_folds=THRESHOLD_FOLDS, rng=child)
            columns.append(_threshold_accuracy(rep, factor, splits) * rep.active)
    return Association(matrix=np.stack(columns, axis=1), active=rep.active)


def _explained(rep: SparseRepresentation, factor: Factor, correlation: Correlation) -> FloatArray:
    """Share of each code's variance accounted for by the factor's targets, ``(n_codes,)``."""
    labelled = factor.labelled
    rows, matrix = np.flatnonzero(labelled), rep.by_column
    if correlation == "spearman":
        matrix = _ranks(rep, rows)
    elif not labelled.all():
        matrix = rep.by_row[rows].tocsc()
    is_whole = bool(labelled.all())
    total, squares = rep.memo.once(("squares", correlation), lambda: _squares(matrix)) if is_whole else _squares(matrix)
    if factor.kind is FactorKind.CATEGORICAL:
        assert factor.labels is not None
        kept = _between_levels(matrix, factor.labels[rows], len(factor.levels))
    else:
        targets = factor.targets(rows)
        if correlation == "spearman" and targets.shape[1] == 1:
            targets = average_ranks(targets)
        left, values, _ = np.linalg.svd(targets - targets.mean(axis=0), full_matrices=False)
        axes = left[:, values > 1e-9 * values[0]]
        kept = (np.asarray(matrix.T @ axes) ** 2).sum(axis=1)
    share = np.divide(kept, total, out=np.zeros_like(total), where=total > ROUNDING * squares)
    return np.asarray(np.clip(share, 0.0, 1.0))


def _ranks(rep: SparseRepresentation, rows: IntArray) -> Any:
    """Ranks of the codes among some rows, as a sparse matrix; those of all rows once."""
    if len(rows) < rep.n_samples:
        return rank_differences(rep.by_row[rows].tocsc())
    return rep.memo.once("ranks", lambda: rank_differences(rep.by_column))


def _squares(matrix: Any) -> tuple[FloatArray, FloatArray]:
    """Squares of each code around its mean, and around 0, summed."""
    n_rows, n_codes = matrix.shape
    column, values = column_of(matrix.indptr), matrix.data.astype(np.float64)
    mean = np.bincount(column, weights=values, minlength=n_codes) / n_rows
    squares: FloatArray = np.bincount(column, weights=values**2, minlength=n_codes).astype(np.float64)
    n_zero = n_rows - np.diff(matrix.indptr)
    around = np.bincount(column, weights=(values - mean[column]) ** 2, minlength=n_codes) + n_zero * mean**2
    return around, squares


def level_sums(matrix: Any, labels: IntArray, n_levels: int, codes: slice) -> FloatArray:
    """Sum of some codes over the rows of each level, ``(n_codes, n_levels)``; label -1 is left out."""
    starts = matrix.indptr[codes.start : codes.stop + 1]
    own = slice(starts[0], starts[-1])
    level = labels[matrix.indices[own]]
    key, known = column_of(starts) * n_levels + level, level >= 0
    size = (codes.stop - codes.start) * n_levels
    sums = np.bincount(key[known], weights=matrix.data[own][known], minlength=size)
    return sums.astype(np.float64, copy=False).reshape(-1, n_levels)


def _between_levels(matrix: Any, labels: IntArray, n_levels: int) -> FloatArray:
    """Squares of the means of levels around the mean of all rows, each counted for its rows."""
    counts = np.bincount(labels, minlength=n_levels).astype(float)
    parts = []
    for codes in blocks_of(matrix.indptr):
        sums = level_sums(matrix, labels, n_levels, codes)
        means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        centre = sums.sum(axis=1, keepdims=True) / counts.sum()
        parts.append((counts * (means - centre) ** 2).sum(axis=1))
    return np.concatenate(parts)


def _threshold_accuracy(rep: SparseRepresentation, factor: Factor, splits: Sequence[Split]) -> FloatArray:
    """Balanced accuracy of the nearest class mean, for each code on its own, over the test rows of all folds."""
    assert factor.labels is not None
    folds, matrix = ThresholdFolds.of(factor, splits), rep.by_column
    hits = [_threshold_hits(matrix, codes, factor.labels, folds) for codes in blocks_of(matrix.indptr)]
    return folds.balanced_accuracy(np.concatenate(hits))


def _threshold_hits(matrix: Any, codes: slice, labels: IntArray, folds: ThresholdFolds) -> FloatArray:
    """Test rows of each value that each of some codes predicts, over all folds, ``(n_codes, n_levels)``.

    Args:
        matrix: Codes by column, sparse.
        codes: The codes.
        labels: Value of each row, -1 without one.
        folds: Rows that fit and test each fold.
    """
    n_codes, (n_folds, n_levels) = codes.stop - codes.start, folds.fitted.shape
    starts = matrix.indptr[codes.start : codes.stop + 1]
    rows, value, code = matrix.indices[starts[0] : starts[-1]], matrix.data[starts[0] : starts[-1]], column_of(starts)
    truth, where = labels[rows], folds.fold[rows]
    if (labels < 0).any():
        known = truth >= 0
        value, code, truth, where = value[known], code[known], truth[known], where[known]
    cell = (code * (n_folds + 1) + where + 1) * n_levels + truth
    shape = n_codes, n_folds + 1, n_levels
    sums = np.bincount(cell, weights=value, minlength=np.prod(shape)).reshape(shape)
    stored = np.bincount(cell, minlength=np.prod(shape)).reshape(shape)
    order, thresholds = folds.thresholds(sums)
    if (where < 0).any():
        held = where >= 0
        value, code, truth, where = value[held], code[held], truth[held], where[held]
    place = code * n_folds + where
    rank = np.zeros(len(value), dtype=np.intp)
    for step in range(n_levels - 1):
        rank += thresholds[:, :, step].ravel()[place] < value
    is_hit = order.ravel()[place * n_levels + rank] == truth
    own = code * n_levels + truth
    hits: FloatArray = np.bincount(own[is_hit], minlength=n_codes * n_levels).reshape(n_codes, n_levels).astype(float)
    every = np.arange(n_codes)
    for k in range(n_folds):
        of_zero = order[every, k, (thresholds[:, k] < 0).sum(axis=1)]
        hits[every, of_zero] += folds.tested[k, of_zero] - stored[every, k + 1, of_zero]
    return hits
