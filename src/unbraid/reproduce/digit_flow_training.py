"""Flows of handwritten digits: architecture, training, measurement, and the numbers that are kept of each flow."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid._base.files import write_atomically
from unbraid._base.progress import Show
from unbraid.manifold import GaussianMixture, analyze
from unbraid.reproduce.result import Number, finite, finite_tuple

if TYPE_CHECKING:
    from unbraid.models.flows import Flow

FlowName = Literal["GLOW-like", "GIN", "cINN", "wavelet"]
FLOWS = get_args(FlowName)
N_CLASSES = 10
#: Nats per latent, sec. 7 of the paper, for pictures with sides of so many pixels.
PUBLISHED: dict[FlowName, float] = {"GLOW-like": 1.9, "wavelet": 0.5}
PUBLISHED_SIDE = 28
#: Share of the digits that no flow learns from.
HELD_OUT = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitsSettings:
    """Architecture, training and evaluation of the four flows; widths and numbers of blocks as in Tables E.1 and E.2.

    Attributes:
        n_blocks: Couplings at each scale, and fully connected ones, of all flows but the wavelet flow.
        wavelet_blocks: Couplings of the wavelet flow.
        channels: Channels of the networks at each scale.
        width: Width of the fully connected networks.
        as_counted: Build blocks with as many learned numbers as the paper prints for cINN and GIN, most of which
            transform both halves; otherwise each transforms one half.
        n_steps: Training steps of each flow.
        batch_size: Digits of a training step.
        learning_rate: Learning rate of Adam.
        noise: Standard deviation of the noise added to MNIST's pixels; scikit-learn's get 0.1.
        n_samples: Latents at which the decoder is measured.
    """

    n_blocks: tuple[int, int] = (6, 8)
    wavelet_blocks: tuple[int, int] = (6, 4)
    channels: tuple[int, int] = (16, 64)
    width: int = 201
    as_counted: bool = True
    n_steps: int = 3000
    batch_size: int = 512
    learning_rate: float = 5e-4
    noise: float = 0.01
    n_samples: int = 200

    def __post_init__(self) -> None:
        check_at_least("n_steps", self.n_steps, 1)


FULL = DigitsSettings()
#: The small digits have 17 levels of grey, which noise of this standard deviation makes continuous.
SMALL_NOISE = 0.1
QUICK = DigitsSettings(
    n_blocks=(2, 3),
    wavelet_blocks=(2, 2),
    channels=(8, 16),
    width=64,
    as_counted=False,
    n_steps=250,
    batch_size=128,
    learning_rate=2e-3,
    n_samples=60,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitsFlow:
    """One trained flow, measured.

    Attributes:
        name: Which flow.
        total_correlation: Nats per latent.
        latent_entropy: Manifold entropy of each latent, in the flow's own order.
        mean_pairwise_mutual_information: Mean over pairs of latents.
        held_out_nats_per_pixel: Minus the mean log-density of held-out digits, per pixel.
        training_seconds: Of training.
    """

    name: FlowName
    total_correlation: Number
    latent_entropy: tuple[float | None, ...]
    mean_pairwise_mutual_information: float | None
    held_out_nats_per_pixel: float | None
    training_seconds: float

    @property
    def label(self) -> str:
        """The name of the total correlation in tables."""
        return f"total correlation, nats per latent, {self.name}"


def read_digits(data: str | Path | None) -> tuple[FloatArray, IntArray]:
    """Return pictures from 0 to 1, ``(n, side, side)``, and labels: of an MNIST folder, or scikit-learn's."""
    if data is None:
        from sklearn.datasets import load_digits

        small, labels = load_digits(return_X_y=True)
        return small.reshape(-1, 8, 8) / 16, labels.astype(np.intp)
    from unbraid.data.mnist import mnist_digits

    digits = [part for part in mnist_digits(data) if part is not None]
    return (np.concatenate([part.images for part in digits]) / 255, np.concatenate([part.labels for part in digits]))


def normalised(images: FloatArray) -> FloatArray:
    """Return flat pictures less their mean, divided by one number: the deviation of all pixels."""
    flat = images.reshape(len(images), -1)
    centred = flat - flat.mean(axis=0)
    scaled: FloatArray = centred / centred.std()
    return scaled


def make_flows(side: int, settings: DigitsSettings, seed: int) -> dict[FlowName, Flow]:
    """Return the four flows, by name."""
    from unbraid.models.flows import gin_flow, glow_flow, wavelet_flow

    shape: dict[str, Any] = {"channels": settings.channels, "width": settings.width, "seed": seed}
    blocks = shape | {"as_counted": settings.as_counted}
    return {
        "GLOW-like": glow_flow(side, n_blocks=settings.n_blocks, **blocks),
        "GIN": gin_flow(side, N_CLASSES, n_blocks=settings.n_blocks, **blocks),
        "cINN": glow_flow(side, n_blocks=settings.n_blocks, n_classes=N_CLASSES, **blocks),
        "wavelet": wavelet_flow(side, n_blocks=settings.wavelet_blocks, **shape),
    }


