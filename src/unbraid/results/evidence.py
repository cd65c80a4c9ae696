"""Evidence in a report: its arrays, its options, and the scores computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from unbraid.evidence.association import Association, CodeCovariance
from unbraid.evidence.block_reading import BlockReading
from unbraid.evidence.classes import ClassAssociation
from unbraid.evidence.concepts import ConceptProbes
from unbraid.evidence.cross_prediction import CrossPrediction
from unbraid.evidence.fairness import GroupFairness
from unbraid.evidence.information import CodeInformation, InformationTable
from unbraid.evidence.linear.classifiers import PredictiveInformation, Separation
from unbraid.evidence.linear.regression import LinearFit
from unbraid.evidence.linear_map import LinearMap
from unbraid.evidence.loss_capacity import CapacityCurves, LossCapacity
from unbraid.evidence.spectrum import Spectrum
from unbraid.evidence.subspaces.options import Subspaces
from unbraid.probes.importance import Importance

#: Evidence of a size that does not grow with the number of rows, by the name of its type.
KEPT = {
    kind.__name__: kind
    for kind in (
        InformationTable,
        CodeInformation,
        Importance,
        Association,
        CodeCovariance,
        LinearFit,
        Separation,
        PredictiveInformation,
        Subspaces,
        CrossPrediction,
        CapacityCurves,
        BlockReading,
        GroupFairness,
        LinearMap,
        Spectrum,
        ConceptProbes,
        ClassAssociation,
    )
}
#: Larger evidence, of a hundred thousand codes and more, would make a report of gigabytes.
MOST_BYTES = 256 * 2**20
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence(Generic[T]):
    """One kind of evidence, gathered once.

    Attributes:
        source: Name of the kind of evidence, such as ``"information"``.
        options: The options it was gathered with, as plain data.
        scores: Names of the scores computed from it, in the order of the report.
        data: Arrays and numbers.
    """

    source: str
    options: Mapping[str, Any]
    scores: tuple[str, ...]
    data: T

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, arrays as lists."""
        return {
            "source": self.source,
            "options": dict(self.options),
            "scores": list(self.scores),
            "type": type(self.data).__name__,
            "data": _plain(self.data),
        }


def kept(found: object) -> object | None:
    """Return the part of evidence that a report keeps: no arrays over rows, and none over millions of codes."""
    if isinstance(found, LossCapacity):
        found = found.curves
    return found if isinstance(found, tuple(KEPT.values())) and _n_bytes(found) <= MOST_BYTES else None


def _n_bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if is_dataclass(value):
        return sum(_n_bytes(getattr(value, item.name)) for item in fields(value))
    return sum(_n_bytes(item) for item in value) if isinstance(value, tuple) else 0


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
