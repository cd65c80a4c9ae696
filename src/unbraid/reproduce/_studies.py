"""The published studies of many models, run again or in small."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from unbraid.reproduce._study_result import StudyTables

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
    from unbraid.reproduce._study_scale import run_scaled
    from unbraid.reproduce._thesis_study import thesis_tables

    how: dict[str, Any] = {"engine": engine, "address": address, "data_folder": data_folder}
    return run_scaled("thesis", scale, thesis_tables, store=store, yes=yes, workers=workers, progress=progress, **how)


def iwo_study(
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
    """Run the study of orthogonality against downstream tasks again, or in small.

    For each data set and family, scores and accuracies are averaged over seeds and correlated over six strengths;
    Table 2 averages these over data sets (a) or families (b). Arguments are those of :func:`thesis_study`.

    Raises:
        ValueError: A full study without a store or without ``yes``.
    """
    from unbraid.reproduce._iwo_study import iwo_tables
    from unbraid.reproduce._study_scale import run_scaled

    how: dict[str, Any] = {"engine": engine, "address": address, "data_folder": data_folder}
    return run_scaled("iwo", scale, iwo_tables, store=store, yes=yes, workers=workers, progress=progress, **how)