def check_flows(flows: Iterable[str]) -> set[str]:
    """Return the names of flows, each of which must be known, and at least one."""
    found = set(flows)
    for name in found:
        check_choice("flows", name, FLOWS)
    if not found:
        raise ValueError("flows must name at least one flow, got none.")
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredFlow:
    """A measured flow, with arrays for the figure and for comparisons between flows.

    Attributes:
        flow: Numbers that are kept.
        latent_entropy: Of each latent, in its own order.
        pairwise: Mutual information of every two latents; NaN on the diagonal.
        deviations: Mean deviation of each latent over the classes of a mixture; ``None`` for a standard normal.
    """

    flow: DigitsFlow
    latent_entropy: FloatArray
    pairwise: FloatArray
    deviations: FloatArray | None

    def as_npz(self) -> bytes:
        """Return everything as the bytes of an ``.npz`` file; the matrix, which is symmetric, as its upper half."""
        upper = self.pairwise[np.triu_indices(len(self.pairwise))].astype(np.float32)
        deviations = np.zeros(0) if self.deviations is None else self.deviations
        held = io.BytesIO()
        np.savez_compressed(
            held,
            flow=np.frombuffer(msgspec.json.encode(self.flow), dtype=np.uint8),
            latent_entropy=self.latent_entropy,
            upper=upper,
            deviations=deviations,
        )
        return held.getvalue()

    @classmethod
    def from_arrays(cls, kept: Mapping[str, Any]) -> MeasuredFlow:
        """Read back what :meth:`as_npz` wrote."""
        entropy, deviations = kept["latent_entropy"], kept["deviations"]
        pairwise = np.zeros((len(entropy), len(entropy)))
        pairwise[np.triu_indices(len(entropy))] = kept["upper"]
        return cls(
            flow=msgspec.json.decode(kept["flow"].tobytes(), type=DigitsFlow),
            latent_entropy=entropy,
            pairwise=np.triu(pairwise) + np.triu(pairwise, 1).T,
            deviations=deviations if len(deviations) else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowTraining:
    """Training and measurement of several flows on the same digits.

    Attributes:
        settings: Architecture, training and evaluation of the flows.
        train: Pictures and labels to learn from.
        test: Pictures and labels that are held out.
        noise: Standard deviation of the noise added to the pixels.
        device: Where to train and measure: ``cpu`` or ``cuda``.
        seed: Of the flows, their training and their measurement.
        store: Folder for checkpoints and numbers, by flow and settings; ``None`` to keep none.
        progress: Show progress bars.
    """

    settings: DigitsSettings
    train: tuple[FloatArray, IntArray]
    test: tuple[FloatArray, IntArray]
    noise: float
    device: str
    seed: int
    store: Path | None
    progress: Show

    def measured(self, name: FlowName, flow: Flow) -> MeasuredFlow:
        """Train and measure a flow, or read the numbers that an earlier run kept of it."""
        if self.store is None:
            return self._train_and_measure(name, flow, None)
        # Settings are part of the name, so that numbers of other settings are not taken for these.
        told = f"{self.settings} {self.noise} {self.seed} {len(self.train[0])}"
        folder = self.store / f"{name}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"
        path = folder / "measured.npz"
        if path.exists():
            with np.load(path) as kept:
                return MeasuredFlow.from_arrays(kept)
        found = self._train_and_measure(name, flow, folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda file: file.write(found.as_npz()))
        return found

    def _train_and_measure(self, name: FlowName, flow: Flow, folder: Path | None) -> MeasuredFlow:
        import torch

        from unbraid.models.flows import ClassMixture, train_flow

        trained = train_flow(
            flow,
            self.train[0],
            labels=self.train[1],
            n_steps=self.settings.n_steps,
            batch_size=self.settings.batch_size,
            learning_rate=self.settings.learning_rate,
            noise=self.noise,
            out=folder,
            device=self.device,
            seed=self.seed,
            progress=self.progress,
        )
        # Determinants of hundreds of columns need double precision.
        flow = trained.flow.double()
        generator = torch.Generator().manual_seed(self.seed)
        with torch.no_grad():
            pictures, labels = (torch.as_tensor(part) for part in self.test)
            noisy = pictures + self.noise * torch.randn(pictures.shape, generator=generator).double()
            held_out = -float(flow.log_prob(noisy.to(self.device), labels.to(self.device)).mean()) / flow.size
        prior = flow.prior
        entropy, pairwise, total_correlation = _measure(
            flow, self.settings.n_samples, self.device, self.seed, self.progress
        )
        return MeasuredFlow(
            flow=DigitsFlow(
                name=name,
                total_correlation=Number(ours=total_correlation, paper=PUBLISHED.get(name)),
                latent_entropy=finite_tuple(entropy),
                mean_pairwise_mutual_information=finite(float(np.nanmean(pairwise))),
                held_out_nats_per_pixel=finite(held_out),
                training_seconds=round(trained.seconds, 1),
            ),
            latent_entropy=entropy,
            pairwise=pairwise,
            deviations=prior.deviations.mean(dim=0).detach().cpu().numpy() if isinstance(prior, ClassMixture) else None,
        )


def _measure(
    flow: Flow, n_samples: int, device: str, seed: int, progress: Show
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
    if flow.n_classes:
        each = max(2, n_samples // flow.n_classes)
        found = [analyze(flow.decoder(label), n_samples=each, **options) for label in range(flow.n_classes)]
    elif isinstance(flow.prior, ClassMixture):
        means, deviations = (part.detach().cpu().numpy() for part in (flow.prior.means, flow.prior.deviations))
        mixture = GaussianMixture(means, deviations)
        found = [analyze(flow.decode, n_samples=n_samples, prior=mixture, **options)]
    else:
        found = [analyze(flow.decode, n_samples=n_samples, log_abs_det=flow.log_determinant, **options)]
    return (
        np.mean([one.latent_entropy for one in found], axis=0),
        np.mean([one.pairwise_mutual_information for one in found], axis=0),
        float(np.mean([one.total_correlation_per_latent for one in found])),
    )
