"""Share of each code's variance that each factor explains, from means by the factor's values."""

from __future__ import annotations

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

#: Groups that a factor of many values is cut into.
N_GROUPS = 24
#: Codes that are looked at together.
AT_ONCE = 256
#: Rows that are enough for two digits.
ENOUGH_ROWS = 20_000


def explained_variance(rep: Representation, *, seed: int = 0) -> FloatArray:
    r"""Return the correlation ratio of every code given every factor, ``(n_codes, n_factors)``, from 0 to 1.

    With :math:`\bar z_g` the mean of a code in the rows where the factor has its value :math:`g`, and :math:`G` values,

    .. math::

        \eta^2 = \frac{\sum_g n_g (\bar z_g - \bar z)^2}{\sum_i (z_i - \bar z)^2},

    less what :math:`G - 1` free means explain by chance. Any function of a factor has 1, along a line or not. A factor
    of many values is cut into 24 groups of as many rows each; of more than 20 000 rows, that many are drawn.

    Args:
        rep: Codes and factors.
        seed: Of the rows that are drawn.
    """
    if rep.n_samples > ENOUGH_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(rep.n_samples, ENOUGH_ROWS, replace=False))
        rep = rep.take(rows)
    columns = [_of_factor(rep.codes, factor) for factor in rep.factors]
    return np.stack(columns, axis=1) if columns else np.empty((rep.n_codes, 0))


def factor_groups(factor: Factor, n_groups: int = N_GROUPS) -> IntArray:
    """Return the group of each row by the factor's value, -1 where there is no label."""
    if factor.labels is not None and len(factor.levels) <= max(n_groups, 64):
        return factor.labels
    known = factor.labelled
    edges = np.unique(np.quantile(factor.numbers[known], np.linspace(0, 1, n_groups + 1)[1:-1]))
    return np.where(known, np.searchsorted(edges, factor.numbers, side="right"), -1)


def _of_factor(codes: FloatArray, factor: Factor) -> FloatArray:
    groups = factor_groups(factor)
    rows = np.argsort(groups, kind="stable")[int((groups < 0).sum()) :]
    counts = np.unique(groups[rows], return_counts=True)[1]
    if len(rows) <= len(counts) or len(counts) < 2:
        return np.zeros(codes.shape[1])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    parts = [_of_codes(codes[rows, j : j + AT_ONCE], starts, counts) for j in range(0, codes.shape[1], AT_ONCE)]
    return np.concatenate(parts)


def _of_codes(z: FloatArray, starts: IntArray, counts: IntArray) -> FloatArray:
    """Return the share of some codes, whose rows are sorted by group."""
    n_rows, n_groups = len(z), len(counts)
    z = z - z.mean(axis=0)
    sums = np.add.reduceat(z, starts, axis=0)
    total = (z**2).sum(axis=0)
    between = (sums**2 / counts[:, None]).sum(axis=0)
    scale = np.where(total > 0, total, 1.0)
    share = between / scale
    chance = (n_groups - 1) / (n_rows - 1)
    corrected: FloatArray = np.where(total > 0, np.clip((share - chance) / (1 - chance), 0.0, 1.0), 0.0)
    return corrected
