"""What each code of a trained model tells, in nats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid._typing import FloatArray
from unbraid.models._encode import CHUNK, drawn_rows

if TYPE_CHECKING:
    from unbraid.models.ensemble import TrainedEnsemble


def code_rates(ensemble: TrainedEnsemble, dataset: Any, *, n: int | None = None, seed: int = 0) -> FloatArray:
    r"""Measure how far each code's posterior is from the standard normal, on average over a data set.

    For code :math:`j` of a member, with the mean and deviation that its encoder gives for a row,

    .. math::

        R_j = \frac{1}{n} \sum_{i=1}^{n} \frac{1}{2} \bigl( \mu_{ij}^2 + \sigma_{ij}^2 - 1 \bigr) - \log \sigma_{ij}.

    A code whose rate is near 0 tells nothing: its posterior is the prior, whatever the row. The rates of a member add
    up to the KL term of its loss where the prior is standard normal.

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
        mean, deviation = ensemble.posterior(np.asarray(dataset.observations(rows[start : start + CHUNK])))
        total += gaussian_rate(mean, deviation).sum(axis=1)
    return total / len(rows)


def gaussian_rate(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the divergence of Gaussians from the standard normal, in nats, entry by entry."""
    rate: FloatArray = (mean**2 + deviation**2 - 1) / 2 - np.log(deviation)
    return rate
