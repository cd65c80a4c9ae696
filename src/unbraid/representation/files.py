"""Representations read from files of every kind, and written to .npz, .npy, .csv and .parquet."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from unbraid._base.arrays import UNREADABLE, AnyArray, parsing_headers
from unbraid._base.checks import did_you_mean, did_you_mean_file
from unbraid._base.files import write_atomically
from unbraid._base.memory import check_memory
from unbraid._base.text import listing
from unbraid.representation.blocks import blocks_from_json, blocks_to_json
from unbraid.representation.formats.anndata import OBS, has_anndata, read_anndata
from unbraid.representation.formats.headers import NPZ_KEYS, TEXT_TABLES, file_bytes, npy_header
from unbraid.representation.formats.parts import Parts, dense, stacked
from unbraid.representation.formats.shards import SHARDS, TABLES, read_shards, shard_files
from unbraid.representation.formats.tensors import (
    SPARSE_KEYS,
    read_safetensors,
    read_safetensors_shards,
    read_sparse_npz,
    read_torch,
    read_zarr,
)
from unbraid.representation.representation import Representation, check_same_rows
from unbraid.representation.sparse import SparseRepresentation
from unbraid.representation.tables import exact_numbers, first_line, kinds_of, labels_of

PREFIX = "factor_"
MOST_NAMES = 20


def pick_columns(
    frame: pd.DataFrame, source: Path, *, codes: str | Sequence[str], factors: str | Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the names of the code columns and of the factor columns, none where ``factors`` is ``None``.

    Args:
        frame: The table.
        source: Where it came from, for messages.
        codes: Names and shell patterns, separated by commas or as a sequence. What they match in common with
            ``factors`` is a code, unless it is a factor by name and a code by a pattern only.
        factors: The same, for the factors.

    Raises:
        ValueError: A name or pattern matches nothing.
    """
    names = list(frame.columns)
    wanted = _parts(codes, names)
    labels = [] if factors is None else _parts(factors, names)
    taken = [name for name in labels if name in names and name not in wanted]
    found = _matches(wanted, [name for name in names if name not in taken], names, source, "code_columns")
    left = [name for name in names if name not in found]
    return found, _matches(labels, left, names, source, "factor_columns")


def short_names(columns: Sequence[str]) -> list[str]:
    """Return column names without the prefix ``factor_``, or as they are where two would become one."""
    short = [name.removeprefix(PREFIX) or name for name in columns]
    return short if len(set(short)) == len(short) else list(columns)


def _parts(wanted: str | Sequence[str], names: Sequence[str]) -> list[str]:
    """Split a list at its commas; a column name that contains a comma is matched as a whole."""
    if not isinstance(wanted, str):
        return [str(part) for part in wanted]
    return [wanted] if wanted in names else [part.strip() for part in wanted.split(",")]


def _matches(parts: Sequence[str], left: Sequence[str], names: Sequence[str], source: Path, argument: str) -> list[str]:
    found: dict[str, None] = {}
    for part in parts:
        matched = [part] if part in left else [name for name in left if fnmatchcase(name, part)]
        if not matched:
            raise ValueError(_no_match(part, left, names, source, argument))
        found.update(dict.fromkeys(matched))
    return list(found)


def _no_match(part: str, left: Sequence[str], names: Sequence[str], source: Path, argument: str) -> str:
    if source.suffix.lower() in TEXT_TABLES and _are_numbers(names):
        return (
            f"path {str(source)!r} seems to have no header, as its first line holds {listing(names, most=3)}; "
            "put a line of column names above it, such as code_0,code_1,factor_size."
        )
    taken = [name for name in names if name not in left and fnmatchcase(name, part)]
    if taken and left:
        taken_as, by = ("codes", "code_columns") if argument == "factor_columns" else ("factors", "factor_columns")
        return (
            f"{argument} {part!r} matches only columns of {str(source)!r} taken as {taken_as} already, by {by}: "
            f"{listing(taken, most=3)}; name each column in one of the two."
        )
    return (
        f"{argument} {part!r} matches no column of {str(source)!r}, which has {listing(names, most=MOST_NAMES)}"
        f"{did_you_mean(part, left)}; {_cure(argument, left)}."
    )


