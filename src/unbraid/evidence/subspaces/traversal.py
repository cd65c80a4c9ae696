"""Traversals: one code moved along the axes of a factor, and decoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray
from unbraid._base.checks import check_at_least, check_codes, to_array
from unbraid.evidence.subspaces.options import Subspaces


def traverse(
    decoder: Callable[[FloatArray], Any],
    code: Any,
    basis: Any,
    *,
    axis: int = 0,
    codes: Any = None,
    reach: float = 2.0,
    n_steps: int = 9,
) -> AnyArray:
    """Decode one code moved to either side along one axis of a factor's subspace.

    Where the axis is the first, the factor should change and all else stay, unless factors share axes.

    Args:
        decoder: Anything that turns codes, ``(n_steps, n_codes)``, into outputs of which the first axis runs over the
            steps. A torch model goes in as ``lambda c: model(torch.as_tensor(c, dtype=torch.float32))``.
        code: Where to start, ``(n_codes,)``.
        basis: The factor's axes as columns, most important first, ``(n_codes, n_axes)``.
        axis: Which of them to move along.
        codes: Codes of the data, ``(n_samples, n_codes)``: one unit is their standard deviation along the axis.
            Left out, one unit is 1, the deviation of a standard normal prior.
        reach: How far to go to either side, in units.
        n_steps: Number of places to decode; with an odd number the middle one is ``code`` itself.

    Returns:
        What the decoder gives for each place, ``(n_steps, ...)``.

    Raises:
        ValueError: Shapes that do not fit each other, or an axis that is not there.

    Example:
        >>> import numpy as np
        >>> double = lambda codes: 2 * codes
        >>> traverse(double, [5.0, 1.0], np.eye(2), n_steps=3).tolist()
        [[6.0, 2.0], [10.0, 2.0], [14.0, 2.0]]
    """
    start, data = _check_code(code), _check_spread_codes(codes)
    path = steps_along(start, _check_axis(basis, axis, len(start)), codes=data, reach=reach, n_steps=n_steps)
    return _decode(decoder, path)


def traverse_factors(
    decoder: Callable[[FloatArray], Any],
    code: Any,
    subspaces: Subspaces,
    *,
    codes: Any = None,
    reach: float = 2.0,
    n_steps: int = 9,
) -> AnyArray:
    """Decode one code moved along the most important axis of each factor; options as for :func:`traverse`.

    Returns:
        One row of outputs for each factor, ``(n_factors, n_steps, ...)``. All of them go through the decoder at once.
    """
    start, data = _check_code(code), _check_spread_codes(codes)
    paths = [
        steps_along(start, _check_axis(basis, 0, len(start)), codes=data, reach=reach, n_steps=n_steps)
        for basis in subspaces.bases
    ]
    outputs = _decode(decoder, np.concatenate(paths))
    return outputs.reshape(len(paths), n_steps, *outputs.shape[1:])


def steps_along(
    code: FloatArray, direction: FloatArray, *, codes: FloatArray | None, reach: float, n_steps: int
) -> FloatArray:
    """Return evenly spaced codes on a line through ``code``, ``(n_steps, n_codes)``."""
    check_at_least("reach", reach, 0)
    check_at_least("n_steps", n_steps, 2)
    if codes is not None and codes.shape[1] != len(code):
        raise ValueError(f"codes must have as many columns as code has entries, got {codes.shape[1]} and {len(code)}.")
    unit = 1.0 if codes is None else float((codes @ direction).std())
    places = np.linspace(-reach, reach, n_steps) * unit
    path: FloatArray = code + places[:, None] * direction
    return path


def _check_code(code: Any) -> FloatArray:
    start = np.asarray(to_array(code), dtype=np.float64)
    if start.ndim != 1 or not np.isfinite(start).all():
        raise ValueError(f"code must be one row of finite numbers, got shape {start.shape}.")
    return start


def _check_spread_codes(codes: Any) -> FloatArray | None:
    return None if codes is None else check_codes(codes)


def _check_axis(basis: Any, axis: int, n_codes: int) -> FloatArray:
    columns = np.asarray(to_array(basis), dtype=np.float64)
    if columns.ndim != 2 or len(columns) != n_codes:
        raise ValueError(f"basis must have shape (n_codes, n_axes) with {n_codes} codes, got {columns.shape}.")
    if not 0 <= axis < columns.shape[1]:
        raise ValueError(f"axis must be one of the {columns.shape[1]} columns of basis, counted from 0, got {axis}.")
    direction: FloatArray = columns[:, axis]
    return direction


def _decode(decoder: Callable[[FloatArray], Any], path: FloatArray) -> AnyArray:
    outputs = to_array(decoder(path))
    if outputs.ndim == 0 or len(outputs) != len(path):
        raise ValueError(f"decoder must give one output for each code, got shape {outputs.shape} for {len(path)}.")
    return outputs
