"""One labelled factor: its kind, its levels, and the period of an angle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_choice, to_array

RADIANS, DEGREES = 2 * np.pi, 360.0
NEAR = 0.01
NAMES = frozenset({"angle", "azimuth", "bearing", "heading", "hue", "orientation", "phase", "rotation", "theta", "yaw"})


def period_of(distinct: FloatArray, *, repeats: bool) -> float | None:
    """Return the period of an angle where its values determine it, else ``None``.

    Evenly spaced values that repeat are steps around a circle that one step more closes, but for those that span a
    whole turn already: 0 and 360 are the same place. Other values that fit into 2π are radians.

    Args:
        distinct: The values, each once, in order; at least two.
        repeats: Whether there are at least two rows a value, on average.
    """
    span, steps = float(distinct[-1] - distinct[0]), np.diff(distinct)
    if repeats and np.allclose(steps, steps[0], rtol=1e-3):
        step = float(steps.mean())
        whole = [turn for turn in (RADIANS, DEGREES) if abs(span - turn) <= min(step, NEAR * turn)]
        return whole[0] if whole else span + step
    return RADIANS if span <= (1 + NEAR) * RADIANS else None


def period_text(period: float) -> str:
    """Return a period as a reader would write it."""
    return "2π" if np.isclose(period, RADIANS) else f"{period:g}"


def angle_kind(name: str, values: FloatArray, *, repeats: bool) -> str | None:
    """Return the kind to declare for numbers that may be an angle, or ``None`` for other numbers.

    Numbers may be an angle if the name is that of one, or if they fill a turn of 360 or 2π evenly.
    """
    if not (NAMES & set(re.split(r"[^a-z]+", name.lower())) or _fills_a_turn(values)):
        return None
    distinct = np.unique(values)
    if len(distinct) < 2:
        return None
    period = period_of(distinct, repeats=repeats)
    if period is None:
        return "circular:360"
    return "circular" if period == RADIANS else f"circular:{period:g}"


def _fills_a_turn(values: FloatArray) -> bool:
    low, high = float(values.min()), float(values.max())
    even = values.std() > 0.25 * (high - low)  # 0.29 for an even spread; 0.16 for a thousand normal numbers
    whole_numbers = bool((values == np.round(values)).all())  # which 0 to 6 radians would hardly be
    for turn in (DEGREES, RADIANS):
        fits = -(1 + NEAR) * turn / 2 <= low and high <= (1 + NEAR) * turn
        fills = 0.95 * turn <= high - low <= (1 + NEAR) * turn
        if even and fits and fills and not (whole_numbers and turn == RADIANS):
            return True
    return False


MAX_LEVELS = 256
#: Between the values of factors in a combination of them.
BETWEEN = ", "
MAX_CATEGORIES = 1000
#: Trees work in single precision, where squares of larger numbers overflow.
LARGEST_NUMBER = 1e15
NUMBERS = (int, float, Decimal, np.number)
#: Whole numbers up to here are exact as floats.
EXACT_UP_TO = 2**53
#: Single precision tells few values apart whose distance from 0 is this many times their span, and squares of numbers
#: far from 1 underflow or overflow.
FAR, LEAST_SPAN, LARGEST_SPAN = 1e3, 1e-6, 1e9
DROP = "drop it before scoring, by naming the others: --only in the shell, only=[...] in Python"


class FactorKind(StrEnum):
    """How the values of a factor relate to each other."""

    CATEGORICAL = "categorical"
    ORDINAL = "ordinal"
    CONTINUOUS = "continuous"
    CIRCULAR = "circular"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factor:
    """One generative factor, row by row.

    Build it with :func:`make_factor`, which validates; metrics read the attributes.

    Attributes:
        name: Name in tables.
        kind: Categorical, ordinal, continuous or circular.
        numbers: Values as floats, NaN where a row is not labelled. For a categorical factor
            these are the positions of the labels in ``levels``.
        labels: Position of each row's value in ``levels``, -1 where not labelled; ``None``
            when the factor takes too many values to be read as labels.
        levels: The distinct values, in order, as text.
        period: Length of the circle of a circular factor.
        inferred: Whether the kind follows from the values, not from a declaration.
        origin: What targets are counted from: 0, or the least value where all are far from 0.
        unit: What targets are counted in: 1, or a power of two where the values span very little or very much.
    """

    name: str
    kind: FactorKind
    numbers: FloatArray
    labels: IntArray | None
    levels: tuple[str, ...]
    period: float | None = None
    inferred: bool = False
    origin: float = 0.0
    unit: float = 1.0

    @property
    def labelled(self) -> BoolArray:
        """Which rows have a label."""
        return ~np.isnan(self.numbers)

    @property
    def is_complete(self) -> bool:
        """Whether all rows have a label."""
        return not np.isnan(self.numbers.min(initial=0.0))

    @property
    def is_numeric(self) -> bool:
        """Whether a regression on the values makes sense."""
        return self.kind is not FactorKind.CATEGORICAL

    def take(self, rows: IntArray) -> Factor:
        """Return the factor on some rows, with the same levels."""
        labels = None if self.labels is None else self.labels[rows]
        return replace(self, numbers=self.numbers[rows], labels=labels)

    def as_classes(self) -> Factor:
        """Return the factor with its values as classes.

        Raises:
            ValueError: It takes too many values for that.
        """
        if self.kind is FactorKind.CATEGORICAL:
            return self
        if self.labels is None:
            raise ValueError(f"factor {self.name!r} takes too many values to be classes; ask for it as a number.")
        numbers = np.where(self.labels >= 0, self.labels, np.nan).astype(np.float64)
        return replace(self, kind=FactorKind.CATEGORICAL, numbers=numbers, period=None)

    @property
    def n_targets(self) -> int:
        """Number of regression targets."""
        return {FactorKind.CIRCULAR: 2, FactorKind.CATEGORICAL: len(self.levels)}.get(self.kind, 1)

    def targets(self, rows: IntArray | slice) -> FloatArray:
        """Return the regression targets on labelled ``rows``, ``(n_rows, n_targets)``.

        A number is itself, from :attr:`origin` and in :attr:`unit`, an angle its cosine and sine, a category its
        indicators.
        """
        values = self.numbers[rows]
        if self.kind is FactorKind.CIRCULAR:
            assert self.period is not None
            angle = 2 * np.pi * values / self.period
            return np.stack([np.cos(angle), np.sin(angle)], axis=1)
        if self.kind is FactorKind.CATEGORICAL:
            indicators: FloatArray = (values[:, None] == np.arange(len(self.levels))).astype(float)
            return indicators
        if self.origin != 0 or self.unit != 1:
            values = (values - self.origin) / self.unit
        return values[:, None]


def make_factor(values: Any, *, name: str, kind: str | None = None) -> Factor:
    """Build a factor from one column of labels.

    The kind, when not given, follows from the values:

    1. text, booleans and pandas categoricals, and any factor of two values: categorical;
    2. numbers that repeat (at most 256 distinct values; all but the most common at least twice, on average): ordinal;
    3. other numbers: continuous.

    Circular is never guessed: say ``"circular:360"``, with the period, or ``"circular"`` where the values leave no
    doubt about it. Evenly spaced values that repeat close their own circle (0, 45, ..., 315 have period 360), others
    must fit into one turn of 2π, which is then the period.

    Args:
        values: One-dimensional; NaN, None, an empty string or a mask means "not labelled".
        name: Used in messages and tables.
        kind: A :class:`FactorKind`, or ``None`` to infer it.

    Raises:
        ValueError: One value only, text in a numeric factor, a circular factor whose period is in doubt, or a
            categorical factor with so many values that it cannot be one.
    """
    wanted, period = _parse_kind(kind, name)
    if type(values) is np.ndarray and values.ndim == 1 and len(values):
        if values.dtype.kind == "f":
            with np.errstate(invalid="ignore", over="ignore"):  # signalling NaN; numbers beyond 64 bits
                floats = values.astype(np.float64)
            return _of_numbers(floats, wanted, period, name)
        if values.dtype.kind in "iu" and (counted := _count_whole(values)) is not None:
            return _of_numbers(counted.numbers, wanted, period, name, levels=counted)
    column = _as_series(values)
    numbers = _numbers(column)
    if not column.notna().any():
        _check_levels(0, name)
    if numbers is None and wanted not in (None, FactorKind.CATEGORICAL):
        if pd.api.types.is_datetime64_any_dtype(column.dtype) or pd.api.types.is_timedelta64_dtype(column.dtype):
            raise ValueError(
                f"factor {name!r} is declared {wanted} but holds times such as {str(_first(column))!r}; give numbers, "
                "such as seconds since the first."
            )
        raise ValueError(f"factor {name!r} is declared {wanted} but holds text such as {_first(column)!r}.")
    if numbers is None:
        return replace(_categorical(*_text_levels(column), name), inferred=wanted is None)
    exact = _exact_integers(column, numbers)
    if pd.api.types.is_bool_dtype(column.dtype) and wanted is None:
        return replace(_of_numbers(numbers, FactorKind.CATEGORICAL, None, name), inferred=True)
    return _of_numbers(numbers, wanted, period, name, exact)


def _of_numbers(
    numbers: FloatArray,
    wanted: FactorKind | None,
    period: float | None,
    name: str,
    exact: pd.Series[Any] | None = None,
    levels: _Levels | None = None,
) -> Factor:
    """Build a factor from numbers, NaN where a row is not labelled.

    Args:
        numbers: The column.
        wanted: Declared kind.
        period: Declared period.
        name: For messages and tables.
        exact: Whole numbers that floats do not tell apart, if these are such.
        levels: Distinct numbers, where they are known.
    """
    levels = _number_levels(numbers, name) if levels is None else levels
    if wanted is FactorKind.CATEGORICAL:
        return _categorical_numbers(levels, exact, numbers, name)
    distinct = levels.distinct
    n_levels = len(distinct) if exact is None else int(exact.nunique())
    _check_levels(n_levels, name)
    found = wanted or _infer_kind(n_levels, levels)
    if found is FactorKind.CATEGORICAL:
        return replace(_categorical_numbers(levels, exact, numbers, name), inferred=True)
    _check_size(distinct, name)
    repeats = 2 * len(distinct) <= levels.n_labelled
    discrete = found is not FactorKind.CONTINUOUS and repeats and len(distinct) <= MAX_LEVELS
    if found is FactorKind.ORDINAL and not discrete:
        raise ValueError(
            f"factor {name!r} is declared ordinal but takes {len(distinct)} distinct values in "
            f"{len(numbers)} rows; declare it continuous."
        )
    is_circular = found is FactorKind.CIRCULAR
    origin, unit = (0.0, 1.0) if is_circular else _origin_and_unit(distinct)
    return Factor(
        name=name,
        kind=found,
        numbers=numbers,
        labels=levels.labels() if discrete else None,
        levels=_level_names(distinct) if discrete else (),
        period=(period or _period(distinct, repeats, name)) if is_circular else None,
        inferred=wanted is None,
        origin=origin,
        unit=unit,
    )


def _origin_and_unit(distinct: FloatArray) -> tuple[float, float]:
    """Return what to count targets from and in, so that probes in single precision tell all values apart.

    Of ordinary numbers 0 and 1. The least value is subtracted and a power of two divided by without rounding.
    """
    low, high = float(distinct[0]), float(distinct[-1])
    span = high - low
    is_usual = LEAST_SPAN <= span <= LARGEST_SPAN
    return low if max(-low, high) > FAR * span else 0.0, 1.0 if is_usual else 2.0 ** round(np.log2(span))


def _as_series(values: Any) -> pd.Series[Any]:
    if isinstance(values, pd.Series):
        return values
    array = to_array(values)
    if array.ndim != 1:
        raise ValueError(f"a factor must have shape (n_samples,), got {array.shape}.")
    if array.dtype.kind == "V":
        raise ValueError(f"a factor must hold numbers or text, got {array.dtype}; give one column for each field.")
    return pd.Series(array)


def _parse_kind(kind: str | None, name: str) -> tuple[FactorKind | None, float | None]:
    if kind is None or kind == "":
        return None, None
    word, _, number = str(kind).partition(":")
    check_choice(f"kind of factor {name!r}", word, [str(choice) for choice in FactorKind])
    if not number:
        return FactorKind(word), None
    try:
        period = float(number)
    except ValueError:
        period = 0.0
    if word != FactorKind.CIRCULAR or not 0 < period < np.inf:
        raise ValueError(
            f"kind of factor {name!r} must be a kind or 'circular:PERIOD' with a positive period, got {kind!r}."
        )
    return FactorKind.CIRCULAR, period


def _numbers(column: pd.Series[Any]) -> FloatArray | None:
    """Return the values as floats, or None when they are not numbers."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return None
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        with np.errstate(invalid="ignore", over="ignore"):
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if column.dtype == object:
        known = column.dropna()
        if len(known) and all(isinstance(v, NUMBERS) and not isinstance(v, bool) for v in known):
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return None


