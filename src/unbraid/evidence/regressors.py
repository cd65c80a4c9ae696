"""Regressions by name, or any scikit-learn estimator, fitted on some rows and judged on others."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from unbraid._typing import FloatArray, IntArray
from unbraid._validation import check_choice
from unbraid.evidence.bagging import Forest

RegressorName = Literal["forest", "extra", "linear"]
Predictions = Literal["cross_fitted", "held_out", "in_sample"]
Split = tuple[IntArray, IntArray]
HELD_OUT_SHARE = 0.2
MAX_ROWS_A_TREE = 20_000


def check_regressor(regressor: object) -> None:
    """Raise unless it is a known name or can fit and predict."""
    if isinstance(regressor, str):
        check_choice("regressor", regressor, get_args(RegressorName))
    elif isinstance(regressor, type) or not (hasattr(regressor, "fit") and hasattr(regressor, "predict")):
        raise TypeError(
            f"regressor must be one of {', '.join(get_args(RegressorName))} or a scikit-learn regressor, "
            f"got {regressor!r}."
        )


def make_regressor(regressor: Any, *, n_trees: int, min_leaf: int, seed: int) -> Any:
    """Return a fresh regression that draws its chance from ``seed``."""
    if regressor in ("forest", "extra"):
        extra = regressor == "extra"
        return Forest(n_trees=n_trees, min_leaf=min_leaf, is_extra=extra, max_rows=MAX_ROWS_A_TREE, seed=seed)
    from sklearn import base, linear_model

    if regressor == "linear":
        return linear_model.LinearRegression()
    fresh = base.clone(regressor)
    seeds = {name: seed for name in fresh.get_params() if name.rpartition("__")[2] == "random_state"}
    return fresh.set_params(**seeds)


def predict(
    inputs: FloatArray,
    targets: FloatArray,
    splits: list[Split],
    regressor: Any,
    *,
    n_trees: int,
    min_leaf: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Predict every target on the rows that a split judges; NaN on rows that none does."""
    found = np.full(targets.shape, np.nan)
    for (train, test), child in zip(splits, rng.spawn(len(splits)), strict=True):
        # Forests grow one tree for all columns of a target; other estimators may not, so they get one at a time.
        together = isinstance(regressor, str)
        parts = [np.arange(targets.shape[1])] if together else [np.array([c]) for c in range(targets.shape[1])]
        for part in parts:
            seed = int(child.integers(2**31))
            model = make_regressor(regressor, n_trees=n_trees, min_leaf=min_leaf, seed=seed)
            wanted = targets[np.ix_(train, part)]
            model.fit(inputs[train], wanted[:, 0] if len(part) == 1 else wanted)
            found[np.ix_(test, part)] = np.asarray(model.predict(inputs[test])).reshape(len(test), len(part))
    return found


def make_splits(n_rows: int, predictions: Predictions, n_folds: int, rng: np.random.Generator) -> list[Split]:
    """Rows to fit on and rows to judge on: each fold in turn, one part kept aside, or the same rows for both."""
    if predictions == "in_sample":
        return [(np.arange(n_rows), np.arange(n_rows))]
    order = rng.permutation(n_rows)
    if predictions == "held_out":
        n_test = max(1, round(HELD_OUT_SHARE * n_rows))
        return [(np.sort(order[n_test:]), np.sort(order[:n_test]))]
    fold = order % n_folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
