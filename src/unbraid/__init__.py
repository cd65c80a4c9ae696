"""Measure learned representations: how separated, compact and explicit the factors are in a model's codes."""

from typing import TYPE_CHECKING

from unbraid._base.lazy import on_first_use
from unbraid._version import __version__

if TYPE_CHECKING:
    from unbraid import audit, data, manifold, metrics, models
    from unbraid.comparison.differences import Difference
    from unbraid.comparison.result import Comparison, compare
    from unbraid.metrics import METRICS
    from unbraid.metrics._listing import list_metrics
    from unbraid.models import encode
    from unbraid.panel.evaluation import evaluate
    from unbraid.panel.saved import read_reports
    from unbraid.representation.factor import Factor, FactorKind, make_factor
    from unbraid.representation.files import load, save
    from unbraid.representation.representation import Representation
    from unbraid.results.finding import Finding, FindingKind
    from unbraid.results.report import Report
    from unbraid.results.score import Score
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            ".comparison.differences": ["Difference"],
            ".results.finding": ["Finding", "FindingKind"],
            ".panel.saved": ["read_reports"],
            ".results.score": ["Score"],
            ".comparison.result": ["Comparison", "compare"],
            ".representation.factor": ["Factor", "FactorKind", "make_factor"],
            ".metrics": ["METRICS"],
            ".metrics._listing": ["list_metrics"],
            ".models": ["encode"],
            ".panel.evaluation": ["evaluate"],
            ".representation.representation": ["Representation"],
            ".results.report": ["Report"],
            ".representation.files": ["load", "save"],
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
