"""Geometry of the nested networks: widths, first directions, bases, losses and standardisation; NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unbraid.evidence.subspaces.fast import directional_regression, whiten
from unbraid.probes.splits import mean_and_scale

#: The first width is at most this many times the largest rank; wider heads only steer the spine.
WIDEST = 4
#: Eigenvalues of the correlation of the codes below this are directions in which the codes do not vary.
NULL_VARIANCE = 1e-9
#: Slices of a factor's values when directions are guessed.
N_SLICES = 10
#: Share of the loss without codes by which more axes must lower it to count; heads with the same axes differ by 0.1 %.
MIN_DROP = 3e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadTarget:
    """Target of the heads of one factor.

    Attributes:
        values: ``(n_samples, n_values)``, NaN in rows without a label; for a category its number, 0, 1, ...
        n_classes: Number of categories, or 0 for numbers.
    """

    values: NDArray[np.float64]
    n_classes: int = 0

    @property
    def n_outputs(self) -> int:
        """Outputs of a head."""
        return self.n_classes or int(self.values.shape[1])


def spine_widths(n_codes: int, max_rank: int) -> tuple[int, ...]:
    """Widths of the spine, widest first: doublings down to ``max_rank``, then every width.

    >>> spine_widths(4, max_rank=10)
    (4, 3, 2, 1)
    >>> spine_widths(250, max_rank=3)
    (12, 6, 3, 2, 1)
    """
    widest = min(n_codes, WIDEST * max_rank)
    widths = list(range(1, min(max_rank, widest) + 1))
    while widths[-1] < widest:
        widths.append(min(2 * widths[-1], widest))
    return tuple(reversed(widths))


def nested_basis(projections: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Orthonormal columns of which the first ``l`` span the rows of the projection to width ``l``.

    Args:
        projections: ``(width, n_codes)``, narrowest first; the rows of each span those of the one before.

    Returns:
        ``(n_codes, widest)``. Where a projection adds nothing to those before it, any axis stands in.
    """
    n_codes = projections[0].shape[1]
    basis = np.zeros((n_codes, 0))
    for projection in projections:
        wanted = len(projection) - basis.shape[1]
        rest = projection.T / max(np.linalg.norm(projection), np.finfo(float).tiny)
        rest = rest - basis @ (basis.T @ rest)
        left, size, _ = np.linalg.svd(rest, full_matrices=False)
        new = left[:, :wanted][:, size[:wanted] > 1e-10]
        missing = wanted - new.shape[1]
        basis = np.linalg.qr(np.hstack([basis, new, np.eye(n_codes)]))[0] if missing else np.hstack([basis, new])
        basis = basis[:, : len(projection)]
    return basis


def settled_losses(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean losses with no axis, the first, the first two, ..., flat from the rank on.

    The rank is the smallest number of axes whose loss is not significantly above the lowest: within two standard
    errors of it, row against row, or within 0.3 % of the loss without codes. Before that the losses are made
    never to increase: a head could always ignore the axes that a narrower one does not see.

    Args:
        rows: Loss of every held-out row, ``(n_axes + 1, n_rows)``.
    """
    means = rows.mean(axis=1)
    best = int(means.argmin())
    excess = rows - rows[best]
    error = excess.std(axis=1) / np.sqrt(rows.shape[1])
    rank = int(np.argmax(excess.mean(axis=1) <= np.maximum(2 * error, MIN_DROP * means[0])))
    means[rank:] = means[rank]
    settled: NDArray[np.float64] = np.minimum.accumulate(means)
    return settled


def slices_of(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Number the values by which slice of about equally many rows they are in; equal values stay together."""
    distinct, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = (counts.cumsum() - counts / 2) / len(values)
    slices = np.unique((middle * min(N_SLICES, len(distinct))).astype(int), return_inverse=True)[1]
    return slices[position]


def sliced_directions(x: NDArray[np.float64], slices: NDArray[np.intp]) -> NDArray[np.float64]:
    """Orthonormal columns, first those along which means and spreads of ``x`` differ most between slices."""
    whitened, unwhiten = whiten(x)
    leading = unwhiten @ np.linalg.eigh(directional_regression(whitened, slices))[1][:, ::-1]
    return np.linalg.qr(np.hstack([leading, np.eye(len(leading))]))[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """How one representation is standardised, and the directions in which it does not vary."""

    mean: NDArray[np.float64]
    inverse_scale: NDArray[np.float64]
    null: NDArray[np.float64]

    @property
    def rank(self) -> int:
        """Number of directions in which the codes vary."""
        return int(len(self.mean) - self.null.shape[1])

    def standardise(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return codes of mean 0 and deviation 1, constant ones as 0."""
        return (codes - self.mean) * self.inverse_scale

    def to_codes(self, projection: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the projection for codes before standardisation, without directions of no variance."""
        raw = projection * self.inverse_scale
        return raw - (raw @ self.null) @ self.null.T


def frame_of(codes: NDArray[np.float64]) -> Frame:
    """Return the standardisation of ``codes``."""
    mean, inverse_scale = mean_and_scale(codes)
    x = (codes - mean) * inverse_scale
    variance, axes = np.linalg.eigh(x.T @ x / len(x))
    # x n = 0 is c diag(1/s) n = 0, and a code that is constant is a null direction of its own
    flat = axes[:, variance < NULL_VARIANCE * max(1, len(mean))]
    raw = np.hstack([flat * inverse_scale[:, None], np.eye(len(mean))[:, inverse_scale == 0]])
    left, size, _ = np.linalg.svd(raw, full_matrices=False)
    return Frame(mean=mean, inverse_scale=inverse_scale, null=left[:, size > 1e-10 * size.max(initial=0)])
