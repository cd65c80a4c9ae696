"""Jacobians of two decoders at corresponding points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid._base.arrays import FloatArray
from unbraid._base.memory import parse_memory
from unbraid.evidence.jacobians.decoder import DecoderJacobians, make_source, own_place
from unbraid.evidence.jacobians.priors import Latents

DECODED_AT_ONCE = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Sources of Jacobians at corresponding points.

    Attributes:
        sources: Of the first and the second decoder.
        pearson: Correlation of the latents of the first with the encoded latents of the second, or ``None``.
    """

    sources: tuple[DecoderJacobians, DecoderJacobians]
    pearson: FloatArray | None


def make_pair(
    a: Any,
    b: Any,
    latents: Latents,
    *,
    encoder: Any,
    at: str,
    mode: str,
    dtype: str | None,
    device: str | None,
    memory: str | int,
) -> Pair:
    """Check both decoders, and find the latents of the second that correspond to those of the first."""
    if at == "data" and encoder is None:
        raise ValueError("at must be 'latents' without an encoder, got 'data'; give the encoder of b.")
    budget = parse_memory(memory) // 2
    first = make_source(a, latents, mode=mode, dtype=dtype, device=device, memory=budget)
    encoded = None if encoder is None else _encode(first, encoder)
    others = latents if encoded is None or at == "latents" else Latents(z=encoded)
    second = make_source(b, others, mode=mode, dtype=dtype, device=device, memory=budget)
    return Pair(sources=(first, second), pearson=None if encoded is None else pearson_matrix(latents.z, encoded))


def pearson_matrix(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the correlation of every column of ``a`` with every column of ``b``; NaN for a constant one (D.28)."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = (a.T @ b) / np.sqrt((a * a).sum(axis=0)[:, None] * (b * b).sum(axis=0))
    return found


def _encode(first: DecoderJacobians, encoder: Any) -> FloatArray:
    """Return the codes that the encoder gives to the outputs of the first decoder."""
    if not callable(encoder):
        raise TypeError(f"encoder must be a torch module or function from data to latents, got {encoder!r}.")
    decoder = first.decoder
    place, kind = own_place(encoder)
    parts = []
    with torch.no_grad():
        for start in range(0, first.n_samples, DECODED_AT_ONCE):
            z = torch.as_tensor(first.latents.z[start : start + DECODED_AT_ONCE]).to(decoder.device, decoder.dtype)
            data = decoder.call(z)
            found = encoder(data.to(place or data.device, kind or data.dtype))
            parts.append(_check_codes(found, len(z)))
    encoded = np.concatenate(parts)
    if not np.isfinite(encoded).all():
        raise ValueError("encoder must give finite latents, got NaN or inf for the outputs of a.")
    return encoded


def _check_codes(found: Any, n_rows: int) -> FloatArray:
    if not isinstance(found, Tensor):
        raise TypeError(
            f"encoder must return one tensor, got {type(found).__name__}; wrap it, for example as "
            "lambda x: encoder(x)[0]."
        )
    if found.ndim != 2 or len(found) != n_rows:
        raise ValueError(
            f"encoder must return latents ({n_rows}, latent_dim) for {n_rows} outputs, got {tuple(found.shape)}."
        )
    return found.double().cpu().numpy()
