"""Evidence gathered block by block: surveys, samples, counts and moments, merged in the order of the blocks.

Counts are whole numbers. Sums are added up inside a block as its rows stand, and over blocks as a tree whose shape
depends on their number alone: whoever computed which block, and in which order, the digits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid._base.checks import LARGEST_CODE
from unbraid.evidence.information import Binning, Cut, cut_for, joint_counts
from unbraid.representation.factor import EXACT_UP_TO, MAX_CATEGORIES, Factor, FactorKind
from unbraid.representation.row_blocks import Block, BlockTable, as_floats, read_block

#: Distinct values of a factor that are remembered; more are a continuous number, or too many categories.
MOST_DISTINCT = MAX_CATEGORIES + 1
#: Rows that are counted at once, few enough for the cache of a processor.
ROWS_AT_ONCE = 1 << 15
#: Codes whose products are gathered at most; covariances of more are those of the sample.
MOST_PRODUCTS = 1024

Part = TypeVar("Part")


def merge_tree(parts: Sequence[Part], merge: Callable[[Part, Part], Part]) -> Part:
    """Merge parts pair by pair, neighbours first, until one is left."""
    left = list(parts)
    while len(left) > 1:
        pairs = [left[at : at + 2] for at in range(0, len(left), 2)]
        left = [merge(pair[0], pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return left[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """What is known of some blocks before their rows are counted.

    Attributes:
        n_rows: Number of rows.
        low: Least value of each code.
        high: Largest value of each code.
        distinct: Values of each factor in order; ``None`` where there are too many to remember.
        codes: Codes of the sampled rows, as they are stored.
        labels: Labels of the sampled rows, one array for each factor.
    """

    n_rows: int
    low: FloatArray
    high: FloatArray
    distinct: tuple[AnyArray | None, ...]
    codes: AnyArray
    labels: tuple[AnyArray, ...]

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return plain arrays, for a file."""
        arrays = {"n_rows": np.array(self.n_rows), "low": self.low, "high": self.high, "codes": self.codes}
        for k, (known, labels) in enumerate(zip(self.distinct, self.labels, strict=True)):
            arrays[f"labels_{k}"] = labels
            if known is not None:
                arrays[f"distinct_{k}"] = known
        return arrays

    @staticmethod
    def from_arrays(arrays: Mapping[str, AnyArray]) -> Survey:
        """Undo :meth:`to_arrays`."""
        n_factors = sum(name.startswith("labels_") for name in arrays)
        return Survey(
            n_rows=int(arrays["n_rows"]),
            low=arrays["low"],
            high=arrays["high"],
            distinct=tuple(arrays.get(f"distinct_{k}") for k in range(n_factors)),
            codes=arrays["codes"],
            labels=tuple(arrays[f"labels_{k}"] for k in range(n_factors)),
        )


def survey_block(table: BlockTable, block: Block, sampled: IntArray) -> Survey:
    """Look at one block.

    Args:
        table: Where codes and factors stand.
        block: Which block.
        sampled: Numbers of the sampled rows among all rows, in order.
    """
    stored, columns = read_block(table, block)
    low, high = np.full(table.n_codes, np.inf), np.full(table.n_codes, -np.inf)
    for rows in _slices(len(stored)):
        codes = as_floats(stored[rows], block, table.code_names)
        low, high = np.minimum(low, codes.min(axis=0)), np.maximum(high, codes.max(axis=0))
    if max(-low.min(), high.max()) > LARGEST_CODE:
        raise ValueError(f"codes must be at most {LARGEST_CODE:g} in size, got more in {block.path!r}.")
    first, last = np.searchsorted(sampled, [block.first_row, block.first_row + block.n_rows])
    wanted = sampled[first:last] - block.first_row
    labels = [_plain_labels(column) for column in columns]
    for column, name in zip(columns, table.factor_names, strict=True):
        _check_exact(column, name)
    return Survey(
        n_rows=len(stored),
        low=low,
        high=high,
        distinct=tuple(_distinct(column) for column in labels),
        codes=stored[wanted],
        labels=tuple(column[wanted] for column in labels),
    )