def _exact_integers(column: pd.Series[Any], numbers: FloatArray) -> pd.Series[Any] | None:
    """Return whole numbers, of which two may be the same float, as Python has them; ``None`` for any other numbers."""
    size = np.nanmax(np.abs(numbers), initial=0.0)
    if size < EXACT_UP_TO or pd.api.types.is_float_dtype(column.dtype):
        return None
    known = column.dropna().astype(object)
    return known if all(isinstance(value, int | np.integer) for value in known) else None


def _infer_kind(n_levels: int, levels: _Levels) -> FactorKind:
    if n_levels == 2:
        return FactorKind.CATEGORICAL
    # A measurement that is often 0, and otherwise any number, has many rows a value on average and no levels.
    others_repeat = 2 * (n_levels - 1) <= levels.n_labelled - levels.n_most_common
    if n_levels <= MAX_LEVELS and others_repeat and 2 * n_levels <= levels.n_labelled:
        return FactorKind.ORDINAL
    return FactorKind.CONTINUOUS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Levels:
    """Distinct numbers of a column, in order, the number of labelled rows, and the position of each row when asked.

    Attributes:
        distinct: The numbers, each once.
        n_labelled: Rows that have one.
        n_most_common: Rows that have the most common one.
        numbers: The column.
        found: Position of each row's number, -1 without one, where it came with the distinct ones.
    """

    distinct: FloatArray
    n_labelled: int
    n_most_common: int
    numbers: FloatArray
    found: IntArray | None = None

    def labels(self) -> IntArray:
        """Position of each row's number among the distinct ones, -1 for a row without a label."""
        return np.searchsorted(self.distinct, self.numbers).astype(np.intp) if self.found is None else self.found


