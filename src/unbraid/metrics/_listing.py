"""The metrics as a table to look at."""

from __future__ import annotations

import pandas as pd

from unbraid.metrics._catalogue import METRICS


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