def _slices(n_rows: int) -> list[slice]:
    """Rows that are computed at once."""
    return [slice(at, at + ROWS_AT_ONCE) for at in range(0, n_rows, ROWS_AT_ONCE)]


def merge_surveys(first: Survey, second: Survey) -> Survey:
    """Put the surveys of neighbouring blocks together."""
    return Survey(
        n_rows=first.n_rows + second.n_rows,
        low=np.minimum(first.low, second.low),
        high=np.maximum(first.high, second.high),
        distinct=tuple(_both(a, b) for a, b in zip(first.distinct, second.distinct, strict=True)),
        codes=np.concatenate([first.codes, second.codes]),
        labels=tuple(np.concatenate(pair) for pair in zip(first.labels, second.labels, strict=True)),
    )


def _plain_labels(column: Any) -> AnyArray:
    """Return labels as numbers, NaN for none, or as text, empty for none."""
    series = column if isinstance(column, pd.Series) else pd.Series(column)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(object)
    if pd.api.types.is_bool_dtype(series.dtype) or not pd.api.types.is_numeric_dtype(series.dtype):
        if series.dtype == object and _are_numbers(series.dropna()):
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        text = series.astype(object).where(series.notna(), "")
        return np.asarray(text.map(str).to_numpy(dtype=str))
    with np.errstate(invalid="ignore", over="ignore"):  # signalling NaN; numbers beyond 64 bits
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _check_exact(column: Any, name: str) -> None:
    """Raise on whole numbers that a float cannot tell apart."""
    series = column if isinstance(column, pd.Series) else pd.Series(column)
    if not pd.api.types.is_integer_dtype(series.dtype) or series.dropna().empty:
        return
    low, high = int(series.min()), int(series.max())
    if max(-low, high) > EXACT_UP_TO:
        raise ValueError(
            f"factor {name!r} must be whole numbers up to 2**53 where rows are read in blocks, got {low} to {high}; "
            "subtract a constant, or save its labels as text."
        )


def _are_numbers(known: pd.Series[Any]) -> bool:
    """Whether objects are numbers, such as whole ones beside missing ones."""
    return len(known) > 0 and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


def _distinct(labels: AnyArray) -> AnyArray | None:
    """Return the values of a column, in order, unless there are too many."""
    few = np.unique(labels[: 4 * MOST_DISTINCT])
    if len(few) > 2 * MOST_DISTINCT:  # with a few thousand rows to look at, no factor of few values
        return None
    found = np.sort(pd.unique(labels)) if labels.dtype.kind == "f" else np.unique(labels)
    known = found[~np.isnan(found)] if labels.dtype.kind == "f" else found[found != ""]
    return known if len(known) <= MOST_DISTINCT else None


