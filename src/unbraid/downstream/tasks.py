"""Downstream tasks: their table, and the targets they make of a representation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid._base.checks import did_you_mean
from unbraid.representation.factor import Factor, make_factor
from unbraid.representation.representation import Representation

CHUNK = 1024


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pictures:
    """Properties of the pictures that some tasks predict, row by row.

    Attributes:
        masks: Pixels of the object, ``(n, height, width)``; ``None`` if that is not known.
        squares: Left edge, top edge and side of a grey square, in pixels, ``(n, 3)``; ``None`` without one.
    """

    masks: BoolArray | None = None
    squares: FloatArray | None = None


def pictures_of(dataset: Any, index: ArrayLike) -> Pictures:
    """Return properties of the pictures in some rows of a data set.

    A mask is the picture itself where pictures are black and white, as of sprites; of sprites painted over, it is that
    of the sprite beneath. Other pictures have none.

    Args:
        dataset: With ``observations`` by row, ``base`` if it is painted over another, ``squares`` if it has them.
        index: Rows, in the order of the codes.

    Example:
        >>> from unbraid.data import sprites_mini, sprites_square
        >>> pictures = pictures_of(sprites_square(sprites_mini()), [0, 5])
        >>> pictures.masks.shape, pictures.squares.shape
        ((2, 32, 32), (2, 3))
    """
    rows = np.asarray(index, dtype=np.intp)
    squares = np.asarray(dataset.squares(rows), dtype=np.float64) if hasattr(dataset, "squares") else None
    return Pictures(masks=_masks(getattr(dataset, "base", dataset), rows), squares=squares)


def _masks(dataset: Any, rows: Any) -> BoolArray | None:
    n_channels, *sides = dataset.observation_shape
    if n_channels != 1 or len(sides) != 2:
        return None
    masks = np.empty((len(rows), *sides), dtype=bool)
    for start in range(0, len(rows), CHUNK):
        seen = np.asarray(dataset.observations(rows[start : start + CHUNK]))[:, 0]
        masks[start : start + CHUNK] = seen > 0
        if (seen[masks[start : start + CHUNK]] != 1).any():
            return None
    return masks


#: Names of the two factors of a position.
POSITIONS = (("x", "y"), ("pos_x", "pos_y"), ("position_x", "position_y"))
SQUARE = ("square_x", "square_y")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Target:
    """Target of a task.

    Attributes:
        name: Of the task.
        parts: Classes, numbers or angles, each predicted on its own; a row without a label is left out.
        masks: Where the object is in each picture, ``(n, height, width)``, when the task is to find it; else ``None``.
    """

    name: str
    parts: tuple[Factor, ...] = ()
    masks: BoolArray | None = None

    def __post_init__(self) -> None:
        if bool(self.parts) == (self.masks is not None):
            raise ValueError(f"target {self.name!r} must have parts to predict, or masks; give one of them.")

    def check_rows(self, n_samples: int) -> None:
        """Raise unless there is something to predict in each row."""
        lengths = {len(part.numbers) for part in self.parts} or {len(self.masks if self.masks is not None else ())}
        if lengths != {n_samples}:
            raise ValueError(
                f"target {self.name!r} must have one entry for each of the {n_samples} rows of codes, "
                f"got {max(lengths)}."
            )


def all_factors(rep: Representation, pictures: Pictures | None) -> Target:
    """Every factor, by its kind."""
    return Target(name="factors", parts=_labelled(rep))


def all_factors_as_classes(rep: Representation, pictures: Pictures | None) -> Target:
    """Every factor, its values as classes."""
    return Target(name="factors_as_classes", parts=tuple(factor.as_classes() for factor in _labelled(rep)))


def one_factor(rep: Representation, name: str) -> Target:
    """One factor, by its kind."""
    found = [factor for factor in rep.factors if factor.name == name]
    if not found:
        known = ", ".join(rep.factor_names) or "none"
        raise ValueError(f"factor {name!r} is not one of {known}{did_you_mean(name, rep.factor_names)}.")
    return Target(name=f"factor:{name}", parts=(found[0],))


def cartesian(rep: Representation, pictures: Pictures | None) -> Target:
    """Both coordinates of the position, as they are."""
    return Target(name="position_cartesian", parts=_position(rep))


def polar(rep: Representation, pictures: Pictures | None) -> Target:
    """Distance and direction from the corner where both coordinates are smallest: no direction wraps round."""
    x, y = (_unit(factor) for factor in _position(rep))
    radius, angle = _polar_parts(x, y, kind="continuous")
    return Target(name="position_polar", parts=(radius, angle))


def polar_about_centre(rep: Representation, pictures: Pictures | None) -> Target:
    """Distance and direction from the middle, where directions close a circle."""
    x, y = (2 * _unit(factor) - 1 for factor in _position(rep))
    radius, angle = _polar_parts(x, y, kind=f"circular:{2 * np.pi!r}")
    return Target(name="position_polar_centre", parts=(radius, angle))


def square(rep: Representation, pictures: Pictures | None) -> Target:
    """Middle of the grey square: from factors of that name, or from the pictures."""
    if set(SQUARE) <= set(rep.factor_names):
        return Target(name="square", parts=rep.select_factors(SQUARE).factors)
    if pictures is None or pictures.squares is None:
        raise ValueError(f"square needs pictures with squares, or the factors {' and '.join(SQUARE)}; got neither.")
    left, top, side = np.asarray(pictures.squares, dtype=np.float64).T
    middles = (left + side / 2, top + side / 2)
    return Target(
        name="square",
        parts=tuple(make_factor(at, name=name, kind="continuous") for at, name in zip(middles, SQUARE, strict=True)),
    )


def segmentation(rep: Representation, pictures: Pictures | None) -> Target:
    """Which pixels show the object."""
    if pictures is None or pictures.masks is None:
        raise ValueError("segmentation needs pictures with masks, got none; see unbraid.downstream.pictures_of.")
    masks = np.asarray(pictures.masks, dtype=bool)
    if masks.ndim != 3:
        raise ValueError(f"masks must have shape (n, height, width), got {masks.shape}.")
    return Target(name="segmentation", masks=masks)


def position_names(factor_names: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the names of the factors of the position, if they are there."""
    return next((pair for pair in POSITIONS if set(pair) <= set(factor_names)), None)


