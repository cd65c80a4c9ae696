"""Status of a study in its store: finished, failed and missing jobs, and the needs of the missing ones."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from unbraid._base.checks import check_choice
from unbraid._base.optional import require
from unbraid.data.catalogue import check_files
from unbraid.study.engines.local import visible_cards
from unbraid.study.plan import Ensemble, Measurement, Model, Plan, content_key, make_plan, model_row_key
from unbraid.study.read import load_study, read_study
from unbraid.study.spec import Representations, Study
from unbraid.study.store import Store
from unbraid.study.table import AGREEMENT, MODEL, SCORE, TASK, Failure, FailureKind

#: Names of the kinds of measurements in a summary.
TITLES = {SCORE: "scores", TASK: "tasks", AGREEMENT: "agreement"}
#: Where studies go whose name another study has taken.
REPLACED = "replaced_studies"
#: Columns that identify a measurement; rows that are equal in them are the same measurement.
IDENTITY = ["model", "kind", "name", "predictor", "factor", "n_rows"]


@dataclass(frozen=True)
class StudyStatus:
    """Status of a study in a store at one moment.

    Attributes:
        plan: Plan of the study.
        store: Its store.
        failures: Failures of measurements without a value, by key.
        encoded: Keys of models whose codes are there.
    """

    plan: Plan
    store: Store
    failures: Mapping[str, Failure]
    encoded: frozenset[str]

    @cached_property
    def failed_models(self) -> dict[str, Failure]:
        """Models that could not be trained, by key."""
        lost = [model for model in self.plan.models if model.key not in self.encoded]
        return {m.key: self.failures[key] for m in lost if (key := model_row_key(m)) in self.failures}

    @cached_property
    def lost(self) -> frozenset[str]:
        """Keys of models that diverged; they are not trained again, as they would diverge again."""
        return frozenset(key for key, one in self.failed_models.items() if one.kind is FailureKind.DIVERGED)

    @cached_property
    def to_train(self) -> list[Ensemble]:
        """Ensembles that the next run trains: those with a model that is still to be measured, and has no codes.

        A model that diverged is not trained again. A loss may have been in a shard that was damaged; where the
        checkpoint is there, the loss is made again from it without a step.
        """
        settled = self.encoded | self.lost | self.measured
        return [
            one
            for one in self.plan.ensembles
            if any(model.key not in settled for model in one.models) or self._has_lost_losses(one)
        ]

    def _has_lost_losses(self, ensemble: Ensemble) -> bool:
        """Return whether a model has no loss, and a checkpoint that gives it again."""
        rows = {model_row_key(model) for model in ensemble.models}
        lost = rows - self.done - set(self.failures)
        return bool(lost) and bool(self.store.names(f"models/{ensemble.key}"))

    @cached_property
    def measured(self) -> frozenset[str]:
        """Keys of models without codes, whose loss and every measurement are there, so that codes are not needed."""
        trained = {
            one.key for one in self.plan.models if one.key not in self.encoded and model_row_key(one) in self.done
        }
        if not trained:
            return frozenset()
        return frozenset(trained - {model.key for _, model, _ in self.to_measure})

    @property
    def training_seconds(self) -> float | None:
        """Seconds that the ensembles of the study were trained for, added up; ``None`` without a GPU."""
        if not self.plan.study.training.device.startswith("cuda"):
            return None
        rows = self.table().query("kind == @MODEL")
        return float(rows["seconds"].sum())

    @property
    def is_complete(self) -> bool:
        """Whether every model and every measurement is there, or never will be."""
        return not (self.failed_models or self.missing or self.to_train)

    @cached_property
    def collapsed(self) -> list[Model]:
        """Models whose codes are all constant."""
        found = {key.partition("-")[0] for key in self._constant}
        return [model for model in self.plan.models if model.key in found]

    @cached_property
    def _constant(self) -> frozenset[str]:
        """Keys of measurements that cannot have a value because the codes are constant."""
        return frozenset(key for key, one in self.failures.items() if one.kind is FailureKind.COLLAPSED)

    @cached_property
    def done(self) -> frozenset[str]:
        """Keys of measurements that have a value."""
        return self.store.done()

    @cached_property
    def wanted(self) -> list[tuple[str, Model, Measurement]]:
        """Every measurement of the study, except of models that could not be trained."""
        return list(self.plan.wanted(set(self.failed_models)))

    @cached_property
    def settled(self) -> frozenset[str]:
        """Keys of measurements that have a value, or cannot have one because the codes are constant."""
        return self.done | self._constant

    @cached_property
    def missing(self) -> list[tuple[str, Model, Measurement]]:
        """Measurements without a value, except of models that could not be trained."""
        return [one for one in self.wanted if one[0] not in self.settled]

    @cached_property
    def to_measure(self) -> list[tuple[str, Model, Measurement]]:
        """Measurements of the next run, if every model that it trains succeeds."""
        return [one for one in self.plan.wanted(set(self.lost)) if one[0] not in self.settled]

    def summary(self) -> dict[str, Any]:
        """Return counts of wanted, done, failed and missing measurements, and the reasons of failures, as plain data.

        Measurements of models that diverged or collapsed are not wanted; those of models that are trained again are
        missing.
        """
        present = [model for model in self.plan.models if model.key not in self.lost]
        of_dataset = Counter(model.dataset for model in present)
        tally = self.store.tally([model.key for model in present])
        wanted, done = Counter[str](), Counter[str]()
        dataset_of = {model.key: model.dataset for model in present}
        for one in self.plan.measurements:
            few = Counter(dataset_of[key] for key in one.models if key in dataset_of)
            for dataset in one.only or of_dataset:
                wanted[one.kind] += few[dataset] if one.models else of_dataset[dataset]
                done[one.kind] += tally.get((one.key, dataset), 0)
        for group, one in self.plan.comparisons(set(self.lost)):
            wanted[one.kind] += len(group)
        for group, one in self.plan.comparisons(set(self.failed_models)):
            done[one.kind] += tally.get((one.key, group[0].dataset), 0)
        without_value = list(self._without_value())
        wanted -= Counter(kind for kind, why, _ in without_value if why.kind is FailureKind.COLLAPSED)
        failures = [one for one in without_value if one[1].kind is not FailureKind.COLLAPSED]
        failed = Counter(kind for kind, _, _ in failures)
        n_losses = sum(tally.get((MODEL, dataset), 0) for dataset in of_dataset)
        n_ready = len(self.encoded) if n_losses <= len(self.encoded) else len(self.encoded | self.measured)
        parts = {"models": _counts(len(self.plan.models), n_ready, len(self.failed_models))}
        parts |= {TITLES[kind]: _counts(n, done[kind], failed[kind]) for kind, n in wanted.items() if n}
        collapsed = {"count": len(self.collapsed), "example": self.collapsed[0].label if self.collapsed else ""}
        return {
            "study": self.plan.study.name,
            "parts": parts,
            "collapsed": collapsed,
            "failures": _by_reason(failures),
        }

    def _without_value(self) -> Iterator[tuple[str, Failure, str]]:
        """Yield models and measurements with a failure: kind of row, failure, and a label."""
        for model in self.plan.models:
            if model.key in self.failed_models:
                yield MODEL, self.failed_models[model.key], model.label
        if not self.failures:
            return
        for key, model, one in self.plan.wanted(set(self.failed_models)):
            if key in self.failures:
                words = (one.name, one.predictor, "of", model.label)
                yield one.kind, self.failures[key], " ".join(filter(None, words))

    def table(self) -> pd.DataFrame:
        """Return the rows of the study, each measurement once."""
        keys = {key for key, _, _ in self.wanted} | {model_row_key(model) for model in self.plan.models}
        found = self.store.table()
        return found[found["key"].isin(keys)].drop_duplicates(IDENTITY, ignore_index=True)


def _by_reason(failures: list[tuple[str, Failure, str]]) -> list[dict[str, Any]]:
    """Return each failure once, the most frequent first, with an example and whether the next run tries again."""
    examples = {why: example for _, why, example in reversed(failures)}
    counted = Counter(why for _, why, _ in failures)
    return [
        {
            "why": why.reason,
            "kind": why.kind.value,
            "count": count,
            "example": examples[why],
            "again": why.kind is not FailureKind.DIVERGED,
        }
        for why, count in counted.most_common()
    ]


def _counts(wanted: int, done: int, failed: int) -> dict[str, int]:
    return {"wanted": wanted, "done": done, "failed": failed, "missing": wanted - done - failed}


def status(store: str | Path | Store, study: str | Path | Study | Plan | None = None) -> StudyStatus:
    """Return the status of a study in its store.

    Args:
        store: A folder, or a URL that fsspec knows.
        study: The name of a study that was run there, a file, a study or its plan; not needed for a store with one
            study.

    Raises:
        ValueError: No such study in the store.
    """
    place = store if isinstance(store, Store) else Store(store)
    if not isinstance(study, Plan):
        study = make_plan(study if isinstance(study, Study) else kept_study(place, study))
    files = place.names("codes")
    failures = place.failures()
    encoded = {
        model.key
        for model in study.models
        if (model_row_key(model) not in failures if model.file else model.codes.removeprefix("codes/") in files)
    }
    return StudyStatus(study, place, failures, frozenset(encoded))


def look(plan: Plan, store: Store) -> StudyStatus:
    """Return the status of a study; the earlier name of :func:`status`."""
    warnings.warn("look(plan, store) is now called status(store, plan).", DeprecationWarning, stacklevel=2)
    return status(store, plan)


def study_table(store: str | Path | Store, study: str | Path | Study | None = None) -> pd.DataFrame:
    """Return the table of a study; see :data:`unbraid.study.SCHEMA` for the columns."""
    return status(store, study).table()


def keep_study(study: Study, store: Store) -> None:
    """Write a study into its store, so that the store has the description of its results.

    An earlier study of the same name that has no model in common with it is another study, not one that was changed:
    it is kept among the replaced studies, so that clean-up does not take its models for leftovers.
    """
    given = study.representations
    if given is not None:
        absolute = Representations(folder=str(study.folder.resolve()), index=given.index)
        study = msgspec.structs.replace(study, representations=absolute)
    name, content = f"studies/{study.name}.yaml", msgspec.yaml.encode(study)
    if store.has(name) and (before := store.read(name)) != content:
        models = {model.key for model in make_plan(study).models}
        if not models & _models(store, name):
            store.write(f"{REPLACED}/{study.name}-{content_key(before.hex())}.yaml", before)
    store.write(name, content)


def _models(store: Store, name: str) -> set[str]:
    """Return the keys of the models of a study that a store has; none if it or its files cannot be read any more."""
    study = _readable(store, name)
    return set() if study is None else {model.key for model in make_plan(study).models}


def _readable(store: Store, name: str) -> Study | None:
    """Return a study that a store has, or ``None`` if it or its files cannot be read any more."""
    try:
        study = read_study(store.read(name).decode(), name, is_kept=True)[0]
        make_plan(study)
    except ValueError:
        return None
    return study


def replaced_studies(store: Store) -> list[Study]:
    """Return the studies of a store that another study of the same name replaced."""
    found = (_readable(store, f"{REPLACED}/{name}") for name in sorted(store.names(REPLACED)))
    return [one for one in found if one is not None]


def kept_studies(store: Store) -> list[str]:
    """Return the names of the studies that were run in a store."""
    return sorted(name.removesuffix(".yaml") for name in store.names("studies"))


def kept_study(store: Store, study: str | Path | None = None) -> Study:
    """Return a study that was run in a store, or one from a file.

    Raises:
        ValueError: The store has no study, several and none is named, or none of that name.
    """
    names = kept_studies(store)
    if study is not None and str(study) not in names and Path(study).is_file():
        return load_study(study)
    if not names:
        raise ValueError(f"store {store.url!r} has no study; `unbraid study run NAME --store {store.url}` makes one.")
    if study is None and len(names) > 1:
        raise ValueError(f"store {store.url!r} has several studies, {', '.join(names)}; name one.")
    name = names[0] if study is None else str(study)
    check_choice("study", name, names)
    # Keys of earlier versions are no reason to warn here: the next run writes the study anew.
    try:
        text = store.read(f"studies/{name}.yaml").decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"store {store.url!r} has a study {name!r} that is damaged; run the study again from its own file, which "
            "writes it anew."
        ) from error
    return read_study(text, f"{name} in {store.url}", is_kept=True)[0]


#: Predictor that needs torch.
NETWORK = "mlp"


def check_needs(state: StudyStatus, *, data_folder: str = "") -> None:
    """Raise if this machine lacks torch, files of data sets, or a GPU that the rest of a study needs.

    Args:
        state: Status of the study.
        data_folder: Where files of data sets are; empty for the usual place.

    Raises:
        ValueError: With the cure.
    """
    check_torch(state)
    for dataset in dict.fromkeys(one.dataset for one in state.to_train):
        check_files(dataset, data_folder or None)
    training = state.plan.study.training
    if state.to_train and training.device.startswith("cuda"):
        there = len(visible_cards())
        if training.gpus > there:
            raise ValueError(
                f"training the models of study {state.plan.study.name!r} needs {training.gpus:g} GPU, and torch sees "
                f"{there or 'none'} here; write device: cpu under training, or run it where there is one."
            )


def check_torch(state: StudyStatus) -> None:
    """Raise if the rest of a study needs torch and torch is not installed; torch is not imported.

    Raises:
        ValueError: With what to install.
    """
    name = state.plan.study.name
    if state.to_train:
        require(f"training the models of study {name!r}", "torch", extra="train")
    if any(one.predictor == NETWORK for _, _, one in state.to_measure):
        require(f"the predictor {NETWORK} of study {name!r}", "torch", extra="torch")
