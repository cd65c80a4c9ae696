"""Expected behaviour of a metric in a case, by property."""

from dataclasses import dataclass
from enum import StrEnum

from unbraid.metrics import Invariance, Property


class Should(StrEnum):
    """Expected behaviour of a score in a case."""

    BEST = "be near its best"
    STAY = "stay"
    FALL = "get worse"
    CHANCE = "be near its worst"
    FREE = "do either"


class Claim(StrEnum):
    """Property that a score claims to measure."""

    MODULARITY = "modularity"
    COMPACTNESS = "compactness"
    EXPLICITNESS = "explicitness"
    ORTHOGONALITY = "orthogonality"
    INDEPENDENCE = "independence"
    DIMENSION = "dimension"
    RANK = "compactness up to rotation"


#: Where the claims of a score imply different behaviours, the first of these is expected.
PRECEDENCE = (Should.CHANCE, Should.FALL, Should.FREE, Should.STAY, Should.BEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Expected change of each property in a case, compared with its baseline.

    Attributes:
        modularity: Each code encodes one factor.
        compactness: Each factor is encoded in one code.
        explicitness: A simple probe predicts the factors.
        orthogonality: The factors lie along directions at right angles.
        independence: The codes do not depend on each other.
        dimension: The codes vary along many directions.
        rank: Each factor lies along few directions, whichever way they point.
        promise: The invariance that this change is an instance of, if any.
    """

    modularity: Should = Should.STAY
    compactness: Should = Should.STAY
    explicitness: Should = Should.STAY
    orthogonality: Should = Should.STAY
    independence: Should = Should.STAY
    dimension: Should = Should.FREE
    rank: Should = Should.STAY
    promise: Invariance | None = None

    def of(self, claim: Claim) -> Should:
        """Return the expected behaviour of a score with one claim."""
        expected: Should = getattr(self, claim.name.lower())
        return expected


def claims(measures: tuple[Property, ...], invariant_to: frozenset[Invariance]) -> tuple[Claim, ...]:
    """Return the claims behind properties.

    A score that is invariant to rotation does not measure single codes: its compactness is the number of directions of
    a factor, its modularity that different factors have different directions.
    """
    turned = {Property.COMPACTNESS: Claim.RANK, Property.MODULARITY: Claim.ORTHOGONALITY}
    free = Invariance.ROTATION in invariant_to
    found = [turned[prop] if free and prop in turned else Claim(str(prop)) for prop in measures]
    return tuple(dict.fromkeys(found))


def expectation(
    truth: Truth, measures: tuple[Property, ...], invariant_to: frozenset[Invariance]
) -> tuple[Should, tuple[str, ...]]:
    """Derive the expected behaviour of a score, and its reasons: a promised invariance, or else the claims."""
    if truth.promise is not None and truth.promise in invariant_to:
        return Should.STAY, (f"promised invariance to {truth.promise}",)
    expected = {claim: truth.of(claim) for claim in claims(measures, invariant_to)}
    should = next(option for option in PRECEDENCE if option in expected.values())
    return should, tuple(str(claim) for claim, option in expected.items() if option is should)
