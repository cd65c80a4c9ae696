"""Check, Part, Reproduction: typed result -> checks, no JSON round trip."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Standing(StrEnum):
    """Where one of our numbers stands."""

    AGREES = "agrees"
    NEARER = "nearer the truth"
    DIFFERS = "differs"


class Colour(StrEnum):
    """Where a table or figure stands as a whole."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"
    GREY = "grey"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One number of ours beside the paper's and the truth.

    Attributes:
        what: What is measured.
        ours: Our number.
        paper: The paper's number; ``None`` where it prints none.
        truth: The right number, where it is known.
        tolerance: How far ours may be from the paper's, or from the truth.
        claim: What the paper says in words, where it prints no number.
        at_least: Least value that the words allow.
        at_most: Largest value that the words allow.

    Example:
        >>> Check(what="IWO", ours=1.0, paper=0.97, truth=1.0, tolerance=0.02).standing
        <Standing.NEARER: 'nearer the truth'>
    """

    what: str
    ours: float
    paper: float | None = None
    truth: float | None = None
    tolerance: float = 0.0
    claim: str = ""
    at_least: float = -math.inf
    at_most: float = math.inf

    def __post_init__(self) -> None:
        """Refuse a check that nothing could fail."""
        bounded = self.at_least > -math.inf or self.at_most < math.inf
        if self.paper is None and self.truth is None and not bounded:
            raise ValueError(f"check {self.what!r} has no paper, no truth and no bound to be held against.")

    @property
    def standing(self) -> Standing:
        """Agrees with the paper, or with the truth where the paper does not, or differs."""
        if self.claim:
            return Standing.AGREES if self.at_least <= self.ours <= self.at_most else Standing.DIFFERS
        right = self.truth is not None and self._within(self.truth)
        if self.paper is None:
            return Standing.AGREES if right else Standing.DIFFERS
        if self._within(self.paper):
            return Standing.AGREES
        return Standing.NEARER if right else Standing.DIFFERS

    @property
    def difference(self) -> float | None:
        """Ours less the paper's; less the truth where the paper prints nothing; ``None`` for words."""
        other = self.paper if self.paper is not None else self.truth
        return None if other is None or self.claim else self.ours - other

    @property
    def rule(self) -> str:
        """What was allowed, in words."""
        if not self.claim:
            return f"±{self.tolerance:g}"
        ends = [("at least", self.at_least), ("at most", self.at_most)]
        return ", ".join(f"{word} {end:.3g}" for word, end in ends if math.isfinite(end))

    def _within(self, other: float) -> bool:
        # A difference of exactly the tolerance is within it, whatever the last bit says.
        return abs(self.ours - other) <= self.tolerance * (1 + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One table or figure.

    Attributes:
        where: Table or figure of the paper.
        checks: Its numbers.
        reason: Why some differ; shown only where some do.
    """

    where: str
    checks: Sequence[Check]
    reason: str = ""

    @property
    def n_agree(self) -> int:
        """How many agree, or are nearer the truth."""
        return sum(check.standing is not Standing.DIFFERS for check in self.checks)

    @property
    def n_nearer(self) -> int:
        """How many differ from the paper because the paper is further from the truth."""
        return sum(check.standing is Standing.NEARER for check in self.checks)

    @property
    def colour(self) -> Colour:
        """Green if all agree, amber if at least half do, red if fewer."""
        if self.n_agree == len(self.checks):
            return Colour.GREEN
        return Colour.AMBER if 2 * self.n_agree >= len(self.checks) else Colour.RED


RULE = (
    "A number agrees if it lies within the allowed distance of the paper's. Where the truth is known and the paper is "
    "further from it than allowed while ours is not, ours counts as nearer the truth, and as good. What the paper says "
    "in words is held against a bound, given beside it. A table or figure is green if all of its numbers agree, amber "
    "if at least half do, and red if fewer do; grey was not run."
)


def _no_parts(_: Mapping[str, Any]) -> Sequence[Part]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """One published table or figure that can be run again.

    Attributes:
        name: What the command line calls it.
        title: What it shows.
        paper: Where it was published.
        cost: What a full run takes, in words.
        run: Runs it; its own options, its own result with ``to_dict``.
        quick: Options of ``run`` for a quick run.
        full: Options of ``run`` for a full run, where they are not its defaults.
        parts: From the plain data of a result, its tables and figures with our number beside the paper's.
        needs: What a full run needs that is not there by itself, in words; empty for nothing.
        quick_needs: The same for a quick run.
    """

    name: str
    title: str
    paper: str
    cost: str
    run: Callable[..., Any]
    quick: Mapping[str, Any] = field(default_factory=lambda: {"quick": True})
    full: Mapping[str, Any] = field(default_factory=dict)
    parts: Callable[[Mapping[str, Any]], Sequence[Part]] = _no_parts
    needs: str = ""
    quick_needs: str = ""
