"""Thesis and IWO studies."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from msgspec.structs import replace

from unbraid._base.checks import check_choice
from unbraid._base.files import write_text
from unbraid.reproduce.agreement import Check, Part
from unbraid.study import Study, StudyStatus, correlations, estimate_cost, load_study, pivot, run_study, status
from unbraid.study.spec import Training

Scale = Literal["mini", "full"]
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
    progress: bool | None = None,
) -> StudyTables:
    """Run the study of 1800 models of dSprites again, or in small, and correlate Modularity with every other score.

    The other correlations of that study were published as pictures only; :func:`unbraid.report.study_page` draws ours.

    Args:
        scale: ``"mini"``: small models of small sprites; ``"full"``: as published.
        store: Where results go; in small, a temporary folder by default.
        yes: Start even if it is going to be long.
        engine: ``"local"`` or ``"ray"``.
        workers: Jobs at the same time; as many as there are cores by default.
        address: Of the Ray cluster.
        data_folder: Where files of data sets are.
        progress: Show a bar; by default when standard error is a terminal.

    Raises:
        ValueError: A full study without a store or without ``yes``.
    """
    how: dict[str, Any] = {"engine": engine, "address": address, "data_folder": data_folder}
    return run_scaled("thesis", scale, thesis_tables, store=store, yes=yes, workers=workers, progress=progress, **how)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyLine:
    """One published correlation, and ours.

    Attributes:
        table: Table or figure of the paper.
        group: The family, data set or coefficient it is of.
        task: What it correlates with.
        score: The score.
        paper: As published.
        ours: Ours; ``None`` where the study has too few models or settings for it.
    """

    table: str
    group: str
    task: str
    score: str
    paper: float
    ours: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTables:
    """A study run again.

    Attributes:
        study: Its name.
        scale: ``"mini"`` or ``"full"``.
        n_models: Models measured.
        n_failed: Models and numbers that failed.
        lines: Published correlations, and ours.
    """

    study: str
    scale: str
    n_models: int
    n_failed: int
    lines: tuple[StudyLine, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        if self.scale == "full":
            return ()
        return (
            "Models and data are small ones of our own, so these correlations are not those published, and need not "
            "agree with them; --scale full runs the published study.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "study": self.study,
            "scale": self.scale,
            "n_models": self.n_models,
            "n_failed": self.n_failed,
            "notes": list(self.notes),
            "lines": [
                {
                    "table": line.table,
                    "group": line.group,
                    "task": line.task,
                    "score": line.score,
                    "ours": line.ours,
                    "paper": line.paper,
                }
                for line in self.lines
            ],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return JSON, and write it to ``path`` if one is given."""
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
        if path is not None:
            write_text(path, f"{text}\n")
        return text


SMALL = "In small, with small models of small sprites, two seeds each:"
MINI_DATA, MINI_ROWS, MINI_SEEDS = "sprites_mini", 3000, 2
#: Of 3000 rows, so that the smallest sample still has 300.
LEAST_SHARE = 0.1
MINI_TRAINING = Training(
    n_steps=1200, n_codes=6, width=8, discriminator_width=64, batch=32, learning_rate=2e-3, ensemble_size=12
)


def scaled(study: Study, scale: Scale) -> Study:
    """Return a published study, or the same questions asked of small models of small sprites.

    In small, every family has its published hyperparameters, two seeds each; tasks that need other data are left out.
    """
    check_choice("scale", scale, get_args(Scale))
    if scale == "full":
        return study
    tasks = tuple(replace(group, train=_shares(group.train)) for group in study.tasks if not group.only)
    rows = tuple(round(MINI_ROWS * share) for share in _shares(study.score_rows))
    return replace(
        study,
        name=f"{study.name}-mini",
        about=f"{SMALL} {study.about}",
        data=(MINI_DATA,),
        rows=MINI_ROWS,
        seeds=MINI_SEEDS,
        training=MINI_TRAINING,
        scores=replace(study.scores, rows=rows),
        tasks=tasks,
    )


