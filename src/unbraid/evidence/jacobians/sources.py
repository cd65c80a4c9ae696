"""Sources of Jacobians, in chunks that fit a memory budget.

Everywhere a Jacobian is ``(n_samples, data, latent)``: column i is the change of the data with latent i. A source of
them hands out chunks that fit a memory budget; on a GPU the chunks stay there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid._base.checks import to_array
from unbraid._base.memory import parse_memory
from unbraid._base.optional import require
from unbraid.evidence.jacobians.budget import DEFAULT_MEMORY, Chunk, check_rank, rows_that_fit
from unbraid.evidence.jacobians.gram import gram_of
from unbraid.evidence.jacobians.priors import Latents


class JacobianSource(Protocol):
    """Source of the Jacobians of all samples, in chunks."""

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
    """Jacobians computed by another framework.

    Attributes:
        array: ``(n_samples, data, latent)``, finite.
        memory: Budget in bytes for arrays computed from them.
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


def precomputed(
    jacobians: Any, *, memory: str | int = DEFAULT_MEMORY, columns: IntArray | None = None
) -> PrecomputedJacobians:
    """Return a source of Jacobians computed elsewhere.

    Args:
        jacobians: ``(n_samples, data, latent)``: column i of a sample is the derivative of its output by latent i.
            JAX's ``vmap(jacfwd(decoder))`` gives this shape for flat outputs.
        memory: Budget for arrays computed from them.
        columns: Positions of the latents to keep; all by default.

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
    if columns is not None:
        array = array[:, :, columns]
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
    columns: IntArray | None = None,
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
        columns: Positions of the latents to differentiate by; all by default.

    Raises:
        TypeError: Not a callable, or something other than one tensor comes out.
        ValueError: More latents than outputs, rows that mix, outputs that are random, not finite or detached; torch
            is not there.
    """
    require("a decoder", "torch", extra="torch", otherwise="give its Jacobians")
    from unbraid.evidence.jacobians.decoder import make_source

    budget = parse_memory(memory)
    return make_source(decoder, latents, mode=mode, dtype=dtype, device=device, memory=budget, columns=columns)


def gram_matrices(source: JacobianSource) -> Iterator[Any]:
    """Yield ``JᵀJ`` of all samples in order, in chunks ``(rows, latent, latent)``, where the Jacobians are."""
    for chunk in source.chunks():
        yield gram_of(chunk.jacobian)


def all_jacobians(source: JacobianSource) -> FloatArray:
    """Return every Jacobian at once, ``(n_samples, data, latent)``, as NumPy; mind the memory."""
    return np.concatenate([np.asarray(to_array(chunk.jacobian), dtype=np.float64) for chunk in source.chunks()])
