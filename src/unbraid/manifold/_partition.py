"""Sets of latents that are measured together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unbraid._typing import IntArray

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


def _positions(name: str, members: Iterable[int]) -> IntArray:
    try:
        listed = [members] if isinstance(members, int | np.integer) else list(members)
        if not all(isinstance(one, int | np.integer) for one in listed):
            raise TypeError
    except TypeError as error:
        raise ValueError(f"partition must be sets of latent numbers, got {members!r} for {name!r}.") from error
    if not listed:
        raise ValueError(f"partition must have latents in every set, got none in {name!r}; leave it out.")
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
