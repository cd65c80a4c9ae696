"""Reading and writing representations: .npz, .csv, .parquet, and pairs of .npy. Never pickle."""

import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._files import write_atomically
from unbraid._typing import AnyArray
from unbraid._validation import did_you_mean
from unbraid.representation import Representation

NPZ_KEYS = ("codes", "factors", "factor_names", "factor_kinds", "code_names")


def load(
    path: str | Path,
    factors: str | Path | None = None,
    *,
    code_columns: str = "code_*",
    factor_columns: str = "factor_*",
    kinds: Sequence[str | None] | Mapping[str, str] | None = None,
) -> Representation:
    """Read a representation from a file.

    Args:
        path: ``.npz`` with ``codes``, ``factors`` and optional ``factor_names``, ``factor_kinds``,
            ``code_names``; ``.csv`` or ``.parquet`` with one column for each code and factor; or ``.npy`` codes.
        factors: The second file when ``path`` is ``.npy``.
        code_columns: Shell pattern that picks the code columns of a table.
        factor_columns: Shell pattern that picks the factor columns of a table.
        kinds: Factor kinds, over those in the file.

    Raises:
        ValueError: The file is missing, damaged, or does not hold what it should.
    """
    source = Path(path)
    if not source.is_file():
        raise ValueError(f"path {str(source)!r} is not a file{_neighbour(source)}.")
    if source.stat().st_size == 0:
        raise ValueError(f"path {str(source)!r} is empty.")
    suffix = source.suffix.lower()
    if suffix == ".npz":
        return _from_npz(source, kinds)
    if suffix == ".npy":
        return _from_npy(source, factors, kinds)
    if suffix in (".csv", ".parquet"):
        frame = _read_table(source, suffix)
        return _from_frame(frame, source, code_columns, factor_columns, kinds)
    raise ValueError(f"path {str(source)!r} must end in .npz, .csv, .parquet or .npy, got {suffix!r}.")


def save(representation: Representation, path: str | Path) -> Path:
    """Write a representation as ``.npz``, ``.csv`` or ``.parquet``; all or nothing."""
    target = Path(path)
    writers: dict[str, Callable[[Representation, Any], object]] = {
        ".npz": _write_npz,
        ".csv": lambda rep, file: _to_frame(rep).to_csv(file, index=False),
        ".parquet": lambda rep, file: _to_frame(rep).to_parquet(file, index=False),
    }
    if target.suffix.lower() not in writers:
        raise ValueError(f"path {str(target)!r} must end in .npz, .csv or .parquet, got {target.suffix!r}.")
    return write_atomically(target, lambda file: writers[target.suffix.lower()](representation, file))


def _from_npz(source: Path, kinds: Any) -> Representation:
    with _open_numpy(source) as archive:
        if not isinstance(archive, np.lib.npyio.NpzFile) or "codes" not in archive.files:
            found = archive.files if isinstance(archive, np.lib.npyio.NpzFile) else ["one array"]
            raise ValueError(
                f"path {str(source)!r} must hold an array 'codes' (and 'factors'), "
                f"got {', '.join(sorted(found)) or 'nothing'}{did_you_mean('codes', found)}."
            )
        arrays = {key: archive[key] for key in NPZ_KEYS if key in archive.files}
    names, stored = arrays.get("factor_names"), arrays.get("factor_kinds")
    if kinds is None and stored is not None:
        kinds = [str(kind) or None for kind in stored]
    return Representation(
        arrays["codes"],
        _restore_numbers(arrays.get("factors")),
        names=None if names is None else [str(name) for name in names],
        kinds=kinds,
        code_names=arrays.get("code_names"),
    )


def _restore_numbers(factors: AnyArray | None) -> Any:
    """Give back numbers to the numeric columns of a text matrix, which is how mixed labels are stored."""
    if factors is None or factors.dtype.kind not in "US" or factors.ndim != 2:
        return factors
    columns: dict[str, Any] = {}
    for k, column in enumerate(factors.T):
        text = pd.Series(column.astype(str))
        numbers = pd.to_numeric(text.where(text != ""), errors="coerce")
        columns[f"factor_{k}"] = text if numbers.isna().sum() > ((text == "") | (text == "nan")).sum() else numbers
    return columns


