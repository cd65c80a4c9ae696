"""One training step for all members of an ensemble on one device, with an Adam of its own for a recorded step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from unbraid.models.ensemble.families.catalogue import build_network
from unbraid.models.ensemble.layers import Dense
from unbraid.models.ensemble.networks import NEVER, EnsembleVAE, StepInputs
from unbraid.models.ensemble.settings import Settings
from unbraid.models.ensemble.source import Batches
from unbraid.models.ensemble.streams import Purpose, normal, uniform
from unbraid.models.objectives.vae import factor_prior

#: Added to the root of Adam's second moments.
EPSILON = 1e-8
#: Steps before one is recorded as a CUDA graph, so that nothing is set up inside it.
N_WARM_UP = 3


Objective = Callable[[StepInputs], tuple[Tensor, Tensor]]


class EnsembleEngine:
    """The networks of an ensemble, their optimizer, and the number of steps made.

    On a GPU a step is compiled and recorded once as a CUDA graph, then replayed. Members share no number, so that one
    whose loss is no longer finite harms no other; ``diverged`` has the step at which that was first seen.

    Args:
        settings: Settings of the ensemble.
        source: Its data.
        device: ``"cpu"`` or ``"cuda"``.
        compiled: Compile and record the step; by default on a GPU.
    """

    def __init__(
        self, settings: Settings, source: Batches, *, device: str = "cpu", compiled: bool | None = None
    ) -> None:
        self.settings, self.source, self.device = settings, source, device
        with torch.device(device):
            self.network = build_network(settings)
        self.seeds = torch.tensor(settings.seeds, device=device)
        self.hyperparameters = {name: torch.tensor(values, device=device) for name, values in settings.hyperparameters}
        on_gpu = torch.device(device).type == "cuda"
        self.optimizer = _optimizer(self.network, settings, fused=on_gpu)
        self.step = 0
        self.diverged = torch.full((len(settings.seeds),), NEVER, device=device)
        self._recorded: _Recorded | None = None
        self._rounded: RoundedWeights | None = None
        self._adam: CompiledAdam | None = None
        if on_gpu if compiled is None else compiled:
            self._record()

    def advance(self) -> Tensor:
        """Make one step; returns the parts of the loss of each member, ``[n_parts, n_models]``."""
        inputs = self._inputs()
        self._set_learning_rate()
        recorded = self._recorded
        losses = self.make_step(inputs, self.objective) if recorded is None else recorded.replay(inputs)
        self.step += 1
        return losses

    def check_weights(self) -> None:
        """Record members whose weights are not finite, one step before their loss is."""
        self._note(self.network.is_finite(), self.diverged.new_tensor(self.step))

    def state(self) -> dict[str, Any]:
        """Return the state of training as tensors and numbers."""
        return {
            "step": self.step,
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "diverged": self.diverged,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state that :meth:`state` returned."""
        self.step = state["step"]
        self.diverged.copy_(state["diverged"])
        self.network.load_state_dict(state["network"])
        if self._rounded is not None:
            self._rounded.renew()
        if self._recorded is None:
            self.optimizer.load_state_dict(state["optimizer"])
            return
        # A recorded step refers to its tensors by address, so tensors are filled and not replaced.
        own = self.optimizer.state_dict()["state"]
        for number, moments in state["optimizer"]["state"].items():
            for name, value in moments.items():
                own[number][name].copy_(value)

    def objective(self, inputs: StepInputs) -> tuple[Tensor, Tensor]:
        """Return the objective, a single number, and the parts of the loss of each member."""
        total, loss = self.network.objective(inputs, self.hyperparameters)
        return total, torch.stack(loss).detach()

    def _inputs(self) -> StepInputs:
        settings, seeds = self.settings, self.seeds
        codes = (settings.batch_size, settings.n_codes)
        rows, kind = self.source.draw(seeds, self.step, settings.batch_size, self.hyperparameters.get("rest"))
        noise = normal(seeds, Purpose.CODES, self.step, (settings.batch_size, settings.n_noise))
        labels = self.source.labels(rows) if settings.labels or settings.places else kind.new_zeros(*rows.shape, 0)
        prior_mean = torch.zeros_like(noise[..., : settings.n_codes])
        if settings.places:
            prior_mean = factor_prior(labels, settings.places, settings.n_codes).mean
        return StepInputs(
            step=torch.tensor(float(self.step), device=self.device),
            x=self.source.batch(rows),
            noise=noise,
            prior_mean=prior_mean,
            keys=uniform(seeds, Purpose.SHUFFLE, self.step, codes) if settings.has_discriminator else noise,
            labels=labels,
            kind=kind,
        )

    def round_weights(self) -> None:
        """From now on, let the optimizer keep weights in bfloat16 beside those in float32."""
        self._rounded = RoundedWeights(self.network)
        self._adam = CompiledAdam(self.optimizer, self._rounded, epsilon=EPSILON)

    def make_step(self, inputs: StepInputs, objective: Objective) -> Tensor:
        """Train on one batch for each member, and record members that diverge, all on the device."""
        optimizer = self._adam or self.optimizer
        optimizer.zero_grad()
        total, losses = objective(inputs)
        total.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        self._note(losses.isfinite().all(dim=0), inputs.step + 1)
        return losses

    def _set_learning_rate(self) -> None:
        if not self.settings.milestones:
            return
        for group in self.optimizer.param_groups:
            rate = self.settings.learning_rate_at(self.step) * group["share"]
            # A recorded step reads the rate from a tensor, which is filled and not replaced.
            group["lr"] = group["lr"].fill_(rate) if isinstance(group["lr"], Tensor) else rate

    def _note(self, is_finite: Tensor, step: Tensor) -> None:
        is_new = ~is_finite & (self.diverged == NEVER)
        self.diverged.copy_(torch.where(is_new, step.to(self.diverged.dtype), self.diverged))

    def _record(self) -> None:
        """Compile the step, run it a few times, record it, and put everything back to the start."""
        start = {name: value.clone() for name, value in self.network.state_dict().items()}
        if self.network.precision is torch.bfloat16:
            self.round_weights()
        self._recorded = _Recorded(self, self._inputs())
        self.network.load_state_dict(start)
        if self._rounded is not None:
            self._rounded.renew()
        self.diverged.fill_(NEVER)
        for moments in self.optimizer.state.values():
            for value in moments.values():
                value.zero_()


