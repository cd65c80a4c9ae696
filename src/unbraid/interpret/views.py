"""From findings to views: the two columns behind a finding, and the lines that show the finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.evidence.explained import explained_variance, factor_groups
from unbraid.evidence.subspaces.options import Subspaces
from unbraid.representation.representation import Representation
from unbraid.results.finding import ColumnKind, Finding, FindingKind, FindingView, LineRole, Still, ViewColumn, ViewLine
from unbraid.results.report import Report

#: Views of one finding, such as a finding about many pairs of codes and factors.
MOST_VIEWS = 6
#: Rows of a still.
STILL_ROWS = 500
#: How far axes are drawn to either side, in standard deviations.
REACH = 2.2
N_CIRCLE = 73
#: Half the length of the mark at a category's mean, and categories that are marked.
HALF_MARK, MOST_MARKS = 0.35, 40
CODES_ARE_AXES = "Dashed: the axes of the two codes. Solid: the directions of the factors in the codes."
CAPTIONS = {
    FindingKind.OWN: "The code follows the factor; the line is the mean of the code for each value of the factor.",
    FindingKind.ROTATED: f"{CODES_ARE_AXES} They cross at right angles, turned away from the axes of the codes.",
    FindingKind.MIXED: CODES_ARE_AXES,
    FindingKind.PACKED: "One code changes with both factors: one runs along the axis, the other is the colour.",
    FindingKind.CIRCLE: "The angle goes round the circle; neither axis alone determines it.",
    FindingKind.SPREAD: "Neither of the two codes alone determines the factor, which is the colour.",
    FindingKind.COPIED: "Both codes encode the same factor, so that all rows lie near one line.",
    FindingKind.CURVED: "The line is the mean of the code for each value of the factor: a curve.",
    FindingKind.FOLDED: "The line is the mean of the code for each value of the factor: two values share one code.",
    FindingKind.PARTLY: "The code that the factor explains best; the line is the mean of the code for each value.",
    FindingKind.LOST: "Even in the code that the factor explains best, the mean hardly changes with the factor.",
    FindingKind.EMPTY: "The code against the factor that explains most of it: next to nothing.",
    FindingKind.DEAD: "The code is the same in every row.",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Scene:
    """A representation, and what is known of it.

    Attributes:
        rep: Codes and factors.
        subspaces: Axes of the factors, where they were found.
    """

    rep: Representation
    subspaces: Subspaces | None

    @cached_property
    def explained(self) -> FloatArray:
        """Share of each code's variance by each factor, ``(n_codes, n_factors)``; few kinds of findings need it."""
        return explained_variance(self.rep)

    def codes(self, finding: Finding) -> list[int]:
        """Return the places of the codes of a finding."""
        return [self.rep.code_names.index(name) for name in finding.codes if name in self.rep.code_names]

    def factors(self, finding: Finding) -> list[int]:
        """Return the places of the factors of a finding."""
        return [self.rep.factor_names.index(name) for name in finding.factors if name in self.rep.factor_names]

    def best_code(self, factor: int) -> int:
        """Return the code that a factor explains best."""
        return int(self.explained[:, factor].argmax())

    def best_factor(self, code: int) -> int:
        """Return the factor that explains most of a code."""
        return int(self.explained[code].argmax())

    def code(self, index: int) -> ViewColumn:
        """Return a code as a column."""
        return ViewColumn(kind=ColumnKind.CODE, index=index, name=self.rep.code_names[index])

    def factor(self, index: int) -> ViewColumn:
        """Return a factor as a column."""
        return ViewColumn(kind=ColumnKind.FACTOR, index=index, name=self.rep.factor_names[index])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """Two columns and a colour, before lines are drawn."""

    x: ViewColumn
    y: ViewColumn
    colour: int
    factors: tuple[int, ...] = ()


