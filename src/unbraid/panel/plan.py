"""Plan of an evaluation: the metrics, their options, and the evidence that metrics share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from unbraid._base.checks import did_you_mean
from unbraid.evidence.information import Binning
from unbraid.interpret.dependence import read_instead
from unbraid.metrics import METRICS, Metric, Preset, Source
from unbraid.metrics.table.layouts import no_path, source_for
from unbraid.metrics.table.listing import families, unknown_metric
from unbraid.representation.representation import Representation, check_n_factors
from unbraid.results.note import Note, NoteKind

#: Trees of the scores that are added for dependent factors, and the most rows times regressions of their fits.
ADDED_TREES, MOST_ADDED, FEWEST_ADDED_ROWS = 10, 200_000, 500


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvidencePlan:
    """One kind of evidence to gather, and the metrics to score from it.

    Attributes:
        source: The kind of evidence.
        options: Options of the evidence.
        metrics: By name, each metric and the options that its score takes.
    """

    source: Source
    options: Any
    metrics: Mapping[str, tuple[Metric, Mapping[str, Any]]]

    @property
    def refits(self) -> bool:
        """Whether replicates gather the evidence again on random halves of the rows."""
        return self.source.resample is None and self.source.redraw is None


def resolve_metrics(metrics: str | Iterable[str]) -> list[Metric]:
    """Return the table rows behind names, family names and panels such as ``"default"``, in the table's order."""
    names = [part.strip() for part in metrics.split(",")] if isinstance(metrics, str) else list(metrics)
    by_family = families()
    wanted = set()
    for name in names:
        if name == "all":
            wanted |= set(METRICS)
        elif name == "default":
            wanted |= {name for name, metric in METRICS.items() if metric.in_default}
        elif name in list(Preset):
            wanted |= {metric.name for metric in METRICS.values() if name in metric.presets}
        elif name in by_family:
            wanted |= set(by_family[name])
        elif name in METRICS:
            wanted.add(name)
        else:
            raise ValueError(unknown_metric(name))
    if not wanted:
        raise ValueError("metrics must name at least one metric, got none; see `unbraid metrics`.")
    return [metric for name, metric in METRICS.items() if name in wanted]


def choose_metrics(metrics: str | Iterable[str], rep: Representation) -> tuple[list[Metric], tuple[Note, ...]]:
    """Return the metrics to compute; a panel by name leaves out metrics that do not fit the input, with a note."""
    chosen = resolve_metrics(metrics)
    if metrics not in ("default", *Preset):
        return chosen, ()
    if rep.blocks:
        chosen = [metric for metric in METRICS.values() if metric in chosen or metric.with_blocks]
    left_out = [metric.name for metric in chosen if metric.min_factors > rep.n_factors]
    pathless = [
        metric.name for metric in chosen if metric.name not in left_out and source_for(metric.source, rep) is None
    ]
    sentences = []
    if left_out:
        sentences.append(f"Left out, for want of labelled factors ({rep.n_factors} given): {', '.join(left_out)}.")
    if pathless:
        sentences.append(f"Left out, as codes are sparse: {', '.join(pathless)}.")
    kept = [metric for metric in chosen if metric.name not in (*left_out, *pathless)]
    return kept, tuple(Note.of(NoteKind.LEFT_OUT, sentence) for sentence in sentences)


def added_for_dependence(chosen: list[Metric], rep: Representation) -> tuple[list[Metric], dict[str, dict[str, int]]]:
    """Return the scores to read where factors depend on each other, with options that keep them cheap.

    They fit a regression for every code and factor, so that many codes leave fewer rows to each.
    """
    names = read_instead(metric.name for metric in chosen if metric.misled_by_dependence)
    added = [metric for metric in resolve_metrics(names) if metric not in chosen]
    n_rows = max(FEWEST_ADDED_ROWS, MOST_ADDED // (2 * (rep.n_codes + 1) * (rep.n_factors + 1)))
    light = {"n_trees": ADDED_TREES, "max_rows": n_rows}
    families = {metric.family: metric for metric in added}
    return added, {
        family: {key: value for key, value in light.items() if key in metric.option_names}
        for family, metric in families.items()
    }


def unsupported(metric: Metric, rep: Representation) -> str | None:
    """Return the reason why a metric cannot be computed from a representation; ``None`` where it can."""
    try:
        check_n_factors(rep, metric=metric.name, min_factors=metric.min_factors)
    except ValueError as error:
        return str(error)
    return no_path(metric) if source_for(metric.source, rep) is None else None


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
    return options_of(plan_evidence(resolve_metrics(metrics), {"n_bins": n_bins, "binning": binning}, options or {}))


def plan_evidence(
    metrics: list[Metric],
    shared: dict[str, Any],
    options: Mapping[str, Mapping[str, Any]],
    rep: Representation | None = None,
) -> list[EvidencePlan]:
    """Put metrics that share evidence together; each has a source for the codes of a representation, where given."""
    _check_options(options, metrics)
    planned: dict[Any, dict[str, tuple[Metric, Mapping[str, Any]]]] = {}
    for metric in metrics:
        given = {**options.get(metric.family, {}), **options.get(metric.name, {})}
        evidence, rest = metric.split_options({**shared, **given})
        planned.setdefault((metric.source.name, evidence), {})[metric.name] = (metric, rest)
    plans = []
    for (_, evidence), chosen in planned.items():
        usual = next(iter(chosen.values()))[0].source
        source = usual if rep is None else source_for(usual, rep)
        assert source is not None
        plans.append(EvidencePlan(source=source, options=evidence, metrics=chosen))
    return plans


def _check_options(options: Mapping[str, Mapping[str, Any]], metrics: list[Metric]) -> None:
    """Raise on an option that no requested metric has, which would silently change nothing."""
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


def options_of(plans: list[EvidencePlan]) -> dict[str, dict[str, Any]]:
    """Return every option of each metric, as plain data."""
    return {name: {**plain_options(plan.options), **rest} for plan in plans for name, (_, rest) in plan.metrics.items()}


def plain_options(options: Any) -> dict[str, Any]:
    """Return options as plain data."""
    return {item.name: _plain_value(getattr(options, item.name)) for item in fields(options)}


def _plain_value(value: Any) -> Any:
    """Return nested settings as plain data; a callable by the name of its type, the same in every run."""
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, tuple):
        return [_plain_value(part) for part in value]
    if is_dataclass(value):
        return {"type": type(value).__name__, **plain_options(value)}
    return type(value).__name__
