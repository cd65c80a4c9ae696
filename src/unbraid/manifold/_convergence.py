"""How the numbers settle as samples are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from unbraid._typing import BoolArray, FloatArray
from unbraid.manifold._quantities import UNIT_ENTROPY, estimate

SMALLEST = 4


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
        """Return what is averaged over samples, by name."""
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