def _cure(argument: str, left: Sequence[str]) -> str:
    if not left:
        return "all of them are codes: add columns of labels, or give labels as .npy with --factors"
    example = ",".join(left[:2] if argument == "code_columns" else left[-1:])
    option = argument.replace("_", "-")
    return f"name those to take, as in --{option} {example} in the shell or {argument}={example!r} in Python"


def _are_numbers(names: Sequence[str]) -> bool:
    """Return whether most names are numbers, except 0, 1, 2, ..., which pandas writes for a table without names."""
    if list(names) == [str(k) for k in range(len(names))]:
        return False
    numbers = pd.to_numeric(
        pd.Series(names, dtype=object).str.replace(r"(\.\d+)\.\d+$", r"\1", regex=True), errors="coerce"
    )
    return bool(numbers.notna().mean() > 0.5)


CODE_COLUMNS, FACTOR_COLUMNS = "code_*", f"{PREFIX}*"
#: Files that may hold several arrays, one of which is the codes.
NAMED_ARRAYS = (".h5ad", ".safetensors", ".pt", ".zarr")
#: Files that hold others in fewer bytes.
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar")
#: Labels from a file of their own: a matrix, or columns by name.
Labels = AnyArray | dict[str, Any]
#: The last character of Unicode; those between 0xD800 and 0xDFFF are halves of others.
LAST_LETTER = 0x10FFFF


def load(
    path: str | Path,
    factors: str | Path | None = None,
    *,
    codes: str | None = None,
    code_columns: str | Sequence[str] = CODE_COLUMNS,
    factor_columns: str | Sequence[str] = FACTOR_COLUMNS,
    kinds: Sequence[str | None] | Mapping[str, str] | None = None,
    only: Iterable[str] | None = None,
    blocks: Mapping[str, Any] | str | None = None,
    memory: str | int | None = None,
) -> Representation:
    """Read a representation from a file; its ``source`` records the call.

    Args:
        path: ``.npz`` with ``codes``, ``factors`` and optional ``factor_names``, ``factor_kinds``, ``code_names`` and
            ``blocks`` (text: JSON of columns by name of block);
            ``.csv``, ``.parquet`` or ``.arrow`` with one column for each code and factor, or one of lists; a pattern or
            folder of such tables, or of ``.safetensors``; ``.h5ad``; ``.safetensors``, ``.pt`` or ``.zarr`` with
            ``codes`` and ``factors``; ``.npz`` of ``scipy.sparse``; or ``.npy`` codes. Sparse codes stay sparse.
        factors: Labels as ``.npy``, ``.csv`` or ``.parquet``: where ``path`` has none, or in place of those in it. For
            AnnData, ``"obs:NAME,NAME"``.
        codes: Which array of the file holds the codes, where it has several: ``"X"``, ``"obsm:KEY"``, ``"layers:KEY"``
            or ``"raw:X"`` of AnnData, the name of a tensor.
        code_columns: Which columns of a table are codes: names and shell patterns, separated by commas or as a list.
        factor_columns: Which are factors. A column that is named outright goes where it is named, one that matches
            both is a code. The prefix ``factor_`` is taken off the names.
        kinds: Factor kinds, over those in the file.
        only: Names of the factors to keep; the others may be anything, such as constant.
        blocks: Blocks of codes as :class:`Representation` takes them, in place of those in the file.
        memory: Memory that reading may take, such as ``"8G"``; by default what is available. It is estimated from
            headers before anything is read.

    Raises:
        TooMuchMemoryError: Reading would take more; a ValueError.
        ValueError: The file is missing, damaged, or lacks the arrays or columns it needs.
    """
    kept = only if only is None or isinstance(only, str) else list(only)
    read = [*(shard_files(path) or [Path(path)]), *([] if factors is None else [Path(factors)])]
    needed = sum(file_bytes(file, codes) for file in read)
    check_memory(f"reading {str(path)!r}", needed, memory, cure="give fewer rows or columns")
    rep = _read(Path(path), factors, codes, code_columns, factor_columns, kinds, kept)
    if blocks is not None:
        rep = rep.with_blocks(blocks)
    given = {"factors": factors, "codes": codes, "code_columns": code_columns, "factor_columns": factor_columns}
    rep.source = _call(path, **given, kinds=kinds, only=kept, blocks=blocks)
    return rep


