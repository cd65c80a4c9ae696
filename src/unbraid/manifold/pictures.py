"""Pictures of latents: mean Jacobians and traversals of image decoders, contours of decoders to the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.evidence.jacobians.budget import DEFAULT_MEMORY
from unbraid.evidence.jacobians.priors import GaussianMixture, Latents, draw_latents
from unbraid.evidence.jacobians.sources import decoder_jacobians
from unbraid.manifold.classes import ClassAnalysis, class_decoders, class_priors
from unbraid.manifold.result import DecoderPictures, ManifoldAnalysis

CHANNELS = (1, 3)


def draw(
    decoder: Any,
    analysis: ManifoldAnalysis,
    *,
    prior: Any = None,
    image_shape: tuple[int, ...] | None = None,
    n_latents: int = 12,
    latents: Sequence[int] | None = None,
    n_samples: int = 64,
    n_steps: int = 5,
    reach: float = 2.0,
    dtype: str | None = None,
    device: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
    seed: int = 0,
) -> DecoderPictures:
    """Draw the most important latents of a decoder.

    Args:
        decoder: As it was analysed.
        analysis: Result of :func:`analyze`.
        prior: As it was analysed.
        image_shape: ``(height, width)``, ``(channels, height, width)`` or ``(height, width, channels)``, where
            outputs are flat images; by default the shape of an output.
        n_latents: Number of latents to show.
        latents: Their numbers, in place of the most important ones.
        n_samples: Over how many samples to average Jacobians.
        n_steps: Images of a traversal.
        reach: How far a traversal goes to either side, in standard deviations.
        dtype: As in :func:`analyze`.
        device: As in :func:`analyze`.
        memory: As in :func:`analyze`.
        seed: Same seed, same pictures.

    Raises:
        ValueError: An ``image_shape`` that does not fit the outputs.

    References:
        Galperin and Köthe (2025), app. E.1.2. https://arxiv.org/abs/2410.19426
    """
    check_at_least("n_latents", n_latents, 1)
    check_at_least("n_steps", n_steps, 2)
    most_important = analysis.latents[analysis.order[: min(n_latents, analysis.n_active)]]
    shown = most_important if latents is None else np.asarray(latents, dtype=np.intp)
    width = int(analysis.meta["latent_dim"])
    shape = image_layout(analysis.output_shape, image_shape)
    drawn = draw_latents(prior, min(n_samples, analysis.n_samples), width, np.random.default_rng(seed))
    source = decoder_jacobians(decoder, drawn, dtype=dtype, device=device, memory=memory, columns=shown)
    steps = np.linspace(-reach, reach, n_steps)
    planar = width == 2 and int(np.prod(analysis.output_shape)) == 2
    centre, spread = _centre(drawn, prior)
    decode = _Decode(source)
    return DecoderPictures(
        latents=shown,
        mean_jacobian=None if shape is None else as_images(_mean_jacobian(source), shape),
        traversals=None if shape is None else _traversals(decode, shown, centre, spread, steps, shape),
        steps=steps,
        contours=_contours(decode, centre, spread) if planar else None,
    )


def draw_classes(
    decoder: Any, analysis: ClassAnalysis, *, prior: GaussianMixture | None = None, n_latents: int = 12, **options: Any
) -> dict[str, DecoderPictures]:
    """Draw the same latents at every class, or at every component of a mixture: those of the highest mean entropy.

    Args:
        decoder: As it was analysed.
        analysis: Result of :func:`analyze_classes`.
        prior: As it was analysed; a traversal starts at the mean of its component.
        n_latents: Number of latents to show.
        **options: Of :func:`draw`.

    Returns:
        Pictures by the name of the class.

    References:
        Galperin and Köthe (2025), Figs. E.3 to E.5. https://arxiv.org/abs/2410.19426
    """
    decoders, components = class_decoders(decoder, len(analysis.names), prior), class_priors(prior, len(analysis.names))
    shown = analysis.order[:n_latents].tolist()
    return {
        name: draw(one, measured, prior=component, latents=shown, **options)
        for name, one, measured, component in zip(analysis.names, decoders, analysis.analyses, components, strict=True)
    }


class _Decode:
    """Outputs of a checked decoder, as flat NumPy rows."""

    def __init__(self, source: Any) -> None:
        self._decoder = source.decoder

    def __call__(self, z: FloatArray) -> FloatArray:
        import torch

        with torch.no_grad():
            output = self._decoder.call(torch.as_tensor(z).to(self._decoder.device, self._decoder.dtype))
        flat: FloatArray = output.flatten(1).double().cpu().numpy()
        return flat


def image_layout(output_shape: tuple[int, ...], given: tuple[int, ...] | None) -> tuple[int, int, int, bool] | None:
    """Return height, width, channels and whether channels come first; ``None`` where outputs are not images."""
    shape = output_shape if given is None else tuple(given)
    if given is not None and int(np.prod(shape)) != int(np.prod(output_shape)):
        raise ValueError(f"image_shape must have {int(np.prod(output_shape))} entries like an output, got {shape}.")
    if len(shape) == 2 and min(shape) > 1:
        return shape[0], shape[1], 1, False
    if len(shape) == 3 and shape[0] in CHANNELS:
        return shape[1], shape[2], shape[0], True
    if len(shape) == 3 and shape[2] in CHANNELS:
        return shape[0], shape[1], shape[2], False
    if given is not None:
        raise ValueError(f"image_shape must be (height, width), or with 1 or 3 channels before or after, got {shape}.")
    return None


def as_images(rows: AnyArray, shape: tuple[int, int, int, bool]) -> AnyArray:
    """Return rows of numbers as images, ``(n, height, width, channels)``."""
    height, width, channels, first = shape
    if first:
        return rows.reshape(-1, channels, height, width).transpose(0, 2, 3, 1)
    return rows.reshape(-1, height, width, channels)


def _mean_jacobian(source: Any) -> FloatArray:
    total: FloatArray = np.zeros((source.latent_dim, int(np.prod(source.output_shape))))
    for chunk in source.chunks():
        part = chunk.jacobian.sum(0)
        total += np.asarray(part if isinstance(part, np.ndarray) else part.cpu().numpy(), dtype=np.float64).T
    mean: FloatArray = total / source.n_samples
    return mean


def _centre(drawn: Latents, prior: Any) -> tuple[FloatArray, FloatArray]:
    """Return mean and deviation of each latent: those of a single Gaussian, else those of the samples."""
    if isinstance(prior, GaussianMixture) and len(prior.means) == 1:
        return np.asarray(prior.means[0], dtype=float), np.asarray(prior.deviations[0], dtype=float)
    if prior is None or isinstance(prior, str):
        return np.zeros(drawn.z.shape[1]), np.ones(drawn.z.shape[1])
    return drawn.z.mean(axis=0), drawn.z.std(axis=0)


def _traversals(
    decode: _Decode,
    latents: IntArray,
    centre: FloatArray,
    spread: FloatArray,
    steps: FloatArray,
    shape: tuple[int, int, int, bool],
) -> FloatArray:
    z = np.tile(centre, (len(latents), len(steps), 1))
    for row, latent in enumerate(latents):
        z[row, :, latent] += steps * spread[latent]
    images = as_images(decode(z.reshape(-1, len(centre))), shape)
    return images.reshape(len(latents), len(steps), *images.shape[1:])


def _contours(
    decode: _Decode, centre: FloatArray, spread: FloatArray, n_curves: int = 13, n_points: int = 81, reach: float = 3.0
) -> FloatArray:
    fixed, along = np.linspace(-reach, reach, n_curves), np.linspace(-reach, reach, n_points)
    curves = []
    for latent in range(2):
        z = np.empty((n_curves, n_points, 2))
        z[:, :, latent] = along
        z[:, :, 1 - latent] = fixed[:, None]
        curves.append(decode((centre + spread * z).reshape(-1, 2)).reshape(n_curves, n_points, 2))
    return np.stack(curves)
