"""Groups of members that are trained one after the other, where all at once do not fit in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from unbraid._files import write_text
from unbraid._validation import check_at_least
from unbraid.models.ensemble._checkpoint import FILE_NAME, check_same
from unbraid.models.ensemble._memory import n_that_fit
from unbraid.models.ensemble._settings import Settings

LAYOUT_NAME = "groups.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which members are trained side by side; a member comes out the same in any group, up to rounding.

    Attributes:
        settings: Of all members.
        at_once: Members in a group; the last group may have fewer.
    """

    settings: Settings
    at_once: int

    @property
    def groups(self) -> list[range]:
        """The numbers of the members of each group."""
        n_models = len(self.settings.seeds)
        return [range(at, min(at + self.at_once, n_models)) for at in range(0, n_models, self.at_once)]

    def folders(self, folder: Path, *, trained: bool = False) -> list[Path]:
        """Return where the checkpoint of each group is.

        Raises:
            ValueError: ``trained`` groups are asked for, and there is one without a checkpoint.
        """
        if len(self.groups) == 1:
            return [folder]
        found = [folder / f"group_{number}" for number in range(len(self.groups))]
        for members, place in zip(self.groups, found, strict=True):
            if trained and not (place / FILE_NAME).is_file():
                raise ValueError(
                    f"folder {str(folder)!r} holds a run that has not come to members {members[0]} to {members[-1]} "
                    "yet; train with the same settings to go on."
                )
        return found


def planned_layout(settings: Settings, folder: Path | None, *, device: str, at_once: int | None = None) -> Layout:
    """Return the groups of a run: those it began with, or else as few as fit in the memory that is free.

    Args:
        settings: What is to be trained.
        folder: Where the run is kept, and what it began with.
        device: Where it is trained.
        at_once: Members in a group; by default as many as fit.

    Raises:
        ValueError: Not a single member fits, or the folder holds a run with other settings.
    """
    n_models = len(settings.seeds)
    if folder is not None and (folder / FILE_NAME).exists():
        return Layout(settings=settings, at_once=n_models)
    begun = None if folder is None else load_layout(folder)
    if begun is not None and folder is not None:
        check_same(folder, begun.settings, settings)
        return begun
    if at_once is None:
        n_groups = -(-n_models // n_that_fit(settings, device=device))
        at_once = -(-n_models // n_groups)
    check_at_least("at_once", at_once, 1)
    layout = Layout(settings=settings, at_once=at_once)
    if folder is not None and len(layout.groups) > 1:
        write_text(folder / LAYOUT_NAME, json.dumps({"settings": settings.to_json(), "at_once": at_once}) + "\n")
    return layout


def load_layout(folder: Path) -> Layout | None:
    """Return the groups of a run that has several, or None.

    Raises:
        ValueError: A damaged file.
    """
    path = folder / LAYOUT_NAME
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Layout(settings=Settings.from_json(content["settings"]), at_once=int(content["at_once"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{str(path)!r} is damaged; delete the folder and train again.") from error
