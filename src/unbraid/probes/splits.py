"""Hold-out, three-way, folds, nested sizes: one module, one Split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.representation.factor import Factor

TEST_SHARE = 0.3
MIN_PROBE_ROWS = 10
COLUMNS_AT_ONCE = 512


def holdout(factor: Factor, *, rng: np.random.Generator, test_share: float = TEST_SHARE) -> tuple[IntArray, IntArray]:
    """Split the labelled rows of a factor, keeping its values in proportion.

    A value seen once is always fitted on, so no value is judged that was never shown.

    Returns:
        Rows to fit on and rows to judge on, each in increasing order.

    Raises:
        ValueError: Fewer than ten labelled rows.
    """
    rows = np.flatnonzero(factor.labelled)
    if len(rows) < MIN_PROBE_ROWS:
        raise ValueError(
            f"factor {factor.name!r} has {len(rows)} labelled rows; a held-out probe needs at least {MIN_PROBE_ROWS}."
        )
    rows = rng.permutation(rows)
    keys = factor.numbers[rows] if factor.labels is None else factor.labels[rows]
    order = rows[np.argsort(keys, kind="stable")]
    steps = np.floor((np.arange(len(order) + 1) + rng.random()) * test_share)
    judged = np.diff(steps) > 0
    if factor.labels is not None:
        counts = np.bincount(factor.labels[rows], minlength=len(factor.levels))
        judged &= counts[factor.labels[order]] > 1
    return np.sort(order[~judged]), np.sort(order[judged])


def standardise(train: Any, *others: Any) -> tuple[Any, ...]:
    """Scale columns to mean 0 and deviation 1 on ``train``, ``others`` in the same way; constant columns become 0."""
    mean, scale = _mean_and_scale(train)
    return tuple((array - mean) * scale for array in (train, *others))


def standardise_by(codes: FloatArray, rows: IntArray) -> FloatArray:
    """Scale columns to mean 0 and deviation 1 on ``rows``, with one copy of the codes and no more."""
    scaled = np.empty_like(codes)
    for start in range(0, codes.shape[1], COLUMNS_AT_ONCE):
        part = slice(start, start + COLUMNS_AT_ONCE)
        mean, scale = _mean_and_scale(codes[rows, part])
        np.subtract(codes[:, part], mean, out=scaled[:, part])
        scaled[:, part] *= scale
    return scaled


def _mean_and_scale(train: Any) -> tuple[Any, Any]:
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-12 * (1 + np.abs(mean)))
    return mean, scale


TASK_TEST_SHARE = 0.3
#: Fewest rows that anything is learned from, or judged on.
MIN_ROWS = 10

TrainSize = int | float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Rows divided once.

    Attributes:
        test: Rows to judge on, increasing.
        pool: The other rows, shuffled; a training set of some size is its beginning.
    """

    test: IntArray
    pool: IntArray

    def train(self, n_train: TrainSize = None) -> IntArray:
        """Return the rows of a training size: a count, a share of the pool, or all of it.

        Raises:
            ValueError: Fewer than ten rows, or more than there are.
        """
        return self.pool[: self.count(n_train)]

    def count(self, n_train: TrainSize) -> int:
        """Return how many rows a training size stands for."""
        wanted = self.rounded(n_train)
        if wanted < MIN_ROWS:
            raise ValueError(f"n_train must leave at least {MIN_ROWS} rows to learn from, got {n_train} ({wanted}).")
        if wanted > len(self.pool):
            raise ValueError(
                f"n_train must be at most {len(self.pool)}, the rows that are not judged on, got {n_train}."
            )
        return wanted

    def rounded(self, n_train: TrainSize) -> int:
        """Return the number of rows asked for, whether or not there are so many."""
        if n_train is None:
            return len(self.pool)
        if isinstance(n_train, bool) or not isinstance(n_train, int | float | np.number):
            raise TypeError(f"n_train must be a number of rows, a share of them, or None for all, got {n_train!r}.")
        if not isinstance(n_train, float | np.floating):
            return int(n_train)
        if not 0 < n_train <= 1:
            raise ValueError(f"n_train must be a share in (0, 1] or a whole number of rows, got {n_train}.")
        return round(n_train * len(self.pool))


def split_rows(n_samples: int, *, test_rows: Any = None, seed: int = 0) -> Split:
    """Divide rows into those to judge on and a shuffled pool to learn from; depends on nothing else.

    Args:
        n_samples: Rows in all.
        test_rows: Row numbers to judge on, or how many to draw; three tenths by default.
        seed: Same seed, same rows.

    Raises:
        ValueError: Fewer than ten rows on either side, or rows that are not there.

    Example:
        >>> split = split_rows(40, seed=1)
        >>> len(split.test), len(split.pool)
        (12, 28)
    """
    check_at_least("seed", seed, 0)
    order = np.random.default_rng([int(seed), n_samples]).permutation(n_samples)
    test = _test_rows(order, test_rows)
    pool = order[~np.isin(order, test)]
    if min(len(test), len(pool)) < MIN_ROWS:
        raise ValueError(
            f"a task needs at least {MIN_ROWS} rows to learn from and {MIN_ROWS} to be judged on, "
            f"got {len(pool)} and {len(test)} of {n_samples}."
        )
    return Split(test=np.sort(test), pool=pool)


def _test_rows(order: IntArray, wanted: Any) -> IntArray:
    if wanted is None:
        return order[: round(TASK_TEST_SHARE * len(order))]
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