def _number_levels(numbers: FloatArray, name: str) -> _Levels:
    """Find the distinct numbers: by counting where they are whole and near each other, by sorting otherwise."""
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 0.0)
    if np.isnan(low):
        if np.isinf(numbers).any():
            raise ValueError(f"factor {name!r} must be finite, or NaN for 'not labelled', got inf.")
        labels, distinct = pd.factorize(numbers, sort=True)
        found = labels.astype(np.intp)
        return _Levels(
            distinct=np.asarray(distinct, dtype=np.float64),
            n_labelled=int((found >= 0).sum()),
            n_most_common=int(np.bincount(found[found >= 0]).max(initial=0)),
            numbers=numbers,
            found=found,
        )
    if np.isinf(low) or np.isinf(high):
        raise ValueError(f"factor {name!r} must be finite, or NaN for 'not labelled', got inf.")
    if high - low < max(MAX_LEVELS, len(numbers)) and max(-low, high) < EXACT_UP_TO and low == np.floor(low):
        labels = numbers.astype(np.intp)
        if (labels == numbers).all():
            return _counted(labels - int(low), low, numbers)
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    repeats = np.diff(np.flatnonzero(first), append=len(ordered))
    return _Levels(
        distinct=ordered[first],
        n_labelled=len(numbers),
        n_most_common=int(repeats.max(initial=0)),
        numbers=numbers,
    )


