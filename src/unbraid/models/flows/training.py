"""Objectives and training loop of flows.

An objective takes a flow, a batch, its labels and a random generator, and returns one number for each sample.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.func import jvp, vmap

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least, to_array
from unbraid._base.files import output_folder
from unbraid._base.optional import torch_device
from unbraid._base.progress import Show
from unbraid.models.flows.flow import Flow
from unbraid.models.flows.loop import FlowLearner, FlowRun, Objective, learn


def negative_log_likelihood(
    flow: Flow, x: Tensor, labels: Tensor | None = None, generator: torch.Generator | None = None
) -> Tensor:
    r"""Return :math:`-\log p(x)` in nats: maximum likelihood, Eq. D.1 of Galperin and Köthe (2025)."""
    return -flow.log_prob(x, labels)


def manifold_total_correlation(
    flow: Flow,
    x: Tensor,
    labels: Tensor | None = None,
    *,
    n_columns: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Return the total correlation of the latent manifolds at data, in nats.

    .. math:: \mathcal I(x) = \sum_i \log|J_i(f(x))| - \log|\det J(f(x))|

    Args:
        flow: The flow.
        x: Data, shape ``(n, size)``.
        labels: Their classes, for a flow that sees them.
        n_columns: Columns of the Jacobian to look at, drawn afresh each time; the sum over the others is estimated from
            theirs, without bias. All by default.
        generator: Draws the columns.

    Returns:
        Shape ``(n,)``. With all columns at least 0, and 0 where the columns of the Jacobian are orthogonal.

    References:
        Galperin and Köthe (2025), Eq. D.2; Cunningham et al. (2022), Principal component flows, Eq. 14.
    """
    z, log_determinant = flow.encode_with_log_determinant(x, labels)
    return _log_lengths(flow, z, labels, n_columns, generator) + log_determinant


def core_reconstruction(flow: Flow, x: Tensor, labels: Tensor | None = None, *, core: Sequence[int]) -> Tensor:
    r"""Return half the squared error of data rebuilt from their core latents alone.

    .. math:: \mathcal L_\text{rec}(x) = \tfrac12 |x - g([f_C(x), 0])|^2

    Args:
        flow: The flow.
        x: Data, shape ``(n, size)``.
        labels: Their classes, for a flow that sees them.
        core: Which latents are kept, C; the others are set to 0.

    References:
        Galperin and Köthe (2025), Eqs. D.3 and E.1.
    """
    return _rebuilt_error(flow, x, labels, _core_mask(flow, x, core))


def with_total_correlation(weight: float = 1.0, *, n_columns: int | None = None) -> Objective:
    """Return the objective of maximum likelihood plus ``weight`` times the total correlation of the manifolds.

    Args:
        weight: Of the total correlation, at least 0.
        n_columns: See :func:`manifold_total_correlation`.
    """
    check_at_least("weight", weight, 0)

    def objective(flow: Flow, x: Tensor, labels: Tensor | None, generator: torch.Generator) -> Tensor:
        # Latents and determinant are needed by both terms, so they are computed once.
        z, log_determinant = flow.encode_with_log_determinant(x, labels)
        lengths = _log_lengths(flow, z, labels, n_columns, generator)
        return weight * lengths - flow.prior.log_prob(z, labels) + (weight - 1) * log_determinant

    return objective


def with_reconstruction(core: Sequence[int], weight: float = 1.0) -> Objective:
    """Return the objective of maximum likelihood plus ``weight`` times the reconstruction through the core.

    Args:
        core: Latents that are kept.
        weight: Of the reconstruction, at least 0.
    """
    check_at_least("weight", weight, 0)
    masks: dict[tuple[torch.device, torch.dtype, int], Tensor] = {}

    def objective(flow: Flow, x: Tensor, labels: Tensor | None, generator: torch.Generator) -> Tensor:
        # Made once: a recorded step cannot copy numbers from the processor.
        kind = (x.device, x.dtype, flow.size)
        if kind not in masks:
            masks[kind] = _core_mask(flow, x, core)
        return negative_log_likelihood(flow, x, labels) + weight * _rebuilt_error(flow, x, labels, masks[kind])

    return objective


