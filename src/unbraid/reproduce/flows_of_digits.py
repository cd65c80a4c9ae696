"""Figures 4 and 5 and E.2: what four kinds of flow make of handwritten digits."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.optional import require
from unbraid.manifold import GaussianMixture, analyze
from unbraid.report.charts import ChartGroup, Series, line_chart, matrix_chart
from unbraid.reproduce.figures import FigureResult, Line

if TYPE_CHECKING:
    from unbraid.models.flows import Flow

N_CLASSES = 10
#: Nats per latent, sec. 7 of the paper.
PUBLISHED = {"GLOW-like": 1.9, "wavelet": 0.5}
HELD_OUT = 0.1
NOTES = (
    "The paper trains on 240 000 digits of EMNIST for 1000 epochs of 235 steps; here there are fewer digits and far "
    "fewer steps, so compare the order of the flows and the shapes of the spectra rather than the numbers.",
    "Pixels are centred and divided by one number, and Gaussian noise is added to every batch.",
    "The cINN is measured at every digit, and the numbers averaged; columns of GIN are stretched by the deviations of "
    "the digit a sample belongs to (App. E.1.3).",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitsSettings:
    """How the four flows are made, trained and measured; networks as in Tables E.1 and E.2 unless quick."""

    n_blocks: tuple[int, int] = (6, 8)
    wavelet_blocks: tuple[int, int] = (6, 4)
    channels: tuple[int, int] = (16, 64)
    width: int = 201
    n_steps: int = 3000
    batch_size: int = 512
    learning_rate: float = 5e-4
    noise: float = 0.01
    n_samples: int = 200


FULL = DigitsSettings()
#: The small digits have 17 levels of grey, which so much noise makes continuous.
SMALL_NOISE = 0.1
QUICK = DigitsSettings(
    n_blocks=(2, 3),
    wavelet_blocks=(2, 2),
    channels=(8, 16),
    width=64,
    n_steps=250,
    batch_size=128,
    learning_rate=2e-3,
    n_samples=60,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowResult:
    """One trained flow, measured.

    Attributes:
        name: Which flow.
        latent_entropy: Of each latent, in its own order.
        pairwise: Mutual information of every two latents; NaN on the diagonal.
        total_correlation: Nats per latent.
        held_out: Nats per pixel of held-out digits: minus their mean log-density.
        deviations: Mean deviation of each latent over the classes of a mixture; ``None`` for a standard normal.
        seconds: Of training.
    """

    name: str
    latent_entropy: FloatArray
    pairwise: FloatArray
    total_correlation: float
    held_out: float
    deviations: FloatArray | None
    seconds: float


def digits_flows(
    data: str | Path | None = None,
    *,
    quick: bool = False,
    n_steps: int | None = None,
    device: str = "cpu",
    seed: int = 0,
    settings: DigitsSettings | None = None,
    progress: bool | None = None,
) -> FigureResult:
    """Train a GLOW-like flow, GIN, a cINN and a wavelet flow on digits, and measure their latents.

    Args:
        data: An MNIST folder in IDX format; scikit-learn's 8 by 8 digits if not given.
        quick: Smaller networks, fewer steps: two minutes on a CPU for the small digits.
        n_steps: Training steps of each model, instead of those of the settings.
        device: ``"cpu"`` or ``"cuda"``.
        seed: Of the held-out digits, the flows and their training.
        settings: Instead of the quick or the full ones.
        progress: Show progress bars on standard error; by default when that is a terminal.

    Raises:
        ValueError: Bad digits, torch or zuko not installed, or no such device.
    """
    require("unbraid reproduce digits-flows", "torch", "zuko", extra="train")
    chosen = settings or (QUICK if quick else FULL)
    if n_steps is not None:
        check_at_least("n_steps", n_steps, 1)
        chosen = replace(chosen, n_steps=n_steps)
    noise = SMALL_NOISE if data is None else chosen.noise
    started = time.perf_counter()
    images, labels = read_digits(data)
    side = images.shape[1]
    x = normalised(images)
    order = np.random.default_rng(seed).permutation(len(x))
    cut = round((1 - HELD_OUT) * len(x))
    learned, judged = ((x[rows], labels[rows]) for rows in (order[:cut], order[cut:]))
    results = [
        _train_and_measure(name, flow, learned, judged, noise, chosen, device, seed, progress)
        for name, flow in make_flows(side, chosen, seed).items()
    ]
    return FigureResult(
        name="digits-flows",
        title="What four kinds of flow make of digits",
        where="Figs. 4 and 5, sec. 7 and App. E.1",
        lede="Four flows learn handwritten digits by maximum likelihood: one like GLOW, GIN (which keeps volumes and "
        "has one Gaussian for each digit), a cINN (which is told the digit) and one that splits off detail by Haar "
        "wavelets. Their decoders' Jacobians say which latents matter, and which move the picture the same way.",
        lines=_lines(results, side),
        groups=_groups(results),
        notes=NOTES if data is not None else (*NOTES, SMALL_DIGITS),
        data={result.name: _result_data(result) for result in results},
        meta={
            "mode": "own" if settings else "quick" if quick else "full",
            "digits": f"{len(x):,}",
            "pixels": f"{side} by {side}",
            "steps": chosen.n_steps,
            "batch": chosen.batch_size,
            "noise": noise,
            "samples": chosen.n_samples,
            "seed": seed,
            "device": device,
            "seconds": round(time.perf_counter() - started, 1),
        },
    )


SMALL_DIGITS = "These are scikit-learn's digits of 8 by 8 pixels; give an MNIST folder with data (--data)."


def read_digits(data: str | Path | None) -> tuple[FloatArray, IntArray]:
    """Return pictures from 0 to 1, ``(n, side, side)``, and labels: of an MNIST folder, or scikit-learn's."""
    if data is None:
        from sklearn.datasets import load_digits

        small, labels = load_digits(return_X_y=True)
        return small.reshape(-1, 8, 8) / 16, labels.astype(np.intp)
    from unbraid.data.mnist import mnist_digits

    digits = [part for part in mnist_digits(data) if part is not None]
    return (
        np.concatenate([part.images for part in digits]) / 255,
        np.concatenate([part.labels for part in digits]),
    )


