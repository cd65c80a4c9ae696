"""Mutual information across the latents of two decoders."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid._base.files import write_text
from unbraid._base.optional import require
from unbraid._base.pages import page_of
from unbraid._base.progress import Show, track
from unbraid._base.record import JsonResult, provenance
from unbraid.evidence.jacobians.budget import DEFAULT_MEMORY
from unbraid.evidence.jacobians.priors import draw_latents
from unbraid.evidence.jacobians.sources import JacobianSource, precomputed
from unbraid.evidence.jacobians.statistics import collect_across
from unbraid.manifold import quantities
from unbraid.manifold.quantities import Partition, PartitionLike, make_partition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManifoldComparison(JsonResult):
    """Mutual information across two decoders, in nats, with standard errors over samples.

    Attributes:
        n_samples: Points compared.
        cross_mutual_information: Of latent i of ``a`` and latent j of ``b``, ``(latent_a, latent_b)`` (Eq. 11,
            A.33); NaN where one of them is inactive.
        cross_mutual_information_error: Its standard error.
        partition_a: Sets of latents of ``a``; every latent by default.
        partition_b: The same for ``b``.
        set_cross_mutual_information: Of every set of ``a`` and every set of ``b``, ``(n_sets_a, n_sets_b)`` (A.33);
            ``None`` without partitions.
        set_cross_mutual_information_error: Its standard error.
        pearson: Correlation of latent i of ``a`` with what the encoder of ``b`` makes of the data, or ``None``
            without an encoder (D.28, with standard deviations).
        entropy_a: Of each latent of ``a``.
        entropy_b: Of each latent of ``b``.
        active_a: Which latents of ``a`` move the data in every sample.
        active_b: The same for ``b``.
        order_a: Latents of ``a`` from the highest entropy to the lowest.
        order_b: The same for ``b``.
        notes: Limits of the numbers, in sentences.
        meta: Sizes, options, seed, versions and seconds.
    """

    n_samples: int
    cross_mutual_information: FloatArray
    cross_mutual_information_error: FloatArray
    partition_a: Partition
    partition_b: Partition
    set_cross_mutual_information: FloatArray | None
    set_cross_mutual_information_error: FloatArray | None
    pearson: FloatArray | None
    entropy_a: FloatArray
    entropy_b: FloatArray
    active_a: BoolArray
    active_b: BoolArray
    order_a: IntArray
    order_b: IntArray
    notes: tuple[str, ...]
    meta: Mapping[str, Any]

    def sorted_cross_mutual_information(self) -> FloatArray:
        """Return the matrix with the latents of both from the most important to the least."""
        return self.cross_mutual_information[np.ix_(self.order_a, self.order_b)]

    def table(self) -> pd.DataFrame:
        """One row for each latent of ``a``, most important first: the latent of ``b`` it shares most with."""
        shared = np.where(np.isnan(self.cross_mutual_information), -np.inf, self.cross_mutual_information)
        partner, most = shared.argmax(axis=1), shared.max(axis=1)
        alone = ~np.isfinite(most)
        errors = self.cross_mutual_information_error[np.arange(len(partner)), partner]
        columns: dict[str, Any] = {
            "latent": np.arange(len(partner)),
            "entropy": self.entropy_a,
            "nearest": pd.array([None if lost else int(j) for lost, j in zip(alone, partner, strict=True)], "Int64"),
            "mutual_information": np.where(alone, np.nan, most),
            "error": np.where(alone, np.nan, errors),
        }
        if self.pearson is not None:
            columns["pearson"] = np.where(alone, np.nan, self.pearson[np.arange(len(partner)), partner])
        return pd.DataFrame(columns).iloc[self.order_a].set_index("latent")

    def set_table(self) -> pd.DataFrame:
        """Return the mutual information of every set of ``a``, a row, and every set of ``b``, a column.

        Raises:
            ValueError: No partitions were given.
        """
        if self.set_cross_mutual_information is None:
            raise ValueError("set_table needs partitions; give partition_a or partition_b to compare.")
        return pd.DataFrame(
            self.set_cross_mutual_information, index=self.partition_a.names, columns=self.partition_b.names
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "cross_mutual_information": {
                "value": self.cross_mutual_information.tolist(),
                "error": self.cross_mutual_information_error.tolist(),
            },
            "set_cross_mutual_information": None
            if self.set_cross_mutual_information is None or self.set_cross_mutual_information_error is None
            else {
                "value": self.set_cross_mutual_information.tolist(),
                "error": self.set_cross_mutual_information_error.tolist(),
                "sets_a": _members(self.partition_a),
                "sets_b": _members(self.partition_b),
            },
            "pearson": None if self.pearson is None else self.pearson.tolist(),
            "entropy_a": self.entropy_a.tolist(),
            "entropy_b": self.entropy_b.tolist(),
            "active_a": self.active_a.tolist(),
            "active_b": self.active_b.tolist(),
            "order_a": self.order_a.tolist(),
            "order_b": self.order_b.tolist(),
            "notes": list(self.notes),
            "meta": dict(self.meta),
        }

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page with the matrices."""
        return write_text(path, page_of(self))

    def __repr__(self) -> str:
        return self.table().to_string(float_format=lambda value: f"{value:.3f}", na_rep="")


def _members(partition: Partition) -> dict[str, list[int]]:
    return {name: members.tolist() for name, members in zip(partition.names, partition.sets, strict=True)}


