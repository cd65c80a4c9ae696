"""Reports built by hand, so that a test knows every number in them: fixtures for a ``conftest.py``."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from unbraid import METRICS, FactorKind, Report, Score
from unbraid.evidence.information import InformationTable
from unbraid.evidence.loss_capacity import CapacityCurves
from unbraid.evidence.subspaces.options import Subspace, Subspaces
from unbraid.probes.importance import Importance
from unbraid.results.evidence import Evidence
from unbraid.results.setup import Setup


@pytest.fixture
def make_report() -> Callable[..., Report]:
    """Build a report by hand, so that a test knows every number in it."""
    return build_report


def build_report(
    scores: dict[str, Score] | None = None,
    *,
    failures: dict[str, str] | None = None,
    notes: tuple[str, ...] = (),
    interval_methods: dict[str, str] | None = None,
    evidence: tuple[Evidence[Any], ...] = (),
    factors: tuple[str, ...] = ("shape", "size"),
    codes: tuple[str, ...] = ("z0", "z1", "z2"),
    **setup: Any,
) -> Report:
    return Report(
        scores=scores or {},
        failures=failures or {},
        interval_methods=interval_methods or {},
        notes=notes,
        evidence=evidence,
        setup=build_setup(factors=factors, codes=codes, **setup),
    )


def build_setup(
    *, factors: tuple[str, ...] = ("shape", "size"), codes: tuple[str, ...] = ("z0", "z1", "z2"), **changes: Any
) -> Setup:
    """Return the setup of a report, with some attributes changed."""
    given = {
        "name": "a representation",
        "unbraid": "1.2.3",
        "numpy": "2.0.0",
        "python": "3.11.0",
        "seed": 7,
        "n_samples": 1234,
        "rows_key": None,
        "code_names": codes,
        "factor_names": factors,
        "factor_kinds": (FactorKind.ORDINAL,) * len(factors),
        "factor_levels": (3,) * len(factors),
        "dead_codes": (),
        "options": {"mig": {"n_bins": 20, "binning": "robust", "bias_correction": "none"}},
        "confidence": 0.95,
        "seconds": 0.1,
        **changes,
    }
    given["factor_kinds"] = tuple(map(FactorKind, given["factor_kinds"]))
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return Setup(**given)


def record(data: Any, *scores: str, **options: Any) -> Evidence[Any]:
    """Return evidence as a report keeps it, from the source of the scores named."""
    return Evidence(source=METRICS[scores[0]].source.name, options=options, scores=scores, data=data)


def information(mi: Any, *, entropy: Any = None) -> InformationTable:
    """Return a table of mutual information, in nats."""
    mi = np.asarray(mi, dtype=float)
    return InformationTable(
        mutual_information=mi,
        code_entropy=np.ones_like(mi),
        factor_entropy=np.ones(mi.shape[1]) if entropy is None else np.asarray(entropy, dtype=float),
        code_bins=np.full(len(mi), 20),
        factor_levels=np.full(mi.shape[1], 3),
        active=np.ones(len(mi), dtype=bool),
    )


def subspaces(bases: Any, weights: Any, losses: Any = None) -> Subspaces:
    """Return subspaces of factors: for each its basis, the weights of its axes, and the losses with ever more axes."""
    bases, weights = (tuple(np.asarray(one, dtype=float) for one in given) for given in (bases, weights))
    losses = [1 - np.cumsum([0.0, *alpha]) for alpha in weights] if losses is None else losses
    found = [Subspace(basis=b, losses=np.asarray(one, dtype=float)) for b, one in zip(bases, losses, strict=True)]
    return Subspaces(subspaces=tuple(found), bases=bases, weights=weights, n_codes=len(bases[0]))


def importances(matrix: Any, informativeness: Any = None) -> Importance:
    """Return importances of codes for factors."""
    matrix = np.asarray(matrix, dtype=float)
    predicted = np.ones(matrix.shape[1]) if informativeness is None else np.asarray(informativeness, dtype=float)
    return Importance(matrix=matrix, informativeness=predicted, in_accuracy=np.zeros(matrix.shape[1]))


@pytest.fixture
def curve_parts():
    """Scores and curves of a ladder of three levels for the factors shape and size, every number known."""
    return _curve_parts


def _curve_parts(
    losses=((0.8, 0.4, 0.0), (0.1, 0.1, 0.1)), baselines=(0.8, 1.0), *, axis="depth", sentence="It is so.", more=None
):
    losses, baselines = np.array(losses), np.array(baselines)
    curves = CapacityCurves(
        axis=axis,
        capacities=np.tile([0.0, 1.0, 4.0], (len(losses), 1)),
        losses=losses,
        low=np.maximum(losses - 0.05, 0.0),
        high=losses + 0.05,
        baselines=baselines,
    )
    scores = {
        "dci_es.informativeness": Score(value=0.95, low=0.9, high=1.0, per_factor=1 - losses.min(axis=1)),
        "dci_es.explicitness": Score(value=0.625, low=0.6, high=0.7, per_factor=losses[:, 0], sentence=sentence),
    }
    return {"scores": scores | (more or {}), "evidence": (record(curves, *scores),)}
