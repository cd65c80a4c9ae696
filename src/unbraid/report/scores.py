"""The page of one report, and its table in a notebook."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid._base.text import EN_DASH, MISSING, clip, count, exact, number
from unbraid.interpret.chance import AgainstChance, against_chance, remark
from unbraid.interpret.diagnosis import PREDICTED_WELL, RIGHT_ANGLES
from unbraid.interpret.disagreement import MARKED_SPREAD, weak_axes
from unbraid.interpret.structure import MOST_OF_IT
from unbraid.interpret.summary import failure_doubts, general_doubts, opening, score_doubts
from unbraid.interpret.verdict import LEVELS, MEANING, verdicts
from unbraid.metrics import METRICS
from unbraid.metrics.table.catalogue import ceiling
from unbraid.metrics.table.metric import Property
from unbraid.panel.plan import plain_options
from unbraid.report.charts import Strip, make_strip
from unbraid.report.grids import block_maps, code_code_map, code_factor_maps, code_grid, factor_factor_maps, factor_grid
from unbraid.report.loss_curves import draw_losses, loss_tables
from unbraid.report.sections import dependence_view, loss_grid, make_curves, weight_grid
from unbraid.report.shell import carried, fill
from unbraid.report.stills import draw_pictures, draw_stills, draw_strips
from unbraid.results.code_table import code_maps, main_factors
from unbraid.results.finding import FactorStrips
from unbraid.results.report import MOST_SHOWN, Report
from unbraid.results.score import Score

#: Codes of which a page can carry the names and stay below 3 MB.
MOST_INDEXED = 40_000
DIGITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One score, or one metric that failed.

    Attributes:
        name: Registry name.
        title: Spelled out.
        question: What it asks, in plain words.
        tags: Every property it measures.
        value: As text; so are the next three.
        interval: Lower and upper end.
        null: What chance scores.
        standing: Place between chance (0) and the best attainable (1).
        keys: Exact value, lower end, null and standing to sort by, empty where there is none.
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
    standing: str = MISSING
    keys: tuple[str, str, str, str] = ("", "", "", "")
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
        standing=number(score.standing),
        keys=(exact(score.value), exact(score.low), exact(score.null), exact(score.standing)),
        remark=remark(metric, score),
        is_warning=not metric.source.label_free or against_chance(metric, score) is AgainstChance.WORSE,
        direction="" if metric.higher_is_better else "lower is better",
        strip=make_strip(score.value, bounds=metric.bounds, low=score.low, high=score.high, null=score.null),
        tip=score_tip(metric.title, score),
        limit=_limit(name, score, report),
    )


def _limit(name: str, score: Score, report: Report) -> str:
    top = ceiling(name, score.value, report.setup)
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
    arguments = [f"metrics={_metrics(report)}", f"seed={report.setup.seed!r}"]
    arguments += [f"{key}={_literal(value)}" for key, value in shared.items()]
    if own:
        arguments.append(f"options={_literal(own)}")
    if report.setup.name != UNNAMED:
        arguments.append(f"name={_literal(report.setup.name)}")
    if report.scores and not report.interval_methods:
        arguments.append("intervals=False")
    if report.scores and all(score.null is None for score in report.scores.values()):
        arguments.append("nulls=False")
    lines = [
        f"import unbraid as ub  # version {report.setup.unbraid}",
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
    known = report.setup.source
    return _literal_text(known) if known else 'ub.load("codes.npz")  # the codes and factors scored here'


def _address(text: str) -> str:
    return next((base + match[1] for pattern, base in ADDRESSES if (match := pattern.search(text))), "")


def _metrics(report: Report) -> str:
    names = [name for name in METRICS if name in report.scores or name in report.failures]
    n_factors = report.setup.n_factors
    usual = [m for m in METRICS.values() if m.in_default or (m.with_blocks and report.setup.blocks)]
    if names == [m.name for m in usual if m.min_factors <= n_factors]:
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
    used = report.setup.options
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


def render_page(
    report: Report,
    *,
    strips: FactorStrips | None = None,
    pictures: Mapping[str, bytes] | None = None,
    table: str = "",
) -> str:
    """Return the report as one HTML page that needs nothing else: no network, no other file.

    Names and notes come from the user's data, so the template escapes everything; only the style sheet and the
    script, which are ours, go in as they are. The page's policy allows that one script and nothing from elsewhere.

    Args:
        report: What to show.
        strips: Traversals of a decoder.
        pictures: PNG files by their captions.
        table: Name of the file beside the page that has all codes, where there is one.
    """
    drawn = {"pictures": draw_pictures(pictures or {})}
    return fill("page.html", page_context(report, strips, table) | drawn, "stills.css")


def page_context(report: Report, strips: FactorStrips | None = None, table: str = "") -> dict[str, Any]:
    """Return everything the template shows, as plain data."""
    return {
        "code_index": code_index(report) if report.setup.n_codes > MOST_SHOWN else None,
        "table": table,
        "stills": draw_stills(report),
        "strips": None if strips is None else draw_strips(strips),
        "setup": report.setup,
        "heading": heading(report),
        "facts": facts(report),
        "factors": _factors(report),
        "opening": opening(report),
        "verdicts": verdicts(report),
        "general_doubts": general_doubts(report),
        "failure_doubts": failure_doubts(report),
        "score_doubts": score_doubts(report),
        "dependence": dependence_view(report),
        "groups": score_groups(report),
        "maps": code_factor_maps(report),
        "code_map": code_code_map(report),
        "block_maps": block_maps(report),
        "pair_maps": factor_factor_maps(report),
        "curves": make_curves(report),
        "curve_grids": [grid for grid in (loss_grid(report), weight_grid(report)) if grid],
        "sentences": report.sentences,
        "losses": draw_losses({report.setup.name: report}),
        "loss_tables": loss_tables({report.setup.name: report}),
        "factor_grid": factor_grid(report),
        "code_grid": code_grid(report),
        "interval_methods": interval_methods(report),
        "references": references(report),
        "call": call(report),
        "confidence": f"{100 * report.setup.confidence:g} %",
        "meaning": MEANING,
        "levels": LEVELS,
        "marked_spread": MARKED_SPREAD,
        "rotation_rules": (PREDICTED_WELL, RIGHT_ANGLES, MOST_OF_IT),
        "data": carried(report.to_json(evidence=False)),
    }


def heading(report: Report) -> str:
    """Return the question that the page answers."""
    codes, n_factors = count(report.setup.n_codes, "code"), report.setup.n_factors
    if not n_factors:
        return f"How independent are these {codes}?" if report.setup.n_codes > 1 else "What is in this code?"
    return f"How well do {codes} separate {count(n_factors, 'factor')}?"


def facts(report: Report) -> list[tuple[str, str]]:
    """Return what was scored and how, as label and text."""
    setup = report.setup
    dead = len(setup.dead_codes)
    return [
        ("Rows", f"{setup.n_samples:,}"),
        ("Codes", f"{setup.n_codes:,}" + (f", {dead:,} of them constant" if dead else "")),
        ("Factors", f"{setup.n_factors:,}"),
        ("Scores", f"{len(report.scores)}" + (f", {len(report.failures)} failed" if report.failures else "")),
        ("Seed", f"{setup.seed}"),
        ("Unbraid", f"{setup.unbraid}"),
    ]


def _factors(report: Report) -> list[tuple[str, str, str]]:
    """Return each factor's name, what it is, and its name as the headings of tables have it."""
    setup = report.setup
    columns = zip(setup.factor_names, setup.factor_kinds, setup.factor_levels, strict=True)
    return [(name, f"{kind}, {levels} values" if levels else kind, clip(name)) for name, kind, levels in columns]


