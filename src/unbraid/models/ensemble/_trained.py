"""Trained models: taken apart by member, encoding and decoding arrays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Bernoulli

from unbraid._typing import AnyArray, FloatArray
from unbraid.models.ensemble._checkpoint import load_checkpoint
from unbraid.models.ensemble._networks import EnsembleVAE
from unbraid.models.ensemble._settings import Settings
from unbraid.models.ensemble._source import as_numbers
from unbraid.models.ensemble._streams import Purpose, normal

#: Rows that all members together take at once when nothing is learned from them.
ROWS_AT_ONCE = 1024


class TrainedEnsemble:
    """Models that were trained together; ``ensemble[m]`` is member ``m``, itself an ensemble of one.

    Attributes:
        network: Their encoders and decoders.
        history: Total loss, distortion and rate of each member, every 50 steps, ``(n_entries, 3, n_models)``.
    """

    def __init__(self, network: EnsembleVAE, history: Tensor) -> None:
        self.network, self.history = network, history

    def __len__(self) -> int:
        return len(self.settings.seeds)

    def __getitem__(self, member: int) -> TrainedEnsemble:
        n_models = len(self)
        if not -n_models <= member < n_models:
            raise IndexError(f"member must be below {n_models}, the size of the ensemble, got {member}.")
        number = member % n_models
        settings = self.settings
        alone = EnsembleVAE(
            replace(
                settings,
                seeds=(settings.seeds[number],),
                strengths=tuple((name, (values[number],)) for name, values in settings.strengths),
            )
        )
        alone.load_state_dict({name: value[number : number + 1] for name, value in self.network.state_dict().items()})
        return TrainedEnsemble(alone.to(self.device).eval(), self.history[..., number : number + 1])

    @property
    def settings(self) -> Settings:
        """What was trained."""
        return self.network.settings

    @property
    def device(self) -> torch.device:
        """Where the networks are."""
        return next(self.network.parameters()).device

    @property
    def decoder(self) -> nn.Module:
        """The decoder of a single model as a torch module, from codes ``(n, n_codes)`` to mean data ``(n, *shape)``."""
        if len(self) != 1:
            raise ValueError(
                f"an ensemble of {len(self)} has no single decoder; take a member first, ensemble[0].decoder."
            )
        return MeanDecoder(self.network)

    def encode(self, x: AnyArray, *, sample: bool = False, seed: int = 0, first_row: int = 0) -> FloatArray:
        """Return the codes of data for every member, ``(n_models, n, n_codes)``.

        Args:
            x: Data, ``(n, *shape)``, numbers or bytes.
            sample: Draw from the posterior instead of taking its mean.
            seed: Of that draw.
            first_row: Number of the first row; a draw depends on the row's number and not on who encodes it with which.
        """
        mean, deviation = self.posterior(x)
        if not sample:
            return mean
        noise = self._noise(seed, first_row, len(x)).double().cpu().numpy()
        drawn: FloatArray = mean + noise * deviation
        return drawn

    @torch.no_grad()
    def posterior(self, x: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return means and deviations of the posteriors of data, each ``(n_models, n, n_codes)``."""
        settings = self.settings
        if tuple(x.shape[1:]) != settings.shape:
            raise ValueError(
                f"data must have rows of shape {settings.shape}, as in training, got {tuple(x.shape[1:])}."
            )
        found = np.empty((2, len(self), len(x), settings.n_codes))
        for start in range(0, len(x), step := max(1, ROWS_AT_ONCE // len(self))):
            rows = as_numbers(torch.as_tensor(np.ascontiguousarray(x[start : start + step])).to(self.device)).float()
            posterior = self.network.encode(rows.expand(len(self), *rows.shape))
            found[0, :, start : start + step] = posterior.mean.cpu()
            found[1, :, start : start + step] = posterior.stddev.cpu()
        return found[0], found[1]

    @torch.no_grad()
    def decode(self, codes: FloatArray) -> NDArray[np.float32]:
        """Return the mean data of codes ``(n_models, n, n_codes)``, ``(n_models, n, *shape)``."""
        given = torch.as_tensor(codes, dtype=torch.float32, device=self.device)
        step = max(1, ROWS_AT_ONCE // len(self))
        parts = [mean_of(self.network, part).cpu() for part in torch.split(given, step, dim=1)]
        return cast("NDArray[np.float32]", torch.cat(parts, dim=1).numpy())

    def _noise(self, seed: int, first_row: int, n_rows: int) -> Tensor:
        """Return noise that depends on seed and row alone: each row is a step of the stream."""
        rows = torch.arange(first_row, first_row + n_rows, device=self.device)
        return normal(rows * 2**20 + seed, Purpose.ENCODING, 0, (self.settings.n_codes,))


class MeanDecoder(nn.Module):
    """The decoder of an ensemble of one, without the axis of models and without noise."""

    def __init__(self, network: EnsembleVAE) -> None:
        super().__init__()
        self.network = network

    def forward(self, z: Tensor) -> Tensor:
        """Return the mean data of codes."""
        return mean_of(self.network, z[None])[0]


def mean_of(network: EnsembleVAE, z: Tensor) -> Tensor:
    """Return the mean of the likelihood: chances of pixels, or the middle of Gaussians."""
    base: Any = cast(Any, network.decode(z)).base_dist
    return cast(Tensor, base.probs if isinstance(base, Bernoulli) else base.mean)


def load_ensemble(folder: str | Path, *, device: str = "cpu") -> TrainedEnsemble:
    """Return the models that were trained with ``out=folder``, as far as their last checkpoint.

    Raises:
        ValueError: No checkpoint there, or a damaged one.
    """
    settings, state = load_checkpoint(folder, device=device)
    if torch.device(device).type == "cpu":
        settings = replace(settings, precision="float32")
    network = EnsembleVAE(settings).to(device)
    network.load_state_dict(state["network"])
    return TrainedEnsemble(network.eval(), state["history"])
