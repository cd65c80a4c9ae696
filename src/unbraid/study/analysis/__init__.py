"""Analysis of the table of a study: correlations, groups, profiles and failures, as data frames."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from unbraid._base.checks import check_choice
from unbraid._base.files import write_text
from unbraid._base.progress import Show, track
from unbraid._base.stats import CORRECTIONS, Correction
from unbraid._base.text import as_csv
from unbraid.study.analysis.correlate import correlations
from unbraid.study.analysis.groups import GROUPINGS, By, Grouped, cell_correlations, grouped_correlations
from unbraid.study.analysis.matrix import METHODS, Correlations, Method
from unbraid.study.analysis.profiles import against_hyperparameter, convergence, convergence_of_few
from unbraid.study.table import MODEL, FailureKind, ModelTable, check_table, has_failed, mean_over_seeds, pivot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Analysis:
    """Results of a study. Mappings are by method, ``"pearson"`` and ``"spearman"``.

    Attributes:
        models: Scores and tasks, a row for each model.
        settings: The same averaged over seeds, a row for each data set, family and hyperparameter.
        runs: For each data set and family the number of models, of collapsed models, settings, seeds,
            measurements and failures. Scores, tasks and agreements of a model are measurements; their values for
            single factors are not counted.
        failures: Measurements that failed and the reason, most frequent first, with an example of a model.
        between_scores: Scores with scores, over models; empty with fewer than two scores.
        with_tasks: Scores with tasks, over models; empty without tasks.
        over_settings: Scores with tasks (or with scores, without tasks), over settings.
        groups: The same within each family and each data set, by ``(by, method)``; only where there are several.
        without_family: The same without each family, no intervals; empty with one family.
        single_factors: Scores of single factors, beside those of all factors, with tasks (or with scores, without
            tasks) over models, no intervals; empty unless asked for.
        cells: Scores with tasks over the settings of each data set and family.
        hyperparameters: Mean and spread of each column for each setting.
        convergence: Each column at each sample size, over all models.
        convergence_of_few: Each column at further sample sizes, of the models that were measured at them.
        level: Corrected p-values below it are called significant.
    """

    models: ModelTable
    settings: ModelTable
    runs: pd.DataFrame
    failures: pd.DataFrame
    between_scores: Mapping[Method, Correlations]
    with_tasks: Mapping[Method, Correlations]
    over_settings: Mapping[Method, Correlations]
    groups: Mapping[tuple[By, Method], Grouped]
    without_family: Mapping[Method, Grouped]
    single_factors: Mapping[Method, Correlations]
    cells: Mapping[Method, pd.DataFrame]
    hyperparameters: pd.DataFrame
    convergence: pd.DataFrame
    convergence_of_few: pd.DataFrame
    level: float

    def __repr__(self) -> str:
        models = self.models
        return f"<Analysis of {len(models.values):,} models: {len(models.scores)} scores, {len(models.tasks)} tasks>"

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return every table by a name that can be a file's."""
        found = {"models": self.models.about.join(self.models.values), "runs": self.runs, "failures": self.failures}
        found |= {f"between_scores_{name}": one.tidy() for name, one in self.between_scores.items()}
        found |= {f"with_tasks_{name}": one.tidy() for name, one in self.with_tasks.items()}
        found |= {f"over_settings_{name}": one.tidy() for name, one in self.over_settings.items()}
        found |= {f"by_{by}_{name}": one.tidy() for (by, name), one in self.groups.items()}
        found |= {f"without_family_{name}": one.tidy() for name, one in self.without_family.items()}
        found |= {f"single_factors_{name}": one.tidy() for name, one in self.single_factors.items()}
        found |= {f"cells_{name}": one for name, one in self.cells.items()}
        found |= {"hyperparameters": self.hyperparameters, "convergence": self.convergence}
        return found | {"convergence_of_few": self.convergence_of_few}

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write every table into a folder that exists, a CSV file each."""
        return [
            write_text(Path(folder) / f"{name}.csv", as_csv(frame, index=name == "models"))
            for name, frame in self.frames().items()
        ]

    def to_latex(self, folder: str | Path) -> list[Path]:
        """Write every matrix over all models or settings into a folder that exists, a LaTeX table each."""
        kinds = {
            "between_scores": self.between_scores,
            "with_tasks": self.with_tasks,
            "over_settings": self.over_settings,
        }
        return [
            write_text(Path(folder) / f"{kind}_{name}.tex", one.to_latex(level=self.level))
            for kind, found in kinds.items()
            for name, one in found.items()
        ]


def analyze(
    table: pd.DataFrame,
    *,
    n_rows: int | None = None,
    factors: bool | Mapping[str, Collection[str]] = False,
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
    correct: Correction = "holm",
    level: float = 0.05,
    seed: int = 0,
    progress: Show = None,
) -> Analysis:
    """Correlate scores with each other and with tasks over the models of a study.

    Args:
        table: The table of a study, a row for each measurement.
        n_rows: Sample size of the scores; the largest by default.
        factors: Whether scores of single factors are correlated too, all or some, as :func:`pivot` takes them.
        n_bootstrap: Resamples of the models for each interval.
        confidence: Of the intervals.
        correct: Correction for many tests, within each matrix: ``"holm"``, ``"fdr_bh"`` or ``"none"``.
        level: Corrected p-values below it are called significant.
        seed: Of the resamples.
        progress: Whether to show a bar; ``None`` when standard error is a terminal.

    Returns:
        Correlations, groups, profiles and failures as data frames; :func:`unbraid.report.study_page` draws them.

    Raises:
        ValueError: The table lacks columns or values, or an option is not possible.
    """
    check_choice("correct", correct, CORRECTIONS)
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}.")
    rows = check_table(table)
    models = pivot(rows, n_rows=n_rows)
    settings = mean_over_seeds(models)
    options: dict[str, Any] = {
        "n_bootstrap": n_bootstrap,
        "confidence": confidence,
        "correct": correct,
        "seed": seed,
    }
    with track(len(METHODS), progress, doing="correlating") as bar:
        found = {}
        for method in METHODS:
            bar.tell(method)
            found[method] = _one_method(models, settings, options | {"method": method})
            bar.advance()
    parts = {name: {m: one[name] for m, one in found.items() if one[name] is not None} for name in found[METHODS[0]]}
    by_factor = pivot(rows, n_rows=n_rows, factors=factors) if factors else None
    groups = {(by, m): one for by in GROUPINGS for m, one in parts.pop(by).items()}
    return Analysis(
        models=models,
        settings=settings,
        runs=_runs(rows),
        failures=_failures(rows),
        groups=groups,
        single_factors={} if by_factor is None else _single_factors(by_factor, models, options),
        hyperparameters=against_hyperparameter(models),
        convergence=convergence(rows),
        convergence_of_few=convergence_of_few(rows),
        level=level,
        **parts,
    )


def _one_method(models: ModelTable, settings: ModelTable, options: dict[str, Any]) -> dict[str, Any]:
    """Return all correlations by one method; ``None`` where the study has too few scores, tasks or groups."""
    scores, tasks = models.scores, models.tasks
    pairs = (scores, tasks or scores)
    several = bool(scores and (tasks or len(scores) > 1))
    between = correlations(models, scores, scores, **options) if len(scores) > 1 else None
    with_tasks = correlations(models, scores, tasks, **options) if scores and tasks else None
    found: dict[str, Any] = {"between_scores": between, "with_tasks": with_tasks, "without_family": None}
    for by in GROUPINGS:
        many = several and models.about[by].nunique() > 1
        found[by] = (
            grouped_correlations(models, *pairs, by=by, pooled=with_tasks or between, **options) if many else None
        )
    if found["family"]:
        # No intervals: each of these holds nearly all models again, at the full price of all of them.
        bare = options | {"n_bootstrap": 0}
        found["without_family"] = grouped_correlations(
            models, *pairs, by="family", leave_out=True, pooled=with_tasks or between, **bare
        )
    found["over_settings"] = correlations(settings, *pairs, **options) if several else None
    found["cells"] = (
        cell_correlations(settings, *pairs, method=options["method"], correct=options["correct"]) if several else None
    )
    return found


def _single_factors(by_factor: ModelTable, models: ModelTable, options: dict[str, Any]) -> dict[Method, Correlations]:
    """Return correlations of scores that have values for single factors; empty where none has."""
    single = [name for name in by_factor.scores if name not in models.scores]
    whole = [name for name in models.scores if any(one.startswith(f"{name}[") for one in single)]
    columns = models.tasks or models.scores
    if not single or not columns:
        return {}
    how = options | {"n_bootstrap": 0}
    return {
        method: correlations(by_factor, [*models.agreements, *whole, *single], columns, **how | {"method": method})
        for method in METHODS
    }


def _runs(rows: pd.DataFrame) -> pd.DataFrame:
    counted = rows["value"].notna() & (rows["factor"] == "") & (rows["kind"] != MODEL)
    constant = rows["failure_kind"] == FailureKind.COLLAPSED
    rows = rows.assign(counted=counted, failed=has_failed(rows), collapsed=rows["model"].where(constant))
    groups = rows.groupby(["dataset", "family"], sort=True)
    found = groups.agg(
        models=("model", "nunique"),
        collapsed=("collapsed", "nunique"),
        settings=("hyperparameter", "nunique"),
        seeds=("seed", "nunique"),
        measurements=("counted", "sum"),
        failures=("failed", "sum"),
    )
    return found.reset_index()


def _failures(rows: pd.DataFrame) -> pd.DataFrame:
    failed = rows[has_failed(rows)].rename(columns={"failure": "reason"}).sort_values(["model", "n_rows"])
    groups = failed.groupby(["kind", "name", "reason"], sort=True)
    found = groups.agg(rows=("model", "size"), models=("model", "nunique"), example=("model", "first")).reset_index()
    return found.sort_values(["rows", "kind", "name", "reason"], ascending=[False, True, True, True]).reset_index(
        drop=True
    )
