"""Turning axes within a subspace so that the first few explain as much as they can."""

from __future__ import annotations

from itertools import combinations, permutations
from math import factorial

import numpy as np

from unbraid._typing import FloatArray
from unbraid.evidence.polynomials import Basis, make_basis, ridge_fit

ORDER_TERMS = 200
ROWS_A_TERM = 25
ORDER_RIDGE = 1e-4
TENSOR_DEGREE = 4
N_ANGLES = 12
N_SWEEPS = 2


def order_axes(x: FloatArray, targets: FloatArray, axes: FloatArray) -> FloatArray:
    """Return axes of the same span, turned and ordered.

    For normal codes a fitted Hermite expansion says how much any set of axes explains: the squares of the coefficients
    of the terms made of them. Plane by plane, axes are turned to the angle at which the first, the first two, ...
    together explain most. Axes that can be exchanged freely stay as they are.
    """
    if axes.shape[1] == 1:
        return axes
    basis = make_basis(axes.shape[1], min(ORDER_TERMS, len(x) // ROWS_A_TERM))
    coefficients = ridge_fit(basis.values(x @ axes), ORDER_RIDGE)(targets)
    tensors = _tensors(basis, coefficients)
    start = _steepest_first(tensors)
    return axes @ start @ _turn_planes([_rotate(tensor, start) for tensor in tensors])


def _steepest_first(tensors: list[FloatArray]) -> FloatArray:
    """Axes by mean squared slope, which for a normal is a sum over derivatives of each degree."""
    size = tensors[0].shape[0]
    energy = np.zeros((size, size))
    for degree, tensor in enumerate(tensors, start=1):
        flat = tensor.reshape(size, -1)
        energy += flat @ flat.T / factorial(degree - 1)
    return np.linalg.eigh(energy)[1][:, ::-1]


def _tensors(basis: Basis, coefficients: FloatArray) -> list[FloatArray]:
    """Symmetric tensors of mean derivatives of each degree, the last axis over functions."""
    size, n_functions = basis.powers.shape[1], coefficients.shape[1]
    tensors = [np.zeros((size,) * degree + (n_functions,)) for degree in range(1, TENSOR_DEGREE + 1)]
    for powers, values in zip(basis.powers, coefficients, strict=True):
        degree = int(powers.sum())
        if 1 <= degree <= TENSOR_DEGREE:
            scale = np.sqrt(float(np.prod([factorial(int(power)) for power in powers])))
            for place in set(permutations(np.repeat(np.arange(size), powers))):
                tensors[degree - 1][place] = values * scale
    return tensors


def _turn_planes(tensors: list[FloatArray]) -> FloatArray:
    """Turn every pair of axes in turn, a few times; return the whole turn."""
    size = tensors[0].shape[0]
    turned = np.eye(size)
    angles = np.linspace(-np.pi / 2, np.pi / 2, N_ANGLES, endpoint=False)
    for _ in range(N_SWEEPS):
        moved = False
        for i, j in combinations(range(size), 2):
            plane, angle = _best_angle(tensors, i, j, angles)
            if abs(angle) > 1e-3:
                turned, moved = turned @ plane, True
                tensors = [_rotate(tensor, plane) for tensor in tensors]
        if not moved:
            break
    return turned


def _best_angle(tensors: list[FloatArray], i: int, j: int, angles: FloatArray) -> tuple[FloatArray, float]:
    """Angle in the plane of two axes at which nested sets of axes explain most; 0 unless another is clearly better."""
    here = _explained_by_first(tensors)
    values = [_explained_by_first([_rotate(t, _plane(len(t), i, j, angle)) for t in tensors]) for angle in angles]
    best = int(np.argmax(values))
    if values[best] <= here * (1 + 1e-3):
        return np.eye(tensors[0].shape[0]), 0.0
    return _plane(tensors[0].shape[0], i, j, float(angles[best])), float(angles[best])


def _plane(size: int, i: int, j: int, angle: float) -> FloatArray:
    plane = np.eye(size)
    plane[[i, j], [i, j]] = np.cos(angle)
    plane[i, j], plane[j, i] = -np.sin(angle), np.sin(angle)
    return plane


def _rotate(tensor: FloatArray, turn: FloatArray) -> FloatArray:
    """Express a tensor in turned axes; the last axis, over functions, stays."""
    for _ in range(tensor.ndim - 1):
        tensor = np.tensordot(tensor, turn, axes=(0, 0))  # moves the turned axis behind the functions
        tensor = np.moveaxis(tensor, -1, tensor.ndim - 2)
    return tensor


def _explained_by_first(tensors: list[FloatArray]) -> float:
    """Variance explained by the first axis, plus that by the first two, and so on."""
    total = 0.0
    for n_axes in range(1, tensors[0].shape[0]):
        for degree, tensor in enumerate(tensors, start=1):
            corner = tensor[(slice(n_axes),) * degree]
            total += float((corner**2).sum()) / factorial(degree)
    return total
