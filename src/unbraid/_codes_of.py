"""Codes from any model: whatever turns data into codes, asked in the way it wants to be asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unbraid._typing import FloatArray
from unbraid._validation import to_array

METHODS = ("encode", "transform", "predict")


def codes_of(model: Any, x: Any) -> FloatArray:
    """Return what a model says about data, ``(n, n_codes)``.

    Args:
        model: Has ``encode``, ``transform`` or ``predict`` (the first of these it has), or is a function. A torch
            module is given a tensor where its weights are, runs without gradients in evaluation mode, and is left as it
            was.
        x: Data, one observation a row.

    Raises:
        TypeError: Nothing to ask for codes.
        ValueError: As many codes did not come out as data went in.
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
    """Return the module itself, or ``None`` where it is none; torch is not imported to find out."""
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
