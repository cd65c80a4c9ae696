r"""IWO and IWR as torch functions of bases and weights, for use as losses.

The formulas are those of :mod:`unbraid.metrics.geometry.orthogonality`, without training: gradients flow to the bases
and the weights, and from there to whatever they are computed from. See Geyer et al. (2024), app. C,
https://arxiv.org/abs/2407.03728.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor


def iwo_of_bases(bases: Sequence[Tensor], weights: Sequence[Tensor]) -> Tensor:
    r"""Importance-weighted orthogonality of subspaces, the mean over pairs.

    .. math:: 1 - \sum_{l, m} \sqrt{\alpha_l \beta_m} \, (a_l \cdot b_m)^2

    Args:
        bases: For each subspace its orthonormal columns, ``(n_codes, n_axes)``; at least two subspaces. Columns that
            are trained can be made orthonormal by ``torch.linalg.qr(matrix).Q``, through which gradients flow.
        weights: For each subspace the weights of its axes, ``(n_axes,)``, not negative, summing to 1. The gradient of
            a weight of exactly 0, where the square root has none, is 0.

    Returns:
        A scalar: 1 for orthogonal subspaces, 0 for the same axes with the same weights.

    Raises:
        ValueError: Fewer than two subspaces, or shapes that do not fit.

    Example:
        >>> axes = torch.eye(3)
        >>> iwo_of_bases([axes[:, :1], axes[:, 1:]], [torch.ones(1), torch.full((2,), 0.5)]).item()
        1.0
    """
    if len(bases) < 2:
        raise ValueError(f"bases must have at least two subspaces, got {len(bases)}.")
    _check_shapes(bases, weights)
    roots = [_root(one) for one in weights]
    pairs = [1 - roots[j] @ (bases[j].mT @ bases[k]).square() @ roots[k] for j, k in combinations(range(len(bases)), 2)]
    return torch.stack(pairs).mean()


def iwr_of_weights(weights: Sequence[Tensor], n_codes: int) -> Tensor:
    r"""Importance-weighted rank, the mean over subspaces: :math:`1 + \sum_l \alpha_l \log_L \alpha_l`.

    Args:
        weights: As for :func:`iwo_of_bases`; one subspace is enough. A weight of exactly 0 adds nothing, and its
            gradient is 0.
        n_codes: Dimensions of code space, :math:`L`, at least two.

    Returns:
        A scalar: 1 for a single axis, 0 for equal weights on all of code space.

    Raises:
        ValueError: No subspace, or fewer than two dimensions.

    Example:
        >>> round(iwr_of_weights([torch.full((2,), 0.5)], n_codes=4).item(), 6)
        0.5
    """
    if not weights:
        raise ValueError("weights must have at least one subspace, got none.")
    if n_codes < 2:
        raise ValueError(f"n_codes must be at least 2, got {n_codes}.")
    return torch.stack([1 + _entropy_terms(one).sum() / math.log(n_codes) for one in weights]).mean()


def explained_weights(losses: Tensor) -> Tensor:
    r"""Weights of axes from losses (Eq. 2): the share of the loss that each axis removes.

    Args:
        losses: With no axis, the first, the first two, ..., falling, ``(n_axes + 1,)``. Rises count as no fall.

    Returns:
        ``(n_axes,)``, summing to 1.

    Example:
        >>> explained_weights(torch.tensor([1.0, 0.5, 0.25, 0.0])).tolist()
        [0.5, 0.25, 0.25]
    """
    lowest = torch.cummin(losses, dim=0).values
    falls = lowest[:-1] - lowest[1:]
    return falls / falls.sum()


def _root(weights: Tensor) -> Tensor:
    # The inner replacement keeps the infinite slope at 0 out of the backward pass.
    positive = weights > 0
    return torch.where(positive, torch.where(positive, weights, 1.0).sqrt(), 0.0)


def _entropy_terms(weights: Tensor) -> Tensor:
    positive = weights > 0
    safe = torch.where(positive, weights, 1.0)
    return torch.where(positive, safe * safe.log(), 0.0)


def _check_shapes(bases: Sequence[Tensor], weights: Sequence[Tensor]) -> None:
    if len(bases) != len(weights):
        raise ValueError(f"bases and weights must have as many subspaces, got {len(bases)} and {len(weights)}.")
    for number, (basis, one) in enumerate(zip(bases, weights, strict=True)):
        if basis.ndim != 2 or one.shape != basis.shape[1:] or basis.shape[0] != bases[0].shape[0]:
            raise ValueError(
                f"bases must have shape (n_codes, n_axes) and weights (n_axes,), got {tuple(basis.shape)} and "
                f"{tuple(one.shape)} for subspace {number}."
            )
