"""Figure 6: the number of latents that a beta-VAE keeps, by beta."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least
from unbraid._base.devices import seeded
from unbraid._base.optional import require, torch_device
from unbraid._base.progress import Show
from unbraid.manifold import ManifoldAnalysis, analyze
from unbraid.report.charts import ChartGroup, Series, line_chart
from unbraid.reproduce.agreement import Check, Part
from unbraid.reproduce.figures import About, Device, FigureResult
from unbraid.reproduce.result import Number, Row, Table, finite, finite_tuple

#: From here on the paper finds its models uninformative.
PUBLISHED_LIMIT = 20.0
#: The knee is the largest fall from one latent to the next, if it is at least this many nats.
LEAST_FALL = 0.5
#: Without a knee all latents are kept or none: all when the first moves the picture at least this far (root of summed
#: squares, for one deviation), a tenth of a fully inked pixel.
LEAST_MOVEMENT = 0.1
NOTES = (
    "The paper's networks are convolutional (Pythae), trained for 50 epochs on 240 000 digits of EMNIST; ours are "
    "fully connected with two hidden layers.",
    "The paper shows spectra without numbers; it states that the knee moves to fewer latents as beta grows, that the "
    "entropy of those kept grows, and that beyond a beta of about 20 nothing is left.",
    "Which beta is too large depends on the scale of the likelihood and on the digits; ours is half the summed squared "
    "error of pixels from 0 to 1.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectrumSettings:
    """Architecture, training and evaluation of the VAEs.

    Attributes:
        betas: Weights of the divergence, one VAE each.
        n_codes: Latents of each VAE.
        width: Width of both hidden layers of encoder and decoder.
        n_steps: Training steps of each VAE.
        batch_size: Digits of a training step.
        learning_rate: Learning rate of Adam, at its start.
        n_samples: Latents at which the decoder is measured.
    """

    betas: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 20.0, 30.0, 100.0)
    n_codes: int = 100
    width: int = 512
    n_steps: int = 4000
    batch_size: int = 128
    learning_rate: float = 1e-3
    n_samples: int = 200

    def __post_init__(self) -> None:
        check_at_least("n_steps", self.n_steps, 1)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaSpectrum:
    """The manifold entropies of one VAE.

    Attributes:
        beta: Weight of the divergence.
        kept: Latents before the knee.
        sorted_entropy: Of each latent, highest first.
        total_correlation_per_latent: Nats.
        total_entropy: Nats.
    """

    beta: float
    kept: int
    sorted_entropy: tuple[float | None, ...]
    total_correlation_per_latent: float | None
    total_entropy: float | None

    @property
    def mean_entropy(self) -> float | None:
        """Mean entropy of the latents kept; ``None`` where none is."""
        kept = [value for value in self.sorted_entropy[: self.kept] if value is not None]
        return float(np.mean(kept)) if kept else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectrumFigure(FigureResult):
    """Figure 6, run again.

    Attributes:
        n_digits: Digits to train on.
        spectra: One for each beta, smallest first.
    """

    about: ClassVar = About(
        name="beta-vae-spectrum",
        title="How many latents does a beta-VAE keep?",
        where="Fig. 6, sec. 7 and App. E.2",
        lede="VAEs learn handwritten digits, each with another weight beta on the divergence of its codes from the "
        "prior. The manifold entropies of their decoders fall off a cliff where the latents in use end.",
    )
    settings: SpectrumSettings
    n_digits: int
    spectra: tuple[BetaSpectrum, ...]

    @property
    def notes(self) -> Sequence[str]:
        """What differs from the paper."""
        return NOTES

    def tables(self) -> Sequence[Table]:
        """Return how many latents each VAE keeps, and their mean entropy."""
        counts: list[Row] = [
            [
                f"latents kept, beta {one.beta:g}",
                Number(ours=one.kept, claim="uninformative" if one.beta > PUBLISHED_LIMIT else "fewer as beta grows"),
            ]
            for one in self.spectra
        ]
        means: list[Row] = [
            [f"mean entropy of those kept, beta {one.beta:g}", Number(ours=one.mean_entropy, claim="grows with beta")]
            for one in self.spectra
            if one.kept
        ]
        return [Table(header=["what", "ours"], rows=[*counts, *means], wrap=("what", "paper"))]

    def charts(self) -> Sequence[ChartGroup]:
        """Return the spectra of all VAEs in one chart."""
        ranks = np.arange(1, len(self.spectra[0].sorted_entropy) + 1, dtype=float)
        last = max(1, len(self.spectra) - 1)
        series = [
            Series(name=f"beta {one.beta:g}", x=ranks, y=np.array(one.sorted_entropy, dtype=float), colour=i / last)
            for i, one in enumerate(self.spectra)
        ]
        chart = line_chart(
            series,
            title="Manifold entropy, sorted",
            caption="from small beta (blue) to large (orange)",
            x_label="latent, most important first",
            y_label="nats",
            is_ramp=True,
        )
        return [ChartGroup(title="Spectra", caption="The knee is where a line falls off.", charts=[chart])]


def beta_vae_spectrum(
    data: str | Path | None = None,
    *,
    settings: SpectrumSettings = FULL,
    device: Device = "cpu",
    seed: int = 0,
    progress: Show = None,
) -> SpectrumFigure:
    """Reproduce Figure 6 of the paper on manifold entropic metrics (arXiv:2410.19426): the knee of beta-VAEs.

    VAEs with ever larger weight beta learn handwritten digits. Prints how many latents each keeps, and writes the
    spectra as a page. Needs torch.

    Args:
        data: An MNIST folder in IDX format, as for digits-flows. Without it, scikit-learn's digits, enlarged to 28 by
            28 pixels.
        settings: Architecture, training and evaluation of the VAEs.
        device: Where to train and measure: ``cpu`` or ``cuda``.
        seed: Seed of the networks and their training.
        progress: Show progress bars on standard error; by default when that is a terminal.

    Raises:
        ValueError: Bad digits, torch not installed, or no such device.
    """
    require("unbraid reproduce beta-vae-spectrum", "torch", extra="torch")
    from unbraid.data.mnist import bundled_digits, mnist_digits

    torch_device(device)
    started = time.perf_counter()
    digits = bundled_digits() if data is None else mnist_digits(data)[0]
    x = digits.images.reshape(len(digits), -1) / 255
    spectra = {beta: _spectrum(x, beta, settings, device, seed, progress) for beta in settings.betas}
    return SpectrumFigure(
        settings=settings,
        seed=seed,
        device=device,
        seconds=round(time.perf_counter() - started, 1),
        n_digits=len(x),
        spectra=tuple(
            BetaSpectrum(
                beta=beta,
                kept=n_kept(found.sorted_entropy),
                sorted_entropy=finite_tuple(found.sorted_entropy),
                total_correlation_per_latent=finite(found.total_correlation_per_latent),
                total_entropy=finite(found.total_entropy),
            )
            for beta, found in spectra.items()
        ),
    )


REASON = (
    "At the largest beta that keeps any latent, the one latent that is left hardly changes the picture; the paper does "
    "not say which latents it counts as kept."
)


def spectrum_checks(result: SpectrumFigure) -> Sequence[Part]:
    """Compare the position of the knee of beta-VAEs with the statements of the paper."""
    kept = [one.kept for one in result.spectra]
    means = [one.mean_entropy for one in result.spectra if one.mean_entropy is not None]
    large = [one.kept for one in result.spectra if one.beta > PUBLISHED_LIMIT]
    checks = [
        Check(
            what="times more latents are kept at the next beta",
            ours=_rises(kept),
            claim="fewer as beta grows",
            at_most=0,
        ),
        Check(
            what="times the entropy of those kept is lower at the next beta",
            ours=_rises([-mean for mean in means]),
            claim="grows with beta",
            at_most=0,
        ),
        Check(
            what="latents kept at the smallest beta less those at the largest",
            ours=kept[0] - kept[-1],
            claim="the knee moves",
            at_least=1,
        ),
    ]
    if large:
        checks.append(
            Check(what=f"latents kept at a beta over {PUBLISHED_LIMIT:g}", ours=max(large), claim="none", at_most=0)
        )
    return [Part(where="Fig. 6", checks=checks, reason=REASON)]


def _rises(values: Sequence[float]) -> int:
    return sum(later > earlier for earlier, later in pairwise(values))


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
    x: FloatArray, beta: float, settings: SpectrumSettings, device: str, seed: int, progress: Show
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
