"""Steps of flow training: eager or recorded as a CUDA graph, with checkpoints and the best held-out state."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid._base.files import write_atomically
from unbraid._base.progress import Show, track
from unbraid.models.flows.flow import Flow

Objective = Callable[[Flow, Tensor, Tensor | None, torch.Generator], Tensor]
#: Longest gradient; a longer one is shortened to this.
MOST_GRADIENT = 10.0
#: Share of the steps in which the learning rate rises.
WARM_UP = 0.05
#: Adam's betas.
BETAS = (0.9, 0.99)
#: Steps before one is recorded as a CUDA graph, so that nothing is set up inside it.
N_WARM_UP = 3
#: Held-out samples of one call of the objective.
HELD_OUT_AT_ONCE = 2000
FILE_NAME = "flow.pt"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRun:
    """Length and settings of a training run, and where it is kept.

    Attributes:
        n_steps: Batches to learn from.
        batch_size: Samples of a batch.
        learning_rate: At its highest.
        noise: Deviation of Gaussian noise added to every batch afresh.
        seed: Draws batches, noise and columns.
        check_every: Steps between two looks at held-out data, and between two checkpoints.
    """

    n_steps: int
    batch_size: int
    learning_rate: float
    noise: float
    seed: int
    check_every: int

    def rate(self, step: int) -> float:
        """Return the learning rate after ``step`` steps: it rises, then falls along half a cosine."""
        return self.learning_rate * rate_share(step, self.n_steps)


def rate_share(step: int, n_steps: int) -> float:
    """Return the learning rate as a share of its highest."""
    warm_up = max(1.0, WARM_UP * n_steps)
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + float(np.cos(np.pi * (step - warm_up) / max(1.0, n_steps - warm_up))))


class Rows:
    """Rows of batches without end, epoch by epoch; the last incomplete batch of an epoch is left out.

    Args:
        n_samples: Samples of the data.
        batch_size: Samples of a batch.
        generator: Draws the order of every epoch.
    """

    def __init__(self, n_samples: int, batch_size: int, generator: torch.Generator) -> None:
        self.n_samples, self.batch_size, self.generator = n_samples, batch_size, generator
        self.order, self.start = torch.empty(0, dtype=torch.int64), n_samples

    def __next__(self) -> Tensor:
        if self.start + self.batch_size > self.n_samples:
            self.order, self.start = torch.randperm(self.n_samples, generator=self.generator), 0
        found = self.order[self.start : self.start + self.batch_size]
        self.start += self.batch_size
        return found


class FlowLearner:
    """A flow in training: its optimizer, its source of chance and its losses.

    Args:
        flow: On its device, set from data.
        x: Data.
        y: Their classes.
        objective: Of each sample.
        run: Length and settings.
        recorded: Record the step as a CUDA graph.
    """

    def __init__(
        self, flow: Flow, x: Tensor, y: Tensor | None, objective: Objective, run: FlowRun, *, recorded: bool
    ) -> None:
        self.flow, self.x, self.y, self.objective, self.run = flow, x, y, objective, run
        self.generator = torch.Generator().manual_seed(run.seed)
        # Noise of a whole batch is drawn where it is needed: on a processor it would take longer than the step.
        on_gpu = x.device.type == "cuda"
        self.of_noise = torch.Generator(x.device).manual_seed(run.seed) if on_gpu else self.generator
        self.rows = Rows(len(x), min(run.batch_size, len(x)), self.generator)
        rate = torch.tensor(0.0, device=x.device) if recorded else 0.0
        self.optimiser = torch.optim.Adam(flow.parameters(), lr=rate, betas=BETAS, capturable=recorded)
        self.losses: list[Tensor] = []
        self.best: tuple[float, int, dict[str, Any]] | None = None
        self._recorded: _RecordedStep | None = None
        if recorded:
            self._recorded = _RecordedStep(self)

    def advance(self) -> None:
        """Make one step."""
        batch, labels = self.draw()
        for group in self.optimiser.param_groups:
            rate = self.run.rate(len(self.losses))
            # A recorded step reads the rate from a tensor, which is filled and not replaced.
            group["lr"] = group["lr"].fill_(rate) if isinstance(group["lr"], Tensor) else rate
        loss = self.make_step(batch, labels) if self._recorded is None else self._recorded.replay(batch, labels)
        self.losses.append(loss.clone())

    def draw(self) -> tuple[Tensor, Tensor | None]:
        """Return a batch with noise, and its classes."""
        chosen = next(self.rows).to(self.x.device)
        return self.with_noise(self.x[chosen]), None if self.y is None else self.y[chosen]

    def with_noise(self, x: Tensor) -> Tensor:
        """Return data with fresh noise."""
        if not self.run.noise:
            return x
        return x + self.run.noise * torch.randn(x.shape, generator=self.of_noise, device=self.of_noise.device).to(x)

    def make_step(self, batch: Tensor, labels: Tensor | None) -> Tensor:
        """Learn from a batch; returns the mean objective."""
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.objective(self.flow, batch, labels, self.generator).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.flow.parameters(), MOST_GRADIENT)
        self.optimiser.step()
        return loss.detach()

    @torch.no_grad()
    def look_at(self, held_out: tuple[Tensor, Tensor | None]) -> None:
        """Keep the present state if the objective of held-out data is the lowest so far."""
        x, y = held_out
        fixed = torch.Generator().manual_seed(self.run.seed)
        parts = []
        for start in range(0, len(x), HELD_OUT_AT_ONCE):
            chosen = slice(start, start + HELD_OUT_AT_ONCE)
            noise = self.run.noise * torch.randn(x[chosen].shape, generator=fixed).to(x)
            parts.append(self.objective(self.flow, x[chosen] + noise, None if y is None else y[chosen], fixed))
        value = float(torch.cat(parts).mean())
        if self.best is None or value < self.best[0]:
            self.best = (value, len(self.losses), copy.deepcopy(self.flow.state_dict()))

    def state(self) -> dict[str, Any]:
        """Return the state of training as tensors and numbers."""
        return {
            "flow": self.flow.state_dict(),
            "optimiser": self.optimiser.state_dict()["state"],
            "losses": torch.stack(self.losses).cpu(),
            "chance": (self.generator.get_state(), self.of_noise.get_state(), self.rows.order, self.rows.start),
            "best": self.best,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state that :meth:`state` returned."""
        self.flow.load_state_dict(state["flow"])
        self.losses = list(state["losses"].to(self.x.device))
        own, of_noise, self.rows.order, self.rows.start = state["chance"]
        self.generator.set_state(own)
        self.of_noise.set_state(of_noise)
        self.best = state["best"]
        groups = self.optimiser.state_dict()["param_groups"]
        if self._recorded is None:
            self.optimiser.load_state_dict({"state": state["optimiser"], "param_groups": groups})
            return
        # A recorded step refers to its tensors by address, so tensors are filled and not replaced.
        place = self.optimiser.state_dict()["state"]
        for number, moments in state["optimiser"].items():
            for name, value in moments.items():
                place[number][name].copy_(value)


