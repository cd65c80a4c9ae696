"""Measure learned representations: how separated, compact and explicit the factors are in a model's codes."""

from typing import TYPE_CHECKING

from unbraid._lazy import on_first_use
from unbraid._version import __version__

if TYPE_CHECKING:
    from unbraid import audit, data, manifold, metrics, models
    from unbraid._differences import Difference
    from unbraid._finding import Finding, FindingKind
    from unbraid._report_file import read_reports
    from unbraid._score import Score
    from unbraid.comparison import Comparison, compare
    from unbraid.factor import Factor, FactorKind, make_factor
    from unbraid.metrics import METRICS
    from unbraid.metrics._listing import list_metrics
    from unbraid.models import encode
    from unbraid.panel import evaluate
    from unbraid.representation import Representation
    from unbraid.result import Report
    from unbraid.storage import load, save
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "._differences": ["Difference"],
            "._finding": ["Finding", "FindingKind"],
            "._report_file": ["read_reports"],
            "._score": ["Score"],
            ".comparison": ["Comparison", "compare"],
            ".factor": ["Factor", "FactorKind", "make_factor"],
            ".metrics": ["METRICS"],
            ".metrics._listing": ["list_metrics"],
            ".models": ["encode"],
            ".panel": ["evaluate"],
            ".representation": ["Representation"],
            ".result": ["Report"],
            ".storage": ["load", "save"],
        },
        modules=["audit", "data", "manifold", "metrics", "models"],
    )

__all__ = [
    "METRICS",
    "Comparison",
    "Difference",
    "Factor",
    "FactorKind",
    "Finding",
    "FindingKind",
    "Report",
    "Representation",
    "Score",
    "__version__",
    "audit",
    "compare",
    "data",
    "encode",
    "evaluate",
    "list_metrics",
    "load",
    "make_factor",
    "manifold",
    "metrics",
    "models",
    "read_reports",
    "save",
]
