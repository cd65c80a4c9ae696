"""Checkpoints: written atomically, read without running code, continued only with the same settings."""

from __future__ import annotations

import io
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch

from unbraid._base.files import write_atomically
from unbraid.models.ensemble.settings import Settings, differences

FILE_NAME = "ensemble.pt"


def save_checkpoint(folder: Path, settings: Settings, state: dict[str, Any]) -> Path:
    """Write settings and state to ``folder``, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"settings": settings.to_json(), **state}
    buffer = io.BytesIO()
    torch.save(content, buffer)  # written to memory first: torch would not report why a file cannot be written
    return write_atomically(folder / FILE_NAME, lambda file: file.write(buffer.getbuffer()))


def load_checkpoint(folder: str | Path, *, device: str = "cpu") -> tuple[Settings, dict[str, Any]]:
    """Read a checkpoint that :func:`save_checkpoint` wrote.

    Raises:
        ValueError: No such file, or one that is damaged or not a checkpoint.
    """
    path = Path(folder) / FILE_NAME
    if not path.is_file():
        raise ValueError(f"folder {str(folder)!r} holds no trained models: there is no {FILE_NAME} in it.")
    try:
        _check_sums(path)
        with warnings.catch_warnings(action="ignore"):  # of a damaged file, with a file and line
            content = torch.load(path, map_location=device, weights_only=True)
        content["network"] = {_renamed(name): value for name, value in content["network"].items()}
        return Settings.from_json(content.pop("settings")), content
    except Exception as error:
        raise ValueError(f"{str(path)!r} is not a checkpoint, or is damaged; delete it and train again.") from error


def _check_sums(path: Path) -> None:
    """Raise if bytes of a checkpoint have changed: torch reads the archive without its checksums."""
    with zipfile.ZipFile(path) as archive:
        if (member := archive.testzip()) is not None:
            raise ValueError(f"{member} is not as it was written")


def _renamed(parameter: str) -> str:
    """Return the name of a parameter; checkpoints of earlier versions call the discriminator ``judge``."""
    return f"discriminator.{rest}" if (rest := parameter.removeprefix("judge.")) != parameter else parameter


def check_same(folder: str | Path, before: Settings, now: Settings) -> None:
    """Raise unless the settings are those of the checkpoint."""
    changed = differences(before, now)
    if changed:
        raise ValueError(
            f"folder {str(folder)!r} holds a run with other settings ({'; '.join(changed)}); "
            "give the same settings to go on, or another folder."
        )
