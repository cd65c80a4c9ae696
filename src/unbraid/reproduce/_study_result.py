"""Correlations of a study run again, beside those published."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid._files import write_text


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyLine:
    """One published correlation, and ours.

    Attributes:
        table: Table or figure of the paper.
        group: The family, data set or coefficient it is of.
        task: What it correlates with.
        score: The score.
        paper: As published.
        ours: Ours; ``None`` where the study has too few models or settings for it.
    """

    table: str
    group: str
    task: str
    score: str
    paper: float
    ours: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTables:
    """A study run again.

    Attributes:
        study: Its name.
        scale: ``"mini"`` or ``"full"``.
        n_models: Models measured.
        n_failed: Models and numbers that failed.
        lines: Published correlations, and ours.
    """

    study: str
    scale: str
    n_models: int
    n_failed: int
    lines: tuple[StudyLine, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        if self.scale == "full":
            return ()
        return (
            "Models and data are small ones of our own, so these correlations are not those published, and need not "
            "agree with them; --scale full runs the published study.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "study": self.study,
            "scale": self.scale,
            "n_models": self.n_models,
            "n_failed": self.n_failed,
            "notes": list(self.notes),
            "lines": [
                {
                    "table": line.table,
                    "group": line.group,
                    "task": line.task,
                    "score": line.score,
                    "ours": line.ours,
                    "paper": line.paper,
                }
                for line in self.lines
            ],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return JSON, and write it to ``path`` if one is given."""
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
        if path is not None:
            write_text(path, f"{text}\n")
        return text