def load_codes(path: str | Path, *, code_columns: str | Sequence[str] = CODE_COLUMNS) -> Representation:
    """Read the codes of a file, whatever labels are beside them.

    Args:
        path: ``.npz`` with ``codes``, ``.npy``, or ``.csv`` or ``.parquet`` with one column for each code.
        code_columns: Which columns of a table are codes: names and shell patterns, separated by commas or as a list.

    Raises:
        ValueError: The file is missing, damaged, or has no codes.
    """
    source = Path(path)
    shards = shard_files(path)
    needed = sum(file_bytes(file) for file in shards or [source])
    check_memory(f"reading {str(path)!r}", needed, None, cure="give fewer rows or columns")
    suffix = shards[0].suffix.lower() if shards else _checked_suffix(source)
    if suffix == ".npz" and not _is_sparse(source):
        arrays, found = npz_arrays(source, ("codes", "code_names", "blocks"))
        names = _texts(arrays.get("code_names"))
        return Representation(_codes_of(arrays, found, source), code_names=names, blocks=_blocks(arrays))
    if suffix == ".npy":
        return Representation(read_npy(source))
    if suffix not in TABLES:
        parts = read_safetensors_shards(shards) if shards else _foreign(source, suffix, None, None)
        return Representation(dense(parts.codes, source), code_names=parts.code_names)
    frame = read_shards(shards or [source])
    codes, names = _numeric(frame, pick_columns(frame, source, codes=code_columns, factors=None)[0], source)
    return Representation(codes, code_names=names)


def _read(
    source: Path,
    factors: str | Path | None,
    codes: str | None,
    code_columns: str | Sequence[str],
    factor_columns: str | Sequence[str],
    kinds: Any,
    only: Iterable[str] | None,
) -> Representation:
    shards = shard_files(source)
    suffix = shards[0].suffix.lower() if shards else _checked_suffix(source)
    if codes is not None and suffix not in NAMED_ARRAYS:
        raise ValueError(
            f"codes must be left out for a {suffix} file, got {codes!r}; it is for {', '.join(NAMED_ARRAYS)}."
        )
    of_obs = str(factors) if str(factors).startswith(OBS) and has_anndata(source, suffix) else None
    labels = None if factors is None or of_obs else _read_labels(Path(factors), factor_columns, kinds)
    if suffix == ".npy":
        return _from_npy(source, labels, kinds, only)
    if suffix == ".npz" and not _is_sparse(source):
        return _from_npz(source, labels, kinds, only)
    if suffix in TABLES:
        return _from_frame(read_shards(shards or [source]), source, code_columns, factor_columns, labels, kinds, only)
    parts = read_safetensors_shards(shards) if shards else _foreign(source, suffix, codes, of_obs)
    _check_shapes(parts.codes.shape, _shape(labels))
    given = parts.factors if labels is None else labels
    made = SparseRepresentation if issparse(parts.codes) else Representation
    rep = made(parts.codes, _restore_numbers(given, kinds, None), kinds=kinds, code_names=parts.code_names, only=only)
    rep.notes += parts.notes if labels is None else ()
    return rep


def _foreign(source: Path, suffix: str, codes: str | None, of_obs: str | None) -> Parts:
    """Read a file in a format of another tool."""
    if has_anndata(source, suffix):
        return read_anndata(source, codes=codes, factors=of_obs)
    if suffix == ".npz":
        return read_sparse_npz(source)
    readers = {".safetensors": read_safetensors, ".pt": read_torch, ".zarr": read_zarr}
    return readers[suffix](source, codes=codes)


