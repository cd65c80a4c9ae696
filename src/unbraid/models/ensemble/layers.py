"""Layers with a leading axis of models, each one batched matrix product.

Convolutions have steps of 2, and kernels of 4 by 4 as in the published architectures; kernels of odd sides are left to
torch's grouped convolutions. Pictures are stored with channels last, ``[n_models, n, height, width, channels]``, so
that patches are rows of a matrix.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.compiler import is_compiling
from torch.nn.functional import conv2d, conv_transpose2d, relu

from unbraid.models.ensemble import products
from unbraid.models.ensemble.products import KERNEL, lay, patches

#: Side of kernels of the last layers of the published library's encoder; others are those of Table D.1.
NARROW = 2


class Dense(nn.Module):
    """A linear map for each model, from ``[n_models, n, n_in]`` to ``[n_models, n, n_out]``.

    Weights are zero until :func:`~unbraid.models.ensemble.networks.draw_weights` draws them.

    Attributes:
        bound: Weights are drawn evenly from minus this to this (Glorot & Bengio 2010).
        rounded: A copy of the weights in bfloat16 that products are made with, and derivatives are taken by, if an
            optimiser keeps one.
    """

    rounded: Tensor | None = None

    def __init__(self, n_models: int, n_in: int, n_out: int, *, fan: int | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models, n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n_models, 1, n_out))
        self.bound = math.sqrt(6 / (fan or n_in + n_out))

    def forward(self, x: Tensor, *, frozen: bool = False) -> Tensor:
        """Return the images of rows; ``frozen`` keeps gradients from the weights, not from the rows."""
        own = self.weight if self.rounded is None else self.rounded
        weight, bias = (p.detach() if frozen else p for p in (own, self.bias))
        return torch.bmm(x, weight.to(x.dtype)) + bias.to(x.dtype)


class Convolution(Dense):
    """Halves pictures, with a border of one pixel of zeros: ``[.., height, width, n_in]`` to half the sides, ``n_out``.

    The rows of a weight are the rows, columns and channels of a patch, the last running fastest.
    """

    def __init__(self, n_models: int, n_in: int, n_out: int) -> None:
        super().__init__(n_models, KERNEL**2 * n_in, n_out, fan=KERNEL**2 * (n_in + n_out))

    def forward(self, x: Tensor, *, frozen: bool = False) -> Tensor:
        """Return the halved pictures."""
        n_models, n, height, width, _ = x.shape
        rows = patches(x).reshape(n_models, -1, self.weight.shape[1])
        found = super().forward(rows, frozen=frozen)
        return found.reshape(n_models, n, height // 2, width // 2, -1)

    @property
    def channels(self) -> tuple[int, int]:
        """Channels of pictures before and after."""
        return self.weight.shape[1] // KERNEL**2, self.weight.shape[2]


class NarrowConvolution(Dense):
    """Halves pictures with a kernel of 2 by 2 and no border: patches do not overlap; weights as in `Convolution`."""

    def __init__(self, n_models: int, n_in: int, n_out: int) -> None:
        super().__init__(n_models, NARROW**2 * n_in, n_out, fan=NARROW**2 * (n_in + n_out))

    def forward(self, x: Tensor, *, frozen: bool = False) -> Tensor:
        """Return the halved pictures."""
        n_models, n, height, width, n_in = x.shape
        tiles = x.reshape(n_models, n, height // NARROW, NARROW, width // NARROW, NARROW, n_in).transpose(4, 3)
        found = super().forward(tiles.reshape(n_models, -1, self.weight.shape[1]), frozen=frozen)
        return found.reshape(n_models, n, height // NARROW, width // NARROW, -1)


class Upconvolution(nn.Module):
    """Doubles pictures: the transpose of a :class:`Convolution`; patches of 4 by 4 are laid 2 apart and added up.

    Attributes:
        bound: As in :class:`Dense`.
        is_last: Whether its result is that of the network, and not rectified.
    """

    def __init__(self, n_models: int, n_in: int, n_out: int, *, is_last: bool = False) -> None:
        super().__init__()
        self.is_last = is_last
        self.weight = nn.Parameter(torch.zeros(n_models, n_in, KERNEL**2 * n_out))
        self.bias = nn.Parameter(torch.zeros(n_models, 1, 1, 1, n_out))
        self.bound = math.sqrt(6 / (KERNEL**2 * (n_in + n_out)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the doubled pictures."""
        n_models, n, height, width, n_in = x.shape
        found = torch.bmm(x.reshape(n_models, -1, n_in), self.weight.to(x.dtype))
        return lay(found.reshape(n_models, n, height, width, KERNEL, KERNEL, -1)) + self.bias.to(x.dtype)

    @property
    def channels(self) -> tuple[int, int]:
        """Channels of pictures after and before."""
        return self.bias.shape[-1], self.weight.shape[1]

    def last(self, x: Tensor) -> Tensor:
        """Return the doubled pictures of positive parts, as a last layer does."""
        if not runs_by_kernel(self, x):
            return cast(Tensor, self(x))
        return cast(Tensor, products.LastUp.apply(x, self.weight, self.bias, True))  # type: ignore[no-untyped-call]