class _Recorded:
    """A step as a CUDA graph, with the places its inputs are copied to."""

    def __init__(self, engine: EnsembleEngine, inputs: StepInputs) -> None:
        self.inputs = StepInputs(*(value.clone() for value in inputs))
        # Code compiled for other ensembles is dropped: after a few variants torch would stop compiling.
        torch.compiler.reset()
        objective = torch.compile(engine.objective, dynamic=False)
        # Memory cached from drawing the weights, or from the first steps, cannot be used by another stream.
        torch.cuda.empty_cache()
        beside = _stream(engine.device)
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(N_WARM_UP):
                engine.make_step(self.inputs, objective)
        torch.cuda.current_stream().wait_stream(beside)
        (engine._adam or engine.optimizer).zero_grad()
        torch.cuda.empty_cache()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.losses = engine.make_step(self.inputs, objective)

    def replay(self, inputs: StepInputs) -> Tensor:
        """Make the step with other inputs."""
        for place, value in zip(self.inputs, inputs, strict=True):
            place.copy_(value)
        self.graph.replay()
        return self.losses


@cache
def _stream(device: str) -> torch.cuda.Stream:
    """Return the stream of the first steps, always the same: cuBLAS keeps memory for each."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def _optimizer(network: EnsembleVAE, settings: Settings, *, fused: bool) -> torch.optim.Optimizer:
    groups = network.parameter_groups()
    for group in groups:
        rate = settings.learning_rate * group["share"]
        place = group["params"][0].device
        group["lr"] = torch.tensor(rate, device=place) if fused and settings.milestones else rate
    return torch.optim.Adam(groups, eps=EPSILON, fused=fused, capturable=fused)


class RoundedWeights:
    """Copies in bfloat16 of the weights of dense layers, which products are made with.

    Without them every step reads all weights to round them, writes derivatives in bfloat16, and reads them again to
    write them in float32. Numbers are the same: derivatives were rounded before, too.

    Args:
        network: Networks whose dense layers are given copies.
    """

    def __init__(self, network: nn.Module) -> None:
        self.layers = [layer for layer in network.modules() if type(layer) is Dense]
        for layer in self.layers:
            layer.rounded = layer.weight.detach().to(torch.bfloat16).requires_grad_()

    def renew(self) -> None:
        """Round the weights again, after they were set."""
        with torch.no_grad():
            for layer in self.layers:
                assert layer.rounded is not None
                layer.rounded.copy_(layer.weight)


class CompiledAdam:
    """The step of an optimizer of torch, with its state, its settings and the rounded weights of layers.

    Args:
        optimizer: Adam, whose moments are used and kept.
        rounded: Copies of weights.
        epsilon: Added to the root of second moments.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, rounded: RoundedWeights, *, epsilon: float) -> None:
        self.optimizer, self.epsilon = optimizer, epsilon
        self.copies = {id(layer.weight): layer.rounded for layer in rounded.layers}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                state = optimizer.state[parameter]
                state["step"] = torch.zeros((), device=parameter.device)
                state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        self._update = torch.compile(_update, dynamic=False)

    def zero_grad(self) -> None:
        """Forget derivatives."""
        self.optimizer.zero_grad()
        for copy in self.copies.values():
            assert copy is not None
            copy.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Make a step with the derivatives that are there."""
        for group in self.optimizer.param_groups:
            items: list[tuple[Any, ...]] = []
            for parameter in group["params"]:
                copy = self.copies.get(id(parameter))
                grad = parameter.grad if copy is None else copy.grad
                if grad is None:
                    continue
                state = self.optimizer.state[parameter]
                items.append((parameter.data, grad, state["exp_avg"], state["exp_avg_sq"], state["step"], copy))
            weights, grads, first, second, steps, copies = (list(each) for each in zip(*items, strict=True))
            kept = [None if copy is None else copy.detach() for copy in copies]
            beta_1, beta_2 = group["betas"]
            self._update(weights, grads, first, second, steps, kept, group["lr"], beta_1, beta_2, self.epsilon)


def _update(
    weights: list[Tensor],
    grads: list[Tensor],
    first: list[Tensor],
    second: list[Tensor],
    steps: list[Tensor],
    copies: list[Tensor | None],
    rate: float | Tensor,
    beta_1: float,
    beta_2: float,
    epsilon: float,
) -> None:
    """Adam (Kingma & Ba 2015, Algorithm 1), of every tensor in one pass."""
    number = steps[0] + 1
    size = rate / (1 - beta_1**number)
    root = (1 - beta_2**number).sqrt()
    for weight, grad, mean, square, copy in zip(weights, grads, first, second, copies, strict=True):
        g = grad.float()
        m = beta_1 * mean + (1 - beta_1) * g
        v = beta_2 * square + (1 - beta_2) * g * g
        new = weight - size * m / (v.sqrt() / root + epsilon)
        mean.copy_(m)
        square.copy_(v)
        weight.copy_(new)
        if copy is not None:
            copy.copy_(new)
    for step in steps:
        step.copy_(number)