def _is_sparse(source: Path) -> bool:
    """Tell a matrix of ``scipy.sparse`` from an archive of arrays."""
    if not zipfile.is_zipfile(source):
        return False
    with _plain_data(source), zipfile.ZipFile(source) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
    return names >= SPARSE_KEYS and "codes" not in names


def _checked_suffix(source: Path) -> str:
    """Return how the name of a file that can be read ends."""
    suffix = source.suffix.lower()
    if suffix == ".zarr" and source.is_dir():
        return suffix
    if source.is_dir():
        raise ValueError(_why_no_folder(source))
    if not source.is_file():
        raise ValueError(f"path {str(source)!r} is not a file{did_you_mean_file(source)}.")
    if source.stat().st_size == 0:
        raise ValueError(f"path {str(source)!r} is empty.")
    if suffix not in (".npz", ".npy", *TABLES, *NAMED_ARRAYS):
        cure = "unpack it first" if suffix in PACKED else f".arrow, .tsv, {', '.join(NAMED_ARRAYS)} are read too"
        raise ValueError(f"path {str(source)!r} must end in .npz, .csv, .parquet or .npy, got {suffix!r}; {cure}.")
    return suffix


def _why_no_folder(source: Path) -> str:
    """Say what a folder lacks, and which folders in it have it, such as the splits of a data set."""
    inside = [place for place in sorted(source.iterdir()) if place.is_dir() and shard_files(place)]
    if not inside:
        return f"path {str(source)!r} is a folder without {', '.join(SHARDS)} files; name a file, or a folder of them."
    named = listing([str(place) for place in inside], most=MOST_NAMES)
    return f"path {str(source)!r} is a folder of data sets; give one of them: {named}."


def _call(path: str | Path, **given: Any) -> str:
    """Return the call that reads the same file again, without arguments at their defaults."""
    usual = {"code_columns": CODE_COLUMNS, "factor_columns": FACTOR_COLUMNS}
    named = [
        f"{name}={str(value)!r}" if isinstance(value, Path) else f"{name}={value!r}"
        for name, value in given.items()
        if value is not None and value != usual.get(name)
    ]
    return f"ub.load({', '.join([repr(str(path)), *named])})"


def save(representation: Representation, path: str | Path, factors: str | Path | None = None) -> Path:
    """Write a representation; all or nothing.

    Args:
        representation: What to write.
        path: ``.npz``, which keeps everything; ``.csv`` or ``.parquet``, which keep names but no declared kinds and no
            blocks; or ``.npy`` for the codes alone.
        factors: The second ``.npy`` file, for the labels, when ``path`` is ``.npy``; names and kinds are not kept.

    Returns:
        The path of the codes.
    """
    target = Path(path)
    writers: dict[str, Callable[[Representation, Any], object]] = {
        ".npz": _write_npz,
        ".csv": lambda rep, file: _to_frame(rep).to_csv(file, index=False),
        ".parquet": lambda rep, file: _to_frame(rep).to_parquet(file, index=False),
        ".npy": lambda rep, file: np.save(file, rep.codes, allow_pickle=False),
    }
    suffix = target.suffix.lower()
    if suffix not in writers:
        raise ValueError(f"path {str(target)!r} must end in .npz, .csv, .parquet or .npy, got {target.suffix!r}.")
    _check_second_file(representation, suffix, factors)
    if factors is not None:
        write_atomically(factors, lambda file: np.save(file, _factor_matrix(representation), allow_pickle=False))
    return write_atomically(target, lambda file: writers[suffix](representation, file))


def _check_second_file(representation: Representation, suffix: str, factors: str | Path | None) -> None:
    if suffix != ".npy" and factors is not None:
        raise ValueError(f"factors must be left out unless path ends in .npy, got {str(factors)!r}.")
    if suffix == ".npy" and representation.factors and factors is None:
        raise ValueError("factors must name a second .npy file when path ends in .npy, got none.")
    if factors is not None and (Path(factors).suffix.lower() != ".npy" or not representation.factors):
        raise ValueError(f"factors must be a .npy file for labels that are there, got {str(factors)!r}.")