def compare(
    a: Any,
    b: Any,
    *,
    latent_dim: int | None = None,
    n_samples: int = 1000,
    partition_a: PartitionLike = None,
    partition_b: PartitionLike = None,
    encoder: Any = None,
    at: str = "auto",
    prior: Any = None,
    mode: str = "auto",
    dtype: str | None = None,
    device: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
    seed: int = 0,
    progress: Show = None,
) -> ManifoldComparison:
    r"""Measure which latents of two decoders move the data in the same directions.

    With :math:`\theta_{ij}` the angle between column i of one Jacobian and column j of the other, the cross mutual
    information is :math:`E[-\tfrac12 \log(1 - \cos^2\theta_{ij})]` (Eq. 11 and A.33). Where two latents do the same
    it is infinite, and shown up to the numerical precision: 18 nats in float64, 8 in float32.

    Args:
        a: A torch module or function, often the truth; or Jacobians ``(n_samples, data, latent)``, then ``b`` too.
        b: The decoder to compare, with outputs of the same size.
        latent_dim: Number of latents ``a`` takes.
        n_samples: Latents of ``a`` to draw.
        partition_a: Sets of latents of ``a``, as ``partition`` of :func:`analyze`. With this or ``partition_b`` the
            mutual information of every set of ``a`` and every set of ``b`` is found too,
            :math:`E[\log|J^a_S| + \log|J^b_T| - \log|J^{ab}_{ST}|]` (A.33).
        partition_b: The same for ``b``.
        encoder: From the outputs of ``a`` to the latents of ``b``. Gives the Pearson matrix, and lets both Jacobians
            be taken at the same data.
        at: ``"data"`` compares at the same data, for which it takes the encoder; ``"latents"`` gives both decoders
            the same latents, as Eq. 11 is printed, which means something only where the two agree on what each
            latent is. ``"auto"`` is the first with an encoder and the second without.
        prior: Where latents of ``a`` come from, as in :func:`analyze`.
        mode: As in :func:`analyze`.
        dtype: As in :func:`analyze`.
        device: As in :func:`analyze`.
        memory: As in :func:`analyze`, for both together.
        seed: Same seed, same latents, on any device.
        progress: Whether to show a bar; by default on a terminal.

    Returns:
        The matrix of mutual information, its errors, both orders of importance, and the Pearson matrix.

    Raises:
        TypeError: As in :func:`analyze`.
        ValueError: As in :func:`analyze`, or outputs of different sizes.

    References:
        Galperin and Köthe (2025), sec. 4 and app. A.12, D.3. https://arxiv.org/abs/2410.19426

    Example:
        >>> import numpy as np
        >>> turned = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)  # by 45 degrees
        >>> found = compare(np.stack([np.eye(2)] * 2), np.stack([turned] * 2))
        >>> found.cross_mutual_information.round(6).tolist()
        [[0.346574, 0.346574], [0.346574, 0.346574]]
    """
    started = time.perf_counter()
    check_at_least("seed", seed, 0)
    check_choice("at", at, ("auto", "data", "latents"))
    pearson: FloatArray | None = None
    place = "jacobians"
    if not callable(a) and not callable(b):
        sources: tuple[JacobianSource, JacobianSource] = (precomputed(a, memory=memory), precomputed(b, memory=memory))
    else:
        require("a decoder", "torch", extra="torch", otherwise="give its Jacobians")
        from unbraid.manifold.pair import make_pair

        place = ("data" if encoder is not None else "latents") if at == "auto" else at
        latents = draw_latents(prior, n_samples, latent_dim, np.random.default_rng(seed))
        pair = make_pair(a, b, latents, encoder=encoder, at=place, mode=mode, dtype=dtype, device=device, memory=memory)
        sources, pearson = pair.sources, pair.pearson
    _check_alike(*sources)
    parts = make_partition(partition_a, sources[0].latent_dim), make_partition(partition_b, sources[1].latent_dim)
    sets = None if all(one.is_default for one in parts) else (parts[0].sets, parts[1].sets)
    with track(-(-sources[0].n_samples // sources[0].chunk_size), progress, doing="comparing") as bar:
        found = collect_across(*sources, sets=sets, advance=bar.advance)
    between = None if found.set_information is None else quantities.estimate(found.set_information)
    entropy_a, entropy_b = (
        quantities.latent_entropy(lengths, active).value
        for lengths, active in ((found.log_lengths_a, found.active_a), (found.log_lengths_b, found.active_b))
    )
    return ManifoldComparison(
        n_samples=sources[0].n_samples,
        cross_mutual_information=found.information,
        cross_mutual_information_error=found.information_error,
        partition_a=parts[0],
        partition_b=parts[1],
        set_cross_mutual_information=None if between is None else between.value,
        set_cross_mutual_information_error=None if between is None else between.error,
        pearson=pearson,
        entropy_a=entropy_a,
        entropy_b=entropy_b,
        active_a=found.active_a,
        active_b=found.active_b,
        order_a=quantities.importance_order(entropy_a),
        order_b=quantities.importance_order(entropy_b),
        notes=_notes(found.active_a, found.active_b),
        meta={
            "latent_dim": [sources[0].latent_dim, sources[1].latent_dim],
            "n_samples": sources[0].n_samples,
            "output_shape": list(sources[0].output_shape),
            "at": place,
            **provenance(seed=seed, started=started),
        },
    )


def _check_alike(a: JacobianSource, b: JacobianSource) -> None:
    sizes = int(np.prod(a.output_shape)), int(np.prod(b.output_shape))
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"a and b must give outputs of the same size, got {a.output_shape} and {b.output_shape}; compare "
            "decoders of the same data."
        )
    if a.n_samples != b.n_samples:
        raise ValueError(f"a and b must have the same samples, got {a.n_samples} and {b.n_samples}.")


def _notes(active_a: BoolArray, active_b: BoolArray) -> tuple[str, ...]:
    named = (("a", np.flatnonzero(~active_a)), ("b", np.flatnonzero(~active_b)))
    return tuple(
        f"Inactive in {name}: {quantities.latent_names(inactive)}." for name, inactive in named if len(inactive)
    )
