"""Sources of evidence for codes that are not an array in memory: sparse codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from unbraid.evidence.information import InformationOptions
from unbraid.evidence.sparse.association import sparse_correlations, sparse_predictability
from unbraid.evidence.sparse.information import resampled_sparse_tables, sparse_information_table
from unbraid.metrics.table.metric import InputSize, Metric, Source
from unbraid.metrics.table.sources import CORRELATION, INFORMATION, PREDICTABILITY
from unbraid.representation.representation import Layout

#: Bytes of a stored code while it is counted: place, bin, key of its cell, and copies of half of them.
STORED_BYTES = 60
#: Copies of a matrix of codes and factors: estimates of all rows, and entropies.
MATRICES = 8


def _table_bytes(size: InputSize, options: InformationOptions) -> float:
    """Counts, and the estimates of every half in single precision."""
    return STORED_BYTES * size.n_values + (8 * MATRICES + 4 * INFORMATION.n_replicates) * size.n_codes * size.n_factors


def _matrix_bytes(size: InputSize, options: Any) -> float:
    """Sums over rows, for every code and factor, and over the rows of the levels of one factor."""
    return STORED_BYTES * size.n_values + 8 * size.n_codes * (MATRICES * size.n_factors + 4 * max(size.n_levels, 1))


def _sparse(source: Source, gather: Callable[..., Any], memory: Callable[[InputSize, Any], float]) -> Source:
    return replace(source, gather=gather, memory=memory)


#: By the name of the kind of evidence.
SPARSE = {
    source.name: source
    for source in (
        replace(
            INFORMATION, gather=sparse_information_table, resample=resampled_sparse_tables, memory=_table_bytes
        ),
        _sparse(CORRELATION, sparse_correlations, _matrix_bytes),
        _sparse(PREDICTABILITY, sparse_predictability, _matrix_bytes),
    )
}


def source_for(source: Source, layout: Layout) -> Source | None:
    """Return the source of the same evidence for codes of a layout; ``None`` where there is none."""
    return SPARSE.get(source.name) if layout is Layout.SPARSE else source


def no_path(metric: Metric) -> str:
    """Return why a metric has no score of sparse codes, and the cure."""
    return (
        f"{metric.name} is not computed from sparse codes; give the codes that matter as a dense array, as in "
        "codes[:, chosen].toarray()."
    )
