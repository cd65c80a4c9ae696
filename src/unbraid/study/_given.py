"""Representations that somebody has already, as the models of a study."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pandas as pd

from unbraid.study._keys import LENGTH, content_key
from unbraid.study._plan import Model
from unbraid.study._spec import Study

COLUMNS = ("file", "family", "strength", "seed")
#: What the table calls the data of files that do not say.
UNNAMED = "given"


def given_models(study: Study) -> tuple[Model, ...]:
    """Return the files of a folder, with what its index says of them; keys depend on what is in the files.

    Raises:
        ValueError: No files, an index without its columns, or a file that is not there.
    """
    assert study.representations is not None
    folder = study.folder
    if study.representations.index:
        lines = _index(folder / study.representations.index)
    else:
        names = sorted(path.name for path in folder.glob("*.npz"))
        lines = [{"file": name, "family": Path(name).stem} for name in names]
    if not lines:
        raise ValueError(f"folder {str(folder)!r} has no .npz files; name others in an index.")
    return tuple(_model(folder, line) for line in lines)


def _index(path: Path) -> list[dict[str, Any]]:
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"index {str(path)!r} cannot be read: {error}.") from error
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise ValueError(f"index {str(path)!r} must have the columns {', '.join(COLUMNS)}; {missing[0]} is missing.")
    lines: list[dict[str, Any]] = table.to_dict("records")  # type: ignore[assignment]
    return lines


def _model(folder: Path, line: dict[str, Any]) -> Model:
    path = folder / str(line["file"])
    if not path.is_file():
        raise ValueError(f"file {str(path)!r} of the index is not there.")
    strength = line.get("strength")
    dataset, family, seed = str(line.get("dataset", UNNAMED)), str(line["family"]), int(line.get("seed", 0))
    number = None if strength is None or pd.isna(strength) else float(strength)
    content = hashlib.sha256(path.read_bytes()).hexdigest()[:LENGTH]
    return Model(
        key=content_key(content, dataset, family, number, seed),
        dataset=dataset,
        family=family,
        strength=number,
        seed=seed,
        file=str(path.resolve()),
    )
