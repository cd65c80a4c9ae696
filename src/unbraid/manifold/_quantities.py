"""Entropies and correlations from what each sample's Jacobian says; plain NumPy."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unbraid._typing import BoolArray, FloatArray, IntArray

# Entropy of one standard normal variable, in nats.
UNIT_ENTROPY = 0.5 * (1.0 + math.log(2.0 * math.pi))


class Estimate(NamedTuple):
    """A mean over samples, and its standard error."""

    value: FloatArray
    error: FloatArray


def estimate(samples: FloatArray) -> Estimate:
    """Return the mean over the first axis and its standard error."""
    n = len(samples)
    return Estimate(samples.mean(axis=0), samples.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else samples[0] * np.nan)


def entropy(log_volumes: FloatArray, n_latents: FloatArray) -> Estimate:
    r"""Return :math:`\tfrac{|S|}{2}(1 + \log 2\pi) + E[\log|J_S|]` for each set (Eq. A.23).

    Args:
        log_volumes: ``(n_samples, n_sets)``.
        n_latents: How many active latents each set has, ``(n_sets,)``; with none the entropy is minus infinity.
    """
    found = estimate(log_volumes)
    empty = n_latents == 0
    return Estimate(
        np.where(empty, -np.inf, found.value + n_latents * UNIT_ENTROPY), np.where(empty, np.nan, found.error)
    )


def latent_entropy(log_lengths: FloatArray, active: BoolArray) -> Estimate:
    """Return the entropy of each latent alone (Eq. 8); minus infinity for one that stands still."""
    return entropy(np.where(active, log_lengths, 0.0), active.astype(np.float64))


def total_correlation_samples(set_log_volumes: FloatArray, log_volumes: FloatArray) -> FloatArray:
    r"""Return :math:`\sum_S \log|J_S| - \log|J|` for each sample (Eq. A.31)."""
    found: FloatArray = set_log_volumes.sum(axis=1) - log_volumes
    # Never negative on paper; sums of logarithms, some in single precision, leave a little rounding error.
    rounding = 1e-6 * max(1.0, float(np.abs(set_log_volumes).sum(axis=1).max()))
    return np.where((found < 0) & (found > -rounding), 0.0, found)


def importance_order(entropies: FloatArray) -> IntArray:
    """Return latents from the highest entropy to the lowest."""
    return np.argsort(-entropies, kind="stable")


def effective_dimension(log_lengths: FloatArray, active: BoolArray) -> Estimate:
    r"""Return how many latents share the movement of the data, from 1 to the number of active ones.

    With :math:`p_i` proportional to :math:`\exp(2 H(q_i))`, for PCA the share of variance :math:`\lambda_i / \sum_j
    \lambda_j`, it is :math:`\exp(-\sum_i p_i \log p_i)`, the effective rank of Roy and Vetterli (2007). The error is
    that of its first-order change with the mean log-lengths.
    """
    moving = log_lengths[:, active]
    mean = moving.mean(axis=0)
    shares = np.exp(2.0 * (mean - mean.max()))
    shares /= shares.sum()
    logs = np.log(np.maximum(shares, np.finfo(np.float64).tiny))
    spread = -float(shares @ logs)
    size = math.exp(spread)
    slopes = -2.0 * size * shares * (logs + spread)
    return Estimate(np.float64(size), estimate((moving - mean) @ slopes).error)  # type: ignore[arg-type]
