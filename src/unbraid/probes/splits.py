"""Splits of rows: hold-out, three-way, cross-fitting and nested training sizes; standardised codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.representation.factor import Factor

#: Share of test rows of a hold-out split.
TEST_SHARE = 0.3
#: Fewest training rows, and fewest test rows.
MIN_ROWS = 10
#: Rows of each value, or of a factor that has numbers, with which factors share folds.
PLENTY, PLENTY_OF_NUMBERS = 100, 1000
#: Shares of training and validation rows, the same rows for all factors; the rest is the test set.
CAPACITY_SHARES = (0.6, 0.15)
MIN_CAPACITY_ROWS = 20
#: The same for the labelled rows of one factor, values in proportion.
STRATIFIED_SHARES = (0.70, 0.15)
GOLDEN_RATIO = (1 + 5**0.5) / 2
CROSS_FIT_TEST_SHARE = 0.2
COLUMNS_AT_ONCE = 512
#: Values that fit into an integer of two bytes, by which NumPy sorts in linear time.
MOST_COUNTED = 2**16
#: Ranges of a number whose combinations with other factors are held out.
N_RANGES = 5

TrainSize = int | float | None
Predictions = Literal["cross_fitted", "held_out", "in_sample"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Training, validation and test rows.

    Attributes:
        train: Rows to fit on; of nested training sets, all of them in the order in which they are taken.
        test: Rows to test on.
        validation: Rows to choose or stop by; none where nothing is chosen.
    """

    train: IntArray
    test: IntArray
    validation: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def train_rows(self, n_train: TrainSize = None) -> IntArray:
        """Return the rows of a training size: a count, a share of ``train``, or all of it.

        Raises:
            ValueError: Fewer than ten rows, or more than there are.
        """
        wanted = self.rounded(n_train)
        if wanted < MIN_ROWS:
            raise ValueError(f"n_train must leave at least {MIN_ROWS} rows to learn from, got {n_train} ({wanted}).")
        if wanted > len(self.train):
            raise ValueError(
                f"n_train must be at most {len(self.train)}, the rows that are not tested on, got {n_train}."
            )
        return self.train[:wanted]

    def rounded(self, n_train: TrainSize) -> int:
        """Return a training size as a number of rows, which may be more than there are."""
        if n_train is None:
            return len(self.train)
        if isinstance(n_train, bool) or not isinstance(n_train, int | float | np.number):
            raise TypeError(f"n_train must be a number of rows, a share of them, or None for all, got {n_train!r}.")
        if not isinstance(n_train, float | np.floating):
            return int(n_train)
        if not 0 < n_train <= 1:
            raise ValueError(f"n_train must be a share in (0, 1] or a whole number of rows, got {n_train}.")
        return round(n_train * len(self.train))


def holdout(factor: Factor, *, rng: np.random.Generator, test_share: float = TEST_SHARE) -> Split:
    """Split the labelled rows of a factor, keeping its values in proportion; both parts in increasing order.

    A value seen once is always fitted on, so no value is tested that was never shown.

    Raises:
        ValueError: Fewer than ten labelled rows.
    """
    check_enough_labels(factor)
    rows = rng.permutation(_labelled_rows(factor))
    order = _by_value(factor, rows)
    steps = np.floor((np.arange(len(order) + 1) + rng.random()) * test_share)
    tested = np.diff(steps) > 0
    if factor.labels is not None:
        counts = np.bincount(factor.labels[rows], minlength=len(factor.levels))
        if (counts == 1).any():
            tested &= counts[factor.labels[order]] > 1
    part = np.full(len(factor.numbers), -1, dtype=np.int8)
    part[order] = tested
    return Split(train=np.flatnonzero(part == 0), test=np.flatnonzero(part == 1))


def _labelled_rows(factor: Factor) -> IntArray:
    return np.arange(len(factor.numbers)) if factor.is_complete else np.flatnonzero(factor.labelled)


def _by_value(factor: Factor, rows: IntArray) -> IntArray:
    """Return rows in the order of the factor's values, those of one value in the order given."""
    if factor.labels is None:
        return rows[np.argsort(factor.numbers[rows], kind="stable")]
    # Small integers are sorted by counting, in a quarter of the time.
    labels = factor.labels.astype(np.uint16) if len(factor.levels) < MOST_COUNTED else factor.labels
    return rows[np.argsort(labels[rows], kind="stable")]


