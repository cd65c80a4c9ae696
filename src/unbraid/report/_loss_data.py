"""The loss–capacity curves that reports carry, as plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from unbraid._score import Score
from unbraid._typing import FloatArray
from unbraid.result import Report

NEEDED = ("capacities", "losses", "loss_low", "loss_high", "baselines")
EXPLICITNESS, INFORMATIVENESS = "dci_es.explicitness", "dci_es.informativeness"


class LossCurve(NamedTuple):
    """One curve.

    Attributes:
        capacities: Increasing, ``(n_rungs,)``; so are the next three.
        losses: On held-out rows.
        low: Lower end of the interval.
        high: Upper end.
        baseline: Loss of a guess made without the codes.
        explicitness: E of the curve, where it was scored.
        informativeness: I of the curve, where it was scored.
    """

    capacities: FloatArray
    losses: FloatArray
    low: FloatArray
    high: FloatArray
    baseline: float
    explicitness: float | None
    informativeness: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCurves:
    """The curves of one representation.

    Attributes:
        axis: What the capacities count.
        by_factor: The curve of each factor.
        mean: Their mean, rung by rung, or ``None`` for a single factor.
    """

    axis: str
    by_factor: Mapping[str, LossCurve]
    mean: LossCurve | None


def curves_of(report: Report) -> LossCurves | None:
    """Return the curves that a report's scores carry, if any."""
    score = next((s for s in report.scores.values() if all(key in s.evidence for key in NEEDED)), None)
    if score is None:
        return None
    e, i = report.scores.get(EXPLICITNESS), report.scores.get(INFORMATIVENESS)
    capacities, losses, low, high, baselines = (score.evidence[key] for key in NEEDED)
    by_factor = {
        name: LossCurve(capacities[k], losses[k], low[k], high[k], float(baselines[k]), _part(e, k), _part(i, k))
        for k, name in enumerate(report.meta["factor_names"])
    }
    # Factors share their test rows, so their errors may go together: the mean of the bands does not assume otherwise.
    mean = LossCurve(
        capacities.mean(axis=0),
        losses.mean(axis=0),
        low.mean(axis=0),
        high.mean(axis=0),
        float(baselines.mean()),
        None if e is None else e.value,
        None if i is None else i.value,
    )
    return LossCurves(axis=score.axis, by_factor=by_factor, mean=mean if len(by_factor) > 1 else None)


def _part(score: Score | None, factor: int) -> float | None:
    return None if score is None or score.per_factor is None else float(score.per_factor[factor])
