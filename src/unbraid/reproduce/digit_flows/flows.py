"""Four kinds of flow of handwritten digits: how they are made, trained, measured and kept."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.files import write_atomically
from unbraid._base.progress import Show
from unbraid.manifold import ClassAnalysis, GaussianMixture, analyze, analyze_classes
from unbraid.reproduce.digit_flows.pictures import write_pictures
from unbraid.reproduce.result import Number, finite, finite_tuple

if TYPE_CHECKING:
    from unbraid.models.flows import Flow

FlowName = Literal["GLOW-like", "GIN", "cINN", "wavelet"]
FLOWS = get_args(FlowName)
N_CLASSES = 10
#: Nats per latent, sec. 7 of the paper, for pictures with sides of so many pixels.
PUBLISHED: dict[FlowName, float] = {"GLOW-like": 1.9, "wavelet": 0.5}
PUBLISHED_SIDE = 28
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
        n_copies: Copies of each digit to learn from in its place, slightly turned, stretched and shifted; 0 to learn
            from the digits as they are.
        keep_best: End in the state that has the highest likelihood of held-out digits, of those looked at.
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
    n_copies: int = 0
    keep_best: bool = False

    def __post_init__(self) -> None:
        check_at_least("n_steps", self.n_steps, 1)
        check_at_least("n_copies", self.n_copies, 0)


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
        best_step: The step whose state was kept, where the best was.
        deviations: Of each latent of GIN, the mean over the classes of its prior; empty for other flows.
    """

    name: FlowName
    total_correlation: Number
    latent_entropy: tuple[float | None, ...]
    mean_pairwise_mutual_information: float | None
    held_out_nats_per_pixel: float | None
    training_seconds: float
    best_step: int | None = None
    deviations: tuple[float | None, ...] = ()

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


def parted(n_digits: int, seed: int) -> tuple[IntArray, IntArray]:
    """Return the numbers of digits to learn from, and of those held out."""
    order = np.random.default_rng(seed).permutation(n_digits)
    cut = round((1 - HELD_OUT) * n_digits)
    return order[:cut], order[cut:]


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
    """Digits and settings of all flows, and where they are trained and kept.

    Attributes:
        train: Digits to learn from, flat, and their labels.
        test: Digits held out, and their labels.
        noise: Standard deviation of the noise added to the pixels.
        settings: Of the flows.
        device: Where to train.
        seed: Of the flows and their training.
        store: Folder of checkpoints and numbers; ``None`` to keep none.
        recorded: Record training steps as CUDA graphs.
    """

    train: tuple[FloatArray, IntArray]
    test: tuple[FloatArray, IntArray]
    noise: float
    settings: DigitsSettings
    device: str
    seed: int
    store: Path | None
    recorded: bool

    def kept_or_measured(self, name: FlowName, flow: Flow, progress: Show) -> MeasuredFlow:
        """Train and measure a flow, or read what an earlier run kept of it."""
        if self.store is None:
            return self._measured(name, flow, None, progress)
        # Settings are part of the name, so that those of another run are not taken for these.
        about = f"{self.settings} {self.noise} {self.seed} {len(self.train[0])}"
        folder = self.store / f"{name}-{hashlib.sha256(about.encode()).hexdigest()[:8]}"
        path = folder / "measured.npz"
        if path.exists():
            with np.load(path) as kept:
                return MeasuredFlow.from_arrays(kept)
        found = self._measured(name, flow, folder, progress)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda file: file.write(found.as_npz()))
        return found

    def _measured(self, name: FlowName, flow: Flow, folder: Path | None, progress: Show) -> MeasuredFlow:
        from unbraid.models.flows import ClassMixture, train_flow

        settings = self.settings
        best: dict[str, Any] = {"held_out": self.test[0], "held_out_labels": self.test[1]} if settings.keep_best else {}
        trained = train_flow(
            flow,
            self.train[0],
            labels=self.train[1],
            n_steps=settings.n_steps,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            noise=self.noise,
            out=folder,
            recorded=self.recorded,
            device=self.device,
            seed=self.seed,
            progress=progress,
            **best,
        )
        # Determinants of hundreds of columns need double precision.
        flow = trained.flow.double()
        prior = flow.prior
        found = measured_classes(flow, settings.n_samples, self.device, self.seed, progress)
        if folder is not None and len(found.names) > 1:
            folder.mkdir(parents=True, exist_ok=True)
            write_pictures(folder, class_decoders_of(flow), found, prior=mixture_of(flow), device=self.device)
        total_correlation = float(np.mean([one.total_correlation_per_latent for one in found.analyses]))
        deviations = prior.deviations.mean(dim=0).detach().cpu().numpy() if isinstance(prior, ClassMixture) else None
        return MeasuredFlow(
            flow=DigitsFlow(
                name=name,
                total_correlation=Number(ours=total_correlation, paper=PUBLISHED.get(name)),
                latent_entropy=finite_tuple(found.latent_entropy),
                deviations=() if deviations is None else finite_tuple(deviations),
                mean_pairwise_mutual_information=finite(float(np.nanmean(found.pairwise_mutual_information))),
                held_out_nats_per_pixel=finite(self._held_out_nats(flow)),
                training_seconds=round(trained.seconds, 1),
                best_step=trained.best_step,
            ),
            latent_entropy=found.latent_entropy,
            pairwise=found.pairwise_mutual_information,
            deviations=deviations,
        )

    def _held_out_nats(self, flow: Flow) -> float:
        """Return minus the mean log-density of held-out digits, per pixel."""
        import torch

        x, y = self.test
        generator = torch.Generator().manual_seed(self.seed)
        noisy = torch.as_tensor(x) + self.noise * torch.randn(x.shape, generator=generator).double()
        with torch.no_grad():
            return -float(flow.log_prob(noisy.to(self.device), torch.as_tensor(y).to(self.device)).mean()) / flow.size


