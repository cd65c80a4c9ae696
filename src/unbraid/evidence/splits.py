"""Dividing rows into those a probe is fitted on and those it is judged on."""

from typing import Any

import numpy as np

from unbraid._typing import FloatArray, IntArray
from unbraid.factor import Factor

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
