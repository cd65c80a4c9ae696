"""Codes that matter among many: chosen on one part of the rows, so that fits to the other rows are unbiased."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.evidence.information import InformationOptions
from unbraid.evidence.loss_capacity import LossCapacity
from unbraid.evidence.sparse.information import sparse_information_table
from unbraid.probes.importance import Importance
from unbraid.representation.sparse import SparseRepresentation

#: Share of the rows that codes are chosen on; they are not used again.
CHOOSING_SHARE = 0.3
#: Rows that a chosen code needs among those it is fitted to.
ROWS_A_CODE = 10
#: More rows would hardly choose others.
MOST_CHOOSING = 20_000
FEWEST_CODES = 8
#: Rows in which a code must be active, among those it is chosen on.
FEWEST_ACTIVE = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """Codes that matter, and the rows that had no part in choosing them.

    Attributes:
        rep: The chosen codes on the other rows, still sparse.
        columns: Which codes they are, in increasing order.
        n_codes: Number of all codes.
    """

    rep: SparseRepresentation
    columns: IntArray
    n_codes: int

    def placed(self, matrix: FloatArray) -> FloatArray:
        """Return rows of the chosen codes among those of all codes, which are 0."""
        full = np.zeros((self.n_codes, *matrix.shape[1:]))
        full[self.columns] = matrix
        return full


def choose_codes(
    rep: SparseRepresentation, most: int, rng: np.random.Generator, *, most_rows: int | None = None
) -> Chosen:
    """Choose the codes with most information about any factor, on a part of the rows.

    Each factor ranks the codes by their information; the codes of the best ranks are taken, as many as the other rows
    can carry and at most ``most``. Codes that are hardly ever active are left out: a fit to a few rows says nothing of
    other rows.

    Args:
        rep: Sparse codes and factors.
        most: Codes at most.
        rng: Chooses the rows.
        most_rows: Rows at most that had no part in choosing; all of them by default.
    """
    order = rng.permutation(rep.n_samples)
    n_choosing = rows_to_choose_on(rep.n_samples)
    rest = order[n_choosing:][:most_rows]
    n_codes = min(most, rep.n_codes, max(FEWEST_CODES, len(rest) // ROWS_A_CODE))
    part = rep.take(np.sort(order[:n_choosing]))
    gain = -sparse_information_table(part, InformationOptions(), rng).mutual_information
    ranks = np.argsort(np.argsort(gain, axis=0, kind="stable"), axis=0)
    is_rare = np.diff(part.by_column.indptr) < FEWEST_ACTIVE
    best = np.lexsort((gain.min(axis=1), ranks.min(axis=1), is_rare))
    columns = np.sort(best[: min(n_codes, max(2, int((~is_rare).sum())))])
    return Chosen(rep=rep.take(np.sort(rest)).select_codes(columns), columns=columns, n_codes=rep.n_codes)


def rows_to_choose_on(n_rows: int) -> int:
    """Number of the rows that codes are chosen on."""
    return min(round(CHOOSING_SHARE * n_rows), MOST_CHOOSING)


def among_all(chosen: Chosen, evidence: Any) -> Any:
    """Return importances of the chosen codes as those of all codes, of which the others have none.

    Evidence without importances stays as it is; subspaces are those of the space of the chosen codes.
    """
    if isinstance(evidence, Importance):
        return replace(evidence, matrix=chosen.placed(evidence.matrix))
    if isinstance(evidence, LossCapacity):
        found = evidence.importance
        return replace(
            evidence,
            importance=replace(found, values=chosen.placed(found.values), errors=chosen.placed(found.errors)),
            size=evidence.size * len(chosen.columns) / chosen.n_codes,
        )
    return evidence
