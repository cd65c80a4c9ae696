"""Evaluation of a panel: tasks that gather evidence, and scores with intervals, nulls and notes."""

from __future__ import annotations

import platform
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import issparse
from threadpoolctl import threadpool_limits

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least
from unbraid._base.processes import WorkItem, can_fork, run_forked
from unbraid._base.progress import Progress, Show, track
from unbraid._base.text import duration, parse_time
from unbraid._base.workers import Once, Workers
from unbraid._version import __version__
from unbraid.evidence.dependence import FactorDependence, factor_dependence
from unbraid.evidence.information import Binning
from unbraid.interpret.chance import (
    CONFIDENCE,
    beyond,
    drawn_fit,
    extrapolated,
    half_width,
    score_notes,
    standing,
    step_beyond,
    step_beyond_fits,
)
from unbraid.interpret.dependence import dependence_note, dependence_notes, moves_much
from unbraid.interpret.diagnosis import diagnose
from unbraid.interpret.views import stills
from unbraid.metrics import METRICS
from unbraid.metrics.table.catalogue import attainable
from unbraid.metrics.table.layouts import layout_notes, rows_seen
from unbraid.panel.cost import check_panel, dearest_first, in_turn, panel_seconds, size_of, within_a_day, within_time
from unbraid.panel.plan import (
    EvidencePlan,
    added_for_dependence,
    choose_metrics,
    options_of,
    plain_options,
    plan_evidence,
    resolve_metrics,
    unsupported,
)
from unbraid.panel.steps import Listener, StepRole, StepTeller
from unbraid.representation.representation import CodesLayout, Representation, as_representation
from unbraid.representation.sparse import SparseRepresentation
from unbraid.representation.warnings import check_rows, representation_notes
from unbraid.results.evidence import Evidence, kept
from unbraid.results.note import Note, NoteKind, as_note
from unbraid.results.report import Report
from unbraid.results.score import Score
from unbraid.results.setup import Setup

REPLICATE_DECIMALS = 9
#: An evaluation that is expected to take longer, in seconds, says so beside its bar.
LONG = 20.0
#: An evaluation that is expected to take more CPU seconds runs in processes if it may: threads wait for Python's lock.
WORTH_PROCESSES = 3.0
POINT, REPLICATE, NULL, LIKE = range(4)
ROLES = (StepRole.POINT, StepRole.REPLICATE, StepRole.NULL, StepRole.REPLICATE)


