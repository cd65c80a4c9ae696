"""DC-IGN against a VAE of the same size: whether each reserved factor is in its code."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from unbraid._base.checks import check_at_least
from unbraid._base.optional import require
from unbraid._base.progress import Show
from unbraid.data.catalogue import load_dataset
from unbraid.metrics import mig, z1
from unbraid.representation.representation import Representation
from unbraid.reproduce.agreement import Check, Part
from unbraid.reproduce.figures import Device
from unbraid.reproduce.result import Number, Result, Row, Table, difference

#: The factors that get a code each; shape and orientation are the rest.
RESERVED = ("scale", "x", "y")
MOST_ROWS = 5000
LEAST_Z1 = 0.9
REASON = "Few steps: codes of factors that are rarely varied come last."
NO_NUMBERS = "The paper shows pictures and plots of codes against pose, and prints no number that could be compared."
DATA = "The paper has rendered faces and chairs with azimuth, elevation and light; ours are sprites."


@dataclass(frozen=True, slots=True, kw_only=True)
class DcIgnSettings:
    """Data, networks and training of both models.

    Attributes:
        sprites: Data set.
        n_codes: Codes of each model.
        width: Channels of the first convolution.
        n_steps: Training steps.
        batch_size: Rows of a step.
        learning_rate: Of Adam.
        invariance: Weight of the distance from the batch mean, for codes that do not vary.
        rest: Frequency of batches in which the rest varies, against 1 for each reserved factor.
    """

    sprites: Literal["sprites", "sprites_mini"] = "sprites"
    n_codes: int = 10
    width: int = 32
    n_steps: int = 60_000
    batch_size: int = 64
    learning_rate: float = 5e-4
    invariance: float = 1.0
    rest: float = 1.0

    def __post_init__(self) -> None:
        check_at_least("n_codes", self.n_codes, len(RESERVED) + 1)


FULL = DcIgnSettings()
QUICK = DcIgnSettings(
    sprites="sprites_mini", n_codes=6, width=8, n_steps=2500, batch_size=32, learning_rate=2e-3, rest=1.0
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DcIgnSprites(Result):
    """The experiment, run again.

    Attributes:
        z1: For each reserved factor, the score z1 of DC-IGN.
        z1_vae: The same of the VAE.
        mig: For each reserved factor, the mutual information gap of DC-IGN.
        mig_vae: The same of the VAE.
        own: For each reserved factor, the absolute correlation of its own code of DC-IGN with it.
        n_seeds: Seeds: 0, 1, ...
        settings: Data, networks and training.
        device: Where it was trained.
        seconds: Time it took.
    """

    z1: dict[str, Number]
    z1_vae: dict[str, Number]
    mig: dict[str, Number]
    mig_vae: dict[str, Number]
    own: dict[str, Number]
    n_seeds: int
    settings: DcIgnSettings
    device: str
    seconds: float

    @property
    def notes(self) -> Sequence[str]:
        """What a reader of the table should know."""
        return (NO_NUMBERS, DATA)

    def tables(self) -> Sequence[Table]:
        """Return the scores of both models for each reserved factor."""
        rows: list[Row] = [
            [name, self.z1[name], self.z1_vae[name], self.mig[name], self.mig_vae[name], self.own[name]]
            for name in RESERVED
        ]
        header = ["factor", "z1", "z1, VAE", "MIG", "MIG, VAE", "correlation with its code"]
        return [Table(header=header, rows=rows)]


def dc_ign_checks(result: DcIgnSprites) -> Sequence[Part]:
    """Hold the claim of the paper, that each factor is in its code, against bounds of ours."""
    own = [
        Check(what=f"z1, {name}", ours=result.z1[name].ours, claim="its code has it", at_least=LEAST_Z1)
        for name in RESERVED
    ]
    above = [
        Check(
            what=f"z1, {name}, less the VAE's",
            ours=difference(result.z1[name].ours, result.z1_vae[name].ours),
            claim="more than without clamping",
            at_least=0.0,
        )
        for name in RESERVED
    ]
    return [Part(where="Codes of factors", checks=[*own, *above], reason=REASON)]


def dc_ign_sprites(
    *,
    n_seeds: int = 3,
    settings: DcIgnSettings = FULL,
    device: Device = "cpu",
    store: str | Path | None = None,
    progress: Show = None,
) -> DcIgnSprites:
    """Reproduce the claim of the deep convolutional inverse graphics network (arXiv:1503.03167): a factor, a code.

    DC-IGN with a code each for scale, x and y of sprites, and a VAE with the same networks, batches and steps, are
    trained as ensembles. Both are scored by z1 and MIG, factor by factor. Needs torch.

    Args:
        n_seeds: Models of each kind, with seeds 0, 1, ....
        settings: Data, networks and training.
        device: Where to train: ``cpu`` or ``cuda``.
        store: Folder for checkpoints, where a later run goes on: a long run can be done in pieces.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Raises:
        ValueError: Bad options, or torch is not installed.
    """
    require("dc-ign-sprites, which trains networks,", "torch", extra="torch")
    from unbraid.models import encode_all, train

    check_at_least("n_seeds", n_seeds, 1)
    started, data = time.perf_counter(), load_dataset(settings.sprites)
    own = {"labels": RESERVED, "invariance": settings.invariance, "rest": settings.rest}
    reps = {}
    for model, options in (("dc_ign", own), ("vae", {})):
        trained = train(
            model,
            data,
            seeds=range(n_seeds),
            n_codes=settings.n_codes,
            width=settings.width,
            n_steps=settings.n_steps,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            device=device,
            out=None if store is None else Path(store) / model,
            progress=progress,
            **options,
        )
        reps[model] = encode_all(trained, data, n=min(MOST_ROWS, len(data)))
    scores = {model: [_scores(rep) for rep in found] for model, found in reps.items()}

    def numbers(model: str, score: str) -> dict[str, Number]:
        return {name: Number.over_seeds([one[score][name] for one in scores[model]]) for name in RESERVED}

    return DcIgnSprites(
        z1=numbers("dc_ign", "z1"),
        z1_vae=numbers("vae", "z1"),
        mig=numbers("dc_ign", "mig"),
        mig_vae=numbers("vae", "mig"),
        own=numbers("dc_ign", "own"),
        n_seeds=n_seeds,
        settings=settings,
        device=device,
        seconds=round(time.perf_counter() - started, 1),
    )


def _scores(rep: Representation) -> dict[str, dict[str, float]]:
    """Return z1, MIG and the correlation with the code of the same number, for each reserved factor."""
    found = {name: score.per_factor for name, score in (("z1", z1(rep)), ("mig", mig(rep)))}
    columns = {factor.name: factor.numbers for factor in rep.factors}
    correlated = {
        name: abs(float(np.corrcoef(rep.codes[:, number], columns[name])[0, 1])) for number, name in enumerate(RESERVED)
    }
    by_name = {
        score: {name: float(values[rep.factor_names.index(name)]) for name in RESERVED}
        for score, values in found.items()
        if values is not None
    }
    return {**by_name, "own": correlated}
