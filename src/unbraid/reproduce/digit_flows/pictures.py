"""Figures E.3 to E.5: what single latents of flows of digits do to each digit, as PNG files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unbraid._base.arrays import ByteArray, FloatArray
from unbraid._base.files import write_atomically
from unbraid._base.images import png
from unbraid.manifold import ClassAnalysis, DecoderPictures, GaussianMixture, draw_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

#: Latents of the mean Jacobians (Figs. E.3 and E.4) and of the interpolations (Fig. E.5).
N_JACOBIANS, N_INTERPOLATED = 60, 20
#: Samples that a Jacobian is averaged over.
N_SAMPLES = 16
GAP = 2


def write_pictures(
    folder: Path,
    decoders: Sequence[Callable[[Tensor], Tensor]],
    analysis: ClassAnalysis,
    *,
    prior: GaussianMixture | None,
    device: str,
) -> None:
    """Write mean Jacobians and interpolations of the most important latents at each digit as two PNG files.

    Args:
        folder: Where ``jacobians.png`` and ``interpolations.png`` go.
        decoders: One for each class.
        analysis: Of the classes.
        prior: One Gaussian for each class, or ``None`` for a standard normal.
        device: Where the decoders are.
    """
    side = round(analysis.analyses[0].output_shape[0] ** 0.5)
    found = draw_classes(
        decoders,
        analysis,
        prior=prior,
        n_latents=min(N_JACOBIANS, len(analysis.order)),
        n_samples=N_SAMPLES,
        image_shape=(side, side),
        dtype="float64",
        device=device,
    )
    for name, sheet in (("jacobians", jacobian_sheet(found)), ("interpolations", interpolation_sheet(found))):
        content = png(sheet)
        write_atomically(folder / f"{name}.png", lambda file, content=content: file.write(content))  # type: ignore[misc]


def jacobian_sheet(found: Mapping[str, DecoderPictures]) -> ByteArray:
    """Return a row for each class and a column for each latent; each latent has shades of its own, 0 in the middle."""
    jacobians = np.stack([_needed(one.mean_jacobian)[..., 0] for one in found.values()])
    largest = np.abs(jacobians).max(axis=(0, 2, 3), keepdims=True)
    return sheet_of(0.5 + 0.5 * jacobians / np.where(largest > 0, largest, 1))


def interpolation_sheet(found: Mapping[str, DecoderPictures]) -> ByteArray:
    """Return a row for each latent; for each class its interpolation and the absolute difference of its ends."""
    moved = np.stack([_needed(one.traversals)[:N_INTERPOLATED, ..., 0] for one in found.values()])
    apart = np.abs(moved[:, :, -1] - moved[:, :, 0])
    low, high = moved.min(), moved.max()
    shown = np.concatenate([(moved - low) / max(high - low, 1e-9), apart[:, :, None] / max(apart.max(), 1e-9)], axis=2)
    n_classes, n_latents, n_steps, height, width = shown.shape
    return sheet_of(shown.transpose(1, 0, 2, 3, 4).reshape(n_latents, n_classes * n_steps, height, width))


def sheet_of(pictures: FloatArray) -> ByteArray:
    """Lay out ``(rows, columns, height, width)`` from 0 to 1 with white gaps, as ``(height, width, 1)`` bytes."""
    rows, columns, height, width = pictures.shape
    sheet = np.full((rows, height + GAP, columns, width + GAP), 255, dtype=np.uint8)
    sheet[:, :height, :, :width] = np.round(255 * np.clip(pictures, 0, 1)).astype(np.uint8).transpose(0, 2, 1, 3)
    return sheet.reshape(rows * (height + GAP), columns * (width + GAP), 1)[:-GAP, :-GAP]


def _needed(pictures: FloatArray | None) -> FloatArray:
    if pictures is None:
        raise ValueError("decoders must return pictures.")
    return pictures
