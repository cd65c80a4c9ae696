"""Figure 6: how many latents a beta-VAE keeps, by beta."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least
from unbraid._base.devices import seeded
from unbraid._base.optional import require, torch_device
from unbraid.manifold import ManifoldAnalysis, analyze
from unbraid.report.charts import ChartGroup, Series, line_chart
from unbraid.reproduce.figures import FigureResult, Line

#: From here on the paper finds its models uninformative.
PUBLISHED_LIMIT = 20.0
#: The knee is the largest fall from one latent to the next, if it is at least so many nats.
LEAST_FALL = 0.5
#: Without a knee all latents are kept or none: all when the first moves the picture at least so far (root of summed
#: squares, for one deviation), a tenth of a fully inked pixel.
LEAST_MOVEMENT = 0.1
NOTES = (
    "The paper's networks are convolutional (Pythae), trained for 50 epochs on 240 000 digits of EMNIST; ours are "
    "fully connected with two hidden layers.",
    "The paper shows spectra without numbers; it says that the knee moves to fewer latents as beta grows, that the "
    "entropy of those kept grows, and that beyond a beta of about 20 nothing is left.",
    "Which beta is too large depends on the scale of the likelihood and on the digits; ours is half the summed squared "
    "error of pixels from 0 to 1.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectrumSettings:
    """How the VAEs are made, trained and measured."""

    betas: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 20.0, 30.0, 100.0)
    n_codes: int = 100
    width: int = 512
    n_steps: int = 4000
    batch_size: int = 128
    learning_rate: float = 1e-3
    n_samples: int = 200


FULL = SpectrumSettings()
QUICK = SpectrumSettings(
    betas=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    n_codes=30,
    width=128,
    n_steps=1500,
    batch_size=64,
    learning_rate=4e-3,
    n_samples=50,
)


def beta_vae_spectrum(
    data: str | Path | None = None,
    *,
    quick: bool = False,
    n_steps: int | None = None,
    device: str = "cpu",
    seed: int = 0,
    settings: SpectrumSettings | None = None,
    progress: bool | None = None,
) -> FigureResult:
    """Train beta-VAEs on digits, and find the knee in the entropies of each.

    Args:
        data: An MNIST folder in IDX format; scikit-learn's digits, drawn out to 28 by 28 pixels, if not given.
        quick: Fewer latents and betas, smaller networks, fewer steps: two minutes on a CPU.
        n_steps: Training steps of each model, instead of those of the settings.
        device: ``"cpu"`` or ``"cuda"``.
        seed: Of the networks and their training.
        settings: Instead of the quick or the full ones.
        progress: Show progress bars on standard error; by default when that is a terminal.

    Raises:
        ValueError: Bad digits, torch not installed, or no such device.
    """
    require("unbraid reproduce beta-vae-spectrum", "torch", extra="torch")
    from unbraid.data.mnist import bundled_digits, mnist_digits

    chosen = settings or (QUICK if quick else FULL)
    if n_steps is not None:
        check_at_least("n_steps", n_steps, 1)
        chosen = replace(chosen, n_steps=n_steps)
    torch_device(device)
    started = time.perf_counter()
    digits = bundled_digits() if data is None else mnist_digits(data)[0]
    x = digits.images.reshape(len(digits), -1) / 255
    spectra = {beta: _spectrum(x, beta, chosen, device, seed, progress) for beta in chosen.betas}
    return FigureResult(
        name="beta-vae-spectrum",
        title="How many latents does a beta-VAE keep?",
        where="Fig. 6, sec. 7 and App. E.2",
        lede=f"VAEs with {chosen.n_codes} latents learn handwritten digits, each with another weight beta on the "
        "divergence of its codes from the prior. The manifold entropies of their decoders fall off a cliff "
        "where the latents in use end.",
        lines=_lines(spectra),
        groups=_groups(spectra),
        notes=NOTES,
        data={f"{beta:g}": _data(found) for beta, found in spectra.items()},
        meta={
            "mode": "own" if settings else "quick" if quick else "full",
            "digits": f"{len(x):,}",
            "latents": chosen.n_codes,
            "width": chosen.width,
            "steps": chosen.n_steps,
            "samples": chosen.n_samples,
            "seed": seed,
            "device": device,
            "seconds": round(time.perf_counter() - started, 1),
        },
    )


def n_kept(sorted_entropy: FloatArray) -> int:
    """Return how many latents lie before the knee of entropies that fall from the highest.

    Example:
        >>> n_kept(np.array([2.0, 1.8, -1.0, -1.1])), n_kept(np.array([-1.0, -1.1])), n_kept(np.array([2.0, 1.8]))
        (2, 0, 2)
    """
    fall = -np.diff(sorted_entropy)
    if fall.size and fall.max() >= LEAST_FALL:
        return int(fall.argmax()) + 1
    limit = 0.5 * (1 + np.log(2 * np.pi)) + np.log(LEAST_MOVEMENT)
    return len(sorted_entropy) if sorted_entropy[0] > limit else 0


def _spectrum(
    x: FloatArray, beta: float, settings: SpectrumSettings, device: str, seed: int, progress: bool | None
) -> ManifoldAnalysis:
    import torch
    from torch import Tensor, nn
    from torch.distributions import Independent, Normal

    from unbraid.models.objectives import Loss, vae_loss
    from unbraid.reproduce.reference_vae import MlpDecoder, MlpEncoder, Schedule, train

    rows = torch.as_tensor(x).float().to(device)
    n_codes = settings.n_codes
    with seeded(seed):
        encoder = MlpEncoder(x.shape[1], n_codes, width=settings.width)
        decoder = MlpDecoder(x.shape[1], n_codes, width=settings.width)
        vae = nn.ModuleList([encoder, decoder]).to(device)
        prior = Independent(Normal(torch.zeros(n_codes, device=device), 1.0), 1)

        def loss_of_rows(chosen: Tensor) -> Loss:
            batch = rows[chosen.to(device)]
            posterior = encoder(batch)
            return vae_loss(batch, posterior, decoder(posterior.rsample()), prior, beta=beta)

        schedule = Schedule(
            n_steps=settings.n_steps, batch_size=settings.batch_size, learning_rate=settings.learning_rate
        )
        train(vae, loss_of_rows, len(rows), schedule, progress=progress)
    return analyze(
        decoder.mean,
        latent_dim=n_codes,
        n_samples=settings.n_samples,
        dtype="float32",
        device=device,
        seed=seed,
        progress=progress,
    )


def _lines(spectra: dict[float, ManifoldAnalysis]) -> tuple[Line, ...]:
    kept = {beta: n_kept(found.sorted_entropy) for beta, found in spectra.items()}
    counts = [
        Line(
            what=f"latents kept, beta {beta:g}",
            ours=str(n),
            paper="uninformative" if beta > PUBLISHED_LIMIT else "fewer as beta grows",
        )
        for beta, n in kept.items()
    ]
    means = [
        Line(
            what=f"mean entropy of those kept, beta {beta:g}",
            ours=float(spectra[beta].sorted_entropy[:n].mean()),
            paper="grows with beta",
        )
        for beta, n in kept.items()
        if n
    ]
    return (*counts, *means)


def _groups(spectra: dict[float, ManifoldAnalysis]) -> tuple[ChartGroup, ...]:
    n_latents = next(iter(spectra.values())).latent_dim
    ranks = np.arange(1, n_latents + 1, dtype=float)
    last = max(1, len(spectra) - 1)
    series = [
        Series(name=f"beta {beta:g}", x=ranks, y=found.sorted_entropy, colour=i / last)
        for i, (beta, found) in enumerate(spectra.items())
    ]
    chart = line_chart(
        series,
        title="Manifold entropy, sorted",
        caption="from small beta (blue) to large (orange)",
        x_label="latent, most important first",
        y_label="nats",
        is_ramp=True,
    )
    return (ChartGroup(title="Spectra", caption="The knee is where a line falls off.", charts=[chart]),)


def _data(found: ManifoldAnalysis) -> dict[str, Any]:
    return {
        "kept": n_kept(found.sorted_entropy),
        "sorted_entropy": found.sorted_entropy.tolist(),
        "total_correlation_per_latent": found.total_correlation_per_latent,
        "total_entropy": found.total_entropy,
    }
