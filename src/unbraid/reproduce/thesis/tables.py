"""Numbers and statements of the thesis on 1800 models: Figures 5.5 to 5.15, 6.1, 6.2 and E.1.

From Bjøru (2021) as machine-read text; figures are lost, captions, tables and sentences are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.stats import average_ranks
from unbraid.reproduce.result import Number
from unbraid.reproduce.studies import WITHIN, PrintedP, Scale, StudyClaim, StudyCorrelation, StudyTables
from unbraid.study import StudyStatus, pivot
from unbraid.study.analysis.correlate import p_values
from unbraid.study.table import ModelTable

BELOW = PrintedP(0.01, is_bound=True)
#: Figure E.1: for each score, Pearson's and Spearman's correlation with Modularity over 1800 models, with p-values.
FIGURE_E1: dict[str, tuple[tuple[float, PrintedP], tuple[float, PrintedP]]] = {
    "z_diff": ((0.04, PrintedP(0.06)), (0.07, BELOW)),
    "z_min_var": ((0.14, BELOW), (0.13, BELOW)),
    "z1": ((0.04, PrintedP(0.11)), (0.07, BELOW)),
    "z2": ((0.07, BELOW), (0.09, BELOW)),
    "dci_linear.disentanglement": ((0.06, PrintedP(0.02)), (0.08, BELOW)),
    "dci_forest.disentanglement": ((-0.00, PrintedP(0.96)), (0.03, PrintedP(0.14))),
    "irs": ((-0.16, BELOW), (-0.07, BELOW)),
    "sap": ((-0.03, PrintedP(0.17)), (0.09, BELOW)),
    "mig": ((-0.02, PrintedP(0.38)), (0.06, PrintedP(0.02))),
    "dci_linear.completeness": ((-0.05, PrintedP(0.03)), (-0.05, PrintedP(0.05))),
    "dci_forest.completeness": ((-0.14, BELOW), (-0.12, BELOW)),
    "dci_linear.informativeness": ((0.01, PrintedP(0.63)), (0.09, BELOW)),
    "dci_forest.informativeness": ((0.10, BELOW), (0.12, BELOW)),
    "explicitness": ((0.04, PrintedP(0.10)), (0.05, PrintedP(0.04))),
    "udr_lasso": ((-0.13, BELOW), (-0.13, BELOW)),
}
UDR, MODULARITY, ANNEALED = "udr_lasso", "modularity", "annealed_vae"
#: Scores of modularity but Modularity itself, of compactness and of explicitness.
MODULAR = ("z_diff", "z_min_var", "z1", "z2", "dci_linear.disentanglement", "dci_forest.disentanglement", "irs")
COMPACT = ("sap", "mig", "dci_linear.completeness", "dci_forest.completeness")
EXPLICIT = ("dci_linear.informativeness", "dci_forest.informativeness", "explicitness")
TASKS = ("factor:shape", "factor:scale", "position_cartesian", "position_polar")
PREDICTORS = ("linear", "boosting", "forest")
#: Section 6.3: correlation of UDR with logistic regression of shape from 1000 rows, over families.
BUT_ANNEALED = "all but annealed_vae"
SECTION_63 = {BUT_ANNEALED: 0.34, "dip_vae_ii": 0.69, "beta_tcvae": 0.43, ANNEALED: 0.61}
#: Section 6.3: least and largest accuracy of the position of the grey square.
SQUARE = (0.02, 0.50)
PUBLISHED_SEEDS = 50
#: A coefficient that "correlates well" is at least this, one that "does not" at most, and one "close to zero" this.
WELL, NOT_WELL, CLOSE_TO_ZERO = 0.3, 0.3, 0.2
N_RESAMPLES, ROUNDING = 400, 0.005
QUANTILE = 1.96


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Models:
    """Scores and tasks of models, by column, with chances to draw other seeds.

    Attributes:
        columns: By name, one number for each model.
        family: Of each model.
        setting: Number of the family and hyperparameter of each model.
        sizes: Training sizes of tasks, the largest first.
    """

    columns: dict[str, FloatArray]
    family: Any
    setting: IntArray
    sizes: tuple[str, ...] = field(default=("",))

    @classmethod
    def of(cls, models: ModelTable) -> Models:
        """Read the pivot of a study."""
        about = models.about
        setting = np.unique(about["family"] + "/" + about["hyperparameter"].astype(str), return_inverse=True)[1]
        sizes = {name.rpartition("@")[2] for name in models.tasks if name.startswith(f"task:{TASKS[0]}/")}
        return cls(
            columns={str(name): models.values[name].to_numpy(float) for name in models.values},
            family=about["family"].to_numpy(),
            setting=setting,
            sizes=tuple(sorted(sizes, key=int, reverse=True)) or ("0",),
        )

    def task(self, name: str, predictor: str, *, few: bool = False) -> str:
        """Return the column of a task trained on all rows, or on few."""
        return f"task:{name}/{predictor}@{self.sizes[-1 if few else 0]}"

    def but(self, family: str) -> BoolArray:
        """Return which models are of other families."""
        return np.asarray(self.family != family)

    def only(self, family: str) -> BoolArray:
        """Return which models are of one family."""
        return np.asarray(self.family == family)

    def r(self, one: str, other: str, rows: Any = slice(None), *, ranked: bool = False) -> float:
        """Return the correlation of two columns over some models; NaN where fewer than three have both."""
        if one not in self.columns or other not in self.columns:
            return float("nan")
        x, y = self.columns[one][rows], self.columns[other][rows]
        known = np.isfinite(x) & np.isfinite(y)
        x, y = x[known], y[known]
        if len(x) < 3:
            return float("nan")
        x, y = (average_ranks(x[:, None])[:, 0], average_ranks(y[:, None])[:, 0]) if ranked else (x, y)
        x, y = x - x.mean(), y - y.mean()
        size = np.sqrt((x @ x) * (y @ y))
        return float(x @ y / size) if size > 0 else float("nan")

    def all_r(self, left: Sequence[str], right: Sequence[str], rows: Any = slice(None)) -> FloatArray:
        """Return the correlations of every two columns that differ."""
        pairs = {(min(one, other), max(one, other)) for one in left for other in right if one != other}
        return np.array([self.r(one, other, rows) for one, other in sorted(pairs)])

    def half_width(self, measure: Callable[[IntArray], float], rows: BoolArray, n_published_seeds: int) -> float | None:
        """Return by how much a number may differ from a published one because other seeds were drawn.

        Models are drawn again with replacement within their settings. The published number has an error too, which is
        smaller by the root of the numbers of seeds.
        """
        kept = np.flatnonzero(rows)
        if not len(kept):
            return None
        groups = [kept[self.setting[kept] == one] for one in np.unique(self.setting[kept])]
        rng = np.random.default_rng(0)
        parts = [group[rng.integers(len(group), size=(N_RESAMPLES, len(group)))] for group in groups]
        drawn = np.concatenate(parts, axis=1)
        found = np.array([measure(one) for one in drawn])
        n_seeds = len(kept) / max(1, len(groups))
        if n_seeds < 2 or np.isfinite(found).mean() < 0.5:
            return None
        # A resample of n has (n - 1) / n of the variance.
        variance = float(np.nanvar(found)) * n_seeds / (n_seeds - 1) * (1 + n_seeds / n_published_seeds)
        return QUANTILE * float(np.sqrt(variance)) + ROUNDING


def thesis_tables(state: StudyStatus, scale: Scale) -> StudyTables:
    """Return the printed numbers and statements of the thesis beside ours, over the models of a study."""
    table = state.table()
    there = set(table.loc[table["kind"] != "model", "dataset"])
    data = [name for name in state.plan.study.data if name in there]
    models = Models.of(pivot(table, datasets=data, factors=True))
    elsewhere = [name for name in state.plan.study.also if name in there]
    square = Models.of(pivot(table, datasets=elsewhere)) if elsewhere else None
    return StudyTables(
        study="thesis",
        scale=scale,
        n_models=len(models.family),
        n_failed=len(state.failed_models) + len(state.missing),
        gpu_seconds=state.training_seconds,
        correlations=(*_figure_e1(models), *_within_families(models), *_section_63(models), *_square_accuracy(square)),
        claims=tuple(claim for claim in (*_claims(models), *_square_claims(square)) if claim.number.ours is not None),
    )


def _figure_e1(models: Models) -> Iterator[StudyCorrelation]:
    everyone = np.ones(len(models.family), dtype=bool)
    for number, method in enumerate(("pearson", "spearman")):
        for score, published in FIGURE_E1.items():
            paper, p = published[number]

            def measure(rows: Any, score: str = score, ranked: bool = number == 1) -> float:
                return models.r(MODULARITY, score, rows, ranked=ranked)

            ours = measure(everyone)
            yield StudyCorrelation(
                table="Fig. E.1",
                group=method,
                task=MODULARITY,
                score=score,
                number=Number(ours=ours, paper=paper),
                tolerance=models.half_width(measure, everyone, PUBLISHED_SEEDS),
                p=_p(ours, len(everyone)),
                p_paper=p,
            )


def _within_families(models: Models) -> Iterator[StudyCorrelation]:
    """Pearson's correlations of Figure E.1 after the mean of its family was taken from every model.

    A family whose training is not over differs from the others in all scores at once, which does not count here.
    """
    names = [name for name in (MODULARITY, *FIGURE_E1) if name in models.columns]
    centred = {name: models.columns[name].copy() for name in names}
    for rows in (models.only(family) for family in np.unique(models.family)):
        for values in centred.values():
            known = rows & np.isfinite(values)
            values[known] -= values[known].mean() if known.any() else 0.0
    within = replace(models, columns=centred)
    for score in FIGURE_E1:
        yield StudyCorrelation(
            table=f"Fig. E.1{WITHIN}",
            group="pearson",
            task=MODULARITY,
            score=score,
            number=Number(ours=within.r(MODULARITY, score)),
        )


def _p(r: float, n: int) -> float | None:
    found = float(p_values(np.array([r]), np.array([n]))[0])
    return found if np.isfinite(found) else None


def _section_63(models: Models) -> Iterator[StudyCorrelation]:
    """Correlations of UDR with logistic regression of shape from few rows, in all families but one, and within."""
    task = models.task("factor:shape", "linear", few=True)
    for group, paper in SECTION_63.items():
        rows = models.but(ANNEALED) if group == BUT_ANNEALED else models.only(group)

        def measure(some: Any) -> float:
            return models.r(UDR, task, some)

        yield StudyCorrelation(
            table="Sec. 6.3",
            group=group,
            task="shape by logistic regression, 1000 rows",
            score=UDR,
            number=Number(ours=measure(rows), paper=paper),
            tolerance=models.half_width(measure, rows, PUBLISHED_SEEDS),
        )


def _square_accuracy(square: Models | None) -> Iterator[StudyCorrelation]:
    """Least and largest accuracy of the position of the grey square, of all families but one."""
    found = _square_task(square)
    if square is None or found is None:
        return
    rows = square.but(ANNEALED) & np.isfinite(square.columns[found])
    for name, take, paper in (("least", np.min, SQUARE[0]), ("largest", np.max, SQUARE[1])):

        def measure(some: Any, take: Callable[[Any], Any] = take) -> float:
            return float(take(square.columns[found][some]))

        yield StudyCorrelation(
            table="Fig. 6.1",
            group=f"{name} accuracy of the square",
            task="square",
            score="forest",
            number=Number(ours=measure(rows), paper=paper),
            tolerance=square.half_width(measure, rows, PUBLISHED_SEEDS),
        )


def _square_task(square: Models | None) -> str | None:
    names = [] if square is None else [name for name in square.columns if name.startswith("task:square/forest@")]
    return names[0] if names else None


def _square_claims(square: Models | None) -> Iterator[StudyClaim]:
    task = _square_task(square)
    if square is not None and task is not None:
        r = square.r(UDR, task, square.but(ANNEALED))
        yield _at_least("Fig. 6.1", "UDR with the position of the square", r, "benefits from disentanglement", 0.0)


def _claims(models: Models) -> Iterator[StudyClaim]:
    everyone: Any = slice(None)
    others = models.but(ANNEALED)
    yield from _claims_on_scores(models, everyone, others)
    yield from _claims_on_tasks(models, everyone, others)
    yield from _claims_on_few_rows(models, others)
    yield from _claims_on_factors(models, others)
    yield from _claims_on_families(models)


def _claims_on_scores(models: Models, everyone: Any, others: BoolArray) -> Iterator[StudyClaim]:
    where = "Fig. 5.5"
    among = models.all_r(MODULAR, MODULAR)
    yield _at_least(where, "least r among scores of modularity", _least(among), "all positive", 0.0)
    with_it = models.all_r([MODULARITY], [*MODULAR, *COMPACT, *EXPLICIT, UDR])
    yield _at_most(where, "largest r of Modularity", _largest(np.abs(with_it)), "not well with any", NOT_WELL)
    least = _least(models.all_r(COMPACT, COMPACT))
    yield _at_least(where, "least r among scores of compactness", least, "all correlate well", WELL)
    forest = models.r("dci_forest.informativeness", "explicitness")
    yield _at_least(where, "I of forests with Explicitness", forest, "are correlated", 0.0)
    linear = _largest(models.all_r(["dci_linear.informativeness"], EXPLICIT[1:]))
    yield _at_most(where, "largest r of linear I with explicitness", linear, "does not correlate well", NOT_WELL)
    across = _median(models.all_r(MODULAR, COMPACT))
    yield _at_least(where, "median r of modularity with compactness", across, "well correlated", WELL)
    for score in ("dci_forest.informativeness", "explicitness", "z_diff"):
        yield _at_most(where, f"UDR with {score}", models.r(UDR, score), "negative", 0.0)
    for ranked, method in ((False, "Pearson"), (True, "Spearman")):
        for score in ("irs", UDR):
            r = models.r(MODULARITY, score, ranked=ranked)
            yield _at_most("Fig. E.1", f"Modularity with {score}, {method}", r, "negative", 0.0)
    supervised = [*MODULAR, *COMPACT, *EXPLICIT]
    gain = _mean(models.all_r([UDR], supervised, others)) - _mean(models.all_r([UDR], supervised, everyone))
    yield _at_least("Fig. 5.12", "mean r of UDR with scores, without annealed_vae less with", gain, "greater", 0.0)
    well = _mean(models.all_r([UDR], [*MODULAR, *COMPACT], others))
    yield _at_least("Fig. 5.12", "mean r of UDR with modularity and compactness", well, "correlates well", WELL)
    udr = models.columns.get(UDR, np.full(len(others), np.nan))
    apart = _mean(udr[~others]) - _mean(udr[others]) if (~others).any() else np.nan
    yield _at_least("Fig. 5.10", "mean UDR of annealed_vae less that of others", apart, "higher", 0.0)


def _claims_on_tasks(models: Models, everyone: Any, others: BoolArray) -> Iterator[StudyClaim]:
    where = "Fig. 5.6"
    tasks = {(name, predictor): models.task(name, predictor) for name in TASKS for predictor in PREDICTORS}
    place = [column for (name, _), column in tasks.items() if name.startswith("position")]
    object_ = [column for (name, _), column in tasks.items() if not name.startswith("position")]
    positive = _share(models.all_r([*MODULAR, *COMPACT], list(tasks.values())), 1)
    yield _at_least(where, "share of positive r of modularity and compactness with tasks", positive, "most", 0.5)
    weak = _largest(np.abs(models.all_r([MODULARITY], list(tasks.values()))))
    yield _at_most(where, "largest r of Modularity with a task", weak, "weak with all", NOT_WELL)
    for score in ("dci_forest.informativeness", "explicitness"):
        r = _mean(models.all_r([score], place))
        yield _at_most(where, f"mean r of {score} with position", r, "negative", 0.0)
    of_place, of_object = models.all_r([UDR], place), models.all_r([UDR], object_)
    yield _at_least(where, "mean r of UDR with position", _mean(of_place), "well correlated", WELL)
    apart = _mean(of_place) - _mean(of_object)
    yield _at_least(where, "the same less mean r with shape and size", apart, "much weaker", 0.0)
    negative = _share(of_object, -1)
    yield _at_least(where, "share of negative r of UDR with shape and size", negative, "most", 0.5)
    where, every = "Fig. 5.12", list(tasks.values())
    gain = _mean(models.all_r([UDR], every, others)) - _mean(models.all_r([UDR], every, everyone))
    yield _at_least(where, "mean r of UDR with tasks, without annealed_vae less with", gain, "better in general", 0.0)
    forest = tasks.pop(("factor:shape", "forest"))
    yield _at_most(where, "UDR with shape by forest", models.r(UDR, forest, others), "negative", 0.0)
    least = _least(models.all_r([UDR], list(tasks.values()), others))
    yield _at_least(where, "least r of UDR with other tasks", least, "only shape by forest is negative", 0.0)
    boosting, bagging = (
        _mean(models.all_r([*MODULAR, *COMPACT], [models.task(name, one) for name in TASKS], others))
        for one in ("boosting", "forest")
    )
    yield _at_least(where, "mean r with boosting less with forest", boosting - bagging, "forests lower", 0.0)


def _claims_on_families(models: Models) -> Iterator[StudyClaim]:
    """Families within which UDR is said to tell nothing of logistic regression of shape (section 6.3)."""
    task = models.task("factor:shape", "linear", few=True)
    for family in ("factor_vae", "dip_vae_i"):
        size = abs(models.r(UDR, task, models.only(family)))
        yield _at_most("Fig. 6.2", f"{family}: size of r of UDR with linear shape", size, "weak to none", NOT_WELL)


def _claims_on_few_rows(models: Models, others: BoolArray) -> Iterator[StudyClaim]:
    where, scores = "Fig. 5.13", [UDR, *MODULAR, *COMPACT]
    few = {one: [models.task(name, one, few=True) for name in TASKS] for one in PREDICTORS}
    least = _least(models.all_r([UDR], [name for names in few.values() for name in names], others))
    yield _at_least(where, "least r of UDR with a task", least, "all benefit", 0.0)
    curved = _mean(models.all_r(scores, [*few["boosting"], *few["forest"]], others))
    yield _at_least(where, "mean r of scores with non-linear predictors", curved, "well correlated", WELL)
    straight = _mean(models.all_r(scores, few["linear"], others))
    yield _at_least(where, "mean r of scores with linear predictors", straight, "positive", 0.0)
    weaker = curved - _mean(models.all_r(scores, few["linear"][:2], others))
    yield _at_least(where, "the first less mean r with linear shape and size", weaker, "not as strong", 0.0)


def _claims_on_factors(models: Models, others: BoolArray) -> Iterator[StudyClaim]:
    where, scores = "Fig. 5.15", ("z1", "z2", "mig")

    def mean_r(task: str, *factors: str) -> float:
        column = models.task(task, "linear", few=True)
        names = [f"{score}[{factor}]" for score in scores for factor in factors] or list(scores)
        return float(_mean(models.all_r(names, [column], others)))

    for task, factors in (("factor:scale", ["scale"]), ("position_cartesian", ["x", "y"])):
        gain = mean_r(task, *factors) - mean_r(task)
        yield _at_least(where, f"{task}, linear: r with its factor less with all", gain, "stronger", 0.0)
    shape = models.task("factor:shape", "linear", few=True)
    zero = abs(models.r("mig[shape]", shape, others))
    yield _at_most(where, "size of r of MIG of shape with linear shape", zero, "close to zero", CLOSE_TO_ZERO)
    turn = mean_r("factor:shape", "orientation") - mean_r("factor:shape", "shape")
    yield _at_least(where, "linear shape: r with orientation less with shape", turn, "particularly orientation", 0.0)


def _known(values: FloatArray) -> FloatArray:
    """Return the numbers that are there; NaN where none is."""
    found = np.asarray(values, dtype=float)
    found = found[np.isfinite(found)]
    return found if len(found) else np.array([np.nan])


def _mean(values: FloatArray) -> float:
    return float(_known(values).mean())


def _median(values: FloatArray) -> float:
    return float(np.median(_known(values)))


def _least(values: FloatArray) -> float:
    return float(_known(values).min())


def _largest(values: FloatArray) -> float:
    return float(_known(values).max())


def _share(values: FloatArray, sign: int) -> float:
    """Return the share of numbers of one sign; NaN where there is none."""
    known = _known(values)
    return float((sign * known > 0).mean()) if np.isfinite(known).all() else float("nan")


def _at_least(where: str, what: str, ours: Any, claim: str, bound: float) -> StudyClaim:
    return StudyClaim(table=where, what=what, number=Number(ours=float(ours), claim=claim), at_least=bound)


def _at_most(where: str, what: str, ours: Any, claim: str, bound: float) -> StudyClaim:
    return StudyClaim(table=where, what=what, number=Number(ours=float(ours), claim=claim), at_most=bound)
