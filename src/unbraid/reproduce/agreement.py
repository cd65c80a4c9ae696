"""Checks of our numbers against the paper and the truth, and the row that describes a reproduction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, Self, TypeVar, get_type_hints

from unbraid.reproduce.result import Number, Result

R = TypeVar("R", bound=Result)


class Agreement(StrEnum):
    """Whether one of our numbers agrees with the paper."""

    AGREES = "agrees"
    NEARER = "nearer the truth"
    DIFFERS = "differs"


class Colour(StrEnum):
    """Whether a table or figure agrees as a whole."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"
    GREY = "grey"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One number of ours beside the paper's and the truth.

    Attributes:
        what: Quantity.
        ours: Our number; ``None`` where it is not finite, which differs from everything.
        paper: The paper's number; ``None`` where it prints none.
        truth: The right number, where it is known.
        tolerance: Largest allowed distance from the paper's number, or from the truth.
        by_seeds: Distance from the paper's number that other seeds alone explain; ``None`` where seeds were not
            compared.
        claim: Statement of the paper in words, where it prints no number.
        at_least: Least value that the claim allows.
        at_most: Largest value that the claim allows.
        tuned: Whether a setting of ours was chosen by this very number; such a number is shown and does not count.

    Example:
        >>> Check(what="IWO", ours=1.0, paper=0.97, truth=1.0, tolerance=0.02).agreement
        <Agreement.NEARER: 'nearer the truth'>
    """

    what: str
    ours: float | None
    paper: float | None = None
    truth: float | None = None
    tolerance: float = 0.0
    by_seeds: float | None = None
    claim: str = ""
    at_least: float = -math.inf
    at_most: float = math.inf
    tuned: bool = False

    def __post_init__(self) -> None:
        """Raise on a check that cannot fail."""
        bounded = self.at_least > -math.inf or self.at_most < math.inf
        if self.paper is None and self.truth is None and not bounded:
            raise ValueError(f"check {self.what!r} has no paper, no truth and no bound to be held against.")

    @classmethod
    def of(cls, what: str, number: Number, *, tolerance: float, rounding: float | None = None) -> Self:
        """Return the check of a number against the paper's, and against the truth where it is known.

        Args:
            what: Quantity.
            number: Ours, with its spread over seeds where there are several.
            tolerance: Largest allowed distance, unless other seeds explain a larger one.
            rounding: Half a unit of the last printed digit. Where given, the spread over our seeds tells what one seed
                of the paper's may differ by.
        """
        by_seeds = None
        if rounding is not None and number.spread is not None:
            by_seeds = seed_tolerance((number.spread, number.spread), (len(number.seeds), 1), rounding=rounding)
            tolerance = max(tolerance, by_seeds)
        return cls(
            what=what,
            ours=number.ours,
            paper=number.paper,
            truth=number.truth,
            tolerance=tolerance,
            by_seeds=by_seeds,
        )

    @property
    def is_printed(self) -> bool:
        """Whether the paper has a number or a statement; otherwise the truth alone is known."""
        return self.paper is not None or bool(self.claim)

    @property
    def agreement(self) -> Agreement:
        """Agrees with the paper, or with the truth where the paper does not, or differs."""
        if self.claim:
            inside = self.ours is not None and self.at_least <= self.ours <= self.at_most
            return Agreement.AGREES if inside else Agreement.DIFFERS
        right = self._is_near(self.truth)
        if self.paper is None:
            return Agreement.AGREES if right else Agreement.DIFFERS
        if self._is_near(self.paper):
            return Agreement.AGREES
        return Agreement.NEARER if right else Agreement.DIFFERS

    @property
    def is_beyond_seeds(self) -> bool:
        """Whether ours agrees with the paper's and is further from it than other seeds explain."""
        if self.by_seeds is None or self.difference is None or self.paper is None:
            return False
        return self.agreement is Agreement.AGREES and abs(self.difference) > self.by_seeds * (1 + 1e-9)

    @property
    def difference(self) -> float | None:
        """Ours less the paper's, or less the truth where the paper prints nothing; ``None`` for claims in words."""
        other = self.paper if self.paper is not None else self.truth
        return None if self.ours is None or other is None or self.claim else self.ours - other

    @property
    def rule(self) -> str:
        """The allowed distance or bounds, as text."""
        if not self.claim:
            return f"±{self.tolerance:g}"
        ends = [("at least", self.at_least), ("at most", self.at_most)]
        return ", ".join(f"{word} {end:.3g}" for word, end in ends if math.isfinite(end))

    def _is_near(self, other: float | None) -> bool:
        if self.ours is None or other is None:
            return False
        # A difference of exactly the tolerance is within it, up to rounding.
        return abs(self.ours - other) <= self.tolerance * (1 + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One table or figure.

    Attributes:
        where: Table or figure of the paper.
        checks: The numbers that were measured; a printed number that was not is left out.
        reason: Why some differ; shown only where some do.
        n_published: Numbers and statements that the paper prints there; by default those of ``checks``.
        is_full: Whether it was run at settings that count, the full ones or those for one GPU; at others, numbers are
            shown and do not count.
        surrogate: What was measured in place of what the paper has, which cannot be had, as a sentence; numbers of a
            surrogate are shown and do not count. Empty where the paper's own was measured.
    """

    where: str
    checks: Sequence[Check]
    reason: str = ""
    n_published: int | None = None
    is_full: bool = True
    surrogate: str = ""

    @property
    def compared(self) -> Sequence[Check]:
        """Numbers that count: printed, and not ones that a setting was chosen by."""
        return [check for check in self.checks if check.is_printed and not check.tuned]

    @property
    def n_printed(self) -> int:
        """How many the paper prints."""
        return sum(check.is_printed for check in self.checks) if self.n_published is None else self.n_published

    @property
    def n_attempted(self) -> int:
        """How many of those were measured at full settings, and count."""
        return len(self.compared) if self.is_full and not self.surrogate else 0

    @property
    def n_agree(self) -> int:
        """How many of those that were measured, at any settings, agree or are nearer the truth."""
        return sum(check.agreement is not Agreement.DIFFERS for check in self.compared)

    @property
    def n_nearer(self) -> int:
        """How many differ from the paper because the paper is further from the truth."""
        return sum(check.agreement is Agreement.NEARER for check in self.compared)

    @property
    def n_beyond_seeds(self) -> int:
        """How many agree with the paper and are further from it than other seeds explain."""
        return sum(check.is_beyond_seeds for check in self.compared)

    @property
    def colour(self) -> Colour:
        """Green if all that is printed agrees, amber if half of what was measured does, red if less, else grey."""
        if not self.n_attempted:
            return Colour.GREY
        if self.n_agree == self.n_printed:
            return Colour.GREEN
        return Colour.AMBER if 2 * self.n_agree >= self.n_attempted else Colour.RED


#: Quantile of the normal distribution that 95 % lie within.
QUANTILE = 1.96


def seed_tolerance(
    spreads: tuple[float, float], n_seeds: tuple[int, int], *, rounding: float = 0.005, fewest: int = 2
) -> float:
    """Return by how much two means over seeds may differ by chance alone: 1.96 standard errors, and rounding.

    Args:
        spreads: Standard deviations over seeds, ours and the paper's.
        n_seeds: Seeds of the means.
        rounding: Half a unit of the last printed digit.
        fewest: Digits that are kept, so that a tolerance can be read.

    Example:
        >>> seed_tolerance((0.01, 0.02), (4, 4))
        0.027
    """
    error = math.sqrt(sum(spread**2 / n for spread, n in zip(spreads, n_seeds, strict=True)))
    return float(f"{QUANTILE * error + rounding:.{fewest}g}")


RULE = (
    "Counted are numbers and statements that the paper prints. Attempted are those that were measured at full "
    "settings; of the two studies of many models, at the size for one GPU, which has the published networks, "
    "families, hyperparameters and scores, and fewer seeds, steps and rows. A number agrees if it lies within the "
    "allowed distance of the paper's. In iwo-table1 and the two studies this distance follows from the spread over "
    "seeds; elsewhere it is a margin of ours, for D and C of a random mix two deviations over mixing matrices, or what "
    "other seeds explain where that is more; it is said how many numbers are within the margin and yet further from "
    "the paper than other seeds explain. Where the truth is known and the paper is further from it than allowed while "
    "ours is not, ours counts as nearer the truth, and as good. What the paper says in words is held against a bound, "
    "given beside it. Numbers without a printed one, and numbers that a setting of ours was chosen by, are shown and "
    "not counted. A table or figure is green if all that is printed agrees, amber if at least half of what was "
    "attempted does, and red if less does; it is grey if nothing was attempted, or at other settings than these, or "
    "with a surrogate in place of data that cannot be had."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction(Generic[R]):
    """One published table or figure that can be run again.

    Attributes:
        name: Name on the command line.
        title: Content.
        paper: Where it was published.
        cost: What a full run takes, in words.
        run: Runs it. Its keyword arguments, and the fields of its argument ``settings``, are the options of the command
            line; its docstring is their help; its return type is the type that JSON is read back into.
        checks: From a result, the tables and figures with our numbers held against the paper's and the truth.
        quick: Arguments of ``run`` for a quick run.
        full: Arguments of ``run`` for a full run, where they are not its defaults.
        gpu: Arguments of ``run`` for a size that one GPU can do, whose numbers count like those of a full run; empty
            where a full run is what one GPU can do.
        needs: What a full run needs that does not come with the package, in words; empty for nothing.
        quick_needs: The same for a quick run.
        options: Names on the command line of arguments that have another name there.
        figure: File that the figure goes to by default; empty where it is drawn only on demand, or there is none.
        examples: What may follow ``unbraid reproduce`` on the command line.
    """

    name: str
    title: str
    paper: str
    cost: str
    run: Callable[..., R]
    checks: Callable[[R], Sequence[Part]]
    quick: Mapping[str, Any] = field(default_factory=dict)
    full: Mapping[str, Any] = field(default_factory=dict)
    gpu: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    quick_needs: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    figure: str = ""
    examples: tuple[str, ...] = ()

    @property
    def result_type(self) -> type[R]:
        """The type of its results."""
        found: type[R] = get_type_hints(self.run)["return"]
        return found
