"""When the correlations of a published study count as reproduced."""

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.reproduce._agreement import Check, Part

#: Correlations over few strengths, or of scores that hardly vary, move this far from one training to the next.
TOLERANCE = 0.2
REASON = (
    "Models were trained anew, by other code and with other seeds; a correlation over six strengths rests on six "
    "points, and one of scores that hardly vary on their noise."
)


def study_parts(result: Mapping[str, Any]) -> Sequence[Part]:
    """Compare every correlation of a full run; small models of our own are not held against the paper's."""
    if result["scale"] != "full":
        return ()
    tables = dict.fromkeys(line["table"] for line in result["lines"])
    return [
        Part(
            where=table,
            checks=[_check(line) for line in result["lines"] if line["table"] == table],
            reason=REASON,
        )
        for table in tables
    ]


def _check(line: Mapping[str, Any]) -> Check:
    what = f"{line['score']} and {line['task']}, {line['group']}"
    return Check(what=what, ours=line["ours"], paper=line["paper"], tolerance=TOLERANCE)
