"""Report: scores with intervals and chance levels, their evidence, failures with reasons, notes and findings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import pandas as pd

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import did_you_mean
from unbraid._base.files import write_atomically, write_text
from unbraid._base.pages import notebook_view_of, page_of
from unbraid._base.record import write_json
from unbraid._base.text import as_csv
from unbraid.evidence.dependence import FactorDependence
from unbraid.probes.importance import Importance
from unbraid.results.code_table import code_maps, make_code_table, write_code_table
from unbraid.results.evidence import Evidence
from unbraid.results.finding import FactorStrips, Finding, Still
from unbraid.results.note import as_note
from unbraid.results.score import Score
from unbraid.results.setup import Setup

#: Incremented when the layout of :meth:`Report.to_json` changes.
LAYOUT = 3
#: Codes that a page shows at most.
MOST_SHOWN = 64
#: Ending of the table of all codes beside a page that shows some of them.
CODES_BESIDE = ".codes.parquet"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Report(Mapping[str, Score]):
    """Scores by name; behaves like a read-only dictionary of them.

    A family such as ``dci_linear`` has several scores, each under a name of its own: ``dci_linear.completeness``. Its
    bare name is a ``KeyError`` that names them.

    Attributes:
        scores: The scores that could be computed, in the order asked for.
        failures: For each metric that could not, the reason.
        interval_methods: Method of the confidence interval of each score, in words.
        notes: Notes on the representation as a whole; a :class:`~unbraid.results.note.Note` has a kind.
        setup: Sizes, names, options, seed, versions, seconds.
        evidence: Typed records of evidence, each with the names of the scores computed from it.
        dependence: Tests of dependence between factors; ``None`` where not tested.
        findings: How the codes encode the factors, as far as the evidence shows: rotated, spread, copied, lost, ...
        stills: For each finding that can be drawn, the two columns behind it on some of the rows.
    """

    scores: Mapping[str, Score]
    failures: Mapping[str, str]
    interval_methods: Mapping[str, str]
    notes: tuple[str, ...]
    setup: Setup
    evidence: tuple[Evidence[Any], ...] = ()
    dependence: FactorDependence | None = None
    findings: tuple[Finding, ...] = ()
    stills: tuple[Still, ...] = ()

    def __getitem__(self, name: str) -> Score:
        if name in self.failures:
            raise KeyError(f"{name} could not be scored: {self.failures[name]}")
        if name not in self.scores:
            raise KeyError(_missing_score(name, [*self.scores, *self.failures]))
        return self.scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Interpretation of the scores of a family together, such as their class of identifiability."""
        return tuple(dict.fromkeys(score.sentence for score in self.scores.values() if score.sentence))

    @property
    def says(self) -> tuple[str, ...]:
        """Deprecated name of ``sentences``."""
        warnings.warn("Report.says is now Report.sentences.", DeprecationWarning, stacklevel=2)
        return self.sentences

    @property
    def meta(self) -> dict[str, Any]:
        """Deprecated: ``setup`` as a dictionary."""
        warnings.warn("Report.meta is now Report.setup, with attributes.", DeprecationWarning, stacklevel=2)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in _meta(self.setup).items()}

    def evidence_of(self, kind: type[T], *, source: str | None = None) -> tuple[Evidence[T], ...]:
        """Return the records whose data is of one type, optionally from one source only.

        Example:
            >>> import numpy as np
            >>> from unbraid import evaluate
            >>> from unbraid.evidence.information import InformationTable
            >>> factors = np.random.default_rng(0).integers(0, 4, (200, 2))
            >>> report = evaluate(factors + 0.0, factors, metrics=["mig", "modularity"])
            >>> (record,) = report.evidence_of(InformationTable)
            >>> record.scores, record.data.mutual_information.shape
            (('mig', 'modularity'), (2, 2))
        """
        found = [record for record in self.evidence if isinstance(record.data, kind)]
        return tuple(cast("Evidence[T]", record) for record in found if source in (None, record.source))

    def best_codes(self) -> tuple[int, ...]:
        """Return the code that matters most for each factor to DCI; none where the report has no importances."""
        found = self.evidence_of(Importance)
        return tuple(int(code) for code in found[0].data.matrix.argmax(axis=0)) if found else ()

    def table(self) -> pd.DataFrame:
        """One row for each metric asked for: value, interval, chance, standing, and a note or the reason it failed."""
        rows = [
            {
                "metric": name,
                "value": score.value,
                "low": score.low,
                "high": score.high,
                "chance": score.chance,
                "standing": score.standing,
                "note": " ".join(score.notes),
            }
            for name, score in self.scores.items()
        ]
        rows += [{"metric": name, "note": f"failed: {reason}"} for name, reason in self.failures.items()]
        columns = ["metric", "value", "low", "high", "chance", "standing", "note"]
        frame = pd.DataFrame(rows, columns=columns).set_index("metric")
        numbers = columns[1:-1]
        frame[numbers] = frame[numbers].astype(float)
        return frame

    def to_dict(self, *, evidence: bool = True) -> dict[str, Any]:
        """Return plain data, as :meth:`to_json` writes it, but with numbers that are not finite."""
        data = {
            "scores": {name: self._score_dict(name, score) for name, score in self.scores.items()},
            "failures": dict(self.failures),
            "notes": list(self.notes),
            "note_parts": _note_parts(self.notes),
            "findings": [asdict(finding) for finding in self.findings],
            "dependence": None if self.dependence is None else asdict(self.dependence),
            "evidence": [record.to_dict() for record in self.evidence] if evidence else [],
            "stills": [still.to_dict() for still in self.stills] if evidence else [],
            "meta": _meta(self.setup),
        }
        return {**data, "infinite": _infinite(data)}

    def to_json(self, path: str | Path | None = None, *, evidence: bool = True) -> str:
        """Return the report as JSON, and write it to ``path`` if given.

        Args:
            path: Where to write.
            evidence: Whether to write the matrices, curves and points behind scores and findings; without them the text
                is shorter, and a page made from it has no maps, curves and scatters.

        A number that is not finite becomes null; ``infinite`` lists those that are not NaN.
        """
        return write_json(self.to_dict(evidence=evidence), path)

    def to_csv(self, path: str | Path) -> Path:
        """Write :meth:`table` as CSV."""
        return write_text(path, as_csv(self.table(), index=True))

    def code_table(self) -> pd.DataFrame | None:
        """Return what every code carries of every factor, codes of one factor together, those that carry more first.

        Columns are ``code``, ``main_factor``, and one for each matrix of the evidence and each factor, such as
        ``mutual_information.shape``; ``None`` where no score has such a matrix.
        """
        return make_code_table(self.evidence, self.setup.code_names, self.setup.factor_names)

    def to_parquet(self, path: str | Path) -> Path:
        """Write :meth:`code_table` as Parquet.

        Raises:
            ValueError: No score has a matrix of codes by factors.
        """
        table = self.code_table()
        if table is None:
            raise ValueError(
                "the report has no matrix of codes by factors to write; score with a metric that has one, such as mig."
            )
        return write_atomically(path, lambda file: write_code_table(table, file))

    def to_html(
        self, path: str | Path, *, strips: FactorStrips | None = None, pictures: Mapping[str, bytes] | None = None
    ) -> Path:
        """Write one self-contained page that explains the scores.

        Of more than 64 codes, the page shows those that carry most, and all of them are in a table beside the page,
        under the same name with the ending ``.codes.parquet``.

        Args:
            path: Where to write.
            strips: Traversals of a decoder along the axes of the factors, to show on the page.
            pictures: PNG files to show on the page, by their captions: what a run of training drew of its model.
        """
        beside = Path(path).with_suffix(CODES_BESIDE)
        has_table = self.setup.n_codes > MOST_SHOWN and bool(self.setup.n_factors and code_maps(self.evidence))
        page = page_of(self, strips=strips, pictures=pictures, table=beside.name if has_table else "")
        if has_table:
            self.to_parquet(beside)
        return write_text(path, page)

    def __repr__(self) -> str:
        """Return the scores as a table, then the findings, the sentences and the notes."""
        table = self.table().to_string(float_format=lambda value: f"{value:.3f}", na_rep="")
        found = "\n".join(f"- {finding.sentence}" for finding in self.findings)
        notes = "\n".join(f"note: {note}" for note in self.notes)
        return "\n\n".join(part for part in (table, found, *self.sentences, notes) if part)

    def _repr_html_(self) -> str:
        """Show the scores as a table in a notebook."""
        return notebook_view_of(self)

    def _score_dict(self, name: str, score: Score) -> dict[str, Any]:
        return {
            "value": score.value,
            "plain": score.plain,
            "low": score.low,
            "high": score.high,
            "chance": score.chance,
            "beats_chance": score.beats_chance,
            "standing": score.standing,
            "interval": self.interval_methods.get(name),
            "replicates": None if score.replicates is None else score.replicates.tolist(),
            "per_factor": _named(self.setup.factor_names, score.per_factor),
            "per_code": _named(self.setup.code_names, score.per_code),
            "notes": list(score.notes),
            "note_parts": _note_parts(score.notes),
            "sentence": score.sentence or None,
        }


