"""The small networks inside couplings: from the part that stays to the parameters of what is done to the rest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import torch
from torch import Tensor, nn

Layer = TypeVar("Layer", nn.Linear, nn.Conv2d)
#: How much of its random start the last layer keeps, so that a deep flow begins near the identity.
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
