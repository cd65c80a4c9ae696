"""Codes and labelled factors, validated together."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from unbraid._base.checks import (
    active_codes,
    as_masked,
    check_active,
    check_matrix,
    check_values,
    column_ranges,
    did_you_mean,
    to_array,
    varies,
)
from unbraid._base.memo import Memo
from unbraid._base.text import listing
from unbraid.representation.blocks import Blocks, check_blocks
from unbraid.representation.factor import Factor, join_factors, make_factor

#: Memory of what is derived from codes and kept: bytes for each code of each row, and at least. It is enough for codes
#: in single precision and two tables of bins: wide codes are not kept in every form at once.
BYTES_A_CODE, LEAST_REMEMBERED = 6, 2**28


class CodesLayout(StrEnum):
    """How codes are stored, and so how evidence is gathered from them."""

    DENSE = "dense"
    SPARSE = "sparse"
    STREAMED = "streamed"


class Representation:
    """Codes of N observations, and their labelled factors.

    Args:
        codes: ``(n_samples, n_codes)``, real valued: NumPy, pandas, polars or torch.
        factors: ``(n_samples, n_factors)`` labels in any of those, a mapping from name to column, or
            a sequence of :class:`~unbraid.representation.factor.Factor`. NaN or a mask means "not labelled".
            ``None`` or no column leaves only the label-free metrics. Where codes and factors are pandas objects whose
            indices have the same labels in another order, rows are aligned by label.
        names: Factor names; taken from the frame or mapping when it has them.
        kinds: Factor kinds, as a sequence with ``None`` for "infer", or a mapping from name to kind.
            See :func:`~unbraid.representation.factor.make_factor` for the rule.
        code_names: Code names; taken from the frame when it has them.
        only: Names of the factors to keep, in this order; the others are not even looked at.
        blocks: Names for groups of codes, as ``{"z_y": [0, 1], "z_d": slice(2, 4)}``: columns by number, by name of
            code, as a slice, or all of it as text, ``"z_y=0-1,z_d=2-3"``. Blocks share no column; codes may be in none.

    Raises:
        ValueError: Codes or factors that no metric can use; the message names the column and the reason.

    Example:
        >>> import numpy as np
        >>> rep = Representation(np.eye(4)[:, :2], [["a", 0], ["a", 1], ["b", 0], ["b", 1]])
        >>> [factor.kind.value for factor in rep.factors]
        ['categorical', 'categorical']
    """

    __slots__ = ("active", "blocks", "code_names", "codes", "factors", "memo", "notes", "source")

    codes: FloatArray
    factors: tuple[Factor, ...]
    code_names: tuple[str, ...]
    active: BoolArray
    #: Columns of each block of codes, by name; empty where there are none.
    blocks: Blocks
    #: Cache of results derived from the codes alone; shared by copies with the same codes.
    memo: Memo
    #: Notes on how the input was read, such as rows put in another order.
    notes: tuple[str, ...]
    #: Python code that makes the same representation, with ``ub`` for the package; empty where not known.
    source: str

    def __init__(
        self,
        codes: Any,
        factors: Any = None,
        *,
        names: Iterable[str] | None = None,
        kinds: Sequence[str | None] | Mapping[str, str] | None = None,
        code_names: Iterable[str] | None = None,
        only: Iterable[str] | None = None,
        blocks: Mapping[str, Any] | str | None = None,
    ) -> None:
        self.codes = check_matrix(codes)
        self.code_names = _code_names(codes, code_names, self.n_codes)
        self.blocks = {} if blocks is None else check_blocks(blocks, self.code_names)
        ranges = column_ranges(self.codes)
        check_values(self.codes, self.code_names, ranges)
        self._label(codes, factors, names, kinds, only)
        self.active = check_active(varies(*ranges))
        self.memo = _memo(self.codes)
        self.source = ""

    def _label(
        self,
        codes: Any,
        factors: Any,
        names: Iterable[str] | None,
        kinds: Sequence[str | None] | Mapping[str, str] | None,
        only: Iterable[str] | None,
    ) -> None:
        """Check factors against codes whose shape is known, and keep them."""
        columns = _columns(factors)
        _check_rows((self.n_samples, self.n_codes), columns)
        columns, self.notes = _aligned(codes, columns)
        self.factors = _factors(columns, names, kinds, only)

    @property
    def layout(self) -> CodesLayout:
        """How the codes are stored, by which evidence is chosen."""
        return CodesLayout.DENSE

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return int(self.codes.shape[1])

    @property
    def n_factors(self) -> int:
        """Number of labelled factors."""
        return len(self.factors)

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Factor names, in order."""
        return tuple(factor.name for factor in self.factors)

    @property
    def rows_key(self) -> str | None:
        """Key that is equal for two representations with the same factors, row by row; ``None`` without factors."""
        if not self.factors:
            return None
        digest = hashlib.blake2b(digest_size=16)
        for factor in self.factors:
            digest.update(
                repr(
                    (
                        factor.name,
                        str(factor.kind),
                        None if factor.period is None else float(factor.period),
                        factor.levels,
                    )
                ).encode()
            )
            digest.update(np.where(factor.labelled, factor.numbers, np.nan).tobytes())
        return digest.hexdigest()

    @property
    def n_rows_seen(self) -> int:
        """Number of rows behind evidence that was gathered from all rows, of which these may be a sample."""
        return self.n_samples

    @property
    def n_stored(self) -> int:
        """Number of codes in memory, over all rows."""
        return self.n_samples * self.n_codes

    def code_spreads(self) -> FloatArray:
        """Largest less smallest value of each code, ``(n_codes,)``."""
        low, high = column_ranges(self.codes)
        return high - low

    def most_whole_numbers(self) -> int | None:
        """Most distinct values of a code where all codes are whole numbers; ``None`` where some are not."""
        if (self.codes != np.round(self.codes)).any():
            return None
        return max(len(np.unique(column)) for column in self.codes.T)

    def take(self, rows: IntArray) -> Representation:
        """Return the same codes and factors on some rows."""
        return self._with(self.codes[rows], tuple(factor.take(rows) for factor in self.factors))

    def with_shuffled_factors(self, rng: np.random.Generator) -> Representation:
        """Shuffle the rows of the factors together: codes and factors become independent, factors stay as dependent."""
        rows = rng.permutation(self.n_samples)
        return self._with(self.codes, tuple(factor.take(rows) for factor in self.factors))

    def with_shuffled_codes(self, rng: np.random.Generator) -> Representation:
        """Shuffle each code on its own, which makes the codes independent."""
        return self._with(rng.permuted(self.codes, axis=0), self.factors)

    def select_factors(self, names: Iterable[str]) -> Representation:
        """Keep only the named factors, in the order given."""
        by_name = {factor.name: factor for factor in self.factors}
        return self._with(self.codes, tuple(by_name[name] for name in _chosen(names, tuple(by_name))))

    def with_blocks(self, blocks: Mapping[str, Any] | str | None) -> Representation:
        """Return the same codes and factors with other blocks, or none."""
        other = self._with(self.codes, self.factors)
        other.blocks, other.source = check_blocks(blocks, self.code_names), self.source
        return other

    def with_factors_as_classes(self) -> Representation:
        """Return the same codes with every factor's values as classes, whatever its kind."""
        return self._with(self.codes, tuple(factor.as_classes() for factor in self.factors))

    def with_joined_factors(self, groups: Mapping[str, Iterable[str]]) -> Representation:
        """Replace groups of factors by one categorical factor each, whose values are the combinations of theirs.

        Metrics that hold a factor fixed then hold all factors of a group fixed at once.

        Args:
            groups: By name of the new factor, the names of two or more factors; ``{"position": ["x", "y"]}``. The new
                factor takes the place of the first of them.

        Raises:
            ValueError: A factor that is not there, in two groups, or continuous, a group of one, or a name in use.

        Example:
            >>> rep = Representation(np.eye(4), {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]})
            >>> rep.with_joined_factors({"position": ["x", "y"]}).factors[0].levels
            ('0, 0', '0, 1', '1, 0', '1, 1')
        """
        by_name = {factor.name: factor for factor in self.factors}
        chosen = {name: _chosen(members, tuple(by_name)) for name, members in groups.items()}
        joined = {name: join_factors(name, [by_name[one] for one in members]) for name, members in chosen.items()}
        place = {members[0]: name for name, members in chosen.items()}
        gone = [one for members in chosen.values() for one in members]
        names = [place.get(name, name) for name in by_name if name not in gone or name in place]
        if len(set(gone)) < len(gone) or len(set(names)) < len(names):
            raise ValueError(f"groups must name each factor once, and new factors by new names, got {dict(chosen)}.")
        other = self._with(self.codes, tuple(joined[name] if name in joined else by_name[name] for name in names))
        other.source = f"{self.source}.with_joined_factors({chosen!r})" if self.source else ""
        return other

    def with_codes(self, codes: FloatArray) -> Representation:
        """Return other codes of the same rows, as many as before, with the same factors."""
        if codes.shape != self.codes.shape:
            raise ValueError(f"codes must have the shape {self.codes.shape} of those they replace, got {codes.shape}.")
        return self._with(codes, self.factors)

    @staticmethod
    def of_checked(
        codes: FloatArray, factors: tuple[Factor, ...], *, code_names: tuple[str, ...], notes: tuple[str, ...] = ()
    ) -> Representation:
        """Build from codes and factors that were checked, such as some columns of a representation."""
        made = Representation.__new__(Representation)
        made.codes, made.factors, made.code_names, made.notes = codes, factors, code_names, notes
        made.active, made.memo, made.source, made.blocks = active_codes(codes), _memo(codes), "", {}
        return made

    def _with(self, codes: FloatArray, factors: tuple[Factor, ...]) -> Representation:
        """Build without checking again: rows and columns come from a checked representation."""
        other = Representation.__new__(Representation)
        other.codes, other.factors = codes, factors
        other.code_names, other.blocks = self.code_names, self.blocks
        kept = codes is self.codes
        other.active = self.active if kept else active_codes(codes)
        other.memo = self.memo if kept else _memo(codes)
        other.notes = self.notes
        other.source = ""
        return other

    def __repr__(self) -> str:
        factors = ", ".join(f"{factor.name} ({factor.kind})" for factor in self.factors)
        blocks = f"; blocks: {', '.join(self.blocks)}" if self.blocks else ""
        return f"Representation({self.n_samples} rows, {self.n_codes} codes; factors: {factors or 'none'}{blocks})"


