"""Codes and factors in a store: written by those who train, read by those who measure."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid._typing import AnyArray, FloatArray, IntArray
from unbraid.representation import Representation
from unbraid.storage import load
from unbraid.study._plan import Model, Plan
from unbraid.study._store import Store


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


def write_codes(store: Store, model: Model, codes: AnyArray, rates: FloatArray) -> None:
    """Write the codes of a model, in single precision, and the information that each carries, in nats."""
    store.write_arrays(model.codes, codes=np.asarray(codes, dtype=np.float32), rates=rates)


def read_representation(store: Store, model: Model, factors: str) -> Representation:
    """Return codes and factors of a model, or of a file."""
    if model.file:
        return load(model.file)
    labels = store.read_arrays(factors)
    names, kinds = labels["names"].tolist(), labels["kinds"].tolist()
    return Representation(store.read_arrays(model.codes)["codes"], labels["factors"], names=names, kinds=kinds)


def read_codes(store: Store, model: Model) -> tuple[AnyArray, AnyArray | None]:
    """Return the codes of a model and the information that each carries, where that is known."""
    if model.file:
        return load(model.file).codes, None
    arrays = store.read_arrays(model.codes)
    return arrays["codes"].astype(np.float64), arrays["rates"]


def sample_rows(n_rows: int, n: int, seed: int) -> IntArray:
    """Return ``n`` rows in order, or all; the same for every model, and each smaller sample within the larger ones."""
    drawn = np.random.default_rng([seed, n_rows]).permutation(n_rows)[:n]
    return np.sort(drawn)
