"""Two published studies of many models, at full or reduced size, and the correlations of the thesis."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from msgspec.structs import replace

from unbraid._base.checks import check_choice
from unbraid._base.progress import Show
from unbraid._base.workers import usable_cores
from unbraid.probes.splits import TEST_SHARE
from unbraid.reproduce.agreement import Check, Part
from unbraid.reproduce.result import Number, Result, Row, Table
from unbraid.study import Study, StudyStatus, correlations, estimate_cost, load_study, pivot, run_study, status
from unbraid.study.spec import Family

Scale = Literal["mini", "gpu", "full"]
EngineName = Literal["local", "ray"]


def thesis_study(
    *,
    scale: Scale = "mini",
    store: str | Path | None = None,
    yes: bool = False,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    data_folder: str | Path | None = None,
    progress: Show = None,
) -> StudyTables:
    """Reproduce the study of 1800 models of dSprites: how Modularity correlates with fifteen other scores.

    Trains six families of VAEs with six settings each, scores their codes, solves twelve tasks on them, and prints the
    correlations of Figure E.1 beside the published ones. All others were published as pictures; give a store, and
    `unbraid study report` draws ours.

    Args:
        scale: ``mini``: small models of small sprites, two seeds; ``gpu``: 180 published networks of drawn sprites,
            less than half an hour of one GPU; ``full``: the published study.
        store: Where results go, and are found again by the next run; in small, a temporary folder by default.
        yes: Start even if it is going to be long.
        engine: ``local``: processes on this machine; ``ray``: a Ray cluster.
        workers: Jobs at the same time; as many as there are cores by default.
        address: Address of the Ray cluster, ``host:port`` of its head or ``auto``.
        data_folder: Folder with the files of official data sets.
        progress: Show a bar; by default when standard error is a terminal.

    Raises:
        ValueError: A study at another scale than ``mini`` without a store, or a long one without ``yes``.
    """
    how: dict[str, Any] = {"engine": engine, "address": address, "data_folder": data_folder}
    return run_scaled("thesis", scale, thesis_tables, store=store, yes=yes, workers=workers, progress=progress, **how)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCorrelation:
    """One published correlation, and ours.

    Attributes:
        table: Table or figure of the paper.
        group: The family, data set or coefficient it is of.
        task: Column that it is correlated with.
        score: The score.
        number: Ours and the paper's; ours is ``None`` where the study has too few models or settings for it.
    """

    table: str
    group: str
    task: str
    score: str
    number: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTables(Result):
    """A study run again.

    Attributes:
        study: Its name.
        scale: ``"mini"``, ``"gpu"`` or ``"full"``.
        n_models: Models measured.
        n_failed: Models and numbers that failed.
        correlations: Published correlations, and ours.
    """

    study: str
    scale: Scale
    n_models: int
    n_failed: int
    correlations: tuple[StudyCorrelation, ...]

    @property
    def notes(self) -> Sequence[str]:
        """Scale of the study, and failures."""
        small = [NOT_THE_PUBLISHED[self.scale]] if self.scale in NOT_THE_PUBLISHED else []
        failed = f"{self.n_failed} models or numbers failed; `unbraid study status` gives the reasons."
        return (*small, *([failed] if self.n_failed else ()))

    def tables(self) -> Sequence[Table]:
        """Return each table with a column for each score; one with many scores, with a row for each."""
        names = dict.fromkeys(one.table for one in self.correlations)
        title = f"{self.n_models} models"
        return [_table(name, title, [one for one in self.correlations if one.table == name]) for name in names]


def _table(name: str, title: str, correlations: Sequence[StudyCorrelation]) -> Table:
    cells = {(one.group, one.task, one.score): one.number for one in correlations}
    scores = list(dict.fromkeys(one.score for one in correlations))
    keys = list(dict.fromkeys((one.group, one.task) for one in correlations))
    first = f"{name}, ours (paper's)"
    if len(scores) <= MOST_COLUMNS:
        rows: list[Row] = [[*key, *(cells[(*key, score)] for score in scores)] for key in keys]
        return Table(title=title, header=[first, "correlation with", *scores], rows=rows, compact=True)
    header = [first, *(f"{group} with {task}" for group, task in keys)]
    rows = [[score, *(cells[(*key, score)] for key in keys)] for score in scores]
    return Table(title=title, header=header, rows=rows, compact=True)


#: Scores beyond which each has a row of a table instead of a column.
MOST_COLUMNS = 6
NOT_THE_PUBLISHED = {
    "mini": "Models and data are small ones of our own, so these correlations are not those published, and need not "
    "agree with them; --scale full runs the published study.",
    "gpu": "Networks are the published ones, trained for fewer steps on sprites that are drawn; --scale full runs the "
    "published study.",
}
#: Hyperparameter of the steps after which the capacity no longer rises.
CAPACITY_STEPS = "capacity_steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """Size of a published study that is run smaller: every family, hyperparameter, score and task, of other data.

    Attributes:
        about: Beginning of the description of the study.
        data: Data sets that can be drawn, in place of the published ones.
        also: Data sets that are encoded too.
        rows: Rows of each data set that are encoded.
        seeds: Models of each setting.
        training: Sizes and optimiser settings that differ from the published ones, by name.
        whole_only: Whether smaller samples are left out.
    """

    about: str
    data: tuple[str, ...]
    rows: int
    seeds: int
    training: Mapping[str, Any]
    also: tuple[str, ...] = ()
    whole_only: bool = False


MINI = Reduced(
    about="In small, with small models of small sprites, two seeds each:",
    data=("sprites_mini",),
    rows=3000,
    seeds=2,
    training={
        "n_steps": 1200,
        "n_codes": 6,
        "width": 8,
        "discriminator_width": 64,
        "batch": 32,
        "learning_rate": 2e-3,
        "ensemble_size": 12,
        "device": "cpu",
    },
)
REDUCED = {
    ("thesis", "mini"): MINI,
    ("iwo", "mini"): MINI,
    # Two ensembles share a GPU: one trains while the other is compiled, or writes a checkpoint.
    ("thesis", "gpu"): Reduced(
        about="For one GPU, with published networks of drawn sprites, five seeds each, 50 000 steps:",
        data=("sprites",),
        rows=10_000,
        seeds=5,
        also=("sprites_square",),
        training={"n_steps": 50_000, "ensemble_size": 30, "gpus": 0.5},
    ),
    # A larger learning rate for a thirtieth of the steps.
    ("iwo", "gpu"): Reduced(
        about="For one GPU, with published networks of drawn sprites, two seeds each, 10 000 steps:",
        data=("sprites", "sprites_colour", "sprites_scream"),
        rows=10_000,
        seeds=2,
        training={"n_steps": 10_000, "learning_rate": 5e-4, "ensemble_size": 12, "gpus": 0.25},
        whole_only=True,  # Table 4, of smaller samples, is of smallNORB
    ),
}
#: A sample of a number of rows is at most this share of the largest sample.
LARGEST_SHARE = 0.2


def scaled(study: Study, scale: Scale) -> Study:
    """Return a published study, or a smaller one with drawn data.

    Smaller, every family has its published hyperparameters; capacities rise over the same share of the steps; tasks
    that need other data are left out.
    """
    check_choice("scale", scale, get_args(Scale))
    if scale == "full":
        return study
    size = REDUCED[study.name, scale]
    training = replace(study.training, **size.training)
    groups = [(group, tuple(name for name in group.only if name in (*size.data, *size.also))) for group in study.tasks]
    tasks = tuple(
        replace(group, train=_sizes(group.train, size), only=kept) for group, kept in groups if kept or not group.only
    )
    return replace(
        study,
        name=f"{study.name}-{scale}",
        about=f"{size.about} {study.about}",
        data=size.data,
        also=size.also,
        rows=size.rows,
        models=tuple(_annealed_by(family, training.n_steps / study.training.n_steps) for family in study.models),
        seeds=size.seeds,
        training=training,
        scores=replace(study.scores, rows=_sizes(study.score_rows, size)),
        tasks=tasks,
    )


def _annealed_by(family: Family, share: float) -> Family:
    """Return a family whose capacity reaches its highest value after a share of the steps that it took before."""
    steps = family.hyperparameters.get(CAPACITY_STEPS)
    if not isinstance(steps, float | int):
        return family
    return replace(family, hyperparameters={**family.hyperparameters, CAPACITY_STEPS: float(round(steps * share))})


def _sizes(sizes: tuple[float, ...], to: Reduced) -> tuple[float, ...]:
    """Return sample sizes for fewer rows: the largest is all, shares stay, other numbers are a fifth at most."""
    if to.whole_only:
        return (1.0,)
    most = int(LARGEST_SHARE * (to.rows - round(TEST_SHARE * to.rows)))
    return tuple(1.0 if size == max(sizes) else size if size <= 1 else float(min(size, most)) for size in sizes)


def run_scaled(
    name: str,
    scale: Scale,
    tables: Callable[[StudyStatus, Scale], StudyTables],
    *,
    store: str | Path | None,
    yes: bool,
    workers: int | None = None,
    progress: Show = None,
    **engine: Any,
) -> StudyTables:
    """Run a study that comes with the package at some scale, and read the paper's tables off it.

    Args:
        name: Which.
        scale: ``"mini"``, ``"gpu"`` or ``"full"``.
        tables: Reads them off.
        store: Where results go; in small, a temporary folder by default.
        yes: Start even if it is going to be long.
        workers: Jobs at the same time.
        progress: Show a bar.
        engine: ``engine``, ``address`` and ``data_folder``, as for :func:`unbraid.study.run_study`.

    Raises:
        ValueError: A study at another scale than ``mini`` without a store, or a long one without ``yes``.
    """
    study = scaled(load_study(name), scale)
    if store is None and scale != "mini":
        raise ValueError(f"store is needed for the {scale} {name} study; give a folder or a URL to keep it in.")
    place: AbstractContextManager[str] = tempfile.TemporaryDirectory() if store is None else nullcontext(str(store))
    with place as folder:
        cost = estimate_cost(status(folder, study))
        if cost.is_large and not yes:
            raise ValueError(
                f"the {scale} {name} study is large; say yes (--yes) to start it. {cost.sentence(workers)}"
            )
        n_workers = workers or usable_cores()
        return tables(run_study(study, folder, workers=n_workers, progress=progress, **engine), scale)


#: Over 1800 models a correlation has a standard error of 0.02; scores differ in detail between implementations.
THESIS_TOLERANCE = 0.1
#: Over six settings, averaged over six data sets or families.
IWO_TOLERANCE = 0.3
REASON = "The models were trained again, and a correlation over six settings depends strongly on each of them."


def thesis_checks(result: StudyTables) -> Sequence[Part]:
    """Compare the correlations of Modularity."""
    return _parts(result, THESIS_TOLERANCE)


def iwo_study_checks(result: StudyTables) -> Sequence[Part]:
    """Compare the correlations of scores with tasks."""
    return _parts(result, IWO_TOLERANCE)


def _parts(result: StudyTables, tolerance: float) -> Sequence[Part]:
    if result.scale == "mini":
        return ()
    known = [one for one in result.correlations if one.number.ours is not None]
    return [
        Part(
            where=where,
            checks=[
                Check.of(f"{one.group}: {one.score} with {one.task}", one.number, tolerance=tolerance)
                for one in known
                if one.table == where
            ],
            reason=REASON,
        )
        for where in dict.fromkeys(one.table for one in known)
    ]


#: Figure E.1: for each score, Pearson's and Spearman's correlation with Modularity over 1800 models.
FIGURE_E1: dict[str, tuple[float, float]] = {
    "z_diff": (0.04, 0.07),
    "z_min_var": (0.14, 0.13),
    "z1": (0.04, 0.07),
    "z2": (0.07, 0.09),
    "dci_linear.disentanglement": (0.06, 0.08),
    "dci_forest.disentanglement": (-0.00, 0.03),
    "irs": (-0.16, -0.07),
    "sap": (-0.03, 0.09),
    "mig": (-0.02, 0.06),
    "dci_linear.completeness": (-0.05, -0.05),
    "dci_forest.completeness": (-0.14, -0.12),
    "dci_linear.informativeness": (0.01, 0.09),
    "dci_forest.informativeness": (0.10, 0.12),
    "explicitness": (0.04, 0.05),
    "udr_lasso": (-0.13, -0.13),
}


def thesis_tables(state: StudyStatus, scale: Scale) -> StudyTables:
    """Return the correlations of Modularity with every other score over the models of a study."""
    table = state.table()
    models = pivot(table, datasets=[name for name in state.plan.study.data if name in set(table["dataset"])])
    rows = []
    for number, method in enumerate(("pearson", "spearman")):
        found = correlations(models, ["modularity"], list(FIGURE_E1), method=method, n_bootstrap=0).r  # type: ignore[arg-type]
        rows += [
            StudyCorrelation(
                table="Fig. E.1",
                group=method,
                task="modularity",
                score=score,
                number=Number(ours=cast(float, found.at["modularity", score]), paper=published[number]),
            )
            for score, published in FIGURE_E1.items()
        ]
    return StudyTables(
        study="thesis",
        scale=scale,
        n_models=len(models.values),
        n_failed=len(state.failed_models) + len(state.missing),
        correlations=tuple(rows),
    )
