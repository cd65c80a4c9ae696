"""Linear probes of wide codes, by ridge regression on all of them.

Least squares on very many codes is uncertain in every coefficient, and a choice of the codes that tell most takes codes
of several factors for codes of one. A ridge whose strength predicts best, on rows that are kept aside, keeps all codes
and the proportions of their coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.probes.importance import ProbeFit, performance
from unbraid.probes.linear import decision, multinomial
from unbraid.probes.splits import check_enough_labels, mean_and_scale_on, standardise
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

#: With more codes than this, a ridge is fitted in place of least squares and logistic regressions.
MOST_FITTED = 256
#: Share of the rows that the strength is chosen on, and that probes are tested on; rows that are fitted, at most.
ASIDE_SHARE, TEST_SHARE, MOST_ROWS = 0.1, 0.3, 20_000
#: Strengths that are tried first, for each row of standardised codes; then those half a power of ten around the best.
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
HALF_POWER = 10**0.5
#: Rows that are predicted at once.
ROWS_AT_ONCE = 2_000
#: Ratio of a coefficient to its standard error that is as good as 0.
LEAST_RATIO = 1e-6


def fit_ridges(rep: Representation, rng: np.random.Generator) -> dict[str, ProbeFit]:
    """Fit a linear probe for each factor; all factors that are labelled on the same rows share one decomposition.

    Values of categories are regressed as their indicators, and predicted by a softmax on top.

    Raises:
        ValueError: A factor with fewer than ten labelled rows.
    """
    order = rng.permutation(rep.n_samples)
    alike: dict[bytes, list[Factor]] = {}
    for factor in rep.factors:
        check_enough_labels(factor)
        alike.setdefault(factor.labelled.tobytes(), []).append(factor)
    found: dict[str, ProbeFit] = {}
    for factors in alike.values():
        rows = order[factors[0].labelled[order]]
        n_aside, n_tested = (max(2, int(share * len(rows))) for share in (ASIDE_SHARE, TEST_SHARE))
        aside, tested, fitted = np.split(rows, [n_aside, n_aside + n_tested])
        found |= _fit_alike(rep.codes, factors, *map(np.sort, (fitted[:MOST_ROWS], aside, tested)))
    return found


def _fit_alike(
    codes: FloatArray, factors: list[Factor], fitted: IntArray, aside: IntArray, tested: IntArray
) -> dict[str, ProbeFit]:
    """Fit factors that are labelled on the same rows."""
    mean, scale = mean_and_scale_on(codes, fitted)

    def standardised(rows: IntArray) -> FloatArray:
        z = codes[rows]
        z -= mean
        z *= scale
        return z

    z, z_aside = standardised(fitted), standardised(aside)
    targets = [factor.targets(fitted) for factor in factors]
    y, y_aside = standardise(np.hstack(targets), np.hstack([factor.targets(aside) for factor in factors]))
    ridge = Ridge.of(z, y, z_aside, y_aside)
    parts = np.array_split(tested, -(-len(tested) // ROWS_AT_ONCE) or 1)
    at_test, at_aside = np.concatenate([standardised(rows) @ ridge.weights for rows in parts]), z_aside @ ridge.weights
    ends = np.cumsum([0, *(target.shape[1] for target in targets)])
    found = {}
    for factor, target, first, last in zip(factors, targets, ends[:-1], ends[1:], strict=True):
        if factor.is_numeric:
            predicted = at_test[:, first:last] * target.std(axis=0) + target.mean(axis=0)
        else:
            assert factor.labels is not None
            softmax = multinomial(at_aside[:, first:last], factor.labels[aside], len(factor.levels))
            predicted = scipy.special.softmax(decision(at_test[:, first:last], softmax), axis=1)
        found[factor.name] = ProbeFit(
            sizes=np.abs(ridge.weights[:, first:last]),
            errors=ridge.errors[:, first:last],
            rows=tested,
            fold=np.zeros(len(tested), dtype=np.intp),
            predicted=predicted,
            informativeness=performance(factor, tested, predicted),
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ridge:
    """Ridge regressions of several targets.

    Attributes:
        weights: ``(n_codes, n_targets)``.
        errors: Standard errors of the weights, ``(n_codes, n_targets)``.
        strength: Penalty of the squared weights for each row.
    """

    weights: FloatArray
    errors: FloatArray
    strength: float

    @classmethod
    def of(cls, z: FloatArray, y: FloatArray, z_aside: FloatArray, y_aside: FloatArray) -> Ridge:
        """Fit with the strength that predicts the rows kept aside best, all targets together.

        With fewer rows than codes, products of rows take the place of products of codes.

        Args:
            z: Standardised codes, ``(n_rows, n_codes)``.
            y: Standardised targets, ``(n_rows, n_targets)``.
            z_aside: Codes of other rows, ``(n_aside, n_codes)``.
            y_aside: Targets of other rows, ``(n_aside, n_targets)``.
        """
        few_rows = len(z) < z.shape[1]
        products = z @ z.T if few_rows else z.T @ z
        moment, seen = (y, z_aside @ z.T) if few_rows else (z.T @ y, z_aside)
        solved: dict[float, tuple[float, FloatArray, FloatArray]] = {}

        def loss(strength: float) -> float:
            if strength not in solved:
                triangle = _decomposed(products, strength * len(z))
                inner = scipy.linalg.lapack.dpotrs(triangle, moment)[0]
                lost = float(((y_aside - seen @ inner) ** 2).mean())
                best = min((one[0] for one in solved.values()), default=np.inf)
                solved[strength] = (lost, inner, triangle if lost <= best else triangle[:0])
                for other, (value, *_) in list(solved.items()):
                    if value > min(lost, best):
                        solved[other] = (value, inner[:0], triangle[:0])
            return solved[strength][0]

        best = min(STRENGTHS, key=loss)
        best = min((best / HALF_POWER, best, best * HALF_POWER), key=loss)
        _, inner, triangle = solved[best]
        if few_rows:
            weights = z.T @ inner
            spread = (scipy.linalg.lapack.dpotrs(triangle, z)[0] ** 2).sum(axis=0)
        else:
            weights = inner
            spread = _spread(triangle, best * len(z))
        variance = ((y_aside - z_aside @ weights) ** 2).mean(axis=0)
        errors = np.sqrt(np.maximum(spread[:, None] * variance, 1e-300))
        return cls(weights=weights, errors=errors, strength=best)


def _decomposed(products: FloatArray, penalty: float) -> FloatArray:
    """Cholesky factor of products with a penalty on their diagonal, in its upper triangle."""
    penalised = np.array(products, order="F")
    penalised[np.diag_indices(len(products))] += penalty
    triangle, failed = scipy.linalg.lapack.dpotrf(penalised, lower=0, overwrite_a=True, clean=True)
    if failed:
        raise np.linalg.LinAlgError("products of codes with a penalty are not positive definite.")
    return np.asarray(triangle, dtype=np.float64)


def _spread(triangle: FloatArray, penalty: float) -> FloatArray:
    """Variance of each weight, for a residual variance of 1: the diagonal of B G B, with B the inverse of G + penalty.

    As B G B = B - penalty B², it takes no further product of matrices.
    """
    inverse = np.asarray(scipy.linalg.lapack.dpotri(triangle, lower=0)[0])
    squares = np.triu(inverse) ** 2
    diagonal = np.diagonal(inverse)
    norms = squares.sum(axis=0) + squares.sum(axis=1) - diagonal**2
    return np.asarray(diagonal - penalty * norms)
