"""Entropies, total correlation, effective dimension, partitions of latents, and the knee of a spectrum of entropies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, to_array
from unbraid._base.text import listing

# Entropy of one standard normal variable, in nats.
UNIT_ENTROPY = 0.5 * (1.0 + math.log(2.0 * math.pi))
#: Entropies below count as this many nats, so that the fall to a latent that moves nothing is a number.
LOWEST = -100.0
#: Nats that the largest fall must have to be a knee: a movement 2.7 times shorter from one latent to the next.
LEAST_FALL = 1.0


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
        n_latents: Number of active latents each set has, ``(n_sets,)``; with none the entropy is minus infinity.
    """
    found = estimate(log_volumes)
    empty = n_latents == 0
    return Estimate(
        np.where(empty, -np.inf, found.value + n_latents * UNIT_ENTROPY), np.where(empty, np.nan, found.error)
    )


def latent_entropy(log_lengths: FloatArray, active: BoolArray) -> Estimate:
    """Return the entropy of each latent alone (Eq. 8); minus infinity for an inactive one."""
    return entropy(np.where(active, log_lengths, 0.0), active.astype(np.float64))


def total_correlation_samples(set_log_volumes: FloatArray, log_volumes: FloatArray) -> FloatArray:
    r"""Return :math:`\sum_S \log|J_S| - \log|J|` for each sample (Eq. A.31)."""
    found: FloatArray = set_log_volumes.sum(axis=1) - log_volumes
    # Never negative in exact arithmetic; sums of logarithms, some in single precision, leave rounding errors.
    rounding = 1e-6 * max(1.0, float(np.abs(set_log_volumes).sum(axis=1).max()))
    return np.where((found < 0) & (found > -rounding), 0.0, found)


def latent_names(positions: IntArray) -> str:
    """Join the names of some latents, given by their numbers, for a sentence."""
    return listing([f"z{i}" for i in positions], most=10)


def importance_order(entropies: FloatArray) -> IntArray:
    """Return latents from the highest entropy to the lowest."""
    return np.argsort(-entropies, kind="stable")


