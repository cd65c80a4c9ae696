"""Predictors of downstream tasks: linear and logistic models, boosted trees, forests, networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_choice
from unbraid._base.optional import require
from unbraid._base.workers import Workers
from unbraid.probes.capacity import MLPLadder
from unbraid.probes.capacity.base import CapacityTask
from unbraid.probes.importance import ProbeTask
from unbraid.probes.linear import fit_linear, predict_linear
from unbraid.probes.splits import Split
from unbraid.probes.trees import BoostingOptions, ForestOptions, fit_boosting, fit_forest

#: Units in each of the two hidden layers of the network.
WIDTH = 128
#: Share of the training rows that are validation rows for early stopping.
VALIDATION_SHARE = 0.15
#: Forests as in published code: each tree draws as many rows as there are, where trees of scores draw few.
FOREST = ForestOptions(n_trees=50, rows_a_tree=0)

Predict = Callable[[ProbeTask, np.random.Generator], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """A way to predict classes, numbers or angles from codes.

    Attributes:
        name: As tables and study files call it.
        description: Description, in a sentence.
        predict: From standardised codes to labels (classes) or targets (numbers, angles) of the held-out rows.
        finds_masks: Whether it can say which pixels show the object.
    """

    name: str
    description: str
    predict: Predict
    finds_masks: bool


def predict_linearly(task: ProbeTask, rng: np.random.Generator) -> FloatArray:
    """Least squares for numbers and angles, softmax regression with a ridge for classes."""
    coefficients = fit_linear(task.codes, task.factor, task.train)
    return _decided(task, predict_linear(task.test_codes, coefficients, task.factor))


def predict_by_forest(task: ProbeTask, rng: np.random.Generator) -> FloatArray:
    """Average of trees on bootstrapped rows."""
    return fit_forest(FOREST, task, int(rng.integers(2**31))).predict(task.test_codes)


def predict_by_boosting(task: ProbeTask, rng: np.random.Generator) -> FloatArray:
    """Sum of small trees, each fitted to the residual of those before."""
    return fit_boosting(BoostingOptions(n_leaves=15), task, int(rng.integers(2**31))).predict(task.test_codes)


def predict_by_network(task: ProbeTask, rng: np.random.Generator) -> FloatArray:
    """A linear model plus a network with two hidden layers, Kaiming initialised, stopped early."""
    require("the mlp predictor", "torch", extra="torch")
    n_train, n_test = len(task.train), len(task.test)
    order = rng.permutation(n_train)
    n_aside = max(1, round(VALIDATION_SHARE * n_train))
    split = Split(train=order[n_aside:], validation=order[:n_aside], test=np.arange(n_train, n_train + n_test))
    both = CapacityTask(
        codes=np.concatenate([task.codes, task.test_codes]),
        factors=(task.factor.take(np.concatenate([task.train, task.test])),),
        split=split,
        workers=Workers(1, torch_threads=1),
    )
    # The widest level of a ladder with one network on it.
    predicted = MLPLadder(widths=(WIDTH,)).fit(both, rng=rng).test[0][-1]
    return _decided(task, predicted)


_ROWS = (
    Predictor(
        name="linear",
        description="Least squares for numbers, logistic regression for classes.",
        predict=predict_linearly,
        finds_masks=True,
    ),
    Predictor(
        name="boosting",
        description="100 rounds of gradient-boosted trees with 15 leaves.",
        predict=predict_by_boosting,
        finds_masks=False,
    ),
    Predictor(
        name="forest",
        description="A random forest of 50 trees of all rows with at least 5 rows in a leaf.",
        predict=predict_by_forest,
        finds_masks=False,
    ),
    Predictor(
        name="mlp",
        description=f"A linear model plus a network with two hidden layers of {WIDTH}; needs torch.",
        predict=predict_by_network,
        finds_masks=True,
    ),
)

#: Predictors by name.
PREDICTORS: Mapping[str, Predictor] = MappingProxyType({row.name: row for row in _ROWS})


def check_predictor(name: Any) -> Predictor:
    """Return the predictor of this name.

    Raises:
        ValueError: No such predictor, with the nearest name.
    """
    check_choice("predictor", name, PREDICTORS)
    return PREDICTORS[name]


def _decided(task: ProbeTask, predicted: FloatArray) -> FloatArray:
    """Turn probabilities into the likeliest label."""
    return predicted if task.factor.is_numeric else predicted.argmax(axis=1).astype(np.float64)
