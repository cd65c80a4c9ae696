"""Sparse codes and labelled factors: a representation whose zeros are not stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from unbraid._base.checks import LARGEST_CODE, MIN_ROWS, check_active
from unbraid._base.memo import Memo
from unbraid._base.memory import check_memory
from unbraid._base.text import listing
from unbraid.representation.blocks import check_blocks
from unbraid.representation.factor import Factor
from unbraid.representation.representation import CodesLayout, Representation, check_names

#: Cells of chosen columns that are made dense at most, and of all codes.
MOST_DENSE_CELLS, MOST_WRITTEN_OUT = 2**28, 2**22
#: Memory of sparse codes by rows and by columns: of a row, of a code with its name, and of a code that is stored.
BYTES_OF_ROW, BYTES_OF_CODE, BYTES_STORED = 32, 150, 50
#: Rows and codes that may be empty, and how many for each stored value: a small file may state any size.
MOST_EMPTY, MOST_EMPTY_SHARE = 2**20, 100
#: A code that varies by less than this share of its size is constant.
ROUNDING = 1e-9


class SparseRepresentation(Representation):
    """Codes of N observations most of which are 0, and their labelled factors.

    Evidence reads :attr:`by_column`, :attr:`by_row`, or a few columns by :meth:`dense`; the whole matrix is never
    filled with zeros.

    Args:
        codes: ``(n_samples, n_codes)``, any matrix or array of ``scipy.sparse``; it is not changed. float32 stays.
        factors: As for :class:`~unbraid.Representation`; so are the others.
        names: Factor names.
        kinds: Factor kinds.
        code_names: Code names.
        only: Names of the factors to keep.
        blocks: Names for groups of codes.

    Raises:
        ValueError: Codes or factors that no metric can use.

    Example:
        >>> import scipy.sparse
        >>> rep = SparseRepresentation(scipy.sparse.eye(4, 3, format="csr"), [[0], [1], [0], [1]])
        >>> rep.n_codes, rep.n_stored
        (3, 3)
    """

    __slots__ = ("by_row",)

    #: The codes by rows; values that are 0 are not stored, and columns are in order.
    by_row: Any

    def __init__(
        self,
        codes: Any,
        factors: Any = None,
        *,
        names: Iterable[str] | None = None,
        kinds: Sequence[str | None] | Mapping[str, str] | None = None,
        code_names: Iterable[str] | None = None,
        only: Iterable[str] | None = None,
        blocks: Any = None,
    ) -> None:
        self.by_row = _checked(codes)
        self.memo = Memo()
        self.code_names = _names(code_names, self.n_codes)
        self.blocks = check_blocks(blocks, self.code_names)
        _check_values(self.by_row, self.code_names)
        self._label(codes, factors, names, kinds, only)
        self.active = check_active(_active(self.by_column))
        self.source = ""

    def __getattr__(self, name: str) -> Any:
        """Write ``codes`` out where they are few, for what has no path for sparse codes; refuse where they are many."""
        if name != "codes":
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        if self.n_samples * self.n_codes > MOST_WRITTEN_OUT:
            raise ValueError(
                f"codes are sparse ({self.n_samples} rows, {self.n_codes} codes) and too many to be made dense; score "
                "them with unbraid.evaluate, or give a few of them, as in codes[:, chosen].toarray()."
            )
        return self.memo.once("codes", lambda: np.ascontiguousarray(self.by_row.toarray(), dtype=np.float64))

    @property
    def layout(self) -> CodesLayout:
        """How the codes are stored."""
        return CodesLayout.SPARSE

    @property
    def by_column(self) -> Any:
        """The codes by columns, rows in order."""
        return self.memo.once("by_column", self.by_row.tocsc)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.by_row.shape[0])

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return int(self.by_row.shape[1])

    @property
    def n_stored(self) -> int:
        """Number of codes that are not 0, over all rows."""
        return int(self.by_row.nnz)

    def code_spreads(self) -> FloatArray:
        """Largest less smallest value of each code, ``(n_codes,)``."""
        low, high = column_range(self.by_column)
        return np.asarray(high - low)

    def most_whole_numbers(self) -> int | None:
        """Most distinct values of a code where all codes are whole numbers; ``None`` where some are not."""
        values = self.by_row.data
        if (values != np.round(values)).any():
            return None
        return len(np.unique(values)) + 1  # an upper bound: that of all codes together

    def take(self, rows: IntArray) -> SparseRepresentation:
        """Return the same codes and factors on some rows."""
        return self._of(self.by_row[rows], tuple(factor.take(rows) for factor in self.factors))

    def with_shuffled_factors(self, rng: np.random.Generator) -> SparseRepresentation:
        """Shuffle the rows of the factors together."""
        rows = rng.permutation(self.n_samples)
        return self._of(self.by_row, tuple(factor.take(rows) for factor in self.factors))

    def with_shuffled_codes(self, rng: np.random.Generator) -> SparseRepresentation:
        """Raise: no score of sparse codes shuffles each code on its own."""
        raise ValueError("codes that are sparse are not shuffled one by one; give a few of them as a dense array.")

    def select_factors(self, names: Iterable[str]) -> SparseRepresentation:
        """Keep only the named factors, in the order given."""
        by_name = {factor.name: factor for factor in self.factors}
        return self._of(self.by_row, tuple(by_name[name] for name in names))

    def with_factors_as_classes(self) -> SparseRepresentation:
        """Return the same codes with every factor's values as classes, whatever its kind."""
        return self._of(self.by_row, tuple(factor.as_classes() for factor in self.factors))

    def with_factors(self, factors: tuple[Factor, ...]) -> SparseRepresentation:
        """Return the same codes with other factors of the same rows."""
        return self._of(self.by_row, factors)

    def select_codes(self, columns: IntArray) -> SparseRepresentation:
        """Return some of the codes, with all rows, without blocks."""
        other = self._of(self.by_column[:, columns].tocsr(), self.factors)
        other.code_names, other.blocks = tuple(self.code_names[j] for j in columns), {}
        return other

    def dense(self, columns: IntArray) -> Representation:
        """Return some codes with all rows as an ordinary representation.

        Raises:
            ValueError: The columns would not fit into memory.
        """
        if len(columns) * self.n_samples > MOST_DENSE_CELLS:
            raise ValueError(
                f"codes must be at most {MOST_DENSE_CELLS // self.n_samples} to be made dense for {self.n_samples} "
                f"rows, got {len(columns)}; choose fewer codes or rows."
            )
        codes = np.ascontiguousarray(self.by_column[:, columns].toarray(), dtype=np.float64)
        return Representation.of_checked(
            codes, self.factors, code_names=tuple(self.code_names[j] for j in columns), notes=self.notes
        )

    def _of(self, by_row: Any, factors: tuple[Factor, ...]) -> SparseRepresentation:
        """Build without checking again: rows come from a checked representation."""
        other = SparseRepresentation.__new__(SparseRepresentation)
        other.by_row, other.factors = by_row, factors
        other.code_names, other.blocks, other.notes, other.source = self.code_names, self.blocks, self.notes, ""
        kept = by_row is self.by_row
        other.memo = self.memo if kept else Memo()
        other.active = self.active if kept else _active(other.by_column)
        return other


