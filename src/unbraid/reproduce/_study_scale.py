"""Published studies as they were, and the same in small."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from unbraid._validation import check_choice
from unbraid.reproduce._studies import Scale
from unbraid.reproduce._study_result import StudyTables
from unbraid.study import State, Store, Study, estimate_cost, load_study, look, make_plan, run_study
from unbraid.study._spec import Training

SMALL = "In small, with small models of small sprites, two seeds each:"
MINI_DATA, MINI_ROWS, MINI_SEEDS = "sprites_mini", 3000, 2
#: Of 3000 rows, so that the smallest sample still has 300.
LEAST_SHARE = 0.1
MINI_TRAINING = Training(steps=1200, codes=6, width=8, judge=64, batch=32, learning_rate=2e-3, together=12)


def scaled(study: Study, scale: Scale) -> Study:
    """Return a published study, or the same questions asked of small models of small sprites.

    In small, every family has its published strengths, two seeds each; tasks that need other data are left out.
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
    tables: Callable[[State, Scale], StudyTables],
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
        cost = estimate_cost(look(make_plan(study), Store(folder)))
        if cost.is_large and not yes:
            raise ValueError(
                f"the {scale} {name} study is large; say yes (--yes) to start it. {cost.sentence(workers)}"
            )
        n_workers = workers or max(1, os.cpu_count() or 1)
        return tables(run_study(study, folder, workers=n_workers, progress=progress, **engine), scale)
