"""How much memory one row needs on its way through a decoder."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

# Values and tangents of what an operation takes, gives and needs on the way.
FORWARD_COPIES = 8
# What is kept for the way back, and the gradients of it.
REVERSE_COPIES = 3
# For a decoder that lets nothing be seen.
UNSEEN = 64


def bytes_per_row(call: Callable[[Tensor], Tensor], rows: Tensor, output: Tensor, mode: str) -> int:
    """Estimate what a pass of the decoder needs for each row, from what torch would keep to differentiate it backwards.

    Args:
        call: The decoder.
        rows: A few latents.
        output: What the decoder makes of them.
        mode: Forward needs the largest operation, reverse all of them.
    """
    sizes: list[int] = []

    def note(kept: Tensor) -> Tensor:
        if kept.ndim and kept.shape[0] % len(rows) == 0 and not kept.is_leaf:
            sizes.append(kept.nbytes)
        return kept

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda kept: kept):
        call(rows.clone().requires_grad_().clone())
    own = max(output.nbytes, rows.nbytes)
    if not sizes:
        return UNSEEN * own // len(rows)
    needed = REVERSE_COPIES * (sum(sizes) + own) if mode == "reverse" else FORWARD_COPIES * max(*sizes, own)
    return needed // len(rows)
