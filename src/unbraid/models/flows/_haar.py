"""The Haar transform, and parts of a vector with flows of their own."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Transform, constraints

from unbraid.models.flows._mixing import Chain
from unbraid.models.flows._split import Split


class HaarTransform(Transform):
    r"""Split a flat image into its average at half the size and three images of detail.

    Every square of four pixels becomes :math:`\tfrac12(a+b+c+d)` and the same with signs for what changes across, down
    and along the diagonal: an orthogonal map. Averages of all channels come first, then the three details.

    Args:
        n_channels: Of the image.
        side: Its height and width, even.
    """

    domain = constraints.real_vector
    codomain = constraints.real_vector
    bijective = True

    def __init__(self, n_channels: int, side: int) -> None:
        super().__init__()
        self.shape = (n_channels, side // 2, 2, side // 2, 2)

    def _call(self, x: Tensor) -> Tensor:
        squares = x.reshape(*x.shape[:-1], *self.shape)
        a, b = squares[..., 0, :, 0], squares[..., 0, :, 1]
        c, d = squares[..., 1, :, 0], squares[..., 1, :, 1]
        return _stack(a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d).flatten(-4) / 2

    def _inverse(self, y: Tensor) -> Tensor:
        low, across, down, diagonal = y.reshape(*y.shape[:-1], 4, *self.shape[:2], self.shape[3]).unbind(dim=-4)
        rows = [
            torch.stack((low + across + down + diagonal, low - across + down - diagonal), dim=-1),
            torch.stack((low + across - down - diagonal, low - across - down + diagonal), dim=-1),
        ]
        return torch.stack(rows, dim=-3).flatten(-5) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return zeros: the map is orthogonal."""
        return torch.zeros_like(x[..., 0])


class Haar(nn.Module):
    """The Haar transform as a lazy transform without parameters."""

    def __init__(self, n_channels: int, side: int) -> None:
        super().__init__()
        self.n_channels, self.side = n_channels, side

    def forward(self, context: Tensor | None = None) -> Transform:
        """Return the bijection; the context does not matter."""
        return HaarTransform(self.n_channels, self.side)


class DetailsGivenAverage(nn.Module):
    """Send the details through a flow that sees the average as its context; the average stays.

    Args:
        flow: For the details; its context is the average.
        n_average: Entries of the average, which come first.
        size: Entries in all.
    """

    def __init__(self, flow: Chain, n_average: int, size: int) -> None:
        super().__init__()
        self.flow = flow
        self.split = Split(torch.arange(size) < n_average)

    def forward(self, context: Tensor | None = None) -> Transform:
        """Return the bijection; only the average is context here."""
        return self.split.coupling(self.flow)

    def set_from(self, x: Tensor, context: Tensor | None = None) -> None:
        """Set normalisations from data."""
        self.flow.set_from(x[..., self.split.moves], x[..., self.split.stays])


class AverageAlone(nn.Module):
    """Send the average through a flow of its own; the details stay.

    Args:
        flow: For the average.
        n_average: Entries of the average, which come first.
        size: Entries in all.
    """

    def __init__(self, flow: Chain, n_average: int, size: int) -> None:
        super().__init__()
        self.flow = flow
        self.split = Split(torch.arange(size) >= n_average)

    def forward(self, context: Tensor | None = None) -> Transform:
        """Return the bijection; the context does not matter, nor do the details."""
        return self.split.coupling(lambda details: self.flow())

    def set_from(self, x: Tensor, context: Tensor | None = None) -> None:
        """Set normalisations from data."""
        self.flow.set_from(x[..., self.split.moves])


def _stack(*images: Tensor) -> Tensor:
    return torch.stack(images, dim=-4)
