"""The knee of a spectrum of entropies: how many latents lie before its largest fall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid._base.checks import check_at_least, to_array

#: Entropies below count as this many nats, so that the fall to a latent that moves nothing is a number.
LOWEST = -100.0
#: Nats that the largest fall must have to be a knee: a movement 2.7 times shorter from one latent to the next.
LEAST_FALL = 1.0


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