def column_range(by_column: Any) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of every column, zeros that are not stored included, ``(n_codes,)`` each."""
    n_stored = np.diff(by_column.indptr)
    low, high = np.full(len(n_stored), np.inf), np.full(len(n_stored), -np.inf)
    filled = np.flatnonzero(n_stored)
    if len(filled):
        starts = by_column.indptr[filled]
        low[filled] = np.minimum.reduceat(by_column.data, starts)
        high[filled] = np.maximum.reduceat(by_column.data, starts)
    has_zero = n_stored < by_column.shape[0]
    return np.where(has_zero, np.minimum(low, 0.0), low), np.where(has_zero, np.maximum(high, 0.0), high)


def _active(by_column: Any) -> BoolArray:
    low, high = column_range(by_column)
    return np.asarray(high - low > ROUNDING * np.maximum(np.abs(low), np.abs(high)))


def check_filled(n_samples: int, n_codes: int, n_stored: int) -> None:
    """Raise where a matrix states many more rows or codes than it has values, as a damaged file does.

    Raises:
        ValueError: With how many it has.
    """
    if max(n_samples, n_codes) > max(MOST_EMPTY, MOST_EMPTY_SHARE * n_stored):
        raise ValueError(
            f"codes must not be 0 nearly everywhere, got {n_stored} stored values in {n_samples} rows of {n_codes} "
            "codes; drop rows and codes without any."
        )


def _checked(codes: Any) -> Any:
    """Return codes by rows, sorted, without zeros and duplicates, in float32 or float64; the argument is left alone."""
    if codes.ndim != 2:
        raise ValueError(f"codes must have shape (n_samples, n_codes), got {codes.shape}.")
    n_samples, n_codes = codes.shape
    if n_samples < MIN_ROWS:
        raise ValueError(
            f"codes must have at least {MIN_ROWS} rows, got {n_samples}; "
            + ("rows are samples: are they transposed?" if n_codes >= MIN_ROWS else "a score needs hundreds.")
        )
    if n_codes < 2:
        raise ValueError(
            f"codes must have at least two columns, got {n_codes}; a single code cannot be entangled with another."
        )
    if codes.dtype.kind not in "fiub":
        raise ValueError(f"codes must be real numbers, got {codes.dtype}.")
    check_filled(n_samples, n_codes, codes.nnz)
    needed = BYTES_OF_ROW * n_samples + BYTES_OF_CODE * n_codes + BYTES_STORED * codes.nnz
    check_memory(f"reading {n_samples} rows of {n_codes} sparse codes", needed, None, cure="give fewer of them")
    _check_ends(codes)
    dtype = np.float32 if codes.dtype in (np.float16, np.float32, np.bool_) else np.float64
    by_row = scipy.sparse.csr_matrix(codes, dtype=dtype)
    if any(np.shares_memory(by_row.data, part) for part in _arrays(codes)):
        by_row = by_row.copy()
    _check_places(by_row)
    by_row.sum_duplicates()
    by_row.eliminate_zeros()
    return by_row


def _arrays(codes: Any) -> list[AnyArray]:
    """The arrays of numbers of a sparse matrix that a conversion may share."""
    return [codes.data] if isinstance(getattr(codes, "data", None), np.ndarray) else []


def _check_ends(codes: Any) -> None:
    """Raise where rows do not end one after the other: SciPy, which trusts that they do, would write elsewhere."""
    ends = getattr(codes, "indptr", None)
    if ends is not None and (ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] > len(codes.indices)):
        raise ValueError(
            f"codes must have stored values one after the other, got ends from {ends.min()} to {ends.max()} of "
            f"{len(codes.indices)} values; the matrix is damaged."
        )


def _check_places(by_row: Any) -> None:
    """Raise where a place lies outside the matrix, as in one put together from arrays of a damaged file."""
    places, n_codes = by_row.indices, by_row.shape[1]
    if len(places) and not 0 <= places.min() <= places.max() < n_codes:
        wrong = int(places.min() if places.min() < 0 else places.max())
        raise ValueError(f"codes must have places from 0 to {n_codes - 1}, got {wrong}; the matrix is damaged.")


def _check_values(by_row: Any, names: Sequence[str]) -> None:
    values = by_row.data
    finite = np.isfinite(values)
    if not finite.all():
        wrong = [repr(names[j]) for j in np.unique(by_row.indices[~finite])]
        n_rows = len(np.unique(np.searchsorted(by_row.indptr, np.flatnonzero(~finite), side="right")))
        raise ValueError(
            f"codes must be finite, got NaN or inf in {n_rows} of {by_row.shape[0]} rows, in {listing(wrong)}; drop "
            "those rows or codes."
        )
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST_CODE:
        raise ValueError(
            f"codes must be at most {LARGEST_CODE:g} in size, got {largest:.2g}; divide by a constant, which changes "
            "no score that compares codes with factors."
        )


def _names(given: Iterable[str] | None, n_codes: int) -> tuple[str, ...]:
    if given is None:
        return tuple(f"code_{j}" for j in range(n_codes))
    names = tuple(str(name) for name in given)
    check_names("code_names", names, n_codes)
    return names