class _RecordedStep:
    """A step as a CUDA graph, with the places that its batch and classes are copied to."""

    def __init__(self, learner: FlowLearner) -> None:
        start = {name: value.clone() for name, value in learner.flow.state_dict().items()}
        size = learner.rows.batch_size
        self.batch = learner.x[:size].clone()
        self.labels = None if learner.y is None else learner.y[:size].clone()
        beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(N_WARM_UP):
                learner.make_step(self.batch, self.labels)
        torch.cuda.current_stream().wait_stream(beside)
        learner.optimiser.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = learner.make_step(self.batch, self.labels)
        # The rate was 0, so that the weights have not moved, but Adam's moments have.
        learner.flow.load_state_dict(start)
        for moments in learner.optimiser.state.values():
            for value in moments.values():
                value.zero_()

    def replay(self, batch: Tensor, labels: Tensor | None) -> Tensor:
        """Make the step with another batch."""
        self.batch.copy_(batch)
        if self.labels is not None and labels is not None:
            self.labels.copy_(labels)
        self.graph.replay()
        return self.loss


def learn(
    learner: FlowLearner, held_out: tuple[Tensor, Tensor | None] | None, folder: Path | None, progress: Show
) -> None:
    """Make all steps, from a checkpoint in the folder on, and end with the best state where data are held out."""
    run = learner.run
    about = json.dumps({**asdict(run), "data": _digest(learner.x), "size": learner.flow.size}, sort_keys=True)
    if folder is not None and (folder / FILE_NAME).exists():
        learner.restore(_loaded(folder / FILE_NAME, about, learner.x.device))
    with track(run.n_steps, progress, doing="training") as bar:
        for _ in learner.losses:
            bar.advance()
        while len(learner.losses) < run.n_steps:
            learner.advance()
            bar.advance()
            step = len(learner.losses)
            if step % run.check_every and step < run.n_steps:
                continue
            if held_out is not None:
                learner.look_at(held_out)
            if folder is not None:
                state = {"about": about, **learner.state()}
                write_atomically(folder / FILE_NAME, partial(torch.save, state))
    if learner.best is not None:
        learner.flow.load_state_dict(learner.best[2])


def _digest(x: Tensor) -> str:
    rows = x[:: max(1, len(x) // 16)].cpu().numpy()
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()[:12]


def _loaded(path: Path, about: str, device: torch.device) -> dict[str, Any]:
    """Return a checkpoint.

    Raises:
        ValueError: A damaged file, or a run with other settings or data.
    """
    try:
        state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
        found = state["about"]
        state["chance"] = tuple(part.cpu() if isinstance(part, Tensor) else part for part in state["chance"])
    except Exception as error:
        raise ValueError(f"{str(path)!r} is damaged; delete it and train again.") from error
    if found != about:
        raise ValueError(
            f"out {str(path.parent)!r} holds a run with other settings or data; give the same, or another folder."
        )
    return state
