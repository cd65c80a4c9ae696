"""Torch devices and seeds; torch is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Start torch's generators from ``seed`` inside the block, and leave them as they were after it."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
