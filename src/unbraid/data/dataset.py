"""Data sets with known factors: their protocol, grids of images, and rows drawn by factor values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbraid._base.arrays import AnyArray, ByteArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice


class FactorDataset(Protocol):
    """Pictures by row number, and the factors that made them.

    Attributes:
        factor_names: Names of the factors.
        factor_sizes: Values each can take; they are counted from 0.
        factor_kinds: ``"categorical"``, ``"ordinal"``, ``"continuous"`` or ``"circular:PERIOD"``, as
            :class:`unbraid.Representation` takes them.
        observation_shape: Channels, height, width; or the length of a row of a table.
    """

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Names of the factors."""

    @property
    def factor_sizes(self) -> tuple[int, ...]:
        """Number of values of each factor."""

    @property
    def factor_kinds(self) -> tuple[str, ...]:
        """Kind of each factor."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Channels, height, width; or the length of a row of a table."""

    def __len__(self) -> int: ...

    def observations(self, index: IntArray) -> NDArray[np.floating[Any]]:
        """Return some pictures, ``(n, channels, height, width)``, 0 to 1: the same row is always the same picture."""
        ...

    def factors(self, index: IntArray) -> IntArray:
        """Return factor values of some rows, ``(n, n_factors)``."""
        ...


class FactorGrid(ABC):
    """A data set that has every combination of factor values once, the last factor changing fastest."""

    def __init__(
        self,
        *,
        names: tuple[str, ...],
        sizes: tuple[int, ...],
        kinds: tuple[str, ...],
        observation_shape: tuple[int, int, int],
    ) -> None:
        self.factor_names, self.factor_sizes, self.factor_kinds = names, sizes, kinds
        self.observation_shape = observation_shape

    def __len__(self) -> int:
        return int(np.prod(self.factor_sizes))

    def factors(self, index: IntArray) -> IntArray:
        """Return factor values of some rows, ``(n, n_factors)``, counted from 0."""
        return np.stack(np.unravel_index(check_rows(index, len(self)), self.factor_sizes), axis=1)

    def rows(self, factors: IntArray) -> IntArray:
        """Return the row of each combination of factor values, ``(n,)``."""
        values = np.asarray(factors)
        if values.ndim != 2 or values.shape[1] != len(self.factor_sizes):
            raise ValueError(f"factors must have shape (n, {len(self.factor_sizes)}), got {values.shape}.")
        for name, size, column in zip(self.factor_names, self.factor_sizes, values.T, strict=True):
            if len(column) and not 0 <= column.min() <= column.max() < size:
                raise ValueError(
                    f"factor {name!r} must be between 0 and {size - 1}, got {column.min()} to {column.max()}."
                )
        return np.asarray(np.ravel_multi_index(tuple(values.T), self.factor_sizes))

    @abstractmethod
    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Return some pictures, ``(n, channels, height, width)``, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorJoint:
    """Joint frequencies of the values of some factors; build it with :func:`factor_joint`.

    Attributes:
        names: The factors, one for each axis of the table.
        probabilities: Adds up to 1.
    """

    names: tuple[str, ...]
    probabilities: FloatArray


def factor_joint(names: tuple[str, ...] | list[str], weights: ArrayLike) -> FactorJoint:
    """Make a joint distribution of some factors from a table of weights.

    Args:
        names: The factors, in the order of the table's axes.
        weights: Finite and not negative, one axis for each factor; only ratios matter.

    Raises:
        ValueError: Axes that do not fit the names, a name twice, or weights that are no weights.

    Example:
        >>> joint = factor_joint(["x", "y"], np.eye(3))  # x and y always equal
        >>> float(joint.probabilities[1, 1])
        0.3333333333333333
    """
    table = np.asarray(weights, dtype=np.float64)
    if table.ndim != len(names) or len(set(names)) != len(names) or not names:
        raise ValueError(f"weights must have one axis for each of {len(names)} different names, got {table.ndim} axes.")
    if not np.isfinite(table).all() or (table < 0).any() or table.sum() <= 0:
        raise ValueError("weights must be finite, not negative, and not all 0.")
    return FactorJoint(names=tuple(names), probabilities=table / table.sum())