def measured_classes(flow: Flow, n_samples: int, device: str, seed: int, progress: Show) -> ClassAnalysis:
    """Measure a flow at each class, or a flow without classes as one."""
    from unbraid.models.flows import ClassMixture

    options: dict[str, Any] = {
        "latent_dim": flow.size,
        "dtype": "float64",
        "device": device,
        "seed": seed,
        "progress": progress,
        "memory": "2GiB" if device == "cpu" else "16GiB",
    }
    each = max(2, n_samples // N_CLASSES)
    if flow.n_classes:
        return analyze_classes(class_decoders_of(flow), n_samples=each, **options)
    if isinstance(flow.prior, ClassMixture):
        return analyze_classes(class_decoders_of(flow), n_samples=each, prior=mixture_of(flow), **options)
    whole = analyze(flow.decode, n_samples=n_samples, log_abs_det=flow.log_determinant, **options)
    return ClassAnalysis(names=("all",), shares=np.ones(1), analyses=(whole,))


def class_decoders_of(flow: Flow) -> list[Any]:
    """Return a decoder for each class: at the class where networks see it, from standard normal noise; else the same.

    Networks of a cINN see the class, and those of a GIN as counted in the paper. The classes of any other GIN are in
    its prior alone, which :func:`mixture_of` returns.
    """
    if flow.n_classes:
        return [flow.decoder(label) for label in range(flow.n_classes)]
    return [flow.decode] * N_CLASSES


def mixture_of(flow: Flow) -> GaussianMixture | None:
    """Return the prior of the decoders of classes: the mixture of a GIN, or ``None`` for a standard normal.

    Decoders at a class stretch noise by the deviations of the class themselves, which must not be done twice.
    """
    from unbraid.models.flows import ClassMixture

    if flow.n_classes or not isinstance(flow.prior, ClassMixture):
        return None
    return GaussianMixture(*(part.detach().cpu().numpy() for part in (flow.prior.means, flow.prior.deviations)))
