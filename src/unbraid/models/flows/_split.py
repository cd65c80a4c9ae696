"""Splitting a vector in two: one part stays, and says how the other is moved."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.distributions import Transform
from zuko.transforms import CouplingTransform


class Split(nn.Module):
    """Where the two parts of a vector are, found once: on a GPU, looking for them would wait for all work before.

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
        """Return the bijection that moves one part by what ``given`` makes of the other."""
        return _FoundCoupling(given, self.stays, self.moves)


class _FoundCoupling(CouplingTransform):  # type: ignore[misc]
    def __init__(self, given: Callable[[Tensor], Transform], stays: Tensor, moves: Tensor) -> None:
        Transform.__init__(self)
        self.meta, self.idx_a, self.idx_b = given, stays, moves
