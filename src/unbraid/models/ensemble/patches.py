"""Patches of pictures, 4 by 4 and 2 apart, and their transpose."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.compiler import is_compiling
from torch.nn.functional import pad

#: Side of a patch.
KERNEL = 4


def patches(x: Tensor) -> Tensor:
    """Return all patches of 4 by 4, 2 apart with a border of one: ``[.., height / 2, width / 2, 4, 4, channels]``."""
    kind = _Patches if is_compiling() else _PatchesBothWays
    return cast(Tensor, kind.apply(x))  # type: ignore[no-untyped-call]


def lay(cells: Tensor) -> Tensor:
    """Lay patches 2 apart, add where they overlap, and cut a border of one: the transpose of :func:`patches`."""
    kind = _Lay if is_compiling() else _LayBothWays
    return cast(Tensor, kind.apply(cells))  # type: ignore[no-untyped-call]


class _Patches(Function):
    """Patches, with their transpose as derivative; torch's own derivative would add up zeros many times over."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return _gather(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return lay(grads[0])


class _Lay(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(cells: Tensor) -> Tensor:
        return _scatter(cells)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return patches(grads[0])


class _PatchesBothWays(_Patches):
    """Patches with a forward derivative too, which decoder metrics need and the compiler does not support."""

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> Tensor:
        return _gather(tangents[0])


class _LayBothWays(_Lay):
    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> Tensor:
        return _scatter(tangents[0])


def _gather(x: Tensor) -> Tensor:
    windows = pad(x, (0, 0, 1, 1, 1, 1)).unfold(2, KERNEL, 2).unfold(3, KERNEL, 2)
    return windows.movedim(4, -1).contiguous()


def _scatter(cells: Tensor) -> Tensor:
    """Cut every patch into four blocks of 2 by 2; the blocks of each corner make up a picture, and these are added."""
    n_models, n, height, width, _, _, channels = cells.shape
    corners = cells.reshape(n_models, n, height, width, 2, 2, 2, 2, channels)
    whole = torch.zeros((), dtype=cells.dtype, device=cells.device)
    for row in (0, 1):
        for column in (0, 1):
            blocks = corners[:, :, :, :, row, :, column].transpose(3, 4)
            picture = blocks.reshape(n_models, n, 2 * height, 2 * width, channels)
            whole = whole + pad(picture, (0, 0, 2 * column - 1, 1 - 2 * column, 2 * row - 1, 1 - 2 * row))
    return whole
