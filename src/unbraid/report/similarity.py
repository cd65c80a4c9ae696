"""The page of similarities between representations."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid._base.text import EN_DASH, MISSING, clip, number
from unbraid.report.grids import Grid, make_rows
from unbraid.report.shell import carried, fill
from unbraid.results.score import Score
from unbraid.similarity.table import QUESTIONS, SimilarityTable


def render_similarity(table: SimilarityTable) -> str:
    """Return similarities as one HTML page that needs nothing else."""
    return fill("similarity.html", similarity_context(table))


def similarity_context(table: SimilarityTable) -> dict[str, Any]:
    """Return everything the template shows, as plain data."""
    setup = table.setup
    sizes = setup["rows_and_codes"]
    return {
        "heading": "How alike are these representations?",
        "facts": [
            ("Representations", f"{len(table.names)}"),
            ("Rows", f"{next(iter(sizes.values()))[0]:,}"),
            ("Seed", f"{setup['seed']}"),
            ("Unbraid", f"{setup['unbraid']}"),
        ],
        "maps": [_map(table, measure) for measure in table.scores],
        "rows": _rows(table),
        "has_untrained": bool(table.untrained),
        "data": carried(table.to_json()),
    }


def _map(table: SimilarityTable, measure: str) -> Grid:
    matrix = table.matrix(measure).to_numpy()
    chances = [score.chance for score in table.scores[measure].values() if score.chance is not None]
    ends = list(dict.fromkeys(number(end) for end in (min(chances), max(chances)))) if chances else []
    chance = f" Chance is {' to '.join(ends)}." if ends else ""
    return Grid(
        key=measure,
        title=measure,
        caption=f"{QUESTIONS[measure]} 1 is a representation with itself, and the most.{chance}",
        corner="representation by representation",
        columns=tuple(clip(name) for name in table.names),
        rows=make_rows(np.asarray(matrix, dtype=np.float64), table.names, top=1.0),
    )


def _rows(table: SimilarityTable) -> list[dict[str, str]]:
    pairs = [
        (measure, first, second, score)
        for measure, found in table.scores.items()
        for (first, second), score in found.items()
    ]
    pairs += [
        (measure, name, "untrained weights", score)
        for measure, found in table.untrained.items()
        for name, score in found.items()
    ]
    return [_row(*pair) for pair in pairs]


def _row(measure: str, first: str, second: str, score: Score) -> dict[str, str]:
    has_interval = score.low is not None and score.high is not None
    verdict = {True: "more than chance", False: "not told from chance", None: MISSING}[score.beats_chance]
    return {
        "measure": measure,
        "pair": f"{clip(first)} and {clip(second)}",
        "value": number(score.value),
        "interval": f"{number(score.low)} {EN_DASH} {number(score.high)}" if has_interval else MISSING,
        "chance": MISSING if score.chance is None else number(score.chance),
        "verdict": verdict,
        "note": " ".join(score.notes),
    }
