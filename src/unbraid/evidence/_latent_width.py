"""How many latents a decoder takes, where it fails on the number it was given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

MOST_TRIED = 8
#: How torch complains of a matrix product: "(3x10 and 6x16)" is three rows of 10 where 6 were wanted.
PRODUCT = re.compile(r"\(\d+x\d+ and (\d+)x\d+\)")
#: What layers call the number of their inputs.
WIDTHS = ("in_features", "in_channels", "input_size", "num_features")


def accepted_width(call: Callable[[Tensor], Any], rows: Tensor, complaint: str) -> int | None:
    """Return a number of latents that the decoder does accept, or nothing where none is found.

    The complaint of a matrix product and the layers of a module tell which numbers to try; each is tried.

    Args:
        call: The decoder.
        rows: Latents on which it failed, ``(rows, latent_dim)``.
        complaint: What it said.
    """
    tried = [width for width in dict.fromkeys(_guesses(call, complaint)) if width != rows.shape[1]]
    return next((width for width in tried[:MOST_TRIED] if _accepts(call, rows.new_zeros(len(rows), width))), None)


def _guesses(call: Any, complaint: str) -> Iterator[int]:
    yield from (int(found) for found in PRODUCT.findall(complaint))
    if isinstance(call, torch.nn.Module):
        for part in call.modules():
            sizes = (getattr(part, name, None) for name in WIDTHS)
            yield from (size for size in sizes if isinstance(size, int))


def _accepts(call: Callable[[Tensor], Any], rows: Tensor) -> bool:
    try:
        with torch.no_grad():
            call(rows)
    except Exception:
        return False
    return True
