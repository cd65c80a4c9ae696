"""The study of 1800 models of dSprites: how Modularity correlates with every other score."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.reproduce._studies import Scale
from unbraid.reproduce._study_result import StudyLine, StudyTables
from unbraid.study import State, correlations, wide

#: Figure E.1: for each score, Pearson's and Spearman's correlation with Modularity over 1800 models.
FIGURE_E1: dict[str, tuple[float, float]] = {
    "z_diff": (0.04, 0.07),
    "z_min_var": (0.14, 0.13),
    "z1": (0.04, 0.07),
    "z2": (0.07, 0.09),
    "dci_linear.disentanglement": (0.06, 0.08),
    "dci_forest.disentanglement": (-0.00, 0.03),
    "irs": (-0.16, -0.07),
    "sap": (-0.03, 0.09),
    "mig": (-0.02, 0.06),
    "dci_linear.completeness": (-0.05, -0.05),
    "dci_forest.completeness": (-0.14, -0.12),
    "dci_linear.informativeness": (0.01, 0.09),
    "dci_forest.informativeness": (0.10, 0.12),
    "explicitness": (0.04, 0.05),
    "udr_lasso": (-0.13, -0.13),
}


def thesis_tables(state: State, scale: Scale) -> StudyTables:
    """Return the correlations of Modularity with every other score over the models of a study."""
    models = wide(state.table())
    lines = []
    for number, method in enumerate(("pearson", "spearman")):
        found = correlations(models, ["modularity"], list(FIGURE_E1), method=method, n_bootstrap=0).r  # type: ignore[arg-type]
        lines += [
            StudyLine(
                table="Fig. E.1",
                group=method,
                task="modularity",
                score=score,
                paper=published[number],
                ours=_finite(found.at["modularity", score]),
            )
            for score, published in FIGURE_E1.items()
        ]
    return StudyTables(
        study="thesis",
        scale=scale,
        n_models=len(models.values),
        n_failed=len(state.failed_models) + len(state.missing),
        lines=tuple(lines),
    )


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
