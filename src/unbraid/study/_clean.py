"""Removing from a store what no study in it asks for."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from unbraid.study._api import kept_studies, kept_study
from unbraid.study._codes import factors_name
from unbraid.study._plan import make_plan
from unbraid.study._rows import SCHEMA
from unbraid.study._state import look
from unbraid.study._store import Store


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """What no study of a store asks for.

    Attributes:
        files: Codes, factors and models.
        n_bytes: Their size.
        n_rows: Rows of the table.
        damaged: Shards of the table that cannot be read.
    """

    files: tuple[str, ...]
    n_bytes: int
    n_rows: int
    damaged: tuple[str, ...]


def find_leftovers(store: Store) -> Leftovers:
    """Return what no study of a store asks for, and failures that were overcome."""
    wanted, keys = _wanted(store)
    files = [f"{folder}/{name}" for folder in ("codes", "factors", "models") for name in store.names(folder)]
    left = tuple(sorted(name for name in files if not any(name.startswith(one) for one in wanted)))
    table = store.table()
    return Leftovers(
        files=left,
        n_bytes=sum(store.size(name) for name in left),
        n_rows=int((~table["key"].isin(keys)).sum()),
        damaged=tuple(store.damaged()),
    )


def remove_leftovers(store: Store, found: Leftovers) -> None:
    """Remove them; no run may be using the store."""
    for name in found.files:
        store.delete(name)
    _, keys = _wanted(store)
    table = store.table()
    store.replace_rows(pa.Table.from_pandas(table[table["key"].isin(keys)], schema=SCHEMA, preserve_index=False))


def _wanted(store: Store) -> tuple[set[str], set[str]]:
    """Return the beginnings of the files, and the keys of the rows, that studies of a store ask for."""
    files: set[str] = set()
    keys: set[str] = set()
    for name in kept_studies(store):
        state = look(make_plan(kept_study(store, name)), store)
        plan = state.plan
        files |= {model.codes for model in plan.models if model.codes}
        files |= {factors_name(plan, dataset) for dataset in plan.study.data}
        files |= {f"models/{ensemble.key}/" for ensemble in plan.ensembles}
        keys |= set(state.table()["key"])
    return files, keys