def render_notebook(report: Report) -> str:
    """Return a report as a piece of HTML that takes its colours from the notebook around it, light or dark."""
    setup = report.setup
    sizes = ((setup.n_samples, "row"), (setup.n_codes, "code"), (setup.n_factors, "factor"))
    context = {
        "name": setup.name,
        "facts": ", ".join(count(size, noun) for size, noun in sizes),
        "groups": score_groups(report),
        "notes": report.notes,
        "sentences": report.sentences,
    }
    return fill("notebook.html", context)


def code_index(report: Report) -> dict[str, Any] | None:
    """Return names of codes and factors, and for each matrix the main factor of each code and how much it carries.

    ``None`` where the tables of the page have all codes, where there is no such matrix, and of very many codes.
    """
    maps = code_maps(report.evidence)
    if not MOST_SHOWN < report.setup.n_codes <= MOST_INDEXED or not maps or not report.setup.n_factors:
        return None
    found = []
    for one in maps:
        best, most = main_factors(one.matrix)
        sizes = [float(f"{size:.{DIGITS}g}") for size in most]
        found.append({"title": _title(one.key), "factor": np.where(most > 0, best, -1).tolist(), "size": sizes})
    return {"codes": list(report.setup.code_names), "factors": list(report.setup.factor_names), "maps": found}


def _title(key: str) -> str:
    family = next((metric.title for metric in METRICS.values() if metric.family == key), "")
    return f"Importance, {family.rpartition(', ')[2]}" if family else "Mutual information"
