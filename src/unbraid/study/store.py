"""Store of a study: the table in Parquet shards, codes and factors as arrays."""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from unbraid._base.arrays import UNREADABLE, AnyArray, FloatArray, IntArray, parsing_headers
from unbraid._base.files import naming_full_disks, write_atomically
from unbraid.data import load_dataset
from unbraid.models.encoding import drawn_rows
from unbraid.representation.files import load
from unbraid.study.plan import Model, Plan, content_key
from unbraid.study.table import EARLIER_BEGINNINGS, SCHEMA, Failure, FailureKind, empty_table

RESULTS = "results"
#: Where damaged files of a store go, under the path they had.
SET_ASIDE = "set_aside"
#: Shards above which they are merged into one: each costs a reader a tenth of a millisecond or more.
MERGE_ABOVE = 200
#: How often a table is read again when shards are merged by another run meanwhile.
TRIES = 20
_TYPES = {pa.string(): "varchar", pa.float64(): "double", pa.int64(): "bigint"}
_COLUMNS = ", ".join(f'null::{_TYPES[field.type]} as "{field.name}"' for field in SCHEMA)
_EARLIER_KIND = " ".join(
    f"when starts_with(failure, '{beginning}') then '{kind}'" for kind, beginning in EARLIER_BEGINNINGS.items()
)
#: Rows of shards of any version, in the layout of this one: shards of earlier versions have no column ``failure_kind``,
#: and columns ``strength`` and ``null`` in place of ``hyperparameter`` and ``chance``.
ROWS = f"""
    select * exclude (strength, "null") replace (
        coalesce(hyperparameter, strength) as hyperparameter,
        coalesce(chance, "null") as chance,
        coalesce(failure_kind, case when failure = '' then '' {_EARLIER_KIND} else '{FailureKind.FAILED}' end)
            as failure_kind
    ) from (
        select {_COLUMNS}, null::double as strength, null::double as "null" where false
        union all by name select * from read_parquet(?, union_by_name = true)
    )
"""
#: Where a measurement has several rows, a value comes first, then a final failure: other failures may be earlier.
RANK = f"""case when failure_kind = '' then 0
    when failure_kind in ('{FailureKind.DIVERGED}', '{FailureKind.COLLAPSED}') then 1 else 2 end"""
EVERY_ROW_ONCE = f"""
    select * exclude (place) from (
        select *, row_number() over (partition by key, factor order by {RANK}, failure) as place from ({ROWS})
    ) where place = 1 order by dataset, family, hyperparameter, seed, kind, name, predictor, n_rows, factor, key
"""
KEYS_WITH_VALUES = f"select distinct key from ({ROWS}) where factor = '' and failure_kind = ''"
FAILURES = f"""
    select key, arg_min(failure_kind, ({RANK}, failure)), arg_min(failure, ({RANK}, failure)) from ({ROWS})
    where factor = '' and failure_kind != '' group by key
"""
KEYS_THAT_HAVE_VALUES = f"{KEYS_WITH_VALUES} and key in (select unnest(?))"
#: A key is the key of the model, a hyphen and the key of the measurement.
TALLY = f"""
    select split_part(key, '-', 2) as measurement, dataset, count(distinct key)
    from ({ROWS}) where factor = '' and failure_kind = '' and model in (select unnest(?)) group by all
"""
#: Counts kinds of failures that are not known.
UNKNOWN_KINDS = f"""
    select count(*) filter (failure_kind not in ({", ".join(f"'{kind}'" for kind in FailureKind)})) from ({ROWS})
"""
#: Columns that shards of every version have.
ALWAYS_THERE = ("key", "model", "dataset", "family", "seed", "kind", "name", "factor", "n_rows", "value", "failure")
#: What stands before the digest in the footer of a shard.
SEAL = b"unbraid.sha256:"
N_DIGITS = 2 * hashlib.sha256().digest_size
Read = TypeVar("Read")


class DamagedFileError(ValueError):
    """A file of a store is there, and is not what was written."""


class _Fault(Enum):
    """What keeps a shard from being read: its content, or the way to it."""

    DAMAGED = "damaged"
    UNREADABLE = "unreadable"


