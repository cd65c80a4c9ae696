"""Options and results of factor subspaces: bases ordered by importance, and their weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least, check_choice

Solver = Literal["fast", "nested"]
Weights = Literal["explained", "spread"]
Loss = Literal["likelihood", "zero_one"]
Start = Literal["random", "slices"]
#: Largest rank looked for at first, where no largest rank is given.
USUAL_RANK = 10
#: Codes up to which bases have all axes that have weight, also where the weight is spread evenly over many.
MOST_WRITTEN = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedTraining:
    """Networks of the nested solver and their training; one step uses one batch of rows for every factor.

    Attributes:
        hidden: Units in each hidden layer of a head, one number for each layer.
        batch_norm: Whether hidden layers are normalised over the batch, before their ReLU.
        n_steps: Steps at most.
        batch_size: Rows of a step.
        learning_rate: Of Adam, at its highest.
        decay: Whether the learning rate falls to nothing along half a cosine.
        check_every: Steps between looks at the validation loss.
        patience: Looks without improvement of any factor after which training stops.
        start: ``"slices"`` starts each spine from directional regression, without which large code spaces need many
            more rows; ``"random"`` as published.
    """

    hidden: tuple[int, ...] = (64, 64)
    batch_norm: bool = False
    n_steps: int = 1000
    batch_size: int = 256
    learning_rate: float = 1e-2
    decay: bool = True
    check_every: int = 50
    patience: int = 10
    start: Start = "slices"


#: App. F.5.1 of the paper; the number of steps is that of 72 passes through 7000 rows, as in its Fig. 7.
PUBLISHED_TRAINING = NestedTraining(
    hidden=(256, 256), n_steps=4000, batch_size=128, learning_rate=5e-4, decay=False, start="random"
)
#: Suffix of heads with batch normalisation.
NORM = "+norm"
#: Most hidden layers and units of a head.
MOST_LAYERS, MOST_UNITS = 8, 8192


def read_heads(heads: str) -> tuple[tuple[int, ...], bool]:
    """Read layer dimensions such as ``256x256`` or ``256x256+norm``: units of each hidden layer, and batch norm.

    Raises:
        ValueError: Anything else.

    Example:
        >>> read_heads("512x512x512"), read_heads("256x256+norm")
        (((512, 512, 512), False), ((256, 256), True))
    """
    sizes = heads.removesuffix(NORM).split("x")
    if not all(part.isdecimal() and 1 <= int(part) <= MOST_UNITS for part in sizes) or len(sizes) > MOST_LAYERS:
        raise ValueError(
            f"heads must be the units of each hidden layer, such as 256x256, with {NORM} for batch norm, got {heads!r}."
        )
    return tuple(int(part) for part in sizes), heads.endswith(NORM)


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
        heads: Hidden layers of the nested solver's networks, such as ``"256x256"``, or ``"256x256+norm"`` for batch
            norm, trained as published (Table 6, app. F.5.1); by default two layers of 64 units, trained faster.
        learning_rate: Of the nested solver, in place of its own.
        n_steps: Training steps of the nested solver, in place of its own.
    """

    solver: Solver = "fast"
    weights: Weights = "explained"
    loss: Loss = "likelihood"
    max_rank: int | None = None
    device: str = "cpu"
    heads: str | None = None
    learning_rate: float | None = None
    n_steps: int | None = None

    def __post_init__(self) -> None:
        check_choice("solver", self.solver, get_args(Solver))
        check_choice("weights", self.weights, get_args(Weights))
        check_choice("loss", self.loss, get_args(Loss))
        if self.max_rank is not None:
            check_at_least("max_rank", self.max_rank, 1)
        check_choice("device", self.device, ("cpu", "cuda"))
        if self.n_steps is not None:
            check_at_least("n_steps", self.n_steps, 1)
        if self.learning_rate is not None and not 0 < self.learning_rate < 1:
            raise ValueError(f"learning_rate must be in (0, 1), got {self.learning_rate}.")
        given = {"heads": self.heads, "learning_rate": self.learning_rate, "n_steps": self.n_steps}
        trained = [name for name, value in given.items() if value is not None]
        if trained and self.solver != "nested":
            raise ValueError(f"{trained[0]} is an option of solver='nested', got solver={self.solver!r}.")
        if self.heads is not None:
            read_heads(self.heads)

    @property
    def training(self) -> NestedTraining:
        """Training of the nested solver."""
        found = NestedTraining()
        if self.heads is not None:
            hidden, batch_norm = read_heads(self.heads)
            found = replace(PUBLISHED_TRAINING, hidden=hidden, batch_norm=batch_norm)
        if self.learning_rate is not None:
            found = replace(found, learning_rate=self.learning_rate)
        return found if self.n_steps is None else replace(found, n_steps=self.n_steps)


def _no_history() -> FloatArray:
    return np.zeros((0, 0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subspace:
    """The subspace of one factor.

    Attributes:
        basis: Orthonormal columns, most important first, ``(n_codes, n_axes)``; it may span less than code space.
        losses: Held-out loss with no axis, the first, the first two, ..., never increasing, ``(n_axes + 1,)``.
        floor: Loss that no representation could remove: rounding of the factor, say.
        is_line: Whether the one axis is that of a linear regression, which shows a weak effect that curves do not.
        stopped: Whether the loss still fell with the last axis that was allowed, and more axes were not tried.
        tilt: Squared sine of the angle by which chance turns the axes out of their subspace, in expectation; 0 for the
            nested solver, which does not estimate it.
        standardised_tilt: The same in the space of standardised codes.
        history: Validation loss of the network of each number of axes during training, as a share of the loss with no
            axis, ``(n_looks, 1 + n_axes)`` with the step in the first column; empty for the fast solver.
    """

    basis: FloatArray
    losses: FloatArray
    floor: float = 0.0
    is_line: bool = False
    stopped: bool = False
    tilt: float = 0.0
    standardised_tilt: float = 0.0
    history: FloatArray = field(default_factory=_no_history)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subspaces:
    """The subspaces of all factors, and their weights.

    Attributes:
        subspaces: One for each factor.
        bases: For each factor, a basis of as many axes as have weight, ``(n_codes, rank)``; of wide codes, whose
            axes are too many to write out, of those axes alone whose directions matter.
        weights: For each factor, the weights of all axes, summing to 1, ``(rank,)``; equal beyond those of the basis.
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
        n_written = len(alpha) if n_codes <= MOST_WRITTEN else min(len(alpha), max(1, subspace.basis.shape[1]))
        bases.append(complete_basis(subspace.basis, n_written))
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
    if not basis.shape[1]:
        return np.eye(len(basis), n_axes)
    full = np.linalg.qr(np.hstack([basis, np.eye(len(basis))]))[0]
    return np.hstack([basis, full[:, basis.shape[1] : n_axes]])
