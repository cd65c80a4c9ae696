"""Clamped codes of the deep convolutional inverse graphics network (DC-IGN)."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function


def clamp_codes(codes: Tensor, active: Tensor, invariance: Tensor) -> Tensor:
    r"""Replace the codes that are not active by their mean over the batch, and teach them to stay there.

    Forwards, column :math:`j` of row :math:`i` is :math:`z_{ij}` where it is active and :math:`\bar z_j` where not.
    Backwards, the gradient of an active column is left as it is, and that of any other column is *replaced* by
    :math:`\lambda (z_{ij} - \bar z_j) / n`: the paper's distance from the mean, divided by the rows of the batch
    because our losses are means over them.

    Args:
        codes: ``(..., n, n_codes)``.
        active: Which columns vary in this batch, ``(..., n_codes)``.
        invariance: :math:`\lambda`, one number for each model, ``(...)``.

    References:
        Kulkarni et al. (2015), Deep Convolutional Inverse Graphics Network, sec. 3.2.
        https://arxiv.org/abs/1503.03167
    """
    return cast(Tensor, _Clamp.apply(codes, active, invariance))  # type: ignore[no-untyped-call]


class _Clamp(Function):
    @staticmethod
    def forward(codes: Tensor, active: Tensor, invariance: Tensor) -> Tensor:
        return torch.where(active.unsqueeze(-2), codes, codes.mean(dim=-2, keepdim=True))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        codes, active, invariance = ctx.saved_tensors
        distance = (codes - codes.mean(dim=-2, keepdim=True)) / codes.shape[-2]
        return torch.where(active.unsqueeze(-2), grads[0], invariance[..., None, None] * distance), None, None