def _core_mask(flow: Flow, x: Tensor, core: Sequence[int]) -> Tensor:
    """Return 1 for latents that are kept and 0 for others."""
    mask = torch.zeros(flow.size, device=x.device, dtype=x.dtype)
    mask[list(core)] = 1
    return mask


def _rebuilt_error(flow: Flow, x: Tensor, labels: Tensor | None, is_core: Tensor) -> Tensor:
    rebuilt = flow.decode(flow.encode(x, labels) * is_core, labels)
    return 0.5 * (x - rebuilt).square().sum(dim=-1)


def _log_lengths(
    flow: Flow, z: Tensor, labels: Tensor | None, n_columns: int | None, generator: torch.Generator | None
) -> Tensor:
    """Return the sum over latents of the log-length of their column, or an estimate of it from some columns."""
    directions = torch.eye(flow.size, device=z.device, dtype=z.dtype)
    if n_columns is not None and n_columns < flow.size:
        check_at_least("n_columns", n_columns, 1)
        drawn = torch.randperm(flow.size, generator=generator)[:n_columns]
        directions = directions[drawn.to(z.device)]

    def column(direction: Tensor) -> Tensor:
        found: Tensor = jvp(lambda at: flow.decode(at, labels), (z,), (direction.expand_as(z),))[1]
        return found

    lengths: Tensor = torch.linalg.vector_norm(vmap(column)(directions), dim=-1).log()
    return lengths.mean(dim=0) * flow.size


#: Samples from which normalisations are set before the first step.
SET_FROM = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedFlow:
    """A trained flow and its losses.

    Attributes:
        flow: The flow, in evaluation mode, on the device it was trained on.
        losses: Mean objective of each step.
        seconds: Duration, from the last checkpoint on.
        best_step: The step whose state was kept, where data were held out.
    """

    flow: Flow
    losses: FloatArray
    seconds: float
    best_step: int | None = None


def train_flow(
    flow: Flow,
    data: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    objective: Objective = negative_log_likelihood,
    n_steps: int = 1000,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    noise: float = 0.0,
    held_out: ArrayLike | None = None,
    held_out_labels: ArrayLike | None = None,
    check_every: int = 250,
    out: str | Path | None = None,
    recorded: bool = False,
    device: str = "cpu",
    seed: int = 0,
    progress: Show = None,
) -> TrainedFlow:
    """Train a flow on data, in place.

    Adam, with a learning rate that rises for a twentieth of the steps and falls along half a cosine; gradients are
    shortened to length 10. Normalisations, and the classes of a mixture, are first set from data. On a CPU the same
    seed gives the same flow.

    Args:
        flow: From one of the makers, such as :func:`spline_flow`.
        data: Shape ``(n_samples, flow.size)``; images are flat.
        labels: Whole numbers from 0, one for each sample, for flows or priors with classes.
        objective: :func:`negative_log_likelihood`, :func:`with_total_correlation`, :func:`with_reconstruction`, or your
            own function of flow, batch, labels and generator.
        n_steps: Batches to learn from.
        batch_size: Samples of a batch.
        learning_rate: At its highest.
        noise: Deviation of Gaussian noise added to every batch afresh.
        held_out: Data that are not learned from: the flow ends in the state that has the lowest objective on them, of
            those looked at.
        held_out_labels: Their classes.
        check_every: Steps between two looks at held-out data, and between two checkpoints.
        out: Folder for a checkpoint. A run that is there already goes on where it stopped; one with other settings or
            data is refused.
        recorded: Record the step as a CUDA graph and replay it, for a deep flow whose many small operations keep a GPU
            waiting. An objective that itself waits for the GPU cannot be recorded.
        device: ``"cpu"`` or ``"cuda"``.
        seed: Draws batches, noise and columns.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Returns:
        The trained flow, its losses and the time.

    Raises:
        ValueError: Data or labels of the wrong shape or not finite, an option out of range, a device that is not there,
            or a loss that is no longer a number.

    Example:
        >>> import numpy as np
        >>> from unbraid.models.flows import affine_flow, train_flow
        >>> data = np.random.default_rng(0).normal(size=(512, 2)) * [3.0, 0.1]
        >>> trained = train_flow(affine_flow(2, n_blocks=2), data, n_steps=50)
        >>> bool(trained.losses[-10:].mean() < 2.0)  # the entropy of the data is 1.63 nats
        True
    """
    for name, value, least in (
        ("n_steps", n_steps, 1),
        ("batch_size", batch_size, 2),
        ("noise", noise, 0),
        ("check_every", check_every, 1),
    ):
        check_at_least(name, value, least)
    if not learning_rate > 0:
        raise ValueError(f"learning_rate must be above 0, got {learning_rate}.")
    where = torch_device(device)
    if recorded and where.type != "cuda":
        raise ValueError("recorded is for device 'cuda'; leave it out on a processor.")
    x, y = _tensors(flow, data, labels, where)
    unseen = None if held_out is None else _tensors(flow, held_out, held_out_labels, where)
    run = FlowRun(
        n_steps=n_steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        noise=noise,
        seed=seed,
        check_every=check_every,
    )

    started = time.perf_counter()
    flow.to(where).train()
    initialise(flow, x, y, noise=noise, seed=seed)
    learner = FlowLearner(flow, x, y, objective, run, recorded=recorded)
    with nullcontext(None) if out is None else output_folder("out", out) as folder:
        learn(learner, unseen, folder, progress)
    flow.eval()
    losses = _finite(torch.stack(learner.losses).cpu().numpy(), learning_rate)
    best = None if learner.best is None else learner.best[1]
    return TrainedFlow(flow=flow, losses=losses, seconds=time.perf_counter() - started, best_step=best)