def _memo(codes: AnyArray) -> Memo:
    return Memo(max(LEAST_REMEMBERED, BYTES_A_CODE * codes.size))


def as_representation(codes: Any, factors: Any = None, **given: Any) -> Representation:
    """Return a representation from the two leading arguments of every metric.

    Args:
        codes: An array, or a representation as it is.
        factors: Left out where ``codes`` is a representation.
        given: What else :class:`Representation` takes; ``None``, or left out where ``codes`` is one.
    """
    if not isinstance(codes, Representation):
        return Representation(codes, factors, **given)
    extra = [name for name, value in {"factors": factors, **given}.items() if value is not None]
    if extra:
        raise TypeError(
            f"{' and '.join(extra)} must be left out when codes is a Representation, which has its own; "
            "give them to Representation or load."
        )
    return codes


def as_labelled(codes: Any, factors: Any = None, *, metric: str, min_factors: int = 1, **given: Any) -> Representation:
    """Return a representation with enough factors for ``metric``; ``given`` as for :func:`as_representation`."""
    rep = as_representation(codes, factors, **given)
    check_n_factors(rep, metric=metric, min_factors=min_factors)
    return rep


def check_n_factors(rep: Representation, *, metric: str, min_factors: int) -> None:
    """Raise unless the definition of ``metric`` covers this many factors."""
    if rep.n_factors < min_factors:
        wanted = "two columns" if min_factors == 2 else "one column"
        how = "" if rep.factors else " ".join(["", *rep.notes])
        raise ValueError(f"factors must have at least {wanted} for {metric}, got {rep.n_factors}.{how}")


