"""Reports of several representations, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from unbraid._base.files import write_text
from unbraid._base.pages import page_of
from unbraid._base.record import write_json
from unbraid._base.text import as_csv
from unbraid.comparison.differences import Difference, find_differences
from unbraid.comparison.verdict import caveats, unlike, untested, verdict
from unbraid.metrics.prediction.shared_axis import on_shared_axis
from unbraid.results.report import Report

COLUMNS = [
    "metric",
    "first",
    "second",
    "value",
    "low",
    "high",
    "paired",
    "p_value",
    "adjusted",
    "better",
    "sure",
    "status",
    "note",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison(Mapping[str, Report]):
    """Reports by name of the representation; behaves like a read-only dictionary of them.

    Attributes:
        reports: At least one, in the order given.
        against: The one that the others are compared with; ``None`` compares every two.
        differences: For each pair and each score that both have, the difference, its interval, and whether it is sure.
    """

    reports: Mapping[str, Report]
    against: str | None = None
    differences: tuple[Difference, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reports", on_shared_axis(self.reports))
        object.__setattr__(self, "differences", find_differences(self.reports, against=self.against))

    def __getitem__(self, name: str) -> Report:
        return self.reports[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.reports)

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def metrics(self) -> list[str]:
        """Every metric that some report scored or failed at, each once."""
        return list(dict.fromkeys(name for report in self.values() for name in (*report.scores, *report.failures)))

    @property
    def verdict(self) -> tuple[str, ...]:
        """Which representation is better, for which properties, and how sure; empty for a single report."""
        read_with_care = (*caveats(self.reports, self.differences), *untested(self.differences))
        sentences = verdict(list(self), self.differences, read_with_care)
        return (*unlike(self.reports, self.differences), *sentences) if sentences else ()

    def differences_table(self) -> pd.DataFrame:
        """One row for each :class:`~unbraid.Difference`, its attributes as columns."""
        frame = pd.DataFrame([_row(item) for item in self.differences], columns=COLUMNS)
        numbers = ["value", "low", "high", "p_value", "adjusted"]
        frame[numbers] = frame[numbers].astype(float)
        return frame.set_index(["metric", "first", "second"])

    def table(self) -> pd.DataFrame:
        """One row for each representation and metric: value, interval, chance level, note or failure."""
        return pd.concat({name: report.table() for name, report in self.items()}, names=["representation"])

    def to_dict(self, *, evidence: bool = True) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "verdict": list(self.verdict),
            "differences": [_row(item) for item in self.differences],
            "reports": {name: report.to_dict(evidence=evidence) for name, report in self.items()},
        }

    def to_json(self, path: str | Path | None = None, *, evidence: bool = True) -> str:
        """Return the reports as JSON, and write it to ``path`` if given, as :meth:`Report.to_json` does."""
        return write_json(self.to_dict(evidence=evidence), path)

    def to_csv(self, path: str | Path) -> Path:
        """Write :meth:`table` as CSV."""
        return write_text(path, as_csv(self.table(), index=True))

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page that shows the scores side by side."""
        return write_text(path, page_of(self))

    def __repr__(self) -> str:
        return self.table()["value"].unstack("representation")[list(self)].loc[self.metrics].to_string(na_rep="")


def _row(item: Difference) -> dict[str, Any]:
    return {column: getattr(item, column) for column in COLUMNS}


def compare(reports: Mapping[str, Report], *unnamed: Report, against: str | None = None) -> Comparison:
    """Put reports of several representations side by side: which is better, at what, and are we sure.

    Where two reports are about the same rows (the same factors in the same order) with the same seed and options, their
    replicates are draws of the same rows. Differences are then paired: the standard error is that of the replicates'
    differences, in which chance common to both cancels. Otherwise the two standard errors are added in quadrature, and
    a note gives the reason. All tests of the comparison are counted together by Holm's rule.

    Args:
        reports: By the name that tables and pages should call each representation, ``{"vae": ..., "flow": ...}``.
        unnamed: None: reports without names are refused, as sentences about them would be ambiguous.
        against: Compare the others with this one only, instead of every two.

    Returns:
        A :class:`~unbraid.Comparison`: differences, a verdict in sentences, a table, JSON, CSV and a page.

    Raises:
        TypeError: Reports that are not in a dictionary by name.
        ValueError: No report, or ``against`` names none.

    Example:
        >>> import numpy as np
        >>> from unbraid import evaluate
        >>> factors = np.random.default_rng(0).integers(0, 4, (200, 2))
        >>> codes = {"plain": factors + 0.0, "turned": factors @ [[1.0, 1.0], [1.0, -1.0]]}
        >>> side_by_side = compare({name: evaluate(z, factors, metrics="mig") for name, z in codes.items()})
        >>> print(side_by_side.verdict[0])
        plain is surely better than turned at 1 of 1 score (compactness 1 of 1) and surely worse at none.
        >>> side_by_side.differences[0].paired
        True
    """
    _check_named(reports, unnamed)
    if not reports:
        raise ValueError("reports must hold at least one report, got none.")
    return Comparison(reports=dict(reports), against=against)


def _check_named(reports: Any, unnamed: tuple[Any, ...]) -> None:
    """Raise unless there is one dictionary, and it holds reports; a report alone is a mapping too, of scores."""
    given = [type(one).__name__ for one in (reports, *unnamed)]
    named = not unnamed and isinstance(reports, Mapping) and not isinstance(reports, Report)
    if not named:
        raise TypeError(
            f"reports must be one dictionary of reports by name, such as compare({{'vae': a, 'flow': b}}), "
            f"got {' and '.join(given)}."
        )
    odd = next((name for name, one in reports.items() if not isinstance(one, Report)), None)
    if odd is not None:
        raise TypeError(f"reports must hold what evaluate returns, got {type(reports[odd]).__name__} for {odd!r}.")
