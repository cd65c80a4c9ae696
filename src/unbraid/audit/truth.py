"""Expected behaviour of a metric in a case, by property."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from unbraid.metrics import Invariance, Property


class Should(StrEnum):
    """What a score should do in a case."""

    BEST = "be near its best"
    STAY = "stay"
    FALL = "get worse"
    CHANCE = "be near its worst"
    FREE = "do either"


class Claim(StrEnum):
    """What a score says it measures, as the audit reads it."""

    MODULARITY = "modularity"
    COMPACTNESS = "compactness"
    EXPLICITNESS = "explicitness"
    ORTHOGONALITY = "orthogonality"
    INDEPENDENCE = "independence"
    RANK = "compactness up to rotation"


#: Where a case asks several things of one score, the first of these wins.
PRECEDENCE = (Should.CHANCE, Should.FALL, Should.FREE, Should.STAY, Should.BEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What became of each property in a case, compared with its baseline.

    Attributes:
        modularity: Each code is about one factor.
        compactness: Each factor sits in one code.
        explicitness: The factors can be read out with a simple probe.
        orthogonality: The factors lie along directions at right angles.
        independence: The codes do not depend on each other.
        rank: Each factor lies along few directions, whichever way they point.
        promise: The invariance that this change is an instance of, if any.
    """

    modularity: Should = Should.STAY
    compactness: Should = Should.STAY
    explicitness: Should = Should.STAY
    orthogonality: Should = Should.STAY
    independence: Should = Should.STAY
    rank: Should = Should.STAY
    promise: Invariance | None = None

    def of(self, claim: Claim) -> Should:
        """Return what a score of one claim should do."""
        by_claim: Mapping[Claim, Should] = {
            Claim.MODULARITY: self.modularity,
            Claim.COMPACTNESS: self.compactness,
            Claim.EXPLICITNESS: self.explicitness,
            Claim.ORTHOGONALITY: self.orthogonality,
            Claim.INDEPENDENCE: self.independence,
            Claim.RANK: self.rank,
        }
        return by_claim[claim]


def claims(measures: tuple[Property, ...], invariant_to: frozenset[Invariance]) -> tuple[Claim, ...]:
    """Read properties as claims.

    A score that does not mind rotation says nothing about single codes: its compactness is the number of directions a
    factor needs, its modularity that factors have directions of their own.
    """
    turned = {Property.COMPACTNESS: Claim.RANK, Property.MODULARITY: Claim.ORTHOGONALITY}
    free = Invariance.ROTATION in invariant_to
    found = [turned[prop] if free and prop in turned else Claim(str(prop)) for prop in measures]
    return tuple(dict.fromkeys(found))


def expectation(
    truth: Truth, measures: tuple[Property, ...], invariant_to: frozenset[Invariance]
) -> tuple[Should, tuple[str, ...]]:
    """Derive what a score should do in a case, and from what: its claims, or a promise, which outranks them."""
    if truth.promise is not None and truth.promise in invariant_to:
        return Should.STAY, (f"promised invariance to {truth.promise}",)
    asked = {claim: truth.of(claim) for claim in claims(measures, invariant_to)}
    should = next(option for option in PRECEDENCE if option in asked.values())
    return should, tuple(str(claim) for claim, option in asked.items() if option is should)