def normalised(images: FloatArray) -> FloatArray:
    """Return flat pictures less their mean, divided by one number: the deviation of all pixels."""
    flat = images.reshape(len(images), -1)
    centred = flat - flat.mean(axis=0)
    scaled: FloatArray = centred / centred.std()
    return scaled


def make_flows(side: int, settings: DigitsSettings, seed: int) -> dict[str, Flow]:
    """Return the four flows, by name."""
    from unbraid.models.flows import gin_flow, glow_flow, wavelet_flow

    shape: dict[str, Any] = {"channels": settings.channels, "width": settings.width, "seed": seed}
    return {
        "GLOW-like": glow_flow(side, n_blocks=settings.n_blocks, **shape),
        "GIN": gin_flow(side, N_CLASSES, n_blocks=settings.n_blocks, **shape),
        "cINN": glow_flow(side, n_blocks=settings.n_blocks, n_classes=N_CLASSES, **shape),
        "wavelet": wavelet_flow(side, n_blocks=settings.wavelet_blocks, **shape),
    }


def _train_and_measure(
    name: str,
    flow: Flow,
    learned: tuple[FloatArray, IntArray],
    judged: tuple[FloatArray, IntArray],
    noise: float,
    settings: DigitsSettings,
    device: str,
    seed: int,
    progress: bool | None,
) -> FlowResult:
    import torch

    from unbraid.models.flows import ClassMixture, train_flow

    trained = train_flow(
        flow,
        learned[0],
        labels=learned[1],
        n_steps=settings.n_steps,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        noise=noise,
        device=device,
        seed=seed,
        progress=progress,
    )
    # Determinants of hundreds of columns are not for single precision.
    flow = trained.flow.double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        noisy = torch.as_tensor(judged[0]) + noise * torch.randn(judged[0].shape, generator=generator).double()
        labels = torch.as_tensor(judged[1]).to(device)
        held_out = -float(flow.log_prob(noisy.to(device), labels).mean()) / flow.size
    prior = flow.prior
    measured = _measure(flow, settings.n_samples, device, seed, progress)
    return FlowResult(
        name=name,
        latent_entropy=measured[0],
        pairwise=measured[1],
        total_correlation=measured[2],
        held_out=held_out,
        deviations=prior.deviations.mean(dim=0).detach().cpu().numpy() if isinstance(prior, ClassMixture) else None,
        seconds=trained.seconds,
    )


