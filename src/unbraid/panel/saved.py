"""Reports read back from the JSON they wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import did_you_mean, did_you_mean_file
from unbraid.evidence.dependence import FactorDependence
from unbraid.metrics import METRICS
from unbraid.results.finding import Finding
from unbraid.results.report import LAYOUT, Report
from unbraid.results.score import Score

Numbers = dict[str, float | None] | None


class _SavedScore(msgspec.Struct, kw_only=True):
    value: float | None
    low: float | None
    high: float | None
    null: float | None
    beats_chance: bool | None
    interval: str | None
    replicates: list[float | None] | None
    per_factor: Numbers
    per_code: Numbers
    notes: list[str]
    says: str | None


class _SavedReport(msgspec.Struct, kw_only=True):
    scores: dict[str, _SavedScore]
    failures: dict[str, str]
    notes: list[str]
    dependence: FactorDependence | None
    meta: dict[str, Any]
    findings: tuple[Finding, ...] = ()


class _NeededMeta(msgspec.Struct, kw_only=True):
    """What readers of a report count on; the rest of ``meta`` is kept as it is."""

    name: str
    unbraid: str
    seed: int
    n_samples: int
    rows_key: str | None
    n_codes: int
    n_factors: int
    code_names: list[str]
    factor_names: list[str]
    options: dict[str, dict[str, Any]]
    confidence: float


def read_reports(path: str | Path) -> dict[str, Report]:
    """Read what ``unbraid score --json`` or ``to_json`` wrote: one report, or several side by side.

    Numbers, intervals, replicates, notes, findings and reasons come back as they were. The matrices behind the scores
    are not in the file, so a page made from it has no maps and curves.

    Args:
        path: A ``.json`` file.

    Returns:
        Reports by the name of the representation.

    Raises:
        ValueError: No file, not a report, or one of another layout.

    Example:
        >>> import tempfile, numpy as np
        >>> from unbraid import evaluate
        >>> factors = np.random.default_rng(0).integers(0, 4, (200, 2))
        >>> report = evaluate(factors + 0.0, factors, metrics="mig", name="plain")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = report.to_json(folder + "/plain.json")
        ...     again = read_reports(folder + "/plain.json")
        >>> again["plain"]["mig"].value == report["mig"].value
        True
    """
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"path {str(path)!r} is not a file{did_you_mean_file(file)}.")
    try:
        data = msgspec.json.decode(file.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a report: it does not hold JSON{_not_json(file, error)}.") from error
    several = isinstance(data, dict) and isinstance(data.get("reports"), dict)
    parts = list(data["reports"].items()) if several else [("", data)]
    if not parts:
        raise ValueError(f"{path} holds no report.")
    found = [(name, _report(part, f"{path}{f', report {name!r},' if name else ''}")) for name, part in parts]
    return {name or report.meta["name"]: report for name, report in found}


def _not_json(file: Path, error: Exception) -> str:
    """Say why; of a file that may hold codes, what to do with it."""
    kind = file.suffix.lower()
    if kind == ".json":
        return f" ({error})"
    if kind not in (".npz", ".npy", ".csv", ".parquet"):
        return "; give the file that `unbraid score FILE --json OUT` wrote, not a page or picture of it"
    return (
        f"; score it first, `unbraid score {file} --json {file.with_suffix('.json')}`, or score and compare files of "
        "codes at once, `unbraid score A B`"
    )


def _report(data: Any, where: str) -> Report:
    meta = data.get("meta") if isinstance(data, dict) else None
    if not isinstance(meta, dict) or "scores" not in data or "unbraid" not in meta:
        raise ValueError(f"{where} is not a report; give what `unbraid score FILE --json OUT` writes.")
    if meta.get("layout") != LAYOUT:
        raise ValueError(
            f"{where} was written by unbraid {meta['unbraid']} in layout {meta.get('layout', 1)}, and this version "
            f"reads layout {LAYOUT}; score the codes again."
        )
    try:
        saved = msgspec.convert(data, _SavedReport)
        msgspec.convert(meta, _NeededMeta)
        scores = {name: _score(name, score, meta) for name, score in saved.scores.items()}
    except (msgspec.ValidationError, ValueError) as error:
        raise ValueError(f"{where} is a damaged report: {error}.") from error
    return Report(
        scores=scores,
        failures=saved.failures,
        interval_methods={name: score.interval for name, score in saved.scores.items() if score.interval is not None},
        notes=tuple(saved.notes),
        dependence=saved.dependence,
        findings=saved.findings,
        meta=meta,
    )


def _score(name: str, saved: _SavedScore, meta: dict[str, Any]) -> Score:
    if name not in METRICS:
        raise ValueError(f"it has the score {name!r}, which this version does not know{did_you_mean(name, METRICS)}")
    return Score(
        value=_number(saved.value),
        low=saved.low,
        high=saved.high,
        null=saved.null,
        beats_chance=saved.beats_chance,
        replicates=None if saved.replicates is None else np.array([_number(value) for value in saved.replicates]),
        per_factor=_in_order(f"per_factor of {name}", saved.per_factor, meta["factor_names"]),
        per_code=_in_order(f"per_code of {name}", saved.per_code, meta["code_names"]),
        notes=tuple(saved.notes),
        says=saved.says or "",
    )


def _in_order(what: str, values: Numbers, names: list[str]) -> FloatArray | None:
    if values is None:
        return None
    if list(values) != names:
        raise ValueError(f"{what} has other names than meta")
    return np.array([_number(value) for value in values.values()])


def _number(value: float | None) -> float:
    """A number that was not finite was written as null; which one it was is lost."""
    return float("nan") if value is None else value
