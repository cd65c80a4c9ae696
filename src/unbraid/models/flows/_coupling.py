"""Couplings: one part of a vector stays, and says how the other part is moved."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Transform, constraints
from zuko.transforms import DependentTransform, MonotonicAffineTransform, MonotonicRQSTransform
from zuko.utils import unpack

from unbraid.models.flows._split import Split

#: A coupling multiplies by no more than this, and by no less than one over it.
MOST_SCALE = 10.0
#: Splines bend between minus and plus this; beyond they are the identity.
SPLINE_BOUND = 5.0
#: Makes a network, called with the part that stays and a context, from its numbers of inputs and outputs.
MakeNetwork = Callable[[int, int], nn.Module]


class Coupling(nn.Module):
    """A lazy transform, as zuko has them: given a context, a bijection of vectors.

    Args:
        stays: Which entries stay as they are, a Boolean vector.
        make_network: Makes the network from the entries that stay to the parameters of the map of the others.
        bijection: Makes that map from its parameters.
        shapes: Shapes of the parameters of one entry.
    """

    def __init__(
        self,
        stays: Tensor,
        make_network: MakeNetwork,
        bijection: Callable[..., Transform],
        shapes: tuple[tuple[int, ...], ...],
    ) -> None:
        super().__init__()
        self.split = Split(stays)
        self.bijection, self.shapes = bijection, shapes
        self.n_each = sum(math.prod(shape) for shape in shapes)
        n_stay = int(stays.sum())
        self.network = make_network(n_stay, self.n_each * (len(stays) - n_stay))

    def forward(self, context: Tensor | None = None) -> Transform:
        """Return the bijection under a context."""
        return self.split.coupling(partial(self._given, context))

    def _given(self, context: Tensor | None, x: Tensor) -> Transform:
        # Entries come last, so that the channels of an image stay channels.
        parameters = self.network(x, context).unflatten(-1, (self.n_each, -1)).transpose(-1, -2)
        return self.bijection(*unpack(parameters, self.shapes))


def affine_coupling(stays: Tensor, make_network: MakeNetwork) -> Coupling:
    """Scale and shift."""
    return Coupling(stays, make_network, _each(partial(MonotonicAffineTransform, slope=1 / MOST_SCALE)), ((), ()))


def spline_coupling(stays: Tensor, make_network: MakeNetwork, *, n_bins: int) -> Coupling:
    """Bend by a monotonic rational-quadratic spline of ``n_bins`` pieces."""
    shapes = ((n_bins,), (n_bins,), (n_bins - 1,))
    return Coupling(stays, make_network, _each(partial(MonotonicRQSTransform, bound=SPLINE_BOUND)), shapes)


def gin_coupling(stays: Tensor, make_network: MakeNetwork) -> Coupling:
    """Scale and shift so that the scales multiply to one."""
    return Coupling(stays, make_network, VolumePreservingTransform, ((), ()))


class VolumePreservingTransform(Transform):
    r"""Scale and shift a vector by scales whose product is one: :math:`y = x\,e^{s - \bar s} + t`.

    Args:
        shift: :math:`t`.
        scale: :math:`s` before it is bounded softly by the logarithm of :data:`MOST_SCALE`.

    References:
        Sorrenson et al. (2020), Disentanglement by nonlinear ICA with general incompressible-flow networks (GIN),
        sec. 3.2; the mean is taken off every scale rather than the sum put on the last.
    """

    domain = constraints.real_vector
    codomain = constraints.real_vector
    bijective = True

    def __init__(self, shift: Tensor, scale: Tensor) -> None:
        super().__init__()
        bounded = scale / (1 + scale.abs() / math.log(MOST_SCALE))
        self.shift = shift
        self.scale = (bounded - bounded.mean(dim=-1, keepdim=True)).exp()

    def _call(self, x: Tensor) -> Tensor:
        return x * self.scale + self.shift

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.shift) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return nothing but zeros."""
        return torch.zeros_like(x[..., 0])


def _each(univariate: Callable[..., Transform]) -> Callable[..., Transform]:
    """Let a map of numbers act on every entry of a vector."""

    def bijection(*parameters: Tensor) -> Any:
        return DependentTransform(univariate(*parameters), 1)

    return bijection
