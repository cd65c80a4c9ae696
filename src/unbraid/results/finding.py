"""Findings of a diagnosis, the views that show a finding, and strips of decoded pictures.

A finding is one way in which codes encode factors, or fail to. A view names two columns to draw against each other, and
the lines that show the finding.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from unbraid._base.arrays import ByteArray, FloatArray


class FindingKind(StrEnum):
    """Kind of a finding."""

    OWN = "own code"
    ROTATED = "rotated"
    MIXED = "mixed"
    PACKED = "packed"
    CIRCLE = "circle"
    SPREAD = "spread"
    COPIED = "copied"
    CURVED = "curved"
    FOLDED = "folded"
    PARTLY = "partly"
    LOST = "lost"
    EMPTY = "empty code"
    DEAD = "dead code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding, derived from the evidence of the scores.

    Attributes:
        kind: Kind of the finding.
        sentence: The finding in a sentence, with the numbers it rests on.
        factors: Names of the factors it is about.
        codes: Names of the codes it is about.
    """

    kind: FindingKind
    sentence: str
    factors: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        """Deprecated name of ``sentence``."""
        warnings.warn("Finding.says is now Finding.sentence.", DeprecationWarning, stacklevel=2)
        return self.sentence


class ColumnKind(StrEnum):
    """What a column of a representation is."""

    CODE = "code"
    FACTOR = "factor"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """One column of a representation.

    Attributes:
        kind: A code or a factor.
        index: Its place among the codes or factors.
        name: Its name.
    """

    kind: ColumnKind
    index: int
    name: str


class LineRole(StrEnum):
    """What a line in a view stands for."""

    CODE_AXIS = "code axis"
    FACTOR_AXIS = "factor axis"
    CURVE = "curve"
    DIAGONAL = "diagonal"
    CIRCLE = "circle"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ViewLine:
    """A line in a view, in the units of its columns.

    Attributes:
        role: What it stands for.
        label: Name to write at its end; empty for none.
        points: ``(n_points, 2)``.
    """

    role: LineRole
    label: str
    points: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FindingView:
    """The picture that shows a finding.

    Attributes:
        finding: Place of the finding among the findings of its report.
        caption: What to see in the picture.
        x: Column on the horizontal axis.
        y: Column on the vertical axis.
        colour: Factor that colours the points; ``None`` without factors.
        lines: Axes, curve, diagonal or circle.
    """

    finding: int
    caption: str
    x: ViewColumn
    y: ViewColumn
    colour: ViewColumn | None
    lines: tuple[ViewLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Still:
    """A view with some of the rows, to be drawn without the codes.

    Attributes:
        view: What is drawn.
        points: Columns x, y and colour of some rows, ``(n_points, 3)``; NaN where a row has no value.
        n_rows: Rows of the representation.
    """

    view: FindingView
    points: FloatArray
    n_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, arrays as lists."""
        lines = [{"role": str(one.role), "label": one.label, "points": one.points.tolist()} for one in self.view.lines]
        columns = {name: getattr(self.view, name) for name in ("x", "y", "colour")}
        view = {
            "finding": self.view.finding,
            "caption": self.view.caption,
            **{name: None if one is None else asdict(one) for name, one in columns.items()},
            "lines": lines,
        }
        return {"view": view, "points": self.points.tolist(), "n_rows": self.n_rows}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorStrips:
    """Traversals of a decoder.

    Attributes:
        labels: What moves along each strip.
        pictures: From 0 to 255, ``(n_strips, n_steps, height, width, channels)``, one or three channels.
    """

    labels: tuple[str, ...]
    pictures: ByteArray