def evaluate(
    codes: Any,
    factors: Any = None,
    *,
    names: Iterable[str] | None = None,
    kinds: Sequence[str | None] | Mapping[str, str] | None = None,
    code_names: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    blocks: Mapping[str, Any] | str | None = None,
    metrics: str | Iterable[str] = "default",
    seed: int = 0,
    n_jobs: int | None = None,
    n_bins: int = 20,
    binning: Binning = "robust",
    options: Mapping[str, Mapping[str, Any]] | None = None,
    intervals: bool = True,
    nulls: bool = True,
    memory: str | int | None = None,
    time: str | float | None = None,
    progress: Show = None,
    on_step: Listener | None = None,
    name: str = "a representation",
) -> Report:
    """Score a representation with many metrics at once.

    Metrics that need the same evidence share it. Every score gets a 95 % interval (counts and fits are
    repeated on random halves of the rows) and a null: what the same codes score once the factors are shuffled
    (for label-free metrics: once every code is shuffled on its own). A metric that fails leaves a
    reason and does not stop the others. Factors are tested for dependence; scores that it moves materially say so, and
    where it moves most of them, the default panel adds the scores that stay valid. ``findings`` say in sentences how
    the codes encode the factors, as far as the evidence shows it.

    Args:
        codes: ``(n_samples, n_codes)``, an array or a matrix of ``scipy.sparse``, which is never made dense; or a
            :class:`~unbraid.Representation`.
        factors: ``(n_samples, n_factors)``, or ``None`` for label-free metrics only.
        names: Factor names. This and the next four are as :class:`~unbraid.Representation` takes them, and left out
            where ``codes`` is one.
        kinds: Factor kinds: ``{"azimuth": "circular:360", "shape": "categorical"}``, or one for each factor.
        code_names: Code names.
        only: Names of the factors to score; the others are left out.
        blocks: Names for groups of codes: ``{"z_y": [0, 1], "z_d": slice(2, 4)}`` or ``"z_y=0-1,z_d=2-3"``. Where there
            are any, a panel scores them too.
        metrics: A panel, or names: ``"default"`` for what suits most inputs, ``"vae"``, ``"identifiability"``,
            ``"embeddings"``, ``"sparse"``, ``"single-cell"``, ``"all"``; a family name gives all its scores.
        seed: Same seed, same numbers, for any ``n_jobs``.
        n_jobs: Worker threads in all, also those inside one metric; by default as many as there are usable cores. On
            Linux, work of more than a few seconds is done in as many forked processes, which share the data.
        n_bins: Bins, for every metric that bins.
        binning: Binning method: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        options: Further options by metric or family name, as its function takes them.
        intervals: Whether to compute intervals.
        nulls: Whether to compute nulls.
        memory: Memory that it may take beside the input, such as ``"8G"``; by default what is available. It is
            estimated before any work, and changes no number.
        time: Time that it may take on the clock, such as ``"10m"`` or seconds. It is estimated before any work, within
            a factor of a few, and the dearest metrics are left out, with a note, until the others fit; none is added
            for dependent factors. Without it, a metric that should take longer than a day is not begun, and says so.
        progress: Show a progress bar on standard error, by default when that is a terminal; ``"lines"``: a line now and
            then.
        on_step: Called with every step that is done and the estimates that it gave, from one thread at a time.
        name: Name of the representation in the report.

    Returns:
        A :class:`~unbraid.Report`.

    Raises:
        ValueError: Bad input, an unknown metric or option, or less time than any metric takes.
        TooMuchMemoryError: It would take more memory than it may; a ValueError.
        TypeError: A file name in place of codes, or names and kinds beside a representation that has its own.

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 4, (200, 2))
        >>> report = evaluate(factors + 0.0, factors, metrics=["mig", "sap"])
        >>> report["mig"].low > 0.9 > report["mig"].null
        True
    """
    read = SparseRepresentation if issparse(codes) else as_representation
    rep = read(codes, factors, names=names, kinds=kinds, code_names=code_names, only=only, blocks=blocks)
    check_rows(rep)
    about_input = [as_note(note, NoteKind.INPUT) for note in representation_notes(rep, n_bins=n_bins)]
    check_at_least("seed", seed, 0)
    workers = Workers(n_jobs, torch_threads=1)
    chosen, notes = choose_metrics(metrics, rep)
    if not chosen:
        raise ValueError(
            "factors must be given where codes are sparse, as scores without factors need dense codes; give factors "
            "or a few codes as an array, as in codes[:, chosen].toarray()."
        )
    failures = {metric.name: reason for metric in chosen if (reason := unsupported(metric, rep))}
    shared = {"n_bins": n_bins, "binning": binning}
    possible = [metric for metric in chosen if metric.name not in failures]
    plans = plan_evidence(possible, shared, options or {}, rep)
    if time is not None:
        plans, too_long = within_time(
            size_of(rep), plans, parse_time(time), n_jobs=workers.n, intervals=intervals, nulls=nulls
        )
        notes = (*notes, *too_long)
        chosen = [
            metric for metric in chosen if metric.name in failures or any(metric.name in p.metrics for p in plans)
        ]
    else:
        plans, late = within_a_day(size_of(rep), plans, n_jobs=workers.n, intervals=intervals, nulls=nulls)
        failures |= late
    expected = panel_seconds(size_of(rep), plans, n_jobs=workers.n, intervals=intervals, nulls=nulls)
    doing = f"scoring {name}" + (f", about {duration(expected)}" if expected > LONG else "")
    check_panel(size_of(rep), plans, n_jobs=workers.n, refits=intervals or nulls, memory=memory)
    started = perf_counter()
    teller = None if on_step is None else StepTeller(on_step)
    tests = partial(factor_dependence, rep, np.random.default_rng([seed, zlib.crc32(b"dependence")]))

    def gather(
        plans: list[EvidencePlan], *first: Callable[[], Any], intervals: bool = intervals, nulls: bool = nulls
    ) -> tuple[list[Any], list[Gathered]]:
        seconds = panel_seconds(size_of(rep), plans, n_jobs=1, intervals=intervals, nulls=nulls)
        apart = seconds > WORTH_PROCESSES and workers.n > 1 and can_fork()
        ordered = plans if teller is not None else dearest_first(size_of(rep), plans)
        tasks = [(plan, task) for plan in ordered for task in _tasks(plan, rep, seed, intervals, nulls, workers)]
        if teller is not None:
            teller.start(len(first) + len(tasks), Counter(name for plan, _ in tasks for name in plan.metrics))
        elif not apart:
            tasks = in_turn(tasks)
        with threadpool_limits(1), track(len(first) + len(tasks), progress, doing=doing) as bar:
            outcomes = _run([*map(WorkItem, first), *(task for _, task in tasks)], workers, bar, teller, apart=apart)
        by_plan = list(zip((plan for plan, _ in tasks), outcomes[len(first) :], strict=True))
        return outcomes[: len(first)], [
            _gathered(plan, [outcome for owner, outcome in by_plan if owner is plan]) for plan in plans
        ]

    (dependence,), found = gather(plans, tests)
    methods = {name: one.plan.source.interval_method for one in found for name in one.point.scores} if intervals else {}
    may_add = metrics == "default" and time is None and rep.layout is CodesLayout.DENSE
    if may_add and moves_much((metric.name for metric in chosen), dependence):
        added, light = added_for_dependence(chosen, rep)
        found += gather(plan_evidence(added, shared, light, rep), intervals=False, nulls=False)[1]
        chosen = resolve_metrics([metric.name for metric in (*chosen, *added)])
        sentence = f"Added for dependent factors, without intervals: {', '.join(metric.name for metric in added)}."
        notes = (*notes, Note.of(NoteKind.DEPENDENT_FACTORS, sentence))
    seconds = perf_counter() - started
    for one in found:
        failures |= one.point.errors
    order = [metric.name for metric in chosen]
    scores = {name: _finish(one, name, rep, dependence) for name in order for one in found if name in one.point.scores}
    setup = _setup(name, rep, found, seed, seconds)
    report = Report(
        scores={name: _with_standing(name, score, setup) for name, score in scores.items()},
        failures={name: failures[name] for name in order if name in failures},
        interval_methods={name: methods[name] for name in scores if name in methods},
        notes=(
            *about_input,
            *(as_note(note, NoteKind.DEPENDENT_FACTORS) for note in dependence_notes(dependence, list(scores))),
            *(as_note(note, NoteKind.INPUT) for note in layout_notes(possible, rep)),
            *notes,
        ),
        evidence=tuple(record for one in found if (record := _record(one, scores)) is not None),
        dependence=dependence,
        setup=setup,
    )
    report = replace(report, findings=diagnose(report))
    return replace(report, stills=stills(rep, report)) if rep.layout is not CodesLayout.SPARSE else report


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draw:
    """One replicate or null of a kind of evidence: the score of each metric, or the reason why there is none."""

    scores: Mapping[str, Score]
    errors: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Point:
    """Evidence of all rows, gathered once.

    Attributes:
        evidence: What the report keeps of it; ``None`` where gathering failed, or it is too large to keep.
        scores: By metric.
        errors: For each metric without a score, the reason.
        seconds: Time of gathering and scoring.
        redrawn: Replicates drawn from the evidence, where its source draws them so.
    """

    evidence: Any
    scores: Mapping[str, Score]
    errors: Mapping[str, str]
    seconds: float = 0.0
    redrawn: tuple[Draw, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gathered:
    """All outcomes for one kind of evidence, replicates and nulls by index.

    Attributes:
        plan: What was to be gathered.
        point: Of all rows.
        replicates: Of parts of the rows, or drawn again.
        nulls: Of shuffled factors or codes.
        like: Of all rows with the lighter options of the replicates, where scores are extrapolated from these.
    """

    plan: EvidencePlan
    point: Point
    replicates: tuple[Draw, ...]
    nulls: tuple[Draw, ...]
    like: Draw | None = None

    def values(self, draws: Sequence[Draw], name: str) -> FloatArray:
        """Return the values that one metric has, in the order of the draws."""
        return np.array([draw.scores[name].value for draw in draws if name in draw.scores])

    def draw_error(self, name: str) -> str | None:
        """Return the reason of the first draw without a value of this metric."""
        draws = (*self.replicates, *self.nulls)
        return next((draw.errors[name] for draw in draws if name in draw.errors), None)


Outcome = Point | tuple[Draw, ...]
#: A role, and the point or the draws of that role.
PanelTask = WorkItem[tuple[int, Outcome]]


def _tasks(
    plan: EvidencePlan, rep: Representation, seed: int, intervals: bool, nulls: bool, workers: Workers
) -> list[PanelTask]:
    """Return the work for one kind of evidence, in pieces that do not depend on each other or on their order."""
    source = plan.source
    key = zlib.crc32(f"{source.name} {plain_options(plan.options)}".encode())

    def rng(role: int, index: int = 0) -> np.random.Generator:
        return np.random.default_rng([seed, key, role, index])

    def task(role: int, work: Callable[..., Outcome], *arguments: Any, shared: Once[Any] | None = None) -> PanelTask:
        return WorkItem(lambda: (role, work(plan, rep, *arguments)), shared)

    redraws = rng(REPLICATE) if intervals and source.redraw is not None else None

    def whole() -> Any:
        return _gather(plan, rep, rng(POINT), workers, light=False)

    # Only evidence that replicates follow outlives its scores: it may be as large as the codes.
    shared = Once(whole) if source.follows and intervals else None
    tasks = [task(POINT, _point, shared or whole, redraws, shared=shared)]
    if intervals and source.resample is not None:
        tasks.append(task(REPLICATE, _resample, rng(REPLICATE)))
    elif intervals and plan.refits:
        tasks += [
            task(REPLICATE, _replicate, rng(REPLICATE, index), workers, shared, shared=shared)
            for index in range(source.n_replicates)
        ]
        if source.extrapolates and _light(plan) != plan.options:
            tasks.append(task(LIKE, _like, rng(LIKE), workers, shared, shared=shared))
    if nulls:
        tasks += [task(NULL, _null, rng(NULL, index), workers) for index in range(source.n_nulls)]
    return tasks


def _run(
    tasks: Sequence[WorkItem[Any]], workers: Workers, bar: Progress, teller: StepTeller | None, *, apart: bool
) -> list[Any]:
    """Return what each task returns, in the order of the tasks, whichever finishes first.

    Tasks run in threads, or ``apart``, in processes.
    """

    def tell(outcome: Any) -> None:
        bar.advance()
        if teller is not None:
            teller.done(*_told(outcome))

    def run(task: WorkItem[Any]) -> Any:
        outcome = task.work()
        tell(outcome)
        return outcome

    return run_forked(tasks, workers, tell) if apart else workers.map(run, tasks)


def _told(outcome: Any) -> tuple[StepRole, Mapping[str, float], Mapping[str, str]]:
    """Return the role of a task, the mean estimate of each metric, and the reasons where there is none."""
    if not isinstance(outcome, tuple):
        return StepRole.DEPENDENCE, {}, {}
    role, found = outcome
    draws: Sequence[Draw | Point] = (found,) if isinstance(found, Point) else found
    values: dict[str, list[float]] = {}
    for draw in draws:
        for name, score in draw.scores.items():
            values.setdefault(name, []).append(score.value)
    means = {name: float(np.mean(found)) for name, found in values.items()}
    return ROLES[role], means, {name: reason for draw in draws for name, reason in draw.errors.items()}


def _gathered(plan: EvidencePlan, outcomes: Sequence[tuple[int, Outcome]]) -> Gathered:
    """Sort outcomes by role."""
    point = next(outcome for _, outcome in outcomes if isinstance(outcome, Point))

    def draws(wanted: int) -> tuple[Draw, ...]:
        found = [outcome for role, outcome in outcomes if role == wanted and not isinstance(outcome, Point)]
        return tuple(draw for drawn in found for draw in drawn)

    replicates = (*point.redrawn, *draws(REPLICATE))
    return Gathered(
        plan=plan, point=point, replicates=replicates, nulls=draws(NULL), like=next(iter(draws(LIKE)), None)
    )


def _gather(
    plan: EvidencePlan,
    rep: Representation,
    rng: np.random.Generator,
    workers: Workers,
    *,
    light: bool,
    like: Any = None,
) -> Any:
    """Gather evidence, with lighter options for replicates and nulls; the one place that calls the source."""
    return plan.source.evidence(rep, _light(plan) if light else plan.options, rng, workers, like)


def _light(plan: EvidencePlan) -> Any:
    """Options of replicates and nulls."""
    return plan.options if plan.source.lighten is None else plan.source.lighten(plan.options)


def _point(
    plan: EvidencePlan, rep: Representation, whole: Callable[[], Any], redraws: np.random.Generator | None
) -> Point:
    started = perf_counter()
    try:
        evidence = whole()
    except Exception as error:  # an error of one metric must not stop the others; its row gives the reason
        return Point(evidence=None, scores={}, errors=dict.fromkeys(plan.metrics, _reason(error)))
    scores, errors = _scores(plan, evidence)
    seconds = perf_counter() - started
    redraw, redrawn = plan.source.redraw, tuple[Draw, ...]()
    if redraws is not None and redraw is not None:
        redrawn = _draws(plan, lambda: redraw(evidence, n_resamples=plan.source.n_replicates, rng=redraws))
    return Point(evidence=kept(evidence), scores=scores, errors=errors, seconds=seconds, redrawn=redrawn)


def _resample(plan: EvidencePlan, rep: Representation, rng: np.random.Generator) -> tuple[Draw, ...]:
    resample = plan.source.resample
    assert resample is not None
    return _draws(plan, lambda: resample(rep, plan.options, n_resamples=plan.source.n_replicates, rng=rng))


def _replicate(
    plan: EvidencePlan, rep: Representation, rng: np.random.Generator, workers: Workers, whole: Once[Any] | None
) -> tuple[Draw, ...]:
    """Gather again on a random part of the rows, like the evidence of all rows where the source follows it."""
    n_rows = _replicate_rows(plan, rep)

    def again() -> list[Any]:
        part = rep.take(np.sort(rng.permutation(rep.n_samples)[:n_rows]))
        like = None if whole is None else whole()
        return [_gather(plan, part, rng, workers, light=True, like=like)]

    return _draws(plan, again)


def _like(
    plan: EvidencePlan, rep: Representation, rng: np.random.Generator, workers: Workers, whole: Once[Any] | None
) -> tuple[Draw, ...]:
    """Gather from all rows as replicates are gathered from parts of them."""
    return _draws(plan, lambda: [_gather(plan, rep, rng, workers, light=True, like=None if whole is None else whole())])


def _replicate_rows(plan: EvidencePlan, rep: Representation) -> int:
    half, limit = rep.n_samples // 2, plan.source.max_replicate_rows
    return half if limit is None else min(half, limit)


def _null(plan: EvidencePlan, rep: Representation, rng: np.random.Generator, workers: Workers) -> tuple[Draw, ...]:
    """Gather on shuffled factors, or shuffled codes for evidence without labels."""
    source = plan.source
    limit = min((limit for limit in (source.max_replicate_rows, source.max_null_rows) if limit), default=rep.n_samples)
    if rep.n_samples > limit:
        rep = rep.take(np.sort(rng.permutation(rep.n_samples)[:limit]))
    shuffled = rep.with_shuffled_codes(rng) if source.label_free else rep.with_shuffled_factors(rng)
    return _draws(plan, lambda: [_gather(plan, shuffled, rng, workers, light=True)])


def _draws(plan: EvidencePlan, gather: Callable[[], Iterable[Any]]) -> tuple[Draw, ...]:
    """Score each evidence gathered; a score without an interval is still a score, so a failure is kept as a reason."""
    draws = []
    try:
        for evidence in gather():
            scores, errors = _scores(plan, evidence)
            without_evidence = {name: replace(score, evidence={}) for name, score in scores.items()}
            draws.append(Draw(scores=without_evidence, errors=errors))
    except Exception as error:  # a note of each score gives the reason
        return (Draw(scores={}, errors=dict.fromkeys(plan.metrics, _reason(error))),)
    return tuple(draws)


def _scores(plan: EvidencePlan, evidence: Any) -> tuple[dict[str, Score], dict[str, str]]:
    """Score every metric of the evidence; the failure of one does not affect the others."""
    scores, errors = {}, {}
    for name, (metric, rest) in plan.metrics.items():
        try:
            scores[name] = metric.score(evidence, **rest)
        except Exception as error:  # the metric's row gives the reason
            errors[name] = _reason(error)
    return scores, errors


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _finish(found: Gathered, name: str, rep: Representation, dependence: FactorDependence | None) -> Score:
    """Add interval, null and notes to a point score."""
    (metric, given), score = found.plan.metrics[name], found.point.scores[name]
    values = found.values(found.replicates, name)
    nulls = found.values(found.nulls if metric.has_null else (), name)
    low = high = beats_chance = replicates = None
    if len(values) >= 3 and np.isfinite(values).all() and np.isfinite(score.value):
        scale = _spread_scale(found.plan, rep)
        width, middles = half_width(values) * scale, [score.value]
        # Replicates all alike are at an end of the range, and tell neither the spread of the score nor its bias.
        if is_at_end := bool(np.ptp(values) == 0 and values[0] != score.value):
            width = float(abs(score.value - values[0]))
        replicates = _replicates(found, name, scale)
        if len(nulls):
            # The chance level is a plain estimate too, so that the two plain estimates are compared.
            gain = score.value - nulls.mean() if metric.higher_is_better else nulls.mean() - score.value
            beats_chance = bool(gain > width and beyond(score.value, nulls, gain))
        source = found.plan.source
        draws = [draw.scores[name] for draw in found.replicates if name in draw.scores]
        drawn_again = found.plan.refits or source.resample is not None
        meant = metric.extrapolates and source.extrapolated_with(found.plan.options, given)
        like = None if found.like is None else found.like.scores.get(name)
        if meant and drawn_again and not is_at_end and _same_way(found.plan, rep):
            plain = score
            step = _step(found.plan, rep, scale)
            score = extrapolated(metric, plain, draws, step, like=like)
            middles = [score.value]
            if source.resample is not None:
                # Estimates of counts are nearly unbiased, and what is left may be chance in the resampled counts.
                middles.append(plain.value)
            for order in (source.slowest_bias_order, source.fastest_bias_order):
                if order is not None:
                    middles.append(extrapolated(metric, plain, draws, step_beyond(scale, order), like=like).value)
            error_of_mean = (step / scale) ** 2 / len(values)
            if metric.drawn_fit:
                wider = drawn_fit(step, scale, error_of_mean)
                width, replicates = wider * width, _replicates(found, name, wider * scale)
            # The mean over parts of the rows has an error of its own.
            width *= float(np.sqrt(1 + error_of_mean))
        elif source.covers_limit and found.plan.refits and not is_at_end:
            middles.append(extrapolated(metric, score, draws, step_beyond(scale, source.bias_order)).value)
        ends = min(middles) - width, max(middles) + width
        low, high = (float(np.clip(end, *metric.bounds)) for end in ends)
    null = float(np.clip(nulls.mean(), *metric.bounds)) if len(nulls) else None
    value = float(np.clip(score.value, *metric.bounds))
    finished = replace(
        score, value=value, low=low, high=high, null=null, beats_chance=beats_chance, replicates=replicates
    )
    misled = (as_note(note, NoteKind.DEPENDENT_FACTORS) for note in dependence_note(metric, dependence))
    added = (*score_notes(metric, finished, found.draw_error(name)), *misled)
    return replace(finished, notes=(*map(as_note, score.notes), *added))


def _with_standing(name: str, score: Score, setup: Setup) -> Score:
    """Add the place of the score between chance and the best that perfect codes attain."""
    metric = METRICS[name]
    return replace(score, standing=standing(metric, score, attainable(name, score.value, setup)))


def _spread_scale(plan: EvidencePlan, rep: Representation) -> float:
    """Return the ratio of the standard error of the score of all rows to the spread of replicates."""
    if not plan.refits:
        return 1.0
    n_rows = _replicate_rows(plan, rep)
    return float(np.sqrt(n_rows / (rows_seen(plan.source, rep) - n_rows)))


def _same_way(plan: EvidencePlan, rep: Representation) -> bool:
    """Whether parts of the rows are fitted in the way in which all rows are."""
    way = plan.source.way
    return way is None or way(rep.n_samples, rep.n_codes) == way(_replicate_rows(plan, rep), rep.n_codes)


def _step(plan: EvidencePlan, rep: Representation, scale: float) -> float:
    """Return how far to extrapolate beyond the score of all rows."""
    share = plan.source.fitted_share
    if share is None or not plan.refits:
        return step_beyond(scale, plan.source.bias_order)
    fitted = share * rows_seen(plan.source, rep), share * _replicate_rows(plan, rep)
    return step_beyond_fits(*fitted, int(rep.active.sum()))


def _replicates(found: Gathered, name: str, scale: float) -> FloatArray:
    """Return replicates by index, shrunk towards their mean to the standard error of the score of all rows."""
    drawn: FloatArray = np.array(
        [draw.scores[name].value if name in draw.scores else np.nan for draw in found.replicates]
    )
    middle = float(np.nanmean(drawn))
    return np.round(middle + scale * (drawn - middle), REPLICATE_DECIMALS)


def _record(found: Gathered, scores: Mapping[str, Score]) -> Evidence[Any] | None:
    """Return the evidence that the report keeps, where a score was computed from it."""
    data = found.point.evidence
    names = tuple(name for name in scores if name in found.point.scores)
    if data is None or not names:
        return None
    return Evidence(source=found.plan.source.name, options=plain_options(found.plan.options), scores=names, data=data)


def _setup(name: str, rep: Representation, found: list[Gathered], seed: int, seconds: float) -> Setup:
    return Setup(
        name=name,
        unbraid=__version__,
        numpy=np.__version__,
        python=platform.python_version(),
        seed=seed,
        n_samples=rep.n_rows_seen,
        rows_key=rep.rows_key,
        source=rep.source,
        code_names=tuple(rep.code_names),
        factor_names=tuple(rep.factor_names),
        factor_kinds=tuple(factor.kind for factor in rep.factors),
        factor_levels=tuple(len(factor.levels) or None for factor in rep.factors),
        dead_codes=tuple(name for name, active in zip(rep.code_names, rep.active, strict=True) if not active),
        options=options_of([one.plan for one in found]),
        confidence=CONFIDENCE,
        seconds=round(seconds, 3),
        blocks=dict(rep.blocks),
        seconds_by_evidence=tuple((one.plan.source.name, round(one.point.seconds, 3)) for one in found),
    )
