"""Options and results of factor subspaces: bases ordered by importance, and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least, check_choice

Solver = Literal["fast", "nested"]
Weights = Literal["explained", "spread"]
Loss = Literal["likelihood", "zero_one"]
#: Largest rank looked for at first, where no largest rank is given.
USUAL_RANK = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SubspaceOptions:
    """Options for finding subspaces and weighting their axes.

    Attributes:
        solver: ``"fast"``: sufficient dimension reduction refined by Gauss-Newton steps; ``"nested"``: the published
            networks, one for each width, on a linear spine (needs torch).
        weights: ``"explained"``: shares of the loss removed (Eq. 2); ``"spread"``: what stays unexplained, beyond what
            cannot be explained, is spread evenly over all axes (Eq. 3).
        loss: For categorical factors, ``"likelihood"`` (cross-entropy) or ``"zero_one"`` (share of errors); other
            factors always have the squared error.
        max_rank: Largest subspace to look for; by default 10, and with the fast solver more where the loss still falls.
        device: Where the nested solver trains: ``"cpu"`` or ``"cuda"``.
    """

    solver: Solver = "fast"
    weights: Weights = "explained"
    loss: Loss = "likelihood"
    max_rank: int | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_choice("solver", self.solver, get_args(Solver))
        check_choice("weights", self.weights, get_args(Weights))
        check_choice("loss", self.loss, get_args(Loss))
        if self.max_rank is not None:
            check_at_least("max_rank", self.max_rank, 1)
        check_choice("device", self.device, ("cpu", "cuda"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subspace:
    """The subspace of one factor.

    Attributes:
        basis: Orthonormal columns, most important first, ``(n_codes, n_axes)``; it may span less than code space.
        losses: Held-out loss with no axis, the first, the first two, ..., never increasing, ``(n_axes + 1,)``.
        floor: Loss that no representation could remove: rounding of the factor, say.
        stopped: Whether the loss still fell with the last axis that was allowed, and more axes were not tried.
    """

    basis: FloatArray
    losses: FloatArray
    floor: float = 0.0
    stopped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subspaces:
    """The subspaces of all factors, and their weights.

    Attributes:
        subspaces: One for each factor.
        bases: For each factor, a basis of as many axes as have weight, ``(n_codes, rank)``.
        weights: For each factor, the weights of those axes, summing to 1, ``(rank,)``.
        n_codes: Dimensions of code space.
        factor_names: The factors' names, for notes; none where they are not known.
        blocks: Columns of each block of codes; none where there are no blocks.
    """

    subspaces: tuple[Subspace, ...]
    bases: tuple[FloatArray, ...]
    weights: tuple[FloatArray, ...]
    n_codes: int
    factor_names: tuple[str, ...] = ()
    blocks: tuple[tuple[int, ...], ...] = ()


def weigh(subspaces: list[Subspace], options: SubspaceOptions, n_codes: int) -> Subspaces:
    """Turn losses into weights, and complete bases where every axis of code space has weight."""
    bases, weights = [], []
    for subspace in subspaces:
        alpha = importance_weights(subspace.losses, n_codes, weights=options.weights, floor=subspace.floor)
        bases.append(complete_basis(subspace.basis, len(alpha)))
        weights.append(alpha)
    return Subspaces(subspaces=tuple(subspaces), bases=tuple(bases), weights=tuple(weights), n_codes=n_codes)


def importance_weights(
    losses: FloatArray, n_codes: int, *, weights: Weights = "explained", floor: float = 0.0
) -> FloatArray:
    """Weights of the axes, from the loss with no axis, the first, the first two, ...

    Losses are made never to increase first, by a running minimum from no axis up: only exact minimisers are sure to
    be so, and more axes cannot predict worse, as the new one may be ignored. A factor that is not predicted has
    its weight spread evenly over all axes.

    Returns:
        ``(rank,)`` for Eq. 2, where ``rank`` is the number of axes that lower the loss; ``(n_codes,)`` for Eq. 3
        if there is a residual to spread. They sum to 1.
    """
    monotone = np.minimum.accumulate(losses)
    drops = -np.diff(monotone)
    if drops.sum() <= 0:
        return np.full(n_codes, 1 / n_codes)
    residual = max(0.0, float(monotone[-1]) - floor)
    if weights == "explained" or residual == 0:
        rank = int(np.flatnonzero(drops > 0)[-1]) + 1
        kept: FloatArray = drops[:rank] / drops.sum()
        return kept
    everywhere = np.full(n_codes, residual / n_codes)
    everywhere[: len(drops)] += drops
    spread: FloatArray = everywhere / everywhere.sum()
    return spread


def complete_basis(basis: FloatArray, n_axes: int) -> FloatArray:
    """Return the first ``n_axes`` columns, continued by any orthonormal ones that are missing."""
    if n_axes <= basis.shape[1]:
        return basis[:, :n_axes]
    full = np.linalg.qr(np.hstack([basis, np.eye(len(basis))]))[0]
    return np.hstack([basis, full[:, basis.shape[1] : n_axes]])
