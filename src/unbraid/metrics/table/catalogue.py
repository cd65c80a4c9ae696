"""The table of metrics: the rows of all files, in the order in which the package imports the files."""

from __future__ import annotations

from dataclasses import dataclass

from unbraid._base.lazy import listed_modules
from unbraid.metrics.table.metric import BesideThePanel, Metric, OneFactor
from unbraid.results.setup import Setup

#: The modules of the package in the order in which its ``__init__.py`` imports public names from them.
_FILES = listed_modules("unbraid.metrics", up_to=__name__)
METRICS: dict[str, Metric] = {row.name: row for file in _FILES for row in getattr(file, "ROWS", ())}
BESIDE_THE_PANEL: dict[str, BesideThePanel] = {
    one.name: one for file in _FILES for one in getattr(file, "BESIDE_THE_PANEL", ())
}

#: A ceiling nearer to the best than this is not mentioned; one that a score exceeds by this much does not hold.
WORTH_A_WORD, PASSED = 0.95, 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The largest score of perfect codes.

    Attributes:
        value: For factors whose values are about equally common.
        why: The reason, in words that follow "because".
    """

    value: float
    why: str


def ceiling(name: str, value: float, setup: Setup) -> Ceiling | None:
    """Return the largest score attainable while each factor has one code, or ``None`` where it is the best value.

    Args:
        name: Registry name of the score.
        value: The score; a value above the ceiling shows that factors have more than one code.
        setup: Of the report: kinds and values of the factors, options and rows.
    """
    rule, mean = METRICS[name].ceiling, _mean_ceiling(name, setup)
    if rule is None or mean is None or mean > WORTH_A_WORD or value > mean + PASSED:
        return None
    return Ceiling(value=mean, why=rule.why)


def attainable(name: str, value: float, setup: Setup) -> float:
    """Return the score of perfect codes: the ceiling, where one holds, else the best value of the metric."""
    mean = _mean_ceiling(name, setup)
    low, high = METRICS[name].bounds
    best = high if METRICS[name].higher_is_better else low
    return best if mean is None or value > mean + PASSED else mean


def _mean_ceiling(name: str, setup: Setup) -> float | None:
    """Return the mean over factors of the largest score of each, where there is a rule."""
    rule = METRICS[name].ceiling
    if rule is None or not setup.factor_kinds:
        return None
    options, n_rows = setup.options.get(name, {}), setup.n_samples
    columns = zip(setup.factor_kinds, setup.factor_levels, strict=True)
    tops = [rule.of(OneFactor(kind=kind, levels=n, n_rows=n_rows, options=options)) for kind, n in columns]
    return sum(tops) / len(tops)
