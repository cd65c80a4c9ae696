"""Hermite regression on a few axes, and the order of axes by explained variance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, pairwise, permutations
from math import comb, factorial
from typing import TypeAlias

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.probes.linear import ridge_solver

HIGHEST_DEGREE = {1: 12, 2: 10, 3: 8}
DEGREE_BEYOND = 6
CLIP = 4.5
RIDGES = (1e-7, 1e-5, 1e-3)
N_RANGE_STEPS = 5
Solve: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Basis:
    """Products of Hermite polynomials up to a total degree.

    Attributes:
        powers: Degree of each variable in each term, the constant first, ``(n_terms, n_variables)``.
    """

    powers: IntArray

    @property
    def degree(self) -> int:
        """Highest degree of a single variable."""
        return int(self.powers.max())

    def values(self, w: FloatArray) -> FloatArray:
        """Terms at each row, ``(n_rows, n_terms)``."""
        tables = hermite(np.ascontiguousarray(w.T), self.degree)
        return self._products(tables, np.arange(len(self.powers)), skip=None)

    def slopes(self, w: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Gradient of the fitted functions, ``(n_rows, n_variables, n_functions)``."""
        tables = hermite(np.ascontiguousarray(w.T), self.degree)
        found = np.empty((len(w), w.shape[1], coefficients.shape[1]))
        for m in range(w.shape[1]):
            changing = np.flatnonzero(self.powers[:, m])
            found[:, m] = self._products(tables, changing, skip=m) @ coefficients[changing]
        return found

    def _products(self, tables: FloatArray, chosen: IntArray, *, skip: int | None) -> FloatArray:
        """Multiply single-variable factors of chosen terms; variable ``skip`` enters by its derivative."""
        terms = np.ones((len(chosen), tables.shape[2]))
        # Row by row, in place: a product of all rows at once would copy both sides of it.
        for term, powers in zip(terms, self.powers[chosen].tolist(), strict=True):
            for j, power in enumerate(powers):
                if j == skip:
                    term *= tables[power - 1, j]
                    term *= np.sqrt(power)
                elif power:
                    term *= tables[power, j]
        return terms.T


def make_basis(n_variables: int, max_terms: int, *, alone_degree: int = 0) -> Basis:
    """Return the basis of highest total degree within ``max_terms``; single variables go on to ``alone_degree``."""
    degree = HIGHEST_DEGREE.get(n_variables, DEGREE_BEYOND)
    while degree > 1 and comb(n_variables + degree, degree) > max_terms:
        degree -= 1
    rows = [np.zeros(n_variables, dtype=np.intp)]
    for total in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(n_variables), total):
            rows.append(np.bincount(chosen, minlength=n_variables))
    for alone in range(degree + 1, alone_degree + 1):
        rows.extend(alone * np.eye(n_variables, dtype=np.intp))
    return Basis(powers=np.array(rows))


def hermite(w: FloatArray, degree: int) -> FloatArray:
    """Hermite polynomials, orthonormal under a standard normal, ``(degree + 1, *w.shape)``; outliers are clipped."""
    w = np.clip(w, -CLIP, CLIP)
    tables = np.empty((degree + 1, *w.shape))
    tables[0] = 1.0
    if degree:
        tables[1] = w
    for n in range(1, degree):
        tables[n + 1] = (w * tables[n] - np.sqrt(n) * tables[n - 1]) / np.sqrt(n + 1)
    return tables


def ridge_fit(terms: FloatArray, penalty: float) -> Solve:
    """Return a function from targets to the coefficients of a ridge regression; the first term, a constant, is free."""
    solve = _solver(terms.T @ terms, penalty * len(terms))
    return lambda targets: solve(terms.T @ targets)


