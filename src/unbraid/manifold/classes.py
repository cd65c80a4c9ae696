"""Manifold entropies of a decoder with classes, or of the components of a mixture: each alone, and their mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.files import write_text
from unbraid._base.pages import page_of
from unbraid._base.progress import Show
from unbraid._base.record import JsonResult
from unbraid.evidence.jacobians.budget import DEFAULT_MEMORY
from unbraid.evidence.jacobians.priors import GaussianMixture
from unbraid.manifold.analysis import analyze
from unbraid.manifold.quantities import PartitionLike, importance_order
from unbraid.manifold.result import DecoderPictures, ManifoldAnalysis


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassAnalysis(JsonResult):
    """A decoder measured at each class; means weigh each class by its share.

    Attributes:
        names: Of the classes.
        shares: Share of each class, ``(n_classes,)``; they add up to 1.
        analyses: One for each class.
    """

    names: tuple[str, ...]
    shares: FloatArray
    analyses: tuple[ManifoldAnalysis, ...]

    def __getitem__(self, name: str) -> ManifoldAnalysis:
        return self.analyses[self.names.index(name)]

    @property
    def latent_entropy(self) -> FloatArray:
        """Mean entropy of each latent; minus infinity for one that is inactive in some class."""
        return self._mean([one.latent_entropy for one in self.analyses])

    @property
    def manifold_entropy(self) -> FloatArray:
        """Mean entropy of each set of the partition."""
        return self._mean([one.manifold_entropy for one in self.analyses])

    @property
    def total_entropy(self) -> float:
        """Mean entropy of the data given their class."""
        return float(self._mean([np.array(one.total_entropy) for one in self.analyses]))

    @property
    def total_correlation(self) -> float:
        """Mean total correlation."""
        return float(self._mean([np.array(one.total_correlation) for one in self.analyses]))

    @property
    def pairwise_mutual_information(self) -> FloatArray:
        """Mean mutual information of every two latents; NaN where one is inactive in some class."""
        return self._mean([one.pairwise_mutual_information for one in self.analyses])

    @property
    def order(self) -> IntArray:
        """Latents from the highest mean entropy to the lowest."""
        return importance_order(self.latent_entropy)

    def table(self) -> pd.DataFrame:
        """One row for each class: its share, entropy, total correlation, active latents and effective dimension."""
        return pd.DataFrame(
            {
                "class": self.names,
                "share": self.shares,
                "total_entropy": [one.total_entropy for one in self.analyses],
                "total_correlation": [one.total_correlation for one in self.analyses],
                "n_active": [one.n_active for one in self.analyses],
                "effective_dimension": [one.effective_dimension for one in self.analyses],
            }
        ).set_index("class")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "shares": dict(zip(self.names, self.shares.tolist(), strict=True)),
            "latent_entropy": self.latent_entropy.tolist(),
            "total_entropy": self.total_entropy,
            "total_correlation": self.total_correlation,
            "pairwise_mutual_information": self.pairwise_mutual_information.tolist(),
            "order": self.order.tolist(),
            "classes": {name: one.to_dict() for name, one in zip(self.names, self.analyses, strict=True)},
        }

    def to_html(self, path: str | Path, *, pictures: Mapping[str, DecoderPictures] | None = None) -> Path:
        """Write one self-contained page.

        Args:
            path: Where to.
            pictures: Pictures from :func:`unbraid.manifold.draw_classes`; without them the page has numbers only.
        """
        return write_text(path, page_of(self, pictures=pictures))

    def __repr__(self) -> str:
        return self.table().to_string(float_format=lambda value: f"{value:.3f}")

    def _mean(self, values: Sequence[FloatArray]) -> FloatArray:
        found: FloatArray = np.tensordot(self.shares, np.stack(values), axes=1)
        return found


def analyze_classes(
    decoder: Any,
    *,
    n_classes: int | None = None,
    names: Sequence[str] | None = None,
    shares: Any = None,
    latent_dim: int | None = None,
    n_samples: int = 200,
    partition: PartitionLike = None,
    prior: GaussianMixture | None = None,
    mode: str = "auto",
    dtype: str | None = None,
    device: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
    seed: int = 0,
    progress: Show = None,
) -> ClassAnalysis:
    """Measure a decoder at each class, or at each component of a mixture, in one call.

    Args:
        decoder: A function of latents and classes ``(rows,)``, counted from 0, as ``Flow.decode`` of a cINN; a list or
            mapping of decoders, one for each class; or, with a mixture as ``prior``, a function of latents alone.
        n_classes: Number of classes; may be left out where decoders or a mixture determine it.
        names: Of the classes; by default numbers, or the keys of a mapping.
        shares: Share of each class in the means; by default the weights of the mixture, or equal.
        latent_dim: As in :func:`unbraid.manifold.analyze`.
        n_samples: Latents to draw for each class.
        partition: As in :func:`unbraid.manifold.analyze`.
        prior: A mixture with one component for each class, as a GIN has it; a standard normal by default.
        mode: As there.
        dtype: As there.
        device: As there.
        memory: As there.
        seed: Same seed, same latents; every class has the same draws.
        progress: Whether to show bars; by default on a terminal.

    Returns:
        An analysis for each class, and their means.

    Raises:
        TypeError: As in :func:`unbraid.manifold.analyze`.
        ValueError: Numbers of classes that do not fit, bad shares, or as in :func:`unbraid.manifold.analyze`.
    """
    decoders, found_names = _decoders(decoder, n_classes, prior)
    labels = tuple(str(name) for name in (names if names is not None else found_names))
    if len(labels) != len(decoders) or len(set(labels)) < len(labels):
        raise ValueError(f"names must be {len(decoders)} different ones, one for each class, got {list(labels)}.")
    if prior is not None and len(prior.weights) != len(decoders):
        raise ValueError(f"prior must have a component for each of {len(decoders)} classes, got {len(prior.weights)}.")
    analyses = tuple(
        analyze(
            one,
            latent_dim=latent_dim,
            n_samples=n_samples,
            partition=partition,
            prior=component,
            mode=mode,
            dtype=dtype,
            device=device,
            memory=memory,
            seed=seed,
            progress=progress,
        )
        for one, component in zip(decoders, class_priors(prior, len(decoders)), strict=True)
    )
    return ClassAnalysis(names=labels, shares=_shares(shares, prior, len(decoders)), analyses=analyses)


def class_decoders(decoder: Any, n_classes: int, prior: GaussianMixture | None) -> Sequence[Any]:
    """Return a decoder of latents for each class, as :func:`analyze_classes` measures them."""
    return _decoders(decoder, n_classes, prior)[0]


def class_priors(prior: GaussianMixture | None, n_classes: int) -> list[GaussianMixture | None]:
    """Return the prior of each class: a component of the mixture, or ``None`` for a standard normal."""
    if prior is None:
        return [None] * n_classes
    return [GaussianMixture(prior.means[k : k + 1], prior.deviations[k : k + 1]) for k in range(n_classes)]


def _decoders(
    decoder: Any, n_classes: int | None, prior: GaussianMixture | None
) -> tuple[Sequence[Any], Sequence[str]]:
    """Return a decoder of latents for each class, and names."""
    if isinstance(decoder, Mapping):
        return list(decoder.values()), list(decoder)
    if isinstance(decoder, Sequence):
        return list(decoder), [str(k) for k in range(len(decoder))]
    n = n_classes if n_classes is not None else None if prior is None else len(prior.weights)
    if n is None:
        raise ValueError("n_classes must be given, or decoders for each class, or a mixture as prior.")
    check_at_least("n_classes", n, 1)
    takes_class = not isinstance(prior, GaussianMixture) or _takes_two(decoder)
    decoders = [_at_class(decoder, k) if takes_class else decoder for k in range(n)]
    return decoders, [str(k) for k in range(n)]


def _takes_two(decoder: Any) -> bool:
    """Return whether a function can be called with latents and classes, as far as its signature shows."""
    call = decoder.forward if hasattr(decoder, "forward") else decoder
    try:
        parameters = list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):
        return False
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len(places) > 1


def _at_class(decoder: Callable[..., Any], label: int) -> Callable[[Any], Any]:
    """Return a decoder of latents, from one of latents and classes."""

    def decode(z: Any) -> Any:
        import torch

        return decoder(z, torch.full((len(z),), label, device=z.device))

    return decode


def _shares(given: Any, prior: GaussianMixture | None, n: int) -> FloatArray:
    if given is None:
        return np.full(n, 1 / n) if prior is None else prior.weights
    found = np.asarray(given, dtype=np.float64)
    if found.shape != (n,) or not (found >= 0).all() or not found.sum() > 0:
        raise ValueError(f"shares must be {n} numbers that are not negative, got {found.tolist()}.")
    shares: FloatArray = found / found.sum()
    return shares