def _from_npz(source: Path, labels: Labels | None, kinds: Any, only: Iterable[str] | None) -> Representation:
    with _plain_data(source), source.open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        found = archive.files if isinstance(archive, np.lib.npyio.NpzFile) else ["one array"]
        shapes = {key: _npz_shape(archive.zip, key) for key in ("codes", "factors") if key in found}
    _check_shapes(shapes.get("codes", ()), shapes.get("factors", ()) if labels is None else _shape(labels))
    arrays, found = npz_arrays(source, NPZ_KEYS)
    codes = _codes_of(arrays, found, source)
    if labels is not None:
        arrays = {key: arrays[key] for key in ("codes", "code_names", "blocks") if key in arrays}
    names = _texts(arrays.get("factor_names"))
    wanted = _kinds_over(_texts(arrays.get("factor_kinds")), kinds, names)
    return Representation(
        codes,
        _restore_numbers(arrays.get("factors") if labels is None else labels, wanted, names),
        names=names,
        kinds=wanted,
        code_names=_texts(arrays.get("code_names")),
        only=only,
        blocks=_blocks(arrays),
    )


def _blocks(arrays: Mapping[str, AnyArray]) -> dict[str, Any] | None:
    """Return the blocks that an archive names, or ``None``."""
    text = _texts(arrays.get("blocks"))
    return None if text is None else blocks_from_json(",".join(text))


def npz_arrays(source: Path, keys: Iterable[str]) -> tuple[dict[str, AnyArray], list[str]]:
    """Return the arrays of these names that a file has, and the names of all its arrays."""
    with _plain_data(source), source.open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        found = archive.files if isinstance(archive, np.lib.npyio.NpzFile) else ["one array"]
        return {key: _checked_text(_array_of(archive, key)) for key in keys if key in found}, found


def _array_of(archive: Any, key: str) -> AnyArray:
    """Return one array of an archive, which holds anything else as bytes."""
    array = archive[key]
    if not isinstance(array, np.ndarray):
        raise ValueError(f"its part {key!r} is no array")
    return array


def _codes_of(arrays: Mapping[str, AnyArray], found: Sequence[str], source: Path) -> AnyArray:
    if "codes" not in arrays:
        raise ValueError(
            f"path {str(source)!r} must hold an array 'codes' (and 'factors'), "
            f"got {', '.join(sorted(found)) or 'nothing'}{did_you_mean('codes', found)}."
        )
    return arrays["codes"]


def _npz_shape(archive: zipfile.ZipFile, key: str) -> tuple[int, ...]:
    """Return the shape of an array as its header has it, before the array is unpacked."""
    with archive.open(f"{key}.npy" if f"{key}.npy" in archive.namelist() else key) as file:
        return npy_header(file)[0]


def _check_shapes(codes: tuple[int, ...], factors: tuple[int, ...]) -> None:
    """Raise where shapes of arrays that are yet to be read have rows of different number."""
    if codes and factors and codes[0] != factors[0]:
        check_same_rows(codes, factors)


def _shape(labels: Labels | None) -> tuple[int, ...]:
    """Return the shape of labels; nothing where there are none."""
    if labels is None:
        return ()
    return (len(next(iter(labels.values()))), len(labels)) if isinstance(labels, dict) else labels.shape


def _texts(array: AnyArray | None) -> list[str] | None:
    return None if array is None else [str(item) for item in _as_text(np.ravel(array))]


def _as_text(array: AnyArray) -> AnyArray:
    """Return text, or anything else, as Python's text."""
    try:
        return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array.astype(str)
    except UnicodeDecodeError as error:
        got = f"byte {error.object[error.start]:#x}"
        raise ValueError(f"names and labels must be text in UTF-8, got {got}; save them with .astype(str).") from error


