"""The page that compares several representations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from unbraid._base.text import EN_DASH, MISSING, clip, count, exact, number
from unbraid.comparison.differences import Difference, difference_word
from unbraid.comparison.result import Comparison
from unbraid.comparison.verdict import caveat
from unbraid.interpret.summary import Doubt, failure_doubts, general_doubts, opening
from unbraid.interpret.verdict import MEANING
from unbraid.metrics import METRICS
from unbraid.metrics.table.metric import Property
from unbraid.report.charts import Strip, make_strip
from unbraid.report.loss_curves import draw_losses, loss_tables
from unbraid.report.scores import interval_text, references_of, score_tip
from unbraid.report.shell import carried, fill
from unbraid.results.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow:
    """One score of two representations.

    Attributes:
        title: Of the score.
        note: Why it is not paired or not tested, or empty.
        care: Why a sure difference is to be read with care: chance, or codes that carry no factor; else empty.
        value: First minus second, as text.
        interval: As text, or empty.
        ahead: Name of the better one, or a dash.
        word: How sure that is, or that they are equal.
        sure: Whether it is.
        strip: The drawing, where there is an interval; the first is better on the left.
        tip: Everything in one line, for hovering.
    """

    title: str
    note: str
    care: str
    value: str
    interval: str
    ahead: str
    word: str
    sure: bool
    strip: Strip | None
    tip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceTable:
    """All scores of two representations."""

    first: str
    second: str
    summary: str
    rows: tuple[DifferenceRow, ...]


def difference_tables(compared: Comparison) -> tuple[DifferenceTable, ...]:
    """Return a table for each pair, surest differences as they come in the order of the scores."""
    pairs = groupby(compared.differences, key=lambda item: (item.first, item.second))
    return tuple(_table(first, second, list(items), compared) for (first, second), items in pairs)


def _table(first: str, second: str, items: Sequence[Difference], compared: Comparison) -> DifferenceTable:
    n_sure = sum(item.sure for item in items)
    rows = tuple(_row(item, reach, compared) for item, reach in zip(items, _reaches(items), strict=True))
    n_doubtful = sum(bool(row.care) for row in rows)
    doubtful = f", {n_doubtful} of them to be read with care" if n_doubtful else ""
    return DifferenceTable(
        first=clip(first),
        second=clip(second),
        summary=f"{n_sure} of {count(len(items), 'difference')} sure{doubtful}",
        rows=rows,
    )


def _reaches(items: Sequence[Difference]) -> list[float]:
    """How far each axis goes to either side: equally far for scores between limits, on its own for one without."""
    limited = [item for item in items if math.isfinite(METRICS[item.metric].bounds[1])]
    shared = max(map(_size, limited), default=0.0)
    return [(shared if item in limited else _size(item)) or 1.0 for item in items]


def _size(item: Difference) -> float:
    return max(
        (abs(end) for end in (item.value, item.low, item.high) if end is not None and math.isfinite(end)), default=0.0
    )


def _row(item: Difference, reach: float, compared: Comparison) -> DifferenceRow:
    metric, care = METRICS[item.metric], caveat(compared, item)
    interval = "" if item.low is None or item.high is None else f"{number(item.low)} {EN_DASH} {number(item.high)}"
    word = difference_word(item)
    return DifferenceRow(
        title=metric.title,
        note=item.note,
        care=f"read with care: {care}" if care else "",
        value=number(item.value),
        interval=interval,
        ahead=MISSING if item.better is None else clip(item.better),
        word=word,
        sure=item.sure,
        strip=_strip(item, reach, -1 if metric.higher_is_better else 1),
        tip=_tip(metric.title, item, interval, word),
    )


def _strip(item: Difference, reach: float, sign: int) -> Strip | None:
    """Draw what favours the first representation on the left of zero."""
    if item.low is None or item.high is None:
        return None
    low, high = sign * item.low, sign * item.high
    return make_strip(sign * item.value, bounds=(-reach, reach), low=low, high=high, zero=0.0)


def _tip(title: str, item: Difference, interval: str, word: str) -> str:
    parts = [f"{title}: {clip(item.first)} minus {clip(item.second)} is {number(item.value)}"]
    if interval:
        parts.append(f"interval {interval}")
    if item.adjusted is not None:
        parts.append(f"{'paired' if item.paired else 'unpaired'}, p = {item.adjusted:.2g} after Holm, {word}")
    if exact(item.value):
        parts.append(f"exactly {exact(item.value)}")
    return "; ".join(parts)


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
        findings: How its codes encode the factors.
        sentences: What scores mean together.
        doubts: What to distrust.
    """

    name: str
    anchor: str
    facts: str
    verdict: str
    findings: tuple[str, ...]
    sentences: tuple[str, ...]
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
        "confidence": f"{100 * first.setup.confidence:g} %",
        "portraits": [_portrait(place, name, report) for place, (name, report) in enumerate(compared.items())],
        "verdict": compared.verdict,
        "differences": difference_tables(compared),
        "groups": _groups(compared),
        "losses": draw_losses(compared),
        "loss_tables": loss_tables(compared),
        "references": references_of(compared.metrics),
        "meaning": MEANING,
        "data": carried(compared.to_json(evidence=False)),
    }
    return fill("comparison.html", context, "comparison.css")


def _portrait(place: int, name: str, report: Report) -> Portrait:
    setup, words = report.setup, opening(report)
    facts = [count(setup.n_samples, "row"), count(setup.n_codes, "code"), count(setup.n_factors, "factor")]
    return Portrait(
        name=name,
        anchor=f"representation-{place + 1}",
        facts=", ".join([*facts, f"seed {setup.seed}"]),
        verdict=words.verdict,
        findings=words.findings,
        sentences=report.sentences,
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
