"""Linear probes of wide codes, on the codes that tell most.

Codes are chosen on one part of the rows, fitted on a second and tested on a third, so that neither standard errors nor
predictions profit from the choice of the best among very many codes.
"""

from __future__ import annotations

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.probes.bins import ENOUGH_ROWS, shared_bins, telling
from unbraid.probes.importance import ProbeFit, in_errors, performance
from unbraid.probes.linear import LEAST_ROWS_A_CODE, coefficients_with_errors, decision, one_vs_rest
from unbraid.probes.splits import standardise
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

#: More codes than this are chosen from.
MOST_FITTED = 256
#: Share of the rows that codes are chosen on, and that probes are tested on.
CHOOSING_SHARE, TEST_SHARE = 0.3, 0.3
#: Codes that are fitted, at least.
LEAST_FITTED = 8
#: Ratio of a coefficient to its standard error that is as good as 0.
LEAST_RATIO = 1e-6


def fit_chosen_codes(rep: Representation, rng: np.random.Generator) -> dict[str, ProbeFit]:
    """Fit a linear probe for each factor on the codes that tell most about any.

    All factors share the parts of the rows. Numbers are fitted by least squares, values by logistic regressions.
    """
    order = rng.permutation(rep.n_samples)
    n_choosing, n_tested = (int(share * rep.n_samples) for share in (CHOOSING_SHARE, TEST_SHARE))
    choosing = np.sort(order[:n_choosing][:ENOUGH_ROWS])
    tested, fitted = np.sort(order[n_choosing : n_choosing + n_tested]), np.sort(order[n_choosing + n_tested :])
    bins = shared_bins(rep)
    assert bins is not None
    places = [np.flatnonzero(factor.labelled[choosing]) for factor in rep.factors]
    tasks = [(own, factor.targets(choosing[own])) for factor, own in zip(rep.factors, places, strict=True)]
    tells = np.stack(telling(bins[choosing], tasks))
    n_chosen = int(np.clip(len(fitted) // LEAST_ROWS_A_CODE, LEAST_FITTED, MOST_FITTED))
    # All factors are fitted on the same codes: one that only its best factor had chosen would seem to be of one factor.
    best = (tells / np.maximum(tells.max(axis=1, keepdims=True), np.finfo(float).tiny)).max(axis=0)
    chosen = np.sort(np.argsort(-best, kind="stable")[:n_chosen])
    return {
        factor.name: _fit(rep.codes, factor, fitted[factor.labelled[fitted]], tested[factor.labelled[tested]], chosen)
        for factor in rep.factors
    }


def _fit(codes: FloatArray, factor: Factor, rows: IntArray, tested: IntArray, chosen: IntArray) -> ProbeFit:
    x, x_test = standardise(codes[np.ix_(rows, chosen)], codes[np.ix_(tested, chosen)])
    targets = factor.targets(rows)
    slopes, errors = coefficients_with_errors(x, standardise(targets)[0])
    if factor.is_numeric:
        found = np.abs(slopes)
        predicted = x_test @ (slopes * targets.std(axis=0)) + targets.mean(axis=0)
    else:
        assert factor.labels is not None
        coefficients = one_vs_rest(x, factor.labels[rows], len(factor.levels))
        found = np.abs(coefficients[:, :-1]).T
        errors = found / np.maximum(in_errors(np.abs(slopes), errors), LEAST_RATIO)
        predicted = scipy.special.expit(decision(x_test, coefficients))
    sizes, all_errors = np.zeros((codes.shape[1], found.shape[1])), np.ones((codes.shape[1], found.shape[1]))
    sizes[chosen], all_errors[chosen] = found, errors
    return ProbeFit(
        sizes=sizes,
        errors=all_errors,
        rows=tested,
        fold=np.zeros(len(tested), dtype=np.intp),
        predicted=predicted,
        informativeness=performance(factor, tested, predicted),
    )
