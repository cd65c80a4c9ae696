"""Run_study and the scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
import pandas as pd
import pyarrow as pa

from unbraid._base.checks import check_choice
from unbraid._base.files import DiskFullError
from unbraid._base.progress import Progress, Show, track
from unbraid.study.jobs import Engine, Finished, Job
from unbraid.study.jobs.agreement import AgreementJob
from unbraid.study.jobs.measure import MeasureJob, measured_row
from unbraid.study.jobs.train import TrainJob, model_row
from unbraid.study.plan import Ensemble, Measurement, Model, Plan, make_plan
from unbraid.study.read import load_study, parse_study
from unbraid.study.spec import Representations, Study
from unbraid.study.state import State, look
from unbraid.study.store import MERGE_ABOVE, Store, factors_name
from unbraid.study.table import SCHEMA


def run_study(
    study: str | Path | Study,
    store: str | Path | Store,
    *,
    engine: Literal["local", "ray"] = "local",
    workers: int | None = None,
    address: str | None = None,
    data_folder: str | Path | None = None,
    progress: Show = None,
) -> State:
    """Train, score and compare whatever a study asks for and its store lacks.

    Args:
        study: A file, the name of a study that comes with the package, or a study.
        store: A folder, or a URL that fsspec knows.
        engine: ``"local"`` for processes on this machine, ``"ray"`` for a Ray cluster.
        workers: Jobs at the same time; by default as many as there are cores.
        address: Of the Ray cluster; by default one is started here.
        data_folder: Where files of data sets are; by default ``UNBRAID_DATA`` or ``~/.cache/unbraid/data``.
        progress: Show a bar on standard error, by default when that is a terminal; or ``"lines"``: now and then a line.

    Returns:
        How far the study is afterwards; ``.table()`` are its numbers, what failed among them with reasons.

    Raises:
        ValueError: Not a study, a store or cluster that cannot be reached, or no torch, data or GPU that it needs.
    """
    from unbraid.study.engines import make_engine
    from unbraid.study.state import check_needs

    plan = make_plan(study if isinstance(study, Study) else load_study(study))
    place = store if isinstance(store, Store) else Store(store)
    runner = make_engine(engine, workers=workers, address=address)
    if address is None:  # machines of a cluster elsewhere say themselves what they lack
        check_needs(look(plan, place), data_folder=str(data_folder or ""))
    keep_study(plan.study, place)
    return run_plan(plan, place, runner, data_folder=str(data_folder or ""), progress=progress)


def study_state(store: str | Path | Store, study: str | Path | Study | None = None) -> State:
    """Return how far a study in a store is.

    Args:
        store: A folder, or a URL that fsspec knows.
        study: The name of one that was run there, or a file, or a study; not needed where the store has one only.

    Raises:
        ValueError: No such study there.
    """
    place = store if isinstance(store, Store) else Store(store)
    return look(make_plan(study if isinstance(study, Study) else kept_study(place, study)), place)


def study_table(store: str | Path | Store, study: str | Path | Study | None = None) -> pd.DataFrame:
    """Return the numbers of a study, a row each; see :data:`unbraid.study.SCHEMA` for the columns."""
    return study_state(store, study).table()


def keep_study(study: Study, store: Store) -> None:
    """Write a study into its store, so that the store says what its numbers are."""
    given = study.representations
    if given is not None:
        absolute = Representations(folder=str(study.folder.resolve()), index=given.index)
        study = msgspec.structs.replace(study, representations=absolute)
    store.write(f"studies/{study.name}.yaml", msgspec.yaml.encode(study))


def kept_studies(store: Store) -> list[str]:
    """Return the names of the studies that were run in a store."""
    return sorted(name.removesuffix(".yaml") for name in store.names("studies"))


def kept_study(store: Store, study: str | Path | None = None) -> Study:
    """Return a study that was run in a store, or one from a file.

    Raises:
        ValueError: None was run there, several and none is named, or no such.
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
    return parse_study(store.read(f"studies/{name}.yaml").decode(), source=f"{name} in {store.url}")


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


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """What no study of a store asks for.

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
    """Return what no study of a store asks for, and failures that were overcome."""
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
    """Remove them; no run may be using the store."""
    for name in found.files:
        store.delete(name)
    _, keys = _wanted(store)
    table = store.table()
    store.replace_rows(pa.Table.from_pandas(table[table["key"].isin(keys)], schema=SCHEMA, preserve_index=False))


def _wanted(store: Store) -> tuple[set[str], set[str]]:
    """Return the beginnings of the files, and the keys of the rows, that studies of a store ask for."""
    files: set[str] = set()
    keys: set[str] = set()
    for name in kept_studies(store):
        state = look(make_plan(kept_study(store, name)), store)
        plan = state.plan
        files |= {model.codes for model in plan.models if model.codes}
        files |= {factors_name(plan, dataset) for dataset in plan.study.data}
        files |= {f"models/{ensemble.key}/" for ensemble in plan.ensembles}
        keys |= set(state.table()["key"])
    return files, keys
