"""Networks of the MLP ladder, for all factors at once: every layer is one batched product over networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from unbraid._base.arrays import FloatArray
from unbraid._base.optional import torch_device
from unbraid._base.workers import torch_threads
from unbraid.probes.capacity.base import CapacityTask
from unbraid.probes.sage import WeightedSums
from unbraid.representation.factor import Factor

#: Wider networks take fewer steps, in proportion: they converge in fewer, and each step costs more.
USUAL_WIDTH = 448
FEWEST_STEPS = 100
#: Evaluations of the validation loss during training.
N_EVALUATIONS = 20
ROWS_AT_ONCE = 4096
#: Smallest improvement of the validation loss that counts, as a share.
LEAST_GAIN = 1e-4


@dataclass(slots=True, eq=False)
class _Weights:
    """Weights of ``n_networks`` networks side by side: a linear part, and two hidden layers added to it."""

    linear: Tensor
    offset: Tensor
    first: Tensor
    first_bias: Tensor
    second: Tensor
    second_bias: Tensor
    last: Tensor

    @property
    def tensors(self) -> list[Tensor]:
        return [getattr(self, name) for name in self.__slots__]

    def copy(self) -> _Weights:
        return _Weights(*(tensor.detach().clone() for tensor in self.tensors))

    def __call__(self, x: Tensor) -> Tensor:
        """From codes ``(n_rows, n_codes)`` to outputs ``(n_networks, n_rows, n_outputs)``."""
        codes = x.expand(len(self.linear), *x.shape)
        out = torch.baddbmm(self.offset, codes, self.linear)
        if self.first.shape[2] == 0:
            return out
        hidden = torch.relu(torch.baddbmm(self.first_bias, codes, self.first))
        hidden = torch.relu(torch.baddbmm(self.second_bias, hidden, self.second))
        return torch.baddbmm(out, hidden, self.last)

    def of_sums(self, sums: Tensor) -> Tensor:
        """From products of the codes with ``linear`` and ``first``, side by side for each network, to outputs."""
        each = sums.view(len(sums), len(self.linear), -1).transpose(0, 1)
        out = each[:, :, : self.linear.shape[2]] + self.offset
        if self.first.shape[2] == 0:
            return out
        hidden = torch.relu(each[:, :, self.linear.shape[2] :] + self.first_bias)
        hidden = torch.relu(torch.baddbmm(self.second_bias, hidden, self.second))
        return torch.baddbmm(out, hidden, self.last)

    def widened(self, width: int, generator: torch.Generator) -> _Weights:
        """Return networks of ``width`` units that compute the same as these, with new units that start at 0."""
        n, n_codes, old = self.first.shape

        def random(*shape: int, scale: float) -> Tensor:
            return (torch.randn(n, *shape, generator=generator) * scale).to(self.first.device)

        first, first_bias = random(n_codes, width, scale=math.sqrt(2 / n_codes)), random(1, width, scale=0.3)
        second = random(width, width, scale=math.sqrt(2 / width))
        second_bias, last = torch.zeros_like(first_bias), self.last.new_zeros(n, width, self.linear.shape[2])
        first[:, :, :old], first_bias[:, :, :old] = self.first, self.first_bias
        second[:, :old, :old], second[:, old:, :old] = self.second, 0.0
        second_bias[:, :, :old], last[:, :old] = self.second_bias, self.last
        return _Weights(self.linear.clone(), self.offset.clone(), first, first_bias, second, second_bias, last)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """The network and outputs that predict a factor, and the scale of the prediction."""

    factor: Factor
    network: int
    outputs: slice
    centre: FloatArray
    scale: float

    def prediction(self, out: Tensor) -> FloatArray:
        """Outputs as targets in the factor's own units, or as probabilities."""
        predicted = out[self.network, :, self.outputs]
        if not self.factor.is_numeric:
            predicted = torch.softmax(predicted, dim=1)
        numbers = predicted.double().cpu().numpy()
        return np.asarray(numbers * self.scale + self.centre if self.factor.is_numeric else numbers)


