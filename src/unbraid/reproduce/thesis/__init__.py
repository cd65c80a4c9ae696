"""The thesis on 1800 models: its study run again, its printed numbers, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unbraid._base.files import write_text
from unbraid._base.progress import Show
from unbraid.reproduce.studies import EngineName, Scale, StudyTables, run_scaled
from unbraid.reproduce.thesis.figures import thesis_figures_page
from unbraid.reproduce.thesis.tables import thesis_tables
from unbraid.study import StudyStatus


def thesis_study(
    *,
    scale: Scale = "mini",
    store: str | Path | None = None,
    yes: bool = False,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    data_folder: str | Path | None = None,
    commit: str = "",
    figures: Path | None = None,
    progress: Show = None,
) -> StudyTables:
    """Reproduce the study of 1800 models of dSprites: which scores agree with each other, and with downstream tasks.

    Trains six families of VAEs with six settings each, scores their codes and solves twelve tasks on them. Prints the
    correlations of Figure E.1 and of section 6.3 beside the published ones, and what the thesis says in words of its
    other figures beside the numbers that it is said of. With ``figures``, every computed figure is drawn.

    Args:
        scale: ``mini``: small models of small sprites, two seeds; ``gpu``: 180 published networks of drawn sprites,
            less than half an hour of one GPU; ``full``: the published study.
        store: Where results go, and are found again by the next run; in small, a temporary folder by default.
        yes: Start even if it is going to be long.
        engine: ``local``: processes on this machine; ``ray``: a Ray cluster.
        workers: Jobs at the same time; as many as there are cores by default.
        address: Address of the Ray cluster, ``host:port`` of its head or ``auto``.
        data_folder: Folder with the files of official data sets.
        commit: Version of the source that models are trained with, which is kept with the result.
        figures: HTML file for every computed figure of the thesis, drawn from these models.
        progress: Show a bar; by default when standard error is a terminal.

    Raises:
        ValueError: A study at another scale than ``mini`` without a store, a long one without ``yes``, or figures in a
            folder that is not there.
    """
    if figures is not None and not figures.absolute().parent.is_dir():
        raise ValueError(f"figures {str(figures)!r} must be in a folder that exists; make it first.")

    def read_off(state: StudyStatus, at: Scale) -> StudyTables:
        if figures is not None:
            write_text(figures, thesis_figures_page(state))
        return thesis_tables(state, at)

    how: dict[str, Any] = {"engine": engine, "address": address, "data_folder": data_folder, "commit": commit}
    return run_scaled("thesis", scale, read_off, store=store, yes=yes, workers=workers, progress=progress, **how)
