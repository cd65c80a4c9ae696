"""Two published studies of many models at full or reduced size, and the comparison of their tables."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec.structs import replace

from unbraid._base.checks import check_choice
from unbraid._base.files import temporary_folder
from unbraid._base.progress import Show
from unbraid._base.workers import usable_cores
from unbraid.probes.splits import TEST_SHARE
from unbraid.reproduce.agreement import Check, Part
from unbraid.reproduce.result import Number, Result, Row, Table
from unbraid.study import Study, StudyStatus, estimate_cost, load_study, run_study, status
from unbraid.study.spec import Family

Scale = Literal["mini", "gpu", "full"]
EngineName = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class PrintedP:
    """A p-value as a paper prints it: a number, or only that it is below one."""

    value: float
    is_bound: bool = False

    def __str__(self) -> str:
        return f"<{self.value:g}" if self.is_bound else f"{self.value:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCorrelation:
    """One published correlation, and ours.

    Attributes:
        table: Table or figure of the paper.
        group: The family, data set or coefficient it is of.
        task: Column that it is correlated with.
        score: The score.
        number: Ours and the paper's; ours is ``None`` where the study has too few models or settings for it.
        tolerance: By how much it may differ because other seeds were drawn; ``None`` where that is not known.
        p: Our p-value of no correlation, where the paper prints one.
        p_paper: The paper's.
    """

    table: str
    group: str
    task: str
    score: str
    number: Number
    tolerance: float | None = None
    p: float | None = None
    p_paper: PrintedP | None = None

    def check(self) -> Check:
        """Return the comparison with the paper's number."""
        what = f"{self.group}: {self.score} with {self.task}"
        return Check.of(what, self.number, tolerance=round(self.tolerance or 0.0, 3))

    def check_p(self) -> Check:
        """Return whether the correlation is significant where the printed one is, and not where that is not.

        A significant correlation must have the printed sign: its p-value is one-sided.
        """
        what, claim = f"{self.group}: p of {self.score} with {self.task}", f"p {self.p_paper}"
        assert self.p_paper is not None
        if not self.p_paper.is_bound:
            return Check(what=what, ours=self.p, claim=claim, at_least=LEVEL)
        ours, paper = self.number.ours, self.number.paper
        same = ours is not None and paper is not None and ours * paper > 0
        p = None if self.p is None else self.p / 2 if same else 1 - self.p / 2
        return Check(what=f"{what}, one-sided", ours=p, claim=f"{claim}, r {paper:g}", at_most=LEVEL / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyClaim:
    """One statement of a paper in words, and our number that it is held against.

    Attributes:
        table: Figure of the paper.
        what: Quantity.
        number: Ours, and the statement.
        at_least: Least value that the statement allows; ``None`` for no bound.
        at_most: Largest value that it allows.
    """

    table: str
    what: str
    number: Number
    at_least: float | None = None
    at_most: float | None = None

    def check(self) -> Check:
        """Return the comparison with the bound."""
        return Check(
            what=self.what,
            ours=self.number.ours,
            claim=self.number.claim,
            at_least=-math.inf if self.at_least is None else self.at_least,
            at_most=math.inf if self.at_most is None else self.at_most,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTables(Result):
    """A study run again.

    Attributes:
        study: Its name.
        scale: ``"mini"``, ``"gpu"`` or ``"full"``.
        n_models: Models measured.
        n_failed: Models and numbers that failed.
        correlations: Published correlations, and ours.
        claims: Published statements in words, and our numbers.
        gpu_seconds: Seconds that ensembles were trained for, added up, where they were trained on a GPU.
        commit: Version of the source that the models were trained with; empty where it was not recorded.
        fault: What is known to be wrong with this run, as a sentence; empty where nothing is.
    """

    study: str
    scale: Scale
    n_models: int
    n_failed: int
    correlations: tuple[StudyCorrelation, ...]
    claims: tuple[StudyClaim, ...] = ()
    gpu_seconds: float | None = None
    commit: str = ""
    fault: str = ""

    @property
    def notes(self) -> Sequence[str]:
        """Scale of the study, failures, and what is known to be wrong with it."""
        small = [NOT_THE_PUBLISHED[self.scale]] if self.scale in NOT_THE_PUBLISHED else []
        failed = f"{self.n_failed} models or numbers failed; `unbraid study status` gives the reasons."
        took = f"{self.n_models} models, {self.gpu_seconds or 0:.0f} GPU seconds" + (
            f", source {self.commit}." if self.commit else "."
        )
        faults = [self.fault] if self.fault else []
        return (*small, *([took] if self.gpu_seconds else ()), *([failed] if self.n_failed else ()), *faults)

    def tables(self) -> Sequence[Table]:
        """Return each table with a column for each score; one with many scores, with a row for each."""
        shown = [one for one in self.correlations if self.scale == "mini" or one.number.ours is not None]
        names = dict.fromkeys(one.table for one in shown)
        title = f"{self.n_models} models"
        found = [(name, [one for one in shown if one.table == name]) for name in names]
        tables = [_table(name, title, some) for name, some in found]
        tables += [_means(name, title, some) for name, some in found if len({one.group for one in some}) >= MANY_GROUPS]
        rows: list[Row] = [[one.table, one.what, one.number] for one in self.claims]
        header = ["in words", "quantity", "ours (the paper's words)"]
        return [*tables, *([Table(title=title, header=header, rows=rows, compact=True)] if rows else [])]


def _table(name: str, title: str, correlations: Sequence[StudyCorrelation]) -> Table:
    cells = {(one.group, one.task, one.score): one.number for one in correlations}
    scores = list(dict.fromkeys(one.score for one in correlations))
    keys = list(dict.fromkeys((one.group, one.task) for one in correlations))
    first = f"{name}, ours (paper's)"
    if len(scores) <= MOST_COLUMNS:
        rows: list[Row] = [[*key, *(cells[(*key, score)] for score in scores)] for key in keys]
        return Table(title=title, header=[first, "correlation with", *scores], rows=rows, compact=True)
    p_values = {
        (one.group, one.task, one.score): Number(ours=one.p, claim=str(one.p_paper))
        for one in correlations
        if one.p_paper
    }
    header = [first]
    rows = [[score] for score in scores]
    for key in keys:
        columns = {f"{key[0]} with {key[1]}": cells} | ({f"p, {key[0]}": p_values} if p_values else {})
        header += columns
        rows = [
            [*row, *(found[(*key, score)] for found in columns.values())]
            for row, score in zip(rows, scores, strict=True)
        ]
    return Table(title=title, header=header, rows=rows, compact=True)


def _means(name: str, title: str, correlations: Sequence[StudyCorrelation]) -> Table:
    """Return the means of each column of a table over its families and data sets, for each task."""
    scores = list(dict.fromkeys(one.score for one in correlations))
    rows: list[Row] = [
        [task, *(_mean([one for one in correlations if (one.task, one.score) == (task, score)]) for score in scores)]
        for task in dict.fromkeys(one.task for one in correlations)
    ]
    return Table(title=title, header=[f"{name}, mean over its rows", *scores], rows=rows, compact=True)


def _mean(correlations: Sequence[StudyCorrelation]) -> Number:
    """Return the mean of correlations that both have, ours and the paper's."""
    both = [
        (one.number.ours, one.number.paper)
        for one in correlations
        if one.number.ours is not None and one.number.paper is not None
    ]
    ours, paper = (sum(values) / len(both) for values in zip(*both, strict=True)) if both else (None, None)
    return Number(ours=ours, paper=None if paper is None else round(paper, 2))


#: A table with at least this many families or data sets is followed by its means.
MANY_GROUPS = 5
#: Scores beyond which each has a row of a table instead of a column.
MOST_COLUMNS = 6
NOT_THE_PUBLISHED = {
    "mini": "Models and data are small ones of our own, so these correlations are not those published, and need not "
    "agree with them; --scale full runs the published study.",
    "gpu": "Networks are the published ones, trained for fewer steps on sprites that are drawn; --scale full runs the "
    "published study.",
}
#: Level at which the thesis tests correlations, its two-sided quantile of a normal distribution, and models there.
LEVEL, LEVEL_QUANTILE, PUBLISHED_MODELS = 0.01, 2.576, 1800
#: Ends the name of a table whose p-values are compared.
P_VALUES = ", p-values"
#: Hyperparameter of the steps after which the capacity no longer rises.
CAPACITY_STEPS = "capacity_steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """Size of a published study that is run smaller: every family, hyperparameter, score and task, of other data.

    Attributes:
        about: Beginning of the description of the study.
        data: Data sets that can be drawn, in place of the published ones.
        also: Data sets that are encoded too, in place of the published ones, in their order.
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
    about="A small copy, with small models of small sprites and two seeds each, of this study:",
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
    ("thesis", "mini"): dataclasses.replace(MINI, also=("sprites_mini_square",)),
    ("iwo", "mini"): MINI,
    # Two ensembles share a GPU: one trains while the other is compiled, or writes a checkpoint.
    ("thesis", "gpu"): Reduced(
        about="A copy for one GPU, with published networks of drawn sprites, five seeds, 50 000 steps, of the study:",
        data=("sprites",),
        rows=10_000,
        seeds=5,
        also=("sprites_square",),
        training={"n_steps": 50_000, "ensemble_size": 30, "gpus": 0.5},
    ),
    # A larger learning rate for a thirtieth of the steps.
    ("iwo", "gpu"): Reduced(
        about="A copy for one GPU, with published networks of drawn sprites, two seeds, 10 000 steps, of the study:",
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
    stand_ins = dict(zip(study.also, size.also, strict=True))
    groups = [
        (group, tuple(name for one in group.only if (name := stand_ins.get(one, one)) in (*size.data, *size.also)))
        for group in study.tasks
    ]
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
    commit: str = "",
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
        commit: Version of the source, which is kept with the result.
        progress: Show a bar.
        engine: ``engine``, ``address`` and ``data_folder``, as for :func:`unbraid.study.run_study`.

    Raises:
        ValueError: A study at another scale than ``mini`` without a store, or a long one without ``yes``.
    """
    study = scaled(load_study(name), scale)
    if store is None and scale != "mini":
        raise ValueError(f"store is needed for the {scale} {name} study; give a folder or a URL to keep it in.")
    place: AbstractContextManager[str | Path] = temporary_folder() if store is None else nullcontext(store)
    with place as folder:
        cost = estimate_cost(status(folder, study))
        if cost.is_large and not yes:
            raise ValueError(
                f"the {scale} {name} study is large; say yes (--yes) to start it. {cost.sentence(workers)}"
            )
        n_workers = workers or usable_cores()
        found = tables(run_study(study, folder, workers=n_workers, progress=progress, **engine), scale)
        return dataclasses.replace(found, commit=commit)


REASON = (
    "Data are drawn and models were trained again, for fewer steps; the allowed distance covers other seeds, and not "
    "other data or steps."
)
#: Printed by ``benchmarks/study_causes.py``.
CAUSES = {
    "thesis": "Of 72 small models, correlations over all models (Fig. E.1) move by 0.08 with other "
    "seeds, by 0.12 with a third of the steps and by 0.27 with other data.",
    "iwo": "Of 72 small models, the correlation of one family on one data set moves by 0.38 with other seeds, by 0.49 "
    "with a third of the steps and by 0.54 with other data; the mean over families by 0.12, 0.24 and 0.28.",
}
#: Correlations of a table for their mean distance from print to be said.
ENOUGH_PRINTED = 10
NEEDS_FILES = (
    "Numbers of Cars3D, smallNORB and 3D Shapes need the files of these data sets (--scale full), which cannot "
    "be had offline."
)
#: Ends the name of a table whose correlations are taken again after the mean of its family was taken from every model.
WITHIN = ", within families"


def study_checks(result: StudyTables) -> Sequence[Part]:
    """Compare correlations and p-values with the published ones, and statements in words with their bounds.

    A number may differ by what other seeds would change, by resampling the seeds of every setting; a number whose
    settings have a single seed is not compared.
    """
    if result.scale == "mini":
        return ()
    printed = [
        one for one in result.correlations if one.number.paper is not None and not is_repeated(result.study, one)
    ]
    unmeasured = {one.table for one in printed if one.number.ours is None}
    compared = [one for one in printed if one.number.ours is not None and one.tolerance is not None]
    tables = dict.fromkeys([*(one.table for one in printed), *(one.table for one in result.claims)])
    measured = {*(one.table for one in compared), *(one.table for one in result.claims)}
    parts = [
        Part(
            where=where,
            checks=[
                *(one.check() for one in compared if one.table == where),
                *(one.check() for one in result.claims if one.table == where),
            ],
            reason=" ".join(
                sentence
                for sentence in (
                    NEEDS_FILES if where in unmeasured else "",
                    f"{REASON} {CAUSES[result.study]}" if where in measured else "",
                    _of_families(result, where) or _from_print([one for one in compared if one.table == where]),
                )
                if sentence
            ),
            n_published=[*(one.table for one in printed), *(one.table for one in result.claims)].count(where),
        )
        for where in tables
    ]
    return [*parts, *_p_value_parts(result, printed)]


def _p_value_parts(result: StudyTables, printed: Sequence[StudyCorrelation]) -> Sequence[Part]:
    """Return the comparison of p-values, a part for each table that prints them."""
    here, there = (LEVEL_QUANTILE / math.sqrt(max(1, n)) for n in (result.n_models, PUBLISHED_MODELS))
    reason = (
        f"Fewer models have less power: a correlation is significant from {here:.2f} on over {result.n_models} models, "
        f"and from {there:.2f} on over {PUBLISHED_MODELS}."
    )
    with_p = [one for one in printed if one.p_paper]
    return [
        Part(
            where=f"{table}{P_VALUES}",
            checks=[one.check_p() for one in with_p if one.table == table and one.p is not None],
            reason=f"{REASON} {reason}" if result.n_models < PUBLISHED_MODELS else REASON,
            n_published=sum(one.table == table for one in with_p),
        )
        for table in dict.fromkeys(one.table for one in with_p)
    ]


def _from_print(compared: Sequence[StudyCorrelation]) -> str:
    """Return how far correlations are from print on average; empty where there are few."""
    distances = [
        abs(one.number.ours - one.number.paper)
        for one in compared
        if one.number.ours is not None and one.number.paper is not None
    ]
    return (
        f"Here they are {sum(distances) / len(distances):.2f} from print." if len(distances) >= ENOUGH_PRINTED else ""
    )


def _of_families(result: StudyTables, table: str) -> str:
    """Return how far correlations are from print over all models and within families; empty where not known."""
    at = {(one.table, one.group, one.score): one.number.ours for one in result.correlations}
    found = [
        (abs(one.number.ours - one.number.paper), abs(inside - one.number.paper))
        for one in result.correlations
        if one.table == table and one.number.ours is not None and one.number.paper is not None
        for inside in [at.get((f"{table}{WITHIN}", one.group, one.score))]
        if inside is not None
    ]
    if not found:
        return ""
    over_all, within = (sum(distances) / len(found) for distances in zip(*found, strict=True))
    return (
        f"Correlations are on average {over_all:.2f} from the printed ones over all models, and {within:.2f} within "
        "families."
    )


def is_repeated(study: str, one: StudyCorrelation) -> bool:
    """Tell numbers that another table of the paper prints too, where they count.

    Table 7 of the study of orthogonality has the columns IWO and IWR of Table 2a; Table 4 has lines of Table 3, where
    all rows are scored.
    """
    if not study.startswith("iwo"):
        return False
    return (one.table == "Table 7" and one.score != "O") or (one.table == "Table 4" and one.group.endswith(" 100%"))
