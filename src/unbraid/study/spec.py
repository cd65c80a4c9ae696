"""What a study file says, as typed plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

#: Rows that are scored unless the file says otherwise.
N_ROWS = 10_000


class _Part(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A part of a study file: its keys are known, and nothing changes it."""


class Family(_Part, frozen=True, kw_only=True):
    """Models of one kind that differ in strength.

    Attributes:
        family: ``beta_vae``, ``factor_vae``, ...; as ``unbraid train`` names them.
        strengths: For each of the family's strengths one number, or one for each setting. The first list counts the
            settings; the others are as long.
    """

    family: str
    strengths: dict[str, float | tuple[float, ...]] = {}

    @property
    def axis(self) -> str:
        """The strength that the settings are told apart by; empty for a family without."""
        lists = [name for name, value in self.strengths.items() if isinstance(value, tuple)]
        return next(iter([*lists, *self.strengths]), "")

    def settings(self) -> list[dict[str, float]]:
        """Return every setting: each strength by name."""
        n_settings = max((len(v) for v in self.strengths.values() if isinstance(v, tuple)), default=1)
        return [
            {name: float(v[number] if isinstance(v, tuple) else v) for name, v in self.strengths.items()}
            for number in range(n_settings)
        ]


class Training(_Part, frozen=True, kw_only=True):
    """How models are trained; the defaults are those of the published models.

    Attributes:
        steps: Of Adam.
        codes: Dimensions of the codes.
        width: Channels of the first convolution.
        judge: Units of each hidden layer of the discriminator of ``factor_vae``.
        batch: Rows of a step, for each model.
        learning_rate: Of Adam.
        together: Models trained as one program.
        device: ``cpu`` or ``cuda``.
        gpus: GPUs for each such program on ``cuda``; a fraction shares one.
    """

    steps: int = 300_000
    codes: int = 10
    width: int = 32
    judge: int = 1000
    batch: int = 64
    learning_rate: float = 1e-4
    together: int = 50
    device: str = "cpu"
    gpus: float = 1.0


class Representations(_Part, frozen=True, kw_only=True):
    """Codes that somebody has already, instead of models to train.

    Attributes:
        folder: Where the files are.
        index: A table in that folder with the columns ``file``, ``family``, ``strength`` and ``seed``, and if wanted
            ``dataset``; without it, every ``.npz`` file there is a family of its own name.
    """

    folder: str
    index: str = ""


class Scores(_Part, frozen=True, kw_only=True):
    """Which metrics, on how many rows.

    Attributes:
        metrics: Names or families, as ``unbraid metrics`` lists them; or ``default``.
        rows: Sample sizes; each smaller sample is part of the larger ones.
        options: For each metric or family, as its function takes them.
        classes: Whether every factor counts as classes, whatever its kind.
        intervals: Whether to compute intervals.
        nulls: Whether to compute what chance gives.
    """

    metrics: tuple[str, ...] = ("default",)
    rows: tuple[int, ...] = ()
    options: dict[str, dict[str, Any]] = {}
    classes: bool = False
    intervals: bool = False
    nulls: bool = False


class Tasks(_Part, frozen=True, kw_only=True):
    """What is predicted from the codes.

    Attributes:
        tasks: Names, as ``unbraid study tasks`` lists them.
        predictors: ``linear``, ``boosting``, ``forest``, ``mlp``.
        train: Sizes of the training set: whole numbers of rows, or shares of what is not kept for testing.
        only: Data sets that have these tasks; all by default.
    """

    tasks: tuple[str, ...]
    predictors: tuple[str, ...] = ("linear",)
    train: tuple[float, ...] = (1.0,)
    only: tuple[str, ...] = ()


class Agreement(_Part, frozen=True, kw_only=True):
    """How much models of one setting agree (UDR).

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
        name: What the store and the report call it.
        about: What it asks, for people.
        data: Data sets by name.
        rows: Rows of each that are encoded.
        models: Families to train on each data set.
        seeds: How many models for each setting, counted from 0; or the seeds.
        training: How.
        representations: Codes that are there already, instead of data and models.
        scores: Which metrics.
        tasks: What is predicted.
        agreement: Whether models of one setting are compared.
        seed: Of rows, splits and everything else that is drawn.
    """

    name: str
    about: str = ""
    data: tuple[str, ...] = ()
    rows: int = N_ROWS
    models: tuple[Family, ...] = ()
    seeds: int | tuple[int, ...] = 1
    training: Training = Training()
    representations: Representations | None = None
    scores: Scores = Scores()
    tasks: tuple[Tasks, ...] = ()
    agreement: Agreement | None = None
    seed: int = 0

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds themselves."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    @property
    def score_rows(self) -> tuple[int, ...]:
        """Sample sizes to score at."""
        return self.scores.rows or (self.rows,)

    @property
    def folder(self) -> Path:
        """Where given representations are."""
        assert self.representations is not None
        return Path(self.representations.folder).expanduser()
