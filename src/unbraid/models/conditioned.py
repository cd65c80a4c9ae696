"""A VAE whose prior depends on the factors, so that each of the first codes holds one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid._torch import torch_device
from unbraid._typing import FloatArray, IntArray
from unbraid._validation import check_at_least
from unbraid.models.networks import VAE
from unbraid.models.objectives import Loss, factor_prior, vae_loss
from unbraid.models.training import Schedule, seeded, train

#: Pictures that pass through a network at once when nothing is learned from them.
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
    progress: bool | None = None,
) -> tuple[VAE, list[Loss]]:
    """Train a VAE with one code for each factor and the others for what the factors leave open.

    The encoder sees pictures only. Factors enter through the prior: the code of a factor has its prior mean where
    ``places`` says for the value the factor has, so the divergence teaches the encoder to put it there.

    Args:
        pictures: From 0 to 1, ``(n, channels, height, width)``, sides multiples of 4.
        factors: Values counted from 0, ``(n, n_factors)``.
        places: For each factor, the prior mean of its code for each value.
        n_codes: Codes in all, at least one for each factor.
        width: Channels of the first convolution.
        beta: Weight of the divergence.
        schedule: How long to train.
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