def _labelled(rep: Representation) -> tuple[Factor, ...]:
    if not rep.factors:
        raise ValueError("rep must have at least one factor to predict, got none.")
    return rep.factors


def _position(rep: Representation) -> tuple[Factor, ...]:
    names = position_names(rep.factor_names)
    if names is None:
        wanted = ", or ".join(" and ".join(pair) for pair in POSITIONS)
        raise ValueError(f"position needs the factors {wanted}; got {', '.join(rep.factor_names) or 'none'}.")
    found = rep.select_factors(names).factors
    for factor in found:
        if not factor.is_numeric:
            raise ValueError(f"factor {factor.name!r} must be a number to be a position, got kind {factor.kind}.")
    return found


def _unit(factor: Factor) -> FloatArray:
    """Scale to 0 to 1."""
    low, high = np.nanmin(factor.numbers), np.nanmax(factor.numbers)
    scaled: FloatArray = (factor.numbers - low) / (high - low)
    return scaled


def _polar_parts(x: FloatArray, y: FloatArray, *, kind: str) -> tuple[Factor, Factor]:
    radius = np.hypot(x, y)
    # the origin has no direction: such a row has no angle to predict
    angle = np.where(radius > 0, np.arctan2(y, x), np.nan)
    return make_factor(radius, name="radius", kind="continuous"), make_factor(angle, name="angle", kind=kind)


