"""Checks of arguments, with the nearest valid choice in the message."""

import difflib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray
from unbraid._base.text import listing

MIN_ROWS = 4
#: Larger codes overflow and smaller spreads underflow in fits; no score needs codes of such a size.
LARGEST_CODE, LEAST_SPREAD = 1e30, 1e-9
#: Differences of up to this share of the values are the rounding error of sums.
ROUNDING = 16 * float(np.finfo(np.float64).eps)
#: Numbers in a row from which a reduction over rows is fast; narrower matrices are read several rows at a time.
LONG_ROW = 512
#: Similarity of two file names without suffixes from which one is suggested for the other.
SAME_FILE = 0.7


def to_array(values: Any) -> AnyArray:
    """Return lists, NumPy arrays, pandas or polars frames and torch tensors as one NumPy array.

    What a mask hides is NaN, or None among whole numbers and text.
    """
    if (masked := as_masked(values)) is not None:
        return _unmasked(masked)
    if hasattr(values, "detach"):
        tensor = values.detach().cpu()
        return np.asarray(tensor.double() if tensor.is_floating_point() else tensor)
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    return np.asarray(values)


def as_masked(values: Any) -> np.ma.MaskedArray[Any, Any] | None:
    """Return masked values, or a list of masked rows, as one masked array; ``None`` where nothing is masked."""
    rows = values if isinstance(values, list | tuple) else [values]
    if not any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in rows):
        return None
    return np.ma.asarray(values)


def _unmasked(values: np.ma.MaskedArray[Any, Any]) -> AnyArray:
    if values.dtype.kind in "fb":
        return np.where(np.ma.getmaskarray(values), np.nan, values.data.astype(np.float64))
    found: AnyArray = values.data.astype(object)
    found[np.ma.getmaskarray(values)] = None
    return found


def check_codes(codes: Any) -> FloatArray:
    """Return ``codes`` as a finite float matrix, or raise with the reason."""
    floats = check_matrix(codes)
    check_values(floats, [f"code_{j}" for j in range(floats.shape[1])])
    return floats


def check_matrix(codes: Any) -> FloatArray:
    """Return ``codes`` as a float matrix, or raise with the reason."""
    if isinstance(codes, str | os.PathLike):
        path = os.fspath(codes)
        raise TypeError(f"codes must be numbers, got the path {path!r}; read it first, with unbraid.load({path!r}).")
    if hasattr(codes, "nnz") and hasattr(codes, "tocsr"):
        raise TypeError("codes must be a dense array here, got a sparse matrix; give it to unbraid.evaluate.")
    if (masked := as_masked(codes)) is not None:
        raise ValueError(
            f"codes must not be masked, got {np.ma.getmaskarray(masked).sum()} masked values of {masked.size}; drop "
            "their rows from codes and factors, as in codes[~codes.mask.any(axis=1)]."
        )
    try:
        array = to_array(codes)
    except ValueError as error:
        raise ValueError(f"codes must be a matrix of numbers: {error}") from error
    if array.ndim != 2:
        raise ValueError(f"codes must have shape (n_samples, n_codes), got {array.shape}.")
    check_shape(*array.shape)
    if np.iscomplexobj(array):
        raise ValueError(f"codes must be real numbers, got {array.dtype}; give real and imaginary parts as two codes.")
    try:
        # A NaN that signals, and a number of 128 bits beyond those of 64, are refused with other NaN and infinity.
        with np.errstate(invalid="ignore", over="ignore"):
            return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"codes must be numbers, got {array.dtype}: {error}.") from error


def check_shape(n_samples: int, n_codes: int) -> None:
    """Raise unless there are enough rows and codes for a score."""
    if n_samples < MIN_ROWS:
        raise ValueError(
            f"codes must have at least {MIN_ROWS} rows, got {n_samples}; "
            + (
                "rows are samples, and a score needs hundreds."
                if n_codes < MIN_ROWS
                else "rows are samples: are they transposed?"
            )
        )
    if n_codes < 2:
        raise ValueError(
            f"codes must have at least two columns, got {n_codes}; a single code cannot be entangled with another."
        )