class OddConvolution(nn.Module):
    """Halves pictures, odd sides rounded up, with a kernel of odd side whose middle lies on every second pixel.

    Attributes:
        bound: As in :class:`Dense`.
    """

    def __init__(self, n_models: int, n_in: int, n_out: int, kernel: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models, n_out, n_in, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(n_models, n_out))
        self.bound = math.sqrt(6 / (kernel**2 * (n_in + n_out)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the halved pictures."""
        n_models, kernel = len(self.weight), self.weight.shape[-1]
        weight, bias = (p.flatten(0, 1).to(x.dtype) for p in (self.weight, self.bias))
        found = conv2d(_side_by_side(x), weight, bias, stride=2, padding=kernel // 2, groups=n_models)
        return _apart(found, n_models)


class OddUpconvolution(nn.Module):
    """Doubles pictures to the given sides: the transpose of an :class:`OddConvolution`.

    Attributes:
        bound: As in :class:`Dense`.
    """

    def __init__(self, n_models: int, n_in: int, n_out: int, kernel: int, sides: tuple[int, int]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models, n_in, n_out, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(n_models, n_out))
        self.bound = math.sqrt(6 / (kernel**2 * (n_in + n_out)))
        self.added = (1 - sides[0] % 2, 1 - sides[1] % 2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the doubled pictures."""
        n_models, kernel = len(self.weight), self.weight.shape[-1]
        weight, bias = (p.flatten(0, 1).to(x.dtype) for p in (self.weight, self.bias))
        found = conv_transpose2d(
            _side_by_side(x),
            weight,
            bias,
            stride=2,
            padding=kernel // 2,
            output_padding=self.added,
            groups=n_models,
        )
        return _apart(found, n_models)


def rectified(layer: nn.Module, x: Tensor, *, of_relu: bool, after: nn.Module | None) -> Tensor:
    """Return the positive part of what a layer makes of pictures.

    Args:
        layer: The layer.
        x: Pictures.
        of_relu: Whether they are positive parts themselves.
        after: The layer that takes the result, told that it is a positive part.
    """
    if runs_by_kernel(layer, x) and isinstance(layer, Convolution):
        flags = of_relu, runs_by_kernel(after, x), x.requires_grad
        return cast(Tensor, products.RectifiedDown.apply(x, layer.weight, layer.bias, *flags))  # type: ignore[no-untyped-call]
    if runs_by_kernel(layer, x) and isinstance(layer, Upconvolution):
        given = layer.weight, layer.bias, of_relu, runs_by_kernel(after, x)
        return cast(Tensor, products.RectifiedUp.apply(x, *given))  # type: ignore[no-untyped-call]
    return relu(layer(x))


def runs_by_kernel(layer: nn.Module | None, x: Tensor) -> bool:
    """Whether a layer of the compiled step has a kernel for pictures: in bfloat16, on a GPU, with channels that fit.

    An upconvolution to few channels has one as a last layer only, one to more channels as any other only.
    """
    there = products.CAN_RUN_KERNELS and is_compiling() and x.is_cuda and x.dtype == torch.bfloat16
    if not there or not isinstance(layer, Convolution | Upconvolution):
        return False
    return has_products(layer)


def has_products(layer: Convolution | Upconvolution) -> bool:
    """Whether the channels of a layer fit the products that it is made of."""
    few = layer.channels[0] < products.FEWEST
    fits = products.fits(*layer.channels)
    return fits and (isinstance(layer, Convolution) or few == layer.is_last)


def _side_by_side(x: Tensor) -> Tensor:
    """Return pictures of all models with the models beside each other as channels, ``[n, n_models * channels, ..]``."""
    return x.permute(1, 0, 4, 2, 3).flatten(1, 2)


def _apart(x: Tensor, n_models: int) -> Tensor:
    n, _, height, width = x.shape
    return x.reshape(n, n_models, -1, height, width).permute(1, 0, 3, 4, 2)