def _code_names(codes: Any, given: Iterable[str] | None, n_codes: int) -> tuple[str, ...]:
    if given is None and hasattr(codes, "columns"):
        given = [str(name) for name in codes.columns]
    if given is None:
        return tuple(f"code_{j}" for j in range(n_codes))
    names = tuple(str(name) for name in given)
    check_names("code_names", names, n_codes)
    return names


def _factors(
    columns: dict[str, Any],
    names: Iterable[str] | None,
    kinds: Sequence[str | None] | Mapping[str, str] | None,
    only: Iterable[str] | None,
) -> tuple[Factor, ...]:
    if columns and all(isinstance(column, Factor) for column in columns.values()):
        if names is not None or kinds is not None:
            raise TypeError("names and kinds must be left out when factors are Factor objects, which have their own.")
        return tuple(columns[name] for name in _chosen(only, tuple(columns)))
    labels = tuple(str(name) for name in (columns if names is None else names))
    check_names("names", labels, len(columns))
    by_name = dict(zip(labels, zip(columns.values(), _kinds(kinds, labels), strict=True), strict=True))
    chosen = ((name, *by_name[name]) for name in _chosen(only, labels))
    return tuple(make_factor(column, name=name, kind=kind) for name, column, kind in chosen)


def _chosen(wanted: Iterable[str] | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names wanted, all by default; raise on a name that is not there."""
    if wanted is None:
        return names
    if isinstance(wanted, str):
        raise TypeError(f"factors to keep must be a list of names, such as [{wanted!r}], got {wanted!r}.")
    chosen = tuple(wanted)
    for name in chosen:
        if name not in names:
            raise ValueError(f"factor {name!r} is not one of {', '.join(names)}{did_you_mean(name, names)}.")
    check_names("names", chosen, len(chosen))
    return chosen


def _check_rows(codes: tuple[int, ...], columns: dict[str, Any]) -> None:
    """Raise unless every column is as long as the codes, and both have samples as rows."""
    for column in columns.values():
        try:
            n_rows = len(column.numbers if isinstance(column, Factor) else column)
        except TypeError:  # not a column; make_factor raises the error
            continue
        check_same_rows(codes, (n_rows, len(columns)))


def check_same_rows(codes: tuple[int, ...], factors: tuple[int, ...]) -> None:
    """Raise where matrices of these shapes have rows of different number; other than two axes are told of later."""
    if len(codes) != 2 or len(factors) > 2:
        return
    factors = (*factors, 1)[:2]
    advice = _transposed(codes, factors)
    if advice:
        raise ValueError(
            f"codes and factors must have a row for each sample, got shapes {codes} and {factors}; {advice}."
        )
    if codes[0] != factors[0]:
        raise ValueError(f"codes and factors must have the same number of rows, got {codes[0]} and {factors[0]}.")


def _aligned(codes: Any, columns: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Put factors with an index into the order of the codes' index, and say so; raise where the labels do not tell how.

    An index that counts rows from 0 says nothing, so other labels beside it are taken by position, unless they are the
    same numbers in another order, which may mean either.
    """
    if not isinstance(codes, pd.DataFrame):
        return columns, ()
    moved = [
        name
        for name, column in columns.items()
        if isinstance(column, pd.Series) and _is_in_another_order(name, codes.index, column.index)
    ]
    if not moved:
        return columns, ()
    found = {name: column.reindex(codes.index) if name in moved else column for name, column in columns.items()}
    note = f"Rows of factors were put in the order of the codes, by the labels of their index: {listing(moved)}."
    return found, (note,)


def _is_in_another_order(name: str, codes: pd.Index[Any], factor: pd.Index[Any]) -> bool:
    if codes is factor or codes.equals(factor):
        return False
    counts = [_counts_rows(codes), _counts_rows(factor)]
    if all(counts):
        return False
    is_permuted = codes.is_unique and factor.is_unique and bool(codes.isin(factor).all())
    if is_permuted and not any(counts):
        return True
    if any(counts) and not is_permuted:
        return False
    trouble = (
        "has the row numbers of the codes in another order" if is_permuted else "has labels that differ from the codes'"
    )
    raise ValueError(
        f"the index of factor {name!r} {trouble}; match rows by label with factors.loc[codes.index], or by position "
        "with .reset_index(drop=True) on both."
    )


def _counts_rows(index: pd.Index[Any]) -> bool:
    """Tell whether an index is the one that pandas gives a table without labels: 0, 1, 2, ... in order."""
    return bool(index.equals(pd.RangeIndex(len(index))))


def _transposed(codes: tuple[int, ...], factors: tuple[int, ...]) -> str | None:
    """Return advice where shapes fit once transposed, or ``None``."""
    wide_codes, wide_factors = codes[1] > codes[0], factors[1] > factors[0]
    if wide_codes and wide_factors and codes[1] == factors[1]:
        return "both look transposed: give codes.T and factors.T"
    if wide_codes and codes[1] == factors[0]:
        return "the codes look transposed: give codes.T"
    if wide_factors and factors[1] == codes[0]:
        return "the factors look transposed: give factors.T"
    return None


def _columns(factors: Any) -> dict[str, Any]:
    """Return factor columns by name, from any accepted container."""
    if factors is None:
        return {}
    if isinstance(factors, str | os.PathLike):
        path = os.fspath(factors)
        raise TypeError(f"factors must be labels, got the path {path!r}; read it first, with numpy.load({path!r}).")
    if isinstance(factors, Mapping):
        return {str(name): column for name, column in factors.items()}
    if hasattr(factors, "columns"):
        names = tuple(str(name) for name in factors.columns)
        check_names("factor names", names, len(names))
        return {name: factors[column] for name, column in zip(names, factors.columns, strict=True)}
    if isinstance(factors, pd.Series):
        return {"factor_0" if factors.name is None else str(factors.name): factors}
    if isinstance(factors, list | tuple) and factors:
        if all(isinstance(item, Factor) for item in factors):
            check_names("factor names", tuple(item.name for item in factors), len(factors))
            return {item.name: item for item in factors}
        if np.ndim(factors[0]) == 1 and as_masked(factors) is None:
            factors = _rows(factors)
    array = to_array(factors)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"factors must have shape (n_samples, n_factors), got {array.shape}.")
    if array.dtype == object:
        return {f"factor_{k}": pd.Series(column).infer_objects() for k, column in enumerate(array.T)}
    # Each column is read several times, which is slow across rows.
    return {f"factor_{k}": column for k, column in enumerate(np.ascontiguousarray(array.T))}