def column_ranges(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of each column; NaN where a column has one.

    Example:
        >>> low, high = column_ranges(np.array([[1.0, 5.0], [3.0, 4.0]]))
        >>> low.tolist(), high.tolist()
        ([1.0, 4.0], [3.0, 5.0])
    """
    n_rows, width = matrix.shape
    together = LONG_ROW // max(width, 1)
    if together < 2 or n_rows < 2 * together or not matrix.flags.c_contiguous:
        return matrix.min(axis=0), matrix.max(axis=0)
    whole = n_rows - n_rows % together
    long = matrix[:whole].reshape(-1, together * width)
    rest = matrix[n_rows - together :]  # some rows twice, which changes no range
    low = np.minimum(long.min(axis=0).reshape(together, width).min(axis=0), rest.min(axis=0))
    high = np.maximum(long.max(axis=0).reshape(together, width).max(axis=0), rest.max(axis=0))
    return low, high


def check_values(codes: FloatArray, names: Sequence[str], ranges: tuple[FloatArray, FloatArray] | None = None) -> None:
    """Raise unless all codes are finite and of a size that can be computed with; ``ranges`` where they are known."""
    low, high = column_ranges(codes) if ranges is None else ranges
    finite = np.isfinite(low) & np.isfinite(high)
    if not finite.all():
        n_rows = int((~np.isfinite(codes)).any(axis=1).sum())
        raise ValueError(
            f"codes must be finite, got NaN or inf in {n_rows} of {len(codes)} rows, in "
            f"{_named(names, ~finite)}; drop those rows or codes."
        )
    sizes = np.maximum(-low, high)
    too_large = sizes > LARGEST_CODE
    if too_large.any():
        raise ValueError(
            f"codes must be at most {LARGEST_CODE:g} in size, got {sizes.max():.2g} in {_named(names, too_large)}; "
            "divide by a constant, which changes no score that compares codes with factors."
        )
    spread = high - low
    narrow = (spread > 0) & (spread < LEAST_SPREAD) & (spread > ROUNDING * sizes)
    if narrow.any() and not (spread >= LEAST_SPREAD).any():
        raise ValueError(
            f"codes must spread over at least {LEAST_SPREAD:g}, got {spread[narrow].max():.2g} at most in "
            f"{_named(names, narrow)}; multiply by a constant, which changes no score that compares codes with factors."
        )
    far = (spread <= LEAST_SPREAD * sizes) & (spread > ROUNDING * sizes)
    if far.any():
        raise ValueError(
            f"codes must spread over more than {LEAST_SPREAD:g} of their size, got {spread[far].max():.2g} around "
            f"{sizes[far].max():.2g} in {_named(names, far)}; subtract a constant from each code, such as its mean."
        )


def _named(names: Sequence[str], wanted: BoolArray) -> str:
    return listing([repr(name) for name, is_wanted in zip(names, wanted, strict=True) if is_wanted])


class CollapsedError(ValueError):
    """All codes are constant, so that nothing can be scored."""


def check_active(active: BoolArray) -> BoolArray:
    """Return which codes vary, or raise if none does."""
    if not active.any():
        raise CollapsedError(
            f"codes must vary, got {len(active)} constant columns; the model has collapsed, there is nothing to score."
        )
    return active


def active_codes(codes: FloatArray) -> BoolArray:
    """Return which columns vary by more than rounding error."""
    return varies(*column_ranges(codes))


def varies(low: FloatArray, high: FloatArray) -> BoolArray:
    """Return which columns of these ranges vary by more than rounding error."""
    active: BoolArray = high - low > 1e-9 * np.maximum(np.abs(low), np.abs(high))
    return active


def check_at_least(name: str, value: float, minimum: float) -> None:
    """Raise unless ``value`` is at least ``minimum``."""
    if not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if not value >= minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}.")


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Raise unless ``value`` is one of ``choices``, with the nearest choice as a suggestion."""
    allowed = list(choices)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}{did_you_mean(value, allowed)}.")


def did_you_mean(value: str, choices: Iterable[str]) -> str:
    """Return ``; did you mean 'x'`` for the nearest choice, to go on a sentence, or nothing if none is near.

    Small and capital letters count as the same.
    """
    by_lower = {str(choice).lower(): choice for choice in choices}
    close = difflib.get_close_matches(str(value).lower(), list(by_lower), n=1)
    return f"; did you mean {by_lower[close[0]]!r}" if close else ""


def did_you_mean_file(path: Path) -> str:
    """Return ``; did you mean 'x'`` for a file beside ``path`` whose name is near, or nothing.

    Suffixes count only among names that are near without: all files of one kind would look alike.
    """
    if not path.parent.is_dir():
        return ""
    files = [item for item in path.parent.iterdir() if item.is_file()]
    near = difflib.get_close_matches(path.stem.lower(), {item.stem.lower() for item in files}, cutoff=SAME_FILE)
    return did_you_mean(path.name, [item.name for item in files if item.stem.lower() in near])
