"""Figure 1: three flows of the same density, with latents that mean nothing, something, and the moons."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least
from unbraid._base.optional import require
from unbraid.manifold import ManifoldAnalysis, analyze
from unbraid.report.charts import ChartGroup, PlaneChart, plane_chart
from unbraid.reproduce.figures import FigureResult, Line

if TYPE_CHECKING:
    from unbraid.models.flows import Flow

#: The paper says variance 0.01; make_moons takes a deviation.
NOISE = 0.1
#: Latents of the grid lines, and of the points along each.
GRID = np.linspace(-2.5, 2.5, 15)
ALONG = np.linspace(-2.8, 2.8, 71)
N_SHOWN = 600
NOTES = (
    "The paper shows the entropies as bars without numbers, so only what it says of them in words stands beside ours.",
    "The paper's couplings are FrEIA's; ours are zuko's, with four bins each and one last rotation, as in App. D.1.1.",
    "Which latent is c and which is d is chosen by the loss in (C) and is an accident in (A) and (B).",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoonsSettings:
    """How the three flows are made, trained and measured."""

    n_data: int = 20_000
    n_blocks: int = 8
    width: int = 64
    n_steps: int = 3000
    batch_size: int = 256
    learning_rate: float = 2e-3
    n_samples: int = 2000


FULL = MoonsSettings()
QUICK = MoonsSettings(n_data=5000, n_blocks=6, width=32, n_steps=300, learning_rate=5e-3, n_samples=500)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """One of the three flows.

    Attributes:
        letter: A, B or C.
        name: What it was trained for.
        claim: What the paper says of it.
        analysis: Of its decoder.
        cross_entropy: Of fresh data, nats.
        chart: Its grid.
    """

    letter: str
    name: str
    claim: str
    analysis: ManifoldAnalysis
    cross_entropy: float
    chart: PlaneChart

    @property
    def entropies(self) -> tuple[float, float]:
        """Manifold entropy of latent c and of latent d."""
        c, d = self.analysis.latent_entropy.tolist()
        return c, d


def moons(
    *,
    quick: bool = False,
    n_steps: int | None = None,
    device: str = "cpu",
    seed: int = 0,
    settings: MoonsSettings | None = None,
    progress: bool | None = None,
) -> FigureResult:
    """Train three flows on two moons and measure their latents.

    Args:
        quick: Smaller networks, fewer steps: two minutes on a CPU.
        n_steps: Training steps of each model, instead of those of the settings.
        device: ``"cpu"`` or ``"cuda"``.
        seed: Of the data, the flows and their training.
        settings: Instead of the quick or the full ones.
        progress: Show progress bars on standard error; by default when that is a terminal.

    Raises:
        ValueError: torch or zuko is not installed, or there is no such device.
    """
    require("unbraid reproduce moons", "torch", "zuko", extra="train")
    from unbraid.models.flows import negative_log_likelihood, with_reconstruction, with_total_correlation

    chosen = settings or (QUICK if quick else FULL)
    if n_steps is not None:
        check_at_least("n_steps", n_steps, 1)
        chosen = replace(chosen, n_steps=n_steps)
    started = time.perf_counter()
    kinds: list[tuple[str, str, str, Any]] = [
        ("A", "likelihood", "entangled: high mutual information", negative_log_likelihood),
        ("B", "with total correlation", "low mutual information, comparable entropies", with_total_correlation(1.0)),
        ("C", "with reconstruction", "entropy of c high, of d low, little shared", with_reconstruction((0,), 5.0)),
    ]
    panels = [_panel(*kind, chosen, device, seed, progress) for kind in kinds]
    truth = moons_entropy(seed=seed)
    return FigureResult(
        name="moons",
        title="Three flows of two moons: same density, different latents",
        where="Fig. 1, sec. 6 and App. D.1",
        lede="Three flows of the same shape learn two moons: (A) by maximum likelihood, (B) with the total correlation "
        "of the latent manifolds added, (C) with the reconstruction from one latent, c, added. Entropies say how far "
        "each latent reaches, mutual information how far they move the data the same way.",
        lines=tuple(line for panel in panels for line in _panel_lines(panel, truth)),
        groups=(
            ChartGroup(
                title="Where the latents lead",
                caption="Lines of equal steps in latent c (orange) with d fixed and in d (blue) with c fixed, over "
                "samples of the data.",
                charts=[panel.chart for panel in panels],
            ),
        ),
        notes=NOTES,
        data={panel.letter: _panel_data(panel) for panel in panels} | {"true_total_entropy": truth},
        meta={
            "mode": "own" if settings else "quick" if quick else "full",
            "couplings": chosen.n_blocks,
            "width": chosen.width,
            "steps": chosen.n_steps,
            "samples": chosen.n_samples,
            "seed": seed,
            "device": device,
            "seconds": round(time.perf_counter() - started, 1),
        },
    )


def draw_moons(n_samples: int, seed: int) -> FloatArray:
    """Draw two moons, ``(n_samples, 2)``."""
    from sklearn.datasets import make_moons

    found: FloatArray = make_moons(n_samples, noise=NOISE, random_state=seed)[0]
    return found


def moons_entropy(n_samples: int = 10_000, *, seed: int = 0) -> float:
    """Return the entropy of the two moons in nats, from their density: a half circle blurred by a Gaussian, twice."""
    x = draw_moons(n_samples, seed)
    angles = np.pi * (np.arange(200) + 0.5) / 200
    upper = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    lower = np.stack((1 - np.cos(angles), 0.5 - np.sin(angles)), axis=1)
    total = np.zeros(n_samples)
    for point in np.concatenate((upper, lower)):
        total += np.exp(-0.5 * ((x - point) ** 2).sum(axis=1) / NOISE**2)
    density = total / (2 * len(angles)) / (2 * math.pi * NOISE**2)
    return float(-np.log(density).mean())


def _panel(
    letter: str,
    name: str,
    claim: str,
    objective: Any,
    settings: MoonsSettings,
    device: str,
    seed: int,
    progress: bool | None,
) -> Panel:
    import torch

    from unbraid.models.flows import spline_flow, train_flow

    data, fresh = draw_moons(settings.n_data, seed), draw_moons(5000, seed + 1)
    trained = train_flow(
        spline_flow(2, n_blocks=settings.n_blocks, n_bins=4, hidden=(settings.width,) * 2, seed=seed),
        data,
        objective=objective,
        n_steps=settings.n_steps,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        device=device,
        seed=seed,
        progress=progress,
    )
    flow = trained.flow
    with torch.no_grad():
        cross_entropy = -float(flow.log_prob(torch.as_tensor(fresh).float().to(device)).mean())
    return Panel(
        letter=letter,
        name=name,
        claim=claim,
        analysis=analyze(
            flow.decode,
            latent_dim=2,
            n_samples=settings.n_samples,
            dtype="float32",
            device=device,
            seed=seed,
            progress=progress,
        ),
        cross_entropy=cross_entropy,
        chart=plane_chart(
            _grid_curves(flow, device), fresh[:N_SHOWN], title=f"({letter}) {name}", caption=f"the paper: {claim}"
        ),
    )


def _grid_curves(flow: Flow, device: str) -> list[tuple[int, FloatArray]]:
    """Return lines along latent c (colour 1) and along latent d (colour 0), in data space."""
    import torch

    curves = []
    for colour, moving in ((1, 0), (0, 1)):
        for fixed in GRID:
            z = np.full((len(ALONG), 2), fixed)
            z[:, moving] = ALONG
            with torch.no_grad():
                points = flow.decode(torch.as_tensor(z).float().to(device)).cpu().double().numpy()
            curves.append((colour, points))
    return curves


def _panel_lines(panel: Panel, truth: float) -> list[Line]:
    c, d = panel.entropies
    return [
        Line(what=f"({panel.letter}) manifold entropy of c", ours=c, paper=panel.claim),
        Line(what=f"({panel.letter}) manifold entropy of d", ours=d, paper=panel.claim),
        Line(what=f"({panel.letter}) mutual information", ours=panel.analysis.total_correlation, paper=panel.claim),
        Line(what=f"({panel.letter}) total entropy", ours=panel.analysis.total_entropy, truth=truth),
        Line(what=f"({panel.letter}) cross-entropy of fresh data", ours=panel.cross_entropy, truth=truth),
    ]


def _panel_data(panel: Panel) -> dict[str, Any]:
    analysis = panel.analysis
    return {
        "trained": panel.name,
        "entropy_c": panel.entropies[0],
        "entropy_d": panel.entropies[1],
        "errors": analysis.latent_entropy_error.tolist(),
        "mutual_information": analysis.total_correlation,
        "mutual_information_error": analysis.total_correlation_error,
        "total_entropy": analysis.total_entropy,
    }
