"""Ladders: series of probes of growing capacity, by width, depth, features or principal directions."""

from typing import TYPE_CHECKING

from unbraid._base.checks import check_choice
from unbraid._base.lazy import public_names
from unbraid._base.settings import read_settings
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
    """Return a ladder by name, with its defaults or with settings after a colon, or the ladder given.

    Raises:
        ValueError: An unknown name or setting.
        TypeError: Something that is no ladder.

    Example:
        >>> as_ladder("forest:depths=1+4+16,n_trees=20").depths
        (1, 4, 16)
    """
    if isinstance(ladder, str):
        name, _, settings = ladder.partition(":")
        check_choice("ladder", name, list(LADDERS))
        return read_settings(settings, LADDERS[name], option=f"ladder {name}")
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
