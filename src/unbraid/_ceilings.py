"""How high some scores can get with these factors at all, where that is below the best of their range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from unbraid.evidence.splits import TEST_SHARE

#: A ceiling nearer to the best than this is not worth a word; one that a score has passed by this much does not hold.
WORTH_A_WORD, PASSED = 0.95, 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The most that perfect codes would score.

    Attributes:
        value: For factors whose values are about equally common.
        why: The reason, in words that follow "because".
    """

    value: float
    why: str


def ceiling(name: str, value: float, meta: Mapping[str, Any]) -> Ceiling | None:
    """Return how high a score can get while each factor has one code, or ``None`` where that is all the way.

    Args:
        name: Registry name of the score.
        value: What was scored; a value above the ceiling shows that factors have more than one code.
        meta: Of the report: kinds and values of the factors, and options.

    Example:
        >>> meta = {"factor_kinds": ["categorical"], "factor_levels": [3], "options": {}}
        >>> round(ceiling("sap", 0.6, meta).value, 3), ceiling("mcc", 0.6, meta)
        (0.667, None)
    """
    rule = _RULES.get(name)
    if rule is None or not meta["factor_kinds"]:
        return None
    options = meta["options"].get(name, {})
    columns = zip(meta["factor_kinds"], meta["factor_levels"], strict=True)
    n_rows = int(meta.get("n_samples", 0))
    tops = [rule.of(kind, levels, options, n_rows) for kind, levels in columns]
    mean = sum(tops) / len(tops)
    return None if mean > WORTH_A_WORD or value > mean + PASSED else Ceiling(value=mean, why=rule.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    of: Callable[[str, int | None, Mapping[str, Any], int], float]
    why: str


def _sap(kind: str, levels: int | None, options: Mapping[str, Any], n_rows: int) -> float:
    """A second code that knows nothing still guesses one of the values right."""
    return 1 - 1 / levels if kind == "categorical" and levels else 1.0


def _r2(kind: str, levels: int | None, options: Mapping[str, Any], n_rows: int) -> float:
    """Indicators of n values span n - 1 directions, and one code is a single one of them."""
    return 1 / (levels - 1) if kind == "categorical" and levels and levels > 2 else 1.0


def _explicitness(kind: str, levels: int | None, options: Mapping[str, Any], n_rows: int) -> float:
    """Along a line, the i-th of n values can only be told from the larger of what lies before and behind it."""
    if kind == "circular" or options.get("classifier", "one_vs_rest") != "one_vs_rest":
        return 1.0
    n = levels or int(options.get("n_bins", 20))
    area = sum(max(i, n - 1 - i) for i in range(n)) / (n * (n - 1)) if n > 1 else 1.0
    return 2 * area - 1 if options.get("normalised") else area


def _mig(kind: str, levels: int | None, options: Mapping[str, Any], n_rows: int) -> float:
    """A code cut into b bins tells at most log b of the log n that a factor of n values has."""
    n_bins = int(options.get("n_bins", 20))
    if not levels or levels <= n_bins or options.get("normalise_by", "factor") != "factor":
        return 1.0
    return math.log(n_bins) / math.log(levels)


def _infoe(kind: str, levels: int | None, options: Mapping[str, Any], n_rows: int) -> float:
    """The probe's weights are held small, so that between neighbours on one code it never becomes quite sure."""
    return _most_predicted(kind == "circular", levels, n_rows) if levels and levels > 2 and n_rows else 1.0


@lru_cache(maxsize=64)
def _most_predicted(circular: bool, levels: int, n_rows: int) -> float:
    """Fit the probe of InfoE to perfect codes: rows for each value, weighted as its share of those fitted on."""
    from sklearn.linear_model import LogisticRegression

    places = np.repeat(np.arange(levels), 2)  # twice, as one row for each value would look like a regression
    angles = 2 * np.pi * places / levels
    codes = np.stack([np.cos(angles), np.sin(angles)], axis=1) if circular else places[:, None].astype(np.float64)
    codes = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    weights = np.full(len(places), (1 - TEST_SHARE) * n_rows / len(places))
    probe = LogisticRegression(max_iter=5000, tol=1e-3).fit(codes, places, sample_weight=weights)
    sure = probe.predict_log_proba(codes)[np.arange(len(places)), places]
    return float(1 + sure.mean() / math.log(levels))


_RULES = {
    "sap": _Rule(of=_sap, why="a code that knows nothing of a category still guesses some values right"),
    "r2": _Rule(of=_r2, why="one code is a single line through the several directions that a category has"),
    "explicitness": _Rule(of=_explicitness, why="no line singles out a value that lies between others on one code"),
    "mig": _Rule(of=_mig, why="a code is cut into fewer bins than a factor has values"),
    "infomec.explicitness": _Rule(of=_infoe, why="its probe never becomes quite sure of a value between others"),
}
