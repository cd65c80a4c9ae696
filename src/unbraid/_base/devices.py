"""Torch devices and seeds; torch is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def check_device(device: str) -> None:
    """Raise unless torch can compute there."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "device must be 'cpu' here, got 'cuda': this torch sees no GPU; install a CUDA build of torch."
        )


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Start torch's generators from ``seed`` inside the block, and leave them as they were after it."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
