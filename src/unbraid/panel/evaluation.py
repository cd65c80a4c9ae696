"""The panel: choose metrics, gather each kind of evidence once, add intervals, nulls and notes."""

from __future__ import annotations

import platform
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least
from unbraid._base.progress import Progress, track
from unbraid._base.stats import student_quantile
from unbraid._base.workers import Workers
from unbraid._version import __version__
from unbraid.evidence.dependence import FactorDependence, factor_dependence
from unbraid.evidence.information import Binning
from unbraid.interpret.chance import score_notes
from unbraid.interpret.dependence import dependence_note, dependence_notes
from unbraid.interpret.diagnosis import diagnose
from unbraid.metrics import Metric
from unbraid.panel.plan import Group, options_of, plain_options, plan_groups, resolve_metrics
from unbraid.representation.representation import Representation, as_representation, check_n_factors
from unbraid.representation.warnings import check_rows, representation_notes
from unbraid.results.report import LAYOUT, Report
from unbraid.results.score import Score

CONFIDENCE = 0.95
REPLICATE_DECIMALS = 9
#: With this many shuffles, chance passes all of them once in twenty times.
ENOUGH_NULLS = 19
POINT, REPLICATE, NULL = range(3)


def evaluate(
    codes: Any,
    factors: Any = None,
    *,
    names: Iterable[str] | None = None,
    kinds: Sequence[str | None] | Mapping[str, str] | None = None,
    code_names: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    metrics: str | Iterable[str] = "default",
    seed: int = 0,
    n_jobs: int | None = None,
    n_bins: int = 20,
    binning: Binning = "robust",
    options: Mapping[str, Mapping[str, Any]] | None = None,
    intervals: bool = True,
    nulls: bool = True,
    progress: bool | None = None,
    name: str = "a representation",
) -> Report:
    """Score a representation with many metrics at once.

    Metrics that need the same evidence share it. Every score gets a 95 % interval (counts are bootstrapped, fits are
    repeated on random halves of the rows) and a null: what the same codes score once the factors are shuffled
    (for label-free metrics: once every code is shuffled on its own). A metric that fails leaves a
    reason and does not stop the others. Every two factors are tested for dependence, and scores that it misleads
    say so. ``findings`` say in sentences how the codes hold the factors, as far as the evidence shows it.

    Args:
        codes: ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: ``(n_samples, n_factors)``, or ``None`` for label-free metrics only.
        names: Factor names. This and the next three are as :class:`~unbraid.Representation` takes them, and left out
            where ``codes`` is one.
        kinds: Factor kinds: ``{"azimuth": "circular:360", "shape": "categorical"}``, or one for each factor.
        code_names: Code names.
        only: Names of the factors to score; the others are left out.
        metrics: ``"default"`` for all that the input supports but the dearest, ``"all"``, or names; a family name gives
            all its scores.
        seed: Same seed, same numbers, for any ``n_jobs``.
        n_jobs: Worker threads in all, also those inside one metric; by default as many as there are usable cores.
        n_bins: Bins, for every metric that bins.
        binning: How to cut them: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        options: Further options by metric or family name, as its function takes them.
        intervals: Whether to compute intervals.
        nulls: Whether to compute nulls.
        progress: Show a progress bar on standard error; by default when that is a terminal.
        name: What the report calls the representation.

    Returns:
        A :class:`~unbraid.Report`.

    Raises:
        ValueError: Bad input, an unknown metric or option.
        TypeError: A file name in place of codes, or names and kinds beside a representation that has its own.

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 4, (200, 2))
        >>> report = evaluate(factors + 0.0, factors, metrics=["mig", "sap"])
        >>> report["mig"].low > 0.9 > report["mig"].null
        True
    """
    rep = as_representation(codes, factors, names=names, kinds=kinds, code_names=code_names, only=only)
    check_rows(rep)
    check_at_least("seed", seed, 0)
    workers = Workers(n_jobs, torch_threads=1)
    chosen, notes = _choose(metrics, rep)
    failures = {metric.name: reason for metric in chosen if (reason := _unsupported(metric, rep))}
    shared = {"n_bins": n_bins, "binning": binning}
    groups = plan_groups([metric for metric in chosen if metric.name not in failures], shared, options or {})
    started = time.perf_counter()
    tasks = [task for group in groups for task in _tasks(group, rep, seed, intervals, nulls, workers)]
    tested: list[FactorDependence | None] = []
    tasks.append(
        lambda: tested.append(factor_dependence(rep, np.random.default_rng([seed, zlib.crc32(b"dependence")])))
    )
    with threadpool_limits(1), track(len(tasks), progress, doing=f"scoring {name}") as bar:
        _run(tasks, workers, bar)
    for group in groups:
        failures |= group.errors
    names = [metric.name for metric in chosen]
    (dependence,) = tested
    scores = {name: _finish(group, name, dependence) for name in names for group in groups if name in group.points}
    methods = {name: group.source.interval_method for group in groups for name in group.points} if intervals else {}
    report = Report(
        scores=scores,
        failures={name: failures[name] for name in names if name in failures},
        interval_methods={name: methods[name] for name in scores if name in methods},
        notes=(*representation_notes(rep, n_bins=n_bins), *dependence_notes(dependence, list(scores)), *notes),
        dependence=dependence,
        meta={"name": name, **_meta(rep, groups, seed, time.perf_counter() - started)},
    )
    return replace(report, findings=diagnose(report))