def _both(first: AnyArray | None, second: AnyArray | None) -> AnyArray | None:
    if first is None or second is None:
        return None
    found = np.union1d(first, second)
    return found if len(found) <= MOST_DISTINCT else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorRule:
    """How the labels of a block become numbers and classes.

    Attributes:
        factor: The factor on the sampled rows, with its kind and levels.
        values: The value of each level, numbers or text; ``None`` for a factor without levels.
        cut: Bins of a factor without levels, but for an angle.
    """

    factor: Factor
    values: AnyArray | None
    cut: Cut | None

    def classes(self, labels: AnyArray, n_bins: int) -> tuple[IntArray, int]:
        """Return the class of each label, -1 for none, and the number of classes."""
        if self.values is not None:
            place = np.minimum(np.searchsorted(self.values, labels), len(self.values) - 1)
            return np.where(self.values[place] == labels, place, -1).astype(np.intp), len(self.values)
        found = np.full(len(labels), -1, dtype=np.intp)
        known = ~np.isnan(labels)
        if self.factor.kind is FactorKind.CIRCULAR:
            assert self.factor.period is not None
            turns = np.mod(labels[known] / self.factor.period, 1.0)
            found[known] = np.minimum(turns * n_bins, n_bins - 1).astype(np.intp)
            return found, n_bins
        assert self.cut is not None
        found[known] = self.cut.bins(labels[known])
        return found, self.cut.n_bins

    def targets(self, labels: AnyArray) -> FloatArray:
        """Return the regression targets of labels that are numbers, ``(n_rows, n_targets)``."""
        factor = self.factor
        if factor.kind is FactorKind.CIRCULAR:
            assert factor.period is not None
            angle = 2 * np.pi * labels / factor.period
            return np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return np.asarray((labels - factor.origin) / factor.unit)[:, None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountingRule:
    """Everything that all blocks are counted by.

    Attributes:
        cuts: Bins of each code.
        factors: Rules of each factor.
        n_bins: Bins asked for.
        binning: Binning method.
        centre: Value that sums of each code are taken around.
    """

    cuts: tuple[Cut, ...]
    factors: tuple[FactorRule, ...]
    n_bins: int
    binning: Binning
    centre: FloatArray

    @property
    def code_bins(self) -> IntArray:
        """Number of bins of each code."""
        return np.array([cut.n_bins for cut in self.cuts], dtype=np.intp)


def counting_rule(
    survey: Survey, codes: FloatArray, factors: Sequence[Factor], n_bins: int, binning: Binning
) -> CountingRule:
    """Fix bins by the sample of a survey, and by the range of all rows where bins depend on it."""
    ranges = zip(codes.T, survey.low, survey.high, strict=True)
    cuts = [_cut(column, n_bins, binning, low, high) for column, low, high in ranges]
    rules = []
    for factor, values in zip(factors, survey.distinct, strict=True):
        if factor.labels is not None:
            rules.append(FactorRule(factor=factor, values=values, cut=None))
            continue
        known = factor.numbers[factor.labelled]
        is_angle = factor.kind is FactorKind.CIRCULAR
        rules.append(FactorRule(factor=factor, values=None, cut=None if is_angle else cut_for(known, n_bins, binning)))
    return CountingRule(
        cuts=tuple(cuts), factors=tuple(rules), n_bins=n_bins, binning=binning, centre=codes.mean(axis=0)
    )


def _cut(column: FloatArray, n_bins: int, binning: Binning, low: float, high: float) -> Cut:
    if binning == "uniform":
        return Cut(n_bins=n_bins, low=float(low), high=float(high))
    return cut_for(column, n_bins, binning)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockCounts:
    """Counts and sums of some blocks.

    Attributes:
        n_rows: Number of rows.
        counts: For each factor, rows of every bin of every code with every class, ``(n_codes, n_bins, n_classes)``.
        sums: Sum of each code less its centre, ``(n_codes,)``.
        products: Sums of products of these, ``(n_codes, n_codes)``; of too many codes, ``(0, 0)``.
        by_factor: For each factor, moments of its labelled rows by name; see :class:`FactorMoments`.
    """

    n_rows: int
    counts: tuple[IntArray, ...]
    sums: FloatArray
    products: FloatArray
    by_factor: tuple[FactorMoments, ...]

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return plain arrays, for a file."""
        arrays: dict[str, AnyArray] = {"n_rows": np.array(self.n_rows), "sums": self.sums, "products": self.products}
        for k, (counts, moments) in enumerate(zip(self.counts, self.by_factor, strict=True)):
            arrays[f"counts_{k}"] = counts
            for name in FactorMoments.NAMES:
                arrays[f"{name}_{k}"] = np.asarray(getattr(moments, name))
        return arrays

    @staticmethod
    def from_arrays(arrays: Mapping[str, AnyArray]) -> BlockCounts:
        """Undo :meth:`to_arrays`."""
        n_factors = sum(name.startswith("counts_") for name in arrays)
        return BlockCounts(
            n_rows=int(arrays["n_rows"]),
            counts=tuple(arrays[f"counts_{k}"] for k in range(n_factors)),
            sums=arrays["sums"],
            products=arrays["products"],
            by_factor=tuple(
                FactorMoments(**{name: arrays[f"{name}_{k}"] for name in FactorMoments.NAMES}) for k in range(n_factors)
            ),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class FactorMoments:
    """Sums over the labelled rows of one factor.

    Attributes:
        n: Number of rows.
        x: Sum of each code, ``(n_codes,)``.
        xx: Sum of its squares.
        t: Sum of each target, ``(n_targets,)``: a number, cosine and sine, or an indicator for each level.
        tt: Sums of products of targets.
        xt: Sums of products of codes and targets, ``(n_codes, n_targets)``.
    """

    NAMES = ("n", "x", "xx", "t", "tt", "xt")

    n: Any
    x: FloatArray
    xx: FloatArray
    t: FloatArray
    tt: FloatArray
    xt: FloatArray

    def __add__(self, other: FactorMoments) -> FactorMoments:
        return FactorMoments(**{name: getattr(self, name) + getattr(other, name) for name in self.NAMES})


def count_block(table: BlockTable, block: Block, rule: CountingRule) -> BlockCounts:
    """Count one block by a rule that is the same for all."""
    stored, columns = read_block(table, block)
    labels = [_plain_labels(column) for column in columns]
    parts = (
        _count_rows(as_floats(stored[rows], block, table.code_names), [column[rows] for column in labels], rule)
        for rows in _slices(len(stored))
    )
    return reduce(merge_counted, parts)


def merge_counted(first: BlockCounts, second: BlockCounts) -> BlockCounts:
    """Add counts and sums."""
    return BlockCounts(
        n_rows=first.n_rows + second.n_rows,
        counts=tuple(a + b for a, b in zip(first.counts, second.counts, strict=True)),
        sums=first.sums + second.sums,
        products=first.products + second.products,
        by_factor=tuple(a + b for a, b in zip(first.by_factor, second.by_factor, strict=True)),
    )


def _count_rows(codes: FloatArray, labels: list[AnyArray], rule: CountingRule) -> BlockCounts:
    bins = np.stack([cut.bins(column) for cut, column in zip(rule.cuts, np.ascontiguousarray(codes.T), strict=True)])
    n_bins, x = int(rule.code_bins.max()), codes - rule.centre
    counts, moments = [], []
    for one, column in zip(rule.factors, labels, strict=True):
        classes, n_classes = one.classes(column, rule.n_bins)
        counts.append(joint_counts(bins, n_bins, classes, n_classes))
        moments.append(_moments(x, column, classes, one))
    return BlockCounts(
        n_rows=len(codes), counts=tuple(counts), sums=x.sum(axis=0), products=_products(x), by_factor=tuple(moments)
    )


def _products(x: FloatArray) -> FloatArray:
    return np.zeros((0, 0)) if x.shape[1] > MOST_PRODUCTS else x.T @ x


def _moments(x: FloatArray, labels: AnyArray, classes: IntArray, rule: FactorRule) -> FactorMoments:
    if rule.factor.is_numeric:
        known = ~np.isnan(labels)
        targets = rule.targets(labels[known])
    else:
        known = classes >= 0
        targets = (classes[known][:, None] == np.arange(len(rule.factor.levels))).astype(np.float64)
    own = x if known.all() else x[known]
    return FactorMoments(
        n=np.array(len(own)),
        x=own.sum(axis=0),
        xx=(own**2).sum(axis=0),
        t=targets.sum(axis=0),
        tt=targets.T @ targets,
        xt=own.T @ targets,
    )