def effective_dimension(log_lengths: FloatArray, active: BoolArray) -> Estimate:
    r"""Return the effective number of latents, from 1 to the number of active ones.

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


PartitionLike: TypeAlias = Mapping[str, Iterable[int]] | Sequence[Iterable[int]] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """Every latent in one set.

    Attributes:
        names: One for each set.
        sets: Positions of the latents of each set.
        is_default: Whether every latent is a set of its own because nothing else was asked for.
    """

    names: tuple[str, ...]
    sets: tuple[IntArray, ...]
    is_default: bool


def make_partition(partition: PartitionLike, latent_dim: int) -> Partition:
    """Check a partition; without one, every latent is a set of its own.

    Raises:
        ValueError: A latent that is in no set, in two, or not there, or a set without latents.

    Example:
        >>> make_partition({"core": range(2), "rest": [3, 2]}, 4).names
        ('core', 'rest')
    """
    if partition is None:
        singles = tuple(np.array([i], dtype=np.intp) for i in range(latent_dim))
        return Partition(names=tuple(f"z{i}" for i in range(latent_dim)), sets=singles, is_default=True)
    if isinstance(partition, Mapping):
        names = tuple(str(name) for name in partition)
        members = list(partition.values())
    else:
        members = list(partition)
        names = tuple(f"set {k}" for k in range(len(members)))
    sets = tuple(_positions(name, one) for name, one in zip(names, members, strict=True))
    _check_cover(sets, latent_dim)
    return Partition(names=names, sets=sets, is_default=False)


def chosen_latents(latents: Iterable[int] | None, latent_dim: int) -> IntArray:
    """Check the latents to measure; without any, all of them.

    Raises:
        ValueError: A latent that is not there or is named twice, or none at all.

    Example:
        >>> chosen_latents([5, 2], 8).tolist()
        [2, 5]
    """
    if latents is None:
        return np.arange(latent_dim, dtype=np.intp)
    found = _positions("latents", latents, argument="latents")
    outside = found[(found < 0) | (found >= latent_dim)]
    if len(outside):
        raise ValueError(f"latents must be from 0 to {latent_dim - 1}, got {int(outside[0])}.")
    if len(np.unique(found)) < len(found):
        raise ValueError(f"latents must be different numbers, got {found.tolist()}.")
    return found


def partition_among(partition: PartitionLike, latents: IntArray) -> Partition:
    """Check a partition of some latents, given by their numbers; its sets are positions among those latents.

    Raises:
        ValueError: As :func:`make_partition`, or a latent that is not measured.

    Example:
        >>> [one.tolist() for one in partition_among([[7], [2, 5]], np.array([2, 5, 7])).sets]
        [[2], [0, 1]]
    """
    n = len(latents)
    if partition is None:
        names = tuple(f"z{i}" for i in latents)
        return Partition(names=names, sets=tuple(np.array([i], dtype=np.intp) for i in range(n)), is_default=True)
    if np.array_equal(latents, np.arange(n)):
        return make_partition(partition, n)
    place = {int(latent): position for position, latent in enumerate(latents)}
    named = partition if isinstance(partition, Mapping) else {f"set {k}": one for k, one in enumerate(partition)}
    moved = {}
    for name, members in named.items():
        found = _positions(str(name), members)
        lost = [int(i) for i in found if int(i) not in place]
        if lost:
            raise ValueError(f"partition must use the latents that are measured, got {lost[0]} in {str(name)!r}.")
        moved[str(name)] = [place[int(i)] for i in found]
    return make_partition(moved, n)


def _positions(name: str, members: Iterable[int], *, argument: str = "partition") -> IntArray:
    try:
        listed = [members] if isinstance(members, int | np.integer) else list(members)
        if not all(isinstance(one, int | np.integer) for one in listed):
            raise TypeError
    except TypeError as error:
        raise ValueError(f"{argument} must be sets of latent numbers, got {members!r} for {name!r}.") from error
    if not listed:
        raise ValueError(f"{argument} must have latents in every set, got none in {name!r}; leave it out.")
    return np.sort(np.array(listed, dtype=np.intp))


def _check_cover(sets: tuple[IntArray, ...], latent_dim: int) -> None:
    given = np.concatenate(sets) if sets else np.zeros(0, dtype=np.intp)
    outside = sorted({int(i) for i in given if not 0 <= i < latent_dim})
    if outside:
        raise ValueError(f"partition must use latents 0 to {latent_dim - 1}, got {outside[0]}.")
    counts = np.bincount(given, minlength=latent_dim)
    if (counts > 1).any():
        raise ValueError(f"partition must have every latent in one set, got {int(counts.argmax())} in more than one.")
    if (counts == 0).any():
        missing = np.flatnonzero(counts == 0)[:10].tolist()
        raise ValueError(
            f"partition must have every latent in a set, but {missing} are in none; add a set for the rest."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """The largest fall of entropies that are sorted from the highest to the lowest.

    Attributes:
        n_before: Latents before it.
        fall: Nats from the last of them to the next.
    """

    n_before: int
    fall: float


def knee(entropies: Any, *, least_fall: float = LEAST_FALL) -> Knee | None:
    """Find the knee of a spectrum, an estimate of the dimension of the data after training (app. A.14 of the paper).

    Args:
        entropies: Of the latents, in any order; minus infinity for one that moves nothing.
        least_fall: Nats that a fall must have to be a knee.

    Returns:
        The largest fall; ``None`` where no fall is large enough.

    Raises:
        ValueError: No entropies, or NaN among them.

    Example:
        >>> knee([2.0, -1.1, 1.8, -1.0])
        Knee(n_before=2, fall=2.8)
        >>> knee([2.0, 1.8, 1.5]) is None
        True
    """
    found = np.asarray(to_array(entropies), dtype=np.float64).ravel()
    check_at_least("number of entropies", len(found), 1)
    if np.isnan(found).any():
        raise ValueError("entropies must be numbers, got NaN; leave these latents out.")
    falls = -np.diff(np.sort(np.maximum(found, LOWEST))[::-1])
    if not falls.size or falls.max() < least_fall:
        return None
    return Knee(n_before=int(falls.argmax()) + 1, fall=float(falls.max()))
