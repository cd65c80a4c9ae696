"""Names of all codes with what each carries, for the search on a page that shows the top codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics import METRICS
from unbraid.results.code_table import code_maps, main_factors
from unbraid.results.report import MOST_SHOWN, Report

#: Codes of which a page can carry the names and stay below 3 MB.
MOST_INDEXED = 40_000
DIGITS = 3


def code_index(report: Report) -> dict[str, Any] | None:
    """Return names of codes and factors, and for each matrix the main factor of each code and how much it carries.

    ``None`` where the tables of the page have all codes, where there is no such matrix, and of very many codes.
    """
    maps = code_maps(report.evidence)
    if not MOST_SHOWN < report.setup.n_codes <= MOST_INDEXED or not maps or not report.setup.n_factors:
        return None
    found = []
    for one in maps:
        best, most = main_factors(one.matrix)
        sizes = [float(f"{size:.{DIGITS}g}") for size in most]
        found.append({"title": _title(one.key), "factor": np.where(most > 0, best, -1).tolist(), "size": sizes})
    return {"codes": list(report.setup.code_names), "factors": list(report.setup.factor_names), "maps": found}


def _title(key: str) -> str:
    family = next((metric.title for metric in METRICS.values() if metric.family == key), "")
    return f"Importance, {family.rpartition(', ')[2]}" if family else "Mutual information"
