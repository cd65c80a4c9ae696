"""Search spaces of wide codes: the few directions in which a factor's subspace is looked for.

Among very many codes, the cost of refining axes grows with the square of the codes, and some direction fits any factor
by luck. Directions are therefore chosen on one half of the rows, and everything after that is fitted and tested on the
other half, so that the choice costs no honesty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid.probes.bins import bins_of, telling
from unbraid.representation.representation import Representation

#: Rows that directions are chosen on, and rows of the other half that are used, at most.
MOST_CHOOSING, MOST_SCORING = 10_000, 15_000
#: Codes in a search space, directions of second moments, and of a regression, at most.
MOST_CODES, MOST_SPREADS, MOST_LINES = 48, 16, 10
#: Steps of the iteration to the directions of second moments.
N_ITERATIONS = 4
#: Shrinkage of the correlations of codes towards none: at least, and for each code over rows.
LEAST_SHRINKAGE, SHRINKAGE_A_CODE = 1e-3, 0.1
#: Numbers that are converted at once.
CELLS = 4_000_000

Single = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Screening:
    """Both halves of the rows of wide codes, in single precision, each code centred and scaled.

    Attributes:
        choosing: Rows that directions are chosen on.
        scoring: Rows that axes are fitted and tested on.
        white: Codes of the rows that choose, uncorrelated but for the shrinkage, ``(n_choosing, n_codes)``.
        other: Codes of the rows that are scored, ``(n_scoring, n_codes)``.
        scale: Standard deviation of each code; 1 for constant codes.
        bins: Bin of each code in the rows that choose, ``(n_choosing, n_codes)``.
        root: Lower Cholesky factor of the correlations of codes, shrunk.
    """

    choosing: IntArray
    scoring: IntArray
    white: Single
    other: Single
    scale: FloatArray
    bins: AnyArray
    root: Single

    @classmethod
    def of(cls, rep: Representation, rng: np.random.Generator) -> Screening:
        """Divide the rows of a representation at random."""
        order = rng.permutation(rep.n_samples)
        half = rep.n_samples // 2
        choosing, scoring = np.sort(order[:half][:MOST_CHOOSING]), np.sort(order[half:][:MOST_SCORING])
        mean, scale = _moments(rep.codes, choosing)
        z, other = (_scaled(rep.codes, rows, mean, scale) for rows in (choosing, scoring))
        shrunk = z.T @ z / np.float32(len(z))
        shrunk[np.diag_indices(len(shrunk))] += max(LEAST_SHRINKAGE, SHRINKAGE_A_CODE * z.shape[1] / len(z))
        root, bins = np.linalg.cholesky(shrunk), bins_of(z)
        white = np.asarray(solve_triangular(root, z.T, lower=True, overwrite_b=True).T, dtype=np.float32)
        return cls(choosing=choosing, scoring=scoring, white=white, other=other, scale=scale, bins=bins, root=root)

    def tells(self, tasks: Sequence[tuple[IntArray, FloatArray]]) -> list[FloatArray]:
        """What each code tells about each factor, given labelled places among the rows that choose, and targets."""
        return telling(self.bins, tasks)

    def directions(
        self, tells: FloatArray, targets: FloatArray, slices: IntArray, labelled: IntArray, seed: int
    ) -> FloatArray:
        """Directions to search, in terms of the scaled codes, ``(n_codes, n_directions)``.

        Single codes that tell most about the factor, by themselves or beside a line through the best; the directions of
        a ridge regression; and directions in which the spread of the codes changes most with the factor, by
        the second moments of slices (SAVE).

        Args:
            tells: What each code tells, ``(n_codes,)``.
            targets: Targets of the labelled rows that choose, ``(n_labelled, n_targets)``.
            slices: Slice of each of these rows.
            labelled: Places of these rows among those that choose.
            seed: Of the first directions of the iteration.
        """
        white = self.whitened(labelled)
        best = np.argsort(-tells, kind="stable")[:MOST_CODES]
        codes = np.zeros((white.shape[1], len(best)))
        codes[best, np.arange(len(best))] = 1.0
        found = np.hstack([_lines(white, targets), _spreads(white, slices, seed)])
        return np.hstack([codes, self.from_whitened(found)])

    def whitened(self, labelled: IntArray) -> Single:
        """Uncorrelated codes at labelled places among the rows that choose."""
        return self.white if len(labelled) == len(self.white) else self.white[labelled]

    def of_whitened(self, directions: FloatArray) -> FloatArray:
        """Directions of the scaled codes as directions of the uncorrelated ones."""
        return np.asarray(self.root.T @ directions.astype(np.float32), dtype=np.float64)

    def from_whitened(self, directions: NDArray[Any]) -> FloatArray:
        """Directions of the uncorrelated codes as directions of the scaled ones, of length 1."""
        single = directions.astype(np.float32, copy=False)
        found = np.asarray(solve_triangular(self.root, single, lower=True, trans="T"), dtype=np.float64)
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=0), 1e-300))


def _lines(white: Single, targets: FloatArray) -> Single:
    """Coefficients of a ridge regression, those that explain most where targets are many."""
    left, _, _ = np.linalg.svd(white.T @ targets.astype(np.float32), full_matrices=False)
    return np.asarray(left[:, :MOST_LINES], dtype=np.float32)


def _spreads(white: Single, slices: IntArray, seed: int) -> Single:
    """Leading eigenvectors of the mean square of what second moments of slices have beyond those of all rows."""
    parts = [white[slices == value] for value in np.unique(slices)]
    start = np.random.default_rng(seed).standard_normal((white.shape[1], MOST_SPREADS))
    found: Single = np.linalg.qr(start.astype(np.float32))[0]
    for _ in range(N_ITERATIONS):
        total = np.zeros_like(found)
        for part in parts:
            once = _excess(part, found)
            total += np.float32(len(part) / len(white)) * _excess(part, once)
        found = np.linalg.qr(total)[0]
    return found


def _excess(part: Single, directions: Single) -> Single:
    """Second moments of whitened rows, less the identity, times directions."""
    return np.asarray(part.T @ (part @ directions) / np.float32(len(part)) - directions, dtype=np.float32)


def _moments(codes: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each code."""
    total, squares = np.zeros(codes.shape[1]), np.zeros(codes.shape[1])
    for part in _parts(rows, codes.shape[1]):
        total += codes[part].sum(axis=0)
    mean = total / len(rows)
    for part in _parts(rows, codes.shape[1]):
        squares += ((codes[part] - mean) ** 2).sum(axis=0)
    scale = np.sqrt(squares / len(rows))
    return mean, np.where(scale > 0, scale, 1.0)


def _scaled(codes: FloatArray, rows: IntArray, mean: FloatArray, scale: FloatArray) -> Single:
    found = np.empty((len(rows), codes.shape[1]), dtype=np.float32)
    start = 0
    for part in _parts(rows, codes.shape[1]):
        found[start : start + len(part)] = (codes[part] - mean) / scale
        start += len(part)
    return found


def _parts(rows: IntArray, n_codes: int) -> list[IntArray]:
    return np.array_split(rows, max(1, -(-len(rows) * n_codes // CELLS)))
