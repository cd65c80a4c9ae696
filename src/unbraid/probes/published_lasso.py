"""The Lasso of one published library, on whose scores several papers rest."""

import warnings

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.probes.importance import Columns, Importance, as_shares, r_squared
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

#: Strengths of the published Lasso, of which ten folds choose one.
PUBLISHED_STRENGTHS = (0.0001, 0.001, 0.01, 0.1, 0.2, 0.4, 0.8, 1.0)
N_PUBLISHED_FOLDS, PUBLISHED_SWEEPS = 10, 5000


def published_lasso(rep: Representation, *, columns: Columns) -> Importance:
    """Fit the Lasso of one published library, on whose scores several papers rest.

    Codes and factors are scaled to [0, 1]. Ten consecutive folds choose one of eight strengths; the fit is on all rows,
    and so is the test. No coefficient is set to 0 but by the Lasso, and a factor without any counts all the same.

    Raises:
        ValueError: A factor that is no number.
    """
    names = [factor.name for factor in rep.factors if not factor.is_numeric]
    if names:
        raise ValueError(
            f"strength='published' regresses numbers, got categorical factor {names[0]!r}; declare it 'ordinal', or "
            "choose another strength."
        )
    found = [_published_fit(scaled_to_range(rep.codes), factor) for factor in rep.factors]
    weights = [one for one, _ in found]
    return Importance(
        matrix=np.stack([as_shares(one) if columns == "shares" else one for one in weights], axis=1),
        informativeness=np.array([share for _, share in found]),
        in_accuracy=np.zeros(rep.n_factors),
        counts_all=True,
    )


def _published_fit(codes: FloatArray, factor: Factor) -> tuple[FloatArray, float]:
    """Absolute coefficients of the Lasso of one factor, and R² on the rows it was fitted to."""
    # Its solver, stopping rule and all: of codes that are nearly collinear, the rule decides which have coefficients.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso

    rows = np.flatnonzero(factor.labelled)
    x, y = codes[rows], scaled_to_range(factor.targets(rows))
    errors = np.zeros(len(PUBLISHED_STRENGTHS))
    with warnings.catch_warnings():  # the library stops there without a word
        warnings.simplefilter("ignore", ConvergenceWarning)
        for test in np.array_split(np.arange(len(rows)), N_PUBLISHED_FOLDS):
            train = np.setdiff1d(np.arange(len(rows)), test, assume_unique=True)
            for s, strength in enumerate(PUBLISHED_STRENGTHS):
                fitted = Lasso(alpha=strength, max_iter=PUBLISHED_SWEEPS).fit(x[train], y[train])
                errors[s] += ((y[test] - fitted.predict(x[test]).reshape(len(test), -1)) ** 2).mean()
        chosen = Lasso(alpha=PUBLISHED_STRENGTHS[int(errors.argmin())], max_iter=PUBLISHED_SWEEPS).fit(x, y)
    weights = np.abs(np.atleast_2d(chosen.coef_)).sum(axis=0)
    return weights, max(0.0, r_squared(y, chosen.predict(x).reshape(len(x), -1)))


def scaled_to_range(columns: FloatArray) -> FloatArray:
    """Bring each column to [0, 1]; a constant column becomes 0."""
    size = np.ptp(columns, axis=0)
    return np.asarray((columns - columns.min(axis=0)) / np.where(size > 0, size, 1.0))
