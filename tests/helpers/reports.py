"""Reports built by hand, so that a test knows every number in them: fixtures for a ``conftest.py``."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from unbraid import Report, Score


@pytest.fixture
def make_report() -> Callable[..., Report]:
    """Build a report by hand, so that a test knows every number in it."""
    return _make_report


def _make_report(
    scores: dict[str, Score] | None = None,
    *,
    failures: dict[str, str] | None = None,
    notes: tuple[str, ...] = (),
    interval_methods: dict[str, str] | None = None,
    factors: tuple[str, ...] = ("shape", "size"),
    codes: tuple[str, ...] = ("z0", "z1", "z2"),
    **meta: Any,
) -> Report:
    return Report(
        scores=scores or {},
        failures=failures or {},
        interval_methods=interval_methods or {},
        notes=notes,
        meta={
            "name": "a representation",
            "unbraid": "1.2.3",
            "numpy": "2.0.0",
            "python": "3.11.0",
            "seed": 7,
            "n_samples": 1234,
            "n_codes": len(codes),
            "n_factors": len(factors),
            "code_names": list(codes),
            "factor_names": list(factors),
            "factor_kinds": ["ordinal"] * len(factors),
            "factor_levels": [3] * len(factors),
            "dead_codes": [],
            "options": {"mig": {"n_bins": 20, "binning": "robust", "bias_correction": "none"}},
            "confidence": 0.95,
            "seconds": 0.1,
            "seconds_by_evidence": [],
            **meta,
        },
    )


@pytest.fixture
def curve_scores():
    """Scores of a ladder of three rungs for the factors shape and size, every number known."""
    return _curve_scores


def _curve_scores(losses=((0.8, 0.4, 0.0), (0.1, 0.1, 0.1)), baselines=(0.8, 1.0), *, axis="depth", says="It is so."):
    losses, baselines = np.array(losses), np.array(baselines)
    evidence = {
        "capacities": np.tile([0.0, 1.0, 4.0], (len(losses), 1)),
        "losses": losses,
        "loss_low": np.maximum(losses - 0.05, 0.0),
        "loss_high": losses + 0.05,
        "baselines": baselines,
    }
    parts = {"evidence": evidence, "axis": axis}
    return {
        "dci_es.informativeness": Score(value=0.95, low=0.9, high=1.0, per_factor=1 - losses.min(axis=1), **parts),
        "dci_es.explicitness": Score(value=0.625, low=0.6, high=0.7, per_factor=losses[:, 0], says=says, **parts),
    }