def _missing_score(name: str, there: list[str]) -> str:
    """Return the error of a report without such a score, with the nearest name."""
    members = [one for one in there if one.startswith(f"{name}.")]
    if members:
        return f"{name!r} is a family of scores; take one of {', '.join(map(repr, members))}."
    return f"The report has no score {name!r}{did_you_mean(name.lower(), there)}; it has {', '.join(there) or 'none'}."


def _meta(setup: Setup) -> dict[str, Any]:
    return {"layout": LAYOUT, **setup.to_dict()}


def _note_parts(notes: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the kind, template and values of each note."""
    typed = [as_note(note) for note in notes]
    return [{"kind": str(note.kind), "template": note.template, "values": list(note.values)} for note in typed]


def _infinite(data: Any, path: tuple[str | int, ...] = ()) -> list[dict[str, Any]]:
    """Return where numbers are infinite, and their sign; a number that is null elsewhere is NaN or missing."""
    if isinstance(data, float) and math.isinf(data):
        return [{"path": list(path), "number": str(data)}]
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list | tuple) else ()
    return [found for key, item in items for found in _infinite(item, (*path, key))]


def _named(names: tuple[str, ...], values: FloatArray | None) -> dict[str, float] | None:
    if values is None:
        return None
    return {name: float(value) for name, value in zip(names, values, strict=True)}
