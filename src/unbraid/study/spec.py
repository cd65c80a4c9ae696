"""A study file as typed plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

#: Rows that are scored unless the file says otherwise.
N_ROWS = 10_000
#: Earlier names of keys, and their names now. Content keys are made of the earlier names, so that stores of earlier
#: versions are found.
RENAMED = {
    "models": {"strengths": "hyperparameters"},
    "training": {
        "steps": "n_steps",
        "codes": "n_codes",
        "judge": "discriminator_width",
        "together": "ensemble_size",
    },
}


#: Other names of keys, which are read as well.
ALIASES = {"models": {"model": "family"}}
#: Training settings that came later: keys leave them out where they have their default, for the same reason.
LATER = ("categories", "noise_dim", "encoder")


class _Part(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A part of a study file: its keys are known, and nothing changes it."""


class Family(_Part, frozen=True, kw_only=True):
    """Models of one family with different hyperparameters.

    Attributes:
        family: ``beta_vae``, ``factor_vae``, ...; as ``unbraid train`` names them.
        hyperparameters: By name, one number for all settings, or a list with one number for each setting. All lists
            have the same length.
        labels: The factors that a family with labels reads, as ``unbraid train`` takes them: by role, ``{y: digit, d:
            angle}``, or a list; by default the first factors of the data.
        labelled: Share of the rows whose target ``diva`` and ``vfae`` see.
    """

    family: str
    hyperparameters: dict[str, float | tuple[float, ...]] = {}
    labels: dict[str, str] | tuple[str, ...] = ()
    labelled: float = 1.0

    @property
    def options(self) -> dict[str, Any]:
        """Options of training beside the hyperparameters, without those that have their default."""
        given = {"labels": self.labels, "labelled": self.labelled}
        return {name: value for name, value in given.items() if value not in ((), {}, 1.0)}

    @property
    def axis(self) -> str:
        """The hyperparameter whose value names a setting; empty for a family without hyperparameters."""
        lists = [name for name, value in self.hyperparameters.items() if isinstance(value, tuple)]
        return next(iter([*lists, *self.hyperparameters]), "")

    @property
    def n_settings(self) -> int:
        """Number of settings."""
        return max((len(v) for v in self.hyperparameters.values() if isinstance(v, tuple)), default=1)

    def settings(self) -> list[dict[str, float]]:
        """Return every setting: the value of each hyperparameter by name."""
        return [
            {name: float(v[number] if isinstance(v, tuple) else v) for name, v in self.hyperparameters.items()}
            for number in range(self.n_settings)
        ]


class Training(_Part, frozen=True, kw_only=True):
    """Sizes and optimiser settings of the models; the defaults are those of the published models.

    Attributes:
        n_steps: Optimiser steps.
        n_codes: Dimensions of the codes.
        width: Channels of the first convolution.
        encoder: ``paper`` for kernels of the encoder as in the paper's table, ``library`` as in the published code.
        discriminator_width: Units of each hidden layer of the discriminator of ``factor_vae``.
        batch: Rows of a step, for each model.
        learning_rate: Of Adam.
        categories: Number of values of each categorical code of ``info_gan``, each value one of the codes.
        noise_dim: Numbers of noise that ``info_gan`` generates from beside the codes.
        ensemble_size: Models that are trained together as one ensemble, at most.
        device: ``cpu`` or ``cuda``.
        gpus: GPUs of each ensemble on ``cuda``; a fraction shares one GPU.
    """

    n_steps: int = 300_000
    n_codes: int = 10
    width: int = 32
    encoder: str = "paper"
    discriminator_width: int = 1000
    batch: int = 64
    learning_rate: float = 1e-4
    categories: tuple[int, ...] = ()
    noise_dim: int = 62
    ensemble_size: int = 50
    device: str = "cpu"
    gpus: float = 1.0


class Representations(_Part, frozen=True, kw_only=True):
    """Codes in files, instead of models to train.

    Attributes:
        folder: Where the files are.
        index: A table in that folder with the columns ``file``, ``family``, ``hyperparameter`` and ``seed``,
            and optionally ``dataset``; without an index, every ``.npz`` file of the folder is a family of its own.
    """

    folder: str
    index: str = ""


