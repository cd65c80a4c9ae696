"""Groups of rows that agree in all factors but one, and the variances of codes within them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import IntArray
from unbraid._base.checks import check_at_least
from unbraid.evidence.information import factor_labels
from unbraid.evidence.interventions import Groups
from unbraid.representation.representation import Representation


@dataclass(frozen=True, slots=True, kw_only=True)
class AllButOneOptions:
    """Options for drawing groups in which one factor varies.

    Attributes:
        n_votes: Groups to learn the vote on, and as many again to test it on.
        group_size: Rows in a group, at most.
        n_cuts: Parts that a continuous factor is cut into, few, so that combinations repeat.
    """

    n_votes: int = 800
    group_size: int = 200
    n_cuts: int = 3

    def __post_init__(self) -> None:
        check_at_least("n_votes", self.n_votes, 10)
        check_at_least("group_size", self.group_size, 2)
        check_at_least("n_cuts", self.n_cuts, 2)


def varied_groups(rep: Representation, options: AllButOneOptions, rng: np.random.Generator) -> Groups:
    """Variance of each active code, over its variance in the data, in groups that agree in all factors but one.

    Combinations of values are drawn by their number of rows. The rows of a combination are halved, so that groups of
    the first half and groups of the second half share no rows, where a combination has four rows or more.

    Raises:
        ValueError: For some factor, no two rows agree in all the others.
    """
    active = rep.codes[:, rep.active]
    labels = np.stack([factor_labels(factor, options.n_cuts, "quantile")[0] for factor in rep.factors], axis=1)
    combinations = [_combinations(rep, labels, k, rng) for k in range(rep.n_factors)]
    summary = np.empty((2 * options.n_votes, active.shape[1]))
    varied = rng.integers(rep.n_factors, size=2 * options.n_votes)
    for vote, k in enumerate(varied):
        halves, shares = combinations[k]
        rows = halves[rng.choice(len(halves), p=shares)][vote >= options.n_votes]
        drawn = rng.choice(rows, size=min(options.group_size, len(rows)), replace=False)
        summary[vote] = active[drawn].var(axis=0, ddof=1)
    return Groups(summary=summary / active.var(axis=0, ddof=1), fixed_factor=varied, n_factors=rep.n_factors)


def _combinations(
    rep: Representation, labels: IntArray, k: int, rng: np.random.Generator
) -> tuple[list[tuple[IntArray, IntArray]], IntArray]:
    """Rows of each combination of the values of all factors but ``k``, in two halves, and its share of the rows.

    Only where factor ``k`` takes two values in a combination is there anything to see.
    """
    others = np.delete(labels, k, axis=1)
    rows = rng.permutation(np.flatnonzero((labels >= 0).all(axis=1)))
    _, group = np.unique(others[rows], axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    parts = np.split(rows[order], np.flatnonzero(np.diff(group.ravel()[order])) + 1)
    parts = [part for part in parts if len(part) >= 2 and len(np.unique(labels[part, k])) >= 2]
    if not parts:
        raise ValueError(
            f"factor {rep.factors[k].name!r} never varies while all other factors stay the same; give more rows, or "
            "fewer factors or values, so that combinations of values repeat."
        )
    enough = [part for part in parts if len(part) >= 4]
    halves = [(part[0::2], part[1::2]) for part in enough] or [(part, part) for part in parts]
    counts = np.array([len(first) + len(second) for first, second in halves], dtype=float)
    return halves, counts / counts.sum()