Need = Literal["factors", "position", "squares", "masks"]
ONE_FACTOR = "factor:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something to predict from codes.

    Attributes:
        name: As tables and study files call it.
        description: Target, in a sentence.
        needs: ``"factors"`` (any, or the one named), ``"position"`` (factors x and y), ``"squares"`` or ``"masks"``
            (from the pictures).
        parts: Targets that are predicted one by one and averaged; empty for all factors.
        build: Makes the target of a representation.
    """

    name: str
    description: str
    needs: Need
    parts: tuple[str, ...]
    build: Callable[[Representation, Pictures | None], Target]


_ROWS = (
    Task(
        name="factors",
        description="Each factor, by its kind: classes, numbers or angles.",
        needs="factors",
        parts=(),
        build=all_factors,
    ),
    Task(
        name="factors_as_classes",
        description="Each factor, its values as classes.",
        needs="factors",
        parts=(),
        build=all_factors_as_classes,
    ),
    Task(
        name="position_cartesian",
        description="Where the object is, as x and y.",
        needs="position",
        parts=("x", "y"),
        build=cartesian,
    ),
    Task(
        name="position_polar",
        description="Where the object is, as distance and direction from the corner.",
        needs="position",
        parts=("radius", "angle"),
        build=polar,
    ),
    Task(
        name="position_polar_centre",
        description="Where the object is, as distance and direction from the middle; the direction is an angle.",
        needs="position",
        parts=("radius", "angle"),
        build=polar_about_centre,
    ),
    Task(
        name="square",
        description="Where the middle of the grey square is.",
        needs="squares",
        parts=SQUARE,
        build=square,
    ),
    Task(
        name="segmentation",
        description="Which pixels show the object.",
        needs="masks",
        parts=("mask",),
        build=segmentation,
    ),
)

#: Tasks by name; one factor alone is ``"factor:NAME"``.
TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _ROWS})


def check_task(name: str, factor_names: tuple[str, ...] | None = None) -> Task:
    """Return the task of this name.

    Args:
        name: One of :data:`TASKS`, or ``"factor:NAME"``.
        factor_names: Factors there are, to check ``NAME`` against; ``None`` takes any.

    Raises:
        ValueError: No such task, with the nearest name.

    Example:
        >>> check_task("factor:shape").parts
        ('shape',)
    """
    if not isinstance(name, str):
        raise TypeError(f"task must be a name, got {name!r}.")
    if name.startswith(ONE_FACTOR) and len(name) > len(ONE_FACTOR):
        return _one_factor(name.removeprefix(ONE_FACTOR), factor_names)
    if name not in TASKS:
        near = did_you_mean(name, TASKS)
        if name in (factor_names or ()):
            near = f"; did you mean {ONE_FACTOR + name!r}"
        raise ValueError(f"task must be one of {', '.join(TASKS)} or factor:NAME, got {name!r}{near}.")
    return TASKS[name]


def tasks_for(rep: Representation | tuple[str, ...], pictures: Pictures | None = None) -> tuple[str, ...]:
    """Return the names of the tasks that factors and pictures allow, each factor alone last.

    Args:
        rep: A representation, or the names of its factors.
        pictures: Properties of the pictures.

    Example:
        >>> tasks_for(("shape", "x", "y"))[:3]
        ('factors', 'factors_as_classes', 'position_cartesian')
    """
    names = rep.factor_names if isinstance(rep, Representation) else tuple(rep)
    has: dict[Need, bool] = {
        "factors": bool(names),
        "position": position_names(names) is not None,
        "squares": set(SQUARE) <= set(names) or (pictures is not None and pictures.squares is not None),
        "masks": pictures is not None and pictures.masks is not None,
    }
    return (*(task.name for task in _ROWS if has[task.needs]), *(ONE_FACTOR + name for name in names))


def build_target(name: str, rep: Representation, pictures: Pictures | None = None) -> Target:
    """Return the target of the task of this name for a representation.

    Raises:
        ValueError: No such task, or the representation or the pictures lack what it needs.
    """
    target = check_task(name, rep.factor_names).build(rep, pictures)
    target.check_rows(rep.n_samples)
    return target


def _one_factor(factor: str, factor_names: tuple[str, ...] | None) -> Task:
    if factor_names is not None and factor not in factor_names:
        near = did_you_mean(factor, factor_names)
        known = ", ".join(factor_names) or "none"
        raise ValueError(f"task {ONE_FACTOR + factor!r} must name one of the factors {known}{near}.")

    return Task(
        name=ONE_FACTOR + factor,
        description=f"The factor {factor}, by its kind.",
        needs="factors",
        parts=(factor,),
        build=partial(_build_one, factor),
    )


def _build_one(factor: str, rep: Representation, pictures: Pictures | None) -> Target:
    return one_factor(rep, factor)
