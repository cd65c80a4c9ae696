"""Job that measures one model: scores, and tasks solved on its codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid._base.checks import CollapsedError
from unbraid._version import __version__
from unbraid.data import load_dataset
from unbraid.downstream import Pictures, check_task, pictures_of, solve_all
from unbraid.metrics import METRICS
from unbraid.panel.evaluation import evaluate
from unbraid.probes.splits import standardise
from unbraid.representation.files import load
from unbraid.representation.representation import Representation
from unbraid.results.report import Report
from unbraid.study.plan import Measurement, Model, Plan, content_key, scored_rows
from unbraid.study.store import Store, read_blocks, read_codes, read_factors
from unbraid.study.table import NO_FAILURE, NOTHING_TO_MEASURE, SCORE, TASK, Failure, FailureKind


@dataclass(frozen=True, kw_only=True)
class MeasureJob:
    """Compute the missing scores and tasks of one model, and add them to the table after each sample size.

    Attributes:
        store: Has the codes, and takes the rows.
        plan: Plan of the study.
        model: The model.
        measurements: The missing scores and tasks.
        data_folder: Where files of data sets are; empty for the usual place.
    """

    store: Store
    plan: Plan
    model: Model
    measurements: tuple[Measurement, ...]
    data_folder: str = ""
    kind: str = "measure"
    gpus: float = 0.0
    may_race: bool = True

    @property
    def key(self) -> str:
        """Hash of model and measurements."""
        return content_key(self.model.key, [measurement.key for measurement in self.measurements])

    @property
    def label(self) -> str:
        """Label for people."""
        return f"measuring {self.model.label}"

    def run(self) -> None:
        """Measure, and write rows."""
        try:
            rep = self._representation()
        except CollapsedError:
            self.store.add_rows([self._row(one, failure=NOTHING_TO_MEASURE) for one in self.measurements])
            return
        for size in sorted({one.size for one in self.measurements if one.kind == SCORE}):
            wanted = {one.name: one for one in self.measurements if one.kind == SCORE and one.size == size}
            self.store.add_rows(list(self._scores(rep, size, wanted)))
        tasks = [one for one in self.measurements if one.kind == TASK]
        pictures = self._pictures([one.task for one in tasks])
        for alike in dict.fromkeys((one.size, one.predictor, one.split) for one in tasks):
            wanted = {one.name: one for one in tasks if (one.size, one.predictor, one.split) == alike}
            self.store.add_rows(list(self._solved(rep, wanted, pictures)))

    def _representation(self) -> Representation:
        """Return codes and factors of the model, or of its file."""
        if self.model.file:
            return load(self.model.file)
        codes, _ = read_codes(self.store, self.model)
        labels = read_factors(self.store, self.plan, self.model.dataset, self.data_folder)
        names, kinds = labels["names"].tolist(), labels["kinds"].tolist()
        blocks = read_blocks(self.store, self.model)
        return Representation(codes.astype(np.float32), labels["factors"], names=names, kinds=kinds, blocks=blocks)

    def _scores(self, rep: Representation, size: float, wanted: dict[str, Measurement]) -> Iterator[dict[str, Any]]:
        spec = self.plan.study.scores
        asked = {*wanted, *(METRICS[name].family for name in wanted)}
        if spec.classes:
            rep = rep.with_factors_as_classes()
        part = rep.take(scored_rows(self.plan.study, rep.n_samples, size))
        if spec.standardise:
            part = part.with_codes(*standardise(part.codes))
        report = evaluate(
            part,
            metrics=list(wanted),
            seed=self.plan.study.seed,
            n_jobs=1,
            options={name: options for name, options in spec.options.items() if name in asked},
            intervals=spec.intervals,
            nulls=spec.nulls,
            progress=False,
        )
        for name, measurement in wanted.items():
            yield from _score_rows(self._row(measurement, n_rows=part.n_samples), report, name)

    def _solved(
        self, rep: Representation, wanted: dict[str, Measurement], pictures: Pictures | None
    ) -> Iterator[dict[str, Any]]:
        """Solve tasks that have predictor, training size and split in common."""
        first = next(iter(wanted.values()))
        found = solve_all(
            rep,
            tasks=list(dict.fromkeys(one.task for one in wanted.values())),
            predictors=[first.predictor],
            train_sizes=[first.size if first.size <= 1 else int(first.size)],
            split=first.split,
            seed=self.plan.study.seed,
            pictures=pictures,
            progress=False,
        )
        for row in found.to_dict("records"):
            failure = Failure(FailureKind.FAILED, row["failure"]) if row["failure"] else NO_FAILURE
            measured = {str(name): _plain(value) for name, value in row.items()}
            if row["name"] in wanted:
                yield {**self._row(wanted[row["name"]]), **measured, **failure.columns()}

    def _pictures(self, tasks: list[str]) -> Pictures | None:
        """Return the pictures, if a task needs them and the data set has them."""
        if self.model.file or not any(check_task(name).needs in ("squares", "masks") for name in tasks):
            return None
        labels = read_factors(self.store, self.plan, self.model.dataset, self.data_folder)
        return pictures_of(load_dataset(self.model.dataset, self.data_folder or None), labels["rows"])

    def _row(self, measurement: Measurement, *, n_rows: int = 0, failure: Failure = NO_FAILURE) -> dict[str, Any]:
        return measured_row(self.model, measurement, n_rows=n_rows, failure=failure)


def measured_row(
    model: Model, measurement: Measurement, *, n_rows: int = 0, failure: Failure = NO_FAILURE
) -> dict[str, Any]:
    """Return the row of the table for a measurement on a model, without its value."""
    return {
        **model.columns(),
        "key": measurement.on(model),
        "kind": measurement.kind,
        "name": measurement.name,
        "predictor": measurement.predictor,
        "factor": "",
        "n_rows": n_rows or measurement.n_rows,
        **failure.columns(),
        "version": __version__,
    }


def _score_rows(row: dict[str, Any], report: Report, name: str) -> Iterator[dict[str, Any]]:
    """Yield the row of a score and a row for each factor; or one row with its failure."""
    if name in report.failures:
        yield {**row, **Failure(FailureKind.FAILED, report.failures[name]).columns()}
        return
    score = report[name]
    if not np.isfinite(score.value):
        reason = " ".join(score.notes) or "the score is not a number."
        yield {**row, **Failure(FailureKind.FAILED, reason).columns()}
        return
    seconds = dict(report.setup.seconds_by_evidence).get(METRICS[name].source.name)
    yield {
        **row,
        "value": score.value,
        "low": score.low,
        "high": score.high,
        "chance": score.chance,
        "seconds": seconds,
    }
    if score.per_factor is not None:
        for factor, value in zip(report.setup.factor_names, score.per_factor, strict=True):
            yield {**row, "factor": factor, "value": _plain(value), "seconds": None}


def _plain(value: Any) -> Any:
    """Return a number as Python's, and NaN as nothing."""
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
