"""Plan of a study: models, measurements and their content keys; codes in files."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins

from unbraid._base.arrays import IntArray
from unbraid._version import __version__
from unbraid.downstream import GAP, HELD_OUT, SplitKind
from unbraid.panel.plan import metric_options
from unbraid.probes.splits import TEST_SHARE, split_rows
from unbraid.study.spec import LATER, RENAMED, Family, Study, Training
from unbraid.study.table import AGREEMENT, MODEL, SCORE, TASK

#: Characters of a key: 96 bits, beyond any chance of two being equal by accident.
LENGTH = 24


def content_key(*parts: Any) -> str:
    """Return a hash of plain data: texts, numbers, lists and dictionaries, whose order of keys does not matter.

    Example:
        >>> content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1}) != content_key({"a": 1})
        True
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


#: Raised when training the same settings gives other models than before.
TRAINING = 1
#: Raised when the same settings score other rows than before.
SCORED_ROWS = 2
#: By name of a predictor: raised when it predicts otherwise than before from the same rows.
PREDICTED: Mapping[str, int] = {"forest": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model whose codes are measured: one to train, or codes in a file.

    Attributes:
        key: Hash of what makes the codes.
        dataset: Name of the data.
        family: Of the model.
        hyperparameter: Value of the hyperparameter that names the setting; ``None`` for a family without one.
        seed: Of the model.
        codes: Path of the codes in the store; empty for a file.
        file: Path of the codes on this machine; empty for a model to train.
    """

    key: str
    dataset: str
    family: str
    hyperparameter: float | None
    seed: int
    codes: str = ""
    file: str = ""

    @property
    def label(self) -> str:
        """The model in a few words."""
        value = "" if self.hyperparameter is None else f" {self.hyperparameter:g}"
        return f"{self.family}{value} seed {self.seed} on {self.dataset}"

    def columns(self) -> dict[str, Any]:
        """Return the columns that identify this model in every row of the table."""
        return {
            "model": self.key,
            "dataset": self.dataset,
            "family": self.family,
            "hyperparameter": self.hyperparameter,
            "seed": self.seed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """Models that are trained together.

    Attributes:
        key: Hash of the data and every training setting.
        dataset: Name of the data.
        family: Family of all members.
        hyperparameters: By name, one number for each member.
        members: The models, with their seeds.
        elsewhere: The same models with the codes of data sets that they are not trained on: all members on the first
            data set, then on the next.
        options: Labels that the family reads, where the study gives them.
    """

    key: str
    dataset: str
    family: str
    hyperparameters: dict[str, tuple[float, ...]]
    members: tuple[Model, ...]
    elsewhere: tuple[Model, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def models(self) -> tuple[Model, ...]:
        """Everything that is measured: the members, on all data sets."""
        return (*self.members, *self.elsewhere)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A score, task or agreement to compute for every model; its key does not depend on the model.

    Attributes:
        key: Hash of the measurement and its options.
        kind: ``"score"`` or ``"task"`` or ``"agreement"``.
        name: Of the metric, task or method.
        n_rows: Rows to score, if the data set has as many rows as the study asks for; of tasks, see ``size``.
        predictor: Predictor that solves a task.
        size: Size of the scored sample or of a task's training set, as the study has it: a number of rows, or a share.
        only: Data sets it is computed on; all if empty.
        models: Keys of the models it is computed on; all if empty.
    """

    key: str
    kind: str
    name: str
    n_rows: int = 0
    predictor: str = ""
    size: float = 0.0
    only: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """Name of the task, without the split that it is solved on."""
        return self.name.removesuffix(HELD_OUT).removesuffix(GAP)

    @property
    def split(self) -> SplitKind:
        """The split that a task is solved on."""
        return "combinations" if self.name.endswith((HELD_OUT, GAP)) else "rows"

    def on(self, model: Model) -> str:
        """Return the key of this measurement on a model."""
        return f"{model.key}-{self.key}"


@dataclass(frozen=True)
class Plan:
    """Everything that a study has to train and to measure.

    Attributes:
        study: The study.
        ensembles: Ensembles to train.
        models: Models to measure: the members of the ensembles, or codes in files.
    """

    study: Study
    ensembles: tuple[Ensemble, ...]
    models: tuple[Model, ...]

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        """Scores and tasks, which are computed for each model alone."""
        further = _scores(self.study, self.study.convergence_rows, self.first_models) if self.first_models else ()
        return (*_scores(self.study, self.study.score_rows), *_tasks(self.study), *further)

    @cached_property
    def first_models(self) -> tuple[str, ...]:
        """Keys of the first model of each data set, which are scored at further sizes; empty without such sizes."""
        if not self.study.scores.convergence:
            return ()
        measured = [model for model in self.models if model.dataset not in self.study.also]
        return tuple({model.dataset: model.key for model in reversed(measured)}.values())

    def measurements_of(self, model: Model) -> list[Measurement]:
        """Return the scores and tasks of one model."""
        return [
            one
            for one in self.measurements
            if (not one.only or model.dataset in one.only) and (not one.models or model.key in one.models)
        ]

    @cached_property
    def settings(self) -> tuple[tuple[Model, ...], ...]:
        """Groups of models that differ only in their seed; empty for a study without agreement."""
        groups: dict[tuple[Any, ...], list[Model]] = {}
        for model in self.models:
            groups.setdefault((model.dataset, model.family, model.hyperparameter), []).append(model)
        return tuple(tuple(group) for group in groups.values()) if self.study.agreement else ()

    def agreements(self, group: tuple[Model, ...]) -> tuple[Measurement, ...]:
        """Return the agreements of a group of models; their keys depend on the whole group.

        The group of a first model has further ones, of fewer rows.
        """
        spec = self.study.agreement
        assert spec is not None
        members = [model.key for model in group]
        shares = self.study.scores.convergence if set(members) & set(self.first_models) else ()
        sizes = dict.fromkeys([spec.rows, *(round(share * spec.rows) for share in shares)])
        return tuple(
            Measurement(
                key=content_key(AGREEMENT, members, method, spec.variant, rows, self.study.seed, __version__),
                kind=AGREEMENT,
                name=f"udr_{method}",
                n_rows=size,
            )
            for method in spec.methods
            for size in sizes
            for rows in [[SCORED_ROWS, size, bool(self.study.tasks)]]
        )

    def wanted(self, failed: set[str]) -> Iterator[tuple[str, Model, Measurement]]:
        """Yield every measurement that the study asks for: its key, the model and the measurement.

        Args:
            failed: Keys of models that cannot be measured; agreements are computed among the other models.
        """
        for model in self.models:
            if model.key not in failed:
                for measurement in self.measurements_of(model):
                    yield measurement.on(model), model, measurement
        for group, measurement in self.comparisons(failed):
            for model in group:
                yield measurement.on(model), model, measurement

    def comparisons(self, failed: set[str]) -> Iterator[tuple[tuple[Model, ...], Measurement]]:
        """Yield groups of models with their agreements, without the models that cannot be measured."""
        for group in self.settings:
            present = tuple(model for model in group if model.key not in failed)
            for measurement in self.agreements(present) if len(present) > 1 else ():
                yield present, measurement

    @property
    def rows_key(self) -> str:
        """Hash of which rows are encoded."""
        return content_key("rows", self.study.rows, self.study.seed)


def model_row_key(model: Model) -> str:
    """Return the key of the row with the loss of a model, or with the reason why it could not be trained."""
    return f"{model.key}-{MODEL}"


def make_plan(study: Study) -> Plan:
    """Return the plan of a study."""
    if study.representations is not None:
        return Plan(study, (), given_models(study))
    ensembles = tuple(
        ensemble for dataset in study.data for family in study.models for ensemble in _ensembles(study, dataset, family)
    )
    return Plan(study, ensembles, tuple(model for ensemble in ensembles for model in ensemble.models))


def _ensembles(study: Study, dataset: str, family: Family) -> Iterator[Ensemble]:
    """Yield ensembles of whole blocks of seeds with all settings; one more seed does not change the earlier blocks."""
    settings = family.settings()
    how = _training_key(study)
    block = max(1, study.training.ensemble_size // len(settings))
    for start in range(0, len(study.seed_list), block):
        seeds = study.seed_list[start : start + block]
        members = [(setting, seed) for seed in seeds for setting in settings]
        hyperparameters = {name: tuple(setting[name] for setting, _ in members) for name in family.hyperparameters}
        options = [family.options] if family.options else []  # keys of families without are those of earlier versions
        trained = (dataset, family.family, hyperparameters, [seed for _, seed in members], how, *options)
        key = content_key(TRAINING, *trained)
        models = tuple(
            _model(study, key, number, dataset, family, setting, seed) for number, (setting, seed) in enumerate(members)
        )
        elsewhere = tuple(_elsewhere(model, key, other) for other in study.also for model in models)
        yield Ensemble(
            key=key,
            dataset=dataset,
            family=family.family,
            hyperparameters=hyperparameters,
            members=models,
            elsewhere=elsewhere,
            options=family.options,
        )


def _training_key(study: Study) -> dict[str, Any]:
    """Return the training settings that decide what a model becomes, by the names that content keys are made of."""
    earlier = {now: before for before, now in RENAMED["training"].items()}
    how, default = to_builtins(study.training), to_builtins(Training())
    left_out = {"gpus", "ensemble_size", *(name for name in LATER if how[name] == default[name])}
    return {earlier.get(name, name): how[name] for name in how if name not in left_out}


def _model(
    study: Study, ensemble: str, number: int, dataset: str, family: Family, setting: dict[str, float], seed: int
) -> Model:
    key = content_key(ensemble, number, study.rows, study.seed)
    return Model(
        key=key,
        dataset=dataset,
        family=family.family,
        hyperparameter=setting.get(family.axis),
        seed=seed,
        codes=f"codes/{ensemble}/{key}.npz",
    )


def _elsewhere(model: Model, ensemble: str, dataset: str) -> Model:
    """Return a model with the codes of another data set; of models of two data sets each has its own."""
    key = content_key(model.key, dataset)
    return replace(model, key=key, dataset=dataset, codes=f"codes/{ensemble}/{key}.npz")


def scored_rows(study: Study, n_samples: int, size: float) -> IntArray:
    """Return the rows of a sample to score, in order; the same for every model, a smaller sample within a larger one.

    Where a study has tasks, they are the rows that predictors are trained on at that size, so that no row of the test
    set is scored.

    Args:
        study: Has the seed, and tasks or none.
        n_samples: Rows that are encoded.
        size: A number of rows, or a share of all; more than there are means all.
    """
    n = n_scored(study, n_samples, size)
    if study.tasks:
        return np.sort(split_rows(n_samples, seed=study.seed).train[:n])
    return np.sort(np.random.default_rng([study.seed, n_samples]).permutation(n_samples)[:n])


def n_scored(study: Study, n_samples: int, size: float) -> int:
    """Return the number of rows of a sample to score."""
    most = n_samples - round(TEST_SHARE * n_samples) if study.tasks else n_samples
    return round(size * most) if size <= 1 else min(int(size), most)


def _scores(study: Study, sizes: tuple[float, ...], models: tuple[str, ...] = ()) -> Iterator[Measurement]:
    """Yield scores at some sizes; those of some models only, at sizes that not all models are scored at."""
    spec = study.scores
    there = {n_scored(study, study.rows, size) for size in study.score_rows} if models else set()
    sizes = tuple(size for size in sizes if n_scored(study, study.rows, size) not in there)
    for name, options in metric_options(spec.metrics, options=spec.options).items():
        for size in sizes:
            rows = [SCORED_ROWS, size, bool(study.tasks)]
            codes = [spec.classes, spec.standardise]
            how = [name, options, rows, codes, spec.intervals, spec.nulls, study.seed, __version__]
            n_rows = n_scored(study, study.rows, size)
            key = content_key(SCORE, how)
            only = study.data if study.also else ()
            yield Measurement(key=key, kind=SCORE, name=name, n_rows=n_rows, size=size, only=only, models=models)


def _tasks(study: Study) -> Iterator[Measurement]:
    for group in study.tasks:
        ends = ("",) if group.split == "rows" else (HELD_OUT, GAP)
        for name, predictor, size, end in product(group.tasks, group.predictors, group.train, ends):
            changed = [PREDICTED[predictor]] if predictor in PREDICTED else []  # keys of the others are as before
            how = [name + end, predictor, size, study.seed, __version__, *changed]
            yield Measurement(
                key=content_key(TASK, how),
                kind=TASK,
                name=name + end,
                predictor=predictor,
                size=float(size),
                only=group.only or (study.data if study.also else ()),
            )


#: Columns of an index.
COLUMNS = ("file", "family", "hyperparameter", "seed")
#: Name of the data set of files whose index has no data set.
UNNAMED = "given"
#: Words of an index for a number that is not there.
NO_NUMBER = ("", "nan", "NaN", "NA", "None", "null")


def given_models(study: Study) -> tuple[Model, ...]:
    """Return the files of a folder with the columns of its index; keys depend on the content of the files.

    Raises:
        ValueError: No files, an index without its columns, or a file that is not there.
    """
    assert study.representations is not None
    folder = study.folder
    if study.representations.index:
        lines = _index(folder / study.representations.index)
    else:
        names = sorted(path.name for path in folder.glob("*.npz"))
        lines = [{"file": name, "family": Path(name).stem} for name in names]
    if not lines:
        raise ValueError(f"folder {str(folder)!r} has no .npz files; name others in an index.")
    return tuple(_given_model(folder, line) for line in lines)


def _index(path: Path) -> list[dict[str, str]]:
    """Return the lines of an index as they are written: a name such as 01 or NA is a name."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = [row for row in csv.reader(file) if any(row)] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"index {str(path)!r} cannot be read: {error}; save it as .csv in UTF-8.") from error
    if "strength" in header and "hyperparameter" not in header:
        renamed = f"index {str(path)!r}: the column strength is now called hyperparameter; rename it."
        warnings.warn(renamed, DeprecationWarning, stacklevel=2)
        header = ["hyperparameter" if name == "strength" else name for name in header]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise ValueError(f"index {str(path)!r} must have the columns {', '.join(COLUMNS)}; {missing[0]} is missing.")
    for row in rows:
        if any(row[len(header) :]):
            raise ValueError(
                f"index {str(path)!r} must have {len(header)} columns in each line, as in its first, got {row}."
            )
    return [dict(zip(header, [*row, *("" for _ in header)], strict=False)) for row in rows]


def _given_model(folder: Path, line: dict[str, str]) -> Model:
    path = folder / line["file"]
    if not line["file"] or not path.is_file():
        raise ValueError(f"file {str(path)!r} of the index is not there.")
    dataset, family = line.get("dataset") or UNNAMED, line["family"]
    number = _number("hyperparameter", line)
    seed = _number("seed", line, whole=True) or 0
    content = hashlib.sha256(path.read_bytes()).hexdigest()[:LENGTH]
    return Model(
        key=content_key(content, dataset, family, number, int(seed)),
        dataset=dataset,
        family=family,
        hyperparameter=number,
        seed=int(seed),
        file=str(path.resolve()),
    )


def _number(column: str, line: dict[str, str], *, whole: bool = False) -> float | None:
    """Return a number of an index, or None where there is none.

    Raises:
        ValueError: Something else is there.
    """
    text = line.get(column, "").strip()
    if text in NO_NUMBER:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (whole and not number.is_integer()):
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"{column} of {line['file']!r} in the index must be {kind} or empty, got {text!r}.")
    return number