class _Objective:
    """Targets of the networks, and their losses."""

    def __init__(self, places: list[_Place], task: CapacityTask, device: str) -> None:
        shape = (1 + max(place.network for place in places), len(task.codes), max(p.outputs.stop for p in places))
        self.values, self.weights = torch.zeros(shape), torch.zeros(shape)
        self.classes: list[tuple[_Place, Tensor, Tensor]] = []
        for place in places:
            factor = place.factor
            # Unlabelled rows have weight 0; labelled rows weigh more, so that factors have equal weight.
            share = torch.as_tensor(factor.labelled / factor.labelled[task.split.train].mean(), dtype=torch.float32)
            if factor.is_numeric:
                scaled = (factor.targets(np.arange(len(task.codes))) - place.centre) / place.scale
                self.values[place.network, :, place.outputs] = torch.as_tensor(np.nan_to_num(scaled)).float()
                self.weights[place.network, :, place.outputs] = share[:, None]
            else:
                assert factor.labels is not None
                labels = torch.as_tensor(np.maximum(factor.labels, 0))
                self.classes.append((place, labels.to(device), share.to(device)))
        self.values, self.weights = self.values.to(device), self.weights.to(device)

    def losses(self, out: Tensor, rows: Tensor) -> Tensor:
        """Loss of each network: squared errors as shares of variances, and cross-entropies, added up."""
        found = ((out - self.values[:, rows]) ** 2 * self.weights[:, rows]).sum(dim=2).mean(dim=1)
        for place, labels, share in self.classes:
            predicted = out[place.network, :, place.outputs]
            each = functional.cross_entropy(predicted, labels[rows], reduction="none") * share[rows]
            found = found.index_add(0, torch.tensor([place.network], device=out.device), each.mean()[None])
        return found


