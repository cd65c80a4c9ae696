"""Density of a set of latents on its manifold, at points."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.evidence.jacobians import gram as grams
from unbraid.evidence.jacobians.budget import DEFAULT_MEMORY
from unbraid.evidence.jacobians.priors import draw_latents
from unbraid.evidence.jacobians.sources import decoder_jacobians
from unbraid.manifold.quantities import chosen_latents


def log_density(
    decoder: Any,
    points: Any,
    *,
    latents: Iterable[int] | None = None,
    mode: str = "auto",
    dtype: str | None = None,
    device: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
) -> FloatArray:
    r"""Return the log-density of a set of latents on the manifold that they span, at points (Eq. A.14).

    With the latents of the set varying and the others held as they are at a point,

    .. math:: \log q_S(x) = \log p_S(z_S) - \log |J_S(z)|, \qquad x = g(z), \quad |J_S| = \det(J_S^T J_S)^{1/2},

    where :math:`p_S` is a standard normal. The mean of :math:`-\log q_S` over latents drawn from the prior is the
    manifold entropy of the set.

    Args:
        decoder: As in :func:`unbraid.manifold.analyze`.
        points: Latents, ``(n, latent_dim)``, two or more.
        latents: Numbers of the latents of the set; all by default, whose density is that of the generated data.
        mode: As in :func:`unbraid.manifold.analyze`.
        dtype: As there.
        device: As there.
        memory: As there.

    Returns:
        In nats, ``(n,)``; plus infinity where a latent of the set does not move the data.

    Raises:
        TypeError: A decoder that cannot be called.
        ValueError: Bad points, latents that are not there, more latents than outputs, or torch missing.

    Example:
        >>> import torch
        >>> twice = lambda z: 2.0 * z  # the density of a normal of deviation 2, at its mean
        >>> round(float(log_density(twice, torch.zeros(2, 1))[0]), 6)
        -1.612086
    """
    drawn = draw_latents(points, len(points), None, np.random.default_rng(0))
    chosen = chosen_latents(latents, drawn.z.shape[1])
    columns = None if latents is None else chosen
    source = decoder_jacobians(decoder, drawn, mode=mode, dtype=dtype, device=device, memory=memory, columns=columns)
    volumes = [_log_volumes(chunk.jacobian) for chunk in source.chunks()]
    z = drawn.z[:, chosen]
    prior: FloatArray = -0.5 * (z * z).sum(axis=1) - 0.5 * len(chosen) * np.log(2.0 * np.pi)
    density: FloatArray = prior - np.concatenate(volumes)
    return density


def _log_volumes(jacobian: Any) -> FloatArray:
    """Return the log-volume that all columns span, ``(rows,)``; minus infinity where one of them is zero."""
    gram = grams.gram_of(jacobian)
    lengths = grams.column_lengths(gram)
    flat = grams.as_numpy(grams.flat_columns(lengths)).astype(bool)
    still = flat.any(axis=1)
    divisors = grams.without(lengths, flat) if still.any() else lengths
    angles = grams.as_numpy(grams.log_volumes(grams.cosines(gram, divisors, divisors), [range(gram.shape[1])]))[:, 0]
    with np.errstate(divide="ignore"):
        long = np.log(grams.as_numpy(lengths)).sum(axis=1)
    return np.where(still, -np.inf, long + angles)
