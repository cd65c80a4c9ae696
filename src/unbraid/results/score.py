"""Score: the result of every metric."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

from unbraid._base.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Score:
    """One headline number, and the arrays it was averaged from.

    Attributes:
        value: The score; a plain float. In a report, where the estimate depends on the number of rows, the estimate
            extrapolated to many rows.
        plain: The estimate on these rows, where ``value`` is another; ``None`` where both are the same.
        low: Lower end of the 95 % confidence interval, filled in by the panel.
        high: Upper end of the 95 % confidence interval, filled in by the panel.
        null: The chance level; read it as ``chance``. Filled in by the panel.
        beats_chance: Whether the value is better than the chance level by more than the uncertainty of both. Filled in
            by the panel.
        standing: Place of the value between the chance level (0) and the best that perfect codes attain (1), held to
            that range; ``None`` where there is no such scale. Filled in by the panel.
        replicates: The score on other draws of the rows, moved towards their mean until their deviation is the standard
            error of the value; NaN where one failed. Filled in by the panel. The same rows, options and seed give the
            same draws for every representation, so that replicates of two can be subtracted one by one.
        per_factor: One value for each factor, ``(n_factors,)``; NaN where the factor has none.
        per_code: One value for each code, ``(n_codes,)``; NaN for a dead code.
        evidence: The matrices behind the number, by name. A report has the typed evidence behind all its scores.
        notes: Limitations of the result; a :class:`~unbraid.results.note.Note` has a kind.
        axis: Label of the x-axis of curves in the evidence, where there are curves.
        sentence: Interpretation together with the other scores of the family, where there is one.
    """

    value: float
    plain: float | None = None
    low: float | None = None
    high: float | None = None
    null: float | None = None
    beats_chance: bool | None = None
    standing: float | None = None
    replicates: FloatArray | None = None
    per_factor: FloatArray | None = None
    per_code: FloatArray | None = None
    evidence: Mapping[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    axis: str = ""
    sentence: str = ""

    def __float__(self) -> float:
        return self.value

    @property
    def chance(self) -> float | None:
        """The chance level: the score of the same codes with shuffled factors; ``None`` where it was not computed.

        For a metric without labels, the codes are shuffled instead. Files call it ``chance`` too.
        """
        return self.null

    @property
    def half_width(self) -> float | None:
        """Half the width of the confidence interval; ``None`` where there is none."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def says(self) -> str:
        """Deprecated name of ``sentence``."""
        warnings.warn("Score.says is now Score.sentence.", DeprecationWarning, stacklevel=2)
        return self.sentence
