"""Result of a manifold analysis: entropies, tables, convergence, JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.files import write_text
from unbraid._base.pages import page_of
from unbraid._base.record import JsonResult
from unbraid.manifold.quantities import UNIT_ENTROPY, Partition, estimate

SMALLEST = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecoderPictures:
    """Pictures of a decoder.

    Attributes:
        latents: Which latents are shown, most important first.
        mean_jacobian: For each of them, how the image changes on average (Eq. E.2), ``(n, height, width, channels)``;
            ``None`` where outputs are not images.
        traversals: Images along each of them, all others at their mean, ``(n, n_steps, height, width, channels)``.
        steps: Where along the latent, in standard deviations.
        contours: For two latents and two outputs, the curves on which one of them is fixed,
            ``(2, n_curves, n_points, 2)``; ``None`` elsewhere.
    """

    latents: IntArray
    mean_jacobian: FloatArray | None
    traversals: FloatArray | None
    steps: FloatArray
    contours: FloatArray | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleRecord:
    """The few numbers kept for each sample.

    Attributes:
        log_lengths: Logarithm of each Jacobian column's length, ``(n_samples, latent)``.
        log_volumes: Logarithm of the whole volume, ``(n_samples,)``.
        total_correlation: Of each sample, in nats.
        mean_pair_information: Mean mutual information over pairs of latents, of each sample.
        active: Which latents count.
    """

    log_lengths: FloatArray
    log_volumes: FloatArray
    total_correlation: FloatArray
    mean_pair_information: FloatArray
    active: BoolArray

    def quantities(self) -> dict[str, FloatArray]:
        """Return the quantities that are averaged over samples, by name."""
        n_active = int(self.active.sum())
        return {
            "total_entropy": self.log_volumes + n_active * UNIT_ENTROPY,
            "mean_manifold_entropy": self.log_lengths[:, self.active].mean(axis=1) + UNIT_ENTROPY,
            "total_correlation": self.total_correlation,
            "mean_pairwise_mutual_information": self.mean_pair_information,
        }


def convergence_table(samples: SampleRecord, sizes: Sequence[int] | None = None) -> pd.DataFrame:
    """Return value, error and variance between runs, for each quantity and number of samples."""
    n = len(samples.log_volumes)
    wanted = _default_sizes(n) if sizes is None else sorted({int(size) for size in sizes})
    if not wanted or wanted[0] < 2 or wanted[-1] > n:
        raise ValueError(f"sizes must be numbers from 2 to {n}, the samples there are, got {list(sizes or ())}.")
    rows = []
    for name, values in samples.quantities().items():
        for size in wanted:
            found = estimate(values[:size])
            runs = values[: n // size * size].reshape(-1, size).mean(axis=1)
            rows.append(
                {
                    "quantity": name,
                    "n_samples": size,
                    "value": float(found.value),
                    "error": float(found.error),
                    "runs": len(runs),
                    "variance_between_runs": float(runs.var(ddof=1)) if len(runs) > 1 else np.nan,
                }
            )
    return pd.DataFrame(rows)


def _default_sizes(n: int) -> list[int]:
    sizes = [SMALLEST * 2**k for k in range(40) if SMALLEST * 2**k < n]
    return [*sizes, n]


class LatentRow(NamedTuple):
    """One latent.

    Attributes:
        latent: Its number.
        entropy: In nats; minus infinity for one that is inactive.
        error: Its standard error.
        active: Whether it moves the data in every sample.
        shares_most_with: The latent that moves the data most nearly the same way, if any.
        mutual_information: With that latent, in nats.
    """

    latent: int
    entropy: float
    error: float
    active: bool
    shares_most_with: int | None
    mutual_information: float

    def texts(self) -> tuple[str, str, str, str]:
        """Return name, entropy, partner and mutual information as a table shows them."""
        entropy = f"{self.entropy:.3f} ± {self.error:.3f}" if self.active else "inactive"
        if self.shares_most_with is None:
            return f"z{self.latent}", entropy, "", ""
        return f"z{self.latent}", entropy, f"z{self.shares_most_with}", f"{self.mutual_information:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManifoldAnalysis(JsonResult):
    """Entropies and mutual information of latents, in nats, each with its standard error over samples.

    Attributes:
        n_samples: Latents drawn.
        output_shape: Of one output of the decoder.
        latents: Numbers of the latents that were measured, ``(latent,)``; all of the decoder by default. Arrays below
            have an entry for each of them, in this order.
        partition: The sets that ``manifold_entropy`` and ``total_correlation`` are about; every latent by default.
        active: Which latents move the data in every sample, ``(latent,)``.
        total_entropy: Of the generated data, over active latents (Eq. 7).
        manifold_entropy: Of each set, ``(n_sets,)``; minus infinity for a set of inactive latents (Eq. 8, A.23).
        latent_entropy: Of each latent, ``(latent,)``; the same as ``manifold_entropy`` by default.
        total_correlation: Between the sets; 0 where they are orthogonal everywhere (Eq. 9, A.31).
        pairwise_mutual_information: Of every two latents, ``(latent, latent)`` (Eq. 10, B.32); NaN on the diagonal
            and for inactive latents.
        set_mutual_information: Of every two sets, ``(n_sets, n_sets)`` (Eq. A.27); ``None`` without a partition.
        order: Positions of the latents from the highest entropy to the lowest; their numbers are ``latents[order]``.
        effective_dimension: Effective rank of the latents' variances: the exponential of their entropy.
        samples: The numbers of each sample, for :meth:`convergence`.
        notes: Limits of the numbers, in sentences.
        meta: Sizes, options, seed, versions and seconds.
    """

    n_samples: int
    output_shape: tuple[int, ...]
    latents: IntArray
    partition: Partition
    active: BoolArray
    total_entropy: float
    total_entropy_error: float
    manifold_entropy: FloatArray
    manifold_entropy_error: FloatArray
    latent_entropy: FloatArray
    latent_entropy_error: FloatArray
    total_correlation: float
    total_correlation_error: float
    pairwise_mutual_information: FloatArray
    pairwise_mutual_information_error: FloatArray
    set_mutual_information: FloatArray | None
    set_mutual_information_error: FloatArray | None
    order: IntArray
    effective_dimension: float
    effective_dimension_error: float
    samples: SampleRecord
    notes: tuple[str, ...]
    meta: Mapping[str, Any]

    @property
    def latent_dim(self) -> int:
        """How many latents were measured."""
        return len(self.active)

    @property
    def n_active(self) -> int:
        """How many latents move the data in every sample."""
        return int(self.active.sum())

    @property
    def total_correlation_per_latent(self) -> float:
        """Total correlation divided by the number of active latents: nats per dimension."""
        return self.total_correlation / self.n_active

    @property
    def sorted_entropy(self) -> FloatArray:
        """Entropy of each latent, highest first."""
        return self.latent_entropy[self.order]

    def names(self, positions: IntArray) -> list[str]:
        """Return the names of some of the latents, given by their positions."""
        return [f"z{self.latents[i]}" for i in positions]

    def rows(self) -> list[LatentRow]:
        """Return one row for each latent, most important first."""
        return [self._row(int(latent)) for latent in self.order]

    def _row(self, latent: int) -> LatentRow:
        shared = self.pairwise_mutual_information[latent]
        partner = None if np.isnan(shared).all() else int(np.nanargmax(shared))
        return LatentRow(
            latent=int(self.latents[latent]),
            entropy=float(self.latent_entropy[latent]),
            error=float(self.latent_entropy_error[latent]),
            active=bool(self.active[latent]),
            shares_most_with=None if partner is None else int(self.latents[partner]),
            mutual_information=float("nan") if partner is None else float(shared[partner]),
        )

    def table(self) -> pd.DataFrame:
        """One row for each latent, most important first: entropy, its error, and the latent it shares most with."""
        frame = pd.DataFrame(self.rows(), columns=LatentRow._fields)
        frame["shares_most_with"] = frame["shares_most_with"].astype("Int64")
        return frame.set_index("latent")

    def set_table(self) -> pd.DataFrame:
        """One row for each set of the partition: size, entropy and its error."""
        return pd.DataFrame(
            {
                "set": self.partition.names,
                "latents": [len(one) for one in self.partition.sets],
                "entropy": self.manifold_entropy,
                "error": self.manifold_entropy_error,
            }
        ).set_index("set")

    def convergence(self, sizes: Sequence[int] | None = None) -> pd.DataFrame:
        """Return the convergence of the estimates with the number of samples (Fig. C.1).

        Args:
            sizes: Numbers of samples to look at; by default powers of two, and all.

        Returns:
            For each size and quantity, the value from the first samples, its standard error, and the variance between
            runs of that many samples each, where there are two runs or more.
        """
        return convergence_table(self.samples, sizes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "total_entropy": _with_error(self.total_entropy, self.total_entropy_error),
            "total_correlation": _with_error(self.total_correlation, self.total_correlation_error),
            "total_correlation_per_latent": self.total_correlation_per_latent,
            "effective_dimension": _with_error(self.effective_dimension, self.effective_dimension_error),
            "n_active": self.n_active,
            "active": self.active.tolist(),
            "latents": self.latents.tolist(),
            "order": self.order.tolist(),
            "latent_entropy": _with_error(self.latent_entropy, self.latent_entropy_error),
            "sets": {
                n: self.latents[s].tolist() for n, s in zip(self.partition.names, self.partition.sets, strict=True)
            },
            "manifold_entropy": _with_error(self.manifold_entropy, self.manifold_entropy_error),
            "pairwise_mutual_information": _with_error(
                self.pairwise_mutual_information, self.pairwise_mutual_information_error
            ),
            "set_mutual_information": None
            if self.set_mutual_information is None or self.set_mutual_information_error is None
            else _with_error(self.set_mutual_information, self.set_mutual_information_error),
            "convergence": self.convergence().to_dict(orient="records"),
            "notes": list(self.notes),
            "meta": dict(self.meta),
        }

    def to_html(self, path: str | Path, *, pictures: DecoderPictures | None = None) -> Path:
        """Write one self-contained page.

        Args:
            path: Where to.
            pictures: Pictures from :func:`unbraid.manifold.draw`; without it the page has numbers only.
        """
        return write_text(path, page_of(self, pictures=pictures))

    def __repr__(self) -> str:
        return self.table().to_string(float_format=lambda value: f"{value:.3f}", na_rep="")


def _with_error(value: float | FloatArray, error: float | FloatArray) -> dict[str, Any]:
    return {
        "value": value.tolist() if isinstance(value, np.ndarray) else value,
        "error": error.tolist() if isinstance(error, np.ndarray) else error,
    }
