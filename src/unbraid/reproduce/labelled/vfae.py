"""VFAE's trade-off: how well target and sensitive attribute are read from its codes, by the weight of the MMD."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unbraid._base.checks import check_at_least
from unbraid._base.optional import require
from unbraid._base.progress import Show
from unbraid.data.tables import DatasetRows, applicants
from unbraid.reproduce.agreement import Check, Part
from unbraid.reproduce.figures import Device
from unbraid.reproduce.labelled import Read, majority, read_label
from unbraid.reproduce.result import Number, Result, Row, Table

HELD_OUT = 0.25
#: Largest accuracy of the group above the majority's share, and least above it without the MMD.
MOST_HIDDEN, LEAST_LEAK = 0.05, 0.08
#: Largest loss of accuracy of the target, against the raw numbers.
MOST_LOST = 0.05
REASON = (
    "Means of posteriors have traces of the group far below the noise of the posterior, which the MMD of draws does "
    "not see: with weights of 1000 and 10 000 the group is read from means for 0.78 to 0.90 of the rows, and from "
    "draws for 0.58 to 0.62, where the larger group has 0.615."
)
DATA = (
    "The paper has tables of credit, income and health; ours is drawn, with a group whose share and whose hold on the "
    "target are known. The paper shows its results as bars without numbers, which we hold against bounds of ours."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VfaeSettings:
    """Data, networks and training.

    Attributes:
        n_rows: Applicants, of whom a quarter is held out.
        weights: Of the MMD, one model each for every seed.
        n_codes: Codes of each of the two layers.
        width: Hidden layers have eight times as many units.
        n_steps: Training steps.
        batch_size: Rows of a step.
        learning_rate: Of Adam.
    """

    n_rows: int = 20_000
    weights: tuple[float, ...] = (0.0, 1.0, 10.0, 100.0, 1000.0, 10_000.0)
    n_codes: int = 8
    width: int = 16
    n_steps: int = 10_000
    batch_size: int = 100
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        check_at_least("n_rows", self.n_rows, 100)
        check_at_least("number of weights", len(self.weights), 2)


FULL = VfaeSettings()
QUICK = VfaeSettings(
    n_rows=4000, weights=(0.0, 10.0, 100.0, 1000.0), n_codes=4, width=8, n_steps=1200, learning_rate=2e-3
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """What is read from codes at one weight of the MMD; accuracies on held-out rows.

    Attributes:
        mmd: Weight of the MMD; ``None`` for the raw numbers of the rows.
        target_linear: Of the target, by a linear map.
        target_forest: Of the target, by a forest.
        group_linear: Of the group, by a linear map.
        group_forest: Of the group, by a forest.
    """

    mmd: float | None
    target_linear: Number
    target_forest: Number
    group_linear: Number
    group_forest: Number

    @classmethod
    def over_seeds(cls, mmd: float | None, target: Sequence[Read], group: Sequence[Read]) -> Weighted:
        """Return means and deviations over seeds."""
        return cls(
            mmd=mmd,
            target_linear=Number.over_seeds([one.linear for one in target]),
            target_forest=Number.over_seeds([one.forest for one in target]),
            group_linear=Number.over_seeds([one.linear for one in group]),
            group_forest=Number.over_seeds([one.forest for one in group]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VfaeTradeoff(Result):
    """The experiment, run again.

    Attributes:
        raw: What is read from the rows themselves.
        weighted: What is read from codes, one entry for each weight of the MMD.
        majority: Share of the larger group among held-out rows.
        n_seeds: Seeds: 0, 1, ...
        settings: Data, networks and training.
        device: Where it was trained.
        seconds: Time it took.
    """

    raw: Weighted
    weighted: tuple[Weighted, ...]
    majority: float
    n_seeds: int
    settings: VfaeSettings
    device: str
    seconds: float

    @property
    def notes(self) -> Sequence[str]:
        """What a reader of the table should know."""
        return (
            DATA,
            f"A blind guess names the larger group, and is right for {self.majority:.3f} of the rows.",
        )

    def tables(self) -> Sequence[Table]:
        """Return the trade-off."""
        header = ["weight of the MMD", "target, linear", "target, forest", "group, linear", "group, forest"]
        rows: list[Row] = [
            [
                "the rows themselves" if one.mmd is None else f"{one.mmd:g}",
                one.target_linear,
                one.target_forest,
                one.group_linear,
                one.group_forest,
            ]
            for one in (self.raw, *self.weighted)
        ]
        return [Table(header=header, rows=rows)]


def vfae_checks(result: VfaeTradeoff) -> Sequence[Part]:
    """Hold the claims of the paper against bounds of ours, at the largest weight and without the MMD."""
    free, fair = result.weighted[0], result.weighted[-1]
    hidden = result.majority + MOST_HIDDEN
    kept = (result.raw.target_linear.ours or 0.0) - MOST_LOST
    checks = [
        Check(
            what="group, linear, with MMD",
            ours=fair.group_linear.ours,
            claim="near the majority",
            at_least=0.0,
            at_most=hidden,
        ),
        Check(
            what="group, forest, with MMD",
            ours=fair.group_forest.ours,
            claim="near the majority",
            at_least=0.0,
            at_most=hidden,
        ),
        Check(
            what="group, forest, without",
            ours=free.group_forest.ours,
            claim="above the majority",
            at_least=result.majority + LEAST_LEAK,
        ),
        Check(what="target, linear, with MMD", ours=fair.target_linear.ours, claim="as from the rows", at_least=kept),
    ]
    return [Part(where="Trade-off", checks=checks, reason=REASON)]


def vfae_tradeoff(
    *,
    n_seeds: int = 3,
    settings: VfaeSettings = FULL,
    device: Device = "cpu",
    store: str | Path | None = None,
    progress: Show = None,
) -> VfaeTradeoff:
    """Reproduce the trade-off of the variational fair autoencoder (arXiv:1511.00830, sec. 3): target against group.

    A drawn table has applicants of two groups; skill decides who is hired, with a little favour for one group. Models
    with different weights of the maximum mean discrepancy are trained as one ensemble on three quarters of the rows.
    Then a linear map and a forest read target and group from the codes of the held-out rows. Needs torch.

    Args:
        n_seeds: Models for each weight, with seeds 0, 1, ....
        settings: Data, networks and training.
        device: Where to train: ``cpu`` or ``cuda``.
        store: Folder for checkpoints, where a later run goes on: a long run can be done in pieces.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Raises:
        ValueError: Bad options, or torch is not installed.
    """
    require("vfae-tradeoff, which trains networks,", "torch", extra="torch")
    from unbraid.models import encode_all, train

    check_at_least("n_seeds", n_seeds, 1)
    started, whole = time.perf_counter(), applicants(settings.n_rows)
    cut = round((1 - HELD_OUT) * len(whole))
    known, new = DatasetRows(whole, np.arange(cut)), DatasetRows(whole, np.arange(cut, len(whole)))
    models = train(
        "vfae",
        known,
        seeds=[seed for _ in settings.weights for seed in range(n_seeds)],
        mmd=[weight for weight in settings.weights for _ in range(n_seeds)],
        n_steps=settings.n_steps,
        n_codes=settings.n_codes,
        width=settings.width,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        device=device,
        out=store,
        progress=progress,
    )
    of_known, of_new = (data.factors(np.arange(len(data))) for data in (known, new))
    pairs = zip(encode_all(models, known), encode_all(models, new), strict=True)
    found = [[read_label(a.codes, of_known[:, k], b.codes, of_new[:, k], seed=0) for k in range(2)] for a, b in pairs]
    rows, unseen = (data.observations(np.arange(len(data))).astype(float) for data in (known, new))
    raw = [read_label(rows, of_known[:, k], unseen, of_new[:, k], seed=0) for k in range(2)]
    groups = [found[number * n_seeds : (number + 1) * n_seeds] for number in range(len(settings.weights))]
    return VfaeTradeoff(
        raw=Weighted.over_seeds(None, raw[:1], raw[1:]),
        weighted=tuple(
            Weighted.over_seeds(weight, [target for target, _ in group], [group_read for _, group_read in group])
            for weight, group in zip(settings.weights, groups, strict=True)
        ),
        majority=majority(of_new[:, 1]),
        n_seeds=n_seeds,
        settings=settings,
        device=device,
        seconds=round(time.perf_counter() - started, 1),
    )
