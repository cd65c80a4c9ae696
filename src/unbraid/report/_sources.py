"""Where the numbers come from: intervals, references, and the call that makes them again."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from unbraid._asked import plain_options
from unbraid.metrics import METRICS
from unbraid.result import Report

UNNAMED = "a representation"
SHARED = ("n_bins", "binning")
ADDRESSES = (
    (re.compile(r"arXiv:(\d{4}\.\d{4,5})"), "https://arxiv.org/abs/"),
    (re.compile(r"openreview (\S+)"), "https://openreview.net/forum?id="),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One publication, where to find it, and the scores that come from it."""

    text: str
    address: str
    titles: tuple[str, ...]


def references(report: Report) -> list[Reference]:
    """Return what to cite for the scores on the page, by author."""
    return references_of([*report.scores, *report.failures])


def references_of(names: Iterable[str]) -> list[Reference]:
    """Return what to cite for metrics, by author."""
    by_text: dict[str, list[str]] = {}
    for name in names:
        by_text.setdefault(METRICS[name].reference, []).append(METRICS[name].title)
    return [Reference(text=text, address=_address(text), titles=tuple(by_text[text])) for text in sorted(by_text)]


def interval_methods(report: Report) -> list[tuple[str, tuple[str, ...]]]:
    """Return each way an interval was made, with the titles of its scores."""
    by_method: dict[str, list[str]] = {}
    for name, method in report.interval_methods.items():
        by_method.setdefault(method, []).append(METRICS[name].title)
    return [(method, tuple(titles)) for method, titles in by_method.items()]


def call(report: Report) -> str:
    """Return Python that scores the same input in the same way."""
    shared, own = _options(report)
    arguments = [f"metrics={_metrics(report)}", f"seed={report.meta['seed']!r}"]
    arguments += [f"{key}={_literal(value)}" for key, value in shared.items()]
    if own:
        arguments.append(f"options={_literal(own)}")
    if report.meta["name"] != UNNAMED:
        arguments.append(f"name={_literal(report.meta['name'])}")
    if report.scores and not report.interval_methods:
        arguments.append("intervals=False")
    if report.scores and all(score.null is None for score in report.scores.values()):
        arguments.append("nulls=False")
    lines = [
        f"import unbraid as ub  # version {report.meta['unbraid']}",
        "",
        f"rep = {_source(report)}",
        "report = ub.evaluate(",
        "    rep,",
        *(f"    {argument}," for argument in arguments),
        ")",
        'report.to_html("report.html")',
    ]
    return "\n".join(lines)


def _source(report: Report) -> str:
    """Return Python that makes the same input, where that is known."""
    known = report.meta.get("source")
    return _literal_text(known) if known else 'ub.load("codes.npz")  # the codes and factors scored here'


def _address(text: str) -> str:
    return next((base + match[1] for pattern, base in ADDRESSES if (match := pattern.search(text))), "")


def _metrics(report: Report) -> str:
    names = [name for name in METRICS if name in report.scores or name in report.failures]
    n_factors = report.meta["n_factors"]
    if names == [name for name, m in METRICS.items() if m.in_default and m.min_factors <= n_factors]:
        return '"default"'
    if names == list(METRICS):
        return '"all"'
    indent = " " * 8
    lines = textwrap.wrap(", ".join(f'"{name}"' for name in names), 88, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(["[", *lines, "    ]"]) if len(lines) > 1 else f"[{lines[0].strip()}]"


def _literal(value: Any) -> str:
    """Write a value as Python with double quotes, where it has none of its own."""
    return _literal_text(repr(value))


def _literal_text(text: str) -> str:
    return text if '"' in text else text.replace("'", '"')


def _options(report: Report) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Divide the options used into those shared by all metrics and those of one metric that are not the default."""
    used: dict[str, dict[str, Any]] = report.meta["options"]
    shared = {}
    for key in SHARED:
        found = Counter(values[key] for values in used.values() if key in values)
        if found:
            shared[key] = found.most_common(1)[0][0]
    own = {}
    for name, values in used.items():
        usual = plain_options(METRICS[name].source.options()) | shared
        changed = {key: value for key, value in values.items() if key not in usual or value != usual[key]}
        if changed:
            own[name] = changed
    return shared, _by_family(own, list(used))


def _by_family(own: dict[str, dict[str, Any]], names: list[str]) -> dict[str, dict[str, Any]]:
    """Say it once where all scores of a family were given the same options."""
    short: dict[str, dict[str, Any]] = {}
    for name, changed in own.items():
        family = METRICS[name].family
        alike = all(own.get(other) == changed for other in names if METRICS[other].family == family)
        short[family if alike else name] = changed
    return short
