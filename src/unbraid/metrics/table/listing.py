"""Listing, description and lookup of metrics by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from inspect import signature
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pandas as pd

from unbraid._base.checks import did_you_mean
from unbraid.metrics.table.catalogue import BESIDE_THE_PANEL, METRICS
from unbraid.metrics.table.metric import Invariance, Metric, Preset

DEFAULT, WITH_BLOCKS, BY_NAME, NO_PRESET = "default", "with blocks", "by name", "none"


def list_metrics() -> pd.DataFrame:
    """Return a table of the metrics: what each measures, what it needs and what it costs.

    ``panel`` is ``"default"`` for what :func:`~unbraid.evaluate` computes by default, ``"with blocks"`` for
    what it computes where the codes have blocks, and ``"by name"`` for what must be asked for.
    """
    return pd.DataFrame([_row(metric) for metric in METRICS.values()]).set_index("metric")


def panels() -> dict[str, tuple[str, list[str]]]:
    """Return the purpose of each panel that can be asked for by name, and its families."""
    rows = METRICS.values()
    found = {DEFAULT: ("what suits most inputs", _families(metric for metric in rows if metric.in_default))}
    for preset in Preset:
        found[str(preset)] = (preset.purpose, _families(metric for metric in rows if preset in metric.presets))
    return found | {"all": ("everything, the dearest too", _families(rows))}


def _families(metrics: Iterable[Metric]) -> list[str]:
    return list(dict.fromkeys(metric.family for metric in metrics))


def describe_metric(metric: Metric) -> dict[str, Any]:
    """Return the row of one metric, and its options with their defaults, as plain data."""
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
        "chance": _chance(metric),
        "misled_by_dependence": metric.misled_by_dependence,
        "reference": metric.reference,
        "function": f"unbraid.metrics.{metric.function.__name__}",
        "page": f"docs/metrics/{metric.family}.md",
    }


def _row(metric: Metric) -> dict[str, str]:
    return {
        "metric": metric.name,
        "title": metric.title,
        "measures": ", ".join(metric.measures),
        "needs": _needs(metric),
        "direction": "higher is better" if metric.higher_is_better else "lower is better",
        "cost": str(metric.cost),
        "panel": DEFAULT if metric.in_default else WITH_BLOCKS if metric.with_blocks else BY_NAME,
        "presets": ", ".join(preset for preset in Preset if preset in metric.presets) or NO_PRESET,
        "question": metric.summary,
    }


def _needs(metric: Metric) -> str:
    if metric.min_factors == 0:
        return "codes"
    kind = "" if metric.factor_kind is None else f"{metric.factor_kind} "
    return f"codes and {metric.min_factors}+ {kind}factors"


def _defaults(metric: Metric) -> dict[str, Any]:
    """Return the options that both the panel and the public function take, with their defaults."""
    parameters = signature(metric.function).parameters
    return {name: parameters[name].default for name in metric.option_names if name in parameters}


def _choices(metric: Metric) -> dict[str, list[Any]]:
    hints = get_type_hints(metric.function)
    return {name: list(get_args(hints[name])) for name in _defaults(metric) if get_origin(hints[name]) is Literal}


def _chance(metric: Metric) -> str:
    what = "codes" if metric.source.label_free else "factors"
    says = "" if metric.has_null else "; it is not the chance level here"
    return f"mean over {metric.source.n_nulls} shuffles of the {what}{says}"


def families() -> dict[str, list[str]]:
    """Return the members of each family, in the table's order; of a metric that stands alone, itself."""
    found: dict[str, list[str]] = {}
    for metric in METRICS.values():
        found.setdefault(metric.family, []).append(metric.name)
    return found


def unknown_metric(name: str) -> str:
    """Return the sentence for an unknown metric, with a suggestion."""
    known = next((one for one in BESIDE_THE_PANEL if _plain(one) == _plain(name)), None)
    if known is not None:
        beside = BESIDE_THE_PANEL[known]
        return (
            f"{known!r} is not a metric of the panel: it needs {beside.needs}; call {beside.call} in Python "
            f"({beside.also})."
        )
    return f"Unknown metric {name!r}{_suggested(name, [*METRICS, *families(), *Preset])}; see `unbraid metrics`."


def meant(name: str) -> list[str]:
    """Return which metrics or families a name of other spelling, or of other papers and libraries, stands for.

    Example:
        >>> meant("MIG"), meant("beta-VAE score"), meant("dci")
        (['mig'], ['z_diff'], ['dci_linear', 'dci_forest', 'dci_boosting', 'dci_es'])
    """
    plain, names = _plain(name), families()
    same = [one for one in dict.fromkeys([*names, *METRICS]) if _plain(one) == plain]
    titled = [metric.name for metric in METRICS.values() if plain in _titles(metric.title)]
    other = [metric.name for metric in METRICS.values() if plain in map(_plain, metric.other_names)]
    starts = [one for one in names if one.startswith(f"{name.lower()}_") and len(names[one]) > 1]
    headline = [one for one in METRICS if _plain(one.partition(".")[2]) == plain != ""]
    return same or titled or other or starts or headline


def _suggested(name: str, choices: list[str]) -> str:
    """Return the choices that a name stands for, else the nearest choice, as the end of a sentence."""
    found = [one for one in meant(name) if one in choices]
    if len(found) > 1:
        return f"; did you mean one of {', '.join(map(repr, found))}"
    return f"; did you mean {found[0]!r}" if found else did_you_mean(name, choices)


def _titles(title: str) -> list[str]:
    """Return a title, what stands before its brackets, and what is in them: the name that a paper gave."""
    return [_plain(part) for part in (title, *re.split(r"[()]", title)) if part.strip()]


def _plain(name: str) -> str:
    """Return letters and digits only, in lower case, less a "metric" or "score" at the end."""
    letters = re.sub(r"[^a-z0-9]", "", str(name).lower())
    return letters.removesuffix("metric").removesuffix("score") or letters