def initialise(flow: Flow, x: Tensor, labels: Tensor | None, *, noise: float, seed: int) -> None:
    """Set normalisations and classes from the first samples, with the noise that training adds.

    Without the noise, a pixel that is the same in all pictures has a deviation of 0, and the noise of the first step
    would be stretched beyond what numbers can hold.
    """
    first = torch.Generator().manual_seed(seed)
    start = x[:SET_FROM]
    noisy = start + noise * torch.randn(start.shape, generator=first).to(x) if noise else start
    flow.set_from(noisy, None if labels is None else labels[:SET_FROM])


def _finite(losses: FloatArray, learning_rate: float) -> FloatArray:
    bad = np.flatnonzero(~np.isfinite(losses))
    if bad.size:
        raise ValueError(
            f"the loss stopped being a number at step {bad[0] + 1}; "
            f"give a smaller learning_rate than {learning_rate:g} or a smaller weight."
        )
    return losses.astype(np.float64)


def _tensors(
    flow: Flow, data: ArrayLike, labels: ArrayLike | None, where: torch.device
) -> tuple[Tensor, Tensor | None]:
    kind = next(flow.parameters()).dtype
    x = torch.as_tensor(np.asarray(to_array(data), dtype=np.float64)).to(where, kind)
    if x.ndim != 2 or x.shape[1] != flow.size:
        raise ValueError(f"data must have shape (n_samples, {flow.size}), got {tuple(x.shape)}; flatten images first.")
    if len(x) < 2:
        raise ValueError(f"data must have at least 2 samples, got {len(x)}.")
    if not torch.isfinite(x).all():
        raise ValueError("data must be finite, got NaN or inf; drop those samples.")
    if labels is None:
        return x, None
    y = torch.as_tensor(np.asarray(to_array(labels)))
    n_classes = flow.n_classes or getattr(flow.prior, "n_classes", 0)
    if y.shape != x.shape[:1] or y.is_floating_point():
        raise ValueError(f"labels must be {len(x)} whole numbers, got {y.dtype} of shape {tuple(y.shape)}.")
    if n_classes and not (int(y.min()) >= 0 and int(y.max()) < n_classes):
        raise ValueError(f"labels must be from 0 to {n_classes - 1}, got {int(y.min())} to {int(y.max())}.")
    return x, y.to(where, torch.long)
