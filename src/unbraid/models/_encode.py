"""The bridge from models and data to what metrics take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid._typing import IntArray
from unbraid._validation import check_at_least

if TYPE_CHECKING:
    from unbraid.models.ensemble import TrainedEnsemble
    from unbraid.representation import Representation

#: Rows that are asked from a data set at once.
CHUNK = 4096


def encode(
    model: TrainedEnsemble, dataset: Any, *, n: int | None = None, sample: bool = False, seed: int = 0
) -> Representation:
    """Encode a data set with one trained model.

    Args:
        model: An ensemble of one; take a member of a larger one first.
        dataset: With ``observations`` and ``factors`` by row, and ``factor_names``.
        n: Rows to draw without replacement; all of them, in order, by default.
        sample: Draw codes from the posterior instead of taking its mean.
        seed: Of the rows and of that draw.

    Returns:
        Codes and factors of those rows.

    Raises:
        ValueError: A larger ensemble, or more rows than there are.
    """
    if len(model) != 1:
        raise ValueError(
            f"model must be a single one, got an ensemble of {len(model)}; give model[0], or use encode_all."
        )
    return encode_all(model, dataset, n=n, sample=sample, seed=seed)[0]


def encode_all(
    ensemble: TrainedEnsemble, dataset: Any, *, n: int | None = None, sample: bool = False, seed: int = 0
) -> list[Representation]:
    """Encode a data set with all members of an ensemble in one pass; returns one representation for each."""
    from unbraid.representation import Representation

    rows = drawn_rows(len(dataset), n, seed)
    codes = np.empty((len(ensemble), len(rows), ensemble.settings.n_codes))
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        x = np.asarray(dataset.observations(part))
        codes[:, start : start + CHUNK] = ensemble.encode(x, sample=sample, seed=seed, first_row=start)
    factors = np.asarray(dataset.factors(rows))
    kinds = getattr(dataset, "factor_kinds", None)
    names = tuple(dataset.factor_names)
    return [Representation(one, factors, names=names, kinds=kinds) for one in codes]


def drawn_rows(n_rows: int, n: int | None, seed: int) -> IntArray:
    """Return ``n`` of ``n_rows`` rows, drawn without replacement and sorted, or all of them where ``n`` is None."""
    if n is None:
        return np.arange(n_rows)
    check_at_least("n", n, 1)
    if n > n_rows:
        raise ValueError(f"n must be at most {n_rows}, the rows of the data set, got {n}.")
    return np.sort(np.random.default_rng(seed).choice(n_rows, size=n, replace=False))
