"""Coupling layers, and the networks that parametrise them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.distributions import Transform, constraints
from zuko.transforms import CouplingTransform, DependentTransform, MonotonicAffineTransform, MonotonicRQSTransform
from zuko.utils import unpack


class VectorParts(nn.Module):
    """Positions of the two parts of a vector, computed once: on a GPU, computing them waits for all earlier work.

    Args:
        stays: Which entries stay as they are, a Boolean vector.
    """

    stays: Tensor
    moves: Tensor

    def __init__(self, stays: Tensor) -> None:
        super().__init__()
        for name, mask in (("stays", stays), ("moves", ~stays)):
            self.register_buffer(name, torch.nonzero(mask).squeeze(-1), persistent=False)

    def coupling(self, given: Callable[[Tensor], Transform]) -> Transform:
        """Return the bijection that transforms one part by the parameters that ``given`` computes from the other."""
        return _FoundCoupling(given, self.stays, self.moves)


class _FoundCoupling(CouplingTransform):  # type: ignore[misc]
    def __init__(self, given: Callable[[Tensor], Transform], stays: Tensor, moves: Tensor) -> None:
        Transform.__init__(self)
        self.meta, self.idx_a, self.idx_b = given, stays, moves


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
        self.split = VectorParts(stays)
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
        """Return zeros."""
        return torch.zeros_like(x[..., 0])


def _each(univariate: Callable[..., Transform]) -> Callable[..., Transform]:
    """Let a map of numbers act on every entry of a vector."""

    def bijection(*parameters: Tensor) -> Any:
        return DependentTransform(univariate(*parameters), 1)

    return bijection


Layer = TypeVar("Layer", nn.Linear, nn.Conv2d)
#: Scale of the initial weights of the last layer; small, so that a deep flow starts near the identity.
LAST_LAYER = 0.1


class VectorNetwork(nn.Module):
    """Fully connected layers on a vector, with a context beside it.

    Args:
        n_inputs: Length of the vector.
        n_outputs: Length of what comes out.
        n_context: Length of the context; 0 for none.
        hidden: Widths of the layers between.
    """

    def __init__(self, n_inputs: int, n_outputs: int, n_context: int, hidden: Sequence[int]) -> None:
        super().__init__()
        widths = [n_inputs + n_context, *hidden]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.SiLU()]
        self.layers = nn.Sequential(*layers, shrink(nn.Linear(widths[-1], n_outputs)))

    def forward(self, x: Tensor, context: Tensor | None) -> Tensor:
        """Return the parameters, shape ``(..., n_outputs)``."""
        found: Tensor = self.layers(x if context is None else torch.cat((x, spread(context, x)), dim=-1))
        return found


class ImageNetwork(nn.Module):
    """Three convolutions on an image that comes and goes as a flat vector.

    Args:
        n_inputs: Channels in.
        n_outputs: Channels out.
        side: Height and width.
        n_context: Channels of context: numbers repeated at every pixel or, with ``context_is_image``, images.
        context_is_image: Whether the context has a value for every pixel.
        hidden: Channels between.
    """

    def __init__(
        self, n_inputs: int, n_outputs: int, side: int, n_context: int, hidden: int, *, context_is_image: bool = False
    ) -> None:
        super().__init__()
        self.side, self.n_context, self.context_is_image = side, n_context, context_is_image
        self.layers = nn.Sequential(
            nn.Conv2d(n_inputs + n_context, hidden, 3, padding=1),
            nn.SiLU(),
            nn.Conv2d(hidden, hidden, 3, padding=1),
            nn.SiLU(),
            shrink(nn.Conv2d(hidden, n_outputs, 3, padding=1)),
        )

    def forward(self, x: Tensor, context: Tensor | None) -> Tensor:
        """Return the parameters, shape ``(..., n_outputs * side * side)``."""
        image = x.reshape(-1, x.shape[-1] // self.side**2, self.side, self.side)
        if context is not None:
            image = torch.cat((image, self._as_image(spread(context, x))), dim=1)
        found: Tensor = self.layers(image)
        return found.reshape(*x.shape[:-1], -1)

    def _as_image(self, context: Tensor) -> Tensor:
        side = self.side if self.context_is_image else 1
        image = context.reshape(-1, self.n_context, side, side)
        return image.expand(-1, -1, self.side, self.side)


def spread(context: Tensor, like: Tensor) -> Tensor:
    """Repeat a context for every sample of ``like``."""
    return context.expand(*like.shape[:-1], context.shape[-1])


def shrink(layer: Layer) -> Layer:
    """Scale down the start of a last layer."""
    with torch.no_grad():
        layer.weight.mul_(LAST_LAYER)
        if layer.bias is not None:
            layer.bias.zero_()
    return layer