def _choose(metrics: str | Iterable[str], rep: Representation) -> tuple[list[Metric], tuple[str, ...]]:
    """Return the metrics to try; the default leaves out what the input cannot support, and says so."""
    chosen = resolve_metrics(metrics)
    if metrics != "default":
        return chosen, ()
    left_out = [metric.name for metric in chosen if metric.min_factors > rep.n_factors]
    if not left_out:
        return chosen, ()
    note = f"Left out, for want of labelled factors ({rep.n_factors} given): {', '.join(left_out)}."
    return [metric for metric in chosen if metric.name not in left_out], (note,)


def _unsupported(metric: Metric, rep: Representation) -> str | None:
    try:
        check_n_factors(rep, metric=metric.name, min_factors=metric.min_factors)
    except ValueError as error:
        return str(error)
    return None


def _tasks(
    group: Group, rep: Representation, seed: int, intervals: bool, nulls: bool, workers: Workers
) -> list[Callable[[], None]]:
    """Return the work of one group, in pieces that do not depend on each other or on their order."""
    key = zlib.crc32(f"{group.source.name} {plain_options(group.options)}".encode())

    def rng(role: int, index: int = 0) -> np.random.Generator:
        return np.random.default_rng([seed, key, role, index])

    redraws = rng(REPLICATE) if intervals and group.source.redraw is not None else None
    tasks: list[Callable[[], None]] = [partial(_point, group, rep, rng(POINT), redraws, workers)]
    if intervals and group.source.resample is not None:
        tasks.append(partial(_resample, group, rep, rng(REPLICATE)))
    elif intervals and redraws is None:
        tasks += [
            partial(_replicate, group, rep, index, rng(REPLICATE, index), workers)
            for index in range(group.source.n_replicates)
        ]
    if nulls:
        tasks += [partial(_null, group, rep, index, rng(NULL, index), workers) for index in range(group.source.n_nulls)]
    return tasks


def _run(tasks: list[Callable[[], None]], workers: Workers, bar: Progress) -> None:
    def run(task: Callable[[], None]) -> None:
        task()
        bar.advance()

    workers.map(run, tasks)


def _point(
    group: Group,
    rep: Representation,
    rng: np.random.Generator,
    redraws: np.random.Generator | None,
    workers: Workers,
) -> None:
    started = time.perf_counter()
    try:
        evidence = group.source.evidence(rep, group.options, rng, workers)
    except Exception as error:  # one metric must never take the others down; its row carries the reason
        group.errors |= {name: _reason(error) for name in group.metrics}
        return
    for name, (metric, rest) in group.metrics.items():
        try:
            group.points[name] = metric.score(evidence, **rest)
        except Exception as error:  # as above
            group.errors[name] = _reason(error)
    group.seconds = time.perf_counter() - started
    if redraws is not None and group.source.redraw is not None:
        try:
            drawn = group.source.redraw(evidence, n_resamples=group.source.n_replicates, rng=redraws)
            group.replicates = {index: _values(group, other) for index, other in enumerate(drawn)}
        except Exception as error:  # as in _resample
            group.spread_error = _reason(error)


def _resample(group: Group, rep: Representation, rng: np.random.Generator) -> None:
    assert group.source.resample is not None
    try:
        tables = group.source.resample(rep, group.options, n_resamples=group.source.n_replicates, rng=rng)
        group.replicates = {index: _values(group, table) for index, table in enumerate(tables)}
    except Exception as error:  # a score without an interval is still a score; a note says why
        group.spread_error = _reason(error)


def _replicate(group: Group, rep: Representation, index: int, rng: np.random.Generator, workers: Workers) -> None:
    """Gather again on a random half; its spread around the whole is the standard error of the whole."""
    n_rows = rep.n_samples // 2
    if group.source.max_replicate_rows is not None:
        n_rows = min(n_rows, group.source.max_replicate_rows)
    group.scale = float(np.sqrt(n_rows / (rep.n_samples - n_rows)))
    try:
        part = rep.take(np.sort(rng.permutation(rep.n_samples)[:n_rows]))
        group.replicates[index] = _values(group, group.source.evidence(part, _light(group), rng, workers))
    except Exception as error:  # as in _resample
        group.spread_error = _reason(error)


