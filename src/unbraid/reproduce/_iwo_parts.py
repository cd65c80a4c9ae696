"""When Table 1 of the orthogonality paper counts as reproduced."""

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.reproduce._agreement import Check, Part

#: The paper's values have deviations over seeds of up to this.
TOLERANCE = 0.02
SCORES = ("iwo", "iwr")
REASON = "The subspaces of a row were not found: its score is off the truth, which is known here."


def iwo_parts(result: Mapping[str, Any]) -> Sequence[Part]:
    """Compare every row's IWO and IWR."""
    return [Part(where=f"Table 1, {score.upper()}", checks=_checks(result, score), reason=REASON) for score in SCORES]


def _checks(result: Mapping[str, Any], score: str) -> list[Check]:
    return [
        Check(
            what=f"row {row['row']}: {row['n_codes']} codes, rank {row['rank']}, {row['mapping']}"
            + (", rotated" if row["rotate"] else ""),
            ours=row["scores"][score]["ours"],
            paper=row["scores"][score]["paper"],
            truth=row["scores"][score]["truth"],
            tolerance=TOLERANCE,
        )
        for row in result["rows"]
    ]
