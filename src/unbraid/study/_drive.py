"""Running a study: what is missing becomes jobs, and each that ends lets others begin."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from unbraid._files import DiskFullError
from unbraid._progress import Progress, Show, track
from unbraid.study._agreement_job import AgreementJob
from unbraid.study._job import Engine, Finished, Job
from unbraid.study._measure_job import MeasureJob, measured_row
from unbraid.study._plan import Ensemble, Measurement, Model, Plan
from unbraid.study._state import State, look
from unbraid.study._store import MERGE_ABOVE, Store
from unbraid.study._train_job import TrainJob, model_row


def run_plan(plan: Plan, store: Store, engine: Engine, *, data_folder: str = "", progress: Show = None) -> State:
    """Make and measure whatever a store lacks.

    Args:
        plan: The study.
        store: Where results are and go to.
        engine: What runs the jobs.
        data_folder: Where files of data sets are; empty for the usual place.
        progress: Show a bar on standard error, by default when that is a terminal; or ``"lines"``: now and then a line.

    Returns:
        How far the study is afterwards; what failed is in its table, with reasons.

    Raises:
        DiskFullError: There is no room left, not even for reasons; what was finished is in the store.
    """
    run = _Run(plan, store, data_folder, look(plan, store))
    jobs = run.first()
    if jobs:
        with engine, track(run.n_expected(jobs), progress, doing=f"study {plan.study.name}") as bar:
            _work(run, engine, jobs, bar)
    with suppress(DiskFullError):  # small shards are as good, only slower to read
        store.merge()
    return look(plan, store)


def _work(run: _Run, engine: Engine, jobs: list[Job], bar: Progress) -> None:
    n_open, n_done = 0, 0
    for job in jobs:
        engine.submit(job)
        n_open += 1
    while n_open:
        finished = engine.wait()
        n_open, n_done = n_open - 1, n_done + 1
        bar.tell(finished.job.label if finished.error is None else f"failed: {finished.job.label}")
        bar.advance()
        try:
            following = run.after(finished)
            if n_done % MERGE_ABOVE == 0:
                run.store.merge()
        except DiskFullError as error:
            stopped = f"store {run.store.url!r} is full, so the run was stopped; what was finished is in it"
            raise DiskFullError(f"{stopped}: make room and run it again.") from error
        for job in following:
            engine.submit(job)
            n_open += 1


@dataclass
class _Run:
    """What is open in one run."""

    plan: Plan
    store: Store
    data_folder: str
    state: State
    training: set[str] = field(default_factory=set)
    encoded: set[str] = field(default_factory=set)
    compared: set[tuple[str, ...]] = field(default_factory=set)

    def first(self) -> list[Job]:
        """Return the jobs that need not wait for others."""
        self.encoded = set(self.state.encoded)
        trains = self.state.to_train
        self.training = {model.key for ensemble in trains for model in ensemble.members}
        ready = [model for model in self.plan.models if model.key not in self.training]
        return [*(self._train(one) for one in trains), *self._measure(ready), *self._compare()]

    def n_expected(self, jobs: Iterable[Job]) -> int:
        """Return how many jobs there will be, if every model can be made."""
        waiting = [group for group in self.plan.settings if any(model.key in self.training for model in group)]
        return len(list(jobs)) + len(self.training) * bool(self.plan.measurements) + len(waiting)

    def after(self, finished: Finished) -> list[Job]:
        """Note how a job ended; returns those that can begin now."""
        job = finished.job
        if isinstance(job, TrainJob):
            return self._after_training(job.ensemble, finished.error)
        if finished.error is not None and isinstance(job, MeasureJob):
            self._note(((job.model, one) for one in job.measurements), finished.error)
        if finished.error is not None and isinstance(job, AgreementJob):
            self._note(((model, one) for model in job.group for one in job.measurements), finished.error)
        return []

    def _after_training(self, ensemble: Ensemble, error: str | None) -> list[Job]:
        made = [model for model in ensemble.members if self.store.has(model.codes)]
        if error is not None:
            lost = [model for model in ensemble.members if model not in made]
            self.store.add_rows([model_row(model, None, error) for model in lost])
        self.training -= {model.key for model in ensemble.members}
        self.encoded |= {model.key for model in made}
        return [*self._measure(made), *self._compare()]

    def _train(self, ensemble: Ensemble) -> Job:
        return TrainJob(store=self.store, plan=self.plan, ensemble=ensemble, data_folder=self.data_folder)

    def _measure(self, models: Iterable[Model]) -> list[Job]:
        jobs: list[Job] = []
        for model in models:
            missing = tuple(one for one in self.plan.measurements_of(model) if one.on(model) not in self.state.settled)
            if missing and model.key in self.encoded:
                jobs.append(
                    MeasureJob(
                        store=self.store,
                        plan=self.plan,
                        model=model,
                        measurements=missing,
                        data_folder=self.data_folder,
                    )
                )
        return jobs

    def _compare(self) -> list[Job]:
        """Return comparisons of settings whose models have all been made, or have failed."""
        jobs: list[Job] = []
        for group in self.plan.settings:
            name = tuple(model.key for model in group)
            if name in self.compared or any(model.key in self.training for model in group):
                continue
            self.compared.add(name)
            present = tuple(model for model in group if model.key in self.encoded)
            if len(present) < 2:
                continue
            missing = [
                one
                for one in self.plan.agreements(present)
                if any(one.on(model) not in self.state.settled for model in present)
            ]
            if missing:
                jobs.append(AgreementJob(store=self.store, plan=self.plan, group=present, measurements=tuple(missing)))
        return jobs

    def _note(self, lost: Iterable[tuple[Model, Measurement]], error: str) -> None:
        """Put the reason into the table; a value that the job had written before counts more."""
        self.store.add_rows([measured_row(model, one, failure=error) for model, one in lost])