def cross_fitted(terms: FloatArray, targets: FloatArray, *, n_folds: int, held_to_range: bool) -> FloatArray:
    """Predict every row from a fit to the other folds, within the range of the targets.

    Args:
        terms: Rows in random order, ``(n_rows, n_terms)``; folds are runs of them.
        targets: ``(n_rows, n_targets)``.
        n_folds: Number of folds.
        held_to_range: Since predictions are held to the range of the targets, a row at an end of it may as well be
            predicted beyond: give such rows their own prediction as target, and fit again, a few times.
    """
    low, high = targets.min(axis=0), targets.max(axis=0)
    edges = np.linspace(0, len(terms), n_folds + 1).astype(int)
    parts = [slice(start, stop) for start, stop in pairwise(edges)]
    grams = [terms[part].T @ terms[part] for part in parts]
    total = np.sum(grams, axis=0)
    penalty = len(terms) * _best_ridge(terms, targets, parts[0], total - grams[0])
    predicted = np.empty_like(targets)
    for part, gram in zip(parts, grams, strict=True):
        solve = _solver(total - gram, penalty)
        coefficients = solve(_moment_without(terms, targets, part))
        for _ in range(N_RANGE_STEPS if held_to_range else 0):
            beyond = terms @ coefficients
            relaxed = np.where(targets >= high, np.maximum(beyond, targets), targets)
            relaxed = np.where(targets <= low, np.minimum(beyond, relaxed), relaxed)
            coefficients = solve(_moment_without(terms, relaxed, part))
        predicted[part] = terms[part] @ coefficients
    return np.clip(predicted, low, high)


def _best_ridge(terms: FloatArray, targets: FloatArray, part: slice, gram: FloatArray) -> float:
    """Return the penalty that predicts one fold best from the others."""
    moment = _moment_without(terms, targets, part)
    errors = [
        float(((targets[part] - terms[part] @ _solver(gram, ridge * len(terms))(moment)) ** 2).sum())
        for ridge in RIDGES
    ]
    return RIDGES[int(np.argmin(errors))]


def _moment_without(terms: FloatArray, targets: FloatArray, part: slice) -> FloatArray:
    """Return terms times targets over all rows but those of one fold."""
    moment: FloatArray = terms[: part.start].T @ targets[: part.start] + terms[part.stop :].T @ targets[part.stop :]
    return moment


def _solver(gram: FloatArray, penalty: float) -> Solve:
    """Ridge regression whose first term, a constant, is free."""
    return ridge_solver(gram, np.where(np.arange(len(gram)), penalty, 0.0))


ORDER_TERMS = 200
ROWS_A_TERM = 25
ORDER_RIDGE = 1e-4
TENSOR_DEGREES = ((10, 4), (20, 3))  # up to so many axes, derivatives up to this degree, which cost size**degree
LEAST_TENSOR_DEGREE = 2
N_ANGLES = 12
N_SWEEPS = 2
N_FINE_ANGLES = 30
N_ADDITIVE_SWEEPS = 4
LEAST_ADDITIVE_GAIN = 1e-6


