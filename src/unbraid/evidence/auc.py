"""Area under the ROC curve, for many scores at once."""

import numpy as np

from unbraid._statistics import average_ranks
from unbraid._typing import FloatArray, IntArray


def auc_by_level(scores: FloatArray, labels: IntArray) -> FloatArray:
    """AUC of each column of scores for its own level against the rest.

    Args:
        scores: Higher means "this level", ``(n_samples, n_levels)``.
        labels: True level of each row.

    Returns:
        ``(n_levels,)``; NaN for a level with no row, or all rows.
    """
    n_samples, n_levels = scores.shape
    ranks = average_ranks(scores)
    members = np.bincount(labels, minlength=n_levels).astype(float)
    own = np.bincount(labels, weights=ranks[np.arange(n_samples), labels], minlength=n_levels)
    pairs = members * (n_samples - members)
    with np.errstate(invalid="ignore", divide="ignore"):
        area: FloatArray = (own - members * (members + 1) / 2) / pairs
    return np.where(pairs > 0, area, np.nan)
