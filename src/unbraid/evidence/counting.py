"""Entropies and mutual information from joint counts: plug-in estimates, and estimates free of their bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import scipy

from unbraid._base.arrays import AnyArray, FloatArray, IntArray

BiasCorrection = Literal["auto", "none", "miller_madow", "schurmann"]
Estimator = Literal["none", "miller_madow", "schurmann"]

#: Schürmann (2004) recommends exp(-1/2), between 1/2 (Grassberger, 2003: least bias) and 1 (least variance).
XI = float(np.exp(-0.5))
ALTERNATES_UP_TO = 200
#: Rows expected in a cell, above which the bias of its term is below 1e-4.
HARDLY_BIASED = 6
#: Terms of that bias are looked up where the table of them is at most this many times as long as the cells.
CELLS_A_TERM = 4
#: Rounds in which information and its bias, which depend on each other, are computed: the bias is a fraction of a nat.
RESIDUAL_STEPS = 5
#: Information of columns that are independent to the last row, but for rounding.
INDEPENDENT = 1e-12
#: Terms of counts with more bits are computed one by one; a table of them would take gigabytes.
MOST_TABLE_BITS = 22


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """Information of several codes about one factor, in nats.

    Attributes:
        mutual_information: Of each code; below 0 by chance where the bias is taken off, ``(n_codes,)``.
        code_entropy: Of each code, ``(n_codes,)``.
        factor_entropy: Of the factor.
        n_levels: Number of values of the factor.
        plug_in: Mutual information as counted, with its bias, where it was asked for, ``(n_codes,)``.
    """

    mutual_information: FloatArray
    code_entropy: FloatArray
    factor_entropy: float
    n_levels: int
    plug_in: FloatArray | None


def entropy(counts: FloatArray | IntArray, *, axis: int | tuple[int, ...] = -1) -> FloatArray:
    """Plug-in entropy of whole-number counts along ``axis``, in nats."""
    total = np.maximum(counts.sum(axis=axis), 1)
    h: FloatArray = np.log(total) - (counts * np.log(np.maximum(counts, 1))).sum(axis=axis) / total
    return h


def information_of(counts: IntArray, code_bins: IntArray, estimator: Estimator) -> Counted:
    r"""Estimate the information of codes about a factor from counts, ``(n_codes, n_bins, n_levels)``.

    ``"schurmann"`` replaces :math:`n \log n` of every cell by :math:`n G(n)`, whose mean for a cell with
    :math:`\lambda` expected rows is :math:`\lambda \log \lambda + \lambda E_1(\lambda / \xi)`. The second term is next
    to nothing above three rows. What it adds up to in sparse tables is computed for independent columns, and less of it
    is taken off the more the columns depend on each other; see :func:`without_residual`.

    Entropies are at most the logarithm of the number of values, and the mutual information is at most either entropy.
    Columns that are independent to the last row, as in a full grid, are no sample: their information is 0.

    Args:
        counts: Of each bin of each code with each value of the factor.
        code_bins: Number of bins that each code can fill, ``(n_codes,)``.
        estimator: Of the entropies.
    """
    plug_in = rough_information(counts, code_bins, "none")
    if estimator == "none":
        return replace(plug_in, plug_in=plug_in.mutual_information)
    rough = rough_information(counts, code_bins, estimator)
    mi = rough.mutual_information
    if estimator == "schurmann":
        mi = without_residual(mi, _residual(counts), np.minimum(rough.code_entropy, rough.factor_entropy))
    mi = np.where(plug_in.mutual_information <= INDEPENDENT, 0.0, mi)
    return replace(rough, mutual_information=mi, plug_in=plug_in.mutual_information)


def rough_information(counts: IntArray, code_bins: IntArray, estimator: Estimator) -> Counted:
    """Estimate information without the terms of sparse tables and full grids, which differ little between samples."""
    by_bin, by_level = counts.sum(axis=2), counts[0].sum(axis=0)
    n_rows = int(by_level.sum())
    told, scale = cell_terms(n_rows, estimator), max(n_rows, 1)
    all_rows = told(np.array(n_rows))
    code, factor, joint = told(by_bin).sum(axis=1), told(by_level).sum(), told(counts).sum(axis=(1, 2))
    mi = (all_rows + joint - code - factor) / scale
    h_code, h_factor = (all_rows - code) / scale, float(all_rows - factor) / scale
    if estimator == "none":
        mi = np.maximum(mi, 0.0)
    else:
        h_code, h_factor = np.minimum(h_code, np.log(code_bins)), min(h_factor, float(np.log(len(by_level))))
        mi = np.minimum(mi, np.minimum(h_code, h_factor))
    return Counted(
        mutual_information=mi, code_entropy=h_code, factor_entropy=h_factor, n_levels=len(by_level), plug_in=None
    )


def cell_terms(n_rows: int, estimator: Estimator) -> Callable[[IntArray], FloatArray]:
    """Return the function from counts of up to ``n_rows`` to the terms of their cells."""
    bits = max(n_rows, 1).bit_length()
    if bits <= MOST_TABLE_BITS:
        table = _table(bits, estimator)
        return lambda counts: table[counts]
    return lambda counts: _large_terms(np.asarray(counts), estimator)


def _large_terms(counts: IntArray, estimator: Estimator) -> FloatArray:
    """Terms of cells with counts too large for a table; from ``ALTERNATES_UP_TO`` rows on they need none."""
    few = _table(ALTERNATES_UP_TO.bit_length(), estimator)
    n = np.maximum(counts, 1).astype(np.float64)
    if estimator == "schurmann":
        large = n * scipy.special.digamma(n)
    else:
        large = n * np.log(n) - (0.5 if estimator == "miller_madow" else 0.0)
    return np.where(counts < len(few), few[np.minimum(counts, len(few) - 1)], large)


def sparse_table_bias(expected: FloatArray) -> FloatArray:
    """Bias that the estimate of Schürmann has in cells with so many expected rows, in rows."""
    terms = np.zeros_like(expected)
    sparse = (expected > 0) & (expected < HARDLY_BIASED)
    terms[sparse] = expected[sparse] * scipy.special.exp1(expected[sparse] / XI)
    return terms


def unexplained_variance(counts: AnyArray, estimator: Estimator) -> FloatArray:
    """Variance of the terms of cells beyond a line in their numbers of rows."""
    grid, unexplained = _unexplained(estimator)
    found: FloatArray = np.interp(counts, grid, unexplained)
    return found


@lru_cache(maxsize=16)
def _table(bits: int, estimator: Estimator) -> FloatArray:
    """Return the term of a cell by its count, for counts of so many bits."""
    n = np.arange(2**bits + 1, dtype=np.float64)
    if estimator != "schurmann":
        plain: FloatArray = n * np.log(np.maximum(n, 1)) - (0.5 * (n > 0) if estimator == "miller_madow" else 0.0)
        return plain
    digamma = np.concatenate([[0.0, 0.0], np.cumsum(1 / n[1:-1])]) - np.euler_gamma
    alternating = np.zeros(len(n))
    reach = 1 / XI - 1
    alternating[1] = np.log1p(reach)
    for k in range(1, min(len(n) - 1, ALTERNATES_UP_TO)):
        alternating[k + 1] = reach**k / k - alternating[k]
    unbiased: FloatArray = n * (digamma + np.where(n % 2 == 0, alternating, -alternating))
    return unbiased


def _residual(counts: IntArray) -> FloatArray:
    """Bias that the estimate of Schürmann has where columns with the same totals are independent, ``(n_codes,)``."""
    n_rows = max(int(counts[0].sum()), 1)
    # Expected rows of a cell are a whole number over the number of rows, and those that matter have few values.
    products = counts.sum(axis=2)[:, :, None] * counts[0].sum(axis=0)
    if products.size * CELLS_A_TERM > HARDLY_BIASED * n_rows:
        terms = _bias_table(n_rows)
        biases = terms[np.minimum(products, len(terms) - 1)]
    else:
        biases = sparse_table_bias(products / n_rows)
    residual: FloatArray = biases.sum(axis=(1, 2)) / n_rows
    return residual


@lru_cache(maxsize=8)
def _bias_table(n_rows: int) -> FloatArray:
    """Bias of a cell by its expected rows times the number of rows, as far as there is any; the last entry is 0."""
    return sparse_table_bias(np.arange(HARDLY_BIASED * n_rows + 1) / n_rows)


def without_residual(rough: FloatArray, residual: FloatArray, most: FloatArray) -> FloatArray:
    r"""Take the bias of sparse tables off mutual information.

    The bias is one of cells with few rows. Rows of columns with entropies :math:`H_1, H_2` and information :math:`I`
    lie in about :math:`e^{H_1 + H_2 - I}` cells, fewer than those of independent columns by the factor :math:`e^{-I}`,
    and so is their bias. The factor is 0 for columns that determine each other, whose cells are those of one column.

    Args:
        rough: Estimates with the bias.
        residual: Bias of independent columns with the same totals.
        most: The smaller entropy of the two columns, which bounds their information.
    """
    least = np.exp(-np.maximum(most, 1e-12))
    found = rough
    for _ in range(RESIDUAL_STEPS):
        cells = np.exp(-np.clip(found, 0.0, most))
        found = rough - residual * (cells - least) / (1 - least)
    return found


def chance_variance(counts: IntArray, estimator: Estimator, *, share: float = 1.0) -> FloatArray:
    r"""Variance of the mutual information that is due to counting alone, on a share of the rows, ``(n_codes,)``.

    The variance of an estimate on N rows has a part that falls as 1 / N, as that of a mean does, and a part that falls
    about as :math:`1 / N^2`: the sum over cells of what the number of rows in a cell does not explain of its term. For
    independent columns it is all there is.
    """
    n_rows = max(int(counts[0].sum()), 1)
    by_bin, by_level = counts.sum(axis=2), counts[0].sum(axis=0)
    cells = unexplained_variance(share * counts, estimator).sum(axis=(1, 2))
    totals = unexplained_variance(np.array(np.inf), estimator) * (
        (by_bin > 0).sum(axis=1) + int((by_level > 0).sum()) - 1
    )
    variance: FloatArray = np.maximum(cells - totals, 0.0) / (share * n_rows) ** 2
    return variance


@lru_cache(maxsize=4)
def _unexplained(estimator: Estimator) -> tuple[FloatArray, FloatArray]:
    """Return expected rows in a cell, and the variance of the term of the cell beyond a line in its number of rows."""
    expected = np.concatenate([np.arange(0.05, 2, 0.05), np.arange(2, 10, 0.25), np.arange(10, 61, 5)])
    rows, terms = np.arange(256), _table(8, estimator)[:256]
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(rows[1:]))])
    chance = np.exp(rows * np.log(expected)[:, None] - expected[:, None] - log_factorial)
    mean, shared = chance @ terms, chance @ (rows * terms)
    variance = chance @ terms**2 - mean**2 - (shared - expected * mean) ** 2 / expected
    return np.concatenate([[0.0], expected]), np.concatenate([[0.0], variance])
