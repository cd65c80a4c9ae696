"""A small table for notebooks: scores, intervals and chance, without scripts."""

from __future__ import annotations

from unbraid.report._format import count
from unbraid.report._rows import score_groups
from unbraid.report._shell import fill
from unbraid.result import Report


def render_notebook(report: Report) -> str:
    """Return a report as a piece of HTML that takes its colours from the notebook around it, light or dark."""
    meta = report.meta
    sizes = [
        (meta.get(key), noun) for key, noun in (("n_samples", "row"), ("n_codes", "code"), ("n_factors", "factor"))
    ]
    context = {
        "name": meta.get("name", "a representation"),
        "facts": ", ".join(count(size, noun) for size, noun in sizes if size is not None),
        "groups": score_groups(report),
        "notes": report.notes,
        "says": report.says,
    }
    return fill("notebook.html", context)
