"""Reports of several representations, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from unbraid._files import write_text
from unbraid.result import Report, as_json


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison(Mapping[str, Report]):
    """Reports by name of the representation; behaves like a read-only dictionary of them.

    Attributes:
        reports: At least one, in the order given.
    """

    reports: Mapping[str, Report]

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

    def table(self) -> pd.DataFrame:
        """One row for each representation and metric: value, interval, null, and a note or the reason it failed."""
        return pd.concat({name: report.table() for name, report in self.items()}, names=["representation"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {"reports": {name: report.to_dict() for name, report in self.items()}}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the reports as JSON, and write it to ``path`` if given. A number that is not finite becomes null."""
        text = as_json(self.to_dict())
        if path is not None:
            write_text(path, text + "\n")
        return text

    def to_csv(self, path: str | Path) -> Path:
        """Write :meth:`table` as CSV."""
        return write_text(path, self.table().to_csv())

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page that shows the scores side by side."""
        from unbraid.report import render_comparison

        return write_text(path, render_comparison(self))

    def __repr__(self) -> str:
        return self.table()["value"].unstack("representation")[list(self)].loc[self.metrics].to_string(na_rep="")


def compare(reports: Mapping[str, Report]) -> Comparison:
    """Put reports of several representations side by side.

    Scores are shown as they are, each with its own interval; differences are not tested.

    Args:
        reports: By the name that tables and pages should call each representation.

    Returns:
        A :class:`~unbraid.Comparison`: a table, JSON, CSV and a page.

    Raises:
        ValueError: No report.

    Example:
        >>> import numpy as np
        >>> from unbraid import evaluate
        >>> factors = np.random.default_rng(0).integers(0, 4, (200, 2))
        >>> codes = {"plain": factors + 0.0, "turned": factors @ [[1.0, 1.0], [1.0, -1.0]]}
        >>> side_by_side = compare({name: evaluate(z, factors, metrics="mig") for name, z in codes.items()})
        >>> bool(side_by_side["plain"]["mig"].low > side_by_side["turned"]["mig"].high)
        True
    """
    if not reports:
        raise ValueError("reports must hold at least one report, got none.")
    return Comparison(reports=dict(reports))
