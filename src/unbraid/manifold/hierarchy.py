"""Total correlation of sets of sets of latents: between the outer sets, and within each of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.arrays import FloatArray
from unbraid._base.progress import Show, track
from unbraid._base.record import JsonResult, provenance
from unbraid.evidence.jacobians.budget import DEFAULT_MEMORY
from unbraid.evidence.jacobians.priors import draw_latents
from unbraid.evidence.jacobians.sources import decoder_jacobians
from unbraid.evidence.jacobians.statistics import collect
from unbraid.manifold.quantities import Partition, estimate, make_partition

Nested = Mapping[str, Mapping[str, Iterable[int]]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hierarchy(JsonResult):
    """Total correlations of sets of sets, in nats; ``total`` is ``between`` and all of ``within`` together.

    Attributes:
        names: Of the outer sets.
        total: Total correlation of all inner sets.
        total_error: Its standard error over samples.
        between: Total correlation of the outer sets.
        between_error: Its standard error.
        within: Total correlation of the inner sets of each outer set, ``(n_outer,)``; 0 for a single one.
        within_error: Its standard error.
        meta: Sizes, options, seed, versions and seconds.
    """

    names: tuple[str, ...]
    total: float
    total_error: float
    between: float
    between_error: float
    within: FloatArray
    within_error: FloatArray
    meta: Mapping[str, Any]

    def table(self) -> pd.DataFrame:
        """One row for the outer sets, one for the inner sets of each, one for all inner sets."""
        return pd.DataFrame(
            {
                "sets": ["between", *(f"within {name}" for name in self.names), "total"],
                "total_correlation": [self.between, *self.within, self.total],
                "error": [self.between_error, *self.within_error, self.total_error],
            }
        ).set_index("sets")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "total": {"value": self.total, "error": self.total_error},
            "between": {"value": self.between, "error": self.between_error},
            "within": {
                name: {"value": float(value), "error": float(error)}
                for name, value, error in zip(self.names, self.within, self.within_error, strict=True)
            },
            "meta": dict(self.meta),
        }

    def __repr__(self) -> str:
        return self.table().to_string(float_format=lambda value: f"{value:.4f}")


def hierarchy(
    decoder: Any,
    sets: Nested,
    *,
    latent_dim: int | None = None,
    n_samples: int = 200,
    prior: Any = None,
    mode: str = "auto",
    dtype: str | None = None,
    device: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
    seed: int = 0,
    progress: Show = None,
) -> Hierarchy:
    r"""Split the total correlation of inner sets into that between outer sets and that within each of them.

    By Eq. A.31 the total correlation of the inner sets is :math:`\sum_s E[\log |J_s|] - E[\log |J|]`. With the volumes
    of the outer sets :math:`S` added and taken off, it is the sum of

    .. math::

        \sum_S E[\log |J_S|] - E[\log |J|] \qquad \text{and, for each } S, \qquad
        \sum_{s \in S} E[\log |J_s|] - E[\log |J_S|].

    Args:
        decoder: As in :func:`unbraid.manifold.analyze`.
        sets: For each outer set its inner sets, such as ``{"shape": {"a": [0], "b": [1, 2]}, "rest": {"c": [3]}}``;
            every latent in one inner set.
        latent_dim: As in :func:`unbraid.manifold.analyze`.
        n_samples: Latents to draw.
        prior: As in :func:`unbraid.manifold.analyze`.
        mode: As there.
        dtype: As there.
        device: As there.
        memory: As there.
        seed: Same seed, same latents.
        progress: Whether to show a bar; by default on a terminal.

    Returns:
        The three kinds of total correlation, with standard errors.

    Raises:
        TypeError: As in :func:`unbraid.manifold.analyze`.
        ValueError: Sets that do not cover the latents or overlap, or as in :func:`unbraid.manifold.analyze`.
    """
    started = time.perf_counter()
    drawn = draw_latents(prior, n_samples, latent_dim, np.random.default_rng(seed))
    inner, owners = _inner_sets(sets, drawn.z.shape[1])
    outer = [np.concatenate([inner.sets[i] for i in members]) for members in owners]
    source = decoder_jacobians(decoder, drawn, mode=mode, dtype=dtype, device=device, memory=memory)
    with track(-(-source.n_samples // source.chunk_size), progress, doing="analysing") as bar:
        found = collect(source, [*inner.sets, *outer], advance=bar.advance)
    small, large = np.split(found.set_log_volumes, [len(inner.sets)], axis=1)
    within = np.stack([small[:, members].sum(axis=1) - large[:, k] for k, members in enumerate(owners)], axis=1)
    kinds = estimate(within)
    between, total = estimate(large.sum(axis=1) - found.log_volumes), estimate(small.sum(axis=1) - found.log_volumes)
    return Hierarchy(
        names=tuple(str(name) for name in sets),
        total=float(total.value),
        total_error=float(total.error),
        between=float(between.value),
        between_error=float(between.error),
        within=kinds.value,
        within_error=kinds.error,
        meta={
            "latent_dim": source.latent_dim,
            "n_samples": source.n_samples,
            **provenance(seed=seed, started=started),
        },
    )


def _inner_sets(sets: Nested, latent_dim: int) -> tuple[Partition, list[list[int]]]:
    """Return the inner sets as a partition, and which of them each outer set has."""
    if not isinstance(sets, Mapping) or not all(isinstance(one, Mapping) and one for one in sets.values()):
        raise ValueError("sets must be a mapping from outer sets to mappings from inner sets to latents.")
    flat = {f"{outer}/{name}": members for outer, inside in sets.items() for name, members in inside.items()}
    sizes = [len(inside) for inside in sets.values()]
    ends = np.cumsum(sizes)
    return make_partition(flat, latent_dim), [
        list(range(end - size, end)) for end, size in zip(ends, sizes, strict=True)
    ]
