"""Setup of a report: sizes, names, options, seed and versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from unbraid.representation.factor import FactorKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Sizes, names, options, seed and versions behind a report.

    Attributes:
        name: Of the representation.
        unbraid: Version of this package; the next two are versions too.
        numpy: Of NumPy.
        python: Of Python.
        seed: Of all random numbers.
        n_samples: Number of rows.
        rows_key: The same for representations of the same rows in the same order; ``None`` without factors.
        source: Python that makes the representation, where that is known.
        code_names: One for each code.
        factor_names: One for each factor; the next two are by factor too.
        factor_kinds: Kind of each factor.
        factor_levels: Number of values each factor takes; ``None`` for a continuous one.
        dead_codes: Names of the codes that never change.
        options: Every option of each metric, by the metric's name.
        confidence: Coverage of the confidence intervals.
        seconds: Time that all scores took.
        seconds_by_evidence: Kind of evidence, and the time that gathering and scoring it once took.
        blocks: Columns of each block of codes, by name; empty where there are none.
    """

    name: str
    unbraid: str
    numpy: str = ""
    python: str = ""
    seed: int
    n_samples: int
    rows_key: str | None
    source: str | None = None
    code_names: tuple[str, ...]
    factor_names: tuple[str, ...]
    factor_kinds: tuple[FactorKind, ...]
    factor_levels: tuple[int | None, ...]
    dead_codes: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]
    confidence: float
    seconds: float = 0.0
    seconds_by_evidence: tuple[tuple[str, float], ...] = ()
    blocks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return len(self.code_names)

    @property
    def n_factors(self) -> int:
        """Number of factors."""
        return len(self.factor_names)

    @property
    def active_codes(self) -> tuple[str, ...]:
        """Names of the codes that change."""
        dead = set(self.dead_codes)
        return tuple(name for name in self.code_names if name not in dead)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the numbers of codes and factors."""
        return {**asdict(self), "n_codes": self.n_codes, "n_factors": self.n_factors}