def _from_npy(source: Path, factors: str | Path | None, kinds: Any) -> Representation:
    if factors is None:
        raise ValueError(f"factors must be given when codes come from {source.name!r}: a second .npy file.")
    labels = Path(factors)
    if not labels.is_file():
        raise ValueError(f"factors {str(labels)!r} is not a file{_neighbour(labels)}.")
    with _open_numpy(source) as codes, _open_numpy(labels) as columns:
        return Representation(codes, columns, kinds=kinds)


@contextmanager
def _open_numpy(source: Path) -> Iterator[Any]:
    """Open a NumPy file as data only: objects (pickles) are refused, damage is said in one sentence."""
    try:
        loaded = np.load(source, allow_pickle=False)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
        raise ValueError(f"path {str(source)!r} is damaged or not a NumPy file: {_first_line(error)}") from error
    try:
        yield loaded
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise ValueError(f"path {str(source)!r} is damaged: {_first_line(error)}") from error
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise ValueError(
                f"path {str(source)!r} holds Python objects, which are never loaded; save plain numbers or text."
            ) from error
        raise
    finally:
        if not isinstance(loaded, np.ndarray):
            loaded.close()


def _read_table(source: Path, suffix: str) -> pd.DataFrame:
    try:
        return pd.read_csv(source) if suffix == ".csv" else pd.read_parquet(source)
    except (ValueError, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"path {str(source)!r} cannot be read as {suffix}: {_first_line(error)}") from error


def _from_frame(
    frame: pd.DataFrame, source: Path, code_columns: str, factor_columns: str, kinds: Any
) -> Representation:
    columns = [str(name) for name in frame.columns]
    frame.columns = pd.Index(columns)
    codes = [name for name in columns if fnmatchcase(name, code_columns)]
    factors = [name for name in columns if fnmatchcase(name, factor_columns) and name not in codes]
    for argument, pattern, found in (
        ("code_columns", code_columns, codes),
        ("factor_columns", factor_columns, factors),
    ):
        if not found:
            raise ValueError(
                f"{argument} {pattern!r} matches no column of {str(source)!r}, which has {', '.join(columns)}; "
                "give a pattern that does."
            )
    bad = [name for name in codes if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    if bad:
        raise ValueError(f"codes must be numbers, got text in column {bad[0]!r} of {str(source)!r}.")
    prefix = factor_columns[:-1] if factor_columns.endswith("*") else ""
    labels = {name.removeprefix(prefix) or name: frame[name] for name in factors}
    return Representation(frame[codes], labels, kinds=kinds)


def _write_npz(representation: Representation, file: Any) -> None:
    numeric = all(factor.is_numeric for factor in representation.factors)
    arrays: dict[str, Any] = {"codes": representation.codes, "code_names": list(representation.code_names)}
    if representation.factors:
        columns = _factor_columns(representation)
        arrays["factors"] = np.stack(
            [
                column.to_numpy() if numeric else column.fillna("").astype(str).to_numpy(dtype=str)
                for column in columns.values()
            ],
            axis=1,
        )
        arrays["factor_names"] = list(columns)
        arrays["factor_kinds"] = [_kind_text(factor) for factor in representation.factors]
    np.savez_compressed(file, allow_pickle=False, **arrays)


def _to_frame(representation: Representation) -> pd.DataFrame:
    codes = {
        name if name.startswith("code_") else f"code_{name}": representation.codes[:, j]
        for j, name in enumerate(representation.code_names)
    }
    factors = {f"factor_{name}": column for name, column in _factor_columns(representation).items()}
    return pd.DataFrame({**codes, **factors})


def _factor_columns(representation: Representation) -> dict[str, Any]:
    """Return each factor as a user would have written it: numbers, or the text of its labels."""
    columns: dict[str, Any] = {}
    for factor in representation.factors:
        if factor.is_numeric:
            columns[factor.name] = pd.Series(factor.numbers)
        else:
            assert factor.labels is not None
            levels = np.array([*factor.levels, None], dtype=object)
            columns[factor.name] = pd.Series(levels[factor.labels], dtype=object)
    return columns


def _kind_text(factor: Any) -> str:
    return f"{factor.kind}:{factor.period!r}" if factor.period is not None else str(factor.kind)


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".") + "."


def _neighbour(path: Path) -> str:
    folder = path.parent if path.parent.is_dir() else None
    return did_you_mean(path.name, [item.name for item in folder.iterdir()]) if folder else ""
