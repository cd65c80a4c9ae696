"""Measure learned representations: how separated, compact and explicit the factors are in a model's codes."""

import pandas as pd

from unbraid import audit, manifold, metrics, models
from unbraid._differences import Difference
from unbraid._report_file import read_reports
from unbraid._score import Score
from unbraid._version import __version__
from unbraid.comparison import Comparison, compare
from unbraid.factor import Factor, FactorKind, make_factor
from unbraid.metrics import METRICS
from unbraid.models import encode
from unbraid.panel import evaluate
from unbraid.representation import Representation
from unbraid.result import Report
from unbraid.storage import load, save

__all__ = [
    "METRICS",
    "Comparison",
    "Difference",
    "Factor",
    "FactorKind",
    "Report",
    "Representation",
    "Score",
    "__version__",
    "audit",
    "compare",
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


def list_metrics() -> pd.DataFrame:
    """Return a table of the metrics: what each measures, what it needs and what it costs."""
    rows = [
        {
            "metric": metric.name,
            "title": metric.title,
            "measures": ", ".join(metric.measures),
            "needs": "codes" if metric.min_factors == 0 else f"codes and {metric.min_factors}+ factors",
            "direction": "higher is better" if metric.higher_is_better else "lower is better",
            "cost": str(metric.cost),
            "question": metric.summary,
        }
        for metric in METRICS.values()
    ]
    return pd.DataFrame(rows).set_index("metric")
