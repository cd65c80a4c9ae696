"""The scores that ``docs/audit.md`` shows, read back from its tables."""

import re
from dataclasses import dataclass
from pathlib import Path

CELL = re.compile(r"(?P<cross>\*\*✗ )?(?P<mark>[▲=↓▼·]) (?P<number>[^\s*]+)(?:\*\*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What the audit found for one metric in one case.

    Attributes:
        shown: The score as written.
        value: The score; nothing where the metric refused.
        failed: Whether the metric failed the case.
        mark: What it should have done.
    """

    shown: str
    value: float | None
    failed: bool
    mark: str


def read_cells(path: Path) -> dict[tuple[str, str], Cell]:
    """Return the cells of the tables case by case, by metric and case."""
    cells: dict[tuple[str, str], Cell] = {}
    metrics: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        first, *rest = (part.strip() for part in line.strip().strip("|").split(" | "))
        if first == "Case":
            metrics = [part.strip("`") for part in rest]
        elif first.startswith("`") and "/" in first and len(rest) == len(metrics):
            found = {(name, first.strip("`")): CELL.fullmatch(text) for name, text in zip(metrics, rest, strict=True)}
            cells |= {key: _cell(match) for key, match in found.items() if match}
    return cells


def _cell(match: re.Match[str]) -> Cell:
    shown = match["number"]
    value = None if shown == "refused" else float(shown.replace("∞", "inf"))
    return Cell(shown=shown, value=value, failed=bool(match["cross"]), mark=match["mark"])
