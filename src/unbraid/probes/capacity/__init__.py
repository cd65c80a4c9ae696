"""Ladders: series of probes of growing capacity, by width, depth, features or principal directions."""

from typing import TYPE_CHECKING

from unbraid._base.checks import check_choice
from unbraid._base.lazy import public_names
from unbraid.probes.capacity.base import CapacityTask, FittedLadder, Ladder, Probe
from unbraid.probes.capacity.estimators import CapacityLevel, EstimatorLadder
from unbraid.probes.capacity.forest import ForestLadder
from unbraid.probes.capacity.fourier import FourierLadder
from unbraid.probes.capacity.linear import LinearLadder
from unbraid.probes.capacity.mlp import MLPLadder

LADDERS: dict[str, type[MLPLadder] | type[ForestLadder] | type[FourierLadder] | type[LinearLadder]] = {
    "mlp": MLPLadder,
    "forest": ForestLadder,
    "fourier": FourierLadder,
    "linear": LinearLadder,
}


def as_ladder(ladder: str | Ladder) -> Ladder:
    """Return a ladder by name, with its defaults, or the ladder given.

    Raises:
        ValueError: An unknown name.
        TypeError: Something that is no ladder.
    """
    if isinstance(ladder, str):
        check_choice("ladder", ladder, list(LADDERS))
        return LADDERS[ladder]()
    if isinstance(ladder, type) or not isinstance(ladder, Ladder):
        given = f"the class {ladder.__name__}" if isinstance(ladder, type) else type(ladder).__name__
        raise TypeError(
            f"ladder must be one of {', '.join(LADDERS)}, or a ladder such as EstimatorLadder(levels=...), got {given}."
        )
    return ladder


__all__ = [
    "LADDERS",
    "CapacityLevel",
    "CapacityTask",
    "EstimatorLadder",
    "FittedLadder",
    "ForestLadder",
    "FourierLadder",
    "Ladder",
    "LinearLadder",
    "MLPLadder",
    "Probe",
    "as_ladder",
]

if not TYPE_CHECKING:
    __getattr__, _, _ = public_names(__name__, renamed={"Rung": "CapacityLevel"})
