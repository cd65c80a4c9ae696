"""Adam for a recorded step on a GPU: one pass over weights, moments and derivatives that rounds the weights, too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unbraid.models.ensemble.layers import Dense


class RoundedWeights:
    """Copies in bfloat16 of the weights of dense layers, which products are made with.

    Without them every step reads all weights to round them, writes derivatives in bfloat16, and reads them again to
    write them in float32. Numbers are the same: derivatives were rounded before, too.

    Args:
        network: Networks whose dense layers are given copies.
    """

    def __init__(self, network: nn.Module) -> None:
        self.layers = [layer for layer in network.modules() if type(layer) is Dense]
        for layer in self.layers:
            layer.rounded = layer.weight.detach().to(torch.bfloat16).requires_grad_()

    def renew(self) -> None:
        """Round the weights again, after they were set."""
        with torch.no_grad():
            for layer in self.layers:
                assert layer.rounded is not None
                layer.rounded.copy_(layer.weight)


class CompiledAdam:
    """The step of an optimizer of torch, with its state, its settings and the rounded weights of layers.

    Args:
        optimizer: Adam, whose moments are used and kept.
        rounded: Copies of weights.
        epsilon: Added to the root of second moments.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, rounded: RoundedWeights, *, epsilon: float) -> None:
        self.optimizer, self.epsilon = optimizer, epsilon
        self.copies = {id(layer.weight): layer.rounded for layer in rounded.layers}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                state = optimizer.state[parameter]
                state["step"] = torch.zeros((), device=parameter.device)
                state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        self._update = torch.compile(_update, dynamic=False)

    def zero_grad(self) -> None:
        """Forget derivatives."""
        self.optimizer.zero_grad()
        for copy in self.copies.values():
            assert copy is not None
            copy.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Make a step with the derivatives that are there."""
        for group in self.optimizer.param_groups:
            items: list[tuple[Any, ...]] = []
            for parameter in group["params"]:
                copy = self.copies.get(id(parameter))
                grad = parameter.grad if copy is None else copy.grad
                if grad is None:
                    continue
                state = self.optimizer.state[parameter]
                items.append((parameter.data, grad, state["exp_avg"], state["exp_avg_sq"], state["step"], copy))
            weights, grads, first, second, steps, copies = (list(each) for each in zip(*items, strict=True))
            kept = [None if copy is None else copy.detach() for copy in copies]
            beta_1, beta_2 = group["betas"]
            self._update(weights, grads, first, second, steps, kept, group["lr"], beta_1, beta_2, self.epsilon)


def _update(
    weights: list[Tensor],
    grads: list[Tensor],
    first: list[Tensor],
    second: list[Tensor],
    steps: list[Tensor],
    copies: list[Tensor | None],
    rate: float | Tensor,
    beta_1: float,
    beta_2: float,
    epsilon: float,
) -> None:
    """Adam (Kingma & Ba 2015, Algorithm 1), of every tensor in one pass."""
    number = steps[0] + 1
    size = rate / (1 - beta_1**number)
    root = (1 - beta_2**number).sqrt()
    for weight, grad, mean, square, copy in zip(weights, grads, first, second, copies, strict=True):
        g = grad.float()
        m = beta_1 * mean + (1 - beta_1) * g
        v = beta_2 * square + (1 - beta_2) * g * g
        new = weight - size * m / (v.sqrt() / root + epsilon)
        mean.copy_(m)
        square.copy_(v)
        weight.copy_(new)
        if copy is not None:
            copy.copy_(new)
    for step in steps:
        step.copy_(number)