def sample_rows(
    dataset: FactorDataset,
    n_samples: int,
    *,
    fixed: Mapping[str, int] | None = None,
    joint: FactorJoint | None = None,
    rng: np.random.Generator | int = 0,
) -> IntArray:
    """Draw rows with replacement: some factors fixed, some with a given joint distribution, the rest as in the data.

    Values of the factors in ``joint`` are drawn from it, given the ones in ``fixed``; then a row is drawn evenly from
    those that have these values. On a grid, the remaining factors are so even and independent.

    Args:
        dataset: Where the rows are.
        n_samples: Number of samples.
        fixed: Factors to hold, by name, at a value counted from 0.
        joint: Joint distribution of some factors.
        rng: Source of chance, or its seed.

    Returns:
        Row numbers, ``(n_samples,)``, for ``dataset.observations`` and ``dataset.factors``.

    Raises:
        ValueError: An unknown factor, a value it does not take, a table of another size, or values that no row has.

    Example:
        >>> from unbraid.data import sprites_mini
        >>> data = sprites_mini()
        >>> rows = sample_rows(data, 5, fixed={"shape": 2})
        >>> data.factors(rows)[:, 0].tolist()
        [2, 2, 2, 2, 2]
    """
    check_at_least("n_samples", n_samples, 0)
    chance = np.random.default_rng(rng)
    held = _check_fixed(dataset, fixed or {})
    known = {name: np.full(n_samples, value) for name, value in held.items()}
    if joint is not None:
        known |= _draw_joint(dataset, joint, held, n_samples, chance)
    if isinstance(dataset, FactorGrid):
        columns = [
            known.get(name, chance.integers(size, size=n_samples))
            for name, size in zip(dataset.factor_names, dataset.factor_sizes, strict=True)
        ]
        return dataset.rows(np.stack(columns, axis=1))
    return _matching_rows(dataset, known, n_samples, chance)


def check_rows(index: IntArray, n_rows: int) -> IntArray:
    """Return row numbers as an array; raise if they are not valid row numbers."""
    rows = np.asarray(index)
    if rows.size == 0:
        rows = rows.astype(np.intp)
    if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"index must be a list of whole numbers, got shape {rows.shape} of {rows.dtype}.")
    if rows.size and not 0 <= rows.min() <= rows.max() < n_rows:
        raise ValueError(f"index must be between 0 and {n_rows - 1}, got {rows.min()} to {rows.max()}.")
    return rows


def _check_fixed(dataset: FactorDataset, fixed: Mapping[str, int]) -> dict[str, int]:
    sizes = dict(zip(dataset.factor_names, dataset.factor_sizes, strict=True))
    for name, value in fixed.items():
        check_choice("fixed factor", name, sizes)
        if not isinstance(value, int | np.integer) or not 0 <= value < sizes[name]:
            raise ValueError(
                f"fixed factor {name!r} must be a whole number from 0 to {sizes[name] - 1}, got {value!r}."
            )
    return {name: int(value) for name, value in fixed.items()}


def _draw_joint(
    dataset: FactorDataset, joint: FactorJoint, held: Mapping[str, int], n_samples: int, rng: np.random.Generator
) -> dict[str, IntArray]:
    """Draw the factors of the joint that are not fixed, given the fixed factors."""
    sizes = dict(zip(dataset.factor_names, dataset.factor_sizes, strict=True))
    for name in joint.names:
        check_choice("factor of joint", name, sizes)
    expected = tuple(sizes[name] for name in joint.names)
    if joint.probabilities.shape != expected:
        raise ValueError(f"joint of {', '.join(joint.names)} must be {expected}, got {joint.probabilities.shape}.")
    table = joint.probabilities[tuple(held.get(name, slice(None)) for name in joint.names)]
    if table.sum() <= 0:
        raise ValueError(f"joint gives no chance to fixed={dict(held)}; fix values that can come together.")
    cells = rng.choice(table.size, size=n_samples, p=(table / table.sum()).ravel())
    free = [name for name in joint.names if name not in held]
    return dict(zip(free, np.unravel_index(cells, table.shape), strict=True)) if free else {}


def _matching_rows(
    dataset: FactorDataset, known: Mapping[str, IntArray], n_samples: int, rng: np.random.Generator
) -> IntArray:
    """Draw one row for each combination wanted, evenly from those that have it."""
    columns = [dataset.factor_names.index(name) for name in known]
    sizes = tuple(dataset.factor_sizes[column] for column in columns)
    if not columns:
        return rng.integers(len(dataset), size=n_samples)
    cells = np.ravel_multi_index(tuple(dataset.factors(np.arange(len(dataset)))[:, columns].T), sizes)
    wanted = np.ravel_multi_index(tuple(known.values()), sizes)
    order = np.argsort(cells, kind="stable")
    first, last = (np.searchsorted(cells[order], wanted, side=side) for side in ("left", "right"))
    if (first == last).any():
        missing = np.unravel_index(wanted[np.argmax(first == last)], sizes)
        values = ", ".join(f"{name} {value}" for name, value in zip(known, missing, strict=True))
        raise ValueError(f"no row has {values}; give combinations that the data has.")
    return order[first + (rng.random(n_samples) * (last - first)).astype(np.intp)]


#: Side of the pictures in pixels, whatever the size in the files.
SIDE = 64


