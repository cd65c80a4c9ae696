"""Convolutions of many models as three products of big pictures, small pictures and weights.

A convolution with a kernel of 4 by 4 and steps of 2 takes a big picture to a small one, and its transpose takes a small
one to a big one. Three products make up both, and all their derivatives:

* :func:`down`, big to small: a convolution, and the derivative of an upconvolution by its input;
* :func:`up`, small to big: an upconvolution, and the derivative of a convolution by its input;
* :func:`weight_gradient`, big and small to weights: the derivative of either by its weights.

Big pictures are ``[n_models, n, 2 h, 2 w, channels]``, small ones ``[n_models, n, h, w, channels]``. Weights are
``[n_models, 16 * big, small]`` or, ``turned``, ``[n_models, small, 16 * big]``; the 16 are the rows and columns of the
kernel, and channels run fastest. On a GPU with Triton the products are those of
:mod:`~unbraid.models.ensemble.kernels`, which never write out patches; elsewhere they are made from patches.
"""

from __future__ import annotations

from importlib.util import find_spec
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


#: Whether this machine can run kernels: a GPU, and Triton to compile for it.
CAN_RUN_KERNELS = torch.cuda.is_available() and find_spec("triton") is not None
#: Fewest and most channels that a tile of a kernel can have.
FEWEST, MOST = 16, 128


