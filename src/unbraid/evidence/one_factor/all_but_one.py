"""Groups of rows that agree in all factors but one, and the variances of codes within them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.evidence.information import factor_labels
from unbraid.evidence.interventions import Groups
from unbraid.representation.representation import Representation

#: Cells of the codes of groups that are held at once.
CELLS_AT_ONCE = 4_000_000
#: Times that the rows of a group are drawn at most until the factor varies among them.
MOST_DRAWS = 50
#: Share of the rows that combinations of enough rows must have for the others to be left out.
ENOUGH_ROWS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class AllButOneOptions:
    """Options for drawing groups in which one factor varies.

    Attributes:
        n_votes: Groups to learn the vote on, and as many again to test it on.
        group_size: Rows in a group, at most: few, so that most combinations have as many, and the score does not depend
            on the number of rows.
        n_cuts: Parts that a continuous factor is cut into, few, so that combinations repeat.
    """

    n_votes: int = 2000
    group_size: int = 8
    n_cuts: int = 3

    def __post_init__(self) -> None:
        check_at_least("n_votes", self.n_votes, 10)
        check_at_least("group_size", self.group_size, 2)
        check_at_least("n_cuts", self.n_cuts, 2)


def varied_groups(rep: Representation, options: AllButOneOptions, rng: np.random.Generator) -> Groups:
    """Variance of each active code, over its variance in the data, in groups that agree in all factors but one.

    Combinations of values are drawn by their number of rows. The rows of a combination are halved, so that groups of
    the first half and groups of the second half share no rows, where the factor varies in both halves. Rows of a group
    in which the factor has one value only are drawn again: nothing varies with it there.

    Raises:
        ValueError: For some factor, no two rows agree in all the others.
    """
    active = rep.codes[:, rep.active]
    labels = np.stack([factor_labels(factor, options.n_cuts, "quantile")[0] for factor in rep.factors], axis=1)
    scale = active.var(axis=0, ddof=1)
    active = active - active.mean(axis=0)  # variances from sums of squares lose no digits to the mean
    summary = np.empty((2 * options.n_votes, active.shape[1]))
    varied = rng.integers(rep.n_factors, size=2 * options.n_votes)
    second_half = np.arange(2 * options.n_votes) >= options.n_votes
    for k in range(rep.n_factors):
        halves = _combinations(rep, labels, k, options.group_size, rng)
        counts = np.array([sum(map(len, pair)) for pair in halves], dtype=float)
        for side in (False, True):
            votes = np.flatnonzero((varied == k) & (second_half == side))
            parts = [pair[side] for pair in halves]
            drawn = rng.choice(len(parts), size=len(votes), p=counts / counts.sum())
            summary[votes] = _variances(active, labels[:, k], parts, drawn, options.group_size, rng)
    return Groups(summary=summary / scale, fixed_factor=varied, n_factors=rep.n_factors)


def _variances(
    codes: FloatArray,
    labels: IntArray,
    parts: list[IntArray],
    drawn: IntArray,
    group_size: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Variance of each code in groups of the drawn parts, ``(n_groups, n_codes)``: all rows of a part, or some."""
    sizes = np.array([len(part) for part in parts], dtype=np.intp)
    rows, starts = np.concatenate(parts), np.cumsum(sizes) - sizes
    found = np.empty((len(drawn), codes.shape[1]))
    step = max(1, CELLS_AT_ONCE // (group_size * codes.shape[1]))
    for first in range(0, len(drawn), step):
        own = drawn[first : first + step]
        n_drawn = np.minimum(sizes[own], group_size)
        inside = np.arange(int(n_drawn.max())) < n_drawn[:, None]
        group = np.zeros(inside.shape, dtype=np.intp)
        again = np.arange(len(own))
        for _ in range(MOST_DRAWS):
            places = _without_repetition(sizes[own[again]], n_drawn[again], inside.shape[1], rng)
            group[again] = rows[starts[own[again]][:, None] + np.where(inside[again], places, 0)]
            found_labels = np.where(inside[again], labels[group[again]], labels[group[again, :1]])
            again = again[(found_labels == found_labels[:, :1]).all(axis=1)]
            if not len(again):
                break
        values = codes[group] * inside[..., None]
        mean = values.sum(axis=1) / n_drawn[:, None]
        squares = np.einsum("gij,gij->gj", values, values)
        found[first : first + step] = (squares - n_drawn[:, None] * mean**2) / (n_drawn - 1)[:, None]
    return np.maximum(found, 0.0)


def _without_repetition(sizes: IntArray, n_drawn: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """Draw ``n_drawn`` different places below each size, by Floyd's algorithm, ``(n_groups, most)``; -1 beyond."""
    places = np.full((len(sizes), most), -1, dtype=np.intp)
    for i in range(places.shape[1]):
        last = sizes - n_drawn + i
        found = np.minimum((rng.random(len(sizes)) * (last + 1)).astype(np.intp), last)
        taken = (places[:, :i] == found[:, None]).any(axis=1)
        places[:, i] = np.where(i < n_drawn, np.where(taken, last, found), -1)
    return places


def _combinations(
    rep: Representation, labels: IntArray, k: int, group_size: int, rng: np.random.Generator
) -> list[tuple[IntArray, IntArray]]:
    """Rows of each combination of the values of all factors but ``k``, in two halves.

    Only where factor ``k`` takes two values in a combination is there anything to see. Combinations with fewer rows
    than a group needs are left out, where the others have enough of the rows: small groups vote otherwise than large
    ones, and how many there are depends on the number of rows.
    """
    others = np.delete(labels, k, axis=1)
    rows = rng.permutation(np.flatnonzero((labels >= 0).all(axis=1)))
    _, group = np.unique(others[rows], axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    parts = np.split(rows[order], np.flatnonzero(np.diff(group.ravel()[order])) + 1)
    parts = [part for part in parts if _varies(labels[part, k])]
    if not parts:
        raise ValueError(
            f"factor {rep.factors[k].name!r} never varies while all other factors stay the same; give more rows, or "
            "fewer factors or values, so that combinations of values repeat."
        )
    halves = [(part[0::2], part[1::2]) for part in parts]
    halves = [pair for pair in halves if all(_varies(labels[half, k]) for half in pair)]
    large = [pair for pair in halves if min(map(len, pair)) >= group_size]
    if sum(len(pair[0]) + len(pair[1]) for pair in large) >= ENOUGH_ROWS * len(rows):
        return large
    return halves or [(part, part) for part in parts]


def _varies(labels: IntArray) -> bool:
    return bool(labels.min() != labels.max())