def finding_views(rep: Representation, report: Report) -> tuple[FindingView, ...]:
    """Return the views of all findings of a report, at most six of each.

    Args:
        rep: Codes and factors that were scored, or other rows of them.
        report: With findings, and with the axes of factors where these were found.
    """
    if not rep.factors or not report.findings:
        return ()
    found = next(iter(report.evidence_of(Subspaces)), None)
    fits = found is not None and found.data.n_codes == rep.n_codes and len(found.data.bases) == rep.n_factors
    scene = _Scene(rep=rep, subspaces=found.data if found is not None and fits else None)
    views = []
    for place, finding in enumerate(report.findings):
        for choice in list(_choices(scene, finding))[:MOST_VIEWS]:
            views.append(
                FindingView(
                    finding=place,
                    caption=CAPTIONS[finding.kind],
                    x=choice.x,
                    y=choice.y,
                    colour=scene.factor(choice.colour),
                    lines=_lines(scene, finding.kind, choice),
                )
            )
    return tuple(views)


def stills(rep: Representation, report: Report, *, n_rows: int = STILL_ROWS) -> tuple[Still, ...]:
    """Return the first view of each finding, with some of the rows."""
    first: dict[int, FindingView] = {}
    for view in finding_views(rep, report):
        first.setdefault(view.finding, view)
    rows = np.arange(rep.n_samples)
    if len(rows) > n_rows:
        rows = np.sort(np.random.default_rng(0).choice(rep.n_samples, n_rows, replace=False))
    taken = rep.take(rows)
    return tuple(
        Still(view=_rounded(view), points=_round(_points(taken, view)), n_rows=rep.n_samples) for view in first.values()
    )


def _round(points: FloatArray) -> FloatArray:
    """Round each column to a ten-thousandth of its span, more than a drawing can show."""
    span = np.nanmax(points, axis=0, initial=0.0) - np.nanmin(points, axis=0, initial=0.0)
    digits = [4 - int(np.floor(np.log10(one))) if np.isfinite(one) and one > 0 else 4 for one in span]
    return np.stack([np.round(column, one) for column, one in zip(points.T, digits, strict=True)], axis=1)


def _rounded(view: FindingView) -> FindingView:
    return replace(view, lines=tuple(replace(line, points=_round(line.points)) for line in view.lines))


def column_values(rep: Representation, column: ViewColumn) -> FloatArray:
    """Return the numbers of a column, NaN where a factor has no label."""
    return rep.codes[:, column.index] if column.kind is ColumnKind.CODE else rep.factors[column.index].numbers


def _points(rep: Representation, view: FindingView) -> FloatArray:
    colour = np.full(rep.n_samples, np.nan) if view.colour is None else column_values(rep, view.colour)
    return np.stack([column_values(rep, view.x), column_values(rep, view.y), colour], axis=1)


def _choices(scene: _Scene, finding: Finding) -> Iterator[_Choice]:
    """Yield the columns that show a finding, the most telling first."""
    codes, factors = scene.codes(finding), scene.factors(finding)
    kind = finding.kind
    if kind is FindingKind.OWN:
        yield from (_against(scene, k, j) for k, j in zip(factors, codes, strict=False))
    elif kind is FindingKind.PACKED and codes and len(factors) > 1:
        yield from (
            _Choice(x=scene.factor(a), y=scene.code(codes[0]), colour=b, factors=(a, b))
            for a, b in combinations(factors, 2)
        )
    elif kind in (FindingKind.EMPTY, FindingKind.DEAD):
        yield from (_against(scene, scene.best_factor(j), j) for j in codes)
    elif len(codes) > 1 and factors and kind not in (FindingKind.CURVED, FindingKind.PARTLY):
        for a, b in combinations(codes, 2):
            told = sorted(factors, key=lambda k: -_weight(scene, k, a, b))
            yield _Choice(x=scene.code(a), y=scene.code(b), colour=told[0], factors=tuple(sorted(told[:2])))
    else:
        named = dict(zip(factors, codes, strict=False)) if len(codes) == len(factors) else {}
        yield from (_against(scene, k, named.get(k, scene.best_code(k))) for k in factors)


def _against(scene: _Scene, factor: int, code: int) -> _Choice:
    return _Choice(x=scene.factor(factor), y=scene.code(code), colour=factor, factors=(factor,))


def _weight(scene: _Scene, factor: int, a: int, b: int) -> float:
    """Return how much of a factor lies in the plane of two codes."""
    if scene.subspaces is None:
        return float(scene.explained[[a, b], factor].sum())
    return float((scene.subspaces.bases[factor][[a, b], 0] ** 2).sum())


