"""Figure 2: two flows of a rotated torus, compared with its true angles and radii."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least
from unbraid._base.optional import require
from unbraid._base.progress import Show
from unbraid.manifold import ManifoldComparison, analyze, compare
from unbraid.report.charts import ChartGroup, Series, line_chart, matrix_chart
from unbraid.reproduce.agreement import Check, Part
from unbraid.reproduce.figures import About, Device, FigureResult
from unbraid.reproduce.result import Number, Row, Table, finite_tuple

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.models.flows import Flow
    from unbraid.reproduce.torus_truth import Torus

Objective = Literal["likelihood", "with total correlation"]
Matrix = tuple[tuple[float | None, ...], ...]
PUBLISHED: dict[Objective, float] = {"likelihood": 0.90, "with total correlation": 0.014}
#: Statements of the paper about the spectrum, and about the matrices of true and found latents.
CLAIMS: dict[Objective, tuple[str, str]] = {
    "likelihood": ("almost flat", "no visible structure"),
    "with total correlation": ("exactly follows the truth", "diagonal"),
}
#: Mutual information from which cells of the figure are darkest, in nats.
DARKEST = 2.0
NOTES = (
    "The paper gives neither the architecture nor the training for the torus; ours are affine couplings with learned "
    "rotations, the same for both models.",
    "Data are centred and divided by one number, so that angles between columns are those of the data; metrics are "
    "those of the decoder back to the data's own scale.",
    "The truth is ½(1 + log 2π) plus the logarithm of the deviation, and E log r for the angles; Eq. D.26 of the paper "
    "has log 10 too many, since one term of the sum in Eq. D.19 survives, not ten.",
    "The Pearson matrix uses standard deviations; Eq. D.28 prints variances.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusSettings:
    """Architecture, training and evaluation of both flows.

    Attributes:
        n_angles: Angles of the torus, and radii.
        n_points: Points to train on.
        n_blocks: Couplings of each flow.
        width: Width of the hidden layers of a coupling.
        n_steps: Training steps of each flow.
        batch_size: Points of a training step.
        learning_rate: Learning rate of Adam.
        n_samples: Latents at which the decoder is measured.
    """

    n_angles: int = 10
    n_points: int = 100_000
    n_blocks: int = 8
    width: int = 64
    n_steps: int = 500
    batch_size: int = 512
    learning_rate: float = 5e-3
    n_samples: int = 1000

    def __post_init__(self) -> None:
        check_at_least("n_steps", self.n_steps, 1)


FULL = TorusSettings()
QUICK = TorusSettings(n_points=20_000, n_blocks=6, width=32, n_steps=600, batch_size=128, n_samples=300)


class TorusQuantity(StrEnum):
    """Quantities measured on a flow of the torus."""

    TOTAL_CORRELATION = "total_correlation"
    SPECTRUM_ERROR = "spectrum_error"
    ENTROPY_RANGE = "entropy_range"
    IN_PLACE = "in_place"
    DIAGONAL_SHARE = "diagonal_share"
    SQUARED_PEARSON = "squared_pearson"
    EXCESS = "excess"


LABELS = {
    TorusQuantity.TOTAL_CORRELATION: "total correlation, nats per latent",
    TorusQuantity.SPECTRUM_ERROR: "spectrum, largest error in nats",
    TorusQuantity.ENTROPY_RANGE: "highest minus lowest entropy",
    TorusQuantity.IN_PLACE: "latents in place",
    TorusQuantity.DIAGONAL_SHARE: "MCPMI on the diagonal, share",
    TorusQuantity.SQUARED_PEARSON: "squared Pearson on the diagonal, mean",
    TorusQuantity.EXCESS: "nats lost on fresh data",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusFlow:
    """One trained flow, measured. Latents, true and found, are sorted from most to least important.

    Attributes:
        objective: Training objective.
        numbers: Every quantity. A true latent is in place if it shares most mutual information with the found latent of
            the same rank; the excess is the cross-entropy of fresh data under the flow less their entropy.
        sorted_entropy: Manifold entropy of each latent.
        squared_pearson: Squared correlation of true (rows) and found (columns) latents.
        cross_mutual_information: Manifold mutual information of true and found latents, MCPMI.
        training_seconds: Of training.
    """

    objective: Objective
    numbers: dict[TorusQuantity, Number]
    sorted_entropy: tuple[float | None, ...]
    squared_pearson: Matrix
    cross_mutual_information: Matrix
    training_seconds: float

    def label(self, quantity: TorusQuantity) -> str:
        """Return the name of a number in tables."""
        return f"{LABELS[quantity]}, {self.objective}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusFigure(FigureResult):
    """Figure 2, run again.

    Attributes:
        flows: By maximum likelihood, and with the total correlation.
        true_entropies: Entropy of each true latent, highest first.
    """

    about: ClassVar = About(
        name="torus",
        title="Does a flow find the angles and radii of a torus?",
        where="Fig. 2, sec. 6 and App. D.2 and D.3",
        lede="Ten angles and ten radii, each with its own spread, make points in twenty dimensions, then turned "
        "at random. Two flows of the same shape learn the points: one by maximum likelihood alone, one with the total "
        "correlation of its latent manifolds added to the loss.",
    )
    settings: TorusSettings
    flows: tuple[TorusFlow, ...]
    true_entropies: tuple[float, ...]

    @property
    def notes(self) -> Sequence[str]:
        """What differs from the paper."""
        return NOTES

    def tables(self) -> Sequence[Table]:
        """Return every quantity of both flows."""
        rows: list[Row] = [
            [flow.label(quantity), number] for flow in self.flows for quantity, number in flow.numbers.items()
        ]
        return [Table(header=["what", "ours"], rows=rows, wrap=("what", "paper"))]

    def charts(self) -> Sequence[ChartGroup]:
        """Return the spectra, and the matrices of true and found latents."""
        ranks = np.arange(1, len(self.true_entropies) + 1, dtype=float)
        series = [
            Series(name=flow.objective, x=ranks, y=np.array(flow.sorted_entropy, dtype=float), colour=i)
            for i, flow in enumerate(self.flows)
        ]
        truth = Series(name="truth", x=ranks, y=np.array(self.true_entropies), mark="cross", colour=2)
        spectra = line_chart(
            [*series, truth],
            title="Manifold entropy, sorted",
            caption="",
            x_label="latent, most important first",
            y_label="nats",
        )
        matrices = [
            matrix_chart(np.array(matrix, dtype=float), title=f"{title}, {flow.objective}", caption="", top=top)
            for flow in self.flows
            for matrix, title, top in (
                (flow.squared_pearson, "Squared Pearson", 1.0),
                (flow.cross_mutual_information, "MCPMI", DARKEST),
            )
        ]
        return [
            ChartGroup(
                title="Spectra",
                caption="Where the flow has found the angles and radii, it has their entropies.",
                charts=[spectra],
            ),
            ChartGroup(
                title="Found against true latents",
                caption="Rows are true latents, columns found ones, both from most to least important. The diagonal "
                "alone is dark where each true latent has been found, in the right order.",
                charts=matrices,
            ),
        ]


def torus(
    *,
    settings: TorusSettings = FULL,
    device: Device = "cpu",
    seed: int = 0,
    store: str | Path | None = None,
    progress: Show = None,
) -> TorusFigure:
    """Reproduce Figure 2 of the paper on manifold entropic metrics (arXiv:2410.19426): a ten-dimensional torus.

    Two flows of the same shape learn points on a torus with noise, turned at random in twenty dimensions: one by
    likelihood alone, one with the total correlation of its latent manifolds in the loss. Prints how their spectra and
    latents compare with the angles and radii behind the data, and writes spectra and matrices as a page. Needs torch
    and zuko.

    Args:
        settings: Architecture, training and evaluation of the flows.
        device: Where to train and measure: ``cpu`` or ``cuda``.
        seed: Seed of the rotation, the data, the flows and their training.
        store: Folder for checkpoints, where a later run goes on: a long run can be done in pieces.
        progress: Show progress bars on standard error; by default when that is a terminal.

    Raises:
        ValueError: torch or zuko is not installed, or there is no such device.
    """
    require("unbraid reproduce torus", "torch", "zuko", extra="train")
    from unbraid.models.flows import negative_log_likelihood, with_total_correlation
    from unbraid.reproduce.torus_truth import random_torus, true_entropies

    started = time.perf_counter()
    rng = np.random.default_rng(seed)
    truth = random_torus(settings.n_angles, rng)
    data, fresh = truth.sample(settings.n_points, rng), truth.sample(10_000, rng)
    losses: dict[Objective, Any] = {
        "likelihood": negative_log_likelihood,
        "with total correlation": with_total_correlation(1.0),
    }
    flows = [
        _train_and_measure(truth, data, fresh, objective, loss, settings, device, seed, store, progress)
        for objective, loss in losses.items()
    ]
    return TorusFigure(
        settings=settings,
        seed=seed,
        device=device,
        seconds=round(time.perf_counter() - started, 1),
        flows=tuple(flows),
        true_entropies=tuple(np.sort(true_entropies(truth.deviations))[::-1].tolist()),
    )


REASON = (
    "The paper gives neither networks nor training for the torus. Without the total correlation in the loss, how far "
    "the latents mix depends on both; longer training brings ours closer to the paper's."
)
#: Bounds implied by the statements of the paper: without and with the total correlation in the loss.
BOUNDS: dict[TorusQuantity, dict[Objective, dict[str, float]]] = {
    TorusQuantity.SPECTRUM_ERROR: {"likelihood": {"at_least": 1.0}, "with total correlation": {"at_most": 0.2}},
    TorusQuantity.IN_PLACE: {"likelihood": {"at_most": 5}, "with total correlation": {"at_least": 18}},
    TorusQuantity.DIAGONAL_SHARE: {"likelihood": {"at_most": 0.2}, "with total correlation": {"at_least": 0.8}},
    TorusQuantity.SQUARED_PEARSON: {"likelihood": {"at_most": 0.2}, "with total correlation": {"at_least": 0.8}},
}
#: Tolerances of total correlations against the paper.
TOLERANCES: dict[Objective, float] = {"likelihood": 0.2, "with total correlation": 0.01}


def torus_checks(result: TorusFigure) -> Sequence[Part]:
    """Compare both flows with the paper's numbers and words."""
    checks = []
    for flow in result.flows:
        for quantity, number in flow.numbers.items():
            what = flow.label(quantity)
            if quantity in BOUNDS:
                low, high = (BOUNDS[quantity][flow.objective].get(end) for end in ("at_least", "at_most"))
                checks.append(
                    Check(
                        what=what,
                        ours=number.ours,
                        claim=number.claim,
                        at_least=-math.inf if low is None else low,
                        at_most=math.inf if high is None else high,
                    )
                )
            elif number.paper is not None:
                tolerance = TOLERANCES[flow.objective]
                checks.append(Check(what=what, ours=number.ours, paper=number.paper, tolerance=tolerance))
    return [Part(where="Fig. 2", checks=checks, reason=REASON)]


