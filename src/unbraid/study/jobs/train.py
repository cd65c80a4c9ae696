"""Job that trains an ensemble and encodes the data with its members."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.optional import require
from unbraid._version import __version__
from unbraid.data import load_dataset
from unbraid.models.encoding import CHUNK, context_of, drawn_rows, posterior_rate
from unbraid.models.families import TAKEN_BY
from unbraid.study.plan import Ensemble, Model, Plan, model_row_key
from unbraid.study.store import Store, factors_name, write_codes, write_factors
from unbraid.study.table import MODEL, NO_FAILURE, Failure, FailureKind

CHECKPOINT = "ensemble.pt"
#: Options under ``training`` that only some families take.
FAMILY_OPTIONS = ("categories", "noise_dim", "discriminator_width")
#: Steps between two checkpoints, at least, and as a share of all: those of large ensembles are gigabytes.
CHECKPOINT_STEPS, CHECKPOINT_SHARE = 1000, 0.1


@dataclass(frozen=True, kw_only=True)
class TrainJob:
    """Train an ensemble, from its checkpoint if there is one; then encode the data.

    Attributes:
        store: Takes models, codes and rows.
        plan: Plan of the study.
        ensemble: The models.
        data_folder: Where files of data sets are; empty for the usual place.
    """

    store: Store
    plan: Plan
    ensemble: Ensemble
    data_folder: str = ""
    kind: str = "train"
    may_race: bool = False

    @property
    def key(self) -> str:
        """Hash of what is trained."""
        return self.ensemble.key

    @property
    def label(self) -> str:
        """Label for people."""
        return f"training {len(self.ensemble.members)} {self.ensemble.family} on {self.ensemble.dataset}"

    @property
    def gpus(self) -> float:
        """GPUs it holds."""
        training = self.plan.study.training
        return training.gpus if training.device.startswith("cuda") else 0.0

    def run(self) -> None:
        """Train, encode, and write models, codes and factors."""
        require("training the models of a study", "torch", extra="train")
        started = time.perf_counter()
        members = self.ensemble.members
        trained = self._trained(load_dataset(self.ensemble.dataset, self.data_folder or None))
        whole = [number for number, step in enumerate(trained.diverged) if step is None]
        for name in dict.fromkeys(model.dataset for model in self.ensemble.models):
            models = [model for model in self.ensemble.models if model.dataset == name]
            self._encode(trained.only(whole) if whole else None, name, [models[number] for number in whole])
        losses = trained.history[-1, 0].tolist()
        seconds = (time.perf_counter() - started) / len(members)
        n_times = len(self.ensemble.models) // len(members)
        self.store.add_rows(
            [
                model_row(model, loss, _failure(step), seconds if number < len(members) else 0.0)
                for number, (model, loss, step) in enumerate(
                    zip(self.ensemble.models, losses * n_times, trained.diverged * n_times, strict=True)
                )
            ]
        )

    def _encode(self, trained: Any, name: str, models: list[Model]) -> None:
        """Write the factors of some rows of a data set, and their codes by models that did not diverge."""
        study, dataset = self.plan.study, load_dataset(name, self.data_folder or None)
        rows = drawn_rows(len(dataset), min(study.rows, len(dataset)), study.seed)
        write_factors(self.store, factors_name(self.plan, name), dataset, rows)
        codes, rates = ((), ()) if trained is None else _encoded(trained, dataset, rows)
        for model, one, rate in zip(models, codes, rates, strict=True):
            write_codes(self.store, model, one, rate, trained.settings.block_columns())

    def _trained(self, dataset: Any) -> Any:
        from unbraid.models import train

        how = self.plan.study.training
        with self._folder() as folder:
            return train(
                self.ensemble.family,
                dataset,
                seeds=[model.seed for model in self.ensemble.members],
                n_steps=how.n_steps,
                n_codes=how.n_codes,
                width=how.width,
                encoder=how.encoder,
                batch_size=how.batch,
                learning_rate=how.learning_rate,
                **self._family_options(),
                out=folder,
                checkpoint_every=max(CHECKPOINT_STEPS, round(CHECKPOINT_SHARE * how.n_steps)),
                device=how.device,
                progress=False,
                **self.ensemble.options,
                **self.ensemble.hyperparameters,
            )

    def _family_options(self) -> dict[str, Any]:
        """Return the options of training that this family takes, and others may not."""
        how, family = self.plan.study.training, self.ensemble.family
        return {name: getattr(how, name) for name in FAMILY_OPTIONS if family in TAKEN_BY[name]}

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """Yield a folder on this machine for checkpoints; its content is in the store afterwards."""
        name = f"models/{self.ensemble.key}"
        self.store.write(f"{name}/members.json", _members(self.ensemble))
        self._set_aside_damaged(name)
        if self.store.folder is not None:
            yield self.store.folder / name
            return
        place = Path(tempfile.mkdtemp(prefix="unbraid-"))
        try:
            if self.store.has(f"{name}/{CHECKPOINT}"):
                (place / CHECKPOINT).write_bytes(self.store.read(f"{name}/{CHECKPOINT}"))
            yield place
            self.store.write(f"{name}/{CHECKPOINT}", (place / CHECKPOINT).read_bytes())
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _set_aside_damaged(self, name: str) -> None:
        """Set aside checkpoints that cannot be read: training begins again, and does not fail again and again."""
        from unbraid.models.ensemble import load_checkpoint

        for checkpoint in (one for one in self.store.names(name) if one.rpartition("/")[2] == CHECKPOINT):
            with tempfile.TemporaryDirectory(prefix="unbraid-") as place:
                (Path(place) / CHECKPOINT).write_bytes(self.store.read(f"{name}/{checkpoint}"))
                try:
                    load_checkpoint(place)
                except ValueError:
                    self.store.set_aside(f"{name}/{checkpoint}")


def _members(ensemble: Ensemble) -> bytes:
    """Return which member is which model, for users who load the models themselves."""
    members = [
        {"member": number, "model": model.key, "hyperparameter": model.hyperparameter, "seed": model.seed}
        for number, model in enumerate(ensemble.members)
    ]
    return json.dumps({"dataset": ensemble.dataset, "family": ensemble.family, "members": members}, indent=1).encode()


def _encoded(trained: Any, dataset: Any, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the codes of every member, ``(n_models, n, n_codes)``, and their rates, ``(n_models, n_codes)``."""
    trained = trained.in_float32()
    codes = np.empty((len(trained), len(rows), trained.settings.n_codes), dtype=np.float32)
    rates = np.zeros((len(trained), trained.settings.n_codes))
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        context = context_of(trained, dataset, part)
        mean, deviation = trained.posterior(np.asarray(dataset.observations(part)), context=context)
        codes[:, start : start + CHUNK] = mean
        rates += posterior_rate(trained, mean, deviation).sum(axis=1) / len(rows)
    return codes, rates


def _failure(diverged_at: int | None) -> Failure:
    if diverged_at is None:
        return NO_FAILURE
    return Failure(FailureKind.DIVERGED, f"training diverged at step {diverged_at}.")


def model_row(
    model: Model, loss: float | None, failure: Failure = NO_FAILURE, seconds: float | None = None
) -> dict[str, Any]:
    """Return the row of the table with the loss of a model, or with its failure."""
    return {
        **model.columns(),
        "key": model_row_key(model),
        "kind": MODEL,
        "name": "loss",
        "predictor": "",
        "factor": "",
        "n_rows": 0,
        "value": loss if failure is NO_FAILURE else None,
        **failure.columns(),
        "seconds": seconds,
        "version": __version__,
    }
