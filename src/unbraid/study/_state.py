"""How far a study is: what is in its store, against what it asks for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from unbraid.study._plan import Measurement, Model, Plan, model_row_key
from unbraid.study._rows import AGREEMENT, MODEL, SCORE, TASK
from unbraid.study._store import Store

#: What a summary calls the kinds of measurements.
TITLES = {SCORE: "scores", TASK: "tasks", AGREEMENT: "agreement"}
#: What a row of the table is a measurement of; two of the same are one.
IDENTITY = ["model", "kind", "name", "predictor", "factor", "n_rows"]


@dataclass(frozen=True)
class State:
    """What a study has in a store at one moment.

    Attributes:
        plan: What it asks for.
        found: All rows of the store.
        encoded: Keys of models whose codes can be read.
    """

    plan: Plan
    found: pd.DataFrame
    encoded: frozenset[str]

    @cached_property
    def failed_models(self) -> dict[str, str]:
        """Models that could not be made, with the reason."""
        rows = self.found[(self.found["kind"] == MODEL) & (self.found["failure"] != "")]
        failed = dict(zip(rows["model"], rows["failure"], strict=True))
        return {m.key: failed[m.key] for m in self.plan.models if m.key in failed and m.key not in self.encoded}

    @cached_property
    def done(self) -> frozenset[str]:
        """Keys of measurements that have a value."""
        whole = self.found[(self.found["failure"] == "") & (self.found["factor"] == "")]
        return frozenset(whole["key"])

    @cached_property
    def wanted(self) -> list[tuple[str, Model, Measurement]]:
        """Every measurement that the study asks for."""
        return list(self.plan.wanted(set(self.failed_models)))

    @cached_property
    def missing(self) -> list[tuple[str, Model, Measurement]]:
        """Measurements without a value."""
        return [one for one in self.wanted if one[0] not in self.done]

    @cached_property
    def failures(self) -> dict[str, str]:
        """Why measurements have no value, by key; those not tried are not here."""
        rows = self.found[(self.found["failure"] != "") & ~self.found["key"].isin(self.done)]
        return dict(zip(rows["key"], rows["failure"], strict=True))

    def summary(self) -> dict[str, Any]:
        """Return counts of what is wanted, done, failed and missing, and the reasons of failures, as plain data."""
        models = self.plan.models
        parts = {"models": _counts(len(models), len(self.encoded), len(self.failed_models))}
        for kind, title in TITLES.items():
            wanted = [key for key, _, one in self.wanted if one.kind == kind]
            if wanted:
                n_done = sum(key in self.done for key in wanted)
                parts[title] = _counts(len(wanted), n_done, sum(key in self.failures for key in wanted))
        return {"study": self.plan.study.name, "parts": parts, "failures": self._reasons()}

    def _reasons(self) -> list[dict[str, Any]]:
        """Return each reason once, the most frequent first, with an example."""
        told = [
            (self.failed_models[model.key], model.label)
            for model in self.plan.models
            if model.key in self.failed_models
        ]
        told += [
            (self.failures[key], " ".join(filter(None, (one.name, one.predictor, "of", model.label))))
            for key, model, one in self.missing
            if key in self.failures
        ]
        examples = dict(reversed(told))
        counted = Counter(reason for reason, _ in told)
        return [{"why": why, "count": count, "example": examples[why]} for why, count in counted.most_common()]

    def table(self) -> pd.DataFrame:
        """Return the rows that belong to the study, each measurement once."""
        keys = {key for key, _, _ in self.wanted} | {model_row_key(model) for model in self.plan.models}
        rows = self.found[self.found["key"].isin(keys)]
        return rows.drop_duplicates(IDENTITY, ignore_index=True)


def _counts(wanted: int, done: int, failed: int) -> dict[str, int]:
    return {"wanted": wanted, "done": done, "failed": failed, "missing": wanted - done - failed}


def look(plan: Plan, store: Store) -> State:
    """Return how far a study is."""
    files = store.names("codes")
    encoded = {model.key for model in plan.models if model.file or model.codes.removeprefix("codes/") in files}
    return State(plan, store.table(), frozenset(encoded))
