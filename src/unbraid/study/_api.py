"""Studies from Python: run one, see how far it is, read its table."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import pandas as pd

from unbraid._progress import Show
from unbraid._validation import check_choice
from unbraid.study._file import load_study, parse_study
from unbraid.study._plan import make_plan
from unbraid.study._spec import Representations, Study
from unbraid.study._state import State, look
from unbraid.study._store import Store


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
    from unbraid.study._drive import run_plan  # what jobs need takes a while to import, and only a run needs it
    from unbraid.study._engines import make_engine
    from unbraid.study._needs import check_needs

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
