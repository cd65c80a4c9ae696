"""What the panel returns: scores with intervals and nulls, failures with reasons, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import did_you_mean
from unbraid._base.files import write_text
from unbraid._base.pages import notebook_view_of, page_of
from unbraid._base.record import as_json
from unbraid.evidence.dependence import FactorDependence
from unbraid.results.finding import Finding
from unbraid.results.score import Score

#: Raised when what :meth:`Report.to_json` writes changes so that older readers would misread it.
LAYOUT = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Report(Mapping[str, Score]):
    """Scores by name; behaves like a read-only dictionary of them.

    A family such as ``dci_linear`` has several scores, each under a name of its own: ``dci_linear.completeness``. Its
    bare name is a ``KeyError`` that names them.

    Attributes:
        scores: The scores that could be computed, in the order asked for.
        failures: For each metric that could not, the reason.
        interval_methods: How the interval of each score was made, in words.
        notes: What concerns the representation as a whole.
        dependence: Which factors depend on each other; ``None`` where that was not tested.
        meta: What was scored and how: sizes, names, options, seed, versions, seconds.
        findings: How the codes hold the factors, where the evidence shows it: rotated, spread, copied, lost and so on.
    """

    scores: Mapping[str, Score]
    failures: Mapping[str, str]
    interval_methods: Mapping[str, str]
    notes: tuple[str, ...]
    meta: Mapping[str, Any]
    dependence: FactorDependence | None = None
    findings: tuple[Finding, ...] = ()

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
    def says(self) -> tuple[str, ...]:
        """What scores mean together with their siblings, in sentences, such as what they say of identifiability."""
        return tuple(dict.fromkeys(score.says for score in self.scores.values() if score.says))

    def table(self) -> pd.DataFrame:
        """One row for each metric asked for: value, interval, null, and a note or the reason it failed."""
        rows = [
            {
                "metric": name,
                "value": score.value,
                "low": score.low,
                "high": score.high,
                "null": score.null,
                "note": " ".join(score.notes),
            }
            for name, score in self.scores.items()
        ]
        rows += [{"metric": name, "note": f"failed: {reason}"} for name, reason in self.failures.items()]
        columns = ["metric", "value", "low", "high", "null", "note"]
        frame = pd.DataFrame(rows, columns=columns).set_index("metric")
        numbers = columns[1:5]
        frame[numbers] = frame[numbers].astype(float)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "scores": {name: self._score_dict(name, score) for name, score in self.scores.items()},
            "failures": dict(self.failures),
            "notes": list(self.notes),
            "findings": [asdict(finding) for finding in self.findings],
            "dependence": None if self.dependence is None else asdict(self.dependence),
            "meta": dict(self.meta),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the report as JSON, and write it to ``path`` if given. A number that is not finite becomes null."""
        text = as_json(self.to_dict())
        if path is not None:
            write_text(path, text + "\n")
        return text

    def to_csv(self, path: str | Path) -> Path:
        """Write :meth:`table` as CSV."""
        return write_text(path, self.table().to_csv())

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page that explains the scores."""
        return write_text(path, page_of(self))

    def __repr__(self) -> str:
        """Return what the shell prints: the scores, what was found, what the scores say together, and the notes."""
        table = self.table().to_string(float_format=lambda value: f"{value:.3f}", na_rep="")
        found = "\n".join(f"- {finding.says}" for finding in self.findings)
        notes = "\n".join(f"note: {note}" for note in self.notes)
        return "\n\n".join(part for part in (table, found, *self.says, notes) if part)

    def _repr_html_(self) -> str:
        """Show the scores as a table in a notebook."""
        return notebook_view_of(self)

    def _score_dict(self, name: str, score: Score) -> dict[str, Any]:
        return {
            "value": score.value,
            "low": score.low,
            "high": score.high,
            "null": score.null,
            "beats_chance": score.beats_chance,
            "interval": self.interval_methods.get(name),
            "replicates": None if score.replicates is None else score.replicates.tolist(),
            "per_factor": _named(self.meta["factor_names"], score.per_factor),
            "per_code": _named(self.meta["code_names"], score.per_code),
            "notes": list(score.notes),
            "says": score.says or None,
        }


def _missing_score(name: str, there: list[str]) -> str:
    """Say that a report has no such score, and which of those it has was probably meant."""
    members = [one for one in there if one.startswith(f"{name}.")]
    if members:
        return f"{name!r} is a family of scores; take one of {', '.join(map(repr, members))}."
    return f"The report has no score {name!r}{did_you_mean(name.lower(), there)}; it has {', '.join(there) or 'none'}."


def _named(names: list[str], values: FloatArray | None) -> dict[str, float] | None:
    if values is None:
        return None
    return {name: float(value) for name, value in zip(names, values, strict=True)}
