"""A plain VAE and its training loop, used by two reproductions.

The beta-VAEs of ``vae_spectrum`` and the VAE of ``coloured_vae`` are trained here in epochs, with a learning rate that
falls to zero along half a cosine. The ensembles of :mod:`unbraid.models` are trained otherwise: rows are drawn with
replacement at a constant learning rate, so that a run can be lengthened later. With the ensembles' training (which also
has other initial weights, and ReLU in place of SiLU) the spectrum of the VAE with beta 3 had no knee on MNIST, and it
is not known which of the differences is the cause. The VAE of coloured digits was not tried with it. This second loop
stays until the cause is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Bernoulli, Distribution, Independent, Normal

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.devices import seeded
from unbraid._base.optional import torch_device
from unbraid._base.progress import Show, track
from unbraid.models.objectives import Loss, factor_prior, vae_loss

REPORT_EVERY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Length of training, batch size and learning rate.

    Attributes:
        n_steps: Batches to learn from.
        batch_size: Rows of each; rows are dealt out in a new order every time all have been seen.
        learning_rate: Of Adam, at its start; it falls to nothing along half a cosine.
    """

    n_steps: int = 2000
    batch_size: int = 128
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        check_at_least("n_steps", self.n_steps, 1)
        check_at_least("batch_size", self.batch_size, 1)