def _rows(rows: Sequence[Any]) -> AnyArray:
    """Return rows that may mix text and numbers as objects; NumPy would turn both into text."""
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ValueError(f"factors must have rows of one length, got lengths {min(lengths)} to {max(lengths)}.")
    return pd.DataFrame(list(rows)).to_numpy()


def _kinds(kinds: Sequence[str | None] | Mapping[str, str] | None, names: tuple[str, ...]) -> Sequence[str | None]:
    if kinds is None:
        return [None] * len(names)
    if isinstance(kinds, str):
        raise TypeError(f"kinds must be one kind for each factor, or a mapping from name to kind, got {kinds!r}.")
    if isinstance(kinds, Mapping):
        for name in kinds:
            if name not in names:
                raise ValueError(f"kinds names factor {name!r}, which is not one of {', '.join(names)}.")
        return [kinds.get(name) for name in names]
    if len(kinds) != len(names):
        raise ValueError(f"kinds must have one entry for each of the {len(names)} factors, got {len(kinds)}.")
    return list(kinds)


def check_names(argument: str, names: tuple[str, ...], expected: int) -> None:
    """Raise unless there are as many names as expected, each once."""
    if len(names) != expected:
        raise ValueError(f"{argument} must have {expected} entries, got {len(names)}.")
    if len(set(names)) != len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ValueError(f"{argument} must differ from each other, got {twice!r} more than once.")