def _null(group: Group, rep: Representation, index: int, rng: np.random.Generator, workers: Workers) -> None:
    limit = group.source.max_replicate_rows
    if limit is not None and rep.n_samples > limit:
        rep = rep.take(np.sort(rng.permutation(rep.n_samples)[:limit]))
    shuffled = rep.with_shuffled_codes(rng) if group.source.label_free else rep.with_shuffled_factors(rng)
    try:
        group.nulls[index] = _values(group, group.source.evidence(shuffled, _light(group), rng, workers))
    except Exception as error:  # as in _resample
        group.spread_error = _reason(error)


def _light(group: Group) -> Any:
    return group.options if group.source.lighten is None else group.source.lighten(group.options)


def _values(group: Group, evidence: Any) -> dict[str, float]:
    """Score what can be scored; a metric that fails costs the others of its group nothing."""
    values = {}
    for name, (metric, rest) in group.metrics.items():
        try:
            values[name] = metric.score(evidence, **rest).value
        except Exception as error:  # as in _resample
            group.spread_error = _reason(error)
    return values


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _finish(group: Group, name: str, dependence: FactorDependence | None) -> Score:
    """Add interval, null and notes to a point score."""
    metric, score = group.metrics[name][0], group.points[name]
    values, nulls = _in_order(group.replicates, name), _in_order(group.nulls if metric.has_null else {}, name)
    low = high = beats_chance = replicates = None
    if len(values) >= 3 and np.isfinite(values).all() and np.isfinite(score.value):
        reach = _reach(values) * group.scale
        replicates = _replicates(group, name)
        low, high = (float(np.clip(end, *metric.bounds)) for end in (score.value - reach, score.value + reach))
        if len(nulls):
            gain = score.value - nulls.mean() if metric.higher_is_better else nulls.mean() - score.value
            beats_chance = bool(gain > reach and _beyond(score.value, nulls, gain))
    null = float(nulls.mean()) if len(nulls) else None
    finished = replace(score, low=low, high=high, null=null, beats_chance=beats_chance, replicates=replicates)
    added = (*score_notes(metric, finished, group.spread_error), *dependence_note(metric, dependence))
    return replace(finished, notes=(*score.notes, *added))


def _beyond(value: float, nulls: FloatArray, gain: float) -> bool:
    """Tell whether a value lies outside the scatter of shuffles; of many, beyond every one of them is enough."""
    if len(nulls) < 3 or gain > _reach(nulls):
        return True
    return len(nulls) >= ENOUGH_NULLS and bool(np.all(nulls < value) or np.all(nulls > value))


def _replicates(group: Group, name: str) -> FloatArray:
    """Return replicates by index, drawn towards their mean until they scatter as the score of all rows does."""
    indices = range(group.source.n_replicates)
    drawn: FloatArray = np.array([group.replicates.get(index, {}).get(name, np.nan) for index in indices])
    middle = float(np.nanmean(drawn))
    return np.round(middle + group.scale * (drawn - middle), REPLICATE_DECIMALS)


def _reach(values: FloatArray) -> float:
    """How far a 95 % interval reaches to either side, by Student's t."""
    return float(student_quantile(0.5 + CONFIDENCE / 2, len(values) - 1) * values.std(ddof=1))


def _in_order(values: dict[int, dict[str, float]], name: str) -> FloatArray:
    """Return one metric's values by index, so that sums do not depend on who finished first."""
    return np.array([values[index][name] for index in sorted(values) if name in values[index]])


def _meta(rep: Representation, groups: list[Group], seed: int, seconds: float) -> dict[str, Any]:
    return {
        "layout": LAYOUT,
        "unbraid": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seed": seed,
        "n_samples": rep.n_samples,
        "rows_key": rep.rows_key,
        "source": rep.source,
        "n_codes": rep.n_codes,
        "n_factors": rep.n_factors,
        "code_names": list(rep.code_names),
        "factor_names": list(rep.factor_names),
        "factor_kinds": [str(factor.kind) for factor in rep.factors],
        "factor_levels": [len(factor.levels) or None for factor in rep.factors],
        "dead_codes": [name for name, active in zip(rep.code_names, rep.active, strict=True) if not active],
        "options": options_of(groups),
        "confidence": CONFIDENCE,
        "seconds": round(seconds, 3),
        "seconds_by_evidence": [[group.source.name, round(group.seconds, 3)] for group in groups],
    }
