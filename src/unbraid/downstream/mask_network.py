"""A decoder network from codes to masks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.workers import torch_threads

WIDTH = 128
N_STEPS, BATCH, LEARNING_RATE = 800, 128, 3e-3


@torch_threads(1)
def train_decoder(
    codes: FloatArray, flat: BoolArray, train: IntArray, *, seed: int
) -> Callable[[FloatArray], FloatArray]:
    """Train two hidden layers, Kaiming uniform initialised, by Adam on the cross-entropy of every pixel.

    Args:
        codes: Scaled codes of ``train``.
        flat: Masks of all rows, ``(n, n_pixels)``.
        train: Rows to learn from.
        seed: Of the first weights and of the batches.

    Returns:
        A function from scaled codes to the chance that each pixel shows the object.
    """
    generator = torch.Generator().manual_seed(seed)
    network = _network(codes.shape[1], flat.shape[1], generator)
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, N_STEPS)
    x = torch.as_tensor(codes, dtype=torch.float32)
    for _ in range(N_STEPS):
        batch = torch.randint(len(x), (min(BATCH, len(x)),), generator=generator)
        y = torch.as_tensor(flat[train[batch.numpy()]], dtype=torch.float32)
        loss = functional.binary_cross_entropy_with_logits(network(x[batch]), y)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()

    @torch_threads(1)
    def decode(new: FloatArray) -> FloatArray:
        with torch.no_grad():
            predicted: Tensor = torch.sigmoid(network(torch.as_tensor(new, dtype=torch.float32)))
        return np.asarray(predicted.double().numpy())

    return decode


def _network(n_codes: int, n_pixels: int, generator: torch.Generator) -> nn.Sequential:
    # left uninitialised, or they would draw from torch's global generator
    sides = pairwise((n_codes, WIDTH, WIDTH, n_pixels))
    layers = [nn.utils.skip_init(nn.Linear, *both) for both in sides]  # type: ignore[no-untyped-call]
    for layer in layers:
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