@torch.library.custom_op("unbraid::down", mutates_args=())
def down(
    big: Tensor, weight: Tensor, bias: Tensor | None, mask: Tensor | None, n_small: int, turned: bool, relu: bool
) -> Tensor:
    """Return the small pictures of big ones.

    Args:
        big: Pictures.
        weight: Of all models.
        bias: Added to each channel.
        mask: Small pictures; the result is 0 where these are not above 0.
        n_small: Channels of small pictures.
        turned: Whether weights are.
        relu: Replace negative numbers by 0.
    """
    n_models, n, height, width, n_big = big.shape
    rows = patches(big).reshape(n_models, -1, KERNEL**2 * n_big)
    found = torch.bmm(rows, weight.mT if turned else weight).reshape(n_models, n, height // 2, width // 2, n_small)
    return _finished(found, bias, mask, relu)


@down.register_fake
def _(
    big: Tensor, weight: Tensor, bias: Tensor | None, mask: Tensor | None, n_small: int, turned: bool, relu: bool
) -> Tensor:
    n_models, n, height, width, _ = big.shape
    return big.new_empty(n_models, n, height // 2, width // 2, n_small)


@torch.library.custom_op("unbraid::up", mutates_args=())
def up(
    small: Tensor, weight: Tensor, bias: Tensor | None, mask: Tensor | None, n_big: int, turned: bool, relu: bool
) -> Tensor:
    """Return the big pictures of small ones; arguments as those of :func:`down`."""
    n_models, n, height, width, n_small = small.shape
    cells = torch.bmm(small.reshape(n_models, -1, n_small), weight if turned else weight.mT)
    return _finished(lay(cells.reshape(n_models, n, height, width, KERNEL, KERNEL, n_big)), bias, mask, relu)


@up.register_fake
def _(
    small: Tensor, weight: Tensor, bias: Tensor | None, mask: Tensor | None, n_big: int, turned: bool, relu: bool
) -> Tensor:
    n_models, n, height, width, _ = small.shape
    return small.new_empty(n_models, n, 2 * height, 2 * width, n_big)


@torch.library.custom_op("unbraid::weight_gradient", mutates_args=())
def weight_gradient(big: Tensor, small: Tensor, turned: bool, n_parts: int) -> Tensor:
    """Return the derivative by weights in ``n_parts`` that add up to it, ``[n_parts, *weights]``, in float32."""
    n_models = len(big)
    rows = patches(big).reshape(n_models, -1, KERNEL**2 * big.shape[-1]).to(_sums(big))
    found = torch.bmm(rows.mT, small.reshape(n_models, -1, small.shape[-1]).to(rows.dtype))
    parts = found.new_zeros(n_parts, *(found.mT if turned else found).shape)
    parts[0] = found.mT if turned else found
    return parts


@weight_gradient.register_fake
def _(big: Tensor, small: Tensor, turned: bool, n_parts: int) -> Tensor:
    sides = KERNEL**2 * big.shape[-1], small.shape[-1]
    return big.new_empty(n_parts, len(big), *(sides[::-1] if turned else sides), dtype=_sums(big))


if CAN_RUN_KERNELS:
    from unbraid.models.ensemble import kernels

    down.register_kernel("cuda", kernels.down)
    up.register_kernel("cuda", kernels.up)
    weight_gradient.register_kernel("cuda", kernels.weight_gradient)


def _finished(found: Tensor, bias: Tensor | None, mask: Tensor | None, relu: bool) -> Tensor:
    if bias is not None:
        found = found + bias.reshape(len(found), 1, 1, 1, -1)
    found = found.relu() if relu else found
    return found if mask is None else torch.where(mask > 0, found, 0.0)


def by_weights(big: Tensor, small: Tensor, *, turned: bool) -> Tensor:
    """Return the derivative by weights."""
    n_parts = kernels.n_parts(big.shape, small.shape) if CAN_RUN_KERNELS else 1
    parts: Tensor = weight_gradient(big, small, turned, n_parts)
    return parts.sum(dim=0)


def fits(n_big: int, n_small: int) -> bool:
    """Whether pictures of so many channels can be multiplied here: powers of 2, or few of them in big pictures."""
    return _is_tile(n_small) and (n_big < FEWEST or _is_tile(n_big))


def _is_tile(n_channels: int) -> bool:
    return FEWEST <= n_channels <= MOST and n_channels & (n_channels - 1) == 0


class RectifiedDown(Function):
    """The positive part of a convolution.

    Inputs: big pictures, weights and biases in float32, and whether the pictures are themselves positive parts, whether
    the next layer leaves out derivatives where its input is 0, and whether the derivative by the pictures is wanted.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, of_relu: bool, left_out: bool, by_input: bool
    ) -> Tensor:
        """Return the pictures, and keep what derivatives need."""
        x, cast = x.contiguous(), weight.to(x.dtype)
        found: Tensor = down(x, cast, bias.to(x.dtype).contiguous(), None, bias.shape[-1], False, True)
        ctx.save_for_backward(x, cast, found)
        ctx.of_relu, ctx.left_out, ctx.by_input, ctx.shape = of_relu, left_out, by_input, bias.shape
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        """Return the derivatives by pictures, weights and biases."""
        x, weight, found = ctx.saved_tensors
        g = (grads[0] if ctx.left_out else torch.where(found > 0, grads[0], 0.0)).contiguous()
        back = up(g, weight, None, x if ctx.of_relu else None, x.shape[-1], False, False) if ctx.by_input else None
        by_weight = by_weights(x, g, turned=False)
        return back, by_weight, _over_pixels(g, ctx.shape), None, None, None


class RectifiedUp(Function):
    """The positive part of an upconvolution; inputs as those of :class:`RectifiedDown`, weights turned."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, of_relu: bool, left_out: bool) -> Tensor:
        """Return the pictures, and keep what derivatives need."""
        x, cast = x.contiguous(), weight.to(x.dtype)
        found: Tensor = up(x, cast, bias.to(x.dtype).contiguous(), None, bias.shape[-1], True, True)
        ctx.save_for_backward(x, cast, found)
        ctx.of_relu, ctx.left_out, ctx.shape = of_relu, left_out, bias.shape
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        """Return the derivatives by pictures, weights and biases."""
        x, weight, found = ctx.saved_tensors
        g = (grads[0] if ctx.left_out else torch.where(found > 0, grads[0], 0.0)).contiguous()
        back = down(g, weight, None, x if ctx.of_relu else None, x.shape[-1], True, False)
        by_weight = by_weights(g, x, turned=True)
        return back, by_weight, _over_pixels(g, ctx.shape), None, None


class LastUp(Function):
    """An upconvolution to few channels, too few for a tile, so that its patches are written; inputs as above."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, of_relu: bool) -> Tensor:
        """Return the pictures, and keep what derivatives need."""
        x, cast = x.contiguous(), weight.to(x.dtype)
        n_models, n, h, w, n_small = x.shape
        cells = torch.bmm(x.reshape(n_models, -1, n_small), cast)
        ctx.save_for_backward(x, cast)
        ctx.of_relu, ctx.shape = of_relu, bias.shape
        found: Tensor = lay(cells.reshape(n_models, n, h, w, 4, 4, -1)) + bias.to(x.dtype)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        """Return the derivatives by pictures, weights and biases."""
        x, weight = ctx.saved_tensors
        g = grads[0].contiguous()
        back = down(g, weight, None, x if ctx.of_relu else None, x.shape[-1], True, False)
        by_weight = by_weights(g, x, turned=True)
        return back, by_weight, _over_pixels(g, ctx.shape), None


def _over_pixels(g: Tensor, shape: torch.Size) -> Tensor:
    """Return the sums over rows and pixels, in the shape of biases."""
    return g.to(_sums(g)).sum(dim=(1, 2, 3)).reshape(shape)


def _sums(x: Tensor) -> torch.dtype:
    """Return the type that products are added up in: float32, or float64 for numbers in float64."""
    return torch.promote_types(x.dtype, torch.float32)
