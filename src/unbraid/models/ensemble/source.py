"""Rows of data and their labels for all members of an ensemble, kept on the device where they fit."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor

from unbraid._base.arrays import AnyArray, IntArray
from unbraid.models.ensemble.plan import BatchPlan, MemberRows, RandomRows

if TYPE_CHECKING:
    from unbraid.data import FactorDataset

#: Rows read at once while data are copied to the device.
CHUNK = 4096
#: Rows that are hashed to identify a data set.
N_FINGERPRINT = 16
#: Bytes that data may take on a device.
MOST_MEMORY = {"cpu": 8 * 2**30, "cuda": 16 * 2**30}
#: Largest distance from a whole number of 255ths that counts as rounding.
LARGEST_LOSS = 1e-3


class Batches(Protocol):
    """Data of a training step."""

    def batch(self, rows: Tensor) -> Tensor:
        """Return rows ``[n_models, n]`` as data ``[n_models, n, *shape]``."""

    def labels(self, rows: Tensor) -> Tensor:
        """Return the labels of rows, ``[n_models, n, n_labels]``, counted from 0, or below 0 for an unknown one."""

    def draw(self, seeds: Tensor, step: int, count: int, rest: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the rows of a batch for each model, and the kind of each batch; see :class:`BatchPlan`."""


class BatchSource:
    """Batches of a data set on a device.

    Pictures whose values are whole multiples of 1/255 are kept as bytes, which loses nothing. On a GPU, other pictures
    that fit as bytes only are rounded to multiples of 1/255: fetched at each step, they would keep the GPU waiting.

    Args:
        data: A data set, or an array with one row for each observation.
        device: Where batches are wanted.
        memory: Bytes that the data may take there; larger data stay where they are and are fetched at each step.
        rounded: Whether pictures that fit as bytes only are rounded; by default on a GPU.
        labels: Of every row, ``(n_rows, n_labels)``; by default, all factors of the data set.
        plan: How rows of a batch are drawn; by default at random.
    """

    def __init__(
        self,
        data: FactorDataset | AnyArray,
        *,
        device: str = "cpu",
        memory: int = MOST_MEMORY["cpu"],
        rounded: bool | None = None,
        labels: IntArray | None = None,
        plan: BatchPlan | None = None,
    ) -> None:
        self.data, self.device = data, device
        self._may_round = torch.device(device).type == "cuda" if rounded is None else rounded
        self.n_rows = len(data)
        if self.n_rows < 1:
            raise ValueError("data must have at least one row, got 0.")
        first = self._fetch(np.arange(min(self.n_rows, N_FINGERPRINT)))
        self.shape = tuple(int(side) for side in first.shape[1:])
        self.plan = plan or RandomRows(self.n_rows)
        self._given = labels
        self._labels: Tensor | None = None
        self.resident = self._copied(memory, as_bytes=_are_bytes(torch.as_tensor(first)))

    def describe(self) -> str:
        """Return a description that identifies the data: kind, and a hash of some rows, labels and parts."""
        rows = np.linspace(0, self.n_rows - 1, num=min(self.n_rows, N_FINGERPRINT)).astype(int)
        digest = hashlib.sha256(np.ascontiguousarray(self._fetch(rows), dtype=np.float32).tobytes()).hexdigest()
        kind = "array" if isinstance(self.data, np.ndarray) else type(self.data).__name__
        words = [kind, digest[:12]]
        if self._given is not None:
            words += ["labels", hashlib.sha256(np.ascontiguousarray(self._given).tobytes()).hexdigest()[:12]]
        if isinstance(self.plan, MemberRows):
            parts = [np.ascontiguousarray(part, dtype=np.int64).tobytes() for part in self.plan.parts]
            words += ["parts", hashlib.sha256(b"|".join(parts)).hexdigest()[:12]]
        return " ".join(words)

    def of(self, members: Sequence[int]) -> BatchSource:
        """Return the same data for some members, with their plan."""
        source = copy.copy(self)
        source.plan = self.plan.of(members)
        return source

    def batch(self, rows: Tensor) -> Tensor:
        """Return rows ``[n_models, n]`` as data ``[n_models, n, *shape]``, bytes or float32."""
        if self.resident is not None:
            return self.resident[rows]
        found = torch.as_tensor(self._fetch(rows.flatten().cpu().numpy()))
        return found.to(self.device).reshape(*rows.shape, *self.shape)

    def labels(self, rows: Tensor) -> Tensor:
        """Return the labels of rows, ``[n_models, n, n_labels]``, counted from 0, or below 0 for an unknown one."""
        if self._labels is None:
            self._labels = torch.as_tensor(self._all_labels(), dtype=torch.int64, device=self.device)
        return self._labels[rows]

    def draw(self, seeds: Tensor, step: int, count: int, rest: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the rows of a batch for each model, and the kind of each batch."""
        return self.plan.draw(seeds, step, count, rest)

    def _all_labels(self) -> IntArray:
        if self._given is not None:
            return self._given
        if isinstance(self.data, np.ndarray):
            raise ValueError("data must be a data set with factors for this model, got an array.")
        return np.asarray(self.data.factors(np.arange(self.n_rows)))

    def _fetch(self, rows: IntArray) -> AnyArray:
        found = np.asarray(self.data[rows] if isinstance(self.data, np.ndarray) else self.data.observations(rows))
        return found if found.dtype == np.uint8 else found.astype(np.float32, copy=False)

    def _copied(self, memory: int, *, as_bytes: bool) -> Tensor | None:
        """Return all rows on the device, or None where they do not fit: exact bytes, numbers, or rounded bytes."""
        n_numbers = self.n_rows * math.prod(self.shape)
        rounded = not as_bytes and 4 * n_numbers > memory and self._may_round and len(self.shape) == 3
        kind = torch.uint8 if as_bytes or rounded else torch.float32
        if n_numbers * kind.itemsize > memory:
            return None
        whole = torch.empty((self.n_rows, *self.shape), dtype=kind, device=self.device)
        for start in range(0, self.n_rows, CHUNK):
            found = torch.as_tensor(self._fetch(np.arange(start, min(start + CHUNK, self.n_rows)))).to(self.device)
            if as_bytes and not _are_bytes(found):
                return self._copied(memory, as_bytes=False)
            if rounded and not _are_shares(found):
                return None
            whole[start : start + CHUNK] = found if found.dtype == kind else (found * 255).round_().to(kind)
        return whole


def as_numbers(x: Tensor) -> Tensor:
    """Return bytes as numbers from 0 to 1, and numbers as they are."""
    return x.float() / 255 if x.dtype == torch.uint8 else x


def _are_bytes(found: Tensor) -> bool:
    if found.dtype == torch.uint8:
        return True
    if found.ndim < 4 or not _are_shares(found):
        return False
    whole = found * 255
    return bool((whole - whole.round()).abs().max() < LARGEST_LOSS)


def _are_shares(found: Tensor) -> bool:
    """Return whether all numbers are from 0 to 1."""
    return bool(found.min() >= 0) and bool(found.max() <= 1)