class ImageGrid(FactorGrid):
    """A grid of stored pictures.

    Attributes:
        images: ``(n, height, width, channels)``, bytes, in memory or in a file.
    """

    def __init__(
        self, images: ByteArray, *, names: tuple[str, ...], sizes: tuple[int, ...], kinds: tuple[str, ...]
    ) -> None:
        height, width, channels = images.shape[1:]
        super().__init__(names=names, sizes=sizes, kinds=kinds, observation_shape=(channels, height, width))
        self.images = images

    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Return some pictures, ``(n, channels, height, width)``, 0 to 1."""
        picked = self.images[check_rows(index, len(self))].transpose(0, 3, 1, 2)
        return np.ascontiguousarray(picked, dtype=np.float32) / np.float32(255)


class PackedGrid(FactorGrid):
    """A grid of stored pictures of one channel, 0 or 1, eight pixels to a byte."""

    def __init__(
        self,
        bits: ByteArray,
        *,
        shape: tuple[int, int],
        names: tuple[str, ...],
        sizes: tuple[int, ...],
        kinds: tuple[str, ...],
    ) -> None:
        super().__init__(names=names, sizes=sizes, kinds=kinds, observation_shape=(1, *shape))
        self._bits = bits

    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Return some pictures, ``(n, 1, height, width)``, 0 or 1."""
        rows = check_rows(index, len(self))
        n_pixels = int(np.prod(self.observation_shape))
        pixels = np.unpackbits(self._bits[rows], axis=1, count=n_pixels)
        return pixels.reshape(len(rows), *self.observation_shape).astype(np.float32)


class LabelledImages:
    """Grey pictures with one label each, any number of pictures to a label.

    Attributes:
        images: ``(n, height, width)``, 0 for paper to 255 for ink.
        labels: ``(n,)``, counted from 0.
        factor_names, factor_sizes, factor_kinds: Of the one factor.
        observation_shape: Channels, height, width.
    """

    factor_kinds = ("categorical",)

    def __init__(self, images: ByteArray, labels: IntArray, *, name: str) -> None:
        self.images, self.labels = images, labels
        self.factor_names, self.factor_sizes = (name,), (int(labels.max()) + 1,)
        self.observation_shape = (1, images.shape[1], images.shape[2])

    def __len__(self) -> int:
        return len(self.labels)

    def factors(self, index: IntArray) -> IntArray:
        """Return labels of some rows, ``(n, 1)``."""
        return self.labels[check_rows(index, len(self))][:, None]

    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Return some pictures, ``(n, 1, height, width)``, 0 to 1."""
        return self.images[check_rows(index, len(self))][:, None].astype(np.float32) / np.float32(255)


def grid_order(classes: NDArray[Any], source: str) -> tuple[IntArray, tuple[int, ...]]:
    """Find the rows in the order of their grid.

    Args:
        classes: Factor values of each row, ``(n, n_factors)``, any numbers.
        source: Name of the data in errors.

    Returns:
        Row numbers in the order of the grid, and how many values each factor takes.

    Raises:
        ValueError: A combination of values that is missing or there twice.
    """
    found = [np.unique(column, return_inverse=True) for column in classes.T]
    sizes = tuple(len(values) for values, _ in found)
    n_cells = int(np.prod(sizes, dtype=object))
    if n_cells == len(classes):
        cells = np.ravel_multi_index(tuple(inverse for _, inverse in found), sizes)
        order = np.argsort(cells, kind="stable")
        if np.array_equal(cells[order], np.arange(n_cells)):
            return order, sizes
    raise ValueError(
        f"{source} must have each of the {n_cells} combinations of factor values once, got {len(classes)} rows; "
        "fetch it again."
    )


def shrink(images: AnyArray, side: int = SIDE) -> ByteArray:
    """Bring pictures ``(n, height, width, ...)`` to ``side`` × ``side``, each pixel the mean of those it covers."""
    heights, widths = (_cover(size, side) for size in images.shape[1:3])
    smaller = np.einsum("ih,nhw...->niw...", heights, images.astype(np.float32), optimize=True)
    smaller = np.einsum("jw,niw...->nij...", widths, smaller, optimize=True)
    rounded: ByteArray = np.rint(smaller).astype(np.uint8)
    return rounded


def _cover(size: int, side: int) -> NDArray[np.float32]:
    """Return how much of each of ``size`` pixels each of ``side`` new ones covers, rows adding up to 1."""
    edges = np.arange(side + 1) * size / side
    starts = np.arange(size)
    overlap = np.minimum(edges[1:, None], starts + 1) - np.maximum(edges[:-1, None], starts)
    shares: NDArray[np.float32] = (np.clip(overlap, 0, None) * side / size).astype(np.float32)
    return shares