def _shares(sizes: tuple[float, ...]) -> tuple[float, ...]:
    """Return sizes as shares of the largest, none so small that nothing can be learned."""
    return tuple(max(LEAST_SHARE, size / max(sizes)) for size in sizes)


def run_scaled(
    name: str,
    scale: Scale,
    tables: Callable[[StudyStatus, Scale], StudyTables],
    *,
    store: str | Path | None,
    yes: bool,
    workers: int | None = None,
    progress: bool | None = None,
    **engine: Any,
) -> StudyTables:
    """Run a study that comes with the package at some scale, and read the paper's tables off it.

    Args:
        name: Which.
        scale: ``"mini"`` or ``"full"``.
        tables: Reads them off.
        store: Where results go; in small, a temporary folder by default.
        yes: Start even if it is going to be long.
        workers: Jobs at the same time.
        progress: Show a bar.
        engine: ``engine``, ``address`` and ``data_folder``, as for :func:`unbraid.study.run_study`.

    Raises:
        ValueError: A full study without a store, or a long one without ``yes``.
    """
    study = scaled(load_study(name), scale)
    if store is None and scale == "full":
        raise ValueError(f"store is needed for the full {name} study; give a folder or a URL to keep it in.")
    place: AbstractContextManager[str] = tempfile.TemporaryDirectory() if store is None else nullcontext(str(store))
    with place as folder:
        cost = estimate_cost(status(folder, study))
        if cost.is_large and not yes:
            raise ValueError(
                f"the {scale} {name} study is large; say yes (--yes) to start it. {cost.sentence(workers)}"
            )
        n_workers = workers or max(1, os.cpu_count() or 1)
        return tables(run_study(study, folder, workers=n_workers, progress=progress, **engine), scale)


#: Over 1800 models a correlation has a standard error of 0.02; scores differ in detail between implementations.
THESIS_TOLERANCE = 0.1
#: Over six settings, averaged over six data sets or families.
IWO_TOLERANCE = 0.3
REASON = "Models were trained anew, and correlations over six settings hang on each of them."


def thesis_parts(result: Mapping[str, Any]) -> Sequence[Part]:
    """Compare the correlations of Modularity."""
    return _parts(result, THESIS_TOLERANCE)


def iwo_study_parts(result: Mapping[str, Any]) -> Sequence[Part]:
    """Compare the correlations of scores with tasks."""
    return _parts(result, IWO_TOLERANCE)


def _parts(result: Mapping[str, Any], tolerance: float) -> Sequence[Part]:
    if result["scale"] != "full":
        return ()
    lines = [line for line in result["lines"] if line["ours"] is not None]
    return [
        Part(
            where=where,
            checks=[_check(line, tolerance) for line in lines if line["table"] == where],
            reason=REASON,
        )
        for where in dict.fromkeys(line["table"] for line in lines)
    ]


def _check(line: Mapping[str, Any], tolerance: float) -> Check:
    what = f"{line['group']}: {line['score']} with {line['task']}"
    return Check(what=what, ours=line["ours"], paper=line["paper"], tolerance=tolerance)


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
    models = pivot(state.table())
    lines = []
    for number, method in enumerate(("pearson", "spearman")):
        found = correlations(models, ["modularity"], list(FIGURE_E1), method=method, n_bootstrap=0).r  # type: ignore[arg-type]
        lines += [
            StudyLine(
                table="Fig. E.1",
                group=method,
                task="modularity",
                score=score,
                paper=published[number],
                ours=_finite(found.at["modularity", score]),
            )
            for score, published in FIGURE_E1.items()
        ]
    return StudyTables(
        study="thesis",
        scale=scale,
        n_models=len(models.values),
        n_failed=len(state.failed_models) + len(state.missing),
        lines=tuple(lines),
    )


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