def folds(factor: Factor, n_folds: int, *, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Divide the labelled rows of a factor into folds, its values in proportion in each.

    Returns:
        The rows, in increasing order, and the fold of each; -1 for a value seen once, which is never tested.

    Raises:
        ValueError: Fewer than ten labelled rows.
    """
    check_enough_labels(factor)
    rows = rng.permutation(_labelled_rows(factor))
    order = _by_value(factor, rows)
    turns = -(-len(order) // n_folds)
    fold = rng.permuted(np.tile(np.arange(n_folds), (turns, 1)), axis=1).ravel()[: len(order)]
    if factor.labels is not None:
        counts = np.bincount(factor.labels[rows], minlength=len(factor.levels))
        if (counts == 1).any():
            fold = np.where(counts[factor.labels[order]] > 1, fold, -1)
    of_row = np.empty(len(factor.numbers), dtype=fold.dtype)
    of_row[order] = fold
    rows = np.sort(rows) if len(rows) < len(of_row) else np.arange(len(of_row))
    return rows, of_row if len(rows) == len(of_row) else of_row[rows]


def cross_fit_factor(factor: Factor, *, n_folds: int, rng: np.random.Generator) -> list[Split]:
    """Split the labelled rows of a factor so that every row is tested once, by a fit to the other folds.

    Values are in proportion in every fold. A value seen once is always fitted on, and never tested.

    Raises:
        ValueError: Fewer than ten labelled rows.
    """
    rows, fold = folds(factor, n_folds, rng=rng)
    return [Split(train=rows[fold != k], test=rows[fold == k]) for k in range(n_folds)]


def cross_fit_together(
    factors: Sequence[Factor], labels: Sequence[IntArray | None], *, n_folds: int, rng: np.random.Generator
) -> list[list[Split]]:
    """Split the rows of every factor as :func:`cross_fit_factor` does, those of factors with plenty of rows alike.

    Fits to the same rows can be made together. Where each value has plenty of rows, and every row has a label, values
    need not be put in proportion into the folds.

    Args:
        factors: Factors.
        labels: Number of the value, or of the bin, of each row for each factor; ``None`` for numbers that have none.
        n_folds: Number of folds.
        rng: Source of chance.
    """
    children, n_rows = rng.spawn(len(factors)), len(factors[0].numbers)
    fold = rng.permutation(np.arange(n_rows) % n_folds)
    alike = [Split(train=np.flatnonzero(fold != k), test=np.flatnonzero(fold == k)) for k in range(n_folds)]
    return [
        alike if has_plenty(factor, own) else cross_fit_factor(factor, n_folds=n_folds, rng=child)
        for factor, own, child in zip(factors, labels, children, strict=True)
    ]


def has_plenty(factor: Factor, labels: IntArray | None) -> bool:
    """Whether folds need not have values in proportion: every row has a label, and each value plenty of rows.

    Args:
        factor: The factor.
        labels: Number of the value, or of the bin, of each row; ``None`` for numbers that have none.
    """
    if not factor.is_complete:
        return False
    if labels is None:
        return len(factor.numbers) >= PLENTY_OF_NUMBERS
    counts = np.bincount(labels)
    return bool(counts[counts > 0].min() >= PLENTY)


def check_enough_labels(factor: Factor) -> None:
    """Raise unless a factor has ten labelled rows."""
    n_labelled = len(factor.numbers) if factor.is_complete else int(factor.labelled.sum())
    if n_labelled < MIN_ROWS:
        raise ValueError(
            f"factor {factor.name!r} has {n_labelled} labelled rows; a held-out probe needs at least {MIN_ROWS}."
        )


def capacity_split(
    factors: Sequence[Factor],
    n_samples: int,
    *,
    rng: np.random.Generator,
    shares: tuple[float, float] = CAPACITY_SHARES,
) -> Split:
    """Draw training, validation and test rows, the same for all factors.

    Args:
        factors: Factors that are to be predicted.
        n_samples: Number of rows.
        rng: Source of chance.
        shares: Shares of training and of validation rows; the rest is the test set.

    Raises:
        ValueError: Too few labelled rows, or fewer rows to fit on than a factor has values.
    """
    order = rng.permutation(n_samples)
    first, second = int(shares[0] * n_samples), int(sum(shares) * n_samples)
    split = Split(train=np.sort(order[:first]), validation=np.sort(order[first:second]), test=np.sort(order[second:]))
    for factor in factors:
        n_labelled = int(factor.labelled.sum())
        n_fitted = int(factor.labelled[split.train].sum())
        parts = (split.train, split.validation, split.test)
        if n_labelled < MIN_CAPACITY_ROWS or not all(factor.labelled[rows].any() for rows in parts):
            raise ValueError(
                f"factor {factor.name!r} has {n_labelled} labelled rows; a loss-capacity curve needs at least "
                f"{MIN_CAPACITY_ROWS}, in every part of the data."
            )
        if not factor.is_numeric and n_fitted < len(factor.levels):
            raise ValueError(
                f"factor {factor.name!r} takes {len(factor.levels)} values but only {n_fitted} rows are left to fit "
                "on; give more rows, or group its values."
            )
    return split


def check_split_shares(split: object) -> tuple[float, float]:
    """Return the shares of training and validation rows, from two numbers or from text such as ``"0.285+0.015"``.

    Raises:
        ValueError: Other than two positive shares that leave rows to test on.
    """
    parts: Sequence[object] = split.split("+") if isinstance(split, str) else split  # type: ignore[assignment]
    try:
        train, validation = (float(part) for part in parts)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        train = validation = 0.0
    if not (train > 0 and validation > 0 and train + validation < 1):
        raise ValueError(
            f"split must be the shares of training and of validation rows, such as (0.6, 0.15), that leave rows to "
            f"test on, got {split!r}."
        )
    return train, validation


def stratified_split(values: FloatArray, *, categorical: bool, rng: np.random.Generator) -> Split:
    """Divide the labelled rows 70/15/15, values in proportion in each; the only row of a category is a training row.

    Args:
        values: ``(n_samples,)``, NaN in rows without a label; of a category its number, 0, 1, ...
        categorical: Whether they are categories.
        rng: Source of chance.
    """
    rows = rng.permutation(np.flatnonzero(~np.isnan(values)))
    rows = rows[np.argsort(values[rows], kind="stable")]
    # Multiples of the golden ratio fall evenly, however few: ten rows always leave one for each part.
    place = ((np.arange(len(rows)) + rng.random()) * GOLDEN_RATIO) % 1
    part = (place >= STRATIFIED_SHARES[0]).astype(int) + (place >= sum(STRATIFIED_SHARES))
    if categorical:
        labels = values[rows].astype(int)
        moved = np.where(np.bincount(labels)[labels] == 1, 0, part)
        part = moved if {1, 2} <= set(moved) else part
    train, validation, test = (rng.permutation(rows[part == p]) for p in range(3))
    return Split(train=train, validation=validation, test=test)


def cross_fit_splits(n_rows: int, predictions: Predictions, n_folds: int, rng: np.random.Generator) -> list[Split]:
    """Split rows for cross-fitting, where each fold is tested once, for one hold-out, or train and test on all rows."""
    if predictions == "in_sample":
        return [Split(train=np.arange(n_rows), test=np.arange(n_rows))]
    order = rng.permutation(n_rows)
    if predictions == "held_out":
        n_test = max(1, round(CROSS_FIT_TEST_SHARE * n_rows))
        return [Split(train=np.sort(order[n_test:]), test=np.sort(order[:n_test]))]
    parts = min(n_folds, n_rows)
    fold = order % parts
    return [Split(train=np.flatnonzero(fold != k), test=np.flatnonzero(fold == k)) for k in range(parts)]


def split_rows(n_samples: int, *, test_rows: Any = None, seed: int = 0) -> Split:
    """Divide rows into a test set and a shuffled training set; depends on nothing but the arguments.

    Args:
        n_samples: Rows in all.
        test_rows: Row numbers to test on, or how many to draw; three tenths by default.
        seed: Same seed, same rows.

    Raises:
        ValueError: Fewer than ten rows on either side, or rows that are not there.

    Example:
        >>> split = split_rows(40, seed=1)
        >>> len(split.test), len(split.train)
        (12, 28)
    """
    check_at_least("seed", seed, 0)
    order = np.random.default_rng([int(seed), n_samples]).permutation(n_samples)
    test = _test_rows(order, test_rows)
    pool = order[~np.isin(order, test)]
    if min(len(test), len(pool)) < MIN_ROWS:
        raise ValueError(
            f"a task needs at least {MIN_ROWS} rows to learn from and {MIN_ROWS} to be tested on, "
            f"got {len(pool)} and {len(test)} of {n_samples}."
        )
    return Split(train=pool, test=np.sort(test))


def combination_split(factors: Sequence[Factor], *, seed: int = 0) -> Split:
    """Divide rows so that combinations of the values of two or more factors are in the test set alone.

    Numbers and angles are cut into at most five ranges first. Combinations are held out in random order until three
    tenths of the rows are tested, as long as each value of each factor is left in at least half of its combinations:
    every value is learned from, only not together with these values of the other factors. Rows without a label of one
    of the factors are in neither part. It depends on nothing but the factors and the seed.

    Args:
        factors: Factors whose combinations are held out, at least two.
        seed: Same seed, same rows.

    Raises:
        ValueError: Fewer than two factors, or no combination that can be held out.
    """
    if len(factors) < 2:
        raise ValueError(f"combinations must be of at least two factors, got {len(factors)}.")
    check_at_least("seed", seed, 0)
    labels = np.stack([_ranges(factor) for factor in factors], axis=1)
    rows = np.flatnonzero((labels >= 0).all(axis=1))
    rng = np.random.default_rng([int(seed), len(labels), len(factors)])
    cells, cell = np.unique(labels[rows], axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    counts = np.bincount(cell, minlength=len(cells))
    left = [np.bincount(column) for column in cells.T]
    fewest = [(sizes + 1) // 2 for sizes in left]
    tested, n_tested = np.zeros(len(cells), dtype=bool), 0
    for one in rng.permutation(len(cells)):
        places = list(enumerate(cells[one]))
        allowed = all(left[k][value] > fewest[k][value] for k, value in places)
        if allowed and n_tested + counts[one] <= (TEST_SHARE + 0.05) * len(rows) and n_tested < TEST_SHARE * len(rows):
            tested[one], n_tested = True, n_tested + int(counts[one])
            for k, value in places:
                left[k][value] -= 1
    train = rng.permutation(rows[~tested[cell]])
    if min(n_tested, len(train)) < MIN_ROWS:
        names = " and ".join(repr(factor.name) for factor in factors)
        raise ValueError(
            f"combinations of {names} leave {len(train)} rows to learn from and {n_tested} to be tested on; a task "
            f"needs at least {MIN_ROWS} of each, so name factors of more values, or give more rows."
        )
    return Split(train=train, test=rows[tested[cell]])


def _ranges(factor: Factor) -> IntArray:
    """Position of each row's value among at most five ranges of a number or angle; -1 without a label."""
    values, found = factor.numbers, np.full(len(factor.numbers), -1, dtype=np.intp)
    known = factor.labelled
    if not factor.is_numeric:
        found[known] = values[known].astype(np.intp)
        return found
    distinct = np.unique(values[known])
    edges = distinct[1:] if len(distinct) <= N_RANGES else np.quantile(values[known], np.arange(1, N_RANGES) / N_RANGES)
    found[known] = np.unique(np.searchsorted(edges, values[known], side="right"), return_inverse=True)[1].reshape(-1)
    return found


def _test_rows(order: IntArray, wanted: Any) -> IntArray:
    if wanted is None:
        return order[: round(TEST_SHARE * len(order))]
    rows = np.asarray(wanted)
    if not np.issubdtype(rows.dtype, np.integer) or rows.ndim > 1:
        raise TypeError(f"test_rows must be row numbers, or how many, got {wanted!r}.")
    if rows.ndim == 0:
        return order[: max(0, int(rows))]
    if rows.size and not 0 <= rows.min() <= rows.max() < len(order):
        raise ValueError(f"test_rows must be between 0 and {len(order) - 1}, got {rows.min()} to {rows.max()}.")
    if len(np.unique(rows)) != len(rows):
        raise ValueError("test_rows must name each row once, got some twice.")
    return rows.astype(np.intp)


def standardise(train: Any, *others: Any) -> tuple[Any, ...]:
    """Scale columns to mean 0 and deviation 1 on ``train``, ``others`` in the same way; constant columns become 0."""
    mean, scale = mean_and_scale(train)
    return tuple((array - mean) * scale for array in (train, *others))


def standardise_by(codes: FloatArray, rows: IntArray) -> FloatArray:
    """Scale columns to mean 0 and deviation 1 on ``rows``, with one copy of the codes and no more."""
    mean, scale = mean_and_scale_on(codes, rows)
    scaled = codes - mean
    scaled *= scale
    return scaled


def mean_and_scale_on(codes: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean of each column on ``rows``, and one over its deviation, from a few columns at a time."""
    parts = [slice(start, start + COLUMNS_AT_ONCE) for start in range(0, codes.shape[1], COLUMNS_AT_ONCE)]
    found = [mean_and_scale(codes[rows, part]) for part in parts]
    mean, scale = (np.concatenate(column) for column in zip(*found, strict=True))
    return mean, scale


def mean_and_scale(train: Any) -> tuple[Any, Any]:
    """Mean of each column, and one over its deviation: 0 for a column that is constant."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-12 * np.abs(mean))
    return mean, scale
