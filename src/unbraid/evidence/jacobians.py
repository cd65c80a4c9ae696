"""Jacobians of a decoder, a few samples at a time, and the Gram matrices made from them.

Everywhere a Jacobian is ``(n_samples, data, latent)``: column i says how the data move when latent i does. A source of
them hands out chunks that fit a memory budget; on a GPU the chunks stay there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from unbraid._typing import AnyArray, FloatArray
from unbraid._validation import to_array
from unbraid.evidence._memory import parse_memory
from unbraid.evidence._torch import torch_needed
from unbraid.evidence.gram import gram_of
from unbraid.evidence.priors import Latents

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


class JacobianSource(Protocol):
    """Anything that hands out the Jacobians of all samples, some at a time."""

    @property
    def n_samples(self) -> int:
        """How many samples there are."""

    @property
    def latent_dim(self) -> int:
        """Columns of a Jacobian."""

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of one output; a Jacobian has as many rows as it has entries."""

    @property
    def chunk_size(self) -> int:
        """Most samples in one chunk."""

    def chunks(self, size: int | None = None) -> Iterator[Chunk]:
        """Yield all samples in order, ``size`` at a time; by default as many as fit."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrecomputedJacobians:
    """Jacobians that another framework found.

    Attributes:
        array: ``(n_samples, data, latent)``, finite.
        memory: Budget in bytes for what is made from them.
    """

    array: AnyArray
    memory: int

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return int(self.array.shape[0])

    @property
    def latent_dim(self) -> int:
        """Columns of a Jacobian."""
        return int(self.array.shape[2])

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of one output."""
        return (int(self.array.shape[1]),)

    @property
    def chunk_size(self) -> int:
        """Most samples in one chunk."""
        return rows_that_fit(self.memory, self.array.shape[1], self.latent_dim, self.array.itemsize)

    def chunks(self, size: int | None = None) -> Iterator[Chunk]:
        """Yield all samples in order, ``size`` at a time; by default as many as fit."""
        step = size or self.chunk_size
        for start in range(0, self.n_samples, step):
            yield Chunk(start, self.array[start : start + step])


def precomputed(jacobians: Any, *, memory: str | int = DEFAULT_MEMORY) -> PrecomputedJacobians:
    """Take Jacobians found elsewhere.

    Args:
        jacobians: ``(n_samples, data, latent)``: column i of a sample is the derivative of its output by latent i.
            JAX's ``vmap(jacfwd(decoder))`` gives this shape for flat outputs.
        memory: Budget for what is made from them.

    Raises:
        ValueError: Another shape, fewer than two samples, more latents than data, or numbers that are not finite.
    """
    array = to_array(jacobians)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 3 or array.shape[0] < 2 or not array.size:
        raise ValueError(
            f"jacobians must have shape (n_samples, data, latent) and two samples or more, got {array.shape}; flatten "
            "each output, and put latents last."
        )
    if not np.isfinite(array).all():
        raise ValueError("jacobians must be finite, got NaN or inf; drop those samples.")
    check_rank(array.shape[2], array.shape[1])
    return PrecomputedJacobians(array=array, memory=parse_memory(memory))


def decoder_jacobians(
    decoder: Any,
    latents: Latents,
    *,
    mode: str = "auto",
    dtype: str | None = None,
    device: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
) -> JacobianSource:
    """Differentiate a torch decoder at given latents, when asked for each chunk.

    Args:
        decoder: A torch module or function from ``(rows, latent_dim)`` to ``(rows, ...)``. It needs no batching
            rules, and may work in place or branch on its input, as long as the rows of a batch do not mix.
        latents: Where, and the deviation to scale columns by.
        mode: ``"forward"`` goes over latents, ``"reverse"`` over outputs; ``"auto"`` takes the cheaper one that the
            decoder's operations support.
        dtype: ``"float32"`` or ``"float64"``; by default the module's own.
        device: Such as ``"cuda"``; by default the module's own. A module that is elsewhere is copied, not moved.
        memory: Budget, such as ``"2GiB"``. Chunks and passes are sized by it, half for each; what a pass needs is
            estimated from what torch would keep of it.

    Raises:
        TypeError: Not a callable, or something other than one tensor comes out.
        ValueError: More latents than outputs, rows that mix, outputs that are random, not finite or detached; torch
            is not there.
    """
    with torch_needed():
        from unbraid.evidence._decoder_source import make_source
    return make_source(decoder, latents, mode=mode, dtype=dtype, device=device, memory=parse_memory(memory))


def gram_matrices(source: JacobianSource) -> Iterator[Any]:
    """Yield ``JᵀJ`` of all samples in order, in chunks ``(rows, latent, latent)``, where the Jacobians are."""
    for chunk in source.chunks():
        yield gram_of(chunk.jacobian)


def all_jacobians(source: JacobianSource) -> FloatArray:
    """Return every Jacobian at once, ``(n_samples, data, latent)``, as NumPy; mind the memory."""
    return np.concatenate([np.asarray(to_array(chunk.jacobian), dtype=np.float64) for chunk in source.chunks()])


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
