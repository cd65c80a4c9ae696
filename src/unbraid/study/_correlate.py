"""Correlations between scores, and of scores with tasks, over the models of a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from unbraid._files import write_text
from unbraid._typing import FloatArray, IntArray
from unbraid._validation import check_at_least, check_choice
from unbraid.study._correct import CORRECTIONS, Correction, corrected
from unbraid.study._resample import bootstrap, correlate
from unbraid.study._show import as_latex, as_text
from unbraid.study._wide import Wide

Method = Literal["pearson", "spearman"]
METHODS: tuple[Method, ...] = ("pearson", "spearman")
FEWEST = 3
#: Below so many models, the notes warn that bootstrap intervals are too narrow.
FEW = 10
#: A column that varies by less than this share of its size is constant.
ROUNDING = 1e-12


class Coefficient(NamedTuple):
    """One entry of a matrix of correlations."""

    r: float
    low: float
    high: float
    p: float
    p_corrected: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Correlations:
    """A matrix of correlations, with everything that says how far to trust it.

    Attributes:
        r: The coefficients.
        p: Two-sided p-values of no correlation, each as if it were the only test.
        p_corrected: The same, corrected for all ``n_tests``.
        low: Lower end of the bootstrap interval.
        high: Upper end.
        n: Models with both numbers.
        method: ``"pearson"`` or ``"spearman"``.
        correct: The correction: ``"holm"``, ``"fdr_bh"`` or ``"none"``.
        n_tests: Tests corrected for; each pair counts once, a column with itself not at all.
        confidence: Of the interval.
        n_bootstrap: Resamples behind it.
        notes: What a reader should know.
    """

    r: pd.DataFrame
    p: pd.DataFrame
    p_corrected: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    n: pd.DataFrame
    method: Method
    correct: Correction
    n_tests: int
    confidence: float
    n_bootstrap: int
    notes: tuple[str, ...]

    @property
    def says(self) -> str:
        """What was done, in a sentence."""
        interval = f"{self.confidence:.0%} bootstrap intervals from {self.n_bootstrap:,} resamples of the models"
        return (
            f"{self.method.capitalize()} correlation, {interval if self.n_bootstrap else 'without intervals'}; "
            f"{CORRECTIONS[self.correct]} ({self.n_tests:,} {'test' if self.n_tests == 1 else 'tests'})."
        )

    def at(self, row: str, column: str) -> Coefficient:
        """Return everything known of one pair."""
        values: list[Any] = [getattr(self, name).at[row, column] for name in Coefficient._fields]
        return Coefficient(*(float(value) for value in values[:-1]), int(values[-1]))

    def significant(self, level: float = 0.05) -> pd.DataFrame:
        """Return which corrected p-values are below ``level``."""
        return self.p_corrected < level

    def part(self, rows: Sequence[str], columns: Sequence[str]) -> Correlations:
        """Return some rows and columns, corrected for their tests only."""
        cut = {name: getattr(self, name).loc[list(rows), list(columns)] for name in ("r", "p", "low", "high", "n")}
        return _with_correction(replace(self, **cut))

    def tidy(self) -> pd.DataFrame:
        """Return one line for each pair, each pair once, strongest first."""
        rows, columns = single_pairs(list(self.r.index), list(self.r.columns))
        names = ("r", "low", "high", "p", "p_corrected", "n")
        table = pd.DataFrame(
            {"row": self.r.index[rows], "column": self.r.columns[columns]}
            | {name: getattr(self, name).to_numpy()[rows, columns] for name in names}
        )
        order = np.lexsort((table["column"], table["row"], -table["r"].abs().fillna(-1.0)))
        return table.iloc[order].reset_index(drop=True)

    def to_csv(self, path: str | Path) -> Path:
        """Write :meth:`tidy` as CSV."""
        return write_text(path, self.tidy().to_csv(index=False))

    def to_latex(self, path: str | Path | None = None, *, level: float = 0.05) -> str:
        """Return the matrix as a LaTeX table (package booktabs), and write it to ``path`` if given.

        Coefficients whose corrected p-value is below ``level`` carry a star.
        """
        text = as_latex(self.r, self.significant(level), self.says)
        if path is not None:
            write_text(path, text)
        return text

    def to_text(self, *, level: float = 0.05, colour: bool = False) -> str:
        """Return the matrix for a terminal, with a star at what is significant after correction."""
        return as_text(self.r, self.significant(level), self.says, colour=colour)

    def __repr__(self) -> str:
        return self.to_text()


class _Block(NamedTuple):
    """Columns that lack the same lines, so that one product gives all their pairs."""

    rows: IntArray
    columns: IntArray
    x: FloatArray
    y: FloatArray


def correlations(
    values: Wide | pd.DataFrame,
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
    models, ranked anew in every resample. A pair uses the models that have both numbers.

    Args:
        values: A line for each model.
        rows: Columns of ``values`` that become rows of the matrix; scores by default.
        columns: Columns of ``values`` that become its columns; tasks by default, or scores where there are none.
        method: ``"pearson"`` or ``"spearman"``.
        n_bootstrap: Resamples for the interval; 0 for none.
        confidence: Of the interval.
        correct: ``"holm"``, ``"fdr_bh"`` or ``"none"``.
        seed: Of the resamples. The same seed gives the same interval, whatever the order of the columns.

    Returns:
        Coefficients from −1 to 1, p-values, intervals and counts. NaN where a column is constant or fewer than three
        models have both numbers; the notes say which.

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
    x, y = frame[left].to_numpy(float), frame[right].to_numpy(float)
    x, y = (np.where(np.isfinite(side), side, np.nan) for side in (x, y))
    found = {name: np.full((len(left), len(right)), np.nan) for name in ("r", "low", "high")}
    n = np.zeros((len(left), len(right)), dtype=np.int64)
    for block in _blocks(x, y):
        place = np.ix_(block.rows, block.columns)
        n[place] = len(block.x)
        if len(block.x) < FEWEST:
            continue
        found["r"][place] = correlate(block.x, block.y, is_ranked=method == "spearman")
        found["low"][place], found["high"][place] = _interval(block, method, n_bootstrap, confidence, seed)
    same = np.equal.outer(np.array(left, dtype=object), np.array(right, dtype=object)).astype(bool)
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
    return _with_correction(bare)


def p_values(r: FloatArray, n: IntArray) -> FloatArray:
    """Return two-sided p-values of no correlation, NaN below three models."""
    freedom = np.maximum(n - 2, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(r) * np.sqrt(freedom / (1 - r**2))
    p = np.asarray(2 * student.sf(t, freedom))
    return np.where((n >= FEWEST) & np.isfinite(r), p, np.nan)


def correct_together(several: Sequence[Correlations]) -> list[Correlations]:
    """Return matrices whose p-values are corrected for the tests of all of them together."""
    places = [single_pairs(list(one.r.index), list(one.r.columns)) for one in several]
    p = [one.p.to_numpy()[place] for one, place in zip(several, places, strict=True)]
    joined = corrected(np.concatenate(p), several[0].correct)
    n_tests = int(np.isfinite(joined).sum())
    parts = np.split(joined, np.cumsum([len(part) for part in p])[:-1])
    return [
        replace(one, p_corrected=_spread(one.p, place, part), n_tests=n_tests)
        for one, place, part in zip(several, places, parts, strict=True)
    ]


def _with_correction(one: Correlations) -> Correlations:
    return correct_together([one])[0]


def _chosen(
    values: Wide | pd.DataFrame, rows: Sequence[str] | None, columns: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str], list[str]]:
    given = values if isinstance(values, Wide) else None
    frame = values.values if isinstance(values, Wide) else values
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
    """Yield every two groups of columns that lack the same lines, with the lines that neither lacks."""
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


def single_pairs(rows: list[str], columns: list[str]) -> tuple[IntArray, IntArray]:
    """Return the places of pairs, each pair once and none of a column with itself."""
    first: dict[frozenset[str], tuple[int, int]] = {}
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            if row != column:
                first.setdefault(frozenset((row, column)), (i, j))
    places = np.array(list(first.values()), dtype=np.intp).reshape(-1, 2)
    return places[:, 0], places[:, 1]


def _spread(like: pd.DataFrame, place: tuple[IntArray, IntArray], values: FloatArray) -> pd.DataFrame:
    """Return a frame with a value for each test, at both places of a pair that has two."""
    known = {frozenset((like.index[i], like.columns[j])): value for i, j, value in zip(*place, values, strict=True)}
    filled = [[known.get(frozenset((row, column)), np.nan) for column in like.columns] for row in like.index]
    return pd.DataFrame(filled, index=like.index, columns=like.columns, dtype=float)


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
        yield f"Fewer than {FEWEST} models have both numbers in {int((n < FEWEST).sum())} pairs, which stay empty."
    elif n_bootstrap and n.min() < FEW:
        yield f"With fewer than {FEW} models (here {n.min()}), bootstrap intervals are too narrow."
