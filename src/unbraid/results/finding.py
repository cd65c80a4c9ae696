"""Finding of a diagnosis: one way in which codes encode factors, or fail to."""

import warnings
from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """Kind of a finding."""

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
    """One finding, derived from the evidence of the scores.

    Attributes:
        kind: Kind of the finding.
        sentence: The finding in a sentence, with the numbers it rests on.
        factors: Names of the factors it is about.
        codes: Names of the codes it is about.
    """

    kind: FindingKind
    sentence: str
    factors: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        """Deprecated name of ``sentence``."""
        warnings.warn("Finding.says is now Finding.sentence.", DeprecationWarning, stacklevel=2)
        return self.sentence
