"""Explicitness of several representations on one axis of capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.evidence.loss_capacity import CapacityCurves, LossCapacity
from unbraid.metrics.prediction.dci_es import curve_explicitness
from unbraid.metrics.table.metric import BesideThePanel
from unbraid.results.note import Note, NoteKind
from unbraid.results.report import Report
from unbraid.results.score import Score

EXPLICITNESS = "dci_es.explicitness"


def shared_explicitness(curves: Mapping[str, LossCapacity | CapacityCurves]) -> dict[str, FloatArray]:
    """Explicitness of several representations on one axis of capacity, which ends at the largest capacity of any.

    Probes of wider representations have more parameters, and so capacities of their own. The curve of a representation
    is continued at its lowest loss to the end of the shared axis, as in the published code.

    Args:
        curves: Curves by the name of the representation, all along the same axis, one factor after the other.

    Returns:
        By name, the explicitness of each factor, ``(n_factors,)``; their mean is the score.

    Raises:
        ValueError: Curves along different axes, or of different numbers of factors.

    Example:
        >>> from unbraid.metrics import loss_capacity
        >>> rng = np.random.default_rng(0)
        >>> codes = rng.uniform(-1, 1, (300, 2))
        >>> wide = np.hstack([codes, rng.normal(size=(300, 8))])
        >>> both = {"two": codes, "ten": wide}
        >>> found = {name: loss_capacity(z, codes, ladder="linear") for name, z in both.items()}
        >>> bool((shared_explicitness(found)["two"] >= curve_explicitness(found["two"])).all())
        True
    """
    axes = {one.axis for one in curves.values()}
    sizes = {len(one.baselines) for one in curves.values()}
    if len(axes) > 1 or len(sizes) > 1:
        raise ValueError(
            f"curves must have one axis and one number of factors, got {', '.join(sorted(axes))} and {sorted(sizes)}."
        )
    last = np.max([one.capacities[:, -1] for one in curves.values()], axis=0)
    found = {}
    for name, one in curves.items():
        first, own = one.capacities[:, 0], one.capacities[:, -1]
        found[name] = 1 - (1 - curve_explicitness(one)) * (own - first) / (last - first)
    return found


def on_shared_axis(reports: Mapping[str, Report]) -> dict[str, Report]:
    """Return reports whose explicitness is on one axis of capacity, where their curves are along the same axis.

    The part that the axis is longer by has no area, so that one less the score shrinks by the same share in the value,
    its interval and its replicates. Reports without curves, and axes that already end alike, stay as they are.
    """
    found: dict[str, CapacityCurves] = {}
    for name, report in reports.items():
        records = report.evidence_of(CapacityCurves)
        if records and EXPLICITNESS in report.scores:
            found[name] = records[0].data
    alike: dict[tuple[str, int], dict[str, CapacityCurves]] = {}
    for name, curves in found.items():
        alike.setdefault((curves.axis, len(curves.baselines)), {})[name] = curves
    changed = dict(reports)
    for group in alike.values():
        last = max(float(curves.capacities.max()) for curves in group.values())
        for name, per_factor in shared_explicitness(group).items():
            if not np.allclose(per_factor, curve_explicitness(group[name])):
                changed[name] = _with_explicitness(reports[name], per_factor, last)
    return changed


def _with_explicitness(report: Report, per_factor: FloatArray, last: float) -> Report:
    score = report.scores[EXPLICITNESS]
    before = 1 - score.value
    share = (1 - float(per_factor.mean())) / before if before > 0 else 1.0

    def moved(value: float | None) -> float | None:
        return None if value is None else 1 - (1 - value) * share

    note = Note.of(
        NoteKind.METRIC,
        "On the capacity axis of all representations compared, which ends at {}; on its own axis explicitness is {}.",
        f"{last:.3g}",
        f"{score.value:.3f}",
    )
    new: Score = replace(
        score,
        value=1 - before * share,
        low=moved(score.low),
        high=moved(score.high),
        replicates=None if score.replicates is None else 1 - (1 - score.replicates) * share,
        per_factor=per_factor,
        notes=(*score.notes, note),
    )
    return replace(report, scores={**report.scores, EXPLICITNESS: new})


BESIDE_THE_PANEL = (
    BesideThePanel(
        name="shared_explicitness",
        summary="How explicit are several representations, on one axis of capacity?",
        needs="loss-capacity curves of several representations",
        call="unbraid.metrics.shared_explicitness({name: loss_capacity(codes, factors), ...})",
        also="`unbraid.compare` puts explicitness on one axis",
    ),
)
