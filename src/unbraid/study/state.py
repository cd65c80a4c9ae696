"""What is there, what is missing, what is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from unbraid._base.optional import require
from unbraid.data.catalogue import check_files
from unbraid.study.engines.local import visible_cards
from unbraid.study.plan import Ensemble, Measurement, Model, Plan, model_row_key
from unbraid.study.store import Store
from unbraid.study.table import AGREEMENT, COLLAPSED, DIVERGED, MODEL, NOTHING_TO_MEASURE, SCORE, TASK

#: What a summary calls the kinds of measurements.
TITLES = {SCORE: "scores", TASK: "tasks", AGREEMENT: "agreement"}
#: What a row of the table is a measurement of; two of the same are one.
IDENTITY = ["model", "kind", "name", "predictor", "factor", "n_rows"]


@dataclass(frozen=True)
class State:
    """What a study has in a store at one moment.

    Attributes:
        plan: What it asks for.
        store: Where it is.
        failures: Why measurements that were tried have no value, by key.
        encoded: Keys of models whose codes can be read.
    """

    plan: Plan
    store: Store
    failures: Mapping[str, str]
    encoded: frozenset[str]

    @cached_property
    def failed_models(self) -> dict[str, str]:
        """Models that could not be made, with the reason."""
        lost = [model for model in self.plan.models if model.key not in self.encoded]
        return {m.key: self.failures[key] for m in lost if (key := model_row_key(m)) in self.failures}

    @cached_property
    def lost(self) -> frozenset[str]:
        """Models that diverged: they would do so again, so nobody tries."""
        return frozenset(key for key, why in self.failed_models.items() if why.startswith(DIVERGED))

    @cached_property
    def to_train(self) -> list[Ensemble]:
        """What the next run trains: the programs with a model that neither has codes nor is lost."""
        settled = self.encoded | self.lost
        return [one for one in self.plan.ensembles if any(model.key not in settled for model in one.members)]

    @cached_property
    def collapsed(self) -> list[Model]:
        """Models whose codes are all constant."""
        found = {key.partition("-")[0] for key, why in self.failures.items() if why == NOTHING_TO_MEASURE}
        return [model for model in self.plan.models if model.key in found]

    @cached_property
    def done(self) -> frozenset[str]:
        """Keys of measurements that have a value."""
        return self.store.done()

    @cached_property
    def wanted(self) -> list[tuple[str, Model, Measurement]]:
        """Every measurement that the study asks for."""
        return list(self.plan.wanted(set(self.failed_models)))

    @cached_property
    def settled(self) -> frozenset[str]:
        """Keys of measurements that have a value, or can have none because codes are constant."""
        return self.done | {key for key, why in self.failures.items() if why.startswith(COLLAPSED)}

    @cached_property
    def missing(self) -> list[tuple[str, Model, Measurement]]:
        """Measurements without a value, of models that are there or were never tried."""
        return [one for one in self.wanted if one[0] not in self.settled]

    @cached_property
    def to_measure(self) -> list[tuple[str, Model, Measurement]]:
        """What the next run measures, if every model that it trains comes out well."""
        return [one for one in self.plan.wanted(set(self.lost)) if one[0] not in self.settled]

    def summary(self) -> dict[str, Any]:
        """Return counts of what is wanted, done, failed and missing, and the reasons of failures, as plain data.

        Numbers of models that diverged or collapsed are not wanted; those of models that are tried again are missing.
        """
        present = [model for model in self.plan.models if model.key not in self.lost]
        of_dataset = Counter(model.dataset for model in present)
        tally = self.store.tally([model.key for model in present])
        wanted, done = Counter[str](), Counter[str]()
        for one in self.plan.measurements:
            for dataset in one.only or of_dataset:
                wanted[one.kind] += of_dataset[dataset]
                done[one.kind] += tally.get((one.key, dataset), 0)
        for group, one in self.plan.comparisons(set(self.lost)):
            wanted[one.kind] += len(group)
        for group, one in self.plan.comparisons(set(self.failed_models)):
            done[one.kind] += tally.get((one.key, group[0].dataset), 0)
        told = list(self._told())
        wanted -= Counter(kind for kind, why, _ in told if why.startswith(COLLAPSED))
        told = [one for one in told if not one[1].startswith(COLLAPSED)]
        failed = Counter(kind for kind, _, _ in told)
        parts = {"models": _counts(len(self.plan.models), len(self.encoded), len(self.failed_models))}
        parts |= {TITLES[kind]: _counts(n, done[kind], failed[kind]) for kind, n in wanted.items() if n}
        collapsed = {"count": len(self.collapsed), "example": self.collapsed[0].label if self.collapsed else ""}
        return {
            "study": self.plan.study.name,
            "parts": parts,
            "collapsed": collapsed,
            "failures": _by_reason(told),
        }

    def _told(self) -> Iterator[tuple[str, str, str]]:
        """Yield what has no value and a reason for it: its kind, the reason, and what it is in words."""
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
        """Read the rows that belong to the study, each measurement once."""
        keys = {key for key, _, _ in self.wanted} | {model_row_key(model) for model in self.plan.models}
        found = self.store.table()
        return found[found["key"].isin(keys)].drop_duplicates(IDENTITY, ignore_index=True)


def _by_reason(told: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Return each reason once, the most frequent first, with an example and whether it is tried again."""
    examples = {why: example for _, why, example in reversed(told)}
    counted = Counter(why for _, why, _ in told)
    return [
        {"why": why, "count": count, "example": examples[why], "again": not why.startswith(DIVERGED)}
        for why, count in counted.most_common()
    ]


def _counts(wanted: int, done: int, failed: int) -> dict[str, int]:
    return {"wanted": wanted, "done": done, "failed": failed, "missing": wanted - done - failed}


def look(plan: Plan, store: Store) -> State:
    """Return how far a study is."""
    files = store.names("codes")
    encoded = {model.key for model in plan.models if model.file or model.codes.removeprefix("codes/") in files}
    return State(plan, store, store.failures(), frozenset(encoded))


#: What solves tasks with torch.
NETWORK = "mlp"


def check_needs(state: State, *, data_folder: str = "") -> None:
    """Raise if this machine lacks what the rest of a study needs: torch, files of data sets, or a GPU.

    Args:
        state: What is there already.
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


def check_torch(state: State) -> None:
    """Raise if what is left of a study needs torch and there is none on this machine; takes no time.

    Raises:
        ValueError: With what to install.
    """
    name = state.plan.study.name
    if state.to_train:
        require(f"training the models of study {name!r}", "torch", extra="train")
    if any(one.predictor == NETWORK for _, _, one in state.to_measure):
        require(f"the predictor {NETWORK} of study {name!r}", "torch", extra="torch")
