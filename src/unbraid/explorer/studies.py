"""Studies in the explorer: the table of runs, jobs and failures, and the model behind each row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.files import temporary_folder
from unbraid._base.optional import is_installed
from unbraid.explorer.decoding import PictureDecoder, make_decoder
from unbraid.explorer.runs import CHECKPOINT, dataset_pictures
from unbraid.explorer.session import SubjectEntry
from unbraid.explorer.subject import Subject
from unbraid.representation.files import load
from unbraid.representation.representation import Representation
from unbraid.study.plan import Model, Plan
from unbraid.study.state import StudyStatus, status
from unbraid.study.store import Store, factors_name
from unbraid.study.table import pivot


class StudyView:
    """A study in its store, as it is at the moment of asking.

    Args:
        store: Its store.
        study: Its name, where the store has several, or its plan, where nothing is there yet.

    Raises:
        ValueError: No study in the store, or several and none is named.
    """

    def __init__(self, store: Store, study: str | Plan | None = None) -> None:
        self.store = store
        self.plan = status(store, study).plan
        self.title = f"study {self.plan.study.name}"
        self.entries = [
            SubjectEntry(label=model.label, load=partial(self._subject, model)) for model in self.plan.models
        ]

    def about(self) -> dict[str, Any]:
        """Return a row for each model with its scores, the counts of jobs, and failures with their reasons."""
        now = status(self.store, self.plan)
        values = self._values(now)
        scores = [] if values is None else [str(name) for name in values.columns]
        rows = []
        for number, model in enumerate(self.plan.models):
            has = values is not None and model.key in values.index
            numbers = values.loc[model.key] if has and values is not None else None
            failure = now.failed_models.get(model.key)
            rows.append(
                {
                    "id": f"m{number}",
                    "label": model.label,
                    "dataset": model.dataset,
                    "family": model.family,
                    "hyperparameter": model.hyperparameter,
                    "seed": model.seed,
                    "there": model.key in now.encoded,
                    "failure": "" if failure is None else failure.reason,
                    "scores": [None] * len(scores) if numbers is None else [_number(one) for one in numbers],
                }
            )
        summary = now.summary()
        return {
            "name": summary["study"],
            "about": self.plan.study.about.strip(),
            "parts": summary["parts"],
            "failures": summary["failures"],
            "scores": scores,
            "rows": rows,
            "complete": now.is_complete,
        }

    def _values(self, now: StudyStatus) -> pd.DataFrame | None:
        table = now.table()
        try:
            values = pivot(table).values if len(table) else None
        except ValueError:  # nothing was scored yet
            values = None
        losses = table[(table["kind"] == "model") & table["value"].notna()].set_index("model")["value"].rename("loss")
        if losses.empty:
            return values
        return losses.to_frame() if values is None else values.join(losses, how="outer")

    def _subject(self, model: Model, key: str) -> Subject:
        if model.file:
            return Subject(key, model.label, rep=load(model.file))
        try:
            arrays = self.store.read_arrays(model.codes, "codes")
            known = self.store.read_arrays(factors_name(self.plan, model.dataset), "rows", "factors", "names", "kinds")
        except FileNotFoundError as error:
            raise ValueError(f"{model.label} has no codes yet.") from error
        rep = Representation(
            arrays["codes"].astype(np.float64),
            known["factors"],
            names=[str(name) for name in known["names"]],
            kinds=[str(kind) for kind in known["kinds"]],
        )
        decoder, note = self._decoder(model, rep)
        pictures = dataset_pictures(model.dataset, known["rows"])
        return Subject(key, model.label, rep=rep, decoder=decoder, pictures=pictures, notes=note)

    def _decoder(self, model: Model, rep: Representation) -> tuple[PictureDecoder | None, tuple[str, ...]]:
        """Return the decoder of a model, or why there is none."""
        if not is_installed("torch"):
            return None, ("Decoders need torch, which is not installed.",)
        ensemble, member = next(
            (one, number) for one in self.plan.ensembles for number, other in enumerate(one.models) if other is model
        )
        from unbraid.models import load_models

        try:
            with temporary_folder() as folder:
                if self.store.folder is None:
                    (folder / CHECKPOINT).write_bytes(self.store.read(f"models/{ensemble.key}/{CHECKPOINT}"))
                else:
                    folder = self.store.folder / "models" / ensemble.key
                trained = load_models(folder)
            return make_decoder(trained[member % len(trained)].decoder, n_codes=rep.n_codes, codes=rep.codes), ()
        except (ValueError, OSError) as error:
            return None, (f"The decoder cannot be read: {error}",)


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)
