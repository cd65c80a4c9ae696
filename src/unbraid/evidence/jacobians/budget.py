"""Memory budgets: sizes of batches and of chunks of Jacobians."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def parse_memory(memory: str | int | float) -> int:
    """Return a budget in bytes.

    Args:
        memory: Bytes, or a text such as ``"2GiB"``, ``"500 MB"`` or ``"1.5g"``; units are powers of 1024.

    Raises:
        ValueError: Not such a text, or not positive.

    Example:
        >>> parse_memory("2GiB"), parse_memory("512 k"), parse_memory(1000)
        (2147483648, 524288, 1000)
    """
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)(?:i?b)?\s*", str(memory).lower())
    try:
        size = int(float(match[1]) * UNITS[match[2]]) if match else 0
    except ValueError:
        size = 0
    if size < 1:
        raise ValueError(f"memory must be a size such as '2GiB' or a number of bytes, got {memory!r}.")
    return size


# Half of the budget is for one chunk of Jacobians and what is made from it, half for passes of the decoder.
SHARE = 0.5
MOST_ROWS_AT_ONCE = 2**15
DEFAULT_MEMORY = "2GiB"


class Chunk(NamedTuple):
    """Jacobians of some samples.

    Attributes:
        start: Position of the first.
        jacobian: ``(rows, data, latent)``; NumPy, or torch on a GPU.
    """

    start: int
    jacobian: Any


def rows_that_fit(memory: int, data_dim: int, latent_dim: int, itemsize: int) -> int:
    """Return how many samples' Jacobians and matrices made from them fit; one at least."""
    jacobian = itemsize * data_dim * latent_dim
    matrices = (5 * itemsize + 16) * latent_dim**2
    return max(1, int(SHARE * memory / (jacobian + matrices)))


def rows_at_once(memory: int, row_bytes: int) -> int:
    """Return how many rows one pass of a decoder may take; one at least."""
    return max(1, min(MOST_ROWS_AT_ONCE, int(SHARE * memory / row_bytes)))


def check_rank(latent_dim: int, data_dim: int) -> None:
    """Raise where a Jacobian cannot have full rank."""
    if latent_dim > data_dim:
        raise ValueError(
            f"latent_dim must be at most the size of an output, got {latent_dim} latents and {data_dim} outputs: the "
            "Jacobian is rank-deficient, volumes are 0 and entropies do not exist; measure fewer latents or more "
            "outputs."
        )
