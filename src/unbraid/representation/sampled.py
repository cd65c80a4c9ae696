"""A sample of rows, with counts and sums of all rows of files that do not fit into memory."""

from __future__ import annotations

from typing import Any

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid._base.memo import Memo
from unbraid.representation.factor import Factor
from unbraid.representation.representation import CodesLayout, Representation


class SampledRepresentation(Representation):
    """Codes and factors of a sample of rows; evidence that merges is there for all rows.

    Args:
        codes: Of the sampled rows, checked.
        factors: Of the sampled rows, with the levels of all rows.
        code_names: Names of the codes.
        active: Which codes vary over all rows.
        n_all: Number of all rows.
        whole: Counts and sums of all rows.
    """

    __slots__ = ("n_all", "whole")

    n_all: int
    #: Counts and sums of all rows, as evidence reads them.
    whole: Any

    def __init__(
        self,
        codes: FloatArray,
        factors: tuple[Factor, ...],
        *,
        code_names: tuple[str, ...],
        active: BoolArray,
        n_all: int,
        whole: Any,
    ) -> None:
        self.codes, self.factors, self.code_names = codes, factors, code_names
        self.active, self.memo, self.notes, self.source, self.blocks = active, Memo(), (), "", {}
        self.n_all, self.whole = n_all, whole

    @property
    def layout(self) -> CodesLayout:
        """How the codes are stored."""
        return CodesLayout.STREAMED

    @property
    def n_rows_seen(self) -> int:
        """Number of rows behind evidence that was gathered from all of them."""
        return self.n_all