def _kinds_over(stored: list[str] | None, given: Any, names: list[str] | None) -> Any:
    """Return the kinds given, and those in the file for factors that a mapping does not name."""
    if stored is None:
        return given
    if isinstance(given, Mapping):
        return {**dict(zip(names or _default_names(len(stored)), stored, strict=False)), **given}
    return stored if given is None else given


def _default_names(n_factors: int) -> list[str]:
    return [f"factor_{k}" for k in range(n_factors)]


def _restore_numbers(factors: AnyArray | Mapping[str, Any] | None, kinds: Any, names: list[str] | None) -> Any:
    """Convert numeric columns of a text matrix back to numbers; mixed labels are stored as text.

    Columns declared categorical stay text: "01" and "1" are two labels.
    """
    if not isinstance(factors, np.ndarray) or factors.dtype.kind not in "US" or factors.ndim != 2:
        return factors
    columns: dict[str, Any] = {}
    known = _default_names(factors.shape[1])
    wanted = kinds_of(kinds, names if names and len(names) == len(known) else known)
    for k, column in enumerate(factors.T):
        text = pd.Series(_as_text(column), dtype=object)
        text = text.where(~text.isin(["", "nan"]), None)
        numbers = pd.to_numeric(text, errors="coerce")
        is_text = wanted[k] == "categorical" or (numbers.isna() & text.notna()).any()
        columns[known[k]] = text if is_text else exact_numbers(text, numbers)
    return columns


def _from_npy(source: Path, labels: Labels | None, kinds: Any, only: Iterable[str] | None) -> Representation:
    if labels is None:
        raise ValueError(
            f"factors must be given when codes come from {source.name!r}: name a second .npy file, "
            "with --factors labels.npy in the shell or factors='labels.npy' in Python."
        )
    with _plain_data(source), source.open("rb") as file:
        start = file.read(len(np.lib.format.MAGIC_PREFIX))
        file.seek(0)
        shape = npy_header(file)[0] if start == np.lib.format.MAGIC_PREFIX else ()
    _check_shapes(shape, _shape(labels))
    return Representation(read_npy(source), _restore_numbers(labels, kinds, None), kinds=kinds, only=only)


def _read_labels(source: Path, columns: str | Sequence[str], kinds: Any) -> Labels:
    """Read labels from a file of their own; of a table, the columns named, or all."""
    if not source.is_file():
        of_obs = str(source).startswith(OBS)
        why = "; columns of obs are read of AnnData alone" if of_obs else did_you_mean_file(source)
        raise ValueError(f"factors {str(source)!r} is not a file{why}.")
    if source.suffix.lower() not in (".npy", *TABLES):
        raise ValueError(
            f"factors {str(source)!r} must end in .npy, .csv, .tsv, .parquet or .arrow, got {source.suffix!r}; save "
            "labels as one of them."
        )
    if source.suffix.lower() == ".npy":
        return read_npy(source)
    frame = read_shards([source])
    named = list(frame.columns)
    wanted = (
        named if columns == FACTOR_COLUMNS else _matches(_parts(columns, named), named, named, source, "factor_columns")
    )
    names = short_names(wanted)
    found, _ = labels_of(frame, wanted, kinds_of(kinds, names))
    return dict(zip(names, found.values(), strict=True))


def read_npy(source: Path) -> AnyArray:
    """Return the array of an ``.npy`` file that exists; never a pickle."""
    with _plain_data(source), source.open("rb") as file:
        array = np.load(file, allow_pickle=False)
        if isinstance(array, np.ndarray):
            return _checked_text(array)
    raise ValueError(f"path {str(source)!r} must hold one array, got an archive; name it .npz.")


def _checked_text(array: AnyArray) -> AnyArray:
    """Return an array; raise where it holds text that is none, which only a damaged file does."""
    if array.dtype.kind == "U" and array.size:
        letters = np.ravel(array.astype(array.dtype.newbyteorder("="))).view(np.uint32)
        if ((letters > LAST_LETTER) | ((letters >= 0xD800) & (letters < 0xE000))).any():
            raise ValueError("it holds characters that do not exist")
    return array