def _count_whole(values: AnyArray) -> _Levels | None:
    """Count integers that are near each other; ``None`` for others."""
    low, high = int(values.min()), int(values.max())
    if high - low >= max(MAX_LEVELS, len(values)) or max(-low, high) >= EXACT_UP_TO:
        return None
    labels = values.astype(np.intp)
    numbers = labels.astype(np.float64)
    labels -= low
    return _counted(labels, float(low), numbers)


def _counted(steps: IntArray, low: float, numbers: FloatArray) -> _Levels:
    """Find the distinct numbers from their distance to the least one."""
    counts = np.bincount(steps)
    present = np.flatnonzero(counts)
    labels = steps if len(present) == len(counts) else (np.cumsum(counts > 0) - 1)[steps]
    return _Levels(
        distinct=np.asarray(low + present, dtype=np.float64),
        n_labelled=len(numbers),
        n_most_common=int(counts.max(initial=0)),
        numbers=numbers,
        found=labels,
    )


def _level_names(distinct: Iterable[float]) -> tuple[str, ...]:
    """Return short text for each value, or all its digits where short ones would look alike."""
    values = list(distinct)
    short = tuple(f"{value:g}" for value in values)
    if len(set(short)) == len(short):
        return short
    return tuple(str(value) if isinstance(value, int) else repr(float(value)).removesuffix(".0") for value in values)


