"""Rows of each batch: drawn at random, of each member's own part, or drawn so that one factor alone varies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from unbraid._base.arrays import IntArray
from unbraid.models.ensemble.streams import Purpose, random_rows, uniform


class BatchPlan(Protocol):
    """How the rows of a batch are drawn."""

    def draw(self, seeds: Tensor, step: int, count: int, rest: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return rows ``[n_models, count]``, and for each model the kind of its batch.

        Args:
            seeds: Of the members; a member draws what it would draw alone.
            step: Steps made before.
            count: Rows of a batch.
            rest: Weight of batches in which the rest varies, against 1 for each factor.
        """

    def of(self, members: Sequence[int]) -> BatchPlan:
        """Return the plan of some members."""


class RandomRows:
    """Rows drawn independently, with replacement; there is one kind of batch, 0."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def draw(self, seeds: Tensor, step: int, count: int, rest: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return rows, and kind 0 for each model."""
        return random_rows(seeds, step, self.n_rows, count), torch.zeros_like(seeds)

    def of(self, members: Sequence[int]) -> RandomRows:
        """Return the same plan, which serves any members."""
        return self


class MemberRows:
    """Rows drawn independently, with replacement, from a part of the data set that each member has for itself.

    A member draws what it would draw alone from a data set of its rows.

    Args:
        parts: Numbers of the rows of each member.
        n_rows: Rows of the data set.
        device: Where rows are drawn.

    Raises:
        ValueError: A member without rows, or rows that the data set does not have.
    """

    def __init__(self, parts: Sequence[IntArray], n_rows: int, *, device: str) -> None:
        for number, part in enumerate(parts):
            if not len(part):
                raise ValueError(f"member_rows must have at least one row for each member, got none for {number}.")
            if min(part) < 0 or max(part) >= n_rows:
                raise ValueError(f"member_rows must be from 0 to {n_rows - 1}, got {min(part)} to {max(part)}.")
        self.parts, self.n_rows, self.device = parts, n_rows, device
        longest = max(map(len, parts))
        padded = np.stack([np.pad(np.asarray(part), (0, longest - len(part))) for part in parts])
        self.table = torch.as_tensor(padded, dtype=torch.int64, device=device)
        self.sizes = torch.tensor([[len(part)] for part in parts], device=device)

    def draw(self, seeds: Tensor, step: int, count: int, rest: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return rows, and kind 0 for each model."""
        places = random_rows(seeds, step, self.sizes, count)
        return self.table.gather(1, places), torch.zeros_like(seeds)

    def of(self, members: Sequence[int]) -> MemberRows:
        """Return the plan of some members."""
        return MemberRows([self.parts[m] for m in members], self.n_rows, device=self.device)


class OneFactorRows:
    """Batches whose rows differ in one factor, or in the rest: all that no code is reserved for.

    The rows of kind ``k`` agree in all factors but factor ``k`` of ``reserved``; the rows of the last kind agree in all
    of ``reserved``. For each kind the rows are sorted by the values they must agree in, so that a batch is a draw from
    the stretch of rows around any row.

    Args:
        factors: Of all rows, ``(n_rows, n_factors)``.
        reserved: Columns of the factors that have a code of their own.
        names: Of all factors, for messages.
        device: Where rows are drawn.

    Attributes:
        has_rest: Whether rows that agree in the reserved factors can differ at all.

    Raises:
        ValueError: No two rows differ in a reserved factor alone.
    """

    def __init__(self, factors: IntArray, reserved: Sequence[int], names: Sequence[str], *, device: str) -> None:
        others = [[j for j in range(factors.shape[1]) if j != column] for column in reserved]
        tables = [_stretches(factors[:, fixed]) for fixed in [*others, list(reserved)]]
        for column, (_, _, size) in zip(reserved, tables, strict=False):
            if size.max() < 2:
                raise ValueError(
                    f"data must have rows that differ in factor {names[column]!r} alone for batches in which it "
                    "varies, got none; leave it out of labels."
                )
        self.n_rows = len(factors)
        self.has_rest = bool(tables[-1][2].max() > 1)
        self.order, self.first, self.size = (
            torch.as_tensor(np.stack(part), dtype=torch.int32, device=device) for part in zip(*tables, strict=True)
        )

    def draw(self, seeds: Tensor, step: int, count: int, rest: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return rows and the number of the factor that varies, or of the rest, for each model."""
        weights = torch.ones(len(seeds), len(self.order), device=seeds.device)
        weights[:, -1] = (1.0 if rest is None else rest) if self.has_rest else 0.0
        bounds = weights.cumsum(dim=1)
        at = uniform(seeds, Purpose.KIND, step, (1,)) * bounds[:, -1:]
        kind = (at >= bounds[:, :-1]).sum(dim=1)
        around = random_rows(seeds, step, self.n_rows, 1)
        size, first = (table[kind[:, None], around].long() for table in (self.size, self.first))
        places = (uniform(seeds, Purpose.PLACES, step, (count,)) * size).long().clamp(max=size - 1)
        return self.order[kind[:, None], first + places].long(), kind

    def of(self, members: Sequence[int]) -> OneFactorRows:
        """Return the same plan, which serves any members."""
        return self


def _stretches(fixed: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return rows sorted by the values they must agree in, and for each row where its stretch begins and its length."""
    n_rows = len(fixed)
    cells = np.zeros(n_rows, dtype=np.intp)
    for column in fixed.T:
        cells = np.unique(cells * (int(column.max()) + 1) + column, return_inverse=True)[1]
    order = np.argsort(cells, kind="stable")
    size = np.bincount(cells)
    return order, (np.cumsum(size) - size)[cells], size[cells]


def plan_of(data: Any, n_rows: int, reserved: Sequence[str], *, device: str) -> BatchPlan:
    """Return the plan of a model: random rows unless codes are reserved for factors, given by name."""
    if not reserved:
        return RandomRows(n_rows)
    names = tuple(data.factor_names)
    factors = np.asarray(data.factors(np.arange(n_rows)))
    return OneFactorRows(factors, [names.index(name) for name in reserved], names, device=device)
