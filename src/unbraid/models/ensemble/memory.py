"""Memory of an ensemble, estimated before training, and groups of members that fit."""

from __future__ import annotations

import json
import weakref
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from unbraid._base.checks import check_at_least
from unbraid._base.files import write_text
from unbraid._base.memory import available_bytes, size_text
from unbraid.models.ensemble.checkpoint import FILE_NAME, check_same
from unbraid.models.ensemble.engine import EnsembleEngine
from unbraid.models.ensemble.plan import RandomRows
from unbraid.models.ensemble.settings import Settings

#: Share of the free memory that the estimate may reach; the rest is for fragmentation in the allocators.
SHARE = {"cpu": 0.5, "cuda": 0.7}
#: Bytes beyond which an estimate says no more than that.
COUNTED = 2**60


def n_that_fit(settings: Settings, *, device: str) -> int:
    """Return how many members can be trained side by side on a device.

    Raises:
        ValueError: Not one fits; the message names a batch size or width that would fit.
    """
    there = SHARE.get(torch.device(device).type, min(SHARE.values())) * free_bytes(device)
    needed = member_bytes(settings)
    if needed <= there:
        return int(there // needed)
    raise ValueError(
        f"a model with batches of {settings.batch_size} and width {settings.width} takes {size_text(needed)} to train, "
        f"and {size_text(there)} may be taken on {device!r}; {_cure(settings, there)}"
    )


def check_fits(settings: Settings, at_once: int, *, device: str) -> None:
    """Raise where members that are asked for side by side take more than all the memory that is free.

    Raises:
        ValueError: With how many would fit.
    """
    there, needed = free_bytes(device), member_bytes(settings)
    if at_once * needed > there:
        n_fit = n_that_fit(settings, device=device)
        raise ValueError(
            f"at_once {at_once} takes {size_text(at_once * needed)} to train, and {device!r} has {size_text(there)} "
            f"free; {n_fit} fit."
        )


def member_bytes(settings: Settings) -> int:
    """Estimate the peak memory of training the first member of an ensemble.

    Two steps are made on torch's meta device, whose tensors have sizes and no content, while the sizes of all that
    are alive are added up: weights, gradients, Adam's moments, and whatever a step keeps to find the gradients.
    Members beside it take as much again each. Data that are kept on the device are not counted.

    Returns:
        Bytes. Peaks on a processor were 1.0 to 1.7 times that; on an H200 0.88 and, with discriminators, 1.09 times for
        what was in use, and up to 1.34 times with what CUDA's allocator held besides.
    """
    return _estimated(replace(settings.only([0]), seeds=(0,), data=""))


def free_bytes(device: str) -> int:
    """Return the memory that is free on a device; on a processor, of the machine or of the container it runs in."""
    if torch.device(device).type == "cuda":
        torch.cuda.empty_cache()
        return int(torch.cuda.mem_get_info(device)[0])
    return available_bytes()


class _NoData:
    """Batches without content, for a step on the meta device."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def batch(self, rows: Tensor) -> Tensor:
        return torch.empty(*rows.shape, *self.settings.shape, device="meta")

    def labels(self, rows: Tensor) -> Tensor:
        n_labels = len(self.settings.labels) or len(self.settings.places)
        return torch.empty(*rows.shape, n_labels, dtype=torch.int64, device="meta")

    def draw(self, seeds: Tensor, step: int, count: int, rest: Tensor | None) -> tuple[Tensor, Tensor]:
        return RandomRows(self.settings.n_rows).draw(seeds, step, count, rest)


class _Alive(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the sizes of all tensors that are alive."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.most = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for one in tree_leaves(found):
            if isinstance(one, Tensor):
                self._count(one.untyped_storage())
        return found

    def _count(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key in self._known:
            return
        self._known.add(key)
        weakref.finalize(storage, self._forget, key, storage.nbytes())
        self.now += storage.nbytes()
        self.most = max(self.most, self.now)

    def _forget(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


@cache
def _estimated(settings: Settings) -> int:
    alive = _Alive()
    try:
        with alive:
            engine = EnsembleEngine(settings, _NoData(settings), device="meta")
            for _ in range(2):
                engine.advance()
    except RuntimeError:
        # Pairs of rows, or of units, of which there are more than torch can count.
        if max(settings.batch_size, settings.width) ** 2 < COUNTED:
            raise
        return COUNTED
    return alive.most


def _cure(settings: Settings, there: float) -> str:
    """Return the largest batch that fits, by halves, or else the largest width."""
    for name in ("batch_size", "width"):
        halves = [getattr(settings, name) >> k for k in range(1, getattr(settings, name).bit_length())]
        # A smaller one takes less, so that a few of the halves tell.
        at = bisect_left(halves, True, key=lambda size: member_bytes(replace(settings, **{name: size})) <= there)
        if at < len(halves):
            return f"try {name}={halves[at]}."
    return "free some, or give another device."


LAYOUT_NAME = "groups.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Groups of members that are trained together; a member is the same in any group, up to rounding.

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
        settings: Settings of the ensemble.
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
    else:
        check_at_least("at_once", at_once, 1)
        check_fits(settings, min(at_once, n_models), device=device)
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
