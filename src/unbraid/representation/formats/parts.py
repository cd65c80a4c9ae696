"""Parts that a reader of a format finds: codes, columns of labels, names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.arrays import AnyArray, parsing_headers
from unbraid._base.checks import did_you_mean
from unbraid._base.memory import TooMuchMemoryError
from unbraid._base.text import listing

MOST_NAMES = 20
#: Sparse codes are made dense up to this size, where they are needed so.
MOST_DENSE_BYTES = 4 * 2**30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """Codes and labels, as they stand in a file.

    Attributes:
        codes: ``(n_samples, n_codes)``, an array or a matrix of ``scipy.sparse``.
        factors: A matrix of labels, columns of labels by name, or ``None`` where there are none.
        code_names: Where the file has them.
        notes: What a reader of the scores should know.
    """

    codes: Any
    factors: AnyArray | Mapping[str, Any] | None = None
    code_names: Sequence[str] | None = None
    notes: tuple[str, ...] = ()


def dense(matrix: Any, source: Path) -> AnyArray:
    """Return an array as it is, a matrix of ``scipy.sparse`` as an array; raise where it would not fit."""
    if isinstance(matrix, np.ndarray):
        return matrix
    size = matrix.shape[0] * matrix.shape[1] * matrix.dtype.itemsize
    if size > MOST_DENSE_BYTES:
        raise ValueError(
            f"path {str(source)!r} holds sparse codes of {matrix.shape[0]} rows and {matrix.shape[1]} codes, which "
            f"take {size / 2**30:.1f} GiB once zeros are written out, at most {MOST_DENSE_BYTES / 2**30:.0f} GiB; keep "
            "the codes that are active most often."
        )
    return np.asarray(matrix.toarray())


class UnreadableError(ValueError):
    """A file that cannot be read, with the reason in a sentence."""


def missing_key(argument: str, key: str, found: Sequence[str], source: Path, *, what: str) -> UnreadableError:
    """Return the error for a name that a file does not have, with the names it has."""
    there = listing(list(found), most=MOST_NAMES) or "none"
    return UnreadableError(
        f"{argument} {key!r} is not in {what} of {str(source)!r}, which has {there}{did_you_mean(key, found)}."
    )


@contextmanager
def readable(source: Path, kind: str) -> Iterator[None]:
    """Raise in one sentence why a file could not be read as its kind.

    Whatever is raised within is about the file: what libraries raise for damaged files is no part of their interface,
    and has been anything from a failed assertion to a number that does not fit.
    """
    try:
        with parsing_headers():
            yield
    except (UnreadableError, TooMuchMemoryError):
        raise
    except MemoryError as error:
        raise UnreadableError(f"path {str(source)!r} does not fit into memory; give fewer rows.") from error
    except Exception as error:
        lines = str(error).strip().splitlines()
        why = (lines[0] if lines else type(error).__name__).rstrip(".")
        raise UnreadableError(f"path {str(source)!r} is damaged or not {kind}: {why}.") from error


def stacked(column: pd.Series[Any], source: Path) -> AnyArray:
    """Return a column of lists of numbers as a matrix."""
    lengths = column.map(lambda value: len(value) if isinstance(value, list | tuple | np.ndarray) else -1)
    if (lengths < 0).any():
        row = int(np.flatnonzero(lengths.to_numpy() < 0)[0])
        raise ValueError(
            f"codes must be numbers, got no list in row {row} of column {column.name!r} of {str(source)!r}."
        )
    if lengths.nunique() > 1:
        raise ValueError(
            f"codes must have as many numbers in every row, got lists of {lengths.min()} to {lengths.max()} in column "
            f"{column.name!r} of {str(source)!r}."
        )
    return np.stack([np.asarray(value) for value in column])
