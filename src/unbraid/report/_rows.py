"""Rows of the page's tables, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from unbraid._ceilings import ceiling
from unbraid._score import Score
from unbraid._standing import Standing, remark, standing
from unbraid.metrics import METRICS
from unbraid.metrics._metric import Property
from unbraid.report._causes import weak_axes
from unbraid.report._format import EN_DASH, MISSING, exact, number
from unbraid.report._strip import Strip, make_strip
from unbraid.result import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One score, or one metric that failed.

    Attributes:
        name: Registry name.
        title: Spelled out.
        question: What it asks, in plain words.
        tags: Every property it measures.
        value: As text; so are the next two.
        interval: Lower and upper end.
        null: What chance scores.
        keys: Exact value, lower end and null to sort by, empty where there is none.
        remark: A word on chance, where one is needed.
        is_warning: Whether the remark is bad news.
        direction: Said only where lower is better.
        strip: The drawing, where the value can be drawn.
        tip: Everything in one line, for hovering.
        failure: Why there is no score.
        limit: What keeps the score from the best of its range, whatever the codes, where something does.
    """

    name: str
    title: str
    question: str
    tags: tuple[str, ...]
    value: str = MISSING
    interval: str = MISSING
    null: str = MISSING
    keys: tuple[str, str, str] = ("", "", "")
    remark: str = ""
    is_warning: bool = False
    direction: str = ""
    strip: Strip | None = None
    tip: str = ""
    failure: str = ""
    limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreGroup:
    """The scores of one property."""

    about: Property
    rows: tuple[ScoreRow, ...]

    @property
    def on_unit_axis(self) -> bool:
        """Whether every drawing runs from 0 to 1."""
        return all(row.strip.ends is None for row in self.rows if row.strip is not None)


def score_groups(report: Report) -> list[ScoreGroup]:
    """Group scores and failures by their first property, in the order of the properties."""
    rows = {name: _score_row(name, score, report) for name, score in report.scores.items()}
    rows |= {name: _failed_row(name, reason) for name, reason in report.failures.items()}
    groups = []
    for prop in Property:
        members = tuple(row for name, row in rows.items() if METRICS[name].measures[0] is prop)
        if members:
            groups.append(ScoreGroup(about=prop, rows=members))
    return groups


def _score_row(name: str, score: Score, report: Report) -> ScoreRow:
    metric = METRICS[name]
    return ScoreRow(
        name=name,
        title=metric.title,
        question=metric.summary,
        tags=tuple(metric.measures),
        value=number(score.value),
        interval=interval_text(score) or MISSING,
        null=number(score.null),
        keys=(exact(score.value), exact(score.low), exact(score.null)),
        remark=remark(metric, score),
        is_warning=not metric.source.label_free or standing(metric, score) is Standing.WORSE,
        direction="" if metric.higher_is_better else "lower is better",
        strip=make_strip(metric, score),
        tip=score_tip(metric.title, score),
        limit=_limit(name, score, report),
    )


def _limit(name: str, score: Score, report: Report) -> str:
    top = ceiling(name, score.value, report.meta)
    said = [] if top is None else [f"At most about {top.value:.2f} with one code for each factor: {top.why}."]
    return " ".join([*said, *weak_axes(METRICS[name], report)])


def score_tip(title: str, score: Score) -> str:
    """Say everything about a score in one line."""
    parts = [f"{title}: {number(score.value)}"]
    if interval_text(score):
        parts.append(f"interval {interval_text(score)}")
    if score.null is not None:
        parts.append(f"chance {number(score.null)}")
    if exact(score.value):
        parts.append(f"exactly {exact(score.value)}")
    return "; ".join(parts)


def interval_text(score: Score) -> str:
    """Write both ends, or nothing where there is no interval."""
    known = score.low is not None and score.high is not None
    return f"{number(score.low)} {EN_DASH} {number(score.high)}" if known else ""


def _failed_row(name: str, reason: str) -> ScoreRow:
    metric = METRICS[name]
    return ScoreRow(name=name, title=metric.title, question=metric.summary, tags=tuple(metric.measures), failure=reason)
