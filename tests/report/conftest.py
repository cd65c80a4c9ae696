from collections.abc import Callable
from typing import Any

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
