"""What a diagnosis finds: one way in which codes hold factors, or fail to."""

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """How codes and factors go together."""

    OWN = "own code"
    ROTATED = "rotated"
    MIXED = "mixed"
    PACKED = "packed"
    CIRCLE = "circle"
    SPREAD = "spread"
    COPIED = "copied"
    CURVED = "curved"
    FOLDED = "folded"
    PARTLY = "partly"
    LOST = "lost"
    EMPTY = "empty code"
    DEAD = "dead code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that the scores' evidence shows.

    Attributes:
        kind: Which.
        says: The same in a plain sentence, with the numbers it rests on.
        factors: Names of the factors it is about.
        codes: Names of the codes it is about.
    """

    kind: FindingKind
    says: str
    factors: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