class Scores(_Part, frozen=True, kw_only=True):
    """Metrics, and the sample sizes to compute them at.

    Attributes:
        metrics: Names or families, as ``unbraid metrics`` lists them; or ``default``.
        rows: Sample sizes: whole numbers of rows, or shares of all. Each smaller sample is a subset of the larger ones.
            Where a study has tasks, samples are the rows that predictors are trained on, and no row of the test set is
            scored.
        options: For each metric or family, keyword arguments of its function.
        classes: Whether factors of every kind are treated as categorical.
        standardise: Whether codes are scaled to mean 0 and deviation 1 on the scored rows first.
        intervals: Whether to compute confidence intervals.
        nulls: Whether to compute the score that chance alone gives.
        convergence: Further sample sizes, as shares of the largest, at which the first model of each data set is
            scored, and the agreement of the models of its setting computed.
    """

    metrics: tuple[str, ...] = ("default",)
    rows: tuple[float, ...] = ()
    convergence: tuple[float, ...] = ()
    options: dict[str, dict[str, Any]] = {}
    classes: bool = False
    standardise: bool = False
    intervals: bool = False
    nulls: bool = False


class Tasks(_Part, frozen=True, kw_only=True):
    """Tasks that are solved on the codes.

    Attributes:
        tasks: Names, as ``unbraid study tasks`` lists them.
        predictors: ``linear``, ``boosting``, ``forest``, ``mlp``.
        train: Sizes of the training set: whole numbers of rows, or shares of the rows outside the test set.
        only: Data sets on which these tasks are solved; all by default.
        split: ``rows`` to test on random rows, or ``combinations`` to test on combinations of factor values that are
            not in the training set; the table then has the gap to random rows too.
    """

    tasks: tuple[str, ...]
    predictors: tuple[str, ...] = ("linear",)
    train: tuple[float, ...] = (1.0,)
    only: tuple[str, ...] = ()
    split: str = "rows"


class AgreementSpec(_Part, frozen=True, kw_only=True):
    """Agreement of the models of one setting (UDR).

    Attributes:
        methods: ``lasso`` or ``spearman``.
        variant: ``published`` or ``thesis``.
        rows: Rows to compare models on.
    """

    methods: tuple[str, ...] = ("lasso",)
    variant: str = "published"
    rows: int = 1000


class Study(_Part, frozen=True, kw_only=True):
    """A whole study.

    Attributes:
        name: Name of the study in the store and in the report.
        about: The question of the study, for readers.
        data: Data sets by name.
        also: Data sets that no model is trained on, and that all models encode too; they are not scored, and tasks that
            name them (``only``) are solved on them.
        rows: Rows of each data set that are encoded.
        models: Families to train on each data set.
        seeds: Number of models for each setting, with seeds from 0 on; or the seeds themselves.
        training: Sizes and optimiser settings of the models.
        representations: Codes in files, instead of data and models.
        scores: Metrics.
        tasks: Tasks solved on the codes.
        agreement: Agreement of the models of one setting; not computed by default.
        seed: Of samples of rows and of splits.
    """

    name: str
    about: str = ""
    data: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    rows: int = N_ROWS
    models: tuple[Family, ...] = ()
    seeds: int | tuple[int, ...] = 1
    training: Training = Training()
    representations: Representations | None = None
    scores: Scores = Scores()
    tasks: tuple[Tasks, ...] = ()
    agreement: AgreementSpec | None = None
    seed: int = 0

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds themselves."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    @property
    def score_rows(self) -> tuple[float, ...]:
        """Sample sizes to score at."""
        return self.scores.rows or (float(self.rows),)

    @property
    def convergence_rows(self) -> tuple[float, ...]:
        """Further sample sizes, to score the first model of each data set at."""
        largest = max(self.score_rows, key=lambda size: size * self.rows if size <= 1 else size)
        return tuple(share * largest for share in self.scores.convergence)

    @property
    def folder(self) -> Path:
        """Folder of the files with codes."""
        assert self.representations is not None
        return Path(self.representations.folder).expanduser()
