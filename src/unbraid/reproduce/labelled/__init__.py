"""Experiments with models that read labels: DIVA, VFAE and DC-IGN; and the probes that read labels from codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray

N_TREES = 100


class Read(NamedTuple):
    """Accuracy of a label read from codes, by a linear map and by a forest."""

    linear: float
    forest: float


def read_label(train_codes: FloatArray, train: IntArray, codes: FloatArray, labels: IntArray, *, seed: int) -> Read:
    """Fit both probes on some rows and return their accuracy on others."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    middle, scale = train_codes.mean(axis=0), np.maximum(train_codes.std(axis=0), 1e-12)
    fitted, tested = (train_codes - middle) / scale, (codes - middle) / scale
    linear = LogisticRegression(max_iter=1000).fit(fitted, train)
    forest = RandomForestClassifier(N_TREES, random_state=seed).fit(fitted, train)
    return Read(float(linear.score(tested, labels)), float(forest.score(tested, labels)))


def majority(labels: IntArray) -> float:
    """Return the share of the most frequent label: the accuracy of one who knows nothing of a row."""
    return float(np.bincount(labels).max() / len(labels))
