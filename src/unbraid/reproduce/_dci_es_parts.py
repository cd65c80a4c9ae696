"""When Table 1 of DCI-ES counts as reproduced."""

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.reproduce._agreement import Check, Part

TOLERANCE = 0.03
REASONS = {
    "mlp": "Networks fitted on few rows leave a little unread, and D and C of a mix depend on its matrix, which is "
    "drawn at random.",
    "forest": "D and C of a forest depend on its depth and on the rows it sees, and which depth wins among near-equals "
    "is chance; no forest reaches the oracle's 1, since its trees give some importance to codes that do not matter. "
    "They also need rows to undo a mix: the paper fits on 295,000, and ours go towards its values as rows are added.",
}
TITLES = {"mlp": "networks", "forest": "forests"}


def dci_es_parts(result: Mapping[str, Any]) -> Sequence[Part]:
    """Compare the scores of networks and of forests; the oracle's stand in where the paper prints no others."""
    return [
        Part(where=f"Table 1, {TITLES[probes]}", checks=checks, reason=REASONS[probes])
        for probes in TITLES
        if (checks := _checks(result, probes))
    ]


def _checks(result: Mapping[str, Any], probes: str) -> list[Check]:
    return [
        Check(
            what=f"{row['representation']}, {score}" + (f", {row['n_samples']:,} rows" if _has_sizes(result) else ""),
            ours=values["ours"],
            paper=values["paper"],
            truth=values["oracle"],
            tolerance=TOLERANCE,
        )
        for row in result["rows"]
        if row["probes"] == probes
        for score, values in row["scores"].items()
    ]


def _has_sizes(result: Mapping[str, Any]) -> bool:
    return len({row["n_samples"] for row in result["rows"]}) > 1
