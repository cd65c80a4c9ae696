"""Trained models: taken apart by member, encoding and decoding arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Bernoulli

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid.models.ensemble.checkpoint import load_checkpoint
from unbraid.models.ensemble.families.catalogue import build_network, network_class
from unbraid.models.ensemble.families.info_gan import GaussianGenerator, InfoGAN
from unbraid.models.ensemble.memory import load_layout
from unbraid.models.ensemble.networks import NEVER, EnsembleVAE
from unbraid.models.ensemble.settings import Settings
from unbraid.models.ensemble.source import as_numbers
from unbraid.models.ensemble.streams import Purpose, normal
from unbraid.models.families import loss_parts

#: Rows that all members together encode or decode at once, without gradients.
ROWS_AT_ONCE = 1024


class TrainedEnsemble:
    """Models that were trained together; ``ensemble[m]`` is member ``m``, itself an ensemble of one.

    Attributes:
        network: Their encoders and decoders.
        history: Parts of the loss of each member, every 50 steps, ``(n_entries, n_parts, n_models)``: total loss,
            distortion and rate; of InfoGAN loss, value, and information of categorical and of continuous codes.
        diverged: For each member the step, counted from 1, at which its loss was first seen not to be finite, or None.
    """

    def __init__(self, network: EnsembleVAE, history: Tensor, diverged: tuple[int | None, ...] | None = None) -> None:
        self.network, self.history = network, history
        self.diverged: tuple[int | None, ...] = diverged or (None,) * len(self)

    def __len__(self) -> int:
        return len(self.settings.seeds)

    def __getitem__(self, member: int) -> TrainedEnsemble:
        n_models = len(self)
        if not -n_models <= member < n_models:
            raise IndexError(f"member must be below {n_models}, the size of the ensemble, got {member}.")
        return self.only([member % n_models])

    def only(self, members: Sequence[int]) -> TrainedEnsemble:
        """Return some of the members as an ensemble, such as ``ensemble.only([0, 2])``."""
        chosen = list(members)
        network = self.network.only(chosen).eval()
        return TrainedEnsemble(network, self.history[..., chosen], tuple(self.diverged[m] for m in chosen))

    def in_float32(self) -> TrainedEnsemble:
        """Return the same models with products in single precision, also where they were trained with less."""
        if self.settings.precision == "float32":
            return self
        network = EnsembleVAE(replace(self.settings, precision="float32"))
        network.load_state_dict(self.network.state_dict())
        return TrainedEnsemble(network.to(self.device).eval(), self.history, self.diverged)

    @property
    def settings(self) -> Settings:
        """Settings of the ensemble."""
        return self.network.settings

    @property
    def device(self) -> torch.device:
        """Device of the networks."""
        return next(self.network.parameters()).device

    @property
    def decoder(self) -> nn.Module:
        """The decoder of a single model as a torch module, from codes ``(n, n_codes)`` to mean data ``(n, *shape)``."""
        if len(self) != 1:
            raise ValueError(
                f"an ensemble of {len(self)} has no single decoder; take a member first, ensemble[0].decoder."
            )
        self._check_trained()
        return MeanDecoder(self.network)

    def generator(self, values: Sequence[int] | None = None) -> nn.Module:
        """Return the generator of a single InfoGAN as a torch module of standard normal latents, as `manifold` takes.

        Latents are the continuous codes, brought from a normal to an even distribution, and the noise: ``(n,
        n_continuous + n_noise)`` to data ``(n, *shape)``.

        Args:
            values: Of each categorical code, counted from 0; by default the first of each.

        Raises:
            ValueError: Another model, an ensemble of several, or values that the codes do not have.
        """
        if not isinstance(self.network, InfoGAN) or len(self) != 1:
            raise ValueError(f"generator is for a single info_gan, got {len(self)} of {self.settings.model}.")
        self._check_trained()
        sizes = self.settings.categories
        chosen = tuple(values) if values is not None else (0,) * len(sizes)
        if len(chosen) != len(sizes) or any(not 0 <= v < size for v, size in zip(chosen, sizes, strict=True)):
            raise ValueError(f"values must be one below each of {list(sizes)}, got {list(chosen)}.")
        return GaussianGenerator(self.network, chosen)

    def encode(
        self, x: AnyArray, *, context: IntArray | None = None, sample: bool = False, seed: int = 0, first_row: int = 0
    ) -> FloatArray:
        """Return the codes of data for every member, ``(n_models, n, n_codes)``.

        Args:
            x: Data, ``(n, *shape)``, numbers or bytes.
            context: The label of each row that VFAE encodes with, counted from 0; other models have none.
            sample: Draw from the posterior instead of taking its mean.
            seed: Of that draw.
            first_row: Number of the first row; a draw depends on the row's number and not on who encodes it with which.
        """
        mean, deviation = self.posterior(x, context=context)
        if not sample:
            return mean
        noise = self._noise(seed, first_row, len(x)).double().cpu().numpy()
        return self.settings.layout.drawn(mean, deviation, noise)

    @torch.no_grad()
    def posterior(self, x: AnyArray, *, context: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return means and deviations of the posteriors of data, each ``(n_models, n, n_codes)``."""
        self._check_trained()
        settings = self.settings
        given = self._checked_context(context, len(x))
        if tuple(x.shape[1:]) != settings.shape:
            raise ValueError(
                f"data must have rows of shape {settings.shape}, as in training, got {tuple(x.shape[1:])}."
            )
        found = np.empty((2, len(self), len(x), settings.n_codes))
        for start in range(0, len(x), step := max(1, ROWS_AT_ONCE // len(self))):
            rows = as_numbers(torch.as_tensor(np.ascontiguousarray(x[start : start + step])).to(self.device)).float()
            beside = None if given is None else given[start : start + step].expand(len(self), -1)
            posterior = self.network.encode(rows.expand(len(self), *rows.shape), beside)
            found[0, :, start : start + step] = posterior.mean.cpu()
            found[1, :, start : start + step] = posterior.stddev.cpu()
        return found[0], found[1]

    @torch.no_grad()
    def decode(self, codes: FloatArray, *, context: IntArray | None = None) -> NDArray[np.float32]:
        """Return the mean data of codes ``(n_models, n, n_codes)``, ``(n_models, n, *shape)``.

        Args:
            codes: Of every member.
            context: The label of each row that VFAE decodes with, counted from 0; by default 0 for all rows.
        """
        self._check_trained()
        given = torch.as_tensor(codes, dtype=torch.float32, device=self.device)
        n_rows = given.shape[1]
        beside = self._checked_context(np.zeros(n_rows, dtype=int) if context is None else context, n_rows)
        step = max(1, ROWS_AT_ONCE // len(self))
        parts = []
        for start in range(0, n_rows, step):
            some = None if beside is None else beside[start : start + step].expand(len(self), -1)
            parts.append(mean_of(self.network, given[:, start : start + step], some).cpu())
        return cast("NDArray[np.float32]", torch.cat(parts, dim=1).numpy())

    @torch.no_grad()
    def classify(self, x: AnyArray, *, label: str = "y", context: IntArray | None = None) -> FloatArray:
        """Return the probability of each value of a label that the model predicts, ``(n_models, n, n_values)``.

        Args:
            x: Data, ``(n, *shape)``, numbers or bytes.
            label: Role of the label: ``"y"``, or ``"d"`` of DIVA.
            context: As in :meth:`encode`.

        Raises:
            ValueError: A model without such a classifier.
        """
        means = self.encode(x, context=context)
        given = torch.as_tensor(means, dtype=torch.float32, device=self.device)
        found: FloatArray = self.network.logits(label, given).softmax(dim=-1).double().cpu().numpy()
        return found

    def _checked_context(self, context: IntArray | None, n_rows: int) -> Tensor | None:
        """Return the label that rows are encoded with, if the model needs one.

        Raises:
            ValueError: No label where one is needed, or labels that do not fit the rows.
        """
        settings = self.settings
        if not settings.context:
            return None
        n_values = settings.n_values("s")
        if context is None:
            raise ValueError(
                f"{settings.model} encodes a row with its value of {settings.context!r}; give context, the values of "
                "the rows counted from 0."
            )
        found = np.asarray(context)
        if found.shape != (n_rows,) or not np.issubdtype(found.dtype, np.integer):
            raise ValueError(f"context must be {n_rows} whole numbers, one for each row, got shape {found.shape}.")
        if n_rows and not 0 <= found.min() <= found.max() < n_values:
            raise ValueError(f"context must be from 0 to {n_values - 1}, got {found.min()} to {found.max()}.")
        return torch.as_tensor(found, dtype=torch.int64, device=self.device)

    def _check_trained(self) -> None:
        """Raise if a member diverged, as it has no codes."""
        lost = {m: step for m, step in enumerate(self.diverged) if step is not None}
        if not lost:
            return
        if len(lost) == len(self):
            what = "the model" if len(self) == 1 else "every model"
            raise ValueError(
                f"{what} diverged, at step {min(lost.values())}: its loss was not finite; train with a smaller "
                "learning_rate or weaker hyperparameters."
            )
        kept = [m for m in range(len(self)) if m not in lost]
        which = ", ".join(f"{m} (step {step})" for m, step in lost.items())
        raise ValueError(f"members {which} diverged: their loss was not finite; give ensemble.only({kept}).")

    def _noise(self, seed: int, first_row: int, n_rows: int) -> Tensor:
        """Return noise that depends on seed and row alone: each row is a step of the stream."""
        rows = torch.arange(first_row, first_row + n_rows, device=self.device)
        return normal(rows * 2**20 + seed, Purpose.ENCODING, 0, (self.settings.n_codes,))


class MeanDecoder(nn.Module):
    """The decoder of an ensemble of one, without the axis of models and without noise; VFAE's with context 0."""

    def __init__(self, network: EnsembleVAE) -> None:
        super().__init__()
        self.network = network

    def forward(self, z: Tensor) -> Tensor:
        """Return the mean data of codes."""
        first = torch.zeros(1, len(z), dtype=torch.int64, device=z.device)
        return mean_of(self.network, z[None], first)[0]


def mean_of(network: EnsembleVAE, z: Tensor, context: Tensor | None = None) -> Tensor:
    """Return the mean of the likelihood: chances of pixels, or the middle of Gaussians."""
    base: Any = cast(Any, network.decode(z, context)).base_dist
    return cast(Tensor, base.probs if isinstance(base, Bernoulli) else base.mean)


def load_ensemble(folder: str | Path, *, device: str = "cpu") -> TrainedEnsemble:
    """Return the models that were trained with ``out=folder``, as far as their last checkpoint.

    Raises:
        ValueError: No checkpoint there, one that is damaged, or groups of members that were not trained yet.
    """
    layout = load_layout(Path(folder))
    if layout is None:
        settings, state = load_checkpoint(folder, device=device)
        parts = [state]
    else:
        settings = layout.settings
        parts = [load_checkpoint(place, device=device)[1] for place in layout.folders(Path(folder), trained=True)]
    if torch.device(device).type == "cpu":
        settings = replace(settings, precision="float32")
    _check_weights(folder, settings, parts)
    return joined(settings, parts, device=device)


def _check_weights(folder: str | Path, settings: Settings, parts: Sequence[dict[str, Any]]) -> None:
    """Raise unless the state of a checkpoint is that of its settings; networks of other sizes are not even made.

    Raises:
        ValueError: Weights of other names or shapes, or entries that are missing or no tensors.
    """
    try:
        sizes = [len(part["diverged"]) for part in parts]
        with torch.device("meta"):
            first = build_network(settings.only([0])).state_dict()
        wanted = {name: tuple(value.shape[1:]) for name, value in first.items()}
        fits = sum(sizes) == len(settings.seeds) and all(
            {name: tuple(value.shape[1:]) for name, value in part["network"].items()} == wanted
            and all(len(value) == n and value.layout == torch.strided for value in part["network"].values())
            and part["history"].shape[1:] == (len(loss_parts(settings.model)), n)
            and part["diverged"].shape == (n,)
            and not part["diverged"].is_floating_point()
            for part, n in zip(parts, sizes, strict=True)
        )
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError):
        fits = False
    if not fits:
        raise ValueError(
            f"folder {str(folder)!r} holds weights that do not fit their own settings; train again in another folder."
        )


def joined(settings: Settings, states: Sequence[dict[str, Any]], *, device: str) -> TrainedEnsemble:
    """Return one ensemble of members whose states are in parts, with as much history as all parts have."""
    network = network_class(settings).joined(settings, [state["network"] for state in states]).to(device).eval()
    n_entries = min(len(state["history"]) for state in states)
    history = torch.cat([state["history"][:n_entries].cpu() for state in states], dim=-1)
    steps = torch.cat([state["diverged"].cpu() for state in states]).tolist()
    return TrainedEnsemble(network, history, tuple(None if step == NEVER else int(step) for step in steps))
