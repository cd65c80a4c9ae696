"""Reports read back from the JSON they wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_choice, did_you_mean, did_you_mean_file
from unbraid.evidence.dependence import FactorDependence
from unbraid.metrics import METRICS
from unbraid.results.evidence import KEPT, Evidence
from unbraid.results.finding import Finding, Still
from unbraid.results.note import Note, NoteKind, as_note
from unbraid.results.report import LAYOUT, Report
from unbraid.results.score import Score
from unbraid.results.setup import Setup

Numbers = dict[str, float | None] | None
#: The layout before evidence, kinds of notes and infinite numbers were written.
OLD_LAYOUT = 2


class _SavedNote(msgspec.Struct, kw_only=True):
    kind: NoteKind
    template: str
    values: tuple[str, ...]


class _SavedScore(msgspec.Struct, kw_only=True):
    value: float | None
    low: float | None
    high: float | None
    chance: float | None
    beats_chance: bool | None
    plain: float | None = None
    standing: float | None = None
    interval: str | None
    replicates: list[float | None] | None
    per_factor: Numbers
    per_code: Numbers
    notes: list[str]
    note_parts: list[_SavedNote] | None = None
    sentence: str | None = None


class _SavedEvidence(msgspec.Struct, kw_only=True):
    source: str
    options: dict[str, Any]
    scores: tuple[str, ...]
    type: str
    data: dict[str, Any]


class _SavedReport(msgspec.Struct, kw_only=True):
    scores: dict[str, _SavedScore]
    failures: dict[str, str]
    notes: list[str]
    dependence: FactorDependence | None
    meta: Setup
    note_parts: list[_SavedNote] | None = None
    findings: tuple[Finding, ...] = ()
    evidence: list[_SavedEvidence] = []
    stills: list[dict[str, Any]] = []


def read_reports(path: str | Path) -> dict[str, Report]:
    """Read the JSON of ``unbraid score --json`` or ``to_json``: one report, or several side by side.

    Numbers, intervals, replicates, evidence, notes, findings and reasons come back as they were, so that the report is
    compared and drawn like a fresh one. A file of layout 2 has no evidence: a page made from it has no maps and curves.

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
    except RecursionError as error:
        raise ValueError(f"{path} is not a report: its JSON is nested too deeply.") from error
    return reports_in(data, path)


def reports_in(data: Any, path: str | Path) -> dict[str, Report]:
    """Return the reports in decoded JSON; ``path`` is where it is from, for messages.

    Raises:
        ValueError: Not a report, or one of another layout.
    """
    several = isinstance(data, dict) and isinstance(data.get("reports"), dict)
    parts = list(data["reports"].items()) if several else [("", data)]
    if not parts:
        raise ValueError(f"{path} holds no report.")
    found = [(name, _report(part, f"{path}{f', report {name!r},' if name else ''}")) for name, part in parts]
    named = [(name or report.setup.name, report) for name, report in found]
    if len(dict(named)) < len(named):
        raise ValueError(f"{path} must hold reports of different names, got {', '.join(name for name, _ in named)}.")
    return dict(named)


def _not_json(file: Path, error: Exception) -> str:
    """Return the reason, with advice for a file that may contain codes."""
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
    if meta.get("layout") not in (OLD_LAYOUT, LAYOUT):
        raise ValueError(
            f"{where} was written by unbraid {meta['unbraid']} in layout {meta.get('layout', 1)}, and this version "
            f"reads layouts {OLD_LAYOUT} and {LAYOUT}; score the codes again."
        )
    try:
        if meta["layout"] == OLD_LAYOUT:
            _rename_old_keys(data)
        for item in data.get("infinite", ()):
            _put(data, item["path"], float(item["number"]))
        for score in _score_parts(data):
            if "null" in score:  # its name in files of earlier versions
                score["chance"] = score.pop("null")
        saved = msgspec.convert(data, _SavedReport)
        _check_factors(saved.meta)
        scores = {name: _score(name, score, saved.meta) for name, score in saved.scores.items()}
        evidence = tuple(map(_evidence, saved.evidence))
        stills = tuple(msgspec.convert(one, Still, dec_hook=_array) for one in saved.stills)
    except (msgspec.ValidationError, ValueError, LookupError, TypeError, OverflowError) as error:
        raise ValueError(f"{where} is a damaged report: {error}.") from error
    return Report(
        scores=scores,
        failures=saved.failures,
        interval_methods={name: score.interval for name, score in saved.scores.items() if score.interval is not None},
        notes=_notes(saved.notes, saved.note_parts),
        evidence=evidence,
        dependence=saved.dependence,
        findings=saved.findings,
        stills=stills,
        setup=saved.meta,
    )


def _check_factors(setup: Setup) -> None:
    """Raise unless there are a name, a kind and a number of levels for each factor."""
    counts = {len(setup.factor_names), len(setup.factor_kinds), len(setup.factor_levels)}
    if len(counts) > 1:
        raise ValueError("its names, kinds and levels of factors are not equally many")


def _rename_old_keys(data: dict[str, Any]) -> None:
    """Give the sentences of layout 2 their present name."""
    for item in (*_score_parts(data), *data.get("findings", ())):
        item["sentence"] = item.pop("says", None)


def _score_parts(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a file that are scores."""
    scores = data["scores"]
    if not isinstance(scores, dict) or not all(isinstance(score, dict) for score in scores.values()):
        raise ValueError("its scores must be an object for each metric")
    return list(scores.values())


def _put(data: Any, path: list[Any], number: float) -> None:
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = number


def _score(name: str, saved: _SavedScore, setup: Setup) -> Score:
    if name not in METRICS:
        raise ValueError(f"it has the score {name!r}, which this version does not know{did_you_mean(name, METRICS)}")
    return Score(
        value=_number(saved.value),
        plain=saved.plain,
        low=saved.low,
        high=saved.high,
        null=saved.chance,
        beats_chance=saved.beats_chance,
        standing=saved.standing,
        replicates=None if saved.replicates is None else np.array([_number(value) for value in saved.replicates]),
        per_factor=_in_order(f"per_factor of {name}", saved.per_factor, setup.factor_names),
        per_code=_in_order(f"per_code of {name}", saved.per_code, setup.code_names),
        notes=_notes(saved.notes, saved.note_parts),
        sentence=saved.sentence or "",
    )


def _notes(sentences: list[str], parts: list[_SavedNote] | None) -> tuple[Note, ...]:
    """Return notes with their kinds; an old file has sentences only."""
    if parts is None:
        return tuple(map(as_note, sentences))
    return tuple(Note.of(part.kind, part.template, *part.values) for part in parts)


def _evidence(saved: _SavedEvidence) -> Evidence[Any]:
    check_choice("type of evidence", saved.type, KEPT)
    data = msgspec.convert(saved.data, KEPT[saved.type], dec_hook=_array)
    return Evidence(source=saved.source, options=saved.options, scores=saved.scores, data=data)


def _array(kind: Any, value: Any) -> Any:
    """Return an array of the annotated type; null is NaN."""
    if get_origin(kind) is not np.ndarray or not isinstance(value, list):
        raise ValueError(f"evidence must hold lists of numbers, got {type(value).__name__}")
    return np.array(value, dtype=get_args(get_args(kind)[1])[0])


def _in_order(what: str, values: Numbers, names: tuple[str, ...]) -> FloatArray | None:
    if values is None:
        return None
    if tuple(values) != names:
        raise ValueError(f"{what} has other names than meta")
    return np.array([_number(value) for value in values.values()])


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
