"""Factor subspaces by the published procedure: networks on a linear spine that narrows to one dimension.

For each factor a chain of projections takes the codes to fewer and fewer dimensions, and a network of its own predicts
the factor from each; all are trained together, so that every projection drops what the factor misses least. See
Geyer et al. (2024), sec. 3.1 and app. F.5, https://arxiv.org/abs/2407.03728. By default heads are small, spines start
from directional regression and the learning rate falls to 0, which takes a tenth of the time; the option ``heads`` has
the published layers, start and learning rate. In either case the wide end is cut short in large code spaces, rows are
split 70 : 15 : 15, and losses are set to the lowest where they are not significantly above it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn import functional

from unbraid._base.arrays import FloatArray
from unbraid._base.optional import torch_device
from unbraid.evidence.subspaces.geometry import (
    Frame,
    HeadTarget,
    frame_of,
    nested_basis,
    settled_losses,
    sliced_directions,
    slices_of,
    spine_widths,
)
from unbraid.evidence.subspaces.losses import rounding_floor
from unbraid.evidence.subspaces.options import USUAL_RANK, NestedTraining, Subspace, SubspaceOptions
from unbraid.probes.splits import Split, check_enough_labels, stratified_split
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

#: Rows that pass through all networks at once, without gradients.
ROWS_AT_ONCE = 2048
#: Most validation rows for early stopping.
VALIDATION_ROWS = 4096
_ABSENT = -1e9
#: Share of a new batch in the running means of batch normalisation, and what keeps its divisor from 0.
MOMENTUM, LEAST_VARIANCE = 0.1, 1e-5


class NestedFit(NamedTuple):
    """One factor in one representation.

    Attributes:
        basis: Orthonormal columns, most important first, ``(n_codes, n_axes)``.
        losses: Loss of every test row with no axis, the first, the first two, ..., ``(n_axes + 1, n_rows)``: squared
            error in the units of the target, cross-entropy in nats, or 1 for an error.
        history: Step, and validation loss of the network of each number of axes as a share of the loss with none, at
            every look during training, ``(n_looks, 1 + n_axes)``.
    """

    basis: NDArray[np.float64]
    losses: NDArray[np.float64]
    history: NDArray[np.float64]


def fit_nested(
    codes: NDArray[Any],
    targets: Sequence[HeadTarget],
    *,
    max_rank: int,
    zero_one: bool = False,
    device: str = "cpu",
    rng: np.random.Generator,
    training: NestedTraining | None = None,
) -> list[list[NestedFit]]:
    """Train spines and heads for every representation and factor at once.

    Args:
        codes: ``(n_representations, n_samples, n_codes)``.
        targets: One for each factor.
        max_rank: Axes to report.
        zero_one: Measure the share of errors of categories rather than the cross-entropy they are trained by.
        device: ``"cpu"`` or ``"cuda"``.
        rng: Source of chance.
        training: Options of training.

    Returns:
        For each representation, one fit for each factor.
    """
    torch_device(device)
    codes = np.asarray(codes, dtype=np.float64)
    frames = [frame_of(one) for one in codes]
    x = torch.as_tensor(np.stack([frame.standardise(one) for frame, one in zip(frames, codes, strict=True)]))
    widths = spine_widths(max(1, *(frame.rank for frame in frames)), max_rank)
    fits: list[list[NestedFit]] = [[] for _ in codes]
    order: list[int] = []
    numbers = [k for k, target in enumerate(targets) if not target.n_classes]
    classes = [k for k, target in enumerate(targets) if target.n_classes]
    for group in filter(None, (numbers, classes)):
        order += group
        data = _Data(x.to(device, torch.float32), [targets[k] for k in group], rng)
        heads, history = _train(data, widths, rng, training or NestedTraining())
        found = _measure(heads, history, data, frames, min(max_rank, widths[0]), zero_one)
        for fit, more in zip(fits, found, strict=True):
            fit += more
    return [[fit[order.index(k)] for k in range(len(targets))] for fit in fits]


class _Data:
    """Codes and targets on the device, and the rows of each factor's split."""

    def __init__(self, x: Tensor, targets: Sequence[HeadTarget], rng: np.random.Generator) -> None:
        splits = [stratified_split(t.values[:, 0], categorical=bool(t.n_classes), rng=rng) for t in targets]
        self.x, self.n_representations, self.n_factors = x, len(x), len(targets)
        self.classes = bool(targets[0].n_classes)
        self.n_outputs = max(target.n_outputs for target in targets)
        scaled = [_standardised(target, split.train) for target, split in zip(targets, splits, strict=True)]
        y, self.units = [values for values, _ in scaled], [unit for _, unit in scaled]
        padded = np.stack([np.pad(one, ((0, 0), (0, max(v.shape[1] for v in y) - one.shape[1]))) for one in y])
        self.y = torch.as_tensor(np.nan_to_num(padded)).to(x.device, torch.int64 if self.classes else torch.float32)
        used = torch.arange(self.n_outputs) < torch.tensor([target.n_outputs for target in targets])[:, None]
        self.used = self.per_unit(used.to(x.device))[:, None, None]
        parts = ([s.train for s in splits], [s.validation for s in splits], [s.test for s in splits])
        self.train, self.validation, self.test = (self._table(rows) for rows in parts)
        self.splits, self.keys = splits, [target.values[:, 0] for target in targets]
        self.baseline = [_baseline(t, v, s) for t, v, s in zip(targets, y, splits, strict=True)]

    def _table(self, rows: list[NDArray[np.intp]]) -> Tensor:
        """Rows of every factor, those of factors with fewer repeated, ``(n_factors, n_rows)``."""
        longest = max(len(one) for one in rows)
        return torch.as_tensor(np.stack([np.resize(one, longest) for one in rows])).to(self.x.device)

    def per_unit(self, values: Tensor) -> Tensor:
        """Repeat a tensor over factors for every representation."""
        return values.expand(self.n_representations, *values.shape).flatten(0, 1)

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Codes ``(n_units, n_rows, n_codes)`` and targets ``(n_units, n_rows, n_values)``, a unit for each network."""
        factor = torch.arange(self.n_factors, device=rows.device)[:, None]
        return self.x[:, rows].flatten(0, 1), self.per_unit(self.y[factor, rows])

    def guess(self, width: int) -> Tensor:
        """Orthonormal rows, likely directions first, for the first projection of every unit."""
        x = self.x.double().cpu().numpy()
        parts = [(slices_of(key[split.train]), split.train) for key, split in zip(self.keys, self.splits, strict=True)]
        axes = [sliced_directions(one[rows], slices)[:, :width].T for one in x for slices, rows in parts]
        return torch.as_tensor(np.stack(axes)).to(self.x.device, torch.float32)

    def losses(self, outputs: Tensor, y: Tensor, *, zero_one: bool = False) -> Tensor:
        """Loss of every unit, head and row."""
        if not self.classes:
            squared: Tensor = ((outputs - y[:, None]).square() * self.used).sum(-1)
            return squared
        logits = outputs.masked_fill(~self.used, _ABSENT)
        labels = y[:, None, :, 0].expand(logits.shape[:-1])
        if zero_one:
            return (logits.argmax(-1) != labels).float()
        return functional.cross_entropy(logits.flatten(0, 2), labels.flatten(), reduction="none").view(labels.shape)


def _standardised(target: HeadTarget, train: NDArray[np.intp]) -> tuple[NDArray[np.float64], float]:
    """Numbers of mean 0 and total variance 1, and the variance they had; categories as they are, and 1."""
    if target.n_classes:
        return target.values, 1.0
    values = target.values - target.values[train].mean(axis=0)
    variance = float(np.square(values[train]).mean(axis=0).sum()) or 1.0
    return values / np.sqrt(variance), variance


def _baseline(target: HeadTarget, values: NDArray[np.float64], split: Split) -> tuple[NDArray[np.float64], ...]:
    """Test loss of every row of the best guess without codes, and its share of errors."""
    if not target.n_classes:
        return (np.square(values[split.test]).sum(axis=1),) * 2
    counts = np.bincount(values[split.train, 0].astype(int), minlength=target.n_classes)
    labels = values[split.test, 0].astype(int)
    share = np.maximum(counts, 0.5) / counts.sum()
    return -np.log(share[labels]), (labels != counts.argmax()).astype(float)


class _Heads:
    """Spines and heads of all units: every tensor has a leading axis of units, so that a layer is one product."""

    def __init__(
        self,
        data: _Data,
        widths: tuple[int, ...],
        training: NestedTraining,
        start: Tensor | None,
        generator: torch.Generator,
    ) -> None:
        def uniform(bound: float, *shape: int) -> Tensor:
            return (torch.rand(n_units, *shape, generator=generator, device=device) * 2 - 1) * bound

        def projection(narrow: int, wide: int) -> Tensor:
            columns: Tensor = torch.linalg.qr(torch.randn(n_units, wide, narrow, generator=generator, device=device))[0]
            return columns.mT.contiguous()

        device, n_heads, hidden = data.x.device, len(widths), training.hidden
        n_units, n_codes = data.n_representations * data.n_factors, data.x.shape[2]
        self.widths = widths
        if start is None:
            self.spine = [projection(n, w) for n, w in zip(widths, (n_codes, *widths), strict=False)]
        else:
            narrowed = [torch.eye(n, w, device=device).repeat(n_units, 1, 1) for w, n in pairwise(widths)]
            self.spine = [start.clone(), *narrowed]
        first = torch.stack([uniform(math.sqrt(6 / w), hidden[0], widths[0]) for w in widths], dim=1)
        self.layers = [first, uniform(1.0, n_heads, 1, hidden[0])]
        for width, more in pairwise(hidden):
            self.layers.append(uniform(math.sqrt(6 / width), n_heads, width, more))
            self.layers.append(torch.zeros(n_units, n_heads, 1, more, device=device))
        self.layers.append(uniform(math.sqrt(1 / hidden[-1]), n_heads, hidden[-1], data.n_outputs))
        self.layers.append(torch.zeros(n_units, n_heads, 1, data.n_outputs, device=device))
        self.norms = [_Norm(n_units, n_heads, width, device) for width in hidden] if training.batch_norm else []
        for tensor in self.parameters:
            tensor.requires_grad_()

    @property
    def parameters(self) -> list[Tensor]:
        return [*self.spine, *self.layers, *(tensor for norm in self.norms for tensor in (norm.scale, norm.shift))]

    @property
    def state(self) -> list[Tensor]:
        """Parameters, and running means that are not trained."""
        return [*self.parameters, *(tensor for norm in self.norms for tensor in (norm.mean, norm.variance))]

    def __call__(self, x: Tensor) -> Tensor:
        """Predict from ``(n_units, n_rows, n_codes)``; ``(n_units, n_heads, n_rows, n_outputs)``."""
        first, bias, *others = self.layers
        entry = x @ self.spine[0].mT
        # A head's first layer goes through the spine once, as weights, rather than with every row.
        weights = first @ self._from_entry()
        h = self._active(0, _linear(entry[:, None].expand(-1, len(self.widths), -1, -1), weights.mT, bias))
        for number in range(len(others) // 2 - 1):
            h = self._active(number + 1, _linear(h, others[2 * number], others[2 * number + 1]))
        return _linear(h, others[-2], others[-1])

    def _active(self, layer: int, h: Tensor) -> Tensor:
        """Normalise where that is asked for, and cut below 0."""
        return functional.relu(self.norms[layer](h) if self.norms else h)

    def _from_entry(self) -> Tensor:
        """Projections from the first width to all, rows of zeros below, ``(n_units, n_heads, widest, widest)``."""
        widest = self.widths[0]
        composed = [torch.eye(widest, device=self.spine[0].device).expand(len(self.spine[0]), widest, widest)]
        for link in self.spine[1:]:
            composed.append(link @ composed[-1])
        return torch.stack([functional.pad(p, (0, 0, 0, widest - p.shape[1])) for p in composed], dim=1)

    def projections(self) -> list[Tensor]:
        """Projections from code space to every width, narrowest first, ``(n_units, width, n_codes)``."""
        composed = [self.spine[0].detach().double().cpu()]
        for link in self.spine[1:]:
            composed.append(link.detach().double().cpu() @ composed[-1])
        return composed[::-1]


class _Norm:
    """Batch normalisation of one layer of all heads of all units; running means where no gradient is taken."""

    def __init__(self, n_units: int, n_heads: int, width: int, device: torch.device) -> None:
        shape = (n_units, n_heads, 1, width)
        self.scale, self.shift = torch.ones(shape, device=device), torch.zeros(shape, device=device)
        self.mean, self.variance = torch.zeros(shape, device=device), torch.ones(shape, device=device)

    def __call__(self, h: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return (h - self.mean) * torch.rsqrt(self.variance + LEAST_VARIANCE) * self.scale + self.shift
        variance, mean = torch.var_mean(h, dim=2, keepdim=True)
        self.mean.lerp_(mean.detach(), MOMENTUM)
        self.variance.lerp_(variance.detach(), MOMENTUM)
        return (h - mean) * torch.rsqrt(variance + LEAST_VARIANCE) * self.scale + self.shift


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """One layer of all heads of all units."""
    product = torch.baddbmm(bias.flatten(0, 1), x.flatten(0, 1), weight.flatten(0, 1))
    return product.view(*weight.shape[:2], *product.shape[1:])


def _train(
    data: _Data, widths: tuple[int, ...], rng: np.random.Generator, training: NestedTraining
) -> tuple[_Heads, list[tuple[int, Tensor]]]:
    """Train until no unit's validation loss improves, and keep the best weights of every unit.

    Returns:
        The heads, and the step and validation loss of every unit and head, ``(n_units, n_heads)``, at every look.
    """
    generator = torch.Generator(data.x.device).manual_seed(int(rng.integers(2**63 - 1)))
    start = data.guess(widths[0]) if training.start == "slices" else None
    heads = _Heads(data, widths, training, start, generator)
    optimiser = torch.optim.Adam(heads.parameters, lr=training.learning_rate, betas=(0.9, 0.99))
    best = [p.detach().clone() for p in heads.state]
    lowest = torch.full((len(best[0]),), math.inf, device=data.x.device)
    stale, history = 0, []
    batches = _batches(data.train, training.batch_size, generator)
    for step in range(1, training.n_steps + 1):
        if training.decay:
            for group in optimiser.param_groups:
                group["lr"] = training.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - 1) / training.n_steps))
        x, y = data.batch(next(batches))
        # Each unit has parameters of its own: the sum over units trains each as if it were alone.
        loss = data.losses(heads(x), y).mean(dim=(1, 2)).sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if step % training.check_every == 0 or step == training.n_steps:
            each = _over_rows(heads, data, data.validation[:, :VALIDATION_ROWS]).mean(dim=2)
            history.append((step, each))
            current = each.mean(dim=1)
            better = current < lowest
            lowest = torch.where(better, current, lowest)
            for kept, p in zip(best, heads.state, strict=True):
                kept[better] = p.detach()[better]
            stale = 0 if bool(better.any()) else stale + 1
            if stale == training.patience:
                break
    for kept, p in zip(best, heads.state, strict=True):
        p.detach().copy_(kept)
    return heads, history


def _batches(rows: Tensor, size: int, generator: torch.Generator) -> Any:
    """Rows of every factor in random order, over and over."""
    while True:
        order = torch.rand(rows.shape, generator=generator, device=rows.device).argsort(dim=1)
        shuffled = rows.gather(1, order)
        size = min(size, rows.shape[1])
        for start in range(0, rows.shape[1] - size + 1, size):
            yield shuffled[:, start : start + size]


@torch.no_grad()
def _over_rows(heads: _Heads, data: _Data, rows: Tensor, *, zero_one: bool = False) -> Tensor:
    """Losses of every unit, head and row, some rows at a time."""
    parts = []
    for some in torch.split(rows, ROWS_AT_ONCE, dim=1):
        x, y = data.batch(some)
        parts.append(data.losses(heads(x), y, zero_one=zero_one))
    return torch.cat(parts, dim=2)


def _measure(
    heads: _Heads,
    history: list[tuple[int, Tensor]],
    data: _Data,
    frames: list[Frame],
    n_axes: int,
    zero_one: bool,
) -> list[list[NestedFit]]:
    """Bases in the space of the original codes, and test losses, narrowest head first."""
    losses = _over_rows(heads, data, data.test, zero_one=zero_one)[:, -n_axes:].flip(1).double().cpu().numpy()
    projections = [p.numpy() for p in heads.projections()[:n_axes]]
    steps = np.array([step for step, _ in history], dtype=float)
    looks = torch.stack([each for _, each in history])[:, :, -n_axes:].flip(2).double().cpu().numpy()
    fits: list[list[NestedFit]] = []
    for m, frame in enumerate(frames):
        fits.append([])
        for k, (baseline, unit) in enumerate(zip(data.baseline, data.units, strict=True)):
            u = m * data.n_factors + k
            blind = baseline[int(zero_one)]
            basis = nested_basis([frame.to_codes(p[u]) for p in projections])
            shares = looks[:, u] / (float(baseline[0].mean()) or 1.0)
            fits[-1].append(
                NestedFit(
                    basis=basis,
                    losses=unit * np.vstack([blind, losses[u, :, : len(blind)]]),
                    history=np.column_stack([steps, shares]),
                )
            )
    return fits


def nested_subspaces(rep: Representation, options: SubspaceOptions, rng: np.random.Generator) -> list[Subspace]:
    """Find the subspace of every factor; all networks of all factors train as one.

    Args:
        rep: Codes and factors; rows without a label do not count for that factor.
        options: Largest rank, loss and device.
        rng: Source of chance: splits, starting values and batches. On the CPU the same seed gives the same result.

    Returns:
        One subspace for each factor, with ``min(max_rank, rank of the codes)`` axes (10 by default). Losses are
        those of a held-out 15 % of the labelled rows: squared error in the factor's units (cosine and sine for a
        circular one), or for a categorical one cross-entropy in nats or the share of errors.

    Raises:
        ValueError: A factor with fewer than ten labelled rows, or a GPU asked for where there is none.
    """
    return nested_subspaces_many(rep.codes[None], rep.factors, options, rng)[0]


def nested_subspaces_many(
    codes: ArrayLike,
    factors: Sequence[Factor],
    options: SubspaceOptions,
    rng: np.random.Generator,
    *,
    training: NestedTraining | None = None,
) -> list[list[Subspace]]:
    """Find the subspaces of the same factors in several representations, trained at once.

    Args:
        codes: ``(n_representations, n_samples, n_codes)``, finite.
        factors: One row for each sample, as in :attr:`Representation.factors`.
        options: As in :func:`nested_subspaces`.
        rng: As in :func:`nested_subspaces`.
        training: Sizes and steps; by default those of ``options``.

    Returns:
        For each representation, one subspace for each factor.
    """
    array = np.asarray(codes, dtype=np.float64)
    if array.ndim != 3:
        raise ValueError(f"codes must have shape (n_representations, n_samples, n_codes), got {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError("codes must be finite, got NaN or inf.")
    for factor in factors:
        _check_rows(factor, array.shape[1])
    fits = fit_nested(
        array,
        [_target(factor) for factor in factors],
        max_rank=options.max_rank or USUAL_RANK,
        zero_one=options.loss == "zero_one",
        device=options.device,
        rng=rng,
        training=training or options.training,
    )
    return [[_subspace(fit, factor) for fit, factor in zip(row, factors, strict=True)] for row in fits]


def _check_rows(factor: Factor, n_samples: int) -> None:
    if len(factor.numbers) != n_samples:
        raise ValueError(
            f"codes and factors must have the same number of rows, got {n_samples} and {len(factor.numbers)}."
        )
    check_enough_labels(factor)


def _target(factor: Factor) -> HeadTarget:
    if not factor.is_numeric:
        return HeadTarget(values=factor.numbers[:, None], n_classes=len(factor.levels))
    rows = np.flatnonzero(factor.labelled)
    known = factor.targets(rows)
    values: FloatArray = np.full((len(factor.numbers), known.shape[1]), np.nan)
    values[rows] = known
    return HeadTarget(values=values)


def _subspace(fit: NestedFit, factor: Factor) -> Subspace:
    rows = np.flatnonzero(factor.labelled)
    losses = settled_losses(fit.losses)
    return Subspace(
        basis=fit.basis,
        losses=losses,
        floor=rounding_floor(factor, rows),
        history=fit.history,
        stopped=bool(fit.basis.shape[1] < len(fit.basis) and losses[-1] < losses[-2]),
    )
