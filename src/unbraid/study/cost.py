"""Cost of the rest of a study, estimated from measured speeds and sizes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from unbraid._base.memory import check_memory
from unbraid._base.text import count, duration
from unbraid._base.workers import usable_cores
from unbraid.data import DATASETS, load_dataset
from unbraid.downstream import check_task
from unbraid.metrics import METRICS
from unbraid.metrics.table.metric import InputSize
from unbraid.metrics.table.sources import FOREST, LINEAR
from unbraid.panel.cost import panel_bytes
from unbraid.panel.plan import plan_evidence
from unbraid.representation.formats.headers import file_bytes
from unbraid.study.plan import Ensemble, Measurement, Plan
from unbraid.study.spec import Study
from unbraid.study.state import StudyStatus
from unbraid.study.table import AGREEMENT, SCORE

#: Rows that the evidence of scores (see ``Source.seconds``) and tasks were measured at.
ROWS_MEASURED = (2000, 20_000)
#: CPU seconds at those numbers of rows for a task with one part, trained on seven tenths of the rows.
TASK_SECONDS = {
    "linear": (0.0039, 0.01),
    "boosting": (0.064, 0.16),
    "forest": (0.24, 2.2),
    "mlp": (0.43, 0.93),
}
#: Times as long as with the defaults: linear probes of factors as classes, and forests of full trees with importances
#: by permutation, as in the study ``thesis``, at the smaller number of rows.
CLASS_TIMES, PERMUTATION_TIMES = 1.6, 12.0
#: CPU seconds of the agreement of two models.
AGREEMENT_SECONDS = 3.7e-05
#: Multiplications a second while training: 910 000 pictures, of one H200; and of one core, models of the mini study.
GPU_MULTIPLICATIONS = 4.4e13
CPU_MULTIPLICATIONS = 4.2e9
#: A step of FactorVAE with its discriminator on a GPU, against one of the others.
FACTOR_VAE_TIMES = 2.1
#: Networks of DIVA, three encoders and a decoder, against one of each.
DIVA_TIMES = 2.0
#: Seconds before the first step of an ensemble: the compiler on a GPU, imports on a core.
START_SECONDS = {"cpu": 5.0, "cuda": 26.0}


#: Above these limits a run needs confirmation.
LARGE_GPU_HOURS, LARGE_CORE_HOURS, LARGE_GIGABYTES = 1.0, 2.0, 20.0
#: Beginning of the importances of forests that permute codes.
PERMUTATION = "permutation"
#: Smallest growth of a store that is printed as a number.
SMALL_GIGABYTES = 0.01
#: Bytes for each parameter of a model: the parameter and two moments of Adam, in single precision.
BYTES_PER_PARAMETER = 12
#: Bytes of a row of the table in its shard.
BYTES_PER_ROW = 60
#: Assumed number of parts of a task that has one for each factor.
N_FACTORS = 6
#: Assumed shape of the pictures of official data sets, whose files are not opened for an estimate.
PUBLISHED_SHAPE = (3, 64, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCost:
    """Estimated cost of the rest of a study.

    Attributes:
        n_models: Models to train.
        n_measurements: Scores, tasks and agreements to compute.
        gpu_hours: Hours of one H200.
        core_hours: Hours of one core.
        gigabytes: Growth of the store.
    """

    n_models: int
    n_measurements: int
    gpu_hours: float
    core_hours: float
    gigabytes: float

    @property
    def is_large(self) -> bool:
        """Whether a run needs confirmation."""
        return (
            self.gpu_hours > LARGE_GPU_HOURS or self.core_hours > LARGE_CORE_HOURS or self.gigabytes > LARGE_GIGABYTES
        )

    def sentence(self, workers: int | None = None) -> str:
        """Return the cost as a sentence."""
        if not self.n_models and not self.n_measurements:
            return "To do: nothing; every model is trained, and every measurement has a value or cannot have one."
        n_workers = workers or usable_cores()
        gpu = f"{_hours(self.gpu_hours)} of an H200 and " if self.gpu_hours else ""
        return (
            f"To do: {self.n_models} models to train, {self.n_measurements} measurements; about {gpu}"
            f"{_hours(self.core_hours)} of one core ({_hours(self.core_hours / n_workers)} on {n_workers} cores), "
            f"{_gigabytes(self.gigabytes)} in the store."
        )


def estimate_cost(state: StudyStatus) -> StudyCost:
    """Return the cost of the rest of a study, from speeds measured on one machine: right within a small factor.

    Args:
        state: Status of the study.
    """
    plan, study = state.plan, state.plan.study
    ensembles = state.to_train
    n_models = sum(len(one.members) for one in ensembles)
    multiplications = sum(_multiplications(study, one) for one in ensembles)
    on_gpu = study.training.device.startswith("cuda")
    counted = Counter(one for _, _, one in state.to_measure)
    measuring = sum(count * _seconds(plan, one) for one, count in counted.items())
    training = 0.0 if on_gpu else multiplications / CPU_MULTIPLICATIONS + START_SECONDS["cpu"] * len(ensembles)
    gpu = multiplications / GPU_MULTIPLICATIONS + START_SECONDS["cuda"] * len(ensembles) if on_gpu else 0.0
    return StudyCost(
        n_models=n_models,
        n_measurements=len(state.to_measure),
        gpu_hours=gpu / 3600,
        core_hours=(training + measuring) / 3600,
        gigabytes=(sum(_bytes(study, one) for one in ensembles) + BYTES_PER_ROW * len(state.to_measure)) / 1e9,
    )


#: Bytes of a worker's process with its packages loaded; torch where it trains.
WORKER_BYTES, TORCH_BYTES = 250 * 2**20, 350 * 2**20
#: Copies of the layers' outputs that a training step keeps, and bytes for each parameter: also its gradient.
KEPT_COPIES, TRAINING_BYTES = 6, 20
#: Copies of codes and factors that predictors of tasks make, and that the scores of a given file take.
TASK_COPIES, FILE_COPIES = 30, 10
#: Assumed number of values of a factor.
N_LEVELS = 20


def check_study_memory(state: StudyStatus, *, workers: int | None, memory: str | int | None) -> None:
    """Raise where the workers of this machine together would take more memory than they may.

    Raises:
        TooMuchMemoryError: Before any job starts.
    """
    n_jobs = len(state.to_train) + len(state.to_measure)
    if not n_jobs:
        return
    n_workers = min(workers or usable_cores(), n_jobs)
    work = f"study {state.plan.study.name!r} on {count(n_workers, 'worker')}"
    check_memory(work, n_workers * worker_bytes(state), memory, cure="give fewer --workers")


def worker_bytes(state: StudyStatus) -> float:
    """Estimate the peak memory of one worker: its process, and the largest job of the rest of a study.

    Training takes more members at once where there is room, which is not counted; nor is what is on a GPU.
    """
    study = state.plan.study
    trained = [training_bytes(study, one) for one in state.to_train if not study.training.device.startswith("cuda")]
    measured = [_measuring_bytes(state)] if state.to_measure else []
    return WORKER_BYTES + TORCH_BYTES * bool(state.to_train) + max([*trained, *measured], default=0.0)


def training_bytes(study: Study, ensemble: Ensemble) -> float:
    """Return the memory of one member, and of data that are read from files."""
    how, shape = study.training, _shape(ensemble.dataset)
    member = TRAINING_BYTES * network_parameters(how.width, shape)
    step = 4 * KEPT_COPIES * how.batch * _layer_outputs(how.width, shape)
    entry = DATASETS[ensemble.dataset]
    return member + step + (math.prod(entry.sizes) * math.prod(shape) if entry.files else 0)


def _layer_outputs(width: int, shape: tuple[int, ...]) -> float:
    """Return the numbers that come out of all layers for one picture, encoder and decoder."""
    channels, side, _ = shape
    return 2 * (channels + width / 4 + width / 16 + 2 * width / 64 + 2 * width / 256) * side * side


def _measuring_bytes(state: StudyStatus) -> float:
    """Return the memory of all scores and tasks on one model."""
    study = state.plan.study
    files = {model.file for _, model, _ in state.to_measure if model.file}
    given = FILE_COPIES * max((file_bytes(Path(file)) for file in files), default=0)
    size = InputSize(n_rows=study.rows, n_codes=study.training.n_codes, n_factors=N_FACTORS, n_levels=N_LEVELS)
    names = {one.name for _, _, one in state.to_measure if one.kind == SCORE}
    if not names:
        return max(given, TASK_COPIES * size.n_bytes)
    asked = {*names, *(METRICS[name].family for name in names)}
    options = {name: one for name, one in study.scores.options.items() if name in asked}
    plans = plan_evidence([METRICS[name] for name in sorted(names)], {}, options)
    scored = panel_bytes(size, plans, n_jobs=1, refits=study.scores.intervals or study.scores.nulls)
    return max(given, scored, TASK_COPIES * size.n_bytes)


def network_multiplications(width: int, shape: tuple[int, ...]) -> float:
    """Return the multiplications of one picture through encoder and decoder, four convolutions and one layer each.

    Example:
        >>> round(network_multiplications(32, (1, 64, 64)) / 1e6, 1)
        16.3
        >>> round(network_multiplications(32, (12,)) / 1e3)  # a row of a table, two hidden layers each
        137
    """
    if len(shape) != 3:
        return network_parameters(width, shape)
    channels, side, _ = shape
    sides = [side / 2, side / 4, side / 8, side / 16]
    channels_in, channels_out = (channels, width, width, 2 * width), (width, width, 2 * width, 2 * width)
    layers = [16 * s * s * a * b for s, a, b in zip(sides, channels_in, channels_out, strict=True)]
    return 2 * (sum(layers) + sides[-1] ** 2 * 2 * width * 8 * width)


def network_parameters(width: int, shape: tuple[int, ...]) -> float:
    """Return the number of parameters of encoder and decoder, without biases."""
    if len(shape) != 3:
        return float(2 * (math.prod(shape) * 8 * width + (8 * width) ** 2))
    channels, side, _ = shape
    last = (side / 16) ** 2 * 2 * width * 8 * width
    return 2 * (16 * (channels * width + width**2 + 2 * width**2 + 4 * width**2) + last)


def _multiplications(study: Study, ensemble: Ensemble) -> float:
    """Return the multiplications of training: one forward pass and a backward pass of twice that for each step."""
    how = study.training
    pictures = len(ensemble.members) * how.n_steps * how.batch
    times = FACTOR_VAE_TIMES if ensemble.family == "factor_vae" and how.device.startswith("cuda") else 1.0
    times = DIVA_TIMES if ensemble.family == "diva" else times
    return 3 * times * pictures * network_multiplications(how.width, _shape(ensemble.dataset))


def _bytes(study: Study, ensemble: Ensemble) -> float:
    how = study.training
    model = BYTES_PER_PARAMETER * network_parameters(how.width, _shape(ensemble.dataset))
    return len(ensemble.members) * model + len(ensemble.models) * 4 * study.rows * how.n_codes


def _shape(dataset: str) -> tuple[int, ...]:
    return PUBLISHED_SHAPE if DATASETS[dataset].files else load_dataset(dataset).observation_shape


def _seconds(plan: Plan, one: Measurement) -> float:
    """Return the seconds of one measurement on one model; scores that share evidence share its time."""
    study = plan.study
    if one.kind == AGREEMENT:
        return AGREEMENT_SECONDS * len(study.seed_list)
    if one.kind == SCORE:
        source = METRICS[one.name].source
        beside = [other.name for other in plan.measurements if other.kind == SCORE and other.n_rows == one.n_rows]
        sharing = sum(METRICS[name].source is source for name in beside)
        times = 1 + study.scores.intervals * source.n_replicates / 2 + study.scores.nulls * source.n_nulls
        return _at(source.seconds, one.n_rows) * times * _option_times(study, one.name) / sharing
    n_train = one.size if one.size > 1 else one.size * study.rows
    n_parts = len(check_task(one.task).parts) or N_FACTORS
    return n_parts * _at(TASK_SECONDS[one.predictor], n_train)


def _option_times(study: Study, name: str) -> float:
    """Return how many times as long the probe of a score takes with the options of a study as with the defaults."""
    source, spec = METRICS[name].source, study.scores
    options = spec.options.get(METRICS[name].family, {}) | spec.options.get(name, {})
    if source is FOREST and str(options.get("importance", "")).startswith(PERMUTATION):
        return PERMUTATION_TIMES
    return CLASS_TIMES if source is LINEAR and spec.classes else 1.0


def _at(measured: tuple[float, float], n_rows: float) -> float:
    """Return seconds at a number of rows, on the line through the two measured points."""
    (small, large), (few, many) = measured, ROWS_MEASURED
    return max(small * min(1.0, n_rows / few), small + (large - small) * (n_rows - few) / (many - few))


def _gigabytes(size: float) -> str:
    return f"{size:.2g} GB" if size >= SMALL_GIGABYTES else f"less than {SMALL_GIGABYTES:g} GB"


def _hours(hours: float) -> str:
    return duration(max(3600 * hours, 1.0))