def train(
    model: nn.Module,
    loss_of_rows: Callable[[Tensor], Loss],
    n_rows: int,
    schedule: Schedule,
    *,
    progress: Show = None,
) -> list[Loss]:
    """Train a model with Adam, in place.

    Chance (order of rows, noise of the codes) comes from torch's generator; wrap the call, and the making of the
    model, in :func:`seeded` to have the same result every time on a CPU.

    Args:
        model: Whose parameters are learned.
        loss_of_rows: Loss of the rows with these numbers.
        n_rows: Rows there are.
        schedule: Length of training.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Returns:
        The loss of every step, without gradients.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate)
    slowing = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, schedule.n_steps)
    history: list[Loss] = []
    rows = torch.empty(0, dtype=torch.int64)
    model.train()
    with track(schedule.n_steps, progress, doing="training") as bar:
        for step in range(schedule.n_steps):
            if not len(rows):
                rows = torch.randperm(n_rows)
            batch, rows = rows[: schedule.batch_size], rows[schedule.batch_size :]
            loss = loss_of_rows(batch)
            optimizer.zero_grad()
            loss.total.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            slowing.step()
            history.append(Loss(*(part.detach() for part in loss)))
            bar.advance()
            if step % REPORT_EVERY == 0:
                bar.tell(f"loss {loss.total:.1f} = {loss.distortion:.1f} + {loss.rate:.1f}")
    model.eval()
    return history


#: Two convolutions halve the picture each, so that its sides must be multiples of this.
SIDE_UNIT = 4


class GaussianEncoder(nn.Module):
    r"""Builds the posterior :math:`q(z \mid x)`: independent Gaussians whose mean and deviation depend on the picture.

    Args:
        shape: Channels, height and width of a picture; the sides must be multiples of 4.
        n_codes: Dimensions of :math:`z`.
        width: Channels of the first convolution; everything inside grows with it.
    """

    def __init__(self, shape: tuple[int, int, int], n_codes: int, *, width: int = 32) -> None:
        super().__init__()
        channels, height, breadth = _check_shape(shape)
        self.backbone = nn.Sequential(
            nn.Conv2d(channels, width, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(2 * width * (height // SIDE_UNIT) * (breadth // SIDE_UNIT), 8 * width),
            nn.ReLU(),
            nn.Linear(8 * width, 2 * n_codes),
        )

    def forward(self, x: Tensor) -> Distribution:
        """Return the posterior of a batch of pictures."""
        mean, log_scale = self.backbone(x).chunk(2, dim=-1)
        return Independent(Normal(mean, log_scale.exp()), 1)


class BernoulliDecoder(nn.Module):
    r"""Builds the likelihood :math:`p(x \mid z)`: for each pixel and channel the chance that it is lit.

    Pixels between 0 and 1 count as shares of both outcomes, so that the log-likelihood is minus their cross-entropy.

    Args:
        shape: Channels, height and width of a picture; the sides must be multiples of 4.
        n_codes: Dimensions of :math:`z`.
        width: As in :class:`GaussianEncoder`, whose mirror image this is.
    """

    def __init__(self, shape: tuple[int, int, int], n_codes: int, *, width: int = 32) -> None:
        super().__init__()
        channels, height, breadth = _check_shape(shape)
        inner = (2 * width, height // SIDE_UNIT, breadth // SIDE_UNIT)
        self.backbone = nn.Sequential(
            nn.Linear(n_codes, 8 * width),
            nn.ReLU(),
            nn.Linear(8 * width, inner[0] * inner[1] * inner[2]),
            nn.ReLU(),
            nn.Unflatten(1, inner),
            nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(width, channels, 4, stride=2, padding=1),
        )

    def forward(self, z: Tensor) -> Distribution:
        """Return the likelihood of pictures given a batch of codes."""
        return Independent(Bernoulli(logits=self.backbone(z), validate_args=False), 3)


class VAE(nn.Module):
    """An encoder and a decoder that fit each other; the loss determines the objective.

    Args:
        shape: Channels, height and width of a picture; the sides must be multiples of 4.
        n_codes: Dimensions of the codes.
        width: Channels of the first convolution.
    """

    def __init__(self, shape: tuple[int, int, int], n_codes: int, *, width: int = 32) -> None:
        super().__init__()
        self.n_codes = n_codes
        self.encoder = GaussianEncoder(shape, n_codes, width=width)
        self.decoder = BernoulliDecoder(shape, n_codes, width=width)

    def encode(self, x: Tensor) -> Distribution:
        """Return the posterior of pictures."""
        return cast(Distribution, self.encoder(x))

    def decode(self, z: Tensor) -> Distribution:
        """Return the likelihood of pictures given codes."""
        return cast(Distribution, self.decoder(z))


def _check_shape(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    if any(side < SIDE_UNIT or side % SIDE_UNIT for side in shape[1:]):
        raise ValueError(f"pictures must have sides that are multiples of {SIDE_UNIT}, got {shape[1]} by {shape[2]}.")
    return shape


class MlpEncoder(nn.Module):
    r"""Builds the posterior :math:`q(z \mid x)`: independent Gaussians whose mean and deviation depend on the data.

    Args:
        n_data: Numbers of a sample.
        n_codes: Dimensions of :math:`z`.
        width: Of both hidden layers.
    """

    def __init__(self, n_data: int, n_codes: int, *, width: int = 256) -> None:
        super().__init__()
        self.layers = _layers(n_data, width, width, 2 * n_codes)

    def forward(self, x: Tensor) -> Distribution:
        """Return the posterior of a batch."""
        mean, log_scale = self.layers(x).chunk(2, dim=-1)
        return Independent(Normal(mean, log_scale.exp()), 1)


class MlpDecoder(nn.Module):
    r"""Builds the likelihood :math:`p(x \mid z)`: Gaussians of variance 1, so that training weighs squared errors.

    Args:
        n_data: Numbers of a sample.
        n_codes: Dimensions of :math:`z`.
        width: Of both hidden layers.
    """

    def __init__(self, n_data: int, n_codes: int, *, width: int = 256) -> None:
        super().__init__()
        self.layers = _layers(n_codes, width, width, n_data)

    def mean(self, z: Tensor) -> Tensor:
        """Return the middle of the likelihood: the decoder without its noise."""
        found: Tensor = self.layers(z)
        return found

    def forward(self, z: Tensor) -> Distribution:
        """Return the likelihood of data given a batch of codes."""
        return Independent(Normal(self.mean(z), 1.0), 1)


def _layers(*widths: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for before, after in pairwise(widths):
        parts += [nn.Linear(before, after), nn.SiLU()]
    return nn.Sequential(*parts[:-1])


#: Pictures that pass through a network at once, without gradients.
ROWS_AT_ONCE = 512


def train_conditioned_vae(
    pictures: NDArray[np.float32],
    factors: IntArray,
    places: Sequence[Sequence[float]],
    *,
    n_codes: int = 64,
    width: int = 32,
    beta: float = 1.0,
    schedule: Schedule | None = None,
    device: str = "cpu",
    seed: int = 0,
    progress: Show = None,
) -> tuple[VAE, list[Loss]]:
    """Train a VAE with one code for each factor, and further codes for all other variation.

    The encoder sees pictures only. Factors enter through the prior: the code of a factor has its prior mean where
    ``places`` says for the value the factor has, so the divergence teaches the encoder to put it there.

    Args:
        pictures: From 0 to 1, ``(n, channels, height, width)``, sides multiples of 4.
        factors: Values counted from 0, ``(n, n_factors)``.
        places: For each factor, the prior mean of its code for each value.
        n_codes: Codes in all, at least one for each factor.
        width: Channels of the first convolution.
        beta: Weight of the divergence.
        schedule: Length of training.
        device: ``"cpu"`` or ``"cuda"``.
        seed: Same seed, same network on a CPU.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Returns:
        The trained network, and the loss of every step.

    Raises:
        ValueError: Fewer codes than factors, pictures that do not fit the network, or a GPU where there is none.

    References:
        Almudévar et al. (2024), Defining and Measuring Disentanglement for non-Independent Factors of Variation,
        app. D. https://arxiv.org/abs/2408.07016
    """
    check_at_least("n_codes", n_codes, len(places))
    torch_device(device)
    x = torch.as_tensor(pictures, device=device)
    y = torch.as_tensor(factors, device=device)
    with seeded(seed):
        channels, height, breadth = x.shape[1:]
        model = VAE((channels, height, breadth), n_codes, width=width).to(device)

        def loss_of_rows(rows: torch.Tensor) -> Loss:
            batch = x[rows]
            posterior = model.encode(batch)
            prior = factor_prior(y[rows], places, n_codes)
            return vae_loss(batch, posterior, model.decode(posterior.rsample()), prior, beta=beta)

        history = train(model, loss_of_rows, len(x), schedule or Schedule(), progress=progress)
    return model, history


@torch.no_grad()
def encode(model: VAE, pictures: NDArray[np.float32]) -> FloatArray:
    """Return the codes of pictures: the posterior means, ``(n, n_codes)``."""
    device = next(model.parameters()).device
    parts = [torch.as_tensor(part, device=device) for part in _parts(pictures)]
    return torch.cat([model.encode(part).mean for part in parts]).double().cpu().numpy()


@torch.no_grad()
def decode(model: VAE, codes: FloatArray) -> NDArray[np.float32]:
    """Return the mean picture of each row of codes, from 0 to 1."""
    device = next(model.parameters()).device
    parts = [torch.as_tensor(part, dtype=torch.float32, device=device) for part in _parts(codes)]
    return torch.cat([model.decode(part).mean for part in parts]).cpu().numpy()


def _parts(rows: NDArray[Any]) -> list[NDArray[Any]]:
    return [rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE)]
