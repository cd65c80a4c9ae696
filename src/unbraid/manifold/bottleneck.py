"""Bottleneck after training: the nats and the reconstruction that some latents keep, the others at their mean."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.progress import Show, track
from unbraid._base.record import JsonResult, provenance
from unbraid.evidence.jacobians.budget import DEFAULT_MEMORY
from unbraid.evidence.jacobians.gram import as_numpy
from unbraid.evidence.jacobians.priors import GaussianMixture, Latents, draw_latents
from unbraid.evidence.jacobians.sources import decoder_jacobians
from unbraid.manifold.quantities import UNIT_ENTROPY, estimate, importance_order, latent_entropy

#: Numbers of latents that are tried by default, at most.
MOST_SIZES = 64
DECODED_AT_ONCE = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bottleneck(JsonResult):
    """What the most important latents keep, for several numbers of them.

    Attributes:
        order: All latents from the highest entropy to the lowest; the first are kept.
        n_kept: Numbers of latents kept, ``(n_sizes,)``.
        entropy: Manifold entropy of the latents kept, in nats, ``(n_sizes,)``; 0 for none.
        entropy_error: Its standard error over samples.
        squared_error: Squared distance of an output from that with the other latents at their mean, summed over the
            output, mean over samples, ``(n_sizes,)``.
        squared_error_error: Its standard error.
        meta: Sizes, options, seed, versions and seconds.
    """

    order: IntArray
    n_kept: IntArray
    entropy: FloatArray
    entropy_error: FloatArray
    squared_error: FloatArray
    squared_error_error: FloatArray
    meta: Mapping[str, Any]

    def table(self) -> pd.DataFrame:
        """One row for each number of latents kept."""
        return pd.DataFrame(
            {
                "kept": self.n_kept,
                "entropy": self.entropy,
                "entropy_error": self.entropy_error,
                "squared_error": self.squared_error,
                "squared_error_error": self.squared_error_error,
            }
        ).set_index("kept")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "order": self.order.tolist(),
            "n_kept": self.n_kept.tolist(),
            "entropy": {"value": self.entropy.tolist(), "error": self.entropy_error.tolist()},
            "squared_error": {"value": self.squared_error.tolist(), "error": self.squared_error_error.tolist()},
            "meta": dict(self.meta),
        }

    def __repr__(self) -> str:
        return self.table().to_string(float_format=lambda value: f"{value:.3f}")


def bottleneck(
    decoder: Any,
    *,
    latent_dim: int | None = None,
    keep: Iterable[int] | None = None,
    n_samples: int = 200,
    prior: Any = None,
    mode: str = "auto",
    dtype: str | None = None,
    device: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
    seed: int = 0,
    progress: Show = None,
) -> Bottleneck:
    r"""Measure what is left of a decoder when only its most important latents vary (sec. 8 of the paper).

    Latents are sorted by their manifold entropy. For the first :math:`k` of them, :math:`K`, the nats that are kept are
    :math:`H(q_K) = \tfrac{k}{2}(1 + \log 2\pi) + E[\log |J_K|]`, and the reconstruction has the other latents at their
    mean, :math:`g(z_K, 0)`. For PCA the nats are :math:`\tfrac{k}{2}(1 + \log 2\pi) + \tfrac12 \sum_{i \le k} \log
    \lambda_i`, and the squared error is the variance left out, :math:`\sum_{i > k} \lambda_i`.

    Args:
        decoder: As in :func:`unbraid.manifold.analyze`.
        latent_dim: As there.
        keep: Numbers of latents to keep, from 0 to all; by default all numbers, or 64 of them where there are more.
        n_samples: Latents to draw.
        prior: As in :func:`unbraid.manifold.analyze`; with samples, such as encoded data, the reconstruction is that of
            these data.
        mode: As there.
        dtype: As there.
        device: As there.
        memory: As there.
        seed: Same seed, same latents.
        progress: Whether to show a bar; by default on a terminal.

    Returns:
        Nats and squared error for each number of latents, with standard errors.

    Raises:
        TypeError: A decoder that cannot be called.
        ValueError: Numbers of latents that there are not, a latent that moves nothing, or what :func:`analyze` raises.
    """
    started = time.perf_counter()
    drawn = draw_latents(prior, n_samples, latent_dim, np.random.default_rng(seed))
    width = drawn.z.shape[1]
    sizes = _sizes(keep, width)
    source = decoder_jacobians(decoder, drawn, mode=mode, dtype=dtype, device=device, memory=memory)
    n_chunks = -(-source.n_samples // source.chunk_size)
    with track(2 * n_chunks + len(sizes), progress, doing="narrowing") as bar:
        lengths = []
        for chunk in source.chunks():
            with np.errstate(divide="ignore"):
                lengths.append(np.log(np.linalg.norm(as_numpy(chunk.jacobian), axis=1)))
            bar.advance()
        log_lengths = np.concatenate(lengths)
        active = np.isfinite(log_lengths).all(axis=0)
        order = importance_order(latent_entropy(log_lengths, active).value)
        volumes = []
        for chunk in source.chunks():
            volumes.append(_prefix_log_volumes(as_numpy(chunk.jacobian)[:, :, order]))
            bar.advance()
        errors = []
        decode = _Outputs(source, drawn)
        for size in sizes:
            errors.append(decode.squared_error(order[size:], _centre(drawn, prior)))
            bar.advance()
    nats = estimate(np.concatenate(volumes)[:, sizes])
    distance = estimate(np.stack(errors, axis=1))
    return Bottleneck(
        order=order,
        n_kept=sizes,
        entropy=nats.value + sizes * UNIT_ENTROPY,
        entropy_error=nats.error,
        squared_error=distance.value,
        squared_error_error=distance.error,
        meta={"latent_dim": width, "n_samples": source.n_samples, **provenance(seed=seed, started=started)},
    )


def _sizes(keep: Iterable[int] | None, width: int) -> IntArray:
    if keep is None:
        return np.unique(np.linspace(0, width, min(width + 1, MOST_SIZES)).astype(np.intp))
    found = np.unique(np.array(list(keep), dtype=np.intp))
    check_at_least("number of sizes to keep", len(found), 1)
    if found[0] < 0 or found[-1] > width:
        raise ValueError(f"keep must be numbers from 0 to {width}, the latents there are, got {found.tolist()}.")
    return found


def _prefix_log_volumes(jacobian: FloatArray) -> FloatArray:
    """Return the log-volume that the first k columns span, for every k from 0, ``(rows, latent + 1)``."""
    heights = np.abs(np.diagonal(np.linalg.qr(jacobian, mode="r"), axis1=1, axis2=2))
    with np.errstate(divide="ignore"):
        grown = np.cumsum(np.log(heights), axis=1)
    return np.concatenate([np.zeros((len(grown), 1)), grown], axis=1)


def _centre(drawn: Latents, prior: Any) -> FloatArray:
    """Return the mean of each latent: 0 of a standard normal, else that of the samples."""
    if isinstance(prior, GaussianMixture):
        return prior.weights @ prior.means
    return np.zeros(drawn.z.shape[1]) if prior is None else drawn.z.mean(axis=0)


class _Outputs:
    """Outputs of a checked decoder, and their distance from outputs with some latents held."""

    def __init__(self, source: Any, drawn: Latents) -> None:
        self._decoder, self._z = source.decoder, drawn.z

    def squared_error(self, held: IntArray, centre: FloatArray) -> FloatArray:
        """Return the squared distance of each sample from that with some latents at the centre."""
        parts = []
        for start in range(0, len(self._z), DECODED_AT_ONCE):
            z = self._z[start : start + DECODED_AT_ONCE]
            narrow = z.copy()
            narrow[:, held] = centre[held]
            parts.append(((self._decode(z) - self._decode(narrow)) ** 2).sum(axis=1))
        return np.concatenate(parts)

    def _decode(self, z: FloatArray) -> FloatArray:
        import torch

        with torch.no_grad():
            output = self._decoder.call(torch.as_tensor(z).to(self._decoder.device, self._decoder.dtype))
        flat: FloatArray = output.flatten(1).double().cpu().numpy()
        return flat
