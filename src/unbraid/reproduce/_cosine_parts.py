"""When the tables on cosines of factors count as reproduced."""

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.reproduce._agreement import Check, Part

OWN = "dependent."
#: For the paper's own scores, and for those it took from elsewhere, whose settings it does not give.
OWN_TOLERANCE, OTHER_TOLERANCE = 0.02, 0.05
#: Scenarios in which every code is one factor and tells it fully.
PERFECT = ("Cos0", "Cos1I", "Cos1D")
ASKS = {2: "modularity", 3: "compactness", 4: "explicitness", 10: "modularity by code", 11: "minimality by code"}
REASONS = {
    2: "Among codes that say the same, which a linear probe leans on is chance, and so is disentanglement; bins of the "
    "Modularity Score and votes of FactorVAE differ.",
    3: "No code tells the third factor of Cos2I, so its compactness compares two blind predictions and is how far the "
    "forests over-fit. The paper does not give bins and probes of the other metrics.",
    4: "The factors are continuous, and an area under the ROC curve depends on how they are cut into classes, which "
    "the paper does not say. Nor does it say how many rows it drew, on which forests depend where codes mix factors.",
    10: "z4 is noise and z3 stands beside a nuisance: their modularity compares two predictions of what cannot be "
    "predicted, and smoother forests agree more.",
    11: "z4 is noise, whose minimality is 0 but for over-fitting; where a code mixes factors, forests of other "
    "sizes leave other errors, and the paper does not give its own.",
}


def cosine_parts(result: Mapping[str, Any]) -> Sequence[Part]:
    """Compare every cell of every table."""
    tables = dict.fromkeys(line["table"] for line in result["lines"])
    return [
        Part(
            where=f"Table {table}, {ASKS[table]}",
            checks=[check for line in result["lines"] if line["table"] == table for check in _checks(line)],
            reason=REASONS[table],
        )
        for table in tables
    ]


def _checks(line: Mapping[str, Any]) -> list[Check]:
    is_own = line["metric"].startswith(OWN)
    cells = zip(line["scenarios"], line["ours"], line["published"], strict=True)
    return [
        Check(
            what=f"{line['label']}, {scenario}",
            ours=ours,
            paper=paper,
            truth=1.0 if is_own and line["code"] is None and scenario in PERFECT else None,
            tolerance=OWN_TOLERANCE if is_own else OTHER_TOLERANCE,
        )
        for scenario, ours, paper in cells
    ]
