"""Figure 2: does a flow find the angles and radii of a torus it only sees turned and mixed?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least
from unbraid._base.optional import require
from unbraid.manifold import ManifoldAnalysis, ManifoldComparison, analyze, compare
from unbraid.report.charts import ChartGroup, Series, line_chart, matrix_chart
from unbraid.reproduce.figures import FigureResult, Line

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.models.flows import Flow
    from unbraid.reproduce.torus_truth import Torus

PUBLISHED = {"likelihood": 0.90, "with total correlation": 0.014}
#: In the figure, mutual information of this many nats or more is as dark as can be.
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
    """How both flows are made, trained and measured."""

    n_angles: int = 10
    n_data: int = 100_000
    n_blocks: int = 8
    width: int = 64
    n_steps: int = 500
    batch_size: int = 512
    learning_rate: float = 5e-3
    n_samples: int = 1000


FULL = TorusSettings()
QUICK = TorusSettings(n_data=20_000, n_blocks=6, width=32, n_steps=600, batch_size=128, n_samples=300)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TorusModel:
    """One trained flow, measured.

    Attributes:
        analysis: Of its decoder.
        comparison: With the decoder that made the data.
        excess: Cross-entropy of fresh data under the flow less their entropy, nats: 0 for a perfect fit.
        seconds: Of training.
    """

    analysis: ManifoldAnalysis
    comparison: ManifoldComparison
    excess: float
    seconds: float

    @property
    def squared_pearson(self) -> FloatArray:
        """Squared correlation of true and found latents, both from most to least important."""
        assert self.comparison.pearson is not None
        return self.comparison.pearson[np.ix_(self.comparison.order_a, self.comparison.order_b)] ** 2

    @property
    def n_in_place(self) -> int:
        """How many true latents share most with the found latent of the same rank."""
        matrix = np.nan_to_num(self.comparison.sorted_cross_mutual_information())
        return int((matrix.argmax(axis=1) == np.arange(len(matrix))).sum())

    @property
    def diagonal_share(self) -> float:
        """Share of the mutual information between true and found latents that lies on the diagonal, both sorted."""
        matrix = np.nan_to_num(self.comparison.sorted_cross_mutual_information())
        return float(np.trace(matrix) / matrix.sum())


def torus(
    *,
    quick: bool = False,
    n_steps: int | None = None,
    device: str = "cpu",
    seed: int = 0,
    settings: TorusSettings | None = None,
    progress: bool | None = None,
) -> FigureResult:
    """Train two flows on the torus, without and with the total correlation in the loss, and compare them to the truth.

    Args:
        quick: Smaller flows, fewer steps: two minutes on a CPU.
        n_steps: Training steps of each model, instead of those of the settings.
        device: ``"cpu"`` or ``"cuda"``.
        seed: Of the rotation, the data, the flows and their training.
        settings: Instead of the quick or the full ones.
        progress: Show progress bars on standard error; by default when that is a terminal.

    Raises:
        ValueError: torch or zuko is not installed, or there is no such device.
    """
    require("unbraid reproduce torus", "torch", "zuko", extra="train")
    from unbraid.models.flows import negative_log_likelihood, with_total_correlation
    from unbraid.reproduce.torus_truth import random_torus, true_entropies

    chosen = settings or (QUICK if quick else FULL)
    if n_steps is not None:
        check_at_least("n_steps", n_steps, 1)
        chosen = replace(chosen, n_steps=n_steps)
    started = time.perf_counter()
    rng = np.random.default_rng(seed)
    truth = random_torus(chosen.n_angles, rng)
    data, fresh = truth.sample(chosen.n_data, rng), truth.sample(10_000, rng)
    objectives: dict[str, Any] = {
        "likelihood": negative_log_likelihood,
        "with total correlation": with_total_correlation(1.0),
    }
    models = {
        name: _train_and_measure(truth, data, fresh, objective, chosen, device, seed, progress)
        for name, objective in objectives.items()
    }
    entropies = np.sort(true_entropies(truth.deviations))[::-1]
    return FigureResult(
        name="torus",
        title="Does a flow find the angles and radii of a torus?",
        where="Fig. 2, sec. 6 and App. D.2 and D.3",
        lede="Ten angles and ten radii, each with its own spread, make points in twenty dimensions, then turned "
        "at random. Two flows of the same shape learn the points: one by maximum likelihood alone, one with the total "
        "correlation of its latent manifolds added to the loss.",
        lines=_lines(models, entropies),
        groups=_groups(models, entropies),
        notes=NOTES,
        data={"true_entropies": entropies.tolist()} | {name: _model_data(model) for name, model in models.items()},
        meta={
            "mode": "own" if settings else "quick" if quick else "full",
            "couplings": chosen.n_blocks,
            "width": chosen.width,
            "steps": chosen.n_steps,
            "batch": chosen.batch_size,
            "samples": chosen.n_samples,
            "seed": seed,
            "device": device,
            "seconds": round(time.perf_counter() - started, 1),
        },
    )


def _train_and_measure(
    truth: Torus,
    data: FloatArray,
    fresh: FloatArray,
    objective: Any,
    settings: TorusSettings,
    device: str,
    seed: int,
    progress: bool | None,
) -> TorusModel:
    import torch

    from unbraid.models.flows import affine_flow, train_flow
    from unbraid.reproduce.torus_truth import true_entropies

    centre, scale = data.mean(axis=0), float(data.std())
    flow = affine_flow(truth.size, n_blocks=settings.n_blocks, hidden=(settings.width,) * 2, seed=seed)
    trained = train_flow(
        flow,
        (data - centre) / scale,
        objective=objective,
        n_steps=settings.n_steps,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
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
    return TorusModel(
        analysis=analyze(decode, **options, progress=progress),
        comparison=compare(truth, decode, encoder=encode, **options, progress=progress),
        excess=float(cross_entropy - true_entropies(truth.deviations).sum()),
        seconds=trained.seconds,
    )


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


def _lines(models: dict[str, TorusModel], entropies: FloatArray) -> tuple[Line, ...]:
    lines = []
    claims = {
        "likelihood": ("almost flat", "no visible structure"),
        "with total correlation": ("exactly follows the truth", "diagonal"),
    }
    for name, model in models.items():
        spectrum, matrices = claims[name]
        error = float(np.abs(model.analysis.sorted_entropy - entropies).max())
        off = float(model.squared_pearson.diagonal().mean())
        lines += [
            Line(
                what=f"total correlation, nats per latent, {name}",
                ours=model.analysis.total_correlation_per_latent,
                paper=PUBLISHED[name],
                truth=0.0,
            ),
            Line(what=f"spectrum, largest error in nats, {name}", ours=error, paper=spectrum, truth=0.0),
            Line(
                what=f"highest minus lowest entropy, {name}",
                ours=float(np.ptp(model.analysis.latent_entropy)),
                truth=float(np.ptp(entropies)),
            ),
            Line(
                what=f"latents in place, {name}", ours=str(model.n_in_place), paper=matrices, truth=str(len(entropies))
            ),
            Line(what=f"MCPMI on the diagonal, share, {name}", ours=model.diagonal_share, paper=matrices, truth=1.0),
            Line(what=f"squared Pearson on the diagonal, mean, {name}", ours=off, paper=matrices, truth=1.0),
            Line(what=f"nats lost on fresh data, {name}", ours=model.excess, truth=0.0),
        ]
    return tuple(lines)


def _groups(models: dict[str, TorusModel], entropies: FloatArray) -> tuple[ChartGroup, ...]:
    ranks = np.arange(1, len(entropies) + 1, dtype=float)
    series = [
        Series(name=name, x=ranks, y=model.analysis.sorted_entropy, colour=i)
        for i, (name, model) in enumerate(models.items())
    ]
    spectra = line_chart(
        [*series, Series(name="truth", x=ranks, y=entropies, mark="cross", colour=2)],
        title="Manifold entropy, sorted",
        caption="",
        x_label="latent, most important first",
        y_label="nats",
    )
    matrices = [
        chart
        for name, model in models.items()
        for chart in (
            matrix_chart(model.squared_pearson, title=f"Squared Pearson, {name}", caption="", top=1.0),
            matrix_chart(
                model.comparison.sorted_cross_mutual_information(),
                title=f"MCPMI, {name}",
                caption="",
                top=DARKEST,
            ),
        )
    ]
    return (
        ChartGroup(
            title="Spectra",
            caption="Where the flow has found the angles and radii, it has their entropies.",
            charts=[spectra],
        ),
        ChartGroup(
            title="Found against true latents",
            caption="Rows are true latents, columns found ones, both from most to least important. The diagonal alone "
            "is dark where each true latent has been found, in the right order.",
            charts=matrices,
        ),
    )


def _model_data(model: TorusModel) -> dict[str, Any]:
    return {
        "sorted_entropy": model.analysis.sorted_entropy.tolist(),
        "total_correlation_per_latent": model.analysis.total_correlation_per_latent,
        "squared_pearson": model.squared_pearson.tolist(),
        "cross_mutual_information": model.comparison.sorted_cross_mutual_information().tolist(),
        "training_seconds": round(model.seconds, 1),
    }
