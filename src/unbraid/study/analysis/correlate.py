"""Correlation coefficients with bootstrap intervals and corrected p-values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid._base.stats import Correction, student_two_sided
from unbraid.study.analysis.matrix import METHODS, Correlations, Method, correct_together
from unbraid.study.table import ModelTable

#: Numbers held at a time while resampling.
MOST_NUMBERS = 4_000_000
#: A column whose variance falls below this share of what it was is constant in a resample.
NO_SPREAD = 1e-12
RANK_ROUNDING = 1e-14


def correlate(x: FloatArray, y: FloatArray, *, is_ranked: bool) -> FloatArray:
    """Return the correlation of each column of ``x`` with each of ``y``, NaN where either is constant."""
    weights = np.ones((1, len(x)))
    pair = [_ranked(side, weights) if is_ranked else side[None] for side in (x, y)]
    found: FloatArray = weighted(weights, *pair)[0]
    return found


def bootstrap(x: FloatArray, y: FloatArray, *, is_ranked: bool, n_resamples: int, seed: int) -> FloatArray:
    """Return correlations of resampled rows, ``(n_resamples, x columns, y columns)``.

    A resample is a weight for each row, the times it was drawn; ranks are taken anew in every resample, so that
    nothing is approximated. All pairs see the same resamples.
    """
    n = len(x)
    rng = np.random.default_rng(seed)
    step = max(1, MOST_NUMBERS // (n * (x.shape[1] + y.shape[1])))
    found = np.empty((n_resamples, x.shape[1], y.shape[1]))
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        weights = _drawn(rng, n, size)
        pair = [_ranked(side, weights) if is_ranked else side[None] for side in (x, y)]
        found[start : start + size] = weighted(weights, *pair)
    return found


def weighted(weights: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return weighted correlations, ``(resamples, x columns, y columns)``.

    Args:
        weights: ``(resamples, rows)``.
        x: ``(resamples, rows, columns)``, or 1 instead of resamples for the same values in each.
        y: As ``x``.
    """
    (left, left_size), (right, right_size) = (_standardised(weights, side) for side in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (left.swapaxes(1, 2) @ right) / (left_size[:, :, None] * right_size[:, None, :])
    # A line gives 1 but for rounding; the p-value of three models would show the difference.
    return np.where(np.abs(r) > 1 - RANK_ROUNDING, np.sign(r), r)


def _standardised(weights: FloatArray, side: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return columns less their mean, each row times the root of its weight, and their lengths, NaN if constant."""
    share = weights / weights.sum(axis=1, keepdims=True)
    centred = side - share[:, None, :] @ side
    centred *= np.sqrt(weights)[:, :, None]
    size = np.sqrt(np.einsum("bnp,bnp->bp", centred, centred))
    spread = side.max(axis=1) - side.min(axis=1)
    least = np.sqrt(NO_SPREAD * weights.sum(axis=1, keepdims=True)) * spread
    return centred, np.where(size > least, size, np.nan)


def _drawn(rng: np.random.Generator, n: int, size: int) -> FloatArray:
    """Return how often each of ``n`` rows is drawn when ``n`` are, in each of ``size`` resamples."""
    rows = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
    return np.bincount(rows.ravel(), minlength=size * n).reshape(size, n).astype(float)


def _ranked(side: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the rank of every row among the rows drawn, ties sharing their mean, ``(resamples, rows, columns)``."""
    ranks = np.empty((len(weights), *side.shape))
    for k, column in enumerate(side.T):
        _, group = np.unique(column, return_inverse=True)
        ranks[:, :, k] = _mid_ranks(weights, group)
    return ranks


def _mid_ranks(weights: FloatArray, group: IntArray) -> FloatArray:
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    drawn = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(drawn, axis=1) - drawn / 2 + 0.5
    ranks: FloatArray = middle[:, group]
    return ranks


FEWEST = 3
#: Below so many models, the notes warn that bootstrap intervals are too narrow.
FEW = 10
#: A column that varies by less than this share of its size is constant.
ROUNDING = 1e-12


class _Block(NamedTuple):
    """Columns with missing values in the same rows, so that one matrix product gives all their pairs."""

    rows: IntArray
    columns: IntArray
    x: FloatArray
    y: FloatArray


def correlations(
    values: ModelTable | pd.DataFrame,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    method: Method = "pearson",
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
    correct: Correction = "holm",
    seed: int = 0,
) -> Correlations:
    r"""Correlate columns over models.

    Pearson's :math:`r` measures how near the points are to a line, Spearman's how near they are to any rising or
    falling curve: it is Pearson's on ranks. A p-value is that of :math:`t = r \sqrt{(n - 2) / (1 - r^2)}` under
    Student's distribution with n − 2 degrees of freedom; an interval holds the middle of the correlations of resampled
    models, ranked anew in every resample. A pair uses the models that have both values.

    Args:
        values: A row for each model.
        rows: Columns of ``values`` that become rows of the matrix; scores by default.
        columns: Columns of ``values`` that become its columns; tasks by default, or scores where there are none.
        method: ``"pearson"`` or ``"spearman"``.
        n_bootstrap: Resamples for the interval; 0 for none.
        confidence: Of the interval.
        correct: ``"holm"``, ``"fdr_bh"`` or ``"none"``.
        seed: Of the resamples. The same seed gives the same interval, whatever the order of the columns.

    Returns:
        Coefficients from −1 to 1, p-values, intervals and counts. NaN where a column is constant or fewer than three
        models have both values; the notes say which.

    Raises:
        ValueError: An unknown column, method or correction, or a confidence outside (0, 1).

    Example:
        >>> frame = pd.DataFrame({"mig": [0.1, 0.2, 0.3, 0.4], "task:shape/linear@100": [0.9, 0.8, 0.7, 0.6]})
        >>> found = correlations(frame, ["mig"], ["task:shape/linear@100"])
        >>> float(found.r.iloc[0, 0]), found.n_tests
        (-1.0, 1)
    """
    check_choice("method", method, METHODS)
    check_at_least("n_bootstrap", n_bootstrap, 0)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}.")
    frame, left, right = _chosen(values, rows, columns)
    sides = [frame[names].to_numpy(float) for names in (left, right)]
    x, y = (np.where(np.isfinite(side), side, np.nan) for side in sides)
    found = {name: np.full((len(left), len(right)), np.nan) for name in ("r", "low", "high")}
    n = np.zeros((len(left), len(right)), dtype=np.int64)
    for block in _blocks(x, y):
        place = np.ix_(block.rows, block.columns)
        n[place] = len(block.x)
        if len(block.x) >= FEWEST:
            found["r"][place] = correlate(block.x, block.y, is_ranked=method == "spearman")
            found["low"][place], found["high"][place] = _interval(block, method, n_bootstrap, confidence, seed)
    same = np.array([[row == column for column in right] for row in left])
    found["r"][same & np.isfinite(found["r"])] = 1.0
    p = np.where(same, np.nan, p_values(found["r"], n))
    frames = {name: pd.DataFrame(a, index=left, columns=right) for name, a in (found | {"p": p, "n": n}).items()}
    bare = Correlations(
        **frames,
        p_corrected=frames["p"],
        method=method,
        correct=correct,
        n_tests=0,
        confidence=confidence,
        n_bootstrap=n_bootstrap,
        notes=tuple(_notes(frame, left, right, n, n_bootstrap)),
    )
    return correct_together([bare])[0]


def p_values(r: FloatArray, n: IntArray) -> FloatArray:
    """Return two-sided p-values of no correlation, NaN below three models."""
    freedom = np.maximum(n - 2, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(r) * np.sqrt(freedom / (1 - r**2))
    p = student_two_sided(t, freedom)
    return np.where((n >= FEWEST) & np.isfinite(r), p, np.nan)


def _chosen(
    values: ModelTable | pd.DataFrame, rows: Sequence[str] | None, columns: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str], list[str]]:
    given = values if isinstance(values, ModelTable) else None
    frame = values.values if isinstance(values, ModelTable) else values
    if given is None and (rows is None or columns is None):
        raise ValueError("rows and columns must be named for a plain DataFrame, got None.")
    left = list(rows) if rows is not None else given.scores if given else []
    right = list(columns) if columns is not None else (given.tasks or given.scores) if given else []
    for argument, names in (("rows", left), ("columns", right)):
        for name in names:
            check_choice(argument, name, [str(known) for known in frame])
        if not names:
            raise ValueError(f"{argument} must name at least one column, got none.")
        if len(set(names)) < len(names):
            raise ValueError(f"{argument} must name each column once, got {', '.join(names)}.")
    return frame, left, right


def _blocks(x: FloatArray, y: FloatArray) -> Iterator[_Block]:
    """Yield every two groups of columns with missing values in the same rows, restricted to complete rows."""
    for rows in _alike(x):
        for columns in _alike(y):
            kept = np.isfinite(x[:, rows[0]]) & np.isfinite(y[:, columns[0]])
            left, right = (_plain(side[kept][:, part]) for side, part in ((x, rows), (y, columns)))
            yield _Block(rows, columns, left, right)


def _alike(side: FloatArray) -> list[IntArray]:
    _, group = np.unique(np.isnan(side), axis=1, return_inverse=True)
    return [np.flatnonzero(group.ravel() == k) for k in range(group.max() + 1)]


def _plain(side: FloatArray) -> FloatArray:
    """Return columns less their mean, exactly zero where they vary by rounding error only."""
    return np.where(_is_constant(side), 0.0, side - side.mean(axis=0)) if len(side) else side


def _is_constant(side: FloatArray) -> FloatArray:
    spread: FloatArray = side.max(axis=0) - side.min(axis=0) <= ROUNDING * np.abs(side).max(axis=0)
    return spread


def _interval(
    block: _Block, method: Method, n_resamples: int, confidence: float, seed: int
) -> tuple[FloatArray, FloatArray]:
    shape = (len(block.rows), len(block.columns))
    if not n_resamples:
        return np.full(shape, np.nan), np.full(shape, np.nan)
    drawn = bootstrap(block.x, block.y, is_ranked=method == "spearman", n_resamples=n_resamples, seed=seed)
    usable = np.isfinite(drawn).mean(axis=0)
    # Resamples in which a column happens to be constant have no correlation; more than half such, and there is nothing
    # to take quantiles of.
    drawn = np.where(usable > 0.5, drawn, 0.0)
    quantile = np.quantile if np.isfinite(drawn).all() else np.nanquantile
    low, high = quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return np.where(usable > 0.5, low, np.nan), np.where(usable > 0.5, high, np.nan)


def _notes(frame: pd.DataFrame, left: list[str], right: list[str], n: IntArray, n_bootstrap: int) -> Iterator[str]:
    names = list(dict.fromkeys([*left, *right]))
    side = frame[names].to_numpy(float)
    known = [column[np.isfinite(column)] for column in side.T]
    constant = [
        name for name, column in zip(names, known, strict=True) if len(column) and _is_constant(column[:, None])
    ]
    if constant:
        yield f"Constant over these models, so without correlation: {', '.join(constant)}."
    if (n < FEWEST).any():
        yield f"Fewer than {FEWEST} models have both values in {int((n < FEWEST).sum())} pairs, which stay empty."
    elif n_bootstrap and n.min() < FEW:
        yield f"With fewer than {FEW} models (here {n.min()}), bootstrap intervals are too narrow."
