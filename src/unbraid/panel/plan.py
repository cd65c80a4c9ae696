"""Which metrics are asked for, with which options, and which of them share evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from unbraid._base.checks import did_you_mean
from unbraid.evidence.information import Binning
from unbraid.metrics import METRICS, Metric, Source
from unbraid.metrics._listing import families, unknown_metric
from unbraid.results.score import Score


@dataclass(slots=True, eq=False)
class Group:
    """Metrics that read the same evidence, and what has been computed for them."""

    source: Source
    options: Any
    metrics: dict[str, tuple[Metric, dict[str, Any]]] = field(default_factory=dict)
    points: dict[str, Score] = field(default_factory=dict)
    replicates: dict[int, dict[str, float]] = field(default_factory=dict)
    nulls: dict[int, dict[str, float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    spread_error: str | None = None
    scale: float = 1.0
    seconds: float = 0.0


def resolve_metrics(metrics: str | Iterable[str]) -> list[Metric]:
    """Return the table rows behind names, family names or ``"default"``, each once, in the table's order."""
    names = [part.strip() for part in metrics.split(",")] if isinstance(metrics, str) else list(metrics)
    by_family = families()
    wanted = set()
    for name in names:
        if name == "all":
            wanted |= set(METRICS)
        elif name == "default":
            wanted |= {name for name, metric in METRICS.items() if metric.in_default}
        elif name in METRICS:
            wanted.add(name)
        elif name in by_family:
            wanted |= set(by_family[name])
        else:
            raise ValueError(unknown_metric(name))
    if not wanted:
        raise ValueError("metrics must name at least one metric, got none; see `unbraid metrics`.")
    return [metric for name, metric in METRICS.items() if name in wanted]


def metric_options(
    metrics: str | Iterable[str],
    *,
    n_bins: int = 20,
    binning: Binning = "robust",
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return every option that each metric would be computed with, defaults included, as plain data.

    Two calls of :func:`evaluate` whose options agree here give the same number.

    Raises:
        ValueError: An unknown metric or option.

    Example:
        >>> metric_options("mig", n_bins=8)["mig"]["n_bins"]
        8
    """
    groups = plan_groups(resolve_metrics(metrics), {"n_bins": n_bins, "binning": binning}, options or {})
    return options_of(groups)


def plan_groups(metrics: list[Metric], shared: dict[str, Any], options: Mapping[str, Mapping[str, Any]]) -> list[Group]:
    """Group metrics by the evidence they share."""
    _check_options(options, metrics)
    groups: dict[Any, Group] = {}
    for metric in metrics:
        given = {**options.get(metric.family, {}), **options.get(metric.name, {})}
        evidence, rest = metric.split_options({**shared, **given})
        group = groups.setdefault((metric.source.name, evidence), Group(metric.source, evidence))
        group.metrics[metric.name] = (metric, rest)
    return list(groups.values())


def _check_options(options: Mapping[str, Mapping[str, Any]], metrics: list[Metric]) -> None:
    """Raise on an option that no metric asked for would read: it would change nothing, silently."""
    asked = {name for metric in metrics for name in (metric.name, metric.family)}
    for name, given in options.items():
        if name not in asked:
            raise ValueError(
                f"options names {name!r}, which is not among the metrics asked for{did_you_mean(name, asked)}."
            )
        takes = [key for metric in metrics if name in (metric.name, metric.family) for key in metric.option_names]
        for key, value in given.items():
            if key not in takes:
                known = ", ".join(dict.fromkeys(takes)) or "none"
                raise ValueError(f"options for {name} must be among {known}, got {key!r}{did_you_mean(key, takes)}.")
            for metric in metrics:
                if name in (metric.name, metric.family):
                    metric.check_score_option(key, value)


def options_of(groups: list[Group]) -> dict[str, dict[str, Any]]:
    """Return every option of each metric, as plain data."""
    return {
        name: {**plain_options(group.options), **rest} for group in groups for name, (_, rest) in group.metrics.items()
    }


def plain_options(options: Any) -> dict[str, Any]:
    """Return options as plain data."""
    return {item.name: _plain_value(getattr(options, item.name)) for item in fields(options)}


def _plain_value(value: Any) -> Any:
    """Return settings within settings as theirs; a callable by the name of its type, the same in every run."""
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, tuple):
        return [_plain_value(part) for part in value]
    if is_dataclass(value):
        return {"type": type(value).__name__, **plain_options(value)}
    return type(value).__name__
