"""The metrics as a table to look at, and all that is known of one."""

from __future__ import annotations

from inspect import signature
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pandas as pd

from unbraid.metrics._catalogue import METRICS
from unbraid.metrics._metric import Invariance, Metric

DEFAULT, BY_NAME = "default", "by name"


def list_metrics() -> pd.DataFrame:
    """Return a table of the metrics: what each measures, what it needs and what it costs.

    ``panel`` is ``"default"`` for what :func:`~unbraid.evaluate` runs unless told otherwise, and ``"by name"`` for what
    must be asked for.
    """
    return pd.DataFrame([_row(metric) for metric in METRICS.values()]).set_index("metric")


def describe_metric(metric: Metric) -> dict[str, Any]:
    """Return all that the table knows of one metric, and its options with their defaults, as plain data."""
    low, high = metric.bounds
    return {
        **_row(metric),
        "lowest": low,
        "highest": high,
        "unchanged_by": [str(change) for change in Invariance if change in metric.invariant_to],
        "changed_by": [str(change) for change in Invariance if change not in metric.invariant_to],
        "options": _defaults(metric),
        "choices": _choices(metric),
        "interval": metric.source.interval_method,
        "null": _null(metric),
        "misled_by_dependence": metric.misled_by_dependence,
        "reference": metric.reference,
        "function": f"unbraid.metrics.{metric.family}",
        "page": f"docs/metrics/{metric.family}.md",
    }


def _row(metric: Metric) -> dict[str, str]:
    return {
        "metric": metric.name,
        "title": metric.title,
        "measures": ", ".join(metric.measures),
        "needs": "codes" if metric.min_factors == 0 else f"codes and {metric.min_factors}+ factors",
        "direction": "higher is better" if metric.higher_is_better else "lower is better",
        "cost": str(metric.cost),
        "panel": DEFAULT if metric.in_default else BY_NAME,
        "question": metric.summary,
    }


def _defaults(metric: Metric) -> dict[str, Any]:
    """Return the options that both the panel and the public function take, with their defaults."""
    parameters = signature(metric.function).parameters
    return {name: parameters[name].default for name in metric.option_names if name in parameters}


def _choices(metric: Metric) -> dict[str, list[Any]]:
    hints = get_type_hints(metric.function)
    return {name: list(get_args(hints[name])) for name in _defaults(metric) if get_origin(hints[name]) is Literal}


def _null(metric: Metric) -> str:
    what = "codes" if metric.source.label_free else "factors"
    says = "" if metric.has_null else "; it does not say what chance scores here"
    return f"mean over {metric.source.n_nulls} shuffles of the {what}{says}"
