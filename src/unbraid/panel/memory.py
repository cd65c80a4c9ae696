"""Memory of an evaluation, estimated before any evidence is gathered."""

from __future__ import annotations

from collections.abc import Sequence

from unbraid._base.memory import check_memory
from unbraid._base.text import count, listing
from unbraid.metrics.table.metric import InputSize
from unbraid.panel.plan import EvidencePlan
from unbraid.representation.representation import Representation

#: Copies of codes and factors that are made whatever the metrics: halves and shuffles of rows in flight.
COPIES = 2
#: Names of metrics in a refusal.
MOST_NAMES = 3


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
    return COPIES * size.n_bytes + sum(pieces[:n_jobs])


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
    cure = f"give fewer rows, fewer --jobs (n_jobs), or less of {listing(list(largest.metrics), most=MOST_NAMES)}"
    check_memory(work, needed, memory, cure=cure)


def _pieces(size: InputSize, plan: EvidencePlan, refits: bool) -> list[float]:
    """Return the memory of the evidence of all rows, and of each time that it is gathered again."""
    source = plan.source
    whole = source.memory(size, plan.options)
    if not refits:
        return [whole]
    light = plan.options if source.lighten is None else source.lighten(plan.options)
    again = source.memory(size.of_rows(source.max_replicate_rows or size.n_rows), light)
    return [whole, *[again] * (source.n_nulls + source.n_replicates * plan.refits)]
