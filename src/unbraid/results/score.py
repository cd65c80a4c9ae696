"""What every metric returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from unbraid._base.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Score:
    """One headline number, and the arrays it was averaged from.

    Attributes:
        value: The score; a plain float.
        low: Lower end of the 95 % interval, filled in by the panel.
        high: Upper end of the 95 % interval, filled in by the panel.
        null: The score of the same codes once the factors are shuffled, filled in by the panel.
        beats_chance: Whether the value is better than the null by more than both scatter, filled in by the panel.
        replicates: The score on other draws of the rows, moved towards their mean until their deviation is the standard
            error of the value; NaN where one failed. Filled in by the panel. The same rows, options and seed give the
            same draws for every representation, so that replicates of two can be subtracted one by one.
        per_factor: One value for each factor, ``(n_factors,)``; NaN where the factor has none.
        per_code: One value for each code, ``(n_codes,)``; NaN for a dead code.
        evidence: The matrices behind the number, by name.
        notes: What a reader should know before trusting the number.
        axis: What the curves among the evidence run along, in words, where there are curves.
        says: What the number means together with its siblings, in plain words, where one sentence can tell.
    """

    value: float
    low: float | None = None
    high: float | None = None
    null: float | None = None
    beats_chance: bool | None = None
    replicates: FloatArray | None = None
    per_factor: FloatArray | None = None
    per_code: FloatArray | None = None
    evidence: Mapping[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    axis: str = ""
    says: str = ""

    def __float__(self) -> float:
        return self.value