class NetworkSettings(Protocol):
    """How networks of growing width are trained; :class:`~unbraid.probes.capacity.mlp.MLPLadder` documents each."""

    @property
    def widths(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def networks(self) -> Literal["shared", "separate"]: ...  # noqa: D102
    @property
    def n_steps(self) -> int: ...  # noqa: D102
    @property
    def batch_size(self) -> int: ...  # noqa: D102
    @property
    def learning_rate(self) -> float: ...  # noqa: D102
    @property
    def patience(self) -> int: ...  # noqa: D102
    @property
    def device(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedNetworks:
    """Trained networks of every level, 0 for the linear probe."""

    levels: list[_Weights]
    places: list[_Place]
    device: str
    n_threads: int | None

    def predict(self, level: int, codes: FloatArray) -> list[FloatArray]:
        """Return a prediction for each factor, ``(n_rows, n_outputs)``."""
        return self._predictions(self.levels[level], codes)

    def by_sums(self, level: int, axes: FloatArray | None) -> WeightedSums:
        """Return a level as a function of what its first layer adds up, of codes whose coordinates it was trained on.

        Args:
            level: Number of the level.
            axes: ``(n_codes, n_axes)``; ``None`` if it was trained on codes.
        """
        weights = self.levels[level]
        first = torch.cat([weights.linear, weights.first], dim=2).transpose(0, 1).flatten(1).double().cpu().numpy()
        return WeightedSums(
            weights=first if axes is None else axes @ first,
            predict=lambda sums: self._predictions(weights.of_sums, sums),
        )

    def _predictions(self, network: Callable[[Tensor], Tensor], inputs: FloatArray) -> list[FloatArray]:
        rows = torch.as_tensor(inputs, dtype=torch.float32).to(self.device)
        with torch_threads(self.n_threads), torch.no_grad():
            out = torch.cat([network(part) for part in torch.split(rows, ROWS_AT_ONCE)], dim=1)
        return [place.prediction(out) for place in self.places]


def fit_networks(
    ladder: NetworkSettings, task: CapacityTask, starts: list[FloatArray], rng: np.random.Generator
) -> FittedNetworks:
    """Train every level from the one below."""
    torch_device(ladder.device)
    places = _places(task, starts, shared=ladder.networks == "shared")
    objective = _Objective(places, task, ladder.device)
    x = torch.as_tensor(task.codes, dtype=torch.float32).to(ladder.device)
    generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
    levels = [_linear(places, starts, ladder.device)]
    with torch_threads(task.workers.torch_threads):
        for multiple in ladder.widths:
            wider = levels[-1].widened(multiple * len(task.factors), generator)
            levels.append(_train(wider, x, objective, task, ladder, generator))
    return FittedNetworks(levels=levels, places=places, device=ladder.device, n_threads=task.workers.torch_threads)


def _places(task: CapacityTask, starts: list[FloatArray], *, shared: bool) -> list[_Place]:
    places, first = [], 0
    for k, (factor, start) in enumerate(zip(task.factors, starts, strict=True)):
        width = start.shape[1]
        centre, scale = np.zeros(width), 1.0
        if factor.is_numeric:
            values = factor.targets(task.labelled(factor, task.split.train))
            centre = values.mean(axis=0)
            scale = math.sqrt(float(((values - centre) ** 2).sum(axis=1).mean())) or 1.0
        outputs = slice(first, first + width) if shared else slice(0, width)
        places.append(_Place(factor, 0 if shared else k, outputs, centre, scale))
        first += width
    return places


def _linear(places: list[_Place], starts: list[FloatArray], device: str) -> _Weights:
    """The fitted linear probes, as networks without hidden units."""
    n_networks, n_outputs = 1 + max(p.network for p in places), max(p.outputs.stop for p in places)
    n_codes = len(starts[0]) - 1
    linear, offset = torch.zeros(n_networks, n_codes, n_outputs), torch.zeros(n_networks, 1, n_outputs)
    for place, start in zip(places, starts, strict=True):
        scaled = start / place.scale
        scaled[-1] -= place.centre / place.scale
        # A value without training rows has an intercept of minus a billion; for a network, this is low enough.
        scaled[-1] = np.maximum(scaled[-1], -30.0)
        tensor = torch.as_tensor(scaled, dtype=torch.float32)
        linear[place.network, :, place.outputs] = tensor[:-1]
        offset[place.network, 0, place.outputs] = tensor[-1]
    none = torch.zeros(n_networks, n_codes, 0)
    hidden = (none, none[:, :1], none[:, :0], none[:, :1], torch.zeros(n_networks, 0, n_outputs))
    return _Weights(*(tensor.to(device) for tensor in (linear, offset, *hidden)))


def _train(
    weights: _Weights,
    x: Tensor,
    objective: _Objective,
    task: CapacityTask,
    ladder: NetworkSettings,
    generator: torch.Generator,
) -> _Weights:
    """Train by Adam with steps that shrink along half a cosine; keep, for each network, its best weights."""
    n_steps = n_steps_at(ladder, weights.first.shape[2])
    train = torch.as_tensor(task.split.train)
    validation = torch.as_tensor(task.split.validation).to(x.device)
    best, lowest = weights.copy(), _network_losses(weights, x, objective, validation)
    optimiser, schedule = _optimiser(weights, ladder.learning_rate, n_steps)
    evaluate_every, waited = max(1, n_steps // N_EVALUATIONS), 0
    for step, batch in enumerate(_batches(train, ladder.batch_size, n_steps, generator), start=1):
        rows = batch.to(x.device)
        loss = objective.losses(weights(x[rows]), rows).sum()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        if step % evaluate_every == 0:
            losses = _network_losses(weights, x, objective, validation)
            better = losses < lowest * (1 - LEAST_GAIN)
            for kept, tensor in zip(best.tensors, weights.tensors, strict=True):
                kept[better] = tensor.detach()[better]
            lowest = torch.where(better, losses, lowest)
            waited = 0 if bool(better.any()) else waited + 1
            if waited >= ladder.patience:
                break
    return best


def n_steps_at(ladder: NetworkSettings, width: int) -> int:
    """Steps at most that networks of some width are trained for."""
    return max(min(FEWEST_STEPS, ladder.n_steps), round(ladder.n_steps * min(1.0, USUAL_WIDTH / width)))


def _optimiser(
    weights: _Weights, learning_rate: float, n_steps: int
) -> tuple[torch.optim.Adam, torch.optim.lr_scheduler.CosineAnnealingLR]:
    """Adam over all weights, with smaller learning rates for weights with very many inputs."""
    width = weights.first.shape[2]
    for tensor in weights.tensors:
        tensor.requires_grad_()
    groups: list[dict[str, Any]] = [
        {"params": [weights.linear, weights.offset, weights.first, weights.first_bias, weights.second_bias]},
        {"params": [weights.second, weights.last], "lr": learning_rate * min(1.0, 128 / width)},
    ]
    optimiser = torch.optim.Adam(groups, lr=learning_rate, fused=True)
    return optimiser, torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, n_steps)


def _network_losses(weights: _Weights, x: Tensor, objective: _Objective, rows: Tensor) -> Tensor:
    with torch.no_grad():
        out = torch.cat([weights(x[part]) for part in torch.split(rows, ROWS_AT_ONCE)], dim=1)
        return objective.losses(out, rows)


def _batches(rows: Tensor, size: int, n_steps: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Batches of shuffled rows, pass after pass."""
    size, given = min(size, len(rows)), 0
    while given < n_steps:
        order = rows[torch.randperm(len(rows), generator=generator)]
        for start in range(0, len(rows) - size + 1, size):
            if given == n_steps:
                return
            yield order[start : start + size]
            given += 1
