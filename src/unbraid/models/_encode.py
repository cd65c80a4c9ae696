"""The bridge from models and data to what metrics take."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid._codes_of import codes_of
from unbraid._typing import FloatArray, IntArray
from unbraid._validation import check_at_least

if TYPE_CHECKING:
    from unbraid.models.ensemble import TrainedEnsemble
    from unbraid.representation import Representation

#: Rows that are asked from a data set at once.
CHUNK = 4096


def encode(model: Any, dataset: Any, *, n: int | None = None, sample: bool = False, seed: int = 0) -> Representation:
    """Encode a data set with one trained model.

    Args:
        model: An ensemble of one (take a member of a larger one first), any object with ``encode``, ``transform`` or
            ``predict``, or a function. A torch module gets a tensor and runs in evaluation mode; the mean is taken of a
            distribution, and the first of several outputs.
        dataset: With ``observations`` and ``factors`` by row, and ``factor_names``.
        n: Rows to draw without replacement; all of them, in order, by default.
        sample: Draw codes from the posterior instead of taking its mean.
        seed: Of the rows and of that draw.

    Returns:
        Codes and factors of those rows.

    Raises:
        TypeError: A model that cannot be asked for codes.
        ValueError: A larger ensemble, more rows than there are, or ``sample`` of a model that is not one of ours.
    """
    if not _is_ensemble(model):
        if sample:
            raise ValueError("sample needs a model trained by unbraid; give sample=False, or a function that draws.")
        return _encode_with(model, dataset, drawn_rows(len(dataset), n, seed))
    if len(model) != 1:
        raise ValueError(
            f"model must be a single one, got an ensemble of {len(model)}; give model[0], or use encode_all."
        )
    return encode_all(model, dataset, n=n, sample=sample, seed=seed)[0]


def encode_all(
    ensemble: TrainedEnsemble, dataset: Any, *, n: int | None = None, sample: bool = False, seed: int = 0
) -> list[Representation]:
    """Encode a data set with all members of an ensemble in one pass; returns one representation for each."""
    rows = drawn_rows(len(dataset), n, seed)
    codes = np.empty((len(ensemble), len(rows), ensemble.settings.n_codes))
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        x = np.asarray(dataset.observations(part))
        codes[:, start : start + CHUNK] = ensemble.encode(x, sample=sample, seed=seed, first_row=start)
    return [_labelled(one, dataset, rows) for one in codes]


def _is_ensemble(model: Any) -> bool:
    """Whether it is one of ours; nobody has one without this module loaded, so torch is not imported to find out."""
    module = sys.modules.get("unbraid.models.ensemble")
    return module is not None and isinstance(model, module.TrainedEnsemble)


def _encode_with(model: Any, dataset: Any, rows: IntArray) -> Representation:
    parts = [
        codes_of(model, np.asarray(dataset.observations(rows[start : start + CHUNK])))
        for start in range(0, len(rows), CHUNK)
    ]
    return _labelled(np.concatenate(parts), dataset, rows)


def _labelled(codes: FloatArray, dataset: Any, rows: IntArray) -> Representation:
    from unbraid.representation import Representation

    kinds = getattr(dataset, "factor_kinds", None)
    return Representation(codes, np.asarray(dataset.factors(rows)), names=tuple(dataset.factor_names), kinds=kinds)


def drawn_rows(n_rows: int, n: int | None, seed: int) -> IntArray:
    """Return ``n`` of ``n_rows`` rows, drawn without replacement and sorted, or all of them where ``n`` is None."""
    if n is None:
        return np.arange(n_rows)
    check_at_least("n", n, 1)
    if n > n_rows:
        raise ValueError(f"n must be at most {n_rows}, the rows of the data set, got {n}.")
    return np.sort(np.random.default_rng(seed).choice(n_rows, size=n, replace=False))
