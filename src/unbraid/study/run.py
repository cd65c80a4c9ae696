"""Running a study: the jobs that are missing, in the order in which they can start; clean-up of a store."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from unbraid._base.checks import CollapsedError
from unbraid._base.files import DiskFullError
from unbraid._base.progress import Progress, Show, track
from unbraid.representation.files import load
from unbraid.study.cost import check_study_memory
from unbraid.study.engines import EngineName, make_engine
from unbraid.study.jobs import Engine, Finished, Job
from unbraid.study.jobs.agreement import AgreementJob
from unbraid.study.jobs.measure import MeasureJob, measured_row
from unbraid.study.jobs.train import TrainJob, model_row
from unbraid.study.plan import Ensemble, Measurement, Model, Plan, make_plan, model_row_key
from unbraid.study.read import load_study
from unbraid.study.spec import Study
from unbraid.study.state import StudyStatus, check_needs, keep_study, kept_studies, kept_study, replaced_studies, status
from unbraid.study.store import MERGE_ABOVE, SET_ASIDE, Store, factors_name
from unbraid.study.table import SCHEMA, Failure, FailureKind


def run_study(
    study: str | Path | Study,
    store: str | Path | Store,
    *,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    data_folder: str | Path | None = None,
    memory: str | int | None = None,
    progress: Show = None,
    on_start: Callable[[StudyStatus], object] | None = None,
) -> StudyStatus:
    """Train, score and compare everything that a study asks for and its store lacks.

    Args:
        study: A file, the name of a study that comes with the package, or a study.
        store: A folder, or a URL that fsspec knows.
        engine: ``"local"`` for processes on this machine, ``"ray"`` for a Ray cluster.
        workers: Jobs at the same time; by default as many as there are cores.
        address: Of the Ray cluster; by default one is started here.
        data_folder: Folder with files of data sets; by default ``UNBRAID_DATA`` or ``~/.cache/unbraid/data``.
        memory: Memory that all workers on this machine may take together, such as ``"16G"``; by default what is
            available. It is estimated before any job starts.
        progress: Show a bar on standard error, by default when that is a terminal; or ``"lines"``: now and then a line.
        on_start: Called with the status before any work, for example to estimate the cost; an error stops the run.

    Returns:
        The status afterwards; ``.table()`` has the values and the failures with their reasons.

    Raises:
        TooMuchMemoryError: The workers would take more memory than they may; a ValueError.
        ValueError: Not a study, a store or cluster that cannot be reached, or torch, data or a GPU is missing.
    """
    plan = make_plan(study if isinstance(study, Study) else load_study(study))
    place = store if isinstance(store, Store) else Store(store)
    place.check_writable()
    for name in place.set_aside_damaged():
        warnings.warn(
            f"store {place.url!r}: {name} is damaged or no part of the table, and was moved to {SET_ASIDE}/{name}; "
            "its measurements are made again.",
            stacklevel=2,
        )
    before = status(place, plan)
    if on_start is not None:
        on_start(before)
    runner = make_engine(engine, workers=workers, address=address)
    folder = str(data_folder or "")
    if address is None:  # jobs on a cluster elsewhere fail with what their machine lacks
        check_study_memory(before, workers=workers, memory=memory)
        check_needs(before, data_folder=folder)
    keep_study(before.plan.study, before.store)
    return run_jobs(before, runner, data_folder=folder, progress=progress)


def run_jobs(before: StudyStatus, engine: Engine, *, data_folder: str = "", progress: Show = None) -> StudyStatus:
    """Run the jobs that a study lacks on an engine.

    Args:
        before: Status of the study.
        engine: Runs the jobs.
        data_folder: Folder with files of data sets; empty for the usual place.
        progress: As in :func:`run_study`.

    Returns:
        The status afterwards; failures are in its table, with their reasons.

    Raises:
        DiskFullError: There is no room left, not even for the reasons of failures; finished work is in the store.
    """
    run = _Run(before, data_folder)
    jobs = run.first()
    if jobs:
        with engine, track(run.n_expected(jobs), progress, doing=f"study {before.plan.study.name}") as bar:
            _work(run, engine, jobs, bar)
    with suppress(DiskFullError):  # small shards are as good, only slower to read
        before.store.merge()
    after = status(before.store, before.plan)
    # A model that was trained once has its loss in the table, and a failure of now would not be seen there.
    untrained = {key: why for key, why in run.untrained.items() if key not in after.failures}
    return replace(after, failures={**after.failures, **untrained})


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
            stopped = f"store {run.store.url!r} is full, so the run was stopped; finished work is in it"
            raise DiskFullError(f"{stopped}: make room and run it again.") from error
        for job in following:
            engine.submit(job)
            n_open += 1


@dataclass
class _Run:
    """The jobs of one run that are open."""

    before: StudyStatus
    data_folder: str
    training: set[str] = field(default_factory=set)
    encoded: set[str] = field(default_factory=set)
    compared: set[tuple[str, ...]] = field(default_factory=set)
    measured: set[str] = field(default_factory=set)
    trained_again: set[str] = field(default_factory=set)
    untrained: dict[str, Failure] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        """Plan of the study."""
        return self.before.plan

    @property
    def store(self) -> Store:
        """Store of the study."""
        return self.before.store

    def first(self) -> list[Job]:
        """Return the jobs that need not wait for others."""
        self.encoded = set(self.before.encoded)
        if self.before.missing or self.before.failed_models:
            self._check_given()
        trains = self.before.to_train
        self.training = {model.key for ensemble in trains for model in ensemble.models}
        ready = [model for model in self.plan.models if model.key not in self.training]
        return [*(self._train(one) for one in trains), *self._measure(ready), *self._compare()]

    def _check_given(self) -> None:
        """Note which given files cannot be read, so that they do not count among the models of their setting."""
        for model in (one for one in self.plan.models if one.file):
            try:
                load(model.file)
            except CollapsedError:
                continue
            except (ValueError, OSError) as error:
                self.encoded.discard(model.key)
                self.store.add_rows([model_row(model, None, Failure(FailureKind.FAILED, str(error)))])
            else:
                if model.key not in self.encoded:
                    self.encoded.add(model.key)
                    self.store.add_rows([model_row(model, None)])

    def n_expected(self, jobs: Iterable[Job]) -> int:
        """Return the number of jobs, if every model can be trained."""
        waiting = [group for group in self.plan.settings if any(model.key in self.training for model in group)]
        return len(list(jobs)) + len(self.training) * bool(self.plan.measurements) + len(waiting)

    def after(self, finished: Finished) -> list[Job]:
        """Record how a job ended; returns the jobs that can begin now."""
        job = finished.job
        if isinstance(job, TrainJob):
            return self._after_training(job.ensemble, finished.error)
        if finished.error is not None and (lost := self._lost(job)):
            self.encoded -= lost
            self.measured -= lost
            self.compared = {group for group in self.compared if not lost.intersection(group)}
            again = self._train_again(lost)
            if again or lost & self.training:
                return again
        if finished.error is not None and isinstance(job, MeasureJob):
            self._note(((job.model, one) for one in job.measurements), finished.error)
        if finished.error is not None and isinstance(job, AgreementJob):
            self._note(((model, one) for model in job.group for one in job.measurements), finished.error)
        return []

    def _lost(self, job: Job) -> set[str]:
        """Return the models of a job whose codes are gone, as damaged ones are set aside."""
        models = (job.model,) if isinstance(job, MeasureJob) else job.group if isinstance(job, AgreementJob) else ()
        return {model.key for model in models if model.codes and not self.store.has(model.codes)}

    def _train_again(self, lost: set[str]) -> list[Job]:
        """Return jobs that make lost codes again; each ensemble is trained again once."""
        again = [
            one
            for one in self.plan.ensembles
            if one.key not in self.trained_again and any(model.key in lost - self.training for model in one.models)
        ]
        self.trained_again |= {one.key for one in again}
        self.training |= {model.key for one in again for model in one.models}
        return [self._train(one) for one in again]

    def _after_training(self, ensemble: Ensemble, error: str | None) -> list[Job]:
        made = [model for model in ensemble.models if self.store.has(model.codes)]
        if error is not None:
            lost = [model for model in ensemble.models if model not in made]
            failure = Failure(FailureKind.FAILED, error)
            self.store.add_rows([model_row(model, None, failure) for model in lost])
            self.untrained |= {model_row_key(model): failure for model in lost}
        self.training -= {model.key for model in ensemble.models}
        self.encoded |= {model.key for model in made}
        return [*self._measure(made), *self._compare()]

    def _train(self, ensemble: Ensemble) -> Job:
        return TrainJob(store=self.store, plan=self.plan, ensemble=ensemble, data_folder=self.data_folder)

    def _measure(self, models: Iterable[Model]) -> list[Job]:
        jobs: list[Job] = []
        for model in models:
            missing = tuple(one for one in self.plan.measurements_of(model) if one.on(model) not in self.before.settled)
            if missing and model.key in self.encoded and model.key not in self.measured:
                self.measured.add(model.key)
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
        """Return agreement jobs of settings whose models are all trained, or have failed."""
        jobs: list[Job] = []
        for group in self.plan.settings:
            name = tuple(model.key for model in group)
            if name in self.compared or any(model.key in self.training for model in group):
                continue
            self.compared.add(name)
            if any(model.key in self.before.measured for model in group):
                continue  # their agreement is there
            present = tuple(model for model in group if model.key in self.encoded)
            if len(present) < 2:
                continue
            missing = [
                one
                for one in self.plan.agreements(present)
                if any(one.on(model) not in self.before.settled for model in present)
            ]
            if missing:
                jobs.append(AgreementJob(store=self.store, plan=self.plan, group=present, measurements=tuple(missing)))
        return jobs

    def _note(self, lost: Iterable[tuple[Model, Measurement]], error: str) -> None:
        """Write the failure into the table; a value that the job had written before is kept."""
        failure = Failure(FailureKind.FAILED, error)
        self.store.add_rows([measured_row(model, one, failure=failure) for model, one in lost])


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """Files and rows that no study of a store asks for.

    Attributes:
        files: Codes, factors and models.
        n_bytes: Their size.
        n_rows: Rows of the table.
        damaged: Shards of the table that cannot be read.
    """

    files: tuple[str, ...]
    n_bytes: int
    n_rows: int
    damaged: tuple[str, ...]


def find_leftovers(store: Store) -> Leftovers:
    """Return files and rows that no study of a store asks for, whichever of several studies of one name it is."""
    wanted, keys = _wanted(store)
    files = [f"{folder}/{name}" for folder in ("codes", "factors", "models") for name in store.names(folder)]
    left = tuple(sorted(name for name in files if not any(name.startswith(one) for one in wanted)))
    table = store.table()
    return Leftovers(
        files=left,
        n_bytes=sum(store.size(name) for name in left),
        n_rows=int((~table["key"].isin(keys)).sum()),
        damaged=tuple(store.damaged()),
    )


def remove_leftovers(store: Store, found: Leftovers) -> None:
    """Remove leftovers, and set damaged shards aside; no run may be using the store."""
    store.set_aside_damaged()
    for name in found.files:
        store.delete(name)
    _, keys = _wanted(store)
    table = store.table()
    store.replace_rows(pa.Table.from_pandas(table[table["key"].isin(keys)], schema=SCHEMA, preserve_index=False))


def _wanted(store: Store) -> tuple[set[str], set[str]]:
    """Return the beginnings of the files, and the keys of the rows, that studies of a store ask for."""
    files: set[str] = set()
    keys: set[str] = set()
    kept = [kept_study(store, name) for name in kept_studies(store)]
    for study in (*kept, *replaced_studies(store)):
        state = status(store, study)
        plan = state.plan
        files |= {model.codes for model in plan.models if model.codes}
        files |= {factors_name(plan, dataset) for dataset in (*plan.study.data, *plan.study.also)}
        files |= {f"models/{ensemble.key}/" for ensemble in plan.ensembles}
        keys |= set(state.table()["key"])
    return files, keys