def order_axes(x: FloatArray, targets: FloatArray, axes: FloatArray) -> FloatArray:
    """Return axes of the same span, turned and ordered.

    For normal codes a fitted Hermite expansion gives the variance that any set of axes explains: the squares of the
    coefficients of their terms. Plane by plane, axes are turned to the angle at which the first, the first two, ...
    together explain most. Axes that can be exchanged freely stay as they are.
    """
    if axes.shape[1] == 1:
        return axes
    basis = make_basis(axes.shape[1], min(ORDER_TERMS, len(x) // ROWS_A_TERM))
    coefficients = ridge_fit(basis.values(x @ axes), ORDER_RIDGE)(targets)
    tensors = _tensors(basis, coefficients)
    start = _steepest_first(tensors)
    return axes @ start @ _turn_planes([_rotate(tensor, start) for tensor in tensors])


def additive_turn(w: FloatArray, targets: FloatArray, basis: Basis) -> FloatArray:
    """Turn of uncorrelated variables after which functions of single variables explain most, ``(n_axes, n_axes)``.

    Terms of high degree are affordable only for single variables. A sum of functions of single variables is no such sum
    after a turn, and what lies beyond the affordable degree would seem unpredictable.

    Args:
        w: Uncorrelated variables of unit variance, ``(n_rows, n_axes)``.
        targets: ``(n_rows, n_targets)``.
        basis: Terms to fit; even functions, such as cosines, need those of degree 4.
    """
    size = w.shape[1]
    tensors = _tensors(basis, ridge_fit(basis.values(w), ORDER_RIDGE)(targets))
    angles = np.linspace(0, np.pi / 2, N_FINE_ANGLES, endpoint=False)
    turned = np.eye(size)
    for _ in range(N_ADDITIVE_SWEEPS):
        moved = False
        for i, j in combinations(range(size), 2):
            plane = _additive_plane(tensors, i, j, angles)
            if plane is not None:
                turned, moved = turned @ plane, True
                tensors = [_rotate(tensor, plane) for tensor in tensors]
        if not moved:
            break
    return turned


def _additive_plane(tensors: list[FloatArray], i: int, j: int, angles: FloatArray) -> FloatArray | None:
    """Turn in the plane of two variables at which functions of either alone explain most; ``None`` for no gain."""
    cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
    values = np.zeros(len(angles))
    for degree, tensor in enumerate(tensors, start=1):
        corner = _along_plane(tensor, i, j, degree)
        for first, second in ((cosines, sines), (-sines, cosines)):
            values += ((_powers(first, second, degree) @ corner) ** 2).sum(axis=1) / factorial(degree)
    best = int(np.argmax(values))
    if values[best] <= values[0] * (1 + LEAST_ADDITIVE_GAIN):
        return None
    return _plane(len(tensors[0]), i, j, float(angles[best]))


def _along_plane(tensor: FloatArray, i: int, j: int, n_indices: int) -> FloatArray:
    """Entries whose first indices are ``i`` as often as possible, then ``j`` once, twice, ...; all others in a row."""
    entries = [tensor[(i,) * (n_indices - n) + (j,) * n].ravel() for n in range(n_indices + 1)]
    return np.stack(entries)


def _powers(first: FloatArray, second: FloatArray, degree: int) -> FloatArray:
    """Terms of a power of the sum of two numbers, ``(n_numbers, degree + 1)``."""
    n = np.arange(degree + 1)
    return np.asarray(np.array([comb(degree, k) for k in n]) * first ** (degree - n) * second**n)


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
    highest = next((degree for most, degree in TENSOR_DEGREES if size <= most), LEAST_TENSOR_DEGREE)
    tensors = [np.zeros((size,) * degree + (n_functions,)) for degree in range(1, highest + 1)]
    for powers, values in zip(basis.powers, coefficients, strict=True):
        degree = int(powers.sum())
        if 1 <= degree <= highest:
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
    """Angle in the plane of two axes at which nested sets of axes explain most; 0 unless another is clearly better.

    Sets that have both axes, or neither, explain the same at any angle. Of sets that have the first alone, terms with
    the turned axis change, whose derivatives are those of the two axes, weighed by powers of cosine and sine.
    """
    here = _explained_by_first(tensors)
    size, cosines, sines = len(tensors[0]), np.cos(angles)[:, None], np.sin(angles)[:, None]
    others = np.arange(size)
    others[[i, j]] = size  # in no set that has the first axis alone
    n_sets = [np.maximum(j - np.maximum(_largest(others, n), i), 0).ravel() for n in range(len(tensors))]
    values = np.full(len(angles), here)
    for degree, tensor in enumerate(tensors, start=1):
        n_functions = tensor.shape[-1]
        for n_turned in range(1, degree + 1):
            entries = _along_plane(tensor, i, j, n_turned)
            weighted = entries * np.repeat(n_sets[degree - n_turned], n_functions)
            share = comb(degree, n_turned) / factorial(degree)
            gram, powers = share * weighted @ entries.T, _powers(cosines, sines, n_turned)
            values += ((powers @ gram) * powers).sum(axis=1) - gram[0, 0]
    best = int(np.argmax(values))
    if values[best] <= here * (1 + 1e-3):
        return np.eye(size), 0.0
    return _plane(size, i, j, float(angles[best])), float(angles[best])


def _largest(places: IntArray, n_indices: int) -> IntArray:
    """Largest of the places of all combinations of so many indices, an axis for each; -1 for none."""
    found = np.array(-1)
    for _ in range(n_indices):
        found = np.maximum.outer(found, places)
    return found


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
    """Variance explained by the first axis, plus that by the first two, and so on, but for all axes."""
    size, total = len(tensors[0]), 0.0
    for degree, tensor in enumerate(tensors, start=1):
        n_sets = size - 1 - _largest(np.arange(size), degree)
        total += float(((tensor**2).sum(axis=-1) * n_sets).sum()) / factorial(degree)
    return total