def _text_levels(column: pd.Series[Any]) -> tuple[IntArray, tuple[str, ...]]:
    """Position of each row's text, -1 without one, and the texts in order."""
    text = column.astype(object).where(column.notna(), None)
    text = text.map(lambda value: None if value is None or value == "" else str(value))
    codes, found = pd.factorize(text, sort=True)
    return codes.astype(np.intp), tuple(str(value) for value in found)


def _categorical_numbers(levels: _Levels, exact: pd.Series[Any] | None, numbers: FloatArray, name: str) -> Factor:
    if exact is None:
        _check_categories(len(levels.distinct), levels.n_labelled, len(numbers), name)
        return _categorical(levels.labels(), _level_names(levels.distinct), name)
    positions, whole = pd.factorize(np.array([int(value) for value in exact], dtype=object), sort=True)
    labels = np.full(len(numbers), -1, dtype=np.intp)
    labels[~np.isnan(numbers)] = positions
    return _categorical(labels, _level_names(whole), name)


def _categorical(labels: IntArray, levels: tuple[str, ...], name: str) -> Factor:
    labelled = labels >= 0
    n_labelled = int(labelled.sum())
    _check_categories(len(levels), n_labelled, len(labels), name)
    as_numbers = labels.astype(np.float64)
    if n_labelled < len(labels):
        as_numbers[~labelled] = np.nan
    return Factor(name=name, kind=FactorKind.CATEGORICAL, numbers=as_numbers, labels=labels, levels=levels)


def _check_categories(n_levels: int, n_labelled: int, n_rows: int, name: str) -> None:
    _check_levels(n_levels, name)
    if n_levels > MAX_CATEGORIES or 2 * n_levels > n_labelled:
        raise ValueError(
            f"factor {name!r} is categorical but takes {n_levels} distinct values in {n_rows} rows; "
            "declare it continuous if it is a number, or group its labels."
        )


def _check_levels(n_levels: int, name: str) -> None:
    if n_levels == 0:
        raise ValueError(f"factor {name!r} has no labelled row; {DROP}.")
    if n_levels == 1:
        raise ValueError(f"factor {name!r} takes one value only; {DROP}.")


def _check_size(distinct: FloatArray, name: str) -> None:
    largest = max(-distinct[0], distinct[-1])
    if largest > LARGEST_NUMBER:
        raise ValueError(
            f"factor {name!r} must hold numbers of at most {LARGEST_NUMBER:g} in size, got {largest:.2g}; subtract or "
            "divide by a constant, or declare it categorical if its numbers are names."
        )


def _period(distinct: FloatArray, repeats: bool, name: str) -> float:
    period = period_of(distinct, repeats=repeats)
    if period is None:
        raise ValueError(
            f"factor {name!r} is declared circular without a period, and its values, from {distinct[0]:g} to "
            f"{distinct[-1]:g}, do not fit into 2π; give the period too, such as 'circular:360' for degrees."
        )
    return period


def _first(column: pd.Series[Any]) -> object:
    return column.dropna().iloc[0]


def join_factors(name: str, factors: Sequence[Factor]) -> Factor:
    """Return one categorical factor whose values are the combinations of those of several.

    Raises:
        ValueError: Fewer than two factors, or one that has no labels.
    """
    if len(factors) < 2:
        raise ValueError(f"group {name!r} must have two factors or more, got {len(factors)}.")
    columns = []
    for factor in factors:
        if factor.labels is None:
            raise ValueError(
                f"factor {factor.name!r} of group {name!r} takes too many values to be joined; bin it before."
            )
        columns.append(factor.labels)
    rows = np.stack(columns, axis=1)
    labelled = (rows >= 0).all(axis=1)
    combinations, inverse = np.unique(rows[labelled], axis=0, return_inverse=True)
    labels = np.full(len(rows), -1, dtype=np.intp)
    labels[labelled] = inverse.reshape(-1)
    levels = tuple(
        BETWEEN.join(factor.levels[value] for factor, value in zip(factors, line, strict=True)) for line in combinations
    )
    numbers = np.where(labelled, labels, np.nan)
    return Factor(name=name, kind=FactorKind.CATEGORICAL, numbers=numbers, labels=labels, levels=levels)
