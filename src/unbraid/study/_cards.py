"""Which of this machine's GPUs a job gets."""

from __future__ import annotations

import os
from collections.abc import Sequence

from unbraid._torch import require_torch

# A card is divided into this many shares, as in Ray, so that ten tenths are a whole.
_SHARES = 10_000


class Cards:
    """The GPUs of one machine and what is free of each.

    Args:
        names: As ``CUDA_VISIBLE_DEVICES`` names them.

    Example:
        >>> cards = Cards(["0", "1"])
        >>> cards.take(0.5), cards.take(0.5), cards.take(1), cards.take(0.25)
        (('0',), ('1',), None, ('0',))
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._free = dict.fromkeys(names, _SHARES)

    def refusal(self, gpus: float) -> str | None:
        """Say why a job can never get what it wants, or ``None`` if it can."""
        return gpus_refusal(gpus, len(self._free), "this machine")

    def take(self, gpus: float, held: Sequence[str] = ()) -> tuple[str, ...] | None:
        """Take a share of one card or several whole ones, if they are free.

        Args:
            gpus: How many.
            held: Cards that would be best, as the worker has them already; then the freest.

        Returns:
            The cards; ``None`` if too few are free now.
        """
        need = _shares(gpus)
        fit = [name for name, free in self._free.items() if free >= min(need, _SHARES)]
        fit.sort(key=lambda name: (name not in held, -self._free[name]))
        count = -(-need // _SHARES)
        if len(fit) < count:
            return None
        for name in fit[:count]:
            self._free[name] -= min(need, _SHARES)
        return tuple(fit[:count])

    def give_back(self, names: Sequence[str], gpus: float) -> None:
        """Undo a ``take``."""
        for name in names:
            self._free[name] += min(_shares(gpus), _SHARES)


def gpus_refusal(gpus: float, n_cards: float, place: str) -> str | None:
    """Say why ``gpus`` can never be had in a place with ``n_cards``, or ``None`` if they can."""
    if not gpus >= 0 or (gpus > 1 and gpus != int(gpus)):
        return f"gpus must be a share between 0 and 1 or a whole number, got {gpus}."
    if gpus > n_cards:
        there = "no GPU" if n_cards == 0 else f"only {n_cards:g}"
        return f"it needs {gpus:g} GPU, and {place} has {there}; set gpus: 0 to run it on the processor."
    return None


def visible_cards() -> list[str]:
    """Name the GPUs that torch sees, as ``CUDA_VISIBLE_DEVICES`` would."""
    require_torch("a job on a GPU")
    import torch

    count = torch.cuda.device_count()
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = map(str, range(count)) if chosen is None else (name.strip() for name in chosen.split(","))
    return list(names)[:count]


def _shares(gpus: float) -> int:
    return 0 if gpus == 0 else max(1, round(gpus * _SHARES))
