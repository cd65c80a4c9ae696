"""Subject of the explorer: codes, factors, pictures, decoder and report of one model, and strips along its factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, ByteArray, FloatArray, IntArray
from unbraid._base.images import sheet
from unbraid.evidence.explained import explained_variance
from unbraid.evidence.subspaces.options import SubspaceOptions, Subspaces
from unbraid.evidence.subspaces.solve import factor_subspaces
from unbraid.explorer.decoding import PictureDecoder
from unbraid.manifold.pictures import as_images, image_layout
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation
from unbraid.results.finding import FactorStrips
from unbraid.results.report import Report

#: Rows that are drawn; of more, as many are drawn at random.
MOST_ROWS = 200_000
#: Rows from which the axes of factors are found, where no report has them.
AXIS_ROWS = 4000
#: Weight from which an axis of a factor has a slider.
LEAST_WEIGHT = 0.05
#: Directions in which axes of factors differ by less cannot be moved apart.
LEAST_APART = 0.2
#: Codes up to which axes of factors are looked for.
MOST_CODES = 256
#: Levels of a factor that are named.
MOST_LEVELS = 200
#: Range of a slider without data: that of a standard normal prior.
PRIOR_REACH = 3.0
N_STEPS = 9


class PictureOrigin(StrEnum):
    """Where the picture of a row comes from."""

    DATA = "data"
    DECODED = "decoded"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowPictures:
    """Pictures of the rows.

    Attributes:
        height: Pixels.
        width: Pixels.
        channels: 1 or 3.
        of: Takes row numbers, returns ``(n, height, width, channels)``.
        origin: Data, or decoded from the codes.
    """

    height: int
    width: int
    channels: int
    of: Callable[[IntArray], ByteArray]
    origin: PictureOrigin


def pictures_from(array: AnyArray) -> RowPictures | None:
    """Return pictures from an array with one for each row, or ``None`` where it holds none."""
    layout = image_layout(tuple(array.shape[1:]), None)
    if layout is None or array.dtype.kind not in "uif":
        return None
    top = 255.0 if array.dtype.kind in "ui" and array.max(initial=0) > 1 else 1.0

    def some(rows: IntArray) -> ByteArray:
        shares = np.clip(array[rows].astype(np.float64) / top, 0.0, 1.0)
        return np.round(255 * as_images(shares, layout)).astype(np.uint8)

    return RowPictures(height=layout[0], width=layout[1], channels=layout[2], of=some, origin=PictureOrigin.DATA)


class Subject:
    """One model or file.

    Args:
        key: Its name in requests.
        label: Its name on the page.
        rep: Codes and factors, where there are any.
        decoder: Where there is one.
        pictures: Of the rows; decoded from the codes where only a decoder is there.
        report: Scores and findings, where they were saved.
        notes: Sentences on what is missing or was left out.
        is_being_scored: Whether the command that is watched scores the codes, so that the page must not.
    """

    def __init__(
        self,
        key: str,
        label: str,
        *,
        rep: Representation | None = None,
        decoder: PictureDecoder | None = None,
        pictures: RowPictures | None = None,
        report: Report | None = None,
        notes: tuple[str, ...] = (),
        is_being_scored: bool = False,
    ) -> None:
        self.key, self.label, self.notes, self.is_being_scored = key, label, notes, is_being_scored
        self.rep, self.decoder, self.report = rep, decoder, report
        self.pictures = pictures if pictures is not None else self._decoded()

    def _decoded(self) -> RowPictures | None:
        rep, decoder = self.rep, self.decoder
        if rep is None or decoder is None or decoder.layout is None:
            return None
        height, width, channels, _ = decoder.layout
        return RowPictures(
            height=height,
            width=width,
            channels=channels,
            of=lambda rows: decoder.pictures(rep.codes[rows]),
            origin=PictureOrigin.DECODED,
        )

    @cached_property
    def rows(self) -> IntArray:
        """Rows that are drawn, in order."""
        n = 0 if self.rep is None else self.rep.n_samples
        if n <= MOST_ROWS:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, MOST_ROWS, replace=False))

    @cached_property
    def explained(self) -> FloatArray:
        """Share of each code's variance that each factor explains."""
        assert self.rep is not None
        return explained_variance(self.rep)

    @cached_property
    def subspaces(self) -> Subspaces | None:
        """Axes of the factors: those of the report, or found in some of the rows; ``None`` where none can be found."""
        if self.report is not None and (found := self.report.evidence_of(Subspaces)):
            return found[0].data
        rep = self.rep
        if rep is None or not rep.factors or rep.n_codes > MOST_CODES:
            return None
        if rep.n_samples > AXIS_ROWS:
            rep = rep.take(np.sort(np.random.default_rng(0).choice(rep.n_samples, AXIS_ROWS, replace=False)))
        try:
            return factor_subspaces(rep, SubspaceOptions(), np.random.default_rng(0))
        except ValueError:  # too few rows
            return None

    def column(self, kind: str, index: int) -> bytes:
        """Return a code or a factor on the rows that are drawn, in single precision."""
        rep = self._rep()
        n = {"code": rep.n_codes, "factor": rep.n_factors}.get(kind, 0)
        if not 0 <= index < n:
            raise ValueError(f"index must be below {n}, the number of {kind}s, got {index}.")
        values = rep.codes[:, index] if kind == "code" else rep.factors[index].numbers
        return values[self.rows].astype("<f4").tobytes()

    def about(self) -> dict[str, Any]:
        """Return names and sizes, and what to draw first."""
        found: dict[str, Any] = {"id": self.key, "label": self.label, "notes": list(self.notes)}
        found["decoder"] = None if self.decoder is None else self.decoder.about()
        found["has_report"] = self.report is not None
        if self.rep is None:
            setup = None if self.report is None else self.report.setup
            names = [f"z{j}" for j in range(self.decoder.n_codes)] if self.decoder is not None else []
            codes = list(setup.code_names) if setup is not None else names
            return {**found, "codes": codes, "factors": [], "n_rows": 0, "n_shown": 0, "pictures": None}
        rep = self.rep
        shown = self.pictures
        return {
            **found,
            "codes": list(rep.code_names),
            "blocks": {name: list(columns) for name, columns in rep.blocks.items()},
            "dead": [int(j) for j in np.flatnonzero(~rep.active)],
            "factors": [_about_factor(factor) for factor in rep.factors],
            "n_rows": rep.n_samples,
            "n_shown": len(self.rows),
            "pictures": None
            if shown is None
            else {"height": shown.height, "width": shown.width, "channels": shown.channels, "origin": shown.origin},
            "first": self._first(),
        }

    def _first(self) -> dict[str, Any]:
        """Return the two codes that factors explain best, and the factor that explains the first."""
        rep = self._rep()
        if not rep.factors:
            order = np.argsort(-rep.codes[:1000].std(axis=0), kind="stable")
            return {"x": ["code", int(order[0])], "y": ["code", int(order[min(1, len(order) - 1)])], "colour": None}
        best = self.explained.max(axis=1)
        order = np.argsort(-best, kind="stable")
        x, y = int(order[0]), int(order[min(1, len(order) - 1)])
        return {"x": ["code", x], "y": ["code", y], "colour": ["factor", int(self.explained[x].argmax())]}

    def row(self, place: int) -> dict[str, Any]:
        """Return the labels of one of the rows that are drawn, and its codes where they are few or can be decoded."""
        rep = self._rep()
        row = self._row(place)
        needed = self.decoder is not None or rep.n_codes <= MOST_CODES
        return {
            "row": row,
            "factors": [_text(factor, row) for factor in rep.factors],
            "codes": [float(value) for value in rep.codes[row]] if needed else [],
        }

    def picture(self, place: int) -> ByteArray:
        """Return the picture of one of the rows that are drawn, ``(height, width, channels)``."""
        if self.pictures is None:
            raise ValueError("there are no pictures of the rows.")
        found: ByteArray = self.pictures.of(np.array([self._row(place)]))[0]
        return found

    def portrait(self, n_codes: int = 3, n_steps: int = 5) -> ByteArray:
        """Return a sheet that shows the model: its most varied codes, each from low to high."""
        if self.decoder is None:
            raise ValueError(f"{self.label} has no decoder.")
        ranges = self.sliders()
        low, high, start = (np.array(ranges[name]) for name in ("low", "high", "start"))
        spread = high - low if self.rep is None else self.rep.codes[self.rows].std(axis=0)
        order = np.argsort(-spread, kind="stable")[:n_codes]
        moved = np.tile(start, (len(order), n_steps, 1))
        for place, j in enumerate(order):
            moved[place, :, j] = np.linspace(low[j], high[j], n_steps)
        return sheet(self.decoder.pictures(moved.reshape(-1, len(start))), n_steps)

    def reconstructions(self, n_rows: int = 8) -> ByteArray:
        """Return a sheet of rows of the data, and below them what the decoder makes of their codes."""
        if self.decoder is None or self.pictures is None or self.pictures.origin is not PictureOrigin.DATA:
            raise ValueError(f"{self.label} has no pictures of data, or no decoder.")
        rows = self.rows[np.linspace(0, len(self.rows) - 1, n_rows).astype(int)]
        decoded = self.decoder.pictures(self._rep().codes[rows])
        return sheet(np.concatenate([self.pictures.of(rows), decoded]), n_rows)

    def sliders(self) -> dict[str, Any]:
        """Return the range of each code, and where to start."""
        if self.rep is None:
            n = 0 if self.decoder is None else self.decoder.n_codes
            return {"low": [-PRIOR_REACH] * n, "high": [PRIOR_REACH] * n, "start": [0.0] * n}
        codes = self.rep.codes[self.rows]
        low, high = np.quantile(codes, [0.01, 0.99], axis=0)
        flat = high - low <= 0
        start = codes[np.abs(codes - np.median(codes, axis=0)).sum(axis=1).argmin()]
        return {
            "low": np.where(flat, start - 1, low).tolist(),
            "high": np.where(flat, start + 1, high).tolist(),
            "start": start.tolist(),
        }

    def axes(self) -> list[dict[str, Any]]:
        """Return each axis of each factor with the step that moves it alone.

        A step along an axis of one factor would also move factors whose axes are not at right angles to it. A column of
        the pseudo-inverse moves one coordinate and leaves the other coordinates as they are.
        """
        found = self.subspaces
        if found is None or self.rep is None:
            return []
        codes = self.rep.codes[self.rows]
        listed = _listed_axes(found)
        axes = np.stack([self._upwards(k, found.bases[k][:, a], codes) for k, a in listed], axis=1)
        moves = np.linalg.pinv(axes, rcond=LEAST_APART)
        places = codes @ axes
        low, high = np.quantile(places, [0.01, 0.99], axis=0)
        return [
            {
                "factor": k,
                "label": self.rep.factor_names[k] + (f", axis {_nth(listed, i)}" if a else ""),
                "weight": float(found.weights[k][a]),
                "axis": axes[:, i].tolist(),
                "move": moves[i].tolist(),
                "low": float(low[i]),
                "high": float(high[i]),
            }
            for i, (k, a) in enumerate(listed)
        ]

    def _upwards(self, k: int, axis: FloatArray, codes: FloatArray) -> FloatArray:
        """Return an axis with the sign that makes its factor grow along it."""
        numbers = self._rep().factors[k].numbers[self.rows]
        known = ~np.isnan(numbers)
        falls = float(np.cov(codes[known] @ axis, numbers[known])[0, 1]) < 0
        return -axis if falls else axis

    def _row(self, place: int) -> int:
        if not 0 <= place < len(self.rows):
            raise ValueError(f"row must be below {len(self.rows)}, the rows that are drawn, got {place}.")
        return int(self.rows[place])

    def _rep(self) -> Representation:
        if self.rep is None:
            raise ValueError(f"{self.label} has no codes.")
        return self.rep


