"""Training runs in the explorer: members with their codes and decoders, losses and pictures while they train."""

from __future__ import annotations

import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unbraid._base.arrays import ByteArray, FloatArray, IntArray
from unbraid.data import FactorDataset
from unbraid.data.catalogue import DATASETS, load_dataset
from unbraid.explorer.decoding import PictureDecoder, make_decoder
from unbraid.explorer.session import SubjectEntry
from unbraid.explorer.subject import PictureOrigin, RowPictures, Subject
from unbraid.models.encoding import drawn_rows, encode
from unbraid.models.families import loss_parts
from unbraid.representation.files import load

CHECKPOINT = "ensemble.pt"
#: What ``unbraid train`` writes about the data of a run.
ABOUT_DATA = "data.json"
#: Steps between two entries of a history, as training keeps them.
HISTORY_EVERY = 50
#: Rows that are encoded with a model that still trains.
LIVE_ROWS = 1000
#: Points of a loss curve.
MOST_POINTS = 400


def dataset_pictures(name: str, rows: IntArray) -> RowPictures | None:
    """Return the pictures of rows of a data set, or ``None`` where its files are not there."""
    if name not in DATASETS:
        return None
    try:
        return pictures_of(load_dataset(name), rows)
    except ValueError:
        return None


def pictures_of(opened: FactorDataset, rows: IntArray) -> RowPictures | None:
    """Return the pictures of rows of a data set, or ``None`` where they are not grey or coloured."""
    shape = opened.observation_shape
    if len(shape) != 3 or shape[0] not in (1, 3):
        return None
    channels, height, width = shape

    def some(places: IntArray) -> ByteArray:
        shares = np.clip(np.asarray(opened.observations(rows[places])), 0.0, 1.0)
        return np.round(255 * np.moveaxis(shares, 1, -1)).astype(np.uint8)

    return RowPictures(height=height, width=width, channels=channels, of=some, origin=PictureOrigin.DATA)


class RunMembers:
    """The models of a run as of one checkpoint.

    Args:
        folder: Where checkpoints are.
        stamp: When they were written.
        dataset: Data of the run, where they are known.
    """

    def __init__(self, folder: Path, stamp: tuple[float, ...], dataset: FactorDataset | None) -> None:
        from unbraid.models import load_models

        self.folder, self.stamp, self.dataset = folder, stamp, dataset
        self.ensemble: Any = None
        self.trouble = ""
        try:
            self.ensemble = load_models(folder)
        except ValueError as error:
            self.trouble = str(error)

    def labels(self) -> list[tuple[int, str]]:
        """Return the number and the name of each member that did not diverge."""
        if self.ensemble is None:
            return []
        settings = self.ensemble.settings
        found = []
        for m, step in enumerate(self.ensemble.diverged):
            if step is None:
                values = "".join(f", {name} {column[m]:g}" for name, column in settings.hyperparameters)
                found.append((m, f"{settings.model}{values}, seed {settings.seeds[m]}"))
        return found

    def subject(self, member: int, label: str, key: str) -> Subject:
        """Return a member with its codes, where these are written, and the pictures of its data."""
        file = self.folder / f"codes_{member}.npz"
        if not file.is_file():
            return self._as_it_trains(member, label, key)
        rep = load(file)
        about = _about_data(self.folder)
        rows = drawn_rows(about["n_rows"], rep.n_samples, 0) if about["n_rows"] >= rep.n_samples else None
        pictures = None if rows is None else dataset_pictures(about["data"], rows)
        return Subject(key, label, rep=rep, decoder=self._decoder(member, rep.codes), pictures=pictures)

    def _as_it_trains(self, member: int, label: str, key: str) -> Subject:
        """Return a member as of its last checkpoint, with some rows encoded where the data are known."""
        if self.dataset is None:
            note = "The codes of this model are written when training ends."
            return Subject(key, label, decoder=self._decoder(member), notes=(note,))
        n_rows = min(LIVE_ROWS, len(self.dataset))
        rep = encode(self.ensemble[member], self.dataset, n=n_rows)
        pictures = pictures_of(self.dataset, drawn_rows(len(self.dataset), n_rows, 0))
        return Subject(key, label, rep=rep, decoder=self._decoder(member, rep.codes), pictures=pictures)

    def _decoder(self, member: int, codes: FloatArray | None = None) -> PictureDecoder:
        n_codes = self.ensemble.settings.n_codes
        return make_decoder(self.ensemble[member].decoder, n_codes=n_codes, codes=codes)


def _about_data(folder: Path) -> dict[str, Any]:
    """Return the name and the number of rows of the data set of a run; nothing where that was not written."""
    try:
        found = json.loads((folder / ABOUT_DATA).read_text(encoding="utf-8"))
        return {"data": str(found["data"]), "n_rows": int(found["n_rows"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"data": "", "n_rows": 0}


class RunView:
    """A training run, as it is at the moment of asking.

    Args:
        folder: Where its checkpoints are.
        dataset: Its data, to encode rows with as it trains.
    """

    def __init__(self, folder: Path, dataset: FactorDataset | None = None) -> None:
        self.folder, self.dataset = folder, dataset
        self._lock = threading.Lock()
        self._members: RunMembers | None = None

    def members(self) -> RunMembers:
        """Return the models as of the last checkpoint."""
        files = sorted([*self.folder.glob(CHECKPOINT), *self.folder.glob(f"group_*/{CHECKPOINT}")])
        stamp = tuple(file.stat().st_mtime for file in files)
        with self._lock:
            if self._members is None or self._members.stamp != stamp:
                self._members = RunMembers(self.folder, stamp, self.dataset)
            return self._members

    def entries(self) -> list[SubjectEntry]:
        """Return an entry for each member that did not diverge."""
        members = self.members()
        version = max(members.stamp, default=0.0)
        return [
            SubjectEntry(label=label, load=partial(members.subject, m, label), version=version)
            for m, label in members.labels()
        ]

    def about(self) -> dict[str, Any]:
        """Return the losses of all members, and which of them can be shown."""
        members = self.members()
        if members.ensemble is None:
            return {"state": "waiting", "note": members.trouble, "members": []}
        history = members.ensemble.history.double().numpy()
        steps = np.concatenate([[1], np.arange(HISTORY_EVERY, HISTORY_EVERY * len(history), HISTORY_EVERY)])
        kept = np.unique(np.linspace(0, len(history) - 1, min(MOST_POINTS, len(history))).astype(int))
        names = dict(members.labels())
        parts = loss_parts(members.ensemble.settings.model)
        return {
            "state": "there",
            "parts": list(parts),
            "note": "",
            "steps": steps[: len(history)][kept].tolist(),
            "stamp": max(members.stamp, default=0.0),
            "members": [
                {
                    "label": names.get(m, f"member {m}"),
                    "subject": f"m{list(names).index(m)}" if m in names else None,
                    "diverged": members.ensemble.diverged[m],
                    "losses": {name: history[kept, part, m].tolist() for part, name in enumerate(parts)},
                }
                for m in range(len(members.ensemble))
            ],
        }
