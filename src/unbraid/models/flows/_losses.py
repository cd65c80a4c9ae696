"""What training makes small: one function for each term, and objectives that add them up.

An objective takes a flow, a batch, its labels and a random generator, and returns one number for each sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.func import jvp, vmap

from unbraid._validation import check_at_least
from unbraid.models.flows._flow import Flow

Objective = Callable[[Flow, Tensor, Tensor | None, torch.Generator], Tensor]


def negative_log_likelihood(
    flow: Flow, x: Tensor, labels: Tensor | None = None, generator: torch.Generator | None = None
) -> Tensor:
    r"""Return :math:`-\log p(x)` in nats: maximum likelihood, Eq. D.1 of Galperin and Köthe (2025)."""
    return -flow.log_prob(x, labels)


def manifold_total_correlation(
    flow: Flow,
    x: Tensor,
    labels: Tensor | None = None,
    *,
    n_columns: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Return the total correlation of the latent manifolds at data, in nats.

    .. math:: \mathcal I(x) = \sum_i \log|J_i(f(x))| - \log|\det J(f(x))|

    Args:
        flow: The flow.
        x: Data, shape ``(n, size)``.
        labels: Their classes, for a flow that sees them.
        n_columns: Columns of the Jacobian to look at, drawn afresh each time; the sum over the others is estimated from
            theirs, without bias. All by default.
        generator: Draws the columns.

    Returns:
        Shape ``(n,)``. With all columns at least 0, and 0 where the columns of the Jacobian are orthogonal.

    References:
        Galperin and Köthe (2025), Eq. D.2; Cunningham et al. (2022), Principal component flows, Eq. 14.
    """
    z, log_determinant = flow.encode_with_log_determinant(x, labels)
    return _log_lengths(flow, z, labels, n_columns, generator) + log_determinant


def core_reconstruction(flow: Flow, x: Tensor, labels: Tensor | None = None, *, core: Sequence[int]) -> Tensor:
    r"""Return half the squared error of data rebuilt from their core latents alone.

    .. math:: \mathcal L_\text{rec}(x) = \tfrac12 |x - g([f_C(x), 0])|^2

    Args:
        flow: The flow.
        x: Data, shape ``(n, size)``.
        labels: Their classes, for a flow that sees them.
        core: Which latents are kept, C; the others are set to 0.

    References:
        Galperin and Köthe (2025), Eqs. D.3 and E.1.
    """
    z = flow.encode(x, labels)
    is_core = torch.zeros(flow.size, device=x.device, dtype=x.dtype)
    is_core[list(core)] = 1
    return 0.5 * (x - flow.decode(z * is_core, labels)).square().sum(dim=-1)


def with_total_correlation(weight: float = 1.0, *, n_columns: int | None = None) -> Objective:
    """Return the objective of maximum likelihood plus ``weight`` times the total correlation of the manifolds.

    Args:
        weight: Of the total correlation, at least 0.
        n_columns: See :func:`manifold_total_correlation`.
    """
    check_at_least("weight", weight, 0)

    def objective(flow: Flow, x: Tensor, labels: Tensor | None, generator: torch.Generator) -> Tensor:
        # Latents and determinant are needed by both terms, so they are computed once.
        z, log_determinant = flow.encode_with_log_determinant(x, labels)
        lengths = _log_lengths(flow, z, labels, n_columns, generator)
        return weight * lengths - flow.prior.log_prob(z, labels) + (weight - 1) * log_determinant

    return objective


def with_reconstruction(core: Sequence[int], weight: float = 1.0) -> Objective:
    """Return the objective of maximum likelihood plus ``weight`` times the reconstruction through the core.

    Args:
        core: Latents that are kept.
        weight: Of the reconstruction, at least 0.
    """
    check_at_least("weight", weight, 0)

    def objective(flow: Flow, x: Tensor, labels: Tensor | None, generator: torch.Generator) -> Tensor:
        return negative_log_likelihood(flow, x, labels) + weight * core_reconstruction(flow, x, labels, core=core)

    return objective


def _log_lengths(
    flow: Flow, z: Tensor, labels: Tensor | None, n_columns: int | None, generator: torch.Generator | None
) -> Tensor:
    """Return the sum over latents of the log-length of their column, or an estimate of it from some columns."""
    directions = torch.eye(flow.size, device=z.device, dtype=z.dtype)
    if n_columns is not None and n_columns < flow.size:
        check_at_least("n_columns", n_columns, 1)
        drawn = torch.randperm(flow.size, generator=generator)[:n_columns]
        directions = directions[drawn.to(z.device)]

    def column(direction: Tensor) -> Tensor:
        found: Tensor = jvp(lambda at: flow.decode(at, labels), (z,), (direction.expand_as(z),))[1]
        return found

    lengths: Tensor = torch.linalg.vector_norm(vmap(column)(directions), dim=-1).log()
    return lengths.mean(dim=0) * flow.size