def _listed_axes(found: Subspaces) -> list[tuple[int, int]]:
    """Return the factor and number of each axis that has a slider, by factor.

    Every factor has its first axis. Further axes follow by their weight, as long as they lead out of the space of the
    axes before them: the others cannot be moved alone.
    """
    listed = [(k, 0) for k in range(len(found.bases))]
    further = [
        (float(found.weights[k][a]), k, a)
        for k in range(len(found.bases))
        for a in range(1, found.bases[k].shape[1])
        if found.weights[k][a] >= LEAST_WEIGHT
    ]
    for _, k, a in sorted(further, reverse=True):
        before = np.stack([found.bases[i][:, b] for i, b in listed], axis=1)
        axis = found.bases[k][:, a]
        rest = axis - before @ np.linalg.lstsq(before, axis, rcond=LEAST_APART)[0]
        if np.linalg.norm(rest) > 0.5:
            listed.append((k, a))
    return sorted(listed)


def _nth(listed: list[tuple[int, int]], place: int) -> int:
    """Return the number of an axis among the listed axes of its factor, from 1."""
    return 1 + sum(k == listed[place][0] for k, _ in listed[:place])


def _about_factor(factor: Factor) -> dict[str, Any]:
    named = factor.levels[:MOST_LEVELS] if not factor.is_numeric else ()
    known = factor.numbers[factor.labelled]
    return {
        "name": factor.name,
        "kind": str(factor.kind),
        "levels": list(named),
        "n_levels": len(factor.levels) if factor.labels is not None else None,
        "period": factor.period,
        "low": float(known.min()),
        "high": float(known.max()),
    }


