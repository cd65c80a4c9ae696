"""The source of Jacobians that differentiates a torch decoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unbraid.evidence import _autodiff
from unbraid.evidence._decoder import Decoder, prepare
from unbraid.evidence.jacobians import Chunk, check_rank, rows_at_once, rows_that_fit
from unbraid.evidence.priors import Latents


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecoderJacobians:
    """Jacobians of a decoder, found when asked for.

    Attributes:
        decoder: Checked.
        latents: Where to differentiate.
        memory: Budget in bytes.
    """

    decoder: Decoder
    latents: Latents
    memory: int

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return len(self.latents.z)

    @property
    def latent_dim(self) -> int:
        """Columns of a Jacobian."""
        return int(self.latents.z.shape[1])

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of one output."""
        return self.decoder.output_shape

    @property
    def chunk_size(self) -> int:
        """Most samples in one chunk."""
        fitting = rows_that_fit(self.memory, self.decoder.data_dim, self.latent_dim, self.decoder.dtype.itemsize)
        return min(fitting, self._rows_at_once)

    @property
    def _rows_at_once(self) -> int:
        return rows_at_once(self.memory, self.decoder.row_bytes)

    def chunks(self, size: int | None = None) -> Iterator[Chunk]:
        """Yield all samples in order, ``size`` at a time; NumPy from a processor, torch from a GPU."""
        step = size or self.chunk_size
        for start in range(0, self.n_samples, step):
            found = self.jacobian(slice(start, start + step))
            yield Chunk(start, found.numpy() if found.device.type == "cpu" else found)

    def jacobian(self, rows: slice) -> Tensor:
        """Return the Jacobians of some samples, ``(rows, data, latent)``, their columns scaled by the prior."""
        decoder, latents = self.decoder, self.latents
        z = torch.as_tensor(latents.z[rows]).to(decoder.device, decoder.dtype)
        found = _autodiff.jacobian(
            decoder.call,
            z,
            decoder.mode,
            rows_at_once=self._rows_at_once,
            shares_values=decoder.shares_values,
        )
        _autodiff.check_finite(found.sum(dim=(1, 2)), "derivatives")
        if latents.scale is None:
            return found
        return found * torch.as_tensor(latents.scale[rows]).to(found)[:, None, :]


def make_source(
    decoder: Any, latents: Latents, *, mode: str, dtype: str | None, device: str | None, memory: int
) -> DecoderJacobians:
    """Check the decoder, and return its source of Jacobians."""
    ready = prepare(decoder, torch.as_tensor(latents.z), mode=mode, dtype=dtype, device=device)
    check_rank(latents.z.shape[1], ready.data_dim)
    return DecoderJacobians(decoder=ready, latents=latents, memory=memory)
