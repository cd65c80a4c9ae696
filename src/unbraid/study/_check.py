"""What types cannot say about a study: names that exist, numbers that make sense, parts that fit together."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial

from unbraid._asked import metric_options
from unbraid._validation import check_choice
from unbraid.data import DATASETS, load_dataset
from unbraid.downstream import check_predictor, check_task
from unbraid.downstream._split import TEST_SHARE
from unbraid.models._strengths import STRENGTHS
from unbraid.study._spec import Family, Study, Tasks

#: What a study can be called, as its store has a file of that name.
NAME = re.compile(r"\w[\w .-]*")
#: How tasks begin that are one factor.
FACTOR_TASK = "factor:"
#: Returns the place of a part of the file, in words.
At = Callable[[str], str]


def check_study(study: Study, at: At) -> None:
    """Raise on the first thing that would fail later.

    Raises:
        ValueError: With the line and the cure.
    """
    if not NAME.fullmatch(study.name):
        raise ValueError(
            f"{at('.name')}: name must be of letters, digits, spaces and . _ -, as it names a file, got {study.name!r}."
        )
    _check_source(study, at)
    for number, name in enumerate(study.data):
        _within(at, f".data[{number}]", partial(check_choice, "data", name, DATASETS))
    for number, family in enumerate(study.models):
        _within(at, f".models[{number}]", partial(_check_family, family))
    _check_numbers(study, at)
    _within(at, ".scores.metrics", partial(metric_options, study.scores.metrics))
    if study.scores.options:
        _within(at, ".scores.options", partial(metric_options, study.scores.metrics, options=study.scores.options))
    for number, group in enumerate(study.tasks):
        for name in group.tasks:
            _within(at, f".tasks[{number}].tasks", partial(check_task, name))
        for name in group.predictors:
            _within(at, f".tasks[{number}].predictors", partial(check_predictor, name))
        for size in group.train:
            _within(at, f".tasks[{number}].train", partial(_check_train, study, size))
        for name in group.only if study.data else ():
            _within(at, f".tasks[{number}].only", partial(check_choice, "only", name, study.data))
        _within(at, f".tasks[{number}].tasks", partial(_check_factors, study, group))
    if study.agreement is not None:
        for name in study.agreement.methods:
            _within(at, ".agreement", partial(check_choice, "methods", name, ("lasso", "spearman")))
        variants = ("published", "thesis")
        variant = study.agreement.variant
        _within(at, ".agreement", partial(check_choice, "variant", variant, variants))


def _check_source(study: Study, at: At) -> None:
    if study.representations is not None:
        if study.data or study.models:
            raise ValueError(f"{at('.representations')}: give representations, or data and models, not both.")
        if not study.folder.is_dir():
            raise ValueError(f"{at('.representations.folder')}: folder {str(study.folder)!r} is not there.")
        return
    for key, value in (("data", study.data), ("models", study.models)):
        if not value:
            raise ValueError(f"{at('')}: {key} is missing; a study has data and models, or representations.")
        twice = [one for number, one in enumerate(value) if one in value[:number]]
        if twice:
            raise ValueError(f"{at(f'.{key}')}: {key} has the same entry twice; keep one.")


def _check_family(family: Family) -> None:
    check_choice("family", family.family, STRENGTHS)
    known = STRENGTHS[family.family]
    for name in family.strengths:
        if name not in known:
            raise ValueError(f"{family.family} has no strength {name!r}; it has {', '.join(known) or 'none'}.")
    for name, value in family.strengths.items():
        for one in value if isinstance(value, tuple) else (value,):
            if not 0 <= one < math.inf:
                raise ValueError(f"{name} of {family.family} must be 0 or more, got {one:g}.")
    lists = {name: len(value) for name, value in family.strengths.items() if isinstance(value, tuple)}
    if len(set(lists.values())) > 1 or 0 in lists.values():
        raise ValueError(f"strengths of {family.family} must be lists of equal length, got {lists}.")


def _check_train(study: Study, size: float) -> None:
    """Raise unless a task can learn from so many rows; how many given files have is not known yet."""
    if size <= 0 or (size > 1 and size != int(size)):
        raise ValueError(f"train must be whole numbers of rows or shares up to 1, got {size:g}.")
    most = study.rows - round(TEST_SHARE * study.rows)
    if size > most and size > 1 and study.representations is None:
        raise ValueError(
            f"train must be at most {most}, what is left of {study.rows} rows after those to judge on, got {size:g}."
        )


def _check_factors(study: Study, group: Tasks) -> None:
    """Raise on a task of a factor that a data set lacks, as far as these are known without their files."""
    asked = [name.removeprefix(FACTOR_TASK) for name in group.tasks if name.startswith(FACTOR_TASK)]
    for dataset in (group.only or study.data) if asked else ():
        if not DATASETS[dataset].files:
            for name in asked:
                check_choice(f"factor of {dataset}", name, load_dataset(dataset).factor_names)


def _check_numbers(study: Study, at: At) -> None:
    _positive("rows", study.rows, at, ".rows")
    for name in ("steps", "codes", "width", "judge", "batch", "learning_rate", "together", "gpus"):
        _positive(f"training.{name}", getattr(study.training, name), at, f".training.{name}")
    if not study.training.device.startswith(("cpu", "cuda")):
        raise ValueError(f"{at('.training.device')}: device must be cpu or cuda, got {study.training.device!r}.")
    if not study.seed_list or len(set(study.seed_list)) < len(study.seed_list) or min(study.seed_list) < 0:
        raise ValueError(f"{at('.seeds')}: seeds must be a number above 0, or different numbers, got {study.seeds!r}.")
    for size in study.scores.rows:
        _positive("scores.rows", size, at, ".scores.rows")
        if study.representations is None and size > study.rows:
            raise ValueError(f"{at('.scores.rows')}: scores.rows must be at most rows, {study.rows}, got {size}.")


def _positive(name: str, value: float, at: At, path: str) -> None:
    if not value > 0:
        raise ValueError(f"{at(path)}: {name} must be above 0, got {value}.")


def _within(at: At, path: str, check: Callable[[], object]) -> None:
    try:
        check()
    except (ValueError, TypeError) as error:
        raise ValueError(f"{at(path)}: {error}") from error
