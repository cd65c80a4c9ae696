"""Encoding of data sets by any model, and the rate (KL divergence) of each code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least, to_array
from unbraid.models.families import ADVERSARIAL_FAMILY

if TYPE_CHECKING:
    from unbraid.models.ensemble import TrainedEnsemble
    from unbraid.representation.representation import Representation


METHODS = ("encode", "transform", "predict")


def codes_of(model: Any, x: Any) -> FloatArray:
    """Return the codes of data, ``(n, n_codes)``.

    Args:
        model: Has ``encode``, ``transform`` or ``predict`` (the first of these it has), or is a function. A torch
            module is given a tensor where its weights are, runs without gradients in evaluation mode, and is left as it
            was.
        x: Data, one observation a row.

    Raises:
        TypeError: The model has no method that returns codes.
        ValueError: The number of rows of codes differs from the number of rows of data.
    """
    ask = next((getattr(model, name) for name in METHODS if callable(getattr(model, name, None))), model)
    if not callable(ask):
        raise TypeError(f"model must have encode, transform or predict, or be a function, got {type(model).__name__}.")
    with _ready(model):
        codes = to_array(_mean(ask(_as_model_takes(model, x))))
    if codes.ndim == 0 or len(codes) != len(x):
        raise ValueError(f"model must give one row of codes for each of {len(x)} rows, got an array of {codes.shape}.")
    return codes.astype(float, copy=False)


def _mean(found: Any) -> Any:
    """Take the mean of a distribution, and the first of several outputs, which VAEs make the mean."""
    if isinstance(found, tuple | list) and found and hasattr(found[0], "shape"):
        return found[0]
    is_distribution = hasattr(found, "log_prob") and hasattr(found, "mean")
    return found.mean if is_distribution else found


def _torch_module(model: Any) -> Any:
    """Return the model if it is a torch module, else ``None``, without importing torch."""
    torch = sys.modules.get("torch")
    return model if torch is not None and isinstance(model, torch.nn.Module) else None


def _as_model_takes(model: Any, x: Any) -> Any:
    module = _torch_module(model)
    if module is None:
        return x
    import torch

    weight = next((part for part in module.parameters() if part.is_floating_point()), torch.empty(0))
    given = torch.as_tensor(x, device=weight.device)
    return given.to(weight.dtype) if given.is_floating_point() else given


@contextmanager
def _ready(model: Any) -> Iterator[None]:
    """Put a torch module in evaluation mode without gradients, and back."""
    module = _torch_module(model)
    if module is None:
        yield
        return
    import torch

    was_training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part in was_training:
            part.training = True


#: Rows that are read from a data set at once.
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
        Codes and factors of those rows, with the blocks of codes that the model has.

    Raises:
        TypeError: A model that has no method that returns codes.
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
        context = context_of(ensemble, dataset, part)
        codes[:, start : start + CHUNK] = ensemble.encode(x, context=context, sample=sample, seed=seed, first_row=start)
    settings = ensemble.settings
    blocks = settings.block_columns() or settings.layout.blocks()
    names = settings.layout.names if settings.categories else None
    return [_labelled(one, dataset, rows, blocks, names) for one in codes]


def context_of(ensemble: TrainedEnsemble, dataset: Any, rows: IntArray) -> IntArray | None:
    """Return the label that a model encodes rows with, from the factors of a data set; ``None`` for most models.

    Raises:
        ValueError: A data set without that factor.
    """
    name = ensemble.settings.context
    if not name:
        return None
    names = tuple(dataset.factor_names)
    if name not in names:
        raise ValueError(
            f"dataset must have the factor {name!r}, which {ensemble.settings.model} encodes with, "
            f"got {', '.join(names)}."
        )
    return np.asarray(dataset.factors(rows))[:, names.index(name)]


def predicted_share(member: TrainedEnsemble, dataset: Any) -> float | None:
    """Return the share of the rows of a data set whose target one model predicts right.

    Args:
        member: A single model.
        dataset: With ``observations`` and ``factors`` by row.

    Returns:
        From 0 to 1; ``None`` for a model that predicts no target.
    """
    target = next((factor for role, factor, _ in member.settings.labels if role == "y"), None)
    if target is None:
        return None
    n_right, column = 0, tuple(dataset.factor_names).index(target)
    for start in range(0, len(dataset), CHUNK):
        rows = np.arange(start, min(start + CHUNK, len(dataset)))
        chances = member.classify(np.asarray(dataset.observations(rows)), context=context_of(member, dataset, rows))[0]
        n_right += int((chances.argmax(axis=1) == np.asarray(dataset.factors(rows))[:, column]).sum())
    return n_right / len(dataset)


def _is_ensemble(model: Any) -> bool:
    """Return whether the model is a trained ensemble, without importing torch: an ensemble has loaded its module."""
    module = sys.modules.get("unbraid.models.ensemble")
    return module is not None and isinstance(model, module.TrainedEnsemble)


def _encode_with(model: Any, dataset: Any, rows: IntArray) -> Representation:
    parts = [
        codes_of(model, np.asarray(dataset.observations(rows[start : start + CHUNK])))
        for start in range(0, len(rows), CHUNK)
    ]
    return _labelled(np.concatenate(parts), dataset, rows)


def _labelled(
    codes: FloatArray,
    dataset: Any,
    rows: IntArray,
    blocks: dict[str, list[int]] | None = None,
    code_names: tuple[str, ...] | None = None,
) -> Representation:
    from unbraid.representation.representation import Representation

    kinds, names = getattr(dataset, "factor_kinds", None), tuple(dataset.factor_names)
    factors = np.asarray(dataset.factors(rows))
    return Representation(codes, factors, names=names, kinds=kinds, blocks=blocks, code_names=code_names)


def drawn_rows(n_rows: int, n: int | None, seed: int) -> IntArray:
    """Return ``n`` of ``n_rows`` rows, drawn without replacement and sorted, or all of them where ``n`` is None."""
    if n is None:
        return np.arange(n_rows)
    check_at_least("n", n, 1)
    if n > n_rows:
        raise ValueError(f"n must be at most {n_rows}, the rows of the data set, got {n}.")
    return np.sort(np.random.default_rng(seed).choice(n_rows, size=n, replace=False))


def code_rates(ensemble: TrainedEnsemble, dataset: Any, *, n: int | None = None, seed: int = 0) -> FloatArray:
    r"""Return the rate of each code: the mean KL divergence of its posterior from the standard normal, over a data set.

    For code :math:`j` of a member, with the mean and deviation that its encoder gives for a row,

    .. math::

        R_j = \frac{1}{n} \sum_{i=1}^{n} \frac{1}{2} \bigl( \mu_{ij}^2 + \sigma_{ij}^2 - 1 \bigr) - \log \sigma_{ij}.

    A code whose rate is near 0 has no information: its posterior is the prior for every row. The rates of a member
    add up to the KL term of its loss where the prior is standard normal.

    Args:
        ensemble: Trained models.
        dataset: With ``observations`` by row.
        n: Rows to draw without replacement, the same as :func:`~unbraid.models.encode_all` draws; all by default.
        seed: Of the rows.

    Returns:
        In nats, at least 0, ``(n_models, n_codes)``.

    Raises:
        ValueError: More rows than there are, or data of another shape than in training.
    """
    rows = drawn_rows(len(dataset), n, seed)
    total = np.zeros((len(ensemble), ensemble.settings.n_codes))
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        context = context_of(ensemble, dataset, part)
        mean, deviation = ensemble.posterior(np.asarray(dataset.observations(part)), context=context)
        total += posterior_rate(ensemble, mean, deviation).sum(axis=1)
    return total / len(rows)


def posterior_rate(ensemble: TrainedEnsemble, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the divergence of the posterior of each code from its prior, in nats, entry by entry."""
    settings = ensemble.settings
    if settings.model == ADVERSARIAL_FAMILY:
        return settings.layout.rates(mean, deviation)
    return gaussian_rate(mean, deviation)


def gaussian_rate(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the KL divergence of Gaussians from the standard normal, in nats, entry by entry."""
    rate: FloatArray = (mean**2 + deviation**2 - 1) / 2 - np.log(deviation)
    return rate
