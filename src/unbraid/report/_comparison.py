"""One page for several representations: scores side by side, curves overlaid, what each is good at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unbraid.comparison import Comparison
from unbraid.metrics import METRICS
from unbraid.metrics._metric import Property
from unbraid.report._difference_rows import difference_tables
from unbraid.report._doubts import Doubt, failure_doubts, general_doubts
from unbraid.report._format import MISSING, clip, count, number
from unbraid.report._loss_curves import draw_losses
from unbraid.report._loss_tables import loss_tables
from unbraid.report._rows import interval_text, score_tip
from unbraid.report._shell import carried, fill
from unbraid.report._sources import references_of
from unbraid.report._summary import opening
from unbraid.report._verdict import MEANING
from unbraid.result import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One score of one representation.

    Attributes:
        value: As text.
        interval: As text, or empty.
        chance: What shuffled factors score, as text, or empty.
        tip: Everything in one line, for hovering.
    """

    value: str
    interval: str = ""
    chance: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """One metric, with an entry for each representation."""

    name: str
    title: str
    question: str
    direction: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Portrait:
    """What one representation is like, in words.

    Attributes:
        name: As given.
        anchor: Where it is on the page.
        facts: What was scored.
        verdict: What it is good and bad at.
        findings: How its codes hold the factors.
        says: What scores say together.
        doubts: What to distrust.
    """

    name: str
    anchor: str
    facts: str
    verdict: str
    findings: tuple[str, ...]
    says: tuple[str, ...]
    doubts: tuple[Doubt, ...]


def render_comparison(reports: Mapping[str, Report]) -> str:
    """Return several reports as one HTML page that needs nothing else: no network, no other file.

    Args:
        reports: By the name the page should call each representation; a :class:`~unbraid.Comparison` is one.
    """
    compared = reports if isinstance(reports, Comparison) else Comparison(reports=dict(reports))
    first = next(iter(compared.values()))
    context = {
        "heading": f"How do {len(compared)} representations compare?" if len(compared) > 1 else "One representation",
        "confidence": f"{100 * first.meta['confidence']:g} %",
        "portraits": [_portrait(place, name, report) for place, (name, report) in enumerate(compared.items())],
        "verdict": compared.verdict,
        "differences": difference_tables(compared),
        "groups": _groups(compared),
        "losses": draw_losses(compared),
        "loss_tables": loss_tables(compared),
        "references": references_of(compared.metrics),
        "meaning": MEANING,
        "data": carried(compared.to_json()),
    }
    return fill("comparison.html", context, "comparison.css")


def _portrait(place: int, name: str, report: Report) -> Portrait:
    meta, words = report.meta, opening(report)
    facts = [count(meta["n_samples"], "row"), count(meta["n_codes"], "code"), count(meta["n_factors"], "factor")]
    return Portrait(
        name=name,
        anchor=f"representation-{place + 1}",
        facts=", ".join([*facts, f"seed {meta['seed']}"]),
        verdict=words.verdict,
        findings=words.findings,
        says=report.says,
        doubts=(*failure_doubts(report), *general_doubts(report)),
    )


def _groups(compared: Comparison) -> list[tuple[Property, tuple[Versus, ...]]]:
    """Group metrics by their first property, in the order of the properties."""
    rows = {prop: [n for n in compared.metrics if METRICS[n].measures[0] is prop] for prop in Property}
    return [(prop, tuple(_versus(name, compared) for name in names)) for prop, names in rows.items() if names]


def _versus(name: str, compared: Comparison) -> Versus:
    metric = METRICS[name]
    return Versus(
        name=name,
        title=metric.title,
        question=metric.summary,
        direction="" if metric.higher_is_better else "lower is better",
        entries=tuple(_entry(name, who, report) for who, report in compared.items()),
    )


def _entry(name: str, who: str, report: Report) -> Entry:
    if name in report.failures:
        return Entry(value="failed", tip=report.failures[name])
    score = report.scores.get(name)
    if score is None:
        return Entry(value=MISSING, tip="not asked for")
    return Entry(
        value=number(score.value),
        interval=interval_text(score),
        chance="" if score.null is None else number(score.null),
        tip=f"{clip(who)}: {score_tip(METRICS[name].title, score)}",
    )
