"""Latents at which a decoder is measured, drawn from a prior or given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least, to_array

MIN_SAMPLES = 2


class GaussianMixture:
    """A mixture of Gaussians with diagonal covariance, as a GIN learns it.

    Args:
        means: ``(n_components, latent_dim)``.
        deviations: Standard deviations, of the same shape, positive.
        weights: Share of each component; equal by default.

    Raises:
        ValueError: Shapes that differ, numbers that are not finite, or deviations that are not positive.

    Example:
        >>> mixture = GaussianMixture([[0.0, 0.0], [4.0, 0.0]], [[1.0, 2.0], [1.0, 0.5]])
        >>> mixture.weights.tolist()
        [0.5, 0.5]
    """

    __slots__ = ("deviations", "means", "weights")

    def __init__(self, means: ArrayLike, deviations: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.means = _finite_matrix("means", means)
        self.deviations = _finite_matrix("deviations", deviations)
        if self.means.shape != self.deviations.shape:
            raise ValueError(
                f"deviations must have the shape of means, got {self.deviations.shape} and {self.means.shape}."
            )
        if (self.deviations <= 0).any():
            raise ValueError(
                f"deviations must be positive, got {self.deviations.min():g}; give standard deviations, not logarithms."
            )
        n_components = len(self.means)
        shares = np.ones(n_components) if weights is None else np.asarray(to_array(weights), dtype=np.float64)
        if shares.shape != (n_components,) or not (shares >= 0).all() or not shares.sum() > 0:
            raise ValueError(f"weights must be {n_components} numbers that are not negative, got {shares.tolist()}.")
        self.weights: FloatArray = shares / shares.sum()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Latents:
    """Latents to measure a decoder at.

    Attributes:
        z: ``(n_samples, latent_dim)``.
        scale: Standard deviation that each latent was drawn with, of the same shape, or ``None`` where all are 1.
            Column i of a sample's Jacobian is multiplied by it, so that entropies refer to a standard normal.
    """

    z: FloatArray
    scale: FloatArray | None = None


def draw_latents(prior: Any, n_samples: int, latent_dim: int | None, rng: np.random.Generator) -> Latents:
    """Draw latents from a standard normal or a mixture, or take the ones given.

    Args:
        prior: ``None`` for a standard normal, a :class:`GaussianMixture`, or samples ``(n_samples, latent_dim)``, of
            which all are used; ``n_samples`` is ignored.
        n_samples: Number of samples.
        latent_dim: Number of latents the decoder takes; may be left out where the prior determines it.
        rng: Source of chance.

    Raises:
        ValueError: Fewer than two samples, samples that are not finite, or widths that do not fit.
    """
    if prior is None or isinstance(prior, str):
        return Latents(z=_standard_normal(prior, n_samples, latent_dim, rng))
    if isinstance(prior, GaussianMixture):
        _check_width(prior.means.shape[1], latent_dim, "prior")
        check_at_least("n_samples", n_samples, MIN_SAMPLES)
        component = rng.choice(len(prior.weights), size=n_samples, p=prior.weights)
        scale = prior.deviations[component]
        return Latents(z=prior.means[component] + scale * rng.standard_normal(scale.shape), scale=scale)
    z = _finite_matrix("prior", prior)
    _check_width(z.shape[1], latent_dim, "prior")
    check_at_least("the number of rows of prior", len(z), MIN_SAMPLES)
    return Latents(z=z)


def _standard_normal(prior: str | None, n_samples: int, latent_dim: int | None, rng: np.random.Generator) -> FloatArray:
    if prior not in (None, "normal"):
        raise ValueError(f"prior must be 'normal', samples or a GaussianMixture, got {prior!r}.")
    if latent_dim is None:
        raise ValueError(
            "latent_dim must be given (--latent-dim), or a prior that determines it: samples of latents "
            "(--prior), or a mixture."
        )
    check_at_least("latent_dim", latent_dim, 1)
    check_at_least("n_samples", n_samples, MIN_SAMPLES)
    return rng.standard_normal((n_samples, latent_dim))


def _check_width(width: int, latent_dim: int | None, argument: str) -> None:
    if latent_dim is not None and width != latent_dim:
        raise ValueError(f"{argument} must have {latent_dim} columns, one for each latent, got {width}.")


def _finite_matrix(argument: str, values: Any) -> FloatArray:
    given = to_array(values)
    if np.iscomplexobj(given):
        raise ValueError(f"{argument} must be real numbers, got {given.dtype}.")
    try:
        array: FloatArray = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must be a matrix of numbers: {error}.") from error
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{argument} must be a matrix with one column for each latent, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{argument} must be finite, got NaN or inf; drop those rows.")
    return array