def _train_and_measure(
    truth: Torus,
    data: FloatArray,
    fresh: FloatArray,
    objective: Objective,
    loss: Any,
    settings: TorusSettings,
    device: str,
    seed: int,
    store: str | Path | None,
    progress: Show,
) -> TorusFlow:
    import torch

    from unbraid.models.flows import affine_flow, train_flow
    from unbraid.reproduce.torus_truth import true_entropies

    centre, scale = data.mean(axis=0), float(data.std())
    trained = train_flow(
        affine_flow(truth.size, n_blocks=settings.n_blocks, hidden=(settings.width,) * 2, seed=seed),
        (data - centre) / scale,
        objective=loss,
        n_steps=settings.n_steps,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        out=None if store is None else Path(store) / objective.replace(" ", "-"),
        device=device,
        seed=seed,
        progress=progress,
    )
    decode, encode = to_data_scale(trained.flow, centre, scale)
    options: dict[str, Any] = {
        "latent_dim": truth.size,
        "n_samples": settings.n_samples,
        "device": device,
        "dtype": "float32",
        "seed": seed + 1,
    }
    with torch.no_grad():
        held_out = torch.as_tensor((fresh - centre) / scale).float().to(device)
        cross_entropy = -float(trained.flow.log_prob(held_out).mean()) + truth.size * np.log(scale)
    entropies = true_entropies(truth.deviations)
    analysis = analyze(decode, **options, progress=progress)
    comparison = compare(truth, decode, encoder=encode, **options, progress=progress)
    pearson, shared = _squared_pearson(comparison), comparison.sorted_cross_mutual_information()
    known = np.nan_to_num(shared)
    spectrum, matrices = CLAIMS[objective]
    error = float(np.abs(analysis.sorted_entropy - np.sort(entropies)[::-1]).max())
    in_place = int((known.argmax(axis=1) == np.arange(len(known))).sum())
    total_correlation = analysis.total_correlation_per_latent
    return TorusFlow(
        objective=objective,
        numbers={
            TorusQuantity.TOTAL_CORRELATION: Number(ours=total_correlation, paper=PUBLISHED[objective], truth=0.0),
            TorusQuantity.SPECTRUM_ERROR: Number(ours=error, claim=spectrum, truth=0.0),
            TorusQuantity.ENTROPY_RANGE: Number(
                ours=float(np.ptp(analysis.latent_entropy)), truth=float(np.ptp(entropies))
            ),
            TorusQuantity.IN_PLACE: Number(ours=in_place, claim=matrices, truth=float(truth.size)),
            TorusQuantity.DIAGONAL_SHARE: Number(ours=float(np.trace(known) / known.sum()), claim=matrices, truth=1.0),
            TorusQuantity.SQUARED_PEARSON: Number(ours=float(pearson.diagonal().mean()), claim=matrices, truth=1.0),
            TorusQuantity.EXCESS: Number(ours=float(cross_entropy - entropies.sum()), truth=0.0),
        },
        sorted_entropy=finite_tuple(analysis.sorted_entropy),
        squared_pearson=tuple(finite_tuple(row) for row in pearson),
        cross_mutual_information=tuple(finite_tuple(row) for row in shared),
        training_seconds=round(trained.seconds, 1),
    )


def _squared_pearson(comparison: ManifoldComparison) -> FloatArray:
    """Return the squared correlation of true and found latents, both from most to least important."""
    assert comparison.pearson is not None
    return comparison.pearson[np.ix_(comparison.order_a, comparison.order_b)] ** 2


def to_data_scale(
    flow: Flow, centre: FloatArray, scale: float
) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """Return decoder and encoder of a flow between latents and data before they were centred and scaled."""
    import torch

    def decode(z: Tensor) -> Tensor:
        return flow.decode(z) * scale + torch.as_tensor(centre).to(z)

    def encode(x: Tensor) -> Tensor:
        return flow.encode((x - torch.as_tensor(centre).to(x)) / scale)

    return decode, encode
