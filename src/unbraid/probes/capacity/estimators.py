"""A ladder of the user's own: any scikit-learn estimators, each with a capacity."""

import warnings
from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.probes.capacity.base import CapacityTask, FittedLadder, Probe, check_increasing
from unbraid.representation.factor import Factor


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityLevel:
    """One capacity of a ladder, and the estimators of that capacity.

    Attributes:
        capacity: A number that grows from level to level.
        regressor: Estimator for numbers and angles, with ``fit`` and ``predict``; ``None`` where no factor is numeric.
        classifier: Estimator for categories, with ``fit`` and ``predict_proba`` or ``predict``; ``None`` where no
            factor is categorical.
    """

    capacity: float
    regressor: Any = None
    classifier: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorLadder:
    """The user's own estimators, cloned and fitted for each factor.

    Attributes:
        levels: In order of capacity.
        rungs: The earlier name of ``levels``.
        name: Short name, for tables.
        axis: Unit of the capacities.
        starts_linear: Whether the first level is a linear probe of all codes.
    """

    levels: tuple[CapacityLevel, ...] = ()
    rungs: InitVar[tuple[CapacityLevel, ...]] = ()
    name: str = "estimators"
    axis: str = "capacity"
    starts_linear: bool = False

    def __post_init__(self, rungs: tuple[CapacityLevel, ...]) -> None:
        if rungs:
            words = "rungs of EstimatorLadder are now called levels; the old name goes with the next release."
            warnings.warn(words, DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "levels", rungs)
        if not isinstance(self.levels, tuple) or not all(isinstance(level, CapacityLevel) for level in self.levels):
            raise TypeError(
                f"levels must be a tuple of CapacityLevel(capacity=..., regressor=...), got {self.levels!r}."
            )
        check_increasing("capacities of levels", [level.capacity for level in self.levels])

    @property
    def usual_importance(self) -> str:
        """SAGE, which treats any estimator as a black box."""
        return "sage"

    def fit(self, task: CapacityTask, *, rng: np.random.Generator) -> FittedLadder:
        """Fit a clone for every level and factor."""
        self._check(task.factors)
        models = [[_fit(level, factor, task, rng) for level in self.levels] for factor in task.factors]

        def everywhere(rows: FloatArray) -> list[FloatArray]:
            return [
                np.stack([_predict(model, rows, factor) for model in column])
                for column, factor in zip(models, task.factors, strict=True)
            ]

        def probe(level: int) -> Probe:
            return Probe(
                predict=lambda new: [
                    _predict(column[level], new, factor) for column, factor in zip(models, task.factors, strict=True)
                ]
            )

        return FittedLadder(
            capacities=np.tile([float(level.capacity) for level in self.levels], (len(task.factors), 1)),
            validation=everywhere(task.codes[task.split.validation]),
            test=everywhere(task.codes[task.split.test]),
            probe=probe,
        )

    def _check(self, factors: Sequence[Factor]) -> None:
        for factor in factors:
            kind = "regressor" if factor.is_numeric else "classifier"
            for number, level in enumerate(self.levels, start=1):
                if getattr(level, kind) is None:
                    raise ValueError(
                        f"level {number} has no {kind}, which the {factor.kind} factor {factor.name!r} needs; "
                        f"give CapacityLevel(capacity={level.capacity:g}, {kind}=...)."
                    )


def _fit(level: CapacityLevel, factor: Factor, task: CapacityTask, rng: np.random.Generator) -> Any:
    from sklearn.base import clone
    from sklearn.multioutput import MultiOutputRegressor

    model = clone(level.regressor if factor.is_numeric else level.classifier)
    # Steps of a pipeline have seeds of their own; sorted, so that the order of its parameters does not matter.
    seeded = sorted(name for name in model.get_params() if name.rpartition("__")[2] == "random_state")
    model.set_params(**{name: int(rng.integers(2**31)) for name in seeded})
    rows = task.labelled(factor, task.split.train)
    if not factor.is_numeric:
        assert factor.labels is not None
        return model.fit(task.codes[rows], factor.labels[rows])
    targets = factor.targets(rows)
    if targets.shape[1] > 1:  # an angle has two targets, and many regressors take only one
        return MultiOutputRegressor(model).fit(task.codes[rows], targets)
    return model.fit(task.codes[rows], targets[:, 0])


def _predict(model: Any, codes: FloatArray, factor: Factor) -> FloatArray:
    if factor.is_numeric:
        return np.asarray(model.predict(codes), dtype=float).reshape(len(codes), -1)
    shares = np.zeros((len(codes), len(factor.levels)))
    if hasattr(model, "predict_proba"):
        shares[:, model.classes_] = model.predict_proba(codes)
    else:
        shares[np.arange(len(codes)), model.predict(codes)] = 1.0
    return shares