def _measure(
    flow: Flow, n_samples: int, device: str, seed: int, progress: bool | None
) -> tuple[FloatArray, FloatArray, float]:
    """Return entropies, pairwise mutual information and total correlation per latent; over classes, their mean."""
    from unbraid.models.flows import ClassMixture

    options: dict[str, Any] = {
        "latent_dim": flow.size,
        "dtype": "float64",
        "device": device,
        "seed": seed,
        "progress": progress,
        "memory": "2GiB" if device == "cpu" else "16GiB",
    }
    if isinstance(flow.prior, ClassMixture):
        means, deviations = (part.detach().cpu().numpy() for part in (flow.prior.means, flow.prior.deviations))
        mixture = GaussianMixture(means, deviations)
        found = [analyze(flow.decode, n_samples=n_samples, prior=mixture, **options)]
    elif flow.n_classes:
        each = max(2, n_samples // flow.n_classes)
        found = [analyze(flow.decoder(label), n_samples=each, **options) for label in range(flow.n_classes)]
    else:
        found = [analyze(flow.decode, n_samples=n_samples, log_abs_det=flow.log_determinant, **options)]
    return (
        np.mean([one.latent_entropy for one in found], axis=0),
        np.mean([one.pairwise_mutual_information for one in found], axis=0),
        float(np.mean([one.total_correlation_per_latent for one in found])),
    )


def _lines(results: list[FlowResult], side: int) -> tuple[Line, ...]:
    by_name = {result.name: result for result in results}
    correlation = [
        Line(
            what=f"total correlation, nats per latent, {result.name}",
            ours=result.total_correlation,
            paper=PUBLISHED.get(result.name, ""),
        )
        for result in results
    ]
    fit = [Line(what=f"held-out nats per pixel, {result.name}", ours=result.held_out) for result in results]
    gin, cinn, wavelet = by_name["GIN"], by_name["cINN"], by_name["wavelet"]
    assert gin.deviations is not None
    gaps = np.abs(np.sort(gin.latent_entropy) - np.sort(cinn.latent_entropy))
    gap = float(gaps[np.isfinite(gaps)].mean())
    return (
        *correlation,
        *_wavelet_lines(wavelet, side),
        Line(what="sorted spectra, GIN less cINN, mean gap in nats", ours=gap, paper="comparable"),
        Line(
            what="rank correlation of GIN's deviations and entropies",
            ours=rank_correlation(gin.deviations, gin.latent_entropy),
            paper="only weakly correlated",
        ),
        *fit,
    )


def _wavelet_lines(wavelet: FlowResult, side: int) -> list[Line]:
    edges = [0, (side // 4) ** 2, (side // 2) ** 2, side**2]
    lines = []
    for name, start, stop in zip("CMD", edges[:-1], edges[1:], strict=True):
        inside = wavelet.pairwise[start:stop, start:stop]
        claim = "most of the information" if name == "C" else "significantly lower"
        entropies = wavelet.latent_entropy[start:stop]
        entropy = float(entropies[np.isfinite(entropies)].mean())
        lines.append(
            Line(what=f"wavelet, mean entropy in set {name} ({stop - start} latents)", ours=entropy, paper=claim)
        )
        shared = float(np.nanmean(inside))
        claim = "more pronounced" if name == "C" else "less pronounced"
        lines.append(Line(what=f"wavelet, mean mutual information in set {name}", ours=shared, paper=claim))
    return lines


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Return Spearman's correlation of two arrays without ties."""
    first, second = (np.argsort(np.argsort(values)).astype(float) for values in (a, b))
    return float(np.corrcoef(first, second)[0, 1])


def _groups(results: list[FlowResult]) -> tuple[ChartGroup, ...]:
    n_latents = len(results[0].latent_entropy)
    ranks = np.arange(1, n_latents + 1, dtype=float)
    series = [
        Series(name=result.name, x=ranks, y=np.sort(result.latent_entropy)[::-1], colour=i)
        for i, result in enumerate(results)
    ]
    unsorted = [
        Series(name=f"{result.name}, own order", x=ranks, y=result.latent_entropy, mark="faint", colour=i)
        for i, result in enumerate(results)
        if result.name in PUBLISHED
    ]
    spectra = line_chart(
        [*unsorted, *series],
        title="Manifold entropy",
        caption="",
        x_label="latent",
        y_label="nats",
        log_x=True,
    )
    top = float(np.nanpercentile(np.concatenate([result.pairwise.ravel() for result in results]), 99))
    matrices = [
        matrix_chart(
            result.pairwise,
            title=result.name,
            caption=f"{result.total_correlation:.2f} nats per latent in all",
            top=top,
        )
        for result in results
    ]
    return (
        ChartGroup(
            title="Spectra",
            caption="Sorted from the most to the least important latent; faint lines have the latents in the flow's "
            "own order, which for wavelets is from coarse to fine.",
            charts=[spectra],
        ),
        ChartGroup(
            title="Mutual information of every two latents",
            caption="Latents in the flow's own order; large matrices are shown as means of blocks. Same shades in all.",
            charts=matrices,
        ),
    )


def _result_data(result: FlowResult) -> dict[str, Any]:
    return {
        "latent_entropy": result.latent_entropy.tolist(),
        "total_correlation_per_latent": result.total_correlation,
        "mean_pairwise_mutual_information": float(np.nanmean(result.pairwise)),
        "held_out_nats_per_pixel": result.held_out,
        "training_seconds": round(result.seconds, 1),
    }
