"""When a published study counts as reproduced: only as it was published, not in small."""

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.reproduce._agreement import Check, Part

#: Over 1800 models a correlation has a standard error of 0.02; scores differ in detail between implementations.
THESIS_TOLERANCE = 0.1
#: Over six strengths, averaged over six data sets or families.
IWO_TOLERANCE = 0.3
REASON = "Models were trained anew, and correlations over six strengths hang on each of them."


def thesis_parts(result: Mapping[str, Any]) -> Sequence[Part]:
    """Compare the correlations of Modularity."""
    return _parts(result, THESIS_TOLERANCE)


def iwo_study_parts(result: Mapping[str, Any]) -> Sequence[Part]:
    """Compare the correlations of scores with tasks."""
    return _parts(result, IWO_TOLERANCE)


def _parts(result: Mapping[str, Any], tolerance: float) -> Sequence[Part]:
    if result["scale"] != "full":
        return ()
    lines = [line for line in result["lines"] if line["ours"] is not None]
    return [
        Part(
            where=where,
            checks=[_check(line, tolerance) for line in lines if line["table"] == where],
            reason=REASON,
        )
        for where in dict.fromkeys(line["table"] for line in lines)
    ]


def _check(line: Mapping[str, Any], tolerance: float) -> Check:
    what = f"{line['group']}: {line['score']} with {line['task']}"
    return Check(what=what, ours=line["ours"], paper=line["paper"], tolerance=tolerance)
