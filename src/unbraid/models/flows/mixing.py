"""Transforms that mix entries: normalisation, permutations, rotations, Haar wavelets."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.distributions import Transform, constraints
from zuko.transforms import (
    ComposedTransform,
    DependentTransform,
    MonotonicAffineTransform,
    PermutationTransform,
    RotationTransform,
)

from unbraid.models.flows.coupling import VectorParts

#: Deviations below this are not divided by when a normalisation is set from data.
LEAST_DEVIATION = 1e-6
#: The scales of a normalisation lie between this and one over it.
LEAST_SCALE = 1e-9
#: Terms of the series of a matrix exponential, and how often it is squared.
N_TERMS, N_SQUARINGS = 18, 4


class Normalise(nn.Module):
    """Scale and shift each entry, or each channel, by learned numbers that start from data (actnorm).

    Args:
        size: Entries.
        n_each: Entries that share their numbers, such as the pixels of a channel.
        keeps_volume: Shift only.
    """

    def __init__(self, size: int, *, n_each: int = 1, keeps_volume: bool = False) -> None:
        super().__init__()
        self.n_each = n_each
        self.shift = nn.Parameter(torch.zeros(size // n_each))
        self.scale = None if keeps_volume else nn.Parameter(torch.zeros(size // n_each))

    def forward(self, context: Tensor | None = None) -> Transform:
        """Return the bijection; the context does not matter."""
        shift = self.shift.repeat_interleave(self.n_each)
        scale = torch.zeros_like(shift) if self.scale is None else self.scale.repeat_interleave(self.n_each)
        transform: Transform = DependentTransform(MonotonicAffineTransform(shift, scale, slope=LEAST_SCALE), 1)
        return transform

    @torch.no_grad()
    def set_from(self, x: Tensor) -> None:
        """Choose the numbers so that ``x`` comes out with mean 0 and deviation 1."""
        groups = x.reshape(len(x), -1, self.n_each).transpose(-1, -2).flatten(0, -2)
        mean, deviation = groups.mean(dim=0), groups.std(dim=0).clamp(min=LEAST_DEVIATION)
        if self.scale is None:
            self.shift.copy_(-mean)
            return
        log_scale = -deviation.log()
        self.scale.copy_(log_scale / (1 + log_scale.abs() / math.log(LEAST_SCALE)))
        self.shift.copy_(-mean / deviation)


class Permute(nn.Module):
    """Put the entries in another, fixed order."""

    order: Tensor

    def __init__(self, order: Tensor) -> None:
        super().__init__()
        self.register_buffer("order", order)

    def forward(self, context: Tensor | None = None) -> Transform:
        """Return the bijection; the context does not matter."""
        transform: Transform = PermutationTransform(self.order)
        return transform


class Rotate(nn.Module):
    """Rotate by a learned rotation that starts at random.

    Args:
        size: Entries, or channels where each has ``n_each`` pixels, all rotated alike.
        n_each: Pixels of a channel.
    """

    def __init__(self, size: int, *, n_each: int = 1) -> None:
        super().__init__()
        # At this scale the angles of the rotation, which follow a half circle, spread from minus pi to pi.
        self.generator = nn.Parameter(torch.randn(size, size) * math.pi / math.sqrt(8 * size))
        self.size, self.n_each = size, n_each

    def forward(self, context: Tensor | None = None) -> Transform:
        """Return the bijection; the context does not matter."""
        transform: Transform = _Rotation(self.generator)
        return transform if self.n_each == 1 else ChannelTransform(transform, self.size)


class _Rotation(RotationTransform):  # type: ignore[misc]
    """The rotation of a generator, found without waiting for a GPU."""

    def __init__(self, generator: Tensor) -> None:
        Transform.__init__(self)
        skew = generator - generator.mT
        self.R = series_exponential(skew) if skew.is_cuda else torch.linalg.matrix_exp(skew)


def series_exponential(matrix: Tensor) -> Tensor:
    """Return the matrix exponential by a series of fixed length, squared a fixed number of times.

    ``torch.linalg.matrix_exp`` chooses both by the norm, for which it waits for the GPU, and cannot be part of a CUDA
    graph. The error is below rounding for norms up to about 20, well above those of rotations by at most half a turn.
    """
    small = matrix / 2**N_SQUARINGS
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    found: Tensor = identity + small / N_TERMS
    for k in range(N_TERMS - 1, 0, -1):
        found = identity + small @ found / k
    for _ in range(N_SQUARINGS):
        found = found @ found
    return found


class ChannelTransform(Transform):
    """Let a volume-preserving map of channels act at every pixel of a flat image."""

    domain = RotationTransform.domain
    codomain = RotationTransform.codomain
    bijective = True

    def __init__(self, transform: Transform, n_channels: int) -> None:
        super().__init__()
        self.transform, self.n_channels = transform, n_channels

    def _call(self, x: Tensor) -> Tensor:
        return self._pixels(self.transform, x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._pixels(self.transform.inv, y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return zeros: rotations keep volumes."""
        return torch.zeros_like(x[..., 0])

    def _pixels(self, transform: Transform, x: Tensor) -> Tensor:
        pixels = x.reshape(*x.shape[:-1], self.n_channels, -1).transpose(-1, -2)
        moved: Tensor = transform(pixels)
        return moved.transpose(-1, -2).flatten(-2)


class Chain(nn.Module):
    """Lazy transforms one after the other."""

    def __init__(self, *parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, context: Tensor | None = None) -> Transform:
        """Return the composed bijection under a context."""
        transform: Transform = ComposedTransform(*(part(context) for part in self.parts))
        return transform

    @torch.no_grad()
    def set_from(self, x: Tensor, context: Tensor | None = None) -> None:
        """Set every normalisation from data, each from the output of the transforms before it."""
        for part in self.parts:
            if isinstance(part, Normalise):
                part.set_from(x)
            elif (set_from := getattr(part, "set_from", None)) is not None:
                set_from(x, context)
            x = part(context)(x)


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
        self.split = VectorParts(torch.arange(size) < n_average)

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
        self.split = VectorParts(torch.arange(size) >= n_average)

    def forward(self, context: Tensor | None = None) -> Transform:
        """Return the bijection; the context does not matter, nor do the details."""
        return self.split.coupling(lambda details: self.flow())

    def set_from(self, x: Tensor, context: Tensor | None = None) -> None:
        """Set normalisations from data."""
        self.flow.set_from(x[..., self.split.moves])


def _stack(*images: Tensor) -> Tensor:
    return torch.stack(images, dim=-4)
