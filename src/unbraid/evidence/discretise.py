"""Cutting continuous columns into bins."""

from typing import Literal, get_args

import numpy as np

from unbraid._typing import AnyArray, FloatArray, IntArray
from unbraid._validation import check_at_least, check_choice
from unbraid.factor import Factor, FactorKind

Binning = Literal["uniform", "quantile", "robust"]
MAX_BINS = 1000


def check_binning(n_bins: int, binning: str) -> None:
    """Raise unless both options can be used."""
    check_at_least("n_bins", n_bins, 2)
    if n_bins > MAX_BINS:
        raise ValueError(f"n_bins must be at most {MAX_BINS}, got {n_bins}.")
    check_choice("binning", binning, get_args(Binning))


def discretise(column: FloatArray, n_bins: int, binning: Binning) -> tuple[AnyArray, int]:
    """Cut one column into bins.

    * ``"uniform"``: equal width from minimum to maximum. One far sample empties all bins but two.
    * ``"quantile"``: equal counts; unchanged by any increasing map of the column.
    * ``"robust"``: a column of at most ``n_bins`` distinct values keeps them; any other gets equal-width
      bins between Tukey's outer fences (three interquartile ranges beyond the quartiles), what lies
      beyond joining the end bins. Without outliers it equals ``"uniform"``. Where half the rows share one value,
      the fences are those of the others.

    Returns:
        The bin of each row, ``int16``, and the number of bins the column could have filled.
    """
    if binning == "quantile":
        edges = np.unique(np.quantile(column, np.linspace(0, 1, n_bins + 1)[1:-1]))
        return np.searchsorted(edges, column, side="right").astype(np.int16), n_bins
    if binning == "robust":
        levels = _few_levels(column, n_bins)
        if levels is not None:
            return np.searchsorted(levels, column).astype(np.int16), len(levels)
        return _equal_width(column, n_bins, *_fences(column)), n_bins
    return _equal_width(column, n_bins, float(column.min()), float(column.max())), n_bins


def factor_labels(factor: Factor, n_bins: int, binning: Binning) -> tuple[IntArray, int]:
    """Return a factor as labels (-1 for "not labelled") and their number; numbers without labels are binned."""
    if factor.labels is not None:
        return factor.labels, len(factor.levels)
    labelled = factor.labelled
    labels = np.full(len(factor.numbers), -1, dtype=np.intp)
    values = factor.numbers[labelled]
    if factor.kind is FactorKind.CIRCULAR:
        assert factor.period is not None
        labels[labelled] = np.minimum(np.mod(values / factor.period, 1.0) * n_bins, n_bins - 1).astype(np.intp)
        return labels, n_bins
    bins, used = discretise(values, n_bins, binning)
    labels[labelled] = bins
    return labels, used


def _few_levels(column: FloatArray, n_bins: int) -> FloatArray | None:
    """Return the distinct values if there are at most ``n_bins``; a short look decides most columns."""
    if len(np.unique(column[: 4 * n_bins])) > n_bins:
        return None
    levels = np.unique(column)
    return levels if len(levels) <= n_bins else None


def _fences(column: FloatArray) -> tuple[float, float]:
    """Return Tukey's outer fences, inside the range; a value that half the rows share is set aside for them."""
    low, high = float(column.min()), float(column.max())
    first, middle, last = np.percentile(column, [25, 50, 75])
    others = column[column != middle]
    if first == last and len(others):
        first, last = np.percentile(others, [25, 75])
    if first == last:
        return low, high
    reach = 3 * (last - first)
    return max(low, min(float(first - reach), float(middle))), min(high, max(float(last + reach), float(middle)))


def _equal_width(column: FloatArray, n_bins: int, low: float, high: float) -> AnyArray:
    if not high > low:
        return np.zeros(len(column), dtype=np.int16)
    scaled = (column - low) * (n_bins / (high - low))
    return np.clip(scaled, 0, n_bins - 1).astype(np.int16)
