"""Sources of evidence for codes that are not an array in memory: sparse codes, and blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unbraid._base.workers import Workers
from unbraid.evidence.concepts import ConceptOptions
from unbraid.evidence.information import InformationOptions
from unbraid.evidence.rows.whole import (
    resampled_whole_tables,
    whole_correlations,
    whole_covariance,
    whole_information_table,
)
from unbraid.evidence.sparse.association import sparse_correlations, sparse_predictability
from unbraid.evidence.sparse.choosing import among_all, choose_codes, rows_to_choose_on
from unbraid.evidence.sparse.concepts import sparse_class_association, sparse_codes_probes, sparse_single_codes
from unbraid.evidence.sparse.information import resampled_sparse_tables, sparse_information_table
from unbraid.evidence.sparse.linear import sparse_linear_fit, sparse_predictive_information, sparse_separation
from unbraid.metrics.table.memory import probed_bytes
from unbraid.metrics.table.metric import InputSize, Metric, Source
from unbraid.metrics.table.sources import (
    BOOSTING,
    CLASSES,
    CORRELATION,
    COVARIANCE,
    FEW_ROWS,
    FOREST,
    INFORMATION,
    LINEAR,
    LOSS_CAPACITY,
    MANY_ROWS,
    PREDICTABILITY,
    PREDICTIVE,
    REGRESSION,
    SEPARATION,
    SINGLE_CODES,
    SPARSE_PROBES,
    SUBSPACES,
)
from unbraid.probes.bins import MOST_EXACT
from unbraid.probes.wide import MOST_COLUMNS
from unbraid.representation.representation import CodesLayout, Representation
from unbraid.representation.sparse import SparseRepresentation

#: Bytes of a stored code while it is counted: place, bin, key of its cell, and copies of half of them.
STORED_BYTES = 60
#: Copies of a matrix of codes and factors: estimates of all rows, and entropies.
MATRICES = 8
#: Bytes of a row and of a code for each column of coefficients while classifiers are fitted.
PARTS, STEP_BYTES = 6, 100
#: Rows that chosen codes are fitted and tested on at most, and rows of their replicates.
MOST_ROWS, MOST_REPLICATE_ROWS = 20_000, 10_000
#: With more codes than this, replicates and chance are those of at most ``MANY_ROWS`` rows; chance is no lower then.
MANY_CODES = 2048


def _table_bytes(size: InputSize, options: InformationOptions) -> float:
    """Counts, and the estimates of every half in single precision."""
    return STORED_BYTES * size.n_values + (8 * MATRICES + 4 * INFORMATION.n_replicates) * size.n_codes * size.n_factors


def _matrix_bytes(size: InputSize, options: Any) -> float:
    """Sums over rows, for every code and factor, and over the rows of the levels of one factor."""
    return STORED_BYTES * size.n_values + 8 * size.n_codes * (MATRICES * size.n_factors + 4 * max(size.n_levels, 1))


def _probe_bytes(size: InputSize, options: Any) -> float:
    """Scaled codes, products of every two codes, steps and odds of columns that are fitted at once, and all scores."""
    scores = 8 * size.n_factors * size.n_rows * max(size.n_levels, 20)
    at_once = MOST_COLUMNS * (PARTS * size.n_rows + STEP_BYTES * size.n_codes)
    return 4 * STORED_BYTES * size.n_values + 32 * size.n_codes**2 + at_once + scores


def _concept_bytes(size: InputSize, options: ConceptOptions) -> float:
    """Ranks of the codes, sums of them for every code and value, and the written-out codes of some probes."""
    sums = 32 * size.n_codes * max(size.n_levels, options.n_bins)
    return STORED_BYTES * size.n_values + size.n_factors * sums + probed_bytes(size, options)


def _value_bytes(size: InputSize, options: InformationOptions) -> float:
    """Counts, and matrices of every code and value of all factors."""
    n_values = size.n_factors * max(size.n_levels, options.n_bins)
    return STORED_BYTES * size.n_values + 8 * MATRICES * size.n_codes * n_values


@dataclass(frozen=True, slots=True, kw_only=True)
class SparsePath:
    """How evidence is gathered from sparse codes.

    Attributes:
        source: For all codes.
        most_codes: With more codes than this, the evidence is of as many codes that were chosen; 0 for no limit.
        is_dense: Whether the codes, or the chosen ones, are written out for it.
    """

    source: Source
    most_codes: int = 0
    is_dense: bool = False

    def for_codes(self, n_codes: int) -> Source:
        """Return the source for so many codes."""
        gather = self.source.gather
        if self.is_dense:
            gather = _written_out(self.source.gather)
        if not self.chooses(n_codes):
            limit = MANY_ROWS if n_codes > MANY_CODES else self.source.max_replicate_rows
            return replace(self.source, gather=gather, max_replicate_rows=limit)
        return replace(
            self.source,
            gather=_of_chosen(gather, self.most_codes),
            memory=self._memory,
            # A part of the rows carries fewer codes, so that scores of parts tell nothing about the limit of many rows.
            extrapolates=False,
            follows=False,
            max_replicate_rows=min(self.source.max_replicate_rows or MANY_ROWS, MOST_REPLICATE_ROWS),
            max_null_rows=self.source.max_null_rows or 5 * FEW_ROWS,
        )

    def chooses(self, n_codes: int) -> bool:
        """Whether the evidence is of chosen codes only."""
        return 0 < self.most_codes < n_codes

    def _memory(self, size: InputSize, options: Any) -> float:
        share = 1.0 if self.is_dense else size.stored_share
        few = replace(size, n_codes=min(self.most_codes, size.n_codes), stored_share=share)
        return STORED_BYTES * size.n_values + self.source.memory(few, options)


def _written_out(gather: Callable[..., Any]) -> Callable[..., Any]:
    """Gather from the same codes with their zeros."""

    def of_dense(
        rep: SparseRepresentation, options: Any, rng: np.random.Generator, *workers: Workers, **named: Any
    ) -> Any:
        return gather(rep.dense(np.arange(rep.n_codes)), options, rng, *workers, **named)

    return of_dense


def _of_chosen(gather: Callable[..., Any], most: int) -> Callable[..., Any]:
    """Gather from the codes that matter, on the rows that had no part in choosing them."""

    def of_chosen(rep: SparseRepresentation, options: Any, rng: np.random.Generator, *workers: Workers) -> Any:
        chosen = choose_codes(rep, most, rng, most_rows=MOST_ROWS)
        return among_all(chosen, gather(chosen.rep, options, rng, *workers))

    return of_chosen


#: Refits, halves that are counted, and shuffles of wide codes; enough shuffles, all of which a score may exceed, stay.
FEW_REFITS, FEW_HALVES, FEW_NULLS, ENOUGH_NULLS = 5, 12, 3, 19
#: Most codes that trees, linear importances, subspaces and ladders of probes are fitted to, and linear probes.
MOST_TREES, MOST_WEIGHTS, MOST_AXES, MOST_PROBED = 128, 256, 64, 1024
#: By the name of the kind of evidence.
SPARSE = {
    path.source.name: path
    for path in (
        SparsePath(
            source=replace(
                INFORMATION, gather=sparse_information_table, resample=resampled_sparse_tables, memory=_table_bytes
            )
        ),
        SparsePath(source=replace(CORRELATION, gather=sparse_correlations, memory=_matrix_bytes)),
        SparsePath(source=replace(PREDICTABILITY, gather=sparse_predictability, memory=_matrix_bytes)),
        SparsePath(source=replace(SINGLE_CODES, gather=sparse_single_codes, memory=_concept_bytes)),
        SparsePath(source=replace(SPARSE_PROBES, gather=sparse_codes_probes, memory=_concept_bytes)),
        SparsePath(source=replace(CLASSES, gather=sparse_class_association, memory=_value_bytes)),
        SparsePath(source=replace(REGRESSION, gather=sparse_linear_fit, memory=_probe_bytes), most_codes=MOST_PROBED),
        SparsePath(source=replace(SEPARATION, gather=sparse_separation, memory=_probe_bytes), most_codes=MOST_PROBED),
        SparsePath(
            source=replace(PREDICTIVE, gather=sparse_predictive_information, memory=_probe_bytes),
            most_codes=MOST_PROBED,
        ),
        SparsePath(source=LINEAR, most_codes=MOST_WEIGHTS, is_dense=True),
        SparsePath(source=FOREST, most_codes=MOST_TREES, is_dense=True),
        SparsePath(source=BOOSTING, most_codes=MOST_TREES, is_dense=True),
        SparsePath(source=SUBSPACES, most_codes=MOST_AXES, is_dense=True),
        SparsePath(source=LOSS_CAPACITY, most_codes=MOST_AXES, is_dense=True),
    )
}


#: Evidence that is gathered from all rows of blocks, by the name of its kind; all other kinds are of the sample.
BLOCKS = {
    source.name: source
    for source in (
        replace(INFORMATION, gather=whole_information_table, resample=resampled_whole_tables),
        replace(CORRELATION, gather=whole_correlations),
        replace(COVARIANCE, gather=whole_covariance),
    )
}


def source_for(source: Source, rep: Representation) -> Source | None:
    """Return the source of the same evidence for the codes of a representation; ``None`` where there is none."""
    if rep.layout is CodesLayout.DENSE:
        return _for_width(source, rep.n_codes, most_rows=MANY_ROWS)
    if rep.layout is CodesLayout.STREAMED:
        return BLOCKS.get(source.name, source)
    path = SPARSE.get(source.name)
    return None if path is None else _for_width(path.for_codes(rep.n_codes), rep.n_codes)


def _for_width(source: Source, n_codes: int, *, most_rows: int | None = None) -> Source:
    """Return the source, of wide codes with fewer draws; Student's t makes up for few replicates.

    Args:
        source: For the codes of a representation.
        n_codes: Number of codes.
        most_rows: Rows of a draw of wide codes, at most.
    """
    if n_codes <= MOST_EXACT:
        return source
    few = FEW_HALVES if source.resample is not None else FEW_REFITS
    limits = [limit for limit in (source.max_replicate_rows, most_rows) if limit is not None]
    return replace(
        source,
        n_replicates=source.n_replicates if source.redraw is not None else min(source.n_replicates, few),
        n_nulls=source.n_nulls if source.n_nulls >= ENOUGH_NULLS else min(source.n_nulls, FEW_NULLS),
        max_replicate_rows=min(limits, default=None),
    )


def rows_seen(source: Source, rep: Representation) -> int:
    """Number of rows behind the evidence of a source."""
    return rep.n_rows_seen if source.name in BLOCKS else rep.n_samples


def no_path(metric: Metric) -> str:
    """Return why a metric has no score of sparse codes, and the cure."""
    return (
        f"{metric.name} is not computed from sparse codes; give the codes that matter as a dense array, as in "
        "codes[:, chosen].toarray()."
    )


def layout_notes(metrics: Sequence[Metric], rep: Representation) -> list[str]:
    """Return notes on scores that are of a part of the codes or rows."""
    if rep.layout is CodesLayout.STREAMED:
        return _row_notes(metrics, rep)
    if rep.layout is CodesLayout.DENSE:
        return []
    by_limit: dict[int, list[str]] = {}
    for metric in metrics:
        path = SPARSE.get(metric.source.name)
        if path is not None and path.chooses(rep.n_codes):
            by_limit.setdefault(path.most_codes, []).append(metric.name)
    n_choosing = rows_to_choose_on(rep.n_samples)
    n_fitted = min(rep.n_samples - n_choosing, MOST_ROWS)
    return [
        f"Of {rep.n_codes} codes, at most {limit} that matter were chosen on {n_choosing} rows and fitted to "
        f"{n_fitted} others, also for chance: {', '.join(names)}."
        for limit, names in sorted(by_limit.items())
    ]


def _row_notes(metrics: Sequence[Metric], rep: Representation) -> list[str]:
    of_all = [metric.name for metric in metrics if metric.source.name in BLOCKS]
    of_sample = [metric.name for metric in metrics if metric.source.name not in BLOCKS]
    notes = [f"All {rep.n_rows_seen} rows were counted for: {', '.join(of_all)}."] if of_all else []
    if rep.n_rows_seen > rep.n_samples:
        of_sample = [*of_sample, "chance levels", "the spread of replicates"]
        notes.append(f"A sample of {rep.n_samples} of {rep.n_rows_seen} rows was used for: {', '.join(of_sample)}.")
    return notes