@contextmanager
def _plain_data(source: Path) -> Iterator[None]:
    """Return in one sentence why NumPy could not read a file as plain data."""
    try:
        with parsing_headers():
            yield
    except MemoryError as error:
        raise ValueError(f"path {str(source)!r} does not fit into memory: {first_line(error)}") from error
    except (*UNREADABLE, OSError, ValueError, RuntimeError) as error:
        if "pickle" in str(error):
            raise ValueError(
                f"path {str(source)!r} is not a NumPy file of plain numbers or text; "
                "Python objects (pickles) are never loaded; save labels that mix numbers and text with "
                ".astype(str), or as .csv."
            ) from error
        raise ValueError(f"path {str(source)!r} is damaged or not a NumPy file: {first_line(error)}") from error


def _from_frame(
    frame: pd.DataFrame,
    source: Path,
    code_columns: str | Sequence[str],
    factor_columns: str | Sequence[str],
    given: Labels | None,
    kinds: Any,
    only: Iterable[str] | None,
) -> Representation:
    wanted = factor_columns if given is None else None
    picked, factors = pick_columns(frame, source, codes=code_columns, factors=wanted)
    codes, code_names = _numeric(frame, picked, source)
    if given is not None:
        return Representation(
            codes, _restore_numbers(given, kinds, None), kinds=kinds, code_names=code_names, only=only
        )
    names = short_names(factors)
    labels, notes = labels_of(frame, factors, kinds_of(kinds, names))
    rep = Representation(
        codes, dict(zip(names, labels.values(), strict=True)), kinds=kinds, code_names=code_names, only=only
    )
    rep.notes += notes
    return rep


def _numeric(frame: pd.DataFrame, columns: list[str], source: Path) -> tuple[Any, list[str] | None]:
    """Return columns of codes, or the matrix and names of a column of lists; raise on a column without numbers."""
    if len(columns) == 1 and len(frame) and isinstance(frame[columns[0]].iloc[0], list | np.ndarray):
        matrix = stacked(frame[columns[0]], source)
        return matrix, [f"{columns[0]}_{j}" for j in range(matrix.shape[1])] if matrix.ndim == 2 else None
    bad = [name for name in columns if len(frame) and not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    if bad:
        held = "text" if pd.api.types.is_string_dtype(frame[bad[0]].dtype) else str(frame[bad[0]].dtype)
        raise ValueError(
            f"codes must be numbers, got {held} in column {bad[0]!r} of {str(source)!r}; "
            "leave it out of code_columns (--code-columns)."
        )
    return frame[columns], None


def _write_npz(representation: Representation, file: Any) -> None:
    arrays: dict[str, Any] = {"codes": representation.codes, "code_names": list(representation.code_names)}
    if representation.factors:
        arrays["factors"] = _factor_matrix(representation)
        arrays["factor_names"] = list(representation.factor_names)
        arrays["factor_kinds"] = [_kind_text(factor) for factor in representation.factors]
    if representation.blocks:
        arrays["blocks"] = blocks_to_json(representation.blocks)
    np.savez_compressed(file, allow_pickle=False, **arrays)


def _factor_matrix(representation: Representation) -> AnyArray:
    """Return labels as one matrix: numbers, or text (empty for "not labelled") if any factor is categorical."""
    numeric = all(factor.is_numeric for factor in representation.factors)
    columns = _factor_columns(representation).values()
    return np.stack(
        [c.to_numpy() if numeric else c.astype(object).fillna("").to_numpy().astype(str) for c in columns], axis=1
    )


def _to_frame(representation: Representation) -> pd.DataFrame:
    prefix = "" if all(name.startswith("code_") for name in representation.code_names) else "code_"
    codes = {f"{prefix}{name}": representation.codes[:, j] for j, name in enumerate(representation.code_names)}
    factors = {f"{PREFIX}{name}": column for name, column in _factor_columns(representation).items()}
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
