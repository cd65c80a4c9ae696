"""Networks by width: a linear probe, then ever wider two-layer networks added to it."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid._base.optional import require
from unbraid.probes.capacity.base import CapacityTask, FittedLadder, Probe, check_sizes
from unbraid.probes.linear import EXACT_UP_TO, fit_linear, multinomial, predict_linear, row_axes, whitening_axes
from unbraid.representation.factor import Factor

MULTIPLES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
Networks = Literal["shared", "separate"]
Capacity = Literal["excess", "parameters"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MLPLadder:
    """A linear probe, then that probe plus a network with two hidden layers of growing width.

    Each level contains the one below: the network is added to the linear probe, and a wider network starts as the
    narrower one, fitted, with new units whose outputs begin at 0. So no level has to learn again what the one
    before it knew. Training stops when the validation loss does, and keeps the best weights. Where there are fewer
    than ten training rows for each code, the linear probe is a ridge regression whose penalty the validation rows
    choose: without a penalty it would fit the training rows by heart, and leave nothing to learn from.

    Attributes:
        widths: Units in each hidden layer, in multiples of the number of factors, increasing.
        networks: ``"shared"``: one network for all factors, as in the text of the paper; ``"separate"``: one for each,
            as in its published code, at many times the cost.
        capacity: ``"excess"``: log of 1 + the parameters beyond the linear probe's; ``"parameters"``: log of all.
        n_steps: Steps at most; fewer for networks wider than 448, in proportion, as they learn in fewer steps and
            each costs more.
        batch_size: Rows of a step.
        learning_rate: Of Adam, at its highest.
        patience: Evaluations of the validation loss, of 20 in all, without improvement after which training stops.
        device: ``"cpu"`` or ``"cuda"``.
    """

    name: ClassVar[str] = "mlp"
    starts_linear: ClassVar[bool] = True
    usual_importance: ClassVar[str] = "sage"  # a network has no weight for a single code
    widths: tuple[int, ...] = MULTIPLES
    networks: Networks = "shared"
    capacity: Capacity = "excess"
    n_steps: int = 1000
    batch_size: int = 256
    learning_rate: float = 3e-3
    patience: int = 4
    device: str = "cpu"

    def __post_init__(self) -> None:
        # The linear probe is a level of its own, so that one width makes a ladder.
        check_sizes("widths", (0, *self.widths) if isinstance(self.widths, tuple) else self.widths, 0)
        check_choice("networks", self.networks, get_args(Networks))
        check_choice("capacity", self.capacity, get_args(Capacity))
        check_at_least("n_steps", self.n_steps, 1)
        check_at_least("batch_size", self.batch_size, 1)
        check_at_least("patience", self.patience, 1)
        if not 0 < self.learning_rate < 1:
            raise ValueError(f"learning_rate must be in (0, 1), got {self.learning_rate}.")

    @property
    def axis(self) -> str:
        """What the capacities are."""
        beyond = " beyond the linear probe" if self.capacity == "excess" else ""
        return f"log of the parameters{beyond}"

    def fit(self, task: CapacityTask, *, rng: np.random.Generator) -> FittedLadder:
        """Fit the linear probe in closed form, then widen."""
        require("the mlp ladder", "torch", extra="torch", otherwise="choose ladder='forest', 'fourier' or 'linear'")
        from unbraid.probes.network import fit_networks

        axes = self._axes(task, rng)
        white = task if axes is None else replace(task, codes=task.codes @ axes)
        starts = _linear_starts(white, np.ones(task.codes.shape[1]) if axes is None else np.linalg.norm(axes, axis=0))
        fitted = fit_networks(self, white, starts, rng)
        levels = range(len(self.widths) + 1)

        def everywhere(rows: IntArray) -> list[FloatArray]:
            columns = zip(*(fitted.predict(t, white.codes[rows]) for t in levels), strict=True)
            return [np.stack(column) for column in columns]

        def probe(level: int) -> Probe:
            return Probe(
                predict=lambda new: fitted.predict(level, new if axes is None else new @ axes),
                by_sums=lambda: fitted.by_sums(level, axes),
            )

        return FittedLadder(
            capacities=self._capacities(task.codes.shape[1], [start.shape[1] for start in starts]),
            validation=everywhere(task.split.validation),
            test=everywhere(task.split.test),
            probe=probe,
        )

    def _axes(self, task: CapacityTask, rng: np.random.Generator) -> FloatArray | None:
        """Axes along which the codes are uncorrelated: networks can compute the same functions, and train faster.

        ``None`` for very many codes, on which networks train as they are.
        """
        n_codes = task.codes.shape[1]
        if n_codes > EXACT_UP_TO:
            return None
        return whitening_axes(task.codes[task.split.train], n_codes, rng=rng)

    def _capacities(self, n_codes: int, n_outputs: list[int]) -> FloatArray:
        """Log of the parameters of the network that predicts each factor."""
        shared = self.networks == "shared"
        columns = []
        for own in n_outputs:
            outputs = sum(n_outputs) if shared else own
            widths = np.array([0, *self.widths], dtype=float) * len(n_outputs)
            excess = widths * (n_codes + 1) + widths * (widths + 1) + widths * outputs
            linear = (n_codes + 1) * outputs
            columns.append(np.log(1 + excess) if self.capacity == "excess" else np.log(linear + excess))
        return np.stack(columns)


#: With fewer training rows for each code, the penalty of the linear probe is chosen.
ROWS_A_CODE = 10
#: Penalties tried, in units of the mean variance of the principal axes.
PENALTIES = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
#: Penalties tried for the classifiers of a category, which take longer to fit.
CLASSIFIER_PENALTIES = (1.0, 10.0, 100.0, 1000.0)


def _linear_starts(task: CapacityTask, inverse_scale: FloatArray) -> list[FloatArray]:
    """Fit the linear probe of every factor; of very many codes the same one, along axes that span the training rows."""
    train, n_codes = task.split.train, task.codes.shape[1]
    if n_codes <= max(EXACT_UP_TO, len(train)):
        return [linear_start(task, factor, inverse_scale) for factor in task.factors]
    axes = row_axes(task.codes[train])
    narrow = replace(task, codes=task.codes @ axes)
    fits = [linear_start(narrow, factor, np.ones(axes.shape[1])) for factor in task.factors]
    return [np.vstack([axes @ fit[:-1], fit[-1:]]) for fit in fits]


def linear_start(task: CapacityTask, factor: Factor, inverse_scale: FloatArray) -> FloatArray:
    """Fit the linear probe of one factor; where rows are few, with the penalty that predicts validation rows best.

    Args:
        task: Codes along uncorrelated axes of unit variance, and rows.
        factor: Factor to predict.
        inverse_scale: One over the deviation of the codes along each axis, ``(n_axes,)``: a penalty is one of
            coefficients in the units of the codes, so that axes along which codes hardly vary count little.

    Returns:
        Coefficients with the intercept last, ``(n_axes + 1, n_outputs)``.
    """
    rows, validation = (task.labelled(factor, part) for part in (task.split.train, task.split.validation))
    if len(rows) >= ROWS_A_CODE * task.codes.shape[1]:
        return fit_linear(task.codes[rows], factor, rows)
    scale = np.sqrt(np.mean(1 / inverse_scale**2)) * inverse_scale
    fits = _ridge_path(task.codes[rows], factor, rows, scale)
    losses = [_validation_loss(task.codes[validation], fit, factor, validation) for fit in fits]
    return fits[int(np.argmin(losses))]


def _ridge_path(codes: FloatArray, factor: Factor, rows: IntArray, scale: FloatArray) -> list[FloatArray]:
    """Coefficients for each penalty, fitted to codes divided by ``scale``."""
    scaled = codes / scale
    if not factor.is_numeric:
        assert factor.labels is not None
        labels, n_levels = factor.labels[rows], len(factor.levels)
        if len(np.unique(labels)) == 1:
            return [fit_linear(codes, factor, rows)]
        fits = [multinomial(scaled, labels, n_levels, penalty=penalty).T for penalty in CLASSIFIER_PENALTIES]
    else:
        targets = factor.targets(rows)
        centre, middle = targets.mean(axis=0), scaled.mean(axis=0)
        left, values, right = np.linalg.svd(scaled - middle, full_matrices=False)
        moment = left.T @ (targets - centre)
        fits = []
        for penalty in PENALTIES:
            weights = right.T @ ((values / (values**2 + penalty * len(rows)))[:, None] * moment)
            fits.append(np.vstack([weights, centre - middle @ weights]))
    for fit in fits:
        fit[:-1] /= scale[:, None]
    return fits


def _validation_loss(codes: FloatArray, fit: FloatArray, factor: Factor, rows: IntArray) -> float:
    """Squared error, or cross-entropy."""
    predicted = predict_linear(codes, fit, factor)
    if factor.is_numeric:
        return float(((factor.targets(rows) - predicted) ** 2).sum())
    assert factor.labels is not None
    return float(-np.log(np.maximum(predicted[np.arange(len(rows)), factor.labels[rows]], 1e-12)).sum())