def _lines(scene: _Scene, kind: FindingKind, choice: _Choice) -> tuple[ViewLine, ...]:
    of_two_codes = choice.x.kind is choice.y.kind is ColumnKind.CODE
    drawers: dict[FindingKind, Callable[[_Scene, _Choice], tuple[ViewLine, ...]]] = {
        FindingKind.ROTATED: _axes,
        FindingKind.MIXED: _axes,
        FindingKind.CIRCLE: _circle,
        FindingKind.COPIED: _diagonal,
    }
    if of_two_codes:
        return drawers[kind](scene, choice) if kind in drawers else ()
    return () if kind is FindingKind.DEAD else _curve(scene, choice)


def _axes(scene: _Scene, choice: _Choice) -> tuple[ViewLine, ...]:
    """Draw the axes of two codes, and the first axis of each factor where it lies in their plane."""
    places = [choice.x.index, choice.y.index]
    pair = scene.rep.codes[:, places]
    middle, spread = pair.mean(axis=0), pair.std(axis=0)
    lines = [
        ViewLine(
            role=LineRole.CODE_AXIS,
            label=column.name,
            points=middle + np.outer([-REACH, REACH], np.eye(2)[at] * spread),
        )
        for at, column in enumerate((choice.x, choice.y))
    ]
    if scene.subspaces is None:
        return tuple(lines)
    for k in choice.factors:
        direction = scene.subspaces.bases[k][places, 0]
        length = float(np.hypot(*direction))
        if length < 0.3:  # the axis leaves this plane: its shadow would mislead
            continue
        reach = REACH * float((pair @ (direction / length)).std())
        ends = middle + np.outer([-reach, reach], _upwards(scene, k, pair, direction / length))
        lines.append(ViewLine(role=LineRole.FACTOR_AXIS, label=scene.rep.factor_names[k], points=ends))
    return tuple(lines)


def _upwards(scene: _Scene, k: int, pair: FloatArray, direction: FloatArray) -> FloatArray:
    """Return the direction with the sign that makes the factor grow along it."""
    factor = scene.rep.factors[k]
    known = factor.labelled
    rises = float(np.cov(pair[known] @ direction, factor.numbers[known])[0, 1])
    return direction if rises >= 0 else -direction


def _circle(scene: _Scene, choice: _Choice) -> tuple[ViewLine, ...]:
    """Draw the ellipse with the spread of the two codes: a cosine has a deviation of the radius over the root of 2."""
    pair = scene.rep.codes[:, [choice.x.index, choice.y.index]]
    turn = np.linspace(0, 2 * np.pi, N_CIRCLE)
    round_ = np.stack([np.cos(turn), np.sin(turn)], axis=1) * pair.std(axis=0) * np.sqrt(2) + pair.mean(axis=0)
    return (ViewLine(role=LineRole.CIRCLE, label="", points=round_),)


def _diagonal(scene: _Scene, choice: _Choice) -> tuple[ViewLine, ...]:
    """Draw the line along which two codes that are copies of each other lie."""
    pair = scene.rep.codes[:, [choice.x.index, choice.y.index]]
    spread = pair.std(axis=0)
    sign = 1.0 if np.cov(pair.T)[0, 1] >= 0 else -1.0
    ends = pair.mean(axis=0) + np.outer([-REACH, REACH], spread * [1.0, sign])
    return (ViewLine(role=LineRole.DIAGONAL, label="", points=ends),)


def _curve(scene: _Scene, choice: _Choice) -> tuple[ViewLine, ...]:
    """Draw the mean of a code for each value of a factor; values without an order have a mark each."""
    factor, z = scene.rep.factors[choice.x.index], scene.rep.codes[:, choice.y.index]
    groups = factor_groups(factor)
    members = [groups == g for g in np.unique(groups[groups >= 0])]
    places = np.array(sorted((float(factor.numbers[rows].mean()), float(z[rows].mean())) for rows in members))
    if factor.is_numeric:
        return (ViewLine(role=LineRole.CURVE, label="", points=places),)
    marks = [np.array([[x - HALF_MARK, y], [x + HALF_MARK, y]]) for x, y in places[:MOST_MARKS]]
    return tuple(ViewLine(role=LineRole.CURVE, label="", points=mark) for mark in marks)