class Store:
    """A folder of results. Every file in it is complete, and no file is changed once it is written.

    The name of a file depends on the work that made it, and a file is written under another name first. Several runs
    may therefore share a store, and a run that is killed leaves no partial file.

    Args:
        url: A folder, or a URL such as ``s3://bucket/study``.

    Raises:
        ValueError: The place cannot be made or reached.
    """

    def __init__(self, url: str | Path) -> None:
        self.url = str(url)
        if not self.url.strip():
            raise ValueError("store must be a folder or a URL, got an empty name.")
        if "://" not in self.url:
            self.url = os.path.expanduser(self.url)
        self._told: set[str] = set()
        self._looked_at: dict[str, bool] = {}
        try:
            self._files, self._root = fsspec.core.url_to_fs(self.url)
        except (OSError, ValueError, ImportError) as error:
            raise ValueError(f"store {self.url!r} cannot be a folder to write to: {error}.") from error
        if self._is_local:
            self._check_place(Path(self._root))

    def _check_place(self, place: Path) -> None:
        """Raise unless the folder is there or could be made; it is made with the first file."""
        there = _nearest(place)
        if not there.is_dir():
            raise ValueError(f"store {self.url!r} cannot be a folder to write to: {str(there)!r} is not a folder.")

    def check_writable(self) -> None:
        """Raise if files cannot be added; stores that are only read need not be writable.

        Raises:
            ValueError: The folder, or the nearest one above it that is there, is not writable.
        """
        there = _nearest(Path(self._root)) if self._is_local else None
        if there is not None and not os.access(there, os.W_OK):
            raise ValueError(f"store {self.url!r} cannot be a folder to write to: {str(there)!r} is not writable.")

    def __reduce__(self) -> tuple[type[Store], tuple[str]]:
        return Store, (self.url,)

    @property
    def folder(self) -> Path | None:
        """The folder on this machine, or ``None`` for one elsewhere."""
        return Path(self._root) if self._is_local else None

    @cached_property
    def _is_local(self) -> bool:
        return isinstance(self._files, fsspec.implementations.local.LocalFileSystem)

    def path(self, name: str) -> str:
        """Return the full path of a file."""
        return f"{self._root}/{name}"

    def has(self, name: str) -> bool:
        """Return whether a file is there; files that are there are complete."""
        self._look_again()
        return bool(self._files.exists(self.path(name)))

    def names(self, folder: str) -> set[str]:
        """Return the files below a folder, their paths from there on."""
        start = f"{self.path(folder)}/"
        if self._is_local:
            return {
                os.path.join(at, name)[len(start) :]
                for at, _, names in os.walk(start)
                for name in names
                if not name.startswith(".")
            }
        self._look_again()
        found = self._files.find(start) if self._files.exists(start) else []
        return {str(path).removeprefix("/").removeprefix(start.removeprefix("/")) for path in found}

    def _look_again(self) -> None:
        """Forget what was listed before: other processes write too, and file systems far away keep their lists."""
        self._files.invalidate_cache()

    def write(self, name: str, content: bytes) -> None:
        """Write a file, all of it or nothing."""
        path = self.path(name)
        with naming_full_disks(path):
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        if self._is_local:
            write_atomically(path, lambda file: file.write(content))
        else:
            self._files.pipe_file(path, content)  # one request: object stores show all of it or nothing

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return bytes(self._files.cat_file(self.path(name)))

    def delete(self, name: str) -> None:
        """Delete a file or a folder, if it is there."""
        with suppress(FileNotFoundError):
            self._files.rm(self.path(name), recursive=True)

    def set_aside(self, name: str) -> str:
        """Move a damaged file to a folder beside the others, and return its path there; nothing is deleted."""
        place = f"{SET_ASIDE}/{name}"
        number = 1
        while self.has(place):
            number += 1
            place = f"{SET_ASIDE}/{name}.{number}"
        with suppress(FileNotFoundError):  # another run was quicker
            self._files.makedirs(self.path(place).rpartition("/")[0], exist_ok=True)
            self._files.mv(self.path(name), self.path(place))
        return place

    def set_aside_damaged(self) -> list[str]:
        """Set aside the shards of the table that are damaged or no shards, and return their paths before."""
        damaged = [f"{RESULTS}/{shard}" for shard in self._shards() if self._fault(shard) is _Fault.DAMAGED]
        for name in damaged:
            self.set_aside(name)
        return damaged

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        return int(self._files.size(self.path(name)))

    def write_arrays(self, name: str, **arrays: AnyArray) -> None:
        """Write arrays as ``.npz``."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        self.write(name, buffer.getvalue())

    def read_arrays(self, name: str, *needed: str) -> dict[str, AnyArray]:
        """Return what :meth:`write_arrays` wrote.

        Raises:
            DamagedFileError: The file is there and is not what was written, or lacks an array that is needed.
        """
        content = self.read(name)
        try:
            with parsing_headers(), np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                return {key: arrays[key] for key in needed or arrays.files}
        except (*UNREADABLE, ValueError, OSError, KeyError, RuntimeError) as error:
            raise DamagedFileError(f"{name!r} in store {self.url!r} is damaged.") from error

    def add_rows(self, rows: list[dict[str, Any]]) -> None:
        """Add rows to the table as one shard, named after what they are: the same rows again replace it."""
        if not rows:
            return
        table = pa.Table.from_pylist(rows, schema=SCHEMA)
        name = content_key([[row["key"], row["factor"], bool(row["failure"])] for row in rows])
        self._write_shard(f"{name}.parquet", table)

    def table(self) -> pd.DataFrame:
        """Return all rows, each measurement once: a value rather than a failure where both are there."""
        return self._reading(self._rows)

    def done(self) -> frozenset[str]:
        """Return the keys of measurements that have a value."""
        return self._reading(lambda shards: frozenset(key for (key,) in self._answers(KEYS_WITH_VALUES, shards)))

    def failures(self) -> dict[str, Failure]:
        """Return the failures of measurements that have no value, by key."""
        return self._reading(self._failures)

    def tally(self, models: Sequence[str]) -> dict[tuple[str, str], int]:
        """Count values by measurement and data set, of some models: quicker than to look at every key."""
        counted = self._reading(lambda shards: self._answers(TALLY, shards, list(models)))
        return {(measurement, dataset): count for measurement, dataset, count in counted}

    def damaged(self) -> list[str]:
        """Return shards that cannot be read; :meth:`table` does without them."""
        return [shard for shard in self._shards() if self._fault(shard) is not None]

    def merge(self, *, above: int = MERGE_ABOVE) -> None:
        """Put small shards into one, where there are many; another run may read or merge meanwhile."""
        shards = self._shards()
        if len(shards) <= above:
            return
        whole = [shard for shard in shards if self._fault(shard) is None]
        try:
            table = pa.Table.from_pandas(self._rows(whole), schema=SCHEMA, preserve_index=False)
        except (duckdb.Error, OSError):
            return  # another run is merging the same
        merged = f"{content_key(whole)}.parquet"
        self._write_shard(merged, table)
        for shard in whole:
            self.delete(f"{RESULTS}/{shard}")

    def replace_rows(self, table: pa.Table) -> None:
        """Make these the only rows; no run may be using the store."""
        shards = [shard for shard in self._shards() if self._fault(shard) is None]
        kept = f"{content_key(table['key'].to_pylist())}.parquet"
        if len(table):
            self._write_shard(kept, table)
        for shard in shards:
            if shard != kept or not len(table):
                self.delete(f"{RESULTS}/{shard}")

    def _shards(self) -> list[str]:
        return sorted(name for name in self.names(RESULTS) if name.endswith(".parquet"))

    def _write_shard(self, name: str, table: pa.Table) -> None:
        self.write(f"{RESULTS}/{name}", sealed(table))
        self._looked_at.pop(name, None)

    def _fault(self, shard: str) -> _Fault | None:
        """Return what keeps a shard from being read, all of it; ``None`` for nothing, or if it is gone meanwhile."""
        try:
            content = self.read(f"{RESULTS}/{shard}")
        except FileNotFoundError:
            return None if not self.has(f"{RESULTS}/{shard}") else _Fault.UNREADABLE
        except OSError:
            return _Fault.UNREADABLE
        if not _is_shard(content):
            return _Fault.DAMAGED
        try:
            if SEAL not in content:  # of an earlier version: only reading it all tells
                # Threads that read on after the first error would abort this process at its end, now and then.
                with pq.ParquetFile(io.BytesIO(content), page_checksum_verification=True, pre_buffer=False) as file:
                    file.read(use_threads=False)
                self._rows([shard])
            ((n_unknown,),) = self._answers(UNKNOWN_KINDS, [shard])
        except (pa.ArrowException, duckdb.Error, OSError, ValueError, MemoryError):
            return _Fault.DAMAGED if self.has(f"{RESULTS}/{shard}") else None
        return _Fault.DAMAGED if n_unknown else None

    def _reading(self, read: Callable[[list[str]], Read]) -> Read:
        """Return what is read from all shards, or from all but damaged ones, with a warning that names them."""
        for _ in range(TRIES):
            shards = self._shards()
            damaged = {shard for shard in shards if not self._is_whole(shard)}
            try:
                found = read([shard for shard in shards if shard not in damaged])
            except (duckdb.Error, OSError, ValueError):
                if shards == self._shards():
                    break  # nobody merged one away between listing and reading: one is damaged
            else:
                self._tell(damaged)
                return found
        shards = self._shards()
        damaged = {shard for shard in shards if self._fault(shard) is not None}
        self._tell(damaged)
        return read([shard for shard in shards if shard not in damaged])

    def _is_whole(self, shard: str) -> bool:
        """Return whether a file has the seal and the columns of a shard; also if it is gone meanwhile."""
        if shard not in self._looked_at:
            try:
                self._looked_at[shard] = _is_shard(self.read(f"{RESULTS}/{shard}"))
            except FileNotFoundError:
                return True
            except OSError:
                self._looked_at[shard] = False
        return self._looked_at[shard]

    def _tell(self, damaged: set[str]) -> None:
        """Warn of shards that are left out, once."""
        if damaged - self._told:
            self._told |= damaged
            names = ", ".join(f"{RESULTS}/{shard}" for shard in sorted(damaged))
            warnings.warn(
                f"store {self.url!r}: {names} cannot be read and is left out; the next run sets it aside and makes "
                "its measurements again.",
                stacklevel=4,
            )

    def _rows(self, shards: list[str]) -> pd.DataFrame:
        if not shards:
            return empty_table()
        with self._database() as database:
            found: pd.DataFrame = database.execute(EVERY_ROW_ONCE, [self._addresses(shards)]).df()
        return found

    def _failures(self, shards: list[str]) -> dict[str, Failure]:
        """Look for failures first: mostly there are few, and without failures the keys need not be read."""
        found = self._answers(FAILURES, shards)
        failed = {key: Failure(FailureKind(kind), reason) for key, kind, reason in found}
        made_good = self._answers(KEYS_THAT_HAVE_VALUES, shards, list(failed)) if failed else []
        for (key,) in made_good:
            del failed[key]
        return failed

    def _answers(self, question: str, shards: list[str], *more: list[str]) -> list[Any]:
        if not shards:
            return []
        with self._database() as database:
            return database.execute(question, [self._addresses(shards), *more]).fetchall()

    @contextmanager
    def _database(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with duckdb.connect() as database:
            if not self._is_local:
                database.register_filesystem(self._files)
            yield database

    def _addresses(self, shards: list[str]) -> list[str]:
        paths = [self.path(f"{RESULTS}/{shard}") for shard in shards]
        return paths if self._is_local else [str(self._files.unstrip_protocol(path)) for path in paths]


def _nearest(place: Path) -> Path:
    """Return a folder, or the nearest one above it that is there."""
    return next(folder for folder in (place, *place.parents) if folder.exists())


def sealed(table: pa.Table) -> bytes:
    """Return the bytes of a shard with a digest of all other bytes in its footer.

    The checksums of Parquet are of single pages: a file of which one half is another shard's has pages that are right.
    """
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, table.schema, compression="zstd", write_page_checksum=True) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"seal": SEAL.decode() + "0" * N_DIGITS})
    content = buffer.getvalue()
    start, digest = _seal(content)
    return content[:start] + digest + content[start + N_DIGITS :]


def _seal(content: bytes) -> tuple[int, bytes]:
    """Return where the digest of a sealed shard begins, and the digest of all that is around it."""
    start = content.rfind(SEAL) + len(SEAL)
    whole = memoryview(content)
    digest = hashlib.sha256(whole[:start])
    digest.update(whole[start + N_DIGITS :])
    return start, digest.hexdigest().encode()


def _is_shard(content: bytes) -> bool:
    """Return whether bytes are as they were sealed, if they were, and have the columns of a shard."""
    start, digest = _seal(content)
    if SEAL in content and not content.startswith(digest, start):
        return False
    try:
        return _is_layout(pq.read_schema(io.BytesIO(content)))
    except (pa.ArrowException, OSError, ValueError):
        return False


def _is_layout(found: pa.Schema) -> bool:
    """Return whether a file has the columns of a shard of some version, each of its type or empty."""
    types = {field.name: field.type for field in found}
    wrong = [one for one in SCHEMA if types.get(one.name, one.type) not in (one.type, pa.null())]
    return not wrong and all(name in types for name in ALWAYS_THERE)


def factors_name(plan: Plan, dataset: str) -> str:
    """Return where the factors of the encoded rows of a data set are."""
    return f"factors/{dataset}-{plan.rows_key}.npz"


def write_factors(store: Store, name: str, dataset: Any, rows: IntArray) -> None:
    """Write the factors of some rows of a data set, unless they are there."""
    if not store.has(name):
        store.write_arrays(
            name,
            rows=rows,
            factors=np.asarray(dataset.factors(rows)),
            names=np.array(dataset.factor_names),
            kinds=np.array(dataset.factor_kinds),
        )


def write_codes(
    store: Store, model: Model, codes: AnyArray, rates: FloatArray, blocks: Mapping[str, Sequence[int]] | None = None
) -> None:
    """Write the codes of a model, in single precision, the information that each carries, in nats, and their blocks."""
    if store.has(model.codes):
        with suppress(DamagedFileError):  # damaged ones are set aside, not replaced
            read_codes(store, model)
    named = {"blocks": np.array(json.dumps(blocks))} if blocks else {}
    store.write_arrays(model.codes, codes=np.asarray(codes, dtype=np.float32), rates=rates, **named)


def read_factors(store: Store, plan: Plan, dataset: str, folder: str = "") -> dict[str, AnyArray]:
    """Return what :func:`write_factors` wrote; factors that are gone or damaged are made again.

    Args:
        store: Has the factors.
        plan: Plan of the study.
        dataset: Name of the data set.
        folder: Where files of data sets are; empty for the usual place.
    """
    name, needed = factors_name(plan, dataset), ("rows", "factors", "names", "kinds")
    try:
        return store.read_arrays(name, *needed)
    except DamagedFileError:
        store.set_aside(name)
    except FileNotFoundError:
        pass
    opened = load_dataset(dataset, folder or None)
    n_rows = min(plan.study.rows, len(opened))
    write_factors(store, name, opened, drawn_rows(len(opened), n_rows, plan.study.seed))
    return store.read_arrays(name, *needed)


def read_codes(store: Store, model: Model) -> tuple[AnyArray, AnyArray | None]:
    """Return the codes of a model and the information that each carries, where that is known.

    Raises:
        DamagedFileError: The codes are damaged; they are set aside, so that the model is encoded again.
    """
    if model.file:
        return load(model.file).codes, None
    try:
        arrays = store.read_arrays(model.codes, "codes", "rates")
    except DamagedFileError as error:
        place = store.set_aside(model.codes)
        raise DamagedFileError(f"the codes of {model.label} are damaged; they were set aside in {place!r}.") from error
    except FileNotFoundError as error:
        raise ValueError(f"the codes of {model.label} are gone; run the study again.") from error
    return arrays["codes"].astype(np.float64), arrays["rates"]


def read_blocks(store: Store, model: Model) -> dict[str, list[int]]:
    """Return the columns of each block of the codes of a trained model; nothing for codes without blocks."""
    arrays = store.read_arrays(model.codes)
    return dict(json.loads(str(arrays["blocks"]))) if "blocks" in arrays else {}
