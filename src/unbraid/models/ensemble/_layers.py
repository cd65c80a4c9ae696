"""Layers with a leading axis of models: what a layer does for one model, for many in one batched matrix product.

Convolutions have kernels of 4 by 4 and steps of 2, as in the published architectures. Pictures are stored with channels
last, ``[n_models, n, height, width, channels]``, so that patches are rows of a matrix.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

KERNEL = 4


class Dense(nn.Module):
    """A linear map for each model, from ``[n_models, n, n_in]`` to ``[n_models, n, n_out]``.

    Weights are zero until :func:`~unbraid.models.ensemble._networks.draw_weights` draws them.

    Attributes:
        bound: Weights are drawn evenly from minus this to this (Glorot & Bengio 2010).
    """

    def __init__(self, n_models: int, n_in: int, n_out: int, *, fan: int | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models, n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n_models, 1, n_out))
        self.bound = math.sqrt(6 / (fan or n_in + n_out))

    def forward(self, x: Tensor, *, frozen: bool = False) -> Tensor:
        """Return the images of rows; ``frozen`` keeps gradients from the weights, not from the rows."""
        weight, bias = (p.detach() if frozen else p for p in (self.weight, self.bias))
        return torch.bmm(x, weight.to(x.dtype)) + bias.to(x.dtype)


class Convolution(Dense):
    """Halves pictures, with a border of one pixel of zeros: ``[.., height, width, n_in]`` to half the sides, ``n_out``.

    The rows of a weight are places in a patch, in the order of :func:`patches`, and inside them channels.
    """

    def __init__(self, n_models: int, n_in: int, n_out: int) -> None:
        super().__init__(n_models, KERNEL**2 * n_in, n_out, fan=KERNEL**2 * (n_in + n_out))

    def forward(self, x: Tensor, *, frozen: bool = False) -> Tensor:
        """Return the halved pictures."""
        n_models, n, height, width, _ = x.shape
        found = super().forward(patches(x), frozen=frozen)
        return found.reshape(n_models, n, height // 2, width // 2, -1)


class Upconvolution(nn.Module):
    """Doubles pictures: the transpose of a :class:`Convolution`; patches of 4 by 4 are laid 2 apart and added up.

    Attributes:
        bound: As in :class:`Dense`.
    """

    def __init__(self, n_models: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models, n_in, KERNEL**2 * n_out))
        self.bias = nn.Parameter(torch.zeros(n_models, 1, 1, 1, n_out))
        self.bound = math.sqrt(6 / (KERNEL**2 * (n_in + n_out)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the doubled pictures."""
        n_models, n, height, width, n_in = x.shape
        found = torch.bmm(x.reshape(n_models, -1, n_in), self.weight.to(x.dtype))
        return lay(found.reshape(n_models, n, height, width, KERNEL, KERNEL, -1)) + self.bias.to(x.dtype)


def patches(x: Tensor) -> Tensor:
    """Return all patches of 4 by 4, 2 apart, as rows of a matrix for each model.

    A patch is four neighbouring blocks of 2 by 2. So rows hold, from the outermost, the row and column of the block
    in the patch, the row and column in the block, and the channel.
    """
    n_models, n, height, width, channels = x.shape
    h, w = height // 2, width // 2
    blocks = pad(x, (0, 0, 1, 1, 1, 1)).reshape(n_models, n, h + 1, 2, w + 1, 2, channels)
    blocks = blocks.transpose(3, 4).reshape(n_models, n, h + 1, w + 1, 4 * channels)
    corners = [blocks[:, :, row : row + h, column : column + w] for row in (0, 1) for column in (0, 1)]
    return torch.cat(corners, dim=-1).reshape(n_models, n * h * w, KERNEL**2 * channels)


def lay(cells: Tensor) -> Tensor:
    """Lay patches ``[.., height, width, 4, 4, channels]`` 2 apart, add where they overlap, and cut a border of one.

    Each pixel gets four cells. Even rows take the second row of their own patch and the last of the patch above; odd
    rows take the third of their own and the first of the patch below. Columns likewise.
    """
    n_models, n, height, width, _, _, channels = cells.shape
    row_parts, column_parts = (((1, 0), (3, -1)), ((2, 0), (0, 1))), (((1, 0), (3, -1)), ((2, 0), (0, 1)))
    quarters = [
        sum(_moved(cells[:, :, :, :, ky, kx], dy, dx) for ky, dy in rows for kx, dx in columns)
        for rows in row_parts
        for columns in column_parts
    ]
    stacked = torch.stack(quarters, dim=4)  # type: ignore[arg-type]
    stacked = stacked.reshape(n_models, n, height, width, 2, 2, channels).transpose(3, 4)
    return stacked.reshape(n_models, n, 2 * height, 2 * width, channels)


def _moved(x: Tensor, dy: int, dx: int) -> Tensor:
    """Return what stands ``dy`` rows below and ``dx`` columns to the right, with zeros from outside."""
    height, width = x.shape[2:4]
    x = x[:, :, max(dy, 0) : height + min(dy, 0), max(dx, 0) : width + min(dx, 0)]
    return pad(x, (0, 0, max(-dx, 0), max(dx, 0), max(-dy, 0), max(dy, 0)))
