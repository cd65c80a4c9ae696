"""Class of identifiability that the scores of DCI-ES support, and the obstacles to a stronger class."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from unbraid._base.checks import check_at_least
from unbraid.metrics.table.metric import BesideThePanel
from unbraid.probes.black_box import NECESSARY

TOLERANCE = 0.05
AXES = ("disentanglement", "completeness", "informativeness")


class Identified(StrEnum):
    """Transformations up to which the codes identify the factors, strongest first."""

    SIGN_AND_PERMUTATION = "sign and permutation"
    REPARAMETRISATION = "permutation and element-wise reparametrisation"
    LINEAR_MAP = "an invertible linear map"
    NOTHING = "none of these"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifiability:
    """Class of identifiability that the scores support.

    Attributes:
        supported: The strongest class whose conditions are met within the tolerance.
        in_the_way: Scores that fall short of the next stronger class, furthest first; empty at the top. Explicitness
            is among them only where the ladder starts at linear probes.
        caveats: Conditions of the theory that these scores cannot show.
        sentence: All of it in plain words.
    """

    supported: Identified
    in_the_way: tuple[str, ...]
    caveats: tuple[str, ...]
    sentence: str


def identifiability(
    *,
    disentanglement: float,
    completeness: float,
    informativeness: float,
    explicitness: float,
    size: float,
    importance: str,
    starts_linear: bool,
    tolerance: float = TOLERANCE,
) -> Identifiability:
    """Interpret D, C, I and E together, as in section 4.2 of DCI-ES.

    All four at 1: the codes are the factors up to sign and permutation. D, C and I: up to a function of each factor
    on its own. I and E, with a ladder that starts at linear probes: up to an invertible linear map.

    Args:
        disentanglement: D.
        completeness: C.
        informativeness: I.
        explicitness: E.
        size: Factors for each code, S.
        importance: Measure of importance: ``"gini"``, ``"weights"``, ``"sage"`` or ``"permutation"``.
        starts_linear: Whether the lowest capacity was a linear probe of all codes.
        tolerance: Distance from 1 that counts as 1.

    Returns:
        The verdict.

    References:
        Eastwood et al. (2023), Corollaries 3.4 and 3.5, Remark 3.6, sec. 4.2. https://arxiv.org/abs/2210.00364

    Example:
        >>> verdict = identifiability(
        ...     disentanglement=0.2,
        ...     completeness=0.2,
        ...     informativeness=1.0,
        ...     explicitness=1.0,
        ...     size=1.0,
        ...     importance="sage",
        ...     starts_linear=True,
        ... )
        >>> str(verdict.supported)
        'an invertible linear map'
    """
    check_at_least("tolerance", tolerance, 0)
    scores = {
        "disentanglement": disentanglement,
        "completeness": completeness,
        "informativeness": informativeness,
        "explicitness": explicitness,
    }
    short = {name: 1 - value for name, value in scores.items() if not value >= 1 - tolerance}
    supported, wanted = _supported(short, starts_linear)
    in_the_way = tuple(sorted((name for name in short if name in wanted), key=lambda name: -short[name]))
    caveats = _caveats(supported, importance, starts_linear, size)
    return Identifiability(
        supported=supported,
        in_the_way=in_the_way,
        caveats=caveats,
        sentence=_sentence(supported, in_the_way, scores, caveats, tolerance),
    )


def _supported(short: dict[str, float], starts_linear: bool) -> tuple[Identified, tuple[str, ...]]:
    """The strongest class that is supported, and the scores that the next stronger class requires."""
    axes = not set(AXES) & set(short)
    linear = starts_linear and not {"informativeness", "explicitness"} & set(short)
    if axes and linear:
        return Identified.SIGN_AND_PERMUTATION, ()
    if axes:
        return Identified.REPARAMETRISATION, ("explicitness",) if starts_linear else ()
    if linear:
        return Identified.LINEAR_MAP, ("disentanglement", "completeness")
    return Identified.NOTHING, (*AXES, "explicitness") if starts_linear else AXES


def _caveats(supported: Identified, importance: str, starts_linear: bool, size: float) -> tuple[str, ...]:
    caveats = []
    by_axes = supported in (Identified.SIGN_AND_PERMUTATION, Identified.REPARAMETRISATION)
    if by_axes and importance not in NECESSARY:
        caveats.append(
            f"{importance} importances can be 0 on average for a code that the probe does use, so that D and C near 1 "
            "support this without proving it (Remark 3.6)"
        )
    if by_axes and importance == "gini":
        caveats.append("a forest cannot be inverted, so that for continuous factors this is a guide and no proof")
    if not starts_linear:
        caveats.append("the ladder does not start at linear probes, so that explicitness does not measure linear maps")
    if size != 1:
        relation = "more codes than factors" if size < 1 else "fewer codes than factors"
        caveats.append(f"there are {relation}, and the theory is for equally many")
    return tuple(caveats)


def _sentence(
    supported: Identified,
    in_the_way: tuple[str, ...],
    scores: dict[str, float],
    caveats: tuple[str, ...],
    tolerance: float,
) -> str:
    if supported is Identified.NOTHING:
        start = "The scores support no claim that the codes identify the factors"
    else:
        start = f"The scores support that the codes identify the factors up to {supported}"
    if in_the_way:
        named = ", ".join(f"{name} ({scores[name]:.2f})" for name in in_the_way)
        claim = "a claim" if supported is Identified.NOTHING else "a stronger claim"
        start += f"; {claim} needs a higher {named}"
    start += f" (scores of at least {1 - tolerance:g} count as 1)."
    return start + (f" But {'; and '.join(caveats)}." if caveats else "")


BESIDE_THE_PANEL = (
    BesideThePanel(
        name="identifiability",
        summary="Up to which transformation do the codes identify the factors? A sentence, not a score.",
        needs="the scores of `dci_es`",
        call="unbraid.metrics.identifiability(disentanglement=..., completeness=..., ...)",
        also="`dci_es` in the panel prints its sentence",
    ),
)
