"""Time and memory of an evaluation, estimated before any evidence is gathered, and the metrics that fit into limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from unbraid._base.memory import check_memory
from unbraid._base.text import count, duration, listing
from unbraid.metrics.table.metric import InputSize, Source
from unbraid.panel.plan import EvidencePlan
from unbraid.representation.representation import Representation
from unbraid.results.note import Note, NoteKind

Task = TypeVar("Task")

#: Sizes at which ``Source.once`` was measured.
ROWS, CODES, FACTORS = 10_000, 10, 5
#: Rows below which the time of a piece of evidence no longer falls with them.
FEWEST_ROWS = 500
#: Names of metrics in a note.
MOST_NAMES = 12
#: Copies of codes and factors that are made whatever the metrics: halves and shuffles of rows in flight.
COPIES = 2
#: Names of metrics in a refusal.
MOST_REFUSED = 3
#: Evidence that should take longer than this is not begun where no time is given.
A_DAY = 24 * 3600.0


def panel_seconds(
    size: InputSize, plans: Sequence[EvidencePlan], *, n_jobs: int, intervals: bool, nulls: bool
) -> float:
    """Estimate the time of an evaluation on the clock, right within a factor of a few.

    Args:
        size: Sizes of the representation.
        plans: Evidence to gather.
        n_jobs: Threads.
        intervals: Whether there are replicates.
        nulls: Whether there are nulls.
    """
    return sum(plan_seconds(size, plan, intervals=intervals, nulls=nulls) for plan in plans) / n_jobs


def plan_seconds(size: InputSize, plan: EvidencePlan, *, intervals: bool, nulls: bool) -> float:
    """Estimate the CPU seconds of one kind of evidence, with its replicates and nulls."""
    source = plan.source
    limit = source.max_replicate_rows or size.n_rows
    seconds = _once(source, size, size.n_rows)
    if intervals and source.redraw is None:
        seconds += _replicates(source, size)
    elif intervals:
        seconds *= 2
    if nulls:
        seconds += source.n_nulls * _once(source, size, min(size.n_rows, limit, source.max_null_rows or size.n_rows))
    return seconds


def dearest_first(size: InputSize, plans: Sequence[EvidencePlan]) -> list[EvidencePlan]:
    """Order plans by the expected time of their longest task, so that no thread is left with a long one at the end.

    Evidence that draws its replicates itself draws all of them in one task.
    """

    def longest(plan: EvidencePlan) -> float:
        once = _once(plan.source, size, size.n_rows)
        return once if plan.source.resample is None else max(once, _replicates(plan.source, size))

    return sorted(plans, key=longest, reverse=True)


def in_turn(tasks: Sequence[tuple[EvidencePlan, Task]]) -> list[tuple[EvidencePlan, Task]]:
    """Put tasks of compiled code and others in turn, each kind in its order: threads then wait less for each other.

    Of two tasks that are mostly Python, or small steps of NumPy, one waits while the other runs.
    """
    compiled, others = ([task for task in tasks if task[0].source.is_compiled is kind] for kind in (True, False))
    both = min(len(compiled), len(others))
    paired = [task for pair in zip(compiled, others, strict=False) for task in pair]
    return [*paired, *compiled[both:], *others[both:]]


def _replicates(source: Source, size: InputSize) -> float:
    """CPU seconds of all replicates."""
    half, limit = size.n_rows // 2, source.max_replicate_rows or size.n_rows
    return source.n_replicates * _once(source, size, min(half, limit))


def _once(source: Source, size: InputSize, n_rows: int) -> float:
    """CPU seconds of gathering once on so many rows."""
    base, power = source.once
    by_factor = 1.0 if source.label_free else size.n_factors / FACTORS
    return float(base * max(n_rows, FEWEST_ROWS) / ROWS * (size.n_codes / CODES) ** power * by_factor)


def within_a_day(
    size: InputSize, plans: Sequence[EvidencePlan], *, n_jobs: int, intervals: bool, nulls: bool
) -> tuple[list[EvidencePlan], dict[str, str]]:
    """Return the evidence that should take less than a day, and why the metrics of the other evidence are not begun."""
    kept, late = [], {}
    for plan in plans:
        seconds = plan_seconds(size, plan, intervals=intervals, nulls=nulls) / n_jobs
        if seconds <= A_DAY:
            kept.append(plan)
            continue
        for name in plan.metrics:
            late[name] = (
                f"{name} would take about {duration(seconds)} for {size.n_codes} codes and {size.n_rows} rows; give "
                "the codes that matter, as in codes[:, chosen], fewer rows, or as much time (--time, time=)."
            )
    return kept, late


def within_time(
    size: InputSize, plans: list[EvidencePlan], limit: float, *, n_jobs: int, intervals: bool, nulls: bool
) -> tuple[list[EvidencePlan], tuple[Note, ...]]:
    """Leave out the dearest evidence until the rest is expected to take no longer than a limit.

    Returns:
        The plans that are left, in their order, and a note on the metrics that are left out.

    Raises:
        ValueError: None would be left.
    """
    seconds = {id(plan): plan_seconds(size, plan, intervals=intervals, nulls=nulls) / n_jobs for plan in plans}
    total = sum(seconds.values())
    kept = sorted(plans, key=lambda plan: seconds[id(plan)])
    while kept and sum(seconds[id(plan)] for plan in kept) > limit:
        kept.pop()
    names = [name for plan in plans if plan not in kept for name in plan.metrics]
    if not names:
        return plans, ()
    if not kept:
        least = min(seconds.values())
        raise ValueError(
            f"time must allow for one kind of metric at least, which takes about {duration(max(1.0, least))}, "
            f"got {duration(limit)}; give more time, or fewer rows."
        )
    note = Note.of(
        NoteKind.LEFT_OUT,
        "Left out, as all metrics would take about {} and {} is given: {}.",
        duration(total),
        duration(limit),
        listing(names, most=MOST_NAMES),
    )
    return [plan for plan in plans if plan in kept], (note,)


def size_of(rep: Representation) -> InputSize:
    """Return the sizes of a representation."""
    levels = [len(factor.levels) for factor in rep.factors if not factor.is_numeric]
    return InputSize(
        n_rows=rep.n_samples,
        n_codes=rep.n_codes,
        n_factors=rep.n_factors,
        n_levels=max(levels, default=0),
        stored_share=rep.n_stored / (rep.n_samples * rep.n_codes),
    )


def panel_bytes(size: InputSize, plans: Sequence[EvidencePlan], *, n_jobs: int, refits: bool = True) -> float:
    """Estimate the peak memory of an evaluation, beside the input.

    Args:
        size: Sizes of the representation.
        plans: Evidence to gather.
        n_jobs: Pieces of evidence that are gathered at once; the largest, at worst.
        refits: Whether there are replicates or nulls, which gather the evidence again on fewer rows.
    """
    pieces = sorted((one for plan in plans for one in _pieces(size, plan, refits)), reverse=True)
    taken = size.of_rows(max((plan.source.max_replicate_rows or size.n_rows for plan in plans), default=size.n_rows))
    return COPIES * taken.n_bytes + sum(pieces[:n_jobs])


def check_panel(
    size: InputSize, plans: Sequence[EvidencePlan], *, n_jobs: int, refits: bool, memory: str | int | None
) -> None:
    """Raise where an evaluation would take more memory than it may.

    Raises:
        TooMuchMemoryError: With the metrics that take most.
    """
    if not plans:
        return
    needed = panel_bytes(size, plans, n_jobs=n_jobs, refits=refits)
    largest = max(plans, key=lambda plan: _pieces(size, plan, refits)[0])
    work = f"scoring {count(size.n_rows, 'row')} of {count(size.n_codes, 'code')}"
    cure = f"give fewer rows, fewer --jobs (n_jobs), or less of {listing(list(largest.metrics), most=MOST_REFUSED)}"
    check_memory(work, needed, memory, cure=cure)


def _pieces(size: InputSize, plan: EvidencePlan, refits: bool) -> list[float]:
    """Return the memory of the evidence of all rows, and of each time that it is gathered again."""
    source = plan.source
    whole = source.memory(size, plan.options)
    if not refits:
        return [whole]
    light = plan.options if source.lighten is None else source.lighten(plan.options)
    again = source.memory(size.of_rows(source.max_replicate_rows or size.n_rows), light)
    like = [source.memory(size, light)] if plan.refits and source.extrapolates and light != plan.options else []
    return [whole, *like, *[again] * (source.n_nulls + source.n_replicates * plan.refits)]