def _text(factor: Factor, row: int) -> str:
    value = factor.numbers[row]
    if np.isnan(value):
        return "not labelled"
    return f"{value:.4g}" if factor.is_numeric else factor.levels[int(value)]


def factor_strips(
    rep: Representation, report: Report, decoder: PictureDecoder, *, n_steps: int = N_STEPS
) -> FactorStrips:
    """Decode the row in the middle, moved along each axis of each factor while the other coordinates stay.

    Where the report has importances of DCI, each factor's strips are followed by one along the single code that matters
    most for it (Fig. 3 of Geyer et al. 2024, https://arxiv.org/abs/2407.03728).

    Args:
        rep: Codes and factors.
        report: Their report, whose axes are taken where it has them.
        decoder: Of the codes, to pictures.
        n_steps: Pictures in a strip.

    Raises:
        ValueError: The decoder's outputs are no pictures, or no axes can be found.
    """
    subject = Subject("m0", "", rep=rep, decoder=decoder, report=report)
    sliders, axes = subject.sliders(), subject.axes()
    if not axes:
        raise ValueError("strips along factors need factors, and more than twice as many labelled rows as codes.")
    start, codes = np.array(sliders["start"]), report.best_codes()
    labels, strips = [], []
    for place, axis in enumerate(axes):
        to = np.linspace(axis["low"], axis["high"], n_steps)
        by = to - float(start @ np.array(axis["axis"]))
        labels.append(axis["label"])
        strips.append(decoder.pictures(start + by[:, None] * np.array(axis["move"])))
        is_last = place + 1 == len(axes) or axes[place + 1]["factor"] != axis["factor"]
        if codes and is_last:
            code = codes[axis["factor"]]
            moved = np.tile(start, (n_steps, 1))
            moved[:, code] = np.linspace(sliders["low"][code], sliders["high"][code], n_steps)
            labels.append(f"{rep.factor_names[axis['factor']]}, best code {rep.code_names[code]}")
            strips.append(decoder.pictures(moved))
    return FactorStrips(labels=tuple(labels), pictures=np.stack(strips))
